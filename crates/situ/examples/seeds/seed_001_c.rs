//! A CPU scope inside a GPU scope: the inner one wins, and ends where it ends.

use situ::prelude::*;

/// The sum, from the inner scope, and the product, from the outer one.
pub(crate) fn program() -> Result<(Tensor, Tensor)> {
    let _gpu = situ::device("/GPU:0")?;
    let a = situ::tensor([[1.0f32, 2.0], [3.0, 4.0]])?;
    let b = situ::tensor([[5.0f32, 6.0], [7.0, 8.0]])?;
    let c = situ::with_device("/CPU:0", || a.add(&b))?;
    let d = a.matmul(&b)?;
    Ok((c, d))
}

pub(crate) fn main() -> Result<()> {
    let (c, d) = program()?;
    println!("c = {c}\nis on {}: {}", c.device(), c.reason());
    println!("d = {d}\nis on {}: {}", d.device(), d.reason());
    Ok(())
}
