//! Chains of elementwise ops as one kernel, written for the program at hand.
//!
//! Promises: every step gives what its op gives alone, infinities, NaN, signed zeros and lost digits
//! included. Drivers compile shaders as if floats were real numbers (`x - x` is 0, `(a + b) - a` is `b`), and
//! what they see they fold. So no step sees what made its operands: results that other steps read are hidden,
//! and so is the second of two equal operands.
//!
//! Constants and parameters of functions are not part of the text but of the call, so a program with another
//! learning rate is the same kernel. Parameter words: (elements, axes, -, -), then the offsets of inputs and
//! outputs, then eight words for each axis (size, strides of up to six inputs), then the program's own words.
//! Word 62 and 63 are the stream's, so axes step over the vector they lie in.

use super::Kernel;
use super::elem::{LANES, Number};
use super::quads::Quads;
use super::run::{Params, Run, groups_for, offset_of};
use super::shader::{Elem, Math, entry};
use super::space::Space;
use super::{binary, cast, unary};
use crate::checks::BadValue;
use crate::fault::Fault;
use crate::memory::Block;
use crate::pipelines::{PipelineKey, Source, View};
use situ_core::{DType, Layout, MAX_RANK, TensorType};
use situ_device::{Check, Registry};
use situ_ir::ops::fused::{Program, Register, Step};
use situ_ir::{Op, OpKind};
use std::fmt::Write;
use std::sync::Arc;

/// The most inputs: a program binds at most seven buffers, and writes at least one.
const INPUTS: usize = Program::MAX_BINDINGS - 1;
/// The first of the vectors of own words, and how many there are.
const OWN: usize = 20;
const OWN_WORDS: usize = 48;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    let kernel = Kernel { int64: computes_in_64_bits, ..Kernel::new(run) };
    registry.add_where(OpKind::Fused, Elem::DTYPES, kernel, supports);
}

fn computes_in_64_bits(op: &Op, _: &[TensorType], _: &[TensorType]) -> bool {
    let Op::Fused(op) = op else { return false };
    let registers = op.program.inputs().len() + op.program.steps().len();
    (0..registers).any(|n| op.program.dtype(Register(n as u16)).size() == 8)
}

fn supports(op: &Op, _: &[TensorType], _: &[TensorType]) -> bool {
    let Op::Fused(op) = op else { return false };
    written(&op.program).is_ok_and(|text| text.own.len() <= OWN_WORDS)
}

/// The vector of words in which an axis begins.
fn axis_vector(axis: usize) -> usize {
    if axis < 6 { 3 + 2 * axis } else { 4 + 2 * axis }
}

fn run(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let Op::Fused(op) = run.call.op else { return Err(Fault::Internal("not a fused op".into())) };
    let program = &*op.program;
    let text = written(program)?;
    let shape = *run.output().layout.shape();
    let (inputs, outputs) = (run.call.inputs, run.call.outputs);
    let layouts: Vec<Layout> = inputs.iter().map(|a| a.layout.expand(shape)).collect();
    let none: &[isize] = &[0; MAX_RANK];
    let strides = std::array::from_fn(|i| layouts.get(i).map_or(none, |l| l.strides()));
    let space = Space::<INPUTS>::merged(&shape, strides);

    let mut offsets = [0; 8];
    for (i, (arg, layout)) in inputs.iter().zip(&layouts).enumerate() {
        offsets[i] = offset_of(arg, layout);
    }
    let quads = Quads::of(&space, &offsets[..inputs.len()]);
    for (i, arg) in outputs.iter().enumerate() {
        offsets[inputs.len() + i] = offset_of(arg, arg.layout);
    }
    let elements = shape.elements();
    let mut params = Params::wide([elements as u32, space.rank as u32, 0, 0]);
    params.put(1, &offsets);
    for axis in 0..space.rank {
        let mut words = [0; 8];
        words[0] = space.sizes[axis];
        words[1..=INPUTS].copy_from_slice(&space.strides.map(|s| s[axis]));
        params.put(axis_vector(axis), &words);
    }
    params.put(OWN, &text.own);

    let key = PipelineKey::new("fused", (text.signature.clone(), quads.clone()));
    let pipeline = run.pipeline(key, || source(program, text, &quads))?;
    let blocks: Vec<&Block> =
        inputs.iter().chain(outputs).map(|arg| run.block(arg)).collect::<Result<_, _>>()?;
    match text.divides {
        Some(name) => run.dispatch_checked_as(
            name,
            &pipeline,
            &blocks,
            &params,
            groups_for(elements),
            BadValue::DivisionByZero,
            None,
        ),
        None => run.dispatch(&pipeline, &blocks, &params, groups_for(elements)).map(|()| None),
    }
}

/// A program as WGSL, written once for as long as the program lives.
fn written(program: &Program) -> Result<&Text, Fault> {
    let kept: Option<&Result<Text, Fault>> = program.compiled(text_of);
    kept.ok_or_else(|| Fault::Internal("no room to keep a program's text".into()))?
        .as_ref()
        .map_err(Clone::clone)
}

/// A program as WGSL.
struct Text {
    /// What tells it from other programs: everything but the own words.
    signature: Arc<str>,
    /// Functions for the steps, and `apply`, which takes the inputs and `e` and gives `Out`.
    functions: String,
    math: Math,
    /// Constants and parameters, in the order of the steps.
    own: Vec<u32>,
    /// The name of a step that divides integers.
    divides: Option<&'static str>,
}

fn text_of(program: &Program) -> Result<Text, Fault> {
    let elem = |r: Register| Elem::of(program.dtype(r));
    let bindings = program.inputs().len() + program.outputs().len();
    let mut signature = String::from("fused");
    let mut text = Text {
        signature: Arc::from(""),
        functions: String::new(),
        math: Math::NONE,
        own: Vec::new(),
        divides: None,
    };
    let same = merged(program);
    let read: Vec<bool> = {
        let mut read = vec![false; program.inputs().len() + program.steps().len()];
        program.steps().iter().flat_map(Step::reads).for_each(|r| read[r.index()] = true);
        read
    };
    let mut lines = String::new();
    let mut arguments = String::new();
    for (i, dtype) in program.inputs().iter().enumerate() {
        let elem = Elem::of(*dtype)?;
        let ty = elem.wgsl();
        text.math = text.math | elem.math();
        let _ = write!(arguments, "r{i}: {ty}, ");
        let _ = write!(signature, " {dtype}");
    }
    for (i, step) in program.steps().iter().enumerate() {
        let to = program.inputs().len() + i;
        let out = elem(Register(to as u16))?;
        let ty = out.wgsl();
        text.math = text.math | out.math();
        let missing = || Fault::Internal(format!("the step {step:?} has no kernel"));
        let (parameters, body, guard) = match *step {
            Step::Constant(value) => {
                let words: Vec<String> =
                    out.words(value).into_iter().map(|word| own_word(&mut text.own, word)).collect();
                let _ = writeln!(lines, "    let r{to} = {};", out.constant(&words));
                let _ = write!(signature, ";{}", out.dtype);
                continue;
            }
            Step::Unary(op, a) => {
                let (math, body) = unary::body(op.kind, elem(a)?).ok_or_else(missing)?;
                text.math = text.math | math;
                let mut body = body.into_owned();
                for (lane, word) in LANES.into_iter().zip(unary::own_words(&op, elem(a)?)) {
                    let name = format!("own.{lane}");
                    if body.contains(&name) {
                        body = body.replace(&name, &own_word(&mut text.own, word));
                    }
                }
                (format!("a: {}", elem(a)?.wgsl()), body, String::new())
            }
            Step::Binary(op, a, b) => {
                let input = elem(a)?;
                let body = binary::body(op.kind, input).ok_or_else(missing)?;
                text.math = text.math | binary::math(op.kind, input);
                let mut guard = String::new();
                if binary::divides(op.kind, input) {
                    text.divides = text.divides.or(Some(op.kind.name()));
                    guard = format!(
                        "if {} && e < params.w[0].x {{ atomicMax(&b{bindings}[p(63u) * 4u], ~e); }} ",
                        binary::zero_divisor(input)
                    );
                }
                (format!("a: {0}, b: {1}", input.wgsl(), elem(b)?.wgsl()), body.into_owned(), guard)
            }
            Step::Where(c, a, b) => {
                let types = [elem(c)?, elem(a)?, elem(b)?].map(Elem::wgsl);
                (
                    format!("a: {}, b: {}, c: {}", types[0], types[1], types[2]),
                    "select(c, b, a)".into(),
                    String::new(),
                )
            }
            Step::Cast(op, a) => {
                let (math, body) = cast::body(elem(a)?, Elem::of(op.to)?);
                text.math = text.math | math;
                (format!("a: {}", elem(a)?.wgsl()), body, String::new())
            }
        };
        let reads: Vec<String> = step.reads().map(|r| format!("r{}", r.0)).collect();
        let reads = reads.join(", ");
        let given = match *step {
            Step::Binary(_, a, b) if elem(a)?.is_float() && same[a.index()] == same[b.index()] => {
                format!("r{}, hide(r{})", a.0, b.0)
            }
            _ => reads.clone(),
        };
        let _ =
            writeln!(text.functions, "fn step{to}({parameters}, e: u32) -> {ty} {{ {guard}return {body}; }}");
        let result = format!("step{to}({given}, e)");
        let result = match out.number {
            _ if !read[to] => result,
            Number::F32 => format!("hide({})", out.held(&result)),
            // A driver knows that a float made whole and back is its whole part, which may be -0.
            Number::I32 if matches!(step, Step::Cast(..)) => format!("hide_whole({})", out.held(&result)),
            _ => out.held(&result),
        };
        let _ = writeln!(lines, "    let r{to} = {result};");
        let name = step.op().map_or("constant", |op| op.name());
        let _ = write!(signature, ";{name} {reads}");
        if let Step::Cast(op, _) = step {
            let _ = write!(signature, " {}", op.to);
        }
    }
    let mut fields = String::new();
    let mut results = String::new();
    for (j, register) in program.outputs().iter().enumerate() {
        let _ = write!(fields, "o{j}: {}, ", elem(*register)?.wgsl());
        let _ = write!(results, "r{}, ", register.0);
        let _ = write!(signature, ">{}", register.0);
    }
    let _ = write!(
        text.functions,
        "struct Out {{ {fields} }}\nfn apply({arguments}e: u32) -> Out {{\n{lines}    return Out({results});\n}}\n"
    );
    text.signature = signature.into();
    Ok(text)
}

/// For each register, the first one that holds the same value for all a compiler can tell: it merges equal
/// steps.
fn merged(program: &Program) -> Vec<u16> {
    let inputs = program.inputs().len();
    let mut same: Vec<u16> = (0..inputs as u16).collect();
    let mut seen: Vec<(Step, u16)> = Vec::new();
    for (i, step) in program.steps().iter().enumerate() {
        let of = |r: Register| Register(same[r.index()]);
        let step = match *step {
            Step::Constant(value) => Step::Constant(value),
            Step::Unary(op, a) => Step::Unary(op, of(a)),
            // Sums and products are the same either way round.
            Step::Binary(op, a, b) => Step::Binary(op, of(a).min(of(b)), of(a).max(of(b))),
            Step::Where(c, a, b) => Step::Where(of(c), of(a), of(b)),
            Step::Cast(op, a) => Step::Cast(op, of(a)),
        };
        let own = (inputs + i) as u16;
        let first = seen.iter().find(|(one, _)| *one == step).map_or(own, |(_, at)| *at);
        if first == own {
            seen.push((step, own));
        }
        same.push(first);
    }
    same
}

/// An expression for the next own word, which holds `value`.
fn own_word(own: &mut Vec<u32>, value: u32) -> String {
    let at = 4 * OWN + own.len();
    own.push(value);
    format!("p({at}u)")
}

/// An expression for the offset of binding `i`.
fn offset(i: usize) -> String {
    format!("params.w[{}].{}", 1 + i / 4, LANES[i % 4])
}

/// Elements of a program's inputs and outputs. The program's own dtypes, all of which `text_of` has looked
/// at.
fn elems(dtypes: impl Iterator<Item = DType>) -> Vec<Elem> {
    dtypes.filter_map(|d| Elem::of(d).ok()).collect()
}

/// An expression for the size of an axis (word 0), or for the stride of an input (words 1 and on).
fn axis_word(axis: usize, word: usize) -> String {
    format!("params.w[{}].{}", axis_vector(axis) + word / 4, LANES[word % 4])
}

/// Each invocation makes four elements in a row.
fn source(program: &Program, text: &Text, quads: &Quads) -> Source {
    let inputs = elems(program.inputs().iter().copied());
    let outputs = elems(program.outputs().iter().map(|r| program.dtype(*r)));
    let mut wgsl = text.math.text() + &text.functions + &entry(256);
    wgsl += "    let q = group * 256u + lane;\n    if q * 4u >= params.w[0].x { return; }\n";
    wgsl += &quads.text(&inputs, offset, |axis| axis_word(axis, 0), |axis, i| axis_word(axis, i + 1));
    for (k, lane) in LANES.iter().enumerate() {
        let arguments: String = (0..inputs.len()).map(|i| format!("v{i}{lane}, ")).collect();
        let _ = writeln!(wgsl, "    let {lane} = apply({arguments}q * 4u + {k}u);");
    }
    let mut buffers: Vec<View> = inputs.iter().enumerate().map(|(i, elem)| quads.view(i, *elem)).collect();
    for (j, elem) in outputs.iter().enumerate() {
        let place = inputs.len() + j;
        wgsl += &elem.store_four(place, &offset(place), &LANES.map(|lane| format!("{lane}.o{j}")));
        buffers.push(elem.view_of_four());
    }
    if text.divides.is_some() {
        buffers.push(View::Atomics);
    }
    Source { buffers, wgsl: wgsl + "}\n" }
}
