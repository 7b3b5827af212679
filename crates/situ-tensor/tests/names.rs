//! Names of parts of a program: who has them, and that they change nothing.

use situ_core::Result;
use situ_ir::Content;
use situ_tensor::{Function, Tape, Variable, device, name_scope, tensor};

fn full_names(graph: &situ_ir::Graph) -> Vec<String> {
    let ops = graph.nodes().iter().filter(|n| matches!(n.content, Content::Op(_)));
    ops.map(|n| n.request.name.of(n.content.name())).collect()
}

#[test]
fn names_nest_and_end_with_their_guards_in_any_order() -> Result<()> {
    let f = Function::new(|x| {
        let outer = name_scope("model");
        let y = {
            let _inner = name_scope("dense");
            x.exp()?
        };
        let inner = name_scope("head");
        drop(outer);
        let y = y.tanh()?;
        drop(inner);
        y.sum(&[])
    });
    let x = tensor([1.0f32, 2.0])?;
    assert_eq!(full_names(&f.graph(&[&x])?), ["model/dense/exp", "head/tanh", "sum"]);
    Ok(())
}

#[test]
fn a_gradient_op_has_the_name_of_the_op_it_is_of() -> Result<()> {
    let w = Variable::new(&tensor([[1.0f32, 2.0], [3.0, 4.0]])?)?;
    let held = w.clone();
    let f = Function::new(move |x| {
        let tape = Tape::new();
        let y = {
            let _layer = name_scope("dense");
            x.matmul(&held.value())?
        };
        let loss = y.tanh()?.sum(&[])?;
        let _elsewhere = name_scope("elsewhere");
        Ok(tape.gradient(&loss, &held)?.expect("connected"))
    });
    let names = full_names(&f.graph(&[&tensor([[1.0f32, 1.0]])?])?);
    let products: Vec<&str> = names.iter().map(String::as_str).filter(|n| n.ends_with("matmul")).collect();
    assert_eq!(products, ["dense/matmul", "gradient/dense/matmul"], "{names:?}");
    assert!(!names.iter().any(|n| n.contains("elsewhere")), "{names:?}");
    assert!(names.iter().any(|n| n.starts_with("gradient/") && !n.contains("dense")), "of tanh: {names:?}");
    Ok(())
}

#[test]
fn ops_of_different_names_are_still_joined_and_each_keeps_its_own() -> Result<()> {
    let f = Function::new(|x| {
        let y = {
            let _first = name_scope("first");
            x.exp()?
        };
        let _second = name_scope("second");
        y.tanh()
    });
    let x = tensor([1.0f32, 2.0])?;
    let places = f.places(&[&x])?;
    let named: Vec<String> = places.iter().map(|p| p.full_name()).collect();
    assert_eq!(named, ["first/exp", "second/tanh"]);
    assert!(places.iter().all(|p| p.fused), "one kernel: {places:?}");
    Ok(())
}

#[test]
fn a_name_around_a_call_is_no_reason_to_compile_again() -> Result<()> {
    let f = Function::new(|x| x.exp());
    let x = tensor([1.0f32])?;
    f.call(&x)?;
    let _name = name_scope("epoch");
    let _same = device("")?;
    f.call(&x)?;
    assert_eq!(f.traces(), 1);
    assert_eq!(f.places(&[&x])?[0].full_name(), "exp", "the name around a call is not inside the function");
    Ok(())
}
