//! A large product on the GPU, its sum on the CPU: one copy between them, and it is in the ledger.

use situ::prelude::*;

/// The product and its sum.
pub(crate) fn program() -> Result<(Tensor, Tensor)> {
    let product = situ::with_device("/GPU:0", || {
        let matrix_a = random::normal(&[1024, 1024])?;
        let matrix_b = random::normal(&[1024, 1024])?;
        matrix_a.matmul(&matrix_b)
    })?;
    let result = situ::with_device("/CPU:0", || product.sum(&[]))?;
    Ok((product, result))
}

pub(crate) fn main() -> Result<()> {
    let (product, result) = program()?;
    println!("product on {}: {}", product.device(), product.reason());
    println!("result {result} on {}: {}", result.device(), result.reason());
    println!("moved:\n{}", config::ledger());
    Ok(())
}
