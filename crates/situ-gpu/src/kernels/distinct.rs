//! Which indices of a list are the same: a few are compared with all before them; many are sorted as
//! `scatter_add` does it, and each finds the first of its run by halving.

use super::Kernel;
use super::index::{index_at, is_wide};
use super::run::{Params, Run, element_offset};
use super::scatter_add::{FEW, SortPlan, kernel, sort};
use crate::borders::Borders;
use crate::fault::Fault;
use situ_core::{DType, TensorType};
use situ_device::{Arg, Check, Registry};
use situ_ir::{Op, OpKind};
use std::sync::Arc;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    let kernel = Kernel::new(run).accepting(|_, _, layout| layout.is_dense()).with_workspace(workspace);
    // Rows are counted in 32 bits, and one number more stands for what is none.
    registry.add_where(
        OpKind::Distinct,
        &[DType::I32, DType::I64],
        kernel,
        |op, _, _| matches!(op, Op::Distinct(op) if op.rows < u32::MAX as usize),
    );
}

fn workspace(borders: &Borders, op: &Op, inputs: &[TensorType], _: &[TensorType]) -> usize {
    let (Op::Distinct(op), count) = (op, inputs[0].shape.elements()) else { return 0 };
    if count <= FEW {
        0
    } else {
        4 * SortPlan::of(count, op.rows, count, borders).words().iter().sum::<usize>()
    }
}

fn run(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let Op::Distinct(op) = run.call.op else { return Err(Fault::Internal("not a distinct".into())) };
    let [first, own] = run.call.outputs else {
        return Err(Fault::Internal("distinct has two outputs".into()));
    };
    let list = run.input(0);
    let count = list.layout.shape().elements();
    let sizes = [count as u32, op.rows as u32, 0, 0];
    let [from, first_at, own_at] = [list, first, own].map(element_offset);
    if count == 0 {
        return Ok(None);
    }
    if count <= FEW {
        let params = Params::new(sizes, [from, first_at, own_at, 0]);
        let bound = [run.block(list)?, run.block(first)?, run.block(own)?];
        let text = [&*index_at(list, "b0"), &put_own(list, "b2"), include_str!("wgsl/distinct_few.wgsl")];
        kernel(run, "distinct_few", is_wide(list), 3, &text, (&bound, &params, count))?;
        return Ok(None);
    }
    let plan = SortPlan::of(count, op.rows, count, run.borders());
    let run = run.shared_by(5 * plan.digits as usize + 1);
    let sorted = sort(&run, &plan, list, op.rows)?;
    let params = Params::new(sizes, [from, sorted, first_at, own_at]);
    let (work, _) = run.workspace()?;
    let bound = [run.block(list)?, work, run.block(first)?, run.block(own)?];
    let text = [&*index_at(list, "b0"), &put_own(list, "b3"), include_str!("wgsl/distinct.wgsl")];
    kernel(&run, "distinct", is_wide(list), 4, &text, (&bound, &params, count))?;
    Ok(None)
}

/// `fn put_own(to: u32, at: u32, is_first: bool)`: the index of b0 at `at`, or −1, into `buffer`.
fn put_own(list: &Arg<'_>, buffer: &str) -> String {
    let word =
        |to: &str, at: &str| format!("    {buffer}[{to}] = select(0xffffffffu, b0[{at}], is_first);\n");
    let words = match is_wide(list) {
        true => word("2u * to", "2u * at") + &word("2u * to + 1u", "2u * at + 1u"),
        false => word("to", "at"),
    };
    format!("fn put_own(to: u32, at: u32, is_first: bool) {{\n{words}}}\n")
}
