//! Steps of optimizers on variables, where the variables live.

use crate::apply::{apply_all, apply_with};
use crate::rows::Rows;
use crate::scope::{current_request, line_of, on_device};
use crate::tensor::Tensor;
use crate::together::{self, Change};
use crate::trace::is_tracing;
use crate::variable::{Variable, VariableLock};
use situ_core::{Caller, Error, Request, Result};
use situ_ir::ops::{Gather, PutRows, Update};
use situ_runtime::{DeviceTensor, NewRows, Runtime};

impl Variable {
    /// One step of an optimizer: `rates` are two numbers, the learning rate and the number of this step from
    /// 1 on; `state` as many variables as [`Update::states`] says, which begin with zeros. It runs where the
    /// variable lives, in one pass.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_core::Real;
    /// use situ_ir::ops::{Update, UpdateKind};
    /// use situ_tensor::{Variable, tensor};
    /// let w = Variable::new(&tensor([1.0f32, 2.0])?)?;
    /// let velocity = Variable::new(&tensor([0.0f32, 0.0])?)?;
    /// let kind = UpdateKind::Sgd { momentum: Real(0.9), nesterov: false };
    /// let step = Update { kind, decay: Real(0.0), decoupled: false };
    /// w.step(step, &tensor([1.0f32, -1.0])?, &tensor([0.5f32, 1.0])?, &[&velocity])?;
    /// assert_eq!(w.value().to_vec::<f32>()?, [0.5, 2.5]);
    /// # Ok(()) }
    /// ```
    ///
    /// A gradient that is rows ([`Tensor::rows`]) changes these rows alone where that is the same, by
    /// [`Update::is_local`]: then a step takes as long as the rows do, and they are written over where nobody
    /// else holds the variable's value.
    #[track_caller]
    pub fn step(&self, update: Update, gradient: &Tensor, rates: &Tensor, state: &[&Variable]) -> Result<()> {
        let caller = line_of(Caller::here());
        match gradient.rows() {
            // With as many rows as the table has there is nothing to gain; the result is the same.
            Some(rows) if update.is_local() && rows.is_few() => {
                self.stepped_by(update, Gradient::Rows(rows), rates, state, caller)
            }
            _ => self.stepped_by(update, Gradient::Dense(gradient), rates, state, caller),
        }
    }

    /// [`Variable::step`] of some rows alone, with their rows of the state; all others stay as they are,
    /// whatever a gradient of zero would do to them.
    #[track_caller]
    pub fn step_rows(&self, update: Update, rows: &Rows, rates: &Tensor, state: &[&Variable]) -> Result<()> {
        self.stepped_by(update, Gradient::Rows(rows), rates, state, line_of(Caller::here()))
    }

    fn stepped_by(
        &self,
        update: Update,
        gradient: Gradient<'_>,
        rates: &Tensor,
        state: &[&Variable],
        caller: Caller,
    ) -> Result<()> {
        let request = Request { spec: self.here(), ..current_request() };
        if state.len() != update.states() {
            return Err(Error::argument(
                "step",
                format!("{} tensors of state for an op that has {}", state.len(), update.states()),
                "give as many variables as Update::states says",
            ));
        }
        let all: Vec<&Variable> = std::iter::once(self).chain(state.iter().copied()).collect();
        if let Gradient::Rows(rows) = gradient {
            self.check_rows(rows)?;
        }
        if is_tracing() {
            let made = self.stepped(update, gradient, rates, state, &request, caller)?;
            for (variable, new) in all.iter().zip(&made.values) {
                match &made.indices {
                    None => variable.assign(new)?,
                    Some(indices) => {
                        let inputs = [&variable.unwatched(), indices, new];
                        variable.assign(&apply_with(PutRows.into(), &inputs, &request, caller)?)?;
                    }
                }
            }
            return Ok(());
        }
        let mut order = all.clone();
        order.sort_unstable_by_key(|v| v.address());
        order.dedup_by_key(|v| v.address());
        let _turns: Vec<VariableLock<'_>> = order.iter().map(|v| v.turn(true)).collect();
        let Made { indices, values } = self.stepped(update, gradient, rates, state, &request, caller)?;
        // The weight and its state change together, or not at all.
        let mut changes = Vec::with_capacity(all.len());
        for (variable, new) in all.iter().zip(&values) {
            changes.push(match &indices {
                None => {
                    variable.check("step", new)?;
                    Change::Value(variable.placed(new, caller)?)
                }
                Some(indices) => variable.new_rows(indices, new, &request, caller)?,
            });
        }
        drop((indices, values));
        together::change(&all, &order, changes)
    }

    /// An error unless these are rows of a tensor of the variable's type.
    fn check_rows(&self, rows: &Rows) -> Result<()> {
        if rows.table() == self.tensor_type() {
            return Ok(());
        }
        Err(Error::operands(
            "step_rows",
            &[rows.table()],
            format!("the variable holds {}", self.tensor_type()),
            "give the gradient by this variable",
        ))
    }

    /// Rows as they may be put into the variable: on its device, and known to be good. Where its device can't
    /// put them there, all of its new value, by the rules of placement.
    fn new_rows(&self, indices: &Tensor, rows: &Tensor, request: &Request, caller: Caller) -> Result<Change> {
        let held = self.held();
        let (table, types) = (held.concrete()?, [indices.tensor_type(), rows.tensor_type()]);
        let runtime = Runtime::of(table)?;
        if !runtime.can_put_rows(table, types[0], types[1]) {
            let new = apply_with(PutRows.into(), &[&held, indices, rows], request, caller)?;
            return Ok(Change::Value(self.placed(&new, caller)?));
        }
        let here = Request { spec: on_device(table.device()), ..request.clone() };
        let placed = |tensor: &Tensor| -> Result<DeviceTensor> {
            let placed = runtime.to_device(tensor.concrete()?, &here, caller)?;
            let placed = runtime.dense(&placed, caller)?;
            placed.settle()?;
            Ok(placed)
        };
        let (indices, rows) = (placed(indices)?, placed(rows)?);
        let reason = rows.reason();
        let new = NewRows { indices, rows, reason, name: request.name.clone(), caller };
        Ok(Change::Rows(Box::new(new)))
    }

    /// The new values of the variable and its state.
    fn stepped(
        &self,
        update: Update,
        gradient: Gradient<'_>,
        rates: &Tensor,
        state: &[&Variable],
        request: &Request,
        caller: Caller,
    ) -> Result<Made> {
        let all = std::iter::once(self).chain(state.iter().copied());
        let mut held: Vec<Tensor> = all.map(Variable::unwatched).collect();
        let (indices, gradient) = match gradient {
            Gradient::Dense(gradient) => (None, gradient.unwatched()),
            Gradient::Rows(rows) => {
                let merged = rows.merged_by(request, caller)?;
                for value in &mut held {
                    let inputs = [&*value, merged.indices()];
                    *value = apply_with(Gather { axis: 0 }.into(), &inputs, request, caller)?;
                }
                (Some(merged.own()?.clone()), merged.values().clone())
            }
        };
        let mut inputs = vec![&held[0], &gradient, rates];
        inputs.extend(&held[1..]);
        Ok(Made { indices, values: apply_all(update.into(), &inputs, request, caller)? })
    }
}

/// What a step is made by.
#[derive(Clone, Copy)]
enum Gradient<'a> {
    Dense(&'a Tensor),
    Rows(&'a Rows),
}

/// New values of a variable and its state: whole ones, or rows of them.
struct Made {
    indices: Option<Tensor>,
    values: Vec<Tensor>,
}
