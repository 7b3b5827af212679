//! Attributes of ops: numbers, elements, lists, and the programs of fused ops.

use super::cursor::Cursor;
use crate::ops::{Attribute, Op, Program, Register, Step};
use situ_core::{DType, Real, Result, Scalar};
use std::sync::Arc;

/// `{name=value, ..}`, or nothing.
pub(super) fn attributes(at: &mut Cursor<'_>) -> Result<Vec<(String, Attribute)>> {
    if !at.take("{") {
        return Ok(Vec::new());
    }
    let list = at.list(|at| {
        let name = at.name()?.to_string();
        at.expect("=")?;
        Ok((name, attribute(at)?))
    })?;
    at.expect("}")?;
    Ok(list)
}

fn attribute(at: &mut Cursor<'_>) -> Result<Attribute> {
    let place = at.place();
    if at.peek("(") {
        return Ok(Attribute::Program(Arc::new(program(at)?)));
    }
    if at.take("[") {
        let list = if at.peek("]") { Vec::new() } else { at.list(integer)? };
        at.expect("]")?;
        return Ok(Attribute::List(list));
    }
    let numeric = at.peek("-") || at.peek("inf") || at.peek("NaN") || at.name().is_err();
    if numeric {
        let text = at.numeral()?;
        if text.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
            let n = text.parse().map_err(|_| at.error(place, format!("{text} is no whole number"), ""))?;
            return Ok(Attribute::Integer(n));
        }
        let value = match bits(at, text)? {
            Some(bits) => f64::from_bits(bits),
            None => text.parse().map_err(|_| at.error(place, format!("{text} is no number"), ""))?,
        };
        return Ok(Attribute::Real(Real(value)));
    }
    let name = at.since(place);
    match (name, DType::from_name(name)) {
        ("true" | "false", _) => Ok(Attribute::Flag(name == "true")),
        (_, Some(dtype)) if at.peek("(") => Ok(Attribute::Scalar(scalar(at, dtype)?)),
        (_, Some(dtype)) => Ok(Attribute::DType(dtype)),
        (_, None) => {
            at.expect("(")?;
            at.expect(")")?;
            Ok(Attribute::Op(Box::new(op(at, place, name)?)))
        }
    }
}

/// The op of a name, with the attributes that follow.
fn op(at: &mut Cursor<'_>, place: usize, name: &str) -> Result<Op> {
    at.enter()?;
    let attributes = attributes(at)?;
    at.leave();
    Op::read(name, attributes).map_err(|error| at.error(place, error.to_string(), ""))
}

fn integer(at: &mut Cursor<'_>) -> Result<i128> {
    let place = at.place();
    let text = at.numeral()?;
    text.parse().map_err(|_| at.error(place, format!("{text} is no whole number"), ""))
}

/// The bits of a NaN, where they are written after it.
fn bits(at: &mut Cursor<'_>, text: &str) -> Result<Option<u64>> {
    if text != "NaN" || !at.take("(") {
        return Ok(None);
    }
    let place = at.place();
    let digits = at.name_or_digits();
    let value = digits.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
    let value =
        value.ok_or_else(|| at.error(place, format!("{digits:?} are no bits"), "write 0x and digits"))?;
    at.expect(")")?;
    Ok(Some(value))
}

/// `(1.5)` after the name of a dtype.
fn scalar(at: &mut Cursor<'_>, dtype: DType) -> Result<Scalar> {
    at.expect("(")?;
    let place = at.place();
    let value = if dtype == DType::Bool {
        Scalar::parse(dtype, at.name()?)
    } else {
        let text = at.numeral()?;
        match bits(at, text)? {
            // Of the bits that a dtype has, none may be left over.
            Some(bits) => {
                Some(Scalar::from_bits(dtype, bits)).filter(|held| dtype.is_float() && held.bits() == bits)
            }
            None => Scalar::parse(dtype, text),
        }
    };
    at.expect(")")?;
    value.ok_or_else(|| at.error(place, format!("this is no {dtype}"), "give a value of the dtype"))
}

/// `(f32, f32) { r2 = add(r0, r1) .. return r2 }`
fn program(at: &mut Cursor<'_>) -> Result<Program> {
    at.enter()?;
    let start = at.place();
    at.expect("(")?;
    let inputs = if at.peek(")") { Vec::new() } else { at.list(dtype)? };
    at.expect(")")?;
    at.expect("{")?;
    let mut steps: Vec<Step> = Vec::new();
    while at.peek("r") && !at.take_word("return") {
        let place = at.place();
        let written = register(at)?;
        if written.index() != inputs.len() + steps.len() {
            let why = format!("this step writes r{}", inputs.len() + steps.len());
            return Err(at.error(place, why, "number the registers on from the inputs"));
        }
        at.expect("=")?;
        steps.push(step(at)?);
    }
    let outputs = at.list(register)?;
    at.expect("}")?;
    at.leave();
    Program::new(inputs, steps, outputs).map_err(|error| at.error(start, error.to_string(), ""))
}

fn step(at: &mut Cursor<'_>) -> Result<Step> {
    let place = at.place();
    let name = at.name()?;
    if let Some(dtype) = DType::from_name(name) {
        return Ok(Step::Constant(scalar(at, dtype)?));
    }
    at.expect("(")?;
    let reads = if at.peek(")") { Vec::new() } else { at.list(register)? };
    at.expect(")")?;
    let op = op(at, place, name)?;
    // Only what the step is called when it is written: an op that becomes another as a step has no text here.
    op.step(&reads).filter(|step| step.op().as_ref() == Some(&op)).ok_or_else(|| {
        let why = format!("{} of {} registers is no step of a program", op.name(), reads.len());
        at.error(place, why, "fuse elementwise ops only, each with its own number of inputs")
    })
}

fn register(at: &mut Cursor<'_>) -> Result<Register> {
    at.expect("r")?;
    Ok(Register(at.number()?))
}

fn dtype(at: &mut Cursor<'_>) -> Result<DType> {
    let place = at.place();
    let name = at.name()?;
    DType::from_name(name).ok_or_else(|| at.error(place, format!("there is no dtype {name}"), ""))
}
