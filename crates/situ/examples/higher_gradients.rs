//! Gradients of gradients: tapes nest, and the inner one's gradient is recorded by the outer.

use situ::prelude::*;

/// x, and the first and second derivatives of x³ · sin x there.
pub(crate) fn program() -> Result<[Vec<f32>; 3]> {
    let outer = Tape::new();
    let x = outer.watch(&situ::tensor([0.5f32, 1.0, 2.0])?)?;
    let inner = Tape::new();
    let x = inner.watch(&x)?;
    let y = x.square()?.mul(&x)?.mul(&x.sin()?)?;
    // `None` would say that y does not depend on x.
    let first = inner.gradient(&y, &x)?.expect("y depends on x");
    let second = outer.gradient(&first, &x)?.expect("and so does its gradient");
    Ok([x.to_vec()?, first.to_vec()?, second.to_vec()?])
}

pub(crate) fn main() -> Result<()> {
    let [x, first, second] = program()?;
    for ((x, first), second) in x.iter().zip(&first).zip(&second) {
        println!("at {x}: {first:.4}, {second:.4}");
    }
    Ok(())
}
