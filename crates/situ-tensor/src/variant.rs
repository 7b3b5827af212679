//! A function as it was compiled for one signature, and which of them are kept.

use crate::tensor::Tensor;
use crate::together::{self, Values};
use crate::trace::Recorded;
use situ_core::{Caller, DeviceId, Request, Result, TensorType};
use situ_runtime::function::{Compiled, Outcome};
use situ_runtime::{DeviceTensor, Runtime, Variants};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes of a trace for each of its nodes, about.
const TRACED_BYTES: usize = 512;

/// The function for one signature, one set of devices and one scope around the call.
pub(crate) struct Variant {
    pub(crate) types: SmallVec<[TensorType; 2]>,
    pub(crate) devices: SmallVec<[DeviceId; 2]>,
    pub(crate) request: Request,
    pub(crate) runtime: Runtime,
    pub(crate) recorded: Arc<Recorded>,
    pub(crate) compiled: Compiled,
    /// The function's age at the last call.
    pub(crate) called: AtomicU64,
}

impl Variant {
    /// Bytes that go when it goes, by an estimate.
    fn footprint(&self) -> usize {
        self.compiled.footprint() + self.recorded.graph.nodes().len() * TRACED_BYTES
    }

    pub(crate) fn fits(&self, inputs: &[&DeviceTensor], request: &Request) -> bool {
        self.is_for(inputs, request) && self.compiled.is_current(&self.runtime)
    }

    /// Whether every variable is where the plan has it, or may be moved there.
    pub(crate) fn finds_its_variables(&self) -> bool {
        let homes = self.compiled.homes().iter();
        self.recorded
            .variables
            .iter()
            .zip(homes)
            .enumerate()
            .all(|(n, (v, home))| v.device() == *home || (v.is_movable() && self.compiled.assigns(n)))
    }

    pub(crate) fn is_for(&self, inputs: &[&DeviceTensor], request: &Request) -> bool {
        self.types.len() == inputs.len()
            && self.request == *request
            && inputs.iter().zip(&self.types).all(|(t, ty)| t.dtype() == ty.dtype && *t.shape() == ty.shape)
            && inputs.iter().zip(&self.devices).all(|(t, id)| t.device() == *id)
            && inputs.iter().all(|t| self.runtime.owns(t))
    }

    /// Whether it is for arguments of the same ranks and dtypes, on the same devices and under the same
    /// scope: it may differ in sizes alone.
    pub(crate) fn is_like(&self, inputs: &[&DeviceTensor], request: &Request) -> bool {
        has_ranks(&self.types, inputs.iter().map(|t| t.tensor_type()))
            && self.request == *request
            && inputs.iter().zip(&self.devices).all(|(t, id)| t.device() == *id)
            && inputs.iter().all(|t| self.runtime.owns(t))
            && self.compiled.is_current(&self.runtime)
    }
}

/// Whether types have the ranks and dtypes of others.
pub(crate) fn has_ranks(known: &[TensorType], types: impl ExactSizeIterator<Item = TensorType>) -> bool {
    known.len() == types.len()
        && known.iter().zip(types).all(|(a, b)| a.dtype == b.dtype && a.shape.rank() == b.shape.rank())
}

/// Takes the variants out that are beyond what may be kept: those called longest ago, and never the last.
pub(crate) fn beyond(known: &mut Vec<Arc<Variant>>, most: Variants) -> Vec<Arc<Variant>> {
    let mut bytes: usize = known.iter().map(|v| v.footprint()).sum();
    let mut gone = Vec::new();
    while known.len() > 1 && (known.len() > most.count || bytes > most.bytes) {
        let others = known[..known.len() - 1].iter().enumerate();
        let Some((oldest, _)) = others.min_by_key(|(_, v)| v.called.load(Relaxed)) else { break };
        let variant = known.remove(oldest);
        bytes -= variant.footprint();
        gone.push(variant);
    }
    gone
}

/// What is different between two signatures.
pub(crate) fn change(before: &[TensorType], now: &[TensorType]) -> String {
    if before.len() != now.len() {
        return format!("it has {} arguments, before it had {}", now.len(), before.len());
    }
    let changed = before.iter().zip(now).enumerate().filter(|(_, (before, now))| before != now);
    let texts: Vec<String> =
        changed.map(|(n, (was, is))| format!("argument {n} is {is}, before it was {was}")).collect();
    texts.join("; ")
}

/// A call that is ready to run.
pub(crate) struct Prepared<'i> {
    pub(crate) variant: Arc<Variant>,
    pub(crate) arguments: SmallVec<[&'i DeviceTensor; 4]>,
}

impl Prepared<'_> {
    /// The variables' values where the plan has them; `None` if one is elsewhere and stays there: then
    /// another plan is needed.
    pub(crate) fn variables(&self) -> Result<Option<Values>> {
        let Variant { recorded, compiled, runtime, .. } = &*self.variant;
        let mut held = together::values(recorded);
        for (n, (variable, home)) in recorded.variables.iter().zip(compiled.homes()).enumerate() {
            if held[n].device() == *home {
                continue;
            }
            if !(variable.is_movable() && compiled.assigns(n)) {
                return Ok(None);
            }
            match variable.move_to(*home, runtime) {
                Ok(moved) => held[n] = Tensor::from_concrete(moved),
                // There is no room for it after all.
                Err(error) if error.is_out_of_memory() => {
                    variable.settle();
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Some(held))
    }

    pub(crate) fn run<T>(
        &self,
        variables: together::Values,
        call: impl Fn(&Compiled, &Runtime, &[&DeviceTensor], &[&DeviceTensor]) -> Result<(Outcome, T)>,
    ) -> Result<(Vec<Tensor>, T)> {
        let Variant { recorded, compiled, runtime, .. } = &*self.variant;
        let mut dense: SmallVec<[DeviceTensor; 2]> = SmallVec::new();
        let is_whole = |t: &DeviceTensor| t.layout().is_dense() && t.layout().offset() == 0;
        if !self.arguments.iter().all(|t| is_whole(t)) {
            for argument in &self.arguments {
                dense.push(runtime.dense(argument, Caller::here())?);
            }
        }
        let views: SmallVec<[&DeviceTensor; 4]> = dense.iter().collect();
        let whole: &[&DeviceTensor] = if views.is_empty() { &self.arguments } else { &views };
        let mut held: SmallVec<[&DeviceTensor; 4]> = SmallVec::new();
        for value in &variables {
            held.push(value.concrete()?);
        }
        let (outcome, extra) = call(compiled, runtime, whole, &held)?;
        if !(outcome.updates.is_empty() && outcome.rows.is_empty()) {
            // What is held here could not be written over.
            drop(held);
            drop(variables);
            together::replace(recorded, outcome.updates, outcome.rows)?;
        }
        Ok((outcome.outputs.into_iter().map(Tensor::from_concrete).collect(), extra))
    }
}
