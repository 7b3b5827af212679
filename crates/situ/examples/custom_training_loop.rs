//! A training loop of one's own, of variables, a tape and a compiled step: a line through noisy points.

use situ::prelude::*;

/// The slope and the intercept that were found, and the loss of each step.
pub(crate) fn program(steps: usize) -> Result<(f32, f32, Vec<f32>)> {
    random::set_seed(2);
    let x = random::uniform(&[256, 1], -1.0, 1.0)?;
    let noise = (&random::normal(&[256, 1])? * 0.05)?;
    let y = (&(&x * 3.0)? + &(&noise + 0.5)?)?;

    let slope = Variable::new(&situ::zeros(&[1], DType::F32)?)?;
    let intercept = Variable::new(&situ::zeros(&[1], DType::F32)?)?;
    let (a, b) = (slope.clone(), intercept.clone());
    // Traced at the first call; after that a call is the planned step alone: forward, gradients and both
    // updates.
    let step = Function::new2(move |x, y| {
        let tape = Tape::new();
        let predicted = x.mul(&a.value())?.add(&b.value())?;
        let loss = predicted.sub(y)?.square()?.mean(&[])?;
        let gradients = tape.gradients(&loss, [&a, &b])?;
        for (variable, gradient) in [&a, &b].into_iter().zip(gradients.into_iter().flatten()) {
            variable.assign_sub(&(&gradient * 0.3)?)?;
        }
        Ok(loss)
    });

    let losses = (0..steps).map(|_| step.call2(&x, &y)?.item::<f32>()).collect::<Result<Vec<f32>>>()?;
    Ok((slope.value().item()?, intercept.value().item()?, losses))
}

pub(crate) fn main() -> Result<()> {
    let (slope, intercept, losses) = program(100)?;
    println!("y = {slope:.3} x + {intercept:.3}, where 3 x + 0.5 was to be found");
    println!("from a loss of {:.4} to {:.4}", losses[0], losses[losses.len() - 1]);
    Ok(())
}
