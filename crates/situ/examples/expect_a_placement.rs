//! A placement held by a check: a test, or a program at its start, fails where an op is not where it should
//! be.

use situ::prelude::*;

/// The result under expectations that hold, and the error of one that does not.
pub(crate) fn program() -> Result<(Tensor, Error)> {
    let classify = Function::new(|x| {
        let logits = {
            let _layer = situ::name_scope("dense");
            x.matmul(x)?
        };
        let _layer = situ::name_scope("head");
        situ::with_device("/CPU:0", || logits.softmax(-1))
    });
    let x = situ::with_device("/CPU:0", || random::normal(&[32, 32]))?;
    // The first call compiles.
    classify.call(&x)?;

    let classes = situ::expect(|e| e.no_retrace().on("/CPU:0", "head/*").max_memory("/CPU:0", 1 << 30))
        .during(|| classify.call(&x))?;
    // No machine has eight GPUs by accident, so this fails, and says where the op ran instead.
    let unmet = situ::expect(|e| e.on("/GPU:7", "dense/*")).during(|| classify.call(&x));
    let Err(unmet) = unmet else { unreachable!("the product of small matrices ran on GPU:7") };
    Ok((classes, unmet))
}

pub(crate) fn main() -> Result<()> {
    let (classes, unmet) = program()?;
    println!("as expected: {} on {}", classes.shape(), classes.device());
    println!("not as expected: {unmet}");
    Ok(())
}
