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
use situ_runtime::DeviceTensor;
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

/// Gives variables their new values, all at one moment. Their turns are held.
pub(crate) fn replace(recorded: &Recorded, updates: Vec<(usize, DeviceTensor)>) {
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
