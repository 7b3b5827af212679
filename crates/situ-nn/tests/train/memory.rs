//! Memory that runs out while a trainer makes its weights: it is as it was, and is built when there is memory
//! again.

use crate::model::bits;
use situ_core::{Result, Shape};
use situ_nn::losses::SparseCategoricalCrossEntropy;
use situ_nn::metrics::SparseAccuracy;
use situ_nn::optimizers::Adam;
use situ_nn::{Activation, BatchNorm, Dense, Embedding, Flatten, Residual, Sequential, Trainer};
use situ_tensor::with_runtime;
use situ_testkit::machines;

fn trainer() -> Result<Trainer<Sequential>> {
    let block = Residual::new().add(Dense::new(6).activation(Activation::Relu)).add(Dense::new(6));
    let model = Sequential::new()
        .add(Embedding::new(10, 3))
        .add(Flatten::new())
        .add(Dense::new(6))
        .add(BatchNorm::new())
        .add(block)
        .add(Dense::new(3))
        .seed(11);
    let loss = SparseCategoricalCrossEntropy::from_logits();
    Trainer::new(model, Adam::new(0.1), loss, [SparseAccuracy::new()], 3)
}

#[test]
fn a_trainer_is_built_again_after_memory_ran_out_at_any_allocation() -> Result<()> {
    let runtime = machines::cpu();
    with_runtime(&runtime, || {
        let (shape, other) = (Shape::new(&[4, 5])?, Shape::new(&[4, 2])?);
        let mut wanted = trainer()?;
        wanted.build(&shape)?;
        let names = |t: &Trainer<Sequential>| t.weights().iter().map(|w| w.name.clone()).collect::<Vec<_>>();
        let cpu = runtime.logical_device(&"/CPU:0".parse()?)?;
        let mut failures = 0;
        loop {
            let mut trainer = trainer()?;
            cpu.fail_allocations_after(Some(failures))?;
            let built = trainer.build(&shape);
            cpu.fail_allocations_after(None)?;
            if built.is_ok() {
                break;
            }
            failures += 1;
            assert!(built.unwrap_err().is_out_of_memory());
            assert!(trainer.weights().is_empty());
            // Every third one is for inputs of another size after all.
            if failures % 3 == 0 && !trainer.model()?.is_built() {
                trainer.build(&other)?;
                assert_eq!(trainer.model()?.input_shape(), Some(&other));
                continue;
            }
            trainer.build(&shape)?;
            assert!(bits(trainer.weights()) == bits(wanted.weights()), "after failure {failures}");
            assert_eq!(names(&trainer), names(&wanted));
        }
        // Fourteen weights, two numbers of state for most of them, and what training needs besides.
        assert!(failures > 30, "{failures} allocations were made to fail");
        Ok(())
    })
}
