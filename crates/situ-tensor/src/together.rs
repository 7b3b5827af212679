//! Several variables as one: a call that assigns some of them is over before another that does so begins.
//!
//! Every variable has a *turn*. Whoever changes a variable holds its turn from the moment it reads the old
//! value until the new one is there; a call that changes some and reads others holds the turns of the others
//! too, with everybody else who only reads them. Turns are taken in one order, so that no two calls wait for
//! each other, and a call that assigns nothing takes none: it sees the values as they are between two calls,
//! all at the same moment, and waits for no device.

use crate::tensor::Tensor;
use crate::trace::Recorded;
use crate::variable::{Variable, VariableLock};
use situ_core::Result;
use situ_runtime::{DeviceTensor, NewRows, Ready, Runtime};
use smallvec::SmallVec;

/// The turns of the variables that a call assigns or reads; none where it assigns nothing.
pub(crate) fn turns(recorded: &Recorded) -> SmallVec<[VariableLock<'_>; 2]> {
    if recorded.order.iter().all(|&(_, assigned)| !assigned) {
        return SmallVec::new();
    }
    let turn = |&(number, assigned): &(usize, bool)| recorded.variables[number].turn(assigned);
    recorded.order.iter().map(turn).collect()
}

/// The order in which turns are taken.
pub(crate) fn order(variables: impl Iterator<Item = (Variable, bool)>) -> Vec<(usize, bool)> {
    let mut order: Vec<(usize, usize, bool)> =
        variables.enumerate().map(|(number, (v, assigned))| (v.address(), number, assigned)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, number, assigned)| (number, assigned)).collect()
}

/// The values of a function's variables, by the variables' numbers.
pub(crate) type Values = SmallVec<[Tensor; 4]>;

/// The values of a function's variables, all of one moment.
pub(crate) fn values(recorded: &Recorded) -> Values {
    let variables = &recorded.variables;
    match &variables[..] {
        [] => return Values::new(),
        [only] => return Values::from_iter([only.held()]),
        _ => (),
    }
    // Who replaces several values holds all of them: with all of them held, none is from before and none from
    // after.
    let held: SmallVec<[_; 4]> = recorded.order.iter().map(|&(n, _)| (n, variables[n].read())).collect();
    let mut values: SmallVec<[Option<Tensor>; 4]> = SmallVec::from_elem(None, variables.len());
    for (number, value) in &held {
        values[*number] = Some(Tensor::clone(value));
    }
    values.into_iter().flatten().collect()
}

/// What becomes of a variable's value.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "a value is the rule, and a box would allocate for each")]
pub(crate) enum Change {
    /// It is replaced.
    Value(DeviceTensor),
    /// Some rows of it are.
    Rows(Box<NewRows>),
}

/// What a call makes of the variables of a function. Their turns are held, and the call holds their old
/// values no more.
pub(crate) fn replace(
    recorded: &Recorded,
    updates: Vec<(usize, DeviceTensor)>,
    rows: Vec<(usize, NewRows)>,
) -> Result<()> {
    if rows.is_empty() {
        replace_values(recorded, updates);
        return Ok(());
    }
    let updates = updates.into_iter().map(|(number, value)| (number, Change::Value(value)));
    let rows = rows.into_iter().map(|(number, rows)| (number, Change::Rows(Box::new(rows))));
    let mut new: Vec<Option<Change>> = recorded.variables.iter().map(|_| None).collect();
    updates.chain(rows).for_each(|(number, change)| new[number] = Some(change));
    let taken = recorded.order.iter().filter_map(|(n, _)| Some((&recorded.variables[*n], new[*n].take()?)));
    all_at_once(taken.collect())
}

/// Gives variables their new values, all at one moment. Their turns are held.
fn replace_values(recorded: &Recorded, updates: Vec<(usize, DeviceTensor)>) {
    let variables = &recorded.variables;
    if updates.len() == 1 {
        updates.into_iter().for_each(|(number, value)| drop(variables[number].set(value)));
        return;
    }
    let mut new: SmallVec<[Option<DeviceTensor>; 4]> = SmallVec::from_elem(None, variables.len());
    updates.into_iter().for_each(|(number, value)| new[number] = Some(value));
    // What was there before goes when nobody is kept waiting by it.
    let mut old: SmallVec<[Tensor; 4]> = SmallVec::new();
    let mut held: SmallVec<[_; 4]> = SmallVec::new();
    for &(number, _) in &recorded.order {
        if let Some(value) = new[number].take() {
            let mut place = variables[number].write();
            old.push(Variable::swap(&mut place, Tensor::from_concrete(value)));
            held.push(place);
        }
    }
}

/// Changes these variables, all at one moment, each as said; `order` is that in which they are taken. Their
/// turns are held.
pub(crate) fn change(variables: &[&Variable], order: &[&Variable], changes: Vec<Change>) -> Result<()> {
    let mut new: Vec<Option<Change>> = changes.into_iter().map(Some).collect();
    let mut taken = Vec::with_capacity(order.len());
    for variable in order {
        // Of a variable that was named twice, the last stands.
        let own = variables.iter().zip(&mut new).filter(|(known, _)| known.is_same(variable));
        if let Some(change) = own.filter_map(|(_, change)| change.take()).last() {
            taken.push((*variable, change));
        }
    }
    all_at_once(taken)
}

/// Rows on their way into a value: what they need, and the copy that they go into where somebody else holds
/// the value.
struct Coming {
    ready: Ready,
    copy: Option<DeviceTensor>,
}

/// What may fail comes first: copies, and whether a device can do it. From then on only the loss of a device
/// can fail, and with it go the variables that live there; those that can be lost come first.
fn all_at_once(changes: Vec<(&Variable, Change)>) -> Result<()> {
    let mut held: Vec<_> = changes.into_iter().map(|(variable, change)| (variable.write(), change)).collect();
    let mut coming: Vec<Option<Coming>> = Vec::with_capacity(held.len());
    for (place, change) in &mut held {
        coming.push(match change {
            Change::Value(_) => None,
            Change::Rows(new) => {
                let is_alone = place.alone().is_some();
                let table = place.concrete()?;
                let runtime = Runtime::of(table)?;
                let ready = runtime.ready_for(table, new)?;
                let copy = if is_alone { None } else { Some(runtime.copied(table, new.caller)?) };
                Some(Coming { ready, copy })
            }
        });
    }
    for can_be_lost in [true, false] {
        for ((place, change), coming) in held.iter_mut().zip(&mut coming) {
            let (Change::Rows(new), Some(coming)) = (change, coming) else { continue };
            if new.rows.logical_device().capabilities().can_be_lost != can_be_lost {
                continue;
            }
            let table = match &mut coming.copy {
                Some(copy) => Some(copy),
                None => place.alone(),
            };
            if let Some(table) = table {
                Runtime::of(table)?.put_rows(table, new, coming.ready)?;
            }
        }
    }
    // What was there before goes when nobody is kept waiting by it.
    let mut old: SmallVec<[Tensor; 4]> = SmallVec::new();
    for ((place, change), coming) in held.iter_mut().zip(coming) {
        let value = match change {
            Change::Value(value) => Some(value.clone()),
            Change::Rows(_) => coming.and_then(|coming| coming.copy),
        };
        if let Some(value) = value {
            old.push(Variable::swap(place, Tensor::from_concrete(value)));
        }
    }
    drop(held);
    Ok(())
}
