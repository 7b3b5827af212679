//! A step of a table that is looked up in, and its optimizer: rows, width and indices are in the case's name.

use crate::cases::Call;
use situ::ops::{Update, UpdateKind};
use situ::{DType, Function, Real, Result, Tape, Tensor, Variable, random::Generator, zeros};
use std::sync::Arc;

/// The call of a case of this file; nothing if it is not one.
pub(crate) fn prepare(name: &str) -> Result<Option<Call>> {
    // Figures of ours against ours.
    let name = match name {
        "function_embedding_lazy" => "embedding_step_1000000x64x2048",
        "function_embedding_dense" => "embedding_dense_step_1000000x64x2048",
        other => other,
    };
    let Some((kind, sizes)) = name.rsplit_once('_') else { return Ok(None) };
    let way = match kind {
        "embedding_step" => Way { is_lazy: true, is_compiled: true },
        "embedding_eager_step" => Way { is_lazy: true, is_compiled: false },
        "embedding_dense_step" => Way { is_lazy: false, is_compiled: true },
        _ => return Ok(None),
    };
    let sizes: Vec<usize> = sizes.split('x').filter_map(|n| n.parse().ok()).collect();
    let [rows, width, count] = sizes[..] else { return Ok(None) };
    let step = Step::new(rows, width, count, way.is_lazy)?;
    Ok(Some(if way.is_compiled { step.compiled() } else { step.eager() }))
}

#[derive(Clone, Copy)]
struct Way {
    /// Whether the rows of the batch alone are changed.
    is_lazy: bool,
    is_compiled: bool,
}

/// A table with Adam's state, and a batch.
struct Step {
    table: Variable,
    states: [Variable; 2],
    /// The learning rate, and the number of the step.
    rates: Variable,
    one: Tensor,
    indices: Tensor,
    targets: Tensor,
    is_lazy: bool,
}

impl Step {
    fn new(rows: usize, width: usize, count: usize, is_lazy: bool) -> Result<Arc<Step>> {
        let generator = Generator::new(1);
        let zero = || Variable::new(&zeros(&[rows, width], DType::F32)?);
        // As `bench/peers/torch_embedding.py` has them.
        let indices: Vec<i32> = (0..count).map(|i| (i * 7919 % rows) as i32).collect();
        Ok(Arc::new(Step {
            table: Variable::new(&generator.normal(&[rows, width], 0.0, 1.0, DType::F32)?)?,
            states: [zero()?, zero()?],
            rates: Variable::new(&situ::tensor([1e-3f32, 0.0])?)?,
            one: situ::tensor([0.0f32, 1.0])?,
            indices: situ::tensor(indices)?,
            targets: generator.normal(&[count, width], 0.0, 1.0, DType::F32)?,
            is_lazy,
        }))
    }

    /// Forward, backward, and Adam; the loss.
    fn run(&self, indices: &Tensor, targets: &Tensor) -> Result<Tensor> {
        self.rates.assign_add(&self.one)?;
        let tape = Tape::new();
        let found = self.table.value().embedding(indices)?;
        let loss = found.sub(targets)?.square()?.mean(&[])?;
        let gradient = tape.gradient(&loss, &self.table)?;
        let kind = UpdateKind::Adam { beta1: Real(0.9), beta2: Real(0.999), epsilon: Real(1e-8) };
        let adam = Update { kind, decay: Real(0.0), decoupled: false };
        let (rates, [mean, square]) = (self.rates.value(), &self.states);
        if let Some(gradient) = gradient {
            match gradient.rows() {
                Some(rows) if self.is_lazy => self.table.step_rows(adam, rows, &rates, &[mean, square])?,
                _ => self.table.step(adam, &gradient, &rates, &[mean, square])?,
            }
        }
        Ok(loss)
    }

    fn eager(self: Arc<Step>) -> Call {
        Box::new(move || self.run(&self.indices, &self.targets))
    }

    fn compiled(self: Arc<Step>) -> Call {
        let (indices, targets) = (self.indices.clone(), self.targets.clone());
        let function = Function::new2(move |indices, targets| self.run(indices, targets));
        Box::new(move || function.call2(&indices, &targets))
    }
}
