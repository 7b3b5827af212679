//! Records of programs in other languages: their lines, in the record, its tables and its page.

use super::{on, square};
use situ_core::{Location, Result, locate_with};
use situ_nn::{Dense, Layer, Maker, Model, Pass};
use situ_observe::record::{Node, NodeKind};
use situ_observe::{page, profile};
use situ_tensor::{Function, with_device};
use situ_testkit::machines::cpu_and;
use situ_testkit::simulated::SimulatedGpu;
use std::cell::Cell;

thread_local! {
    static LINE: Cell<u32> = const { Cell::new(1) };
}

#[test]
fn a_page_shows_the_lines_of_the_program_that_the_front_end_runs() -> Result<()> {
    let _front = locate_with(|| Some(Location::line_of("notebook.py", LINE.get())));
    on(&cpu_and(&[&SimulatedGpu::new().without_ops(&["erf"])]), || {
        let x = square(32)?;
        LINE.set(2);
        let dense = Dense::new(8);
        let dense = dense.built(&[32], &mut Maker::new(0))?;
        LINE.set(3);
        let f = Function::new(move |x| {
            LINE.set(4);
            let y = with_device("/GPU:0", || dense.forward(x, &Pass::inference()))?;
            LINE.set(5);
            with_device("/CPU:0", || y.exp())
        });
        let (_, record) = profile(|| {
            LINE.set(6);
            f.call(&x)?;
            LINE.set(7);
            let y = x.add(&x)?;
            LINE.set(8);
            with_device("/GPU:0", || y.erf())
        })?;
        let plan = &record.plans[0];
        assert_eq!(plan.function, "function at notebook.py:3");
        let line = |op: &str| plan.nodes.iter().find(|n| n.op == op).map(|n| n.source.as_str());
        assert_eq!(line("exp"), Some("notebook.py:5"));
        let is_ours = |n: &&Node| n.kind == NodeKind::Op && n.name.contains("dense");
        let ours: Vec<&str> = plan.nodes.iter().filter(is_ours).map(|n| n.source.as_str()).collect();
        assert!(!ours.is_empty() && ours.iter().all(|at| *at == "notebook.py:2"), "a layer's own: {ours:?}");
        assert!(
            record.eager.iter().any(|e| e.op == "add" && e.source == "notebook.py:7"),
            "{:?}",
            record.eager
        );
        assert!(record.eager.iter().any(|e| e.op == "erf" && e.source == "notebook.py:8"));
        let text = page::html(&record);
        for line in [2, 5, 7, 8] {
            assert!(text.contains(&format!("notebook.py:{line}")), "{line}");
        }
        assert!(!text.contains("front.rs"), "no line of the front end itself");
        Ok(())
    })
}
