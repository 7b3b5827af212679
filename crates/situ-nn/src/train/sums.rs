//! Sums of losses and metrics: on the device inside a compiled step, and on the host where they are read now
//! and then.

use super::Figures;
use crate::Metric;
use situ_core::{DType, Error, Location, Result};
use situ_tensor::scope::line_scope;
use situ_tensor::{Tensor, Variable, concat, zeros};
use std::sync::Arc;

/// Examples after which sums are read even if nobody watches: f32 can't count much further.
const MOST_EXAMPLES: u64 = 1 << 20;

/// The sums on a device: of the loss first, then of each metric.
#[derive(Debug)]
pub(crate) struct Sums {
    held: Variable,
    none: Tensor,
}

impl Sums {
    /// Sums for these metrics, beside a variable (the last weight: near to where the loss is).
    pub(crate) fn new(metrics: &[Box<dyn Metric>], weight: Option<&Variable>) -> Result<Sums> {
        let count = 1 + metrics.iter().map(|m| m.sums()).sum::<usize>();
        let none = {
            let _there = weight.map(Variable::device_scope);
            zeros(&[count], DType::F32)?
        };
        let held = match weight {
            Some(weight) => weight.new_beside(|| Ok(none.clone()))?,
            None => Variable::new(&none)?,
        };
        Ok(Sums { held, none })
    }

    /// Adds a batch. `loss` is the sum of its examples'. Ops that are not of a metric of the program are said
    /// to be of `line`.
    pub(crate) fn add(
        &self,
        metrics: &[Box<dyn Metric>],
        loss: &Tensor,
        predicted: &Tensor,
        target: &Tensor,
        line: Location,
    ) -> Result<()> {
        let mut parts = {
            let _line = line_scope(line);
            vec![loss.reshape(&[1])?]
        };
        for metric in metrics {
            let _line = (!metric.has_lines()).then(|| line_scope(line));
            let part = metric.batch(predicted, target)?;
            let _line = line_scope(line);
            if part.dtype() != DType::F32 || part.elements() != metric.sums() {
                return Err(Error::operands(
                    "metric",
                    &[part.tensor_type()],
                    format!("{} says that it has {} sums of f32", metric.name(), metric.sums()),
                    "give as many from Metric::batch",
                ));
            }
            parts.push(part.reshape(&[metric.sums() as isize])?);
        }
        let _line = line_scope(line);
        if let [only] = &parts[..] {
            return self.held.assign_add(only);
        }
        let _there = self.held.device_scope();
        self.held.assign_add(&concat(&parts.iter().collect::<Vec<_>>(), 0)?)
    }

    /// Reads the sums and begins anew. It waits for the device.
    fn take(&self, line: Location) -> Result<Vec<f32>> {
        let _line = line_scope(line);
        let sums = self.held.value().to_vec::<f32>()?;
        self.held.assign(&self.none)?;
        Ok(sums)
    }
}

/// Sums as far as the host has read them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Totals {
    pub(crate) sums: Vec<f64>,
    pub(crate) examples: u64,
    /// Examples on the device that have not been read.
    pub(crate) unread: u64,
}

impl Totals {
    /// Counts a batch that was added on the device.
    #[inline]
    pub(crate) fn count(&mut self, examples: usize) {
        self.unread += examples as u64;
    }

    /// Takes in what is on the device if it is as much as can be counted there.
    #[inline]
    pub(crate) fn read_if_full(&mut self, on_device: &Sums, line: Location) -> Result<()> {
        if self.unread >= MOST_EXAMPLES { self.read(on_device, line) } else { Ok(()) }
    }

    /// Takes in what is on the device, for a line of the program.
    pub(crate) fn read(&mut self, on_device: &Sums, line: Location) -> Result<()> {
        if self.unread == 0 {
            return Ok(());
        }
        let sums = on_device.take(line)?;
        self.sums.resize(sums.len(), 0.0);
        for (total, new) in self.sums.iter_mut().zip(sums) {
            *total += f64::from(new);
        }
        self.examples += self.unread;
        self.unread = 0;
        Ok(())
    }

    /// Begins anew; what is on the device is let go.
    pub(crate) fn reset(&mut self, on_device: &Sums, line: Location) -> Result<()> {
        *self = Totals::default();
        let _line = line_scope(line);
        on_device.held.assign(&on_device.none)
    }

    /// The figures of all that was read.
    pub(crate) fn figures(&self, names: &Arc<[String]>, metrics: &[Box<dyn Metric>]) -> Figures {
        if self.examples == 0 {
            return Figures::default();
        }
        let mut values = vec![self.sums[0] / self.examples as f64];
        let mut at = 1;
        for metric in metrics {
            let sums: Vec<f32> = self.sums[at..at + metric.sums()].iter().map(|s| *s as f32).collect();
            values.push(metric.figure(&sums));
            at += metric.sums();
        }
        Figures::new(names.clone(), values)
    }
}
