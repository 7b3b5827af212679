//! Where every op of a function runs, why there, and what each other device would cost.

use situ::function::Explanation;
use situ::prelude::*;

pub(crate) fn program() -> Result<Explanation> {
    let weight = random::normal(&[512, 512])?;
    let classify = Function::new(move |x| {
        // Names are for people: they stand before the op's in everything that is told of it.
        let hidden = {
            let _layer = situ::name_scope("hidden");
            x.matmul(&weight)?.relu()?
        };
        let _layer = situ::name_scope("classes");
        // A scope inside a function is a wish for that op alone; the others are placed around it.
        situ::with_device("/CPU:0", || hidden.softmax(-1))
    })
    .named("classify");
    let x = random::normal(&[64, 512])?;
    classify.call(&x)?;
    classify.explain(&[&x])
}

pub(crate) fn main() -> Result<()> {
    let why = program()?;
    // As a table, with copies and memory.
    println!("{why}");
    // Or as data.
    for op in &why.ops {
        println!("{} on {}: {}", op.place.full_name(), op.place.device, op.place.reason);
        for other in &op.alternatives {
            println!("    on {} the call would take {:+.0} µs", other.device, other.seconds * 1e6);
        }
    }
    let (expected, best) = (why.predicted * 1e6, why.lower_bound * 1e6);
    println!("{expected:.0} µs were expected; no placement takes less than {best:.0} µs");
    Ok(())
}
