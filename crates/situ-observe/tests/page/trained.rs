//! The record of a real training step: layers on a simulated GPU, the loss on the CPU.

use situ_core::{DType, Result};
use situ_nn::losses::SparseCategoricalCrossEntropy;
use situ_nn::metrics::SparseAccuracy;
use situ_nn::optimizers::Adam;
use situ_nn::{Activation, Dense, Fit, Progress, Sequential};
use situ_observe::{Profiler, Record};
use situ_tensor::{random, with_device, with_runtime};
use situ_testkit::machines::cpu_and;
use situ_testkit::simulated::SimulatedGpu;

/// Three steps of two dense layers.
pub(crate) fn record() -> Result<Record> {
    with_runtime(&cpu_and(&[&SimulatedGpu::new()]), || {
        let x = with_device("/CPU:0", || random::normal(&[48, 24]))?;
        let y = with_device("/CPU:0", || x.narrow(1, 0, 10)?.argmax(&[-1])?.cast(DType::I32))?;
        let model = with_device("/GPU:0", || {
            Ok(Sequential::new().add(Dense::new(16).activation(Activation::Relu)).add(Dense::new(10)))
        })?;
        let loss = with_device("/CPU:0", || Ok(SparseCategoricalCrossEntropy::from_logits()))?;
        let mut trainer = model.compile(Adam::new(1e-3), loss, [SparseAccuracy::new()])?;
        let fit = || Fit { batch_size: 16, progress: Progress::Silent, ..Fit::default() };
        trainer.fit((&x, &y), Fit { epochs: 2, ..fit() })?;
        let (_, record) =
            Profiler::new().detailed().title("two layers").run(|| trainer.fit((&x, &y), fit()))?;
        Ok(record)
    })
}
