//! Calls that make no sense are errors, and never panics.

use crate::checkpoint::Folder;
use crate::model::*;
use situ_core::{DType, Result};
use situ_nn::callbacks::{EachBatch, Run};
use situ_nn::optimizers::{Optimizer, RmsProp, Sgd};
use situ_nn::{Fit, Metric, Progress, Trainer, compile};
use situ_tensor::{Variable, zeros};

fn with<M: situ_nn::Metrics>(metrics: M) -> Result<Trainer<Mlp>> {
    compile(Mlp::new(&[6, 12, 4], 1)?, Sgd::new(0.1), cross_entropy(), metrics)
}

#[test]
fn a_step_function_says_what_it_takes() -> Result<()> {
    let (x, y) = quadrants(8, 6, 1)?;
    let trainer = with([Accuracy])?;
    let step = trainer.training()?.step_function();
    for inputs in [&[][..], &[&x], &[&x, &y, &y]] {
        for error in [step.places(inputs).err(), step.call_many(inputs).err()] {
            let error = error.unwrap().to_string();
            assert!(error.contains("a batch of inputs and one of targets"), "{error}");
        }
    }
    step.places(&[&x, &y])?;
    Ok(())
}

#[test]
fn a_rule_that_is_given_too_little_state_is_an_error() -> Result<()> {
    let (w, g) = (Variable::new(&zeros(&[2], DType::F32)?)?, zeros(&[2], DType::F32)?);
    for rms in [
        RmsProp::new(0.1),
        RmsProp { momentum: 0.5, ..RmsProp::new(0.1) },
        RmsProp { momentum: 0.5, centered: true, ..RmsProp::new(0.1) },
    ] {
        let rule = Optimizer::from(rms).rule;
        assert!(rule.step(&w, &g, &g, &[]).is_err());
        assert!(rule.step(&w, &g, &g, &[&w, &w, &w, &w]).is_err());
    }
    Ok(())
}

/// A mean of something, under any name.
#[derive(Debug)]
struct Named(&'static str, usize);

impl Metric for Named {
    fn name(&self) -> String {
        self.0.into()
    }
    fn sums(&self) -> usize {
        self.1
    }
    fn batch(&self, _: &situ_tensor::Tensor, _: &situ_tensor::Tensor) -> Result<situ_tensor::Tensor> {
        situ_tensor::full(&[self.1], 1.0f32)
    }
    fn figure(&self, sums: &[f32]) -> f64 {
        f64::from(sums[0])
    }
}

#[test]
fn an_epoch_under_way_can_be_gone_on_with_under_other_metrics() -> Result<()> {
    let folder = Folder::new("other-metrics");
    let path = folder.file("a.safetensors");
    let (x, y) = quadrants(128, 6, 1)?;
    // Stopped behind the last batch of the epoch: no step is left that would add to sums.
    let stop = EachBatch(|run: &mut Run<'_>| {
        if run.steps() == 4 {
            run.stop();
        }
        Ok(())
    });
    let quiet = || Fit { progress: Progress::Silent, ..Fit::default() };
    let mut first = with([Named("a", 1)])?;
    first.fit((&x, &y), Fit { callbacks: vec![Box::new(stop)], ..quiet() })?;
    first.save(&path)?;
    let mut same = with([Named("a", 1)])?;
    same.load(&path)?;
    assert_eq!(same.fit((&x, &y), quiet())?.last("a"), Some(4.0));
    for other in [vec![], vec![Named("a", 3)], vec![Named("b", 1)], vec![Named("a", 1), Named("b", 2)]] {
        let metrics = other.into_iter().map(|m| Box::new(m) as Box<dyn Metric>).collect::<Vec<_>>();
        let mut other = with(metrics)?;
        other.load(&path)?;
        let history = other.fit((&x, &y), Fit { epochs: 2, ..quiet() })?;
        assert_eq!(history.epochs.len(), 2);
        // What was summed for another figure is not said to be of this one.
        assert_ne!(history.epochs[0].figures.get("b"), Some(4.0));
    }
    Ok(())
}

#[test]
fn a_file_that_counts_too_far_is_an_error() -> Result<()> {
    let folder = Folder::new("counts");
    let path = folder.file("a.safetensors");
    let mut trainer = with(())?;
    trainer.save(&path)?;
    let bytes = std::fs::read(&path).unwrap();
    let size = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header = String::from_utf8(bytes[8..8 + size].to_vec()).unwrap();
    for count in ["steps", "epoch", "batch"] {
        let wrong =
            header.replace(&format!("\\\"{count}\\\":0"), &format!("\\\"{count}\\\":18446744073709551615"));
        assert_ne!(wrong, header, "{header}");
        let mut file = (wrong.len() as u64).to_le_bytes().to_vec();
        file.extend(wrong.as_bytes());
        file.extend(&bytes[8 + size..]);
        std::fs::write(&path, file).unwrap();
        let error = trainer.load(&path).unwrap_err().to_string();
        assert!(error.contains("18446744073709551615"), "{error}");
    }
    Ok(())
}
