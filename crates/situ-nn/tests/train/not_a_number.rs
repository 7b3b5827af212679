//! Losses that are no numbers: said once, and the end of training where that is wanted.

use crate::model::*;
use situ_core::Result;
use situ_nn::callbacks::StopOnNan;
use situ_nn::optimizers::Sgd;
use situ_nn::{Fit, Progress, compile};
use situ_runtime::Runtime;
use situ_tensor::{Tensor, with_runtime};
use situ_testkit::machines;
use std::sync::{Arc, Mutex};

fn quiet() -> Fit<'static> {
    Fit { progress: Progress::Silent, shuffle: None, batch_size: 8, ..Fit::default() }
}

/// Examples in five batches, of which one has a value that is none from this row on.
fn data(bad: Option<usize>) -> Result<(Tensor, Tensor)> {
    let (x, y) = quadrants(40, 3, 2)?;
    let mut values = x.to_vec::<f32>()?;
    if let Some(row) = bad {
        values[row * 3] = f32::NAN;
    }
    Ok((situ_tensor::constant(&values, &[40, 3])?, y))
}

fn said(runtime: &Runtime) -> Arc<Mutex<Vec<String>>> {
    let said: Arc<Mutex<Vec<String>>> = Arc::default();
    let list = said.clone();
    runtime.set_listener(Some(Box::new(move |notice| list.lock().unwrap().push(notice.text.clone()))));
    said
}

#[test]
fn a_loss_that_is_no_number_is_said_once_and_training_goes_on() -> Result<()> {
    let runtime = machines::cpu();
    let said = said(&runtime);
    let about = |said: &Arc<Mutex<Vec<String>>>| {
        said.lock().unwrap().iter().filter(|text| text.contains("StopOnNan")).cloned().collect::<Vec<_>>()
    };
    with_runtime(&runtime, || {
        let model = || Mlp::new(&[3, 8, 4], 5);
        let (x, y) = data(None)?;
        compile(model()?, Sgd::new(0.1), cross_entropy(), ())?.fit((&x, &y), Fit { epochs: 2, ..quiet() })?;
        assert!(about(&said).is_empty());
        let (x, y) = data(Some(20))?;
        let mut trainer = compile(model()?, Sgd::new(0.1), cross_entropy(), ())?;
        let history = trainer.fit((&x, &y), Fit { epochs: 3, ..quiet() })?;
        assert_eq!((history.epochs.len(), history.stopped), (3, false));
        let about = about(&said);
        assert_eq!(about.len(), 1, "{about:?}");
        assert!(about[0].contains("the loss of epoch 1 is NaN"), "{about:?}");
        Ok(())
    })
}

#[test]
fn stop_on_nan_ends_training_after_the_step_that_met_it() -> Result<()> {
    let runtime = machines::cpu();
    said(&runtime);
    with_runtime(&runtime, || {
        // Row 20 is in the third of five batches.
        for (bad, every, stopped_at, epochs) in [
            (None, 1, None, 3),
            (Some(20), 1, Some(3), 0),
            (Some(20), 2, Some(4), 0),
            (Some(39), 4, Some(5), 1),
        ] {
            let (x, y) = data(bad)?;
            let mut trainer = compile(Mlp::new(&[3, 8, 4], 5)?, Sgd::new(0.1), cross_entropy(), ())?;
            let mut stop = StopOnNan::new().every(every);
            let fit = Fit { epochs: 3, callbacks: vec![Box::new(&mut stop)], ..quiet() };
            let history = trainer.fit((&x, &y), fit)?;
            assert_eq!((history.epochs.len(), history.stopped), (epochs, bad.is_some()), "{bad:?} {every}");
            assert_eq!(stop.stopped_at(), stopped_at, "{bad:?} {every}");
        }
        Ok(())
    })
}
