//! The smallest program: two tensors, a product, where it ran and why.

use situ::prelude::*;

pub(crate) fn main() -> Result<()> {
    let a = situ::tensor([[1.0f32, 2.0], [3.0, 4.0]])?;
    let b = situ::tensor([[5.0f32, 6.0], [7.0, 8.0]])?;
    let c = a.matmul(&b)?;
    println!("{c}");
    println!("{} on {}: {}", c.shape(), c.device(), c.reason());
    Ok(())
}
