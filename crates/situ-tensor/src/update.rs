//! Steps of optimizers on variables, where the variables live.

use crate::apply::apply_all;
use crate::scope::{current_request, line_of};
use crate::tensor::Tensor;
use crate::trace::is_tracing;
use crate::variable::{Variable, VariableLock};
use situ_core::{Caller, Error, Request, Result};
use situ_ir::ops::Update;

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
    #[track_caller]
    pub fn step(&self, update: Update, gradient: &Tensor, rates: &Tensor, state: &[&Variable]) -> Result<()> {
        let request = Request { spec: self.here(), ..current_request() };
        if state.len() != update.states() {
            return Err(Error::argument(
                "step",
                format!("{} tensors of state for an op that has {}", state.len(), update.states()),
                "give as many variables as Update::states says",
            ));
        }
        let caller = line_of(Caller::here());
        if is_tracing() {
            let made = self.stepped(update, gradient, rates, state, &request, caller)?;
            return std::iter::once(&self).chain(state).zip(&made).try_for_each(|(v, new)| v.assign(new));
        }
        let all: Vec<&Variable> = std::iter::once(self).chain(state.iter().copied()).collect();
        let mut order = all.clone();
        order.sort_unstable_by_key(|v| v.address());
        order.dedup_by_key(|v| v.address());
        let _turns: Vec<VariableLock<'_>> = order.iter().map(|v| v.turn(true)).collect();
        let made = self.stepped(update, gradient, rates, state, &request, caller)?;
        // The weight and its state change together, or not at all.
        let placed = |(variable, new): (&&Variable, &Tensor)| {
            variable.check("step", new)?;
            variable.placed(new, caller)
        };
        let placed = all.iter().zip(&made).map(placed).collect::<Result<Vec<_>>>()?;
        all.iter().zip(placed).for_each(|(variable, new)| drop(variable.set(new)));
        Ok(())
    }

    /// The new values of the variable and its state.
    fn stepped(
        &self,
        update: Update,
        gradient: &Tensor,
        rates: &Tensor,
        state: &[&Variable],
        request: &Request,
        caller: Caller,
    ) -> Result<Vec<Tensor>> {
        let held: Vec<Tensor> = state.iter().map(|v| v.unwatched()).collect();
        let (value, gradient) = (self.unwatched(), gradient.unwatched());
        let mut inputs = vec![&value, &gradient, rates];
        inputs.extend(&held);
        apply_all(update.into(), &inputs, request, caller)
    }
}
