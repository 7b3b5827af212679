//! A compiled function that squares on the GPU and takes the mean on the CPU: scopes inside a function hold
//! there too.

use situ::prelude::*;

/// The function; nothing runs before its first call.
pub(crate) fn my_computation() -> Function {
    Function::new(|input| {
        let intermediate = situ::with_device("/GPU:0", || input.square())?;
        situ::with_device("/CPU:0", || intermediate.mean(&[]))
    })
}

pub(crate) fn main() -> Result<()> {
    let input = random::normal(&[1000, 1000])?;
    let function = my_computation();
    let output = function.call(&input)?;
    println!("{output} on {}", output.device());
    println!("{}", function.explain(&[&input])?);
    Ok(())
}
