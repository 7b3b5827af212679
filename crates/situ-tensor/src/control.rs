//! Decisions and loops by value: one op each, in a function; plain control flow outside of one.

use crate::scope::current_request;
use crate::tape;
use crate::tensor::Tensor;
use crate::trace::{self, Branch, is_tracing};
use situ_core::{Caller, DType, Error, Result, TensorType};
use situ_ir::gradient::Made;
use situ_ir::graph::{Cond, Source, While};
use std::sync::Arc;

/// Runs `then` where the scalar bool `condition` holds, else `otherwise`; both give tensors of the same
/// types.
///
/// In a function, each closure is traced once, and scopes and policies in them hold as they do outside of
/// them.
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
    let caller = Caller::here();
    check_condition("cond", condition)?;
    if !is_tracing() {
        return if condition.item::<bool>()? { then() } else { otherwise() };
    }
    let then = trace::block(&[], |_| then())?;
    let otherwise = trace::block(&[], |_| otherwise())?;
    check_sides(&then, &otherwise)?;
    let borrowed = Branch::joint(&[&then, &otherwise]);
    let cond = Cond { then: then.finish(&borrowed, false)?, otherwise: otherwise.finish(&borrowed, false)? };
    let mut inputs = vec![condition];
    inputs.extend(&borrowed);
    let request = current_request();
    let log = tape::log_of(&inputs);
    let kept = (log != 0).then(|| (Arc::new(cond.clone()), request.clone()));
    let made = trace::emit_node(&inputs, |builder, values| {
        builder.cond(cond, values[0], &values[1..], request, Source(Some(caller.location())))
    })?;
    Ok(match kept {
        None => made,
        Some((cond, request)) => tape::record_all(log, Made::Cond(cond), &inputs, made, request, caller),
    })
}

/// Repeats `body` on a state while `condition` of it holds.
///
/// In a function, each closure is traced once, and every trip draws random numbers of its own.
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
    let caller = Caller::here();
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
    let types: Vec<TensorType> = state.iter().map(Tensor::unseen_type).collect();
    let condition = trace::block(&types, |s| {
        let goes_on = condition(s)?;
        check_condition("while_loop", &goes_on)?;
        Ok(vec![goes_on])
    })?;
    let body = trace::block(&types, |s| {
        let next = body(s)?;
        check_state(s, &next)?;
        Ok(next)
    })?;
    // What the loop reads from outside is part of its state and stays as it is.
    let borrowed = Branch::joint(&[&condition, &body]);
    let looped =
        While { condition: condition.finish(&borrowed, false)?, body: body.finish(&borrowed, true)? };
    let inputs: Vec<&Tensor> = state.iter().chain(&borrowed).collect();
    let request = current_request();
    let scope = request.clone();
    let mut made = trace::emit_node(&inputs, |builder, values| {
        builder.while_loop(looped, values, request, Source(Some(caller.location())))
    })?;
    made.truncate(state.len());
    Ok(match tape::log_of(&inputs) {
        0 => made,
        log => tape::record_all(log, Made::While, &inputs, made, scope, caller),
    })
}

fn check_sides(then: &Branch, otherwise: &Branch) -> Result<()> {
    let [then, otherwise] = [then.gives(), otherwise.gives()];
    if then == otherwise {
        return Ok(());
    }
    trace::looked_at();
    let differ = then.iter().zip(&otherwise).position(|(a, b)| a != b);
    let why = match differ.filter(|_| then.len() == otherwise.len()) {
        Some(n) => format!("result {n} of one side is {}, of the other {}", then[n], otherwise[n]),
        None => format!("one side gives {} tensors, the other {}", then.len(), otherwise.len()),
    };
    Err(Error::argument("cond", why, "let both sides give the same shapes and dtypes"))
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
    let types = |list: &[Tensor]| list.iter().map(Tensor::unseen_type).collect::<Vec<_>>();
    if types(state) == types(next) {
        return Ok(());
    }
    trace::looked_at();
    Err(Error::operands(
        "while_loop",
        &types(state),
        format!("the body gives {:?}", types(next)),
        "let it give the shapes and dtypes of the state",
    ))
}
