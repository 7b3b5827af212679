//! The gradient of a fused program: its steps again, and then back through them.

use super::{Application, Builder, Gradients, Terms};
use crate::ops::{Fill, Program, Step};
use situ_core::{Result, Shape};
use smallvec::SmallVec;

impl Program {
    /// The gradient by each wanted input.
    pub(crate) fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let count = self.inputs().len();
        let mut values: Vec<B::Value> = at.inputs.to_vec();
        let mut needed: Vec<bool> = (0..count).map(|n| at.wants(n)).collect();
        for step in self.steps() {
            needed.push(step.reads().any(|r| needed[r.index()]));
            values.push(match (step, step.op()) {
                (_, Some(op)) => {
                    let reads: SmallVec<[&B::Value; 3]> = step.reads().map(|r| &values[r.index()]).collect();
                    builder.emit(op, &reads)?
                }
                (Step::Constant(value), None) => {
                    builder.emit(Fill { shape: Shape::SCALAR, value: *value }.into(), &[])?
                }
                (_, None) => return Err(super::undefined("fused")),
            });
        }
        let mut open: Vec<Option<B::Value>> = values.iter().map(|_| None).collect();
        for (register, upstream) in self.outputs().iter().zip(at.upstream) {
            if let Some(upstream) = upstream {
                // A step of few inputs may be smaller than the result, to which all broadcast.
                let shape = builder.shape(&values[register.index()]);
                let part = builder.summed_to(upstream, shape)?;
                add(builder, &mut open[register.index()], part)?;
            }
        }
        for (number, step) in self.steps().iter().enumerate().rev() {
            let register = count + number;
            let (Some(op), true, Some(upstream)) = (step.op(), needed[register], open[register].take())
            else {
                continue;
            };
            let inputs: SmallVec<[B::Value; 3]> = step.reads().map(|r| values[r.index()].clone()).collect();
            let wanted: SmallVec<[bool; 3]> =
                step.reads().map(|r| needed[r.index()] && self.dtype(r).is_float()).collect();
            let upstream = [Some(upstream)];
            let outputs = std::slice::from_ref(&values[register]);
            let here = Application { inputs: &inputs, outputs, upstream: &upstream, wanted: &wanted };
            for (read, gradient) in step.reads().zip(op.gradient(builder, &here)?) {
                if let Some(gradient) = gradient {
                    add(builder, &mut open[read.index()], gradient)?;
                }
            }
        }
        open.truncate(count);
        Ok(open.into_iter().collect())
    }
}

fn add<B: Builder>(builder: &mut B, to: &mut Option<B::Value>, part: B::Value) -> Result<()> {
    *to = Some(match to.take() {
        None => part,
        Some(before) => builder.add(&before, &part)?,
    });
    Ok(())
}
