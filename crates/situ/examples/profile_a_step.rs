//! One step, recorded: what ran where, how long it took, what was moved, and what to change.
//!
//! `profile_training` does the same to `fit`, and writes the page, the trace and the files for TensorBoard.

use situ::observe::{Pattern, Record};
use situ::prelude::*;

pub(crate) fn program() -> Result<Record> {
    let weight = Variable::new(&random::normal(&[256, 256])?)?;
    let step = Function::new(move |x| {
        let tape = Tape::new();
        let loss = {
            let _part = situ::name_scope("forward");
            x.matmul(&weight.value())?.tanh()?.square()?.mean(&[])?
        };
        let gradient = tape.gradient(&loss, &weight)?;
        let _part = situ::name_scope("update");
        if let Some(gradient) = gradient {
            weight.assign_sub(&(&gradient * 0.1)?)?;
        }
        Ok(loss)
    })
    .named("step");
    let x = random::normal(&[128, 256])?;
    // The first call traces and compiles, which is not what a step costs.
    step.call(&x)?;
    let (loss, record) = situ::profile(|| step.call(&x))?;
    println!("loss {loss}");
    Ok(record)
}

pub(crate) fn main() -> Result<()> {
    let record = program()?;
    println!("{}", record.tables());
    // One op, by its name: where it was, why, and what other devices would have taken.
    println!("{}", record.why(&Pattern::new("forward/matmul")));
    for finding in &record.findings {
        println!("{}", finding.text);
    }
    Ok(())
}
