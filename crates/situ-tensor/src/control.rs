//! Decisions and loops by value: one op each, in a function; plain control flow outside of one.

use crate::scope::current_request;
use crate::tape;
use crate::tensor::Tensor;
use crate::trace::{self, Branch, is_tracing};
use situ_core::{DType, Error, Result, TensorType};
use situ_ir::gradient::Made;
use situ_ir::graph::{Cond, Source, While};
use std::panic::Location;
use std::sync::Arc;

/// Runs `then` where the scalar bool `condition` holds, else `otherwise`; both give tensors of the same types.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_tensor::{cond, tensor};
/// let x = tensor(3.0f32)?;
/// let y = cond(&x.greater(&tensor(0.0f32)?)?, || Ok(vec![x.sqrt()?]), || Ok(vec![x.neg()?]))?;
/// assert!(y[0].item::<f32>()? > 1.7);
/// # Ok(()) }
/// ```
#[track_caller]
pub fn cond(
    condition: &Tensor,
    then: impl Fn() -> Result<Vec<Tensor>>,
    otherwise: impl Fn() -> Result<Vec<Tensor>>,
) -> Result<Vec<Tensor>> {
    let location = Location::caller();
    check_condition("cond", condition)?;
    if !is_tracing() {
        return if condition.item::<bool>()? { then() } else { otherwise() };
    }
    let borrowed = joint(&[], &[&|_| then(), &|_| otherwise()])?;
    let traced = |side: &dyn Fn() -> Result<Vec<Tensor>>| trace::with_arguments(&[], &borrowed, |_| side());
    let cond = Cond { then: traced(&then)?.graph, otherwise: traced(&otherwise)?.graph };
    let mut inputs = vec![condition];
    inputs.extend(&borrowed);
    let request = current_request();
    let log = tape::log_of(&inputs);
    let kept = (log != 0).then(|| (Arc::new(cond.clone()), request.clone()));
    let made = trace::emit_node(&inputs, |builder, values| {
        builder.cond(cond, values[0], &values[1..], request, Source(Some(location)))
    })?;
    Ok(match kept {
        None => made,
        Some((cond, request)) => tape::record_all(log, Made::Cond(cond), &inputs, made, request, location),
    })
}

/// Repeats `body` on a state while `condition` of it holds.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_tensor::{tensor, while_loop};
/// let limit = tensor(100)?;
/// let doubled = while_loop(&[tensor(1)?], |s| s[0].less(&limit), |s| Ok(vec![s[0].add(&s[0])?]))?;
/// assert_eq!(doubled[0].item::<i32>()?, 128);
/// # Ok(()) }
/// ```
#[track_caller]
pub fn while_loop(
    state: &[Tensor],
    condition: impl Fn(&[Tensor]) -> Result<Tensor>,
    body: impl Fn(&[Tensor]) -> Result<Vec<Tensor>>,
) -> Result<Vec<Tensor>> {
    let location = Location::caller();
    if !is_tracing() {
        let mut state = state.to_vec();
        loop {
            let goes_on = condition(&state)?;
            check_condition("while_loop", &goes_on)?;
            if !goes_on.item::<bool>()? {
                return Ok(state);
            }
            let next = body(&state)?;
            check_state(&state, &next)?;
            state = next;
        }
    }
    let types: Vec<TensorType> = state.iter().map(Tensor::tensor_type).collect();
    let condition = |s: &[Tensor]| Ok(vec![condition(s)?]);
    let borrowed = joint(&types, &[&condition, &body])?;
    // What the loop reads from outside is part of its state and stays as it is.
    let whole: Vec<TensorType> =
        types.iter().copied().chain(borrowed.iter().map(Tensor::tensor_type)).collect();
    let own = state.len();
    let substituted = |s: &[Tensor], f: &dyn Fn(&[Tensor]) -> Result<Vec<Tensor>>| f(&s[..own]);
    let condition = trace::substituting(&whole, &borrowed, own, |s| substituted(s, &condition))?;
    let body = trace::substituting(&whole, &borrowed, own, |s| {
        let mut next = substituted(s, &body)?;
        check_state(&s[..own], &next)?;
        next.extend_from_slice(&s[own..]);
        Ok(next)
    })?;
    let looped = While { condition: condition.graph, body: body.graph };
    let inputs: Vec<&Tensor> = state.iter().chain(&borrowed).collect();
    let request = current_request();
    let scope = request.clone();
    let mut made = trace::emit_node(&inputs, |builder, values| {
        builder.while_loop(looped, values, request, Source(Some(location)))
    })?;
    made.truncate(own);
    Ok(match tape::log_of(&inputs) {
        0 => made,
        log => tape::record_all(log, Made::While, &inputs, made, scope, location),
    })
}

/// A graph to be traced inside the one under way.
type Side<'a> = dyn Fn(&[Tensor]) -> Result<Vec<Tensor>> + 'a;

/// The outer values that any of these closures uses.
fn joint(types: &[TensorType], sides: &[&Side<'_>]) -> Result<Vec<Tensor>> {
    let mut all: Vec<Tensor> = Vec::new();
    for side in sides {
        let Branch { borrowed, .. } = trace::with_arguments(types, &[], |s| side(s))?;
        for tensor in borrowed {
            if !all.iter().any(|known| known.is_same(&tensor)) {
                all.push(tensor);
            }
        }
    }
    Ok(all)
}

fn check_condition(op: &'static str, condition: &Tensor) -> Result<()> {
    if condition.dtype() == DType::Bool && condition.rank() == 0 {
        return Ok(());
    }
    Err(Error::operands(
        op,
        &[condition.tensor_type()],
        "the condition must be a scalar bool",
        "reduce it with any or all",
    ))
}

fn check_state(state: &[Tensor], next: &[Tensor]) -> Result<()> {
    let types = |list: &[Tensor]| list.iter().map(Tensor::tensor_type).collect::<Vec<_>>();
    if types(state) == types(next) {
        return Ok(());
    }
    Err(Error::operands(
        "while_loop",
        &types(state),
        format!("the body gives {:?}", types(next)),
        "let it give the shapes and dtypes of the state",
    ))
}
