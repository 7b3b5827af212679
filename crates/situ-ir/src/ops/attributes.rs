//! The attributes of ops as plain data: what the text form of a graph writes and reads back.
//!
//! Promises: an op's attributes, written and read, give an equal op, bit for bit.
//! Leaves to others: which attributes an op has (its own file), how they look as text (`graph::text`).

use super::Program;
use situ_core::{Axes, DType, Error, MAX_RANK, Real, Result, Scalar, Shape};
use std::sync::Arc;

/// The value of one attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Attribute {
    /// Yes or no.
    Flag(bool),
    /// A whole number: an axis, a size, a seed.
    Integer(i128),
    /// A float, compared by bits.
    Real(Real),
    /// One element of a dtype.
    Scalar(Scalar),
    /// A dtype, by its name.
    DType(DType),
    /// Whole numbers: a shape, axes, steps.
    List(Vec<i128>),
    /// What a fused op computes.
    Program(Arc<Program>),
    /// Another op with its attributes, as a part of this one.
    Op(Box<super::Op>),
}

impl Attribute {
    fn what(&self) -> &'static str {
        match self {
            Attribute::Flag(_) => "true or false",
            Attribute::Integer(_) => "a whole number",
            Attribute::Real(_) => "a real number",
            Attribute::Scalar(_) => "an element such as f32(1.5)",
            Attribute::DType(_) => "a dtype",
            Attribute::List(_) => "a list of whole numbers",
            Attribute::Program(_) => "a program",
            Attribute::Op(_) => "an op",
        }
    }
}

macro_rules! from {
    ($($ty:ty => |$v:ident| $value:expr;)*) => {$(
        impl From<$ty> for Attribute {
            fn from($v: $ty) -> Attribute { $value }
        }
    )*};
}
from! {
    bool => |v| Attribute::Flag(v);
    u8 => |v| Attribute::Integer(v.into());
    u64 => |v| Attribute::Integer(v.into());
    usize => |v| Attribute::Integer(v as i128);
    Real => |v| Attribute::Real(v);
    Scalar => |v| Attribute::Scalar(v);
    DType => |v| Attribute::DType(v);
    &[usize] => |v| Attribute::List(v.iter().map(|&n| n as i128).collect());
    &[isize] => |v| Attribute::List(v.iter().map(|&n| n as i128).collect());
    Shape => |v| Attribute::from(v.dims());
    Axes => |v| Attribute::List(v.iter().map(|n| n as i128).collect());
    Arc<Program> => |v| Attribute::Program(v);
    super::Op => |v| Attribute::Op(Box::new(v));
}

/// The attributes of an op, in the order in which they are written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Attributes(Vec<(&'static str, Attribute)>);

impl Attributes {
    /// The attributes of an op that has none.
    pub fn none() -> Attributes {
        Attributes::default()
    }

    /// These and one more.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Attribute>) -> Attributes {
        self.0.push((name, value.into()));
        self
    }

    /// These and a flag, which is written only where it is set.
    #[must_use]
    pub fn flag(self, name: &'static str, set: bool) -> Attributes {
        if set { self.with(name, true) } else { self }
    }

    /// Each with its name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&'static str, &Attribute)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Attributes as somebody wrote them, for the op that takes them one by one.
#[derive(Debug)]
pub struct Given {
    op: &'static str,
    list: Vec<(String, Attribute)>,
}

impl Given {
    /// What was written for an op.
    pub fn new(op: &'static str, list: Vec<(String, Attribute)>) -> Given {
        Given { op, list }
    }

    fn take(&mut self, name: &str) -> Option<Attribute> {
        let at = self.list.iter().position(|(given, _)| given == name)?;
        Some(self.list.remove(at).1)
    }

    fn need(&mut self, name: &str, example: &Attribute) -> Result<Attribute> {
        self.take(name).ok_or_else(|| {
            let (why, help) =
                (format!("the attribute {name} is missing"), format!("give {}", example.what()));
            Error::argument(self.op, why, help)
        })
    }

    #[cold]
    fn wrong(&self, name: &str, value: &Attribute, wanted: &str) -> Error {
        let why = format!("the attribute {name} is {}", value.what());
        Error::argument(self.op, why, format!("give {wanted}"))
    }

    /// A flag; not set where it is not written.
    pub fn flag(&mut self, name: &str) -> Result<bool> {
        match self.take(name) {
            None => Ok(false),
            Some(Attribute::Flag(set)) => Ok(set),
            Some(other) => Err(self.wrong(name, &other, "true or false")),
        }
    }

    /// A whole number that fits its type.
    pub fn integer<T: TryFrom<i128>>(&mut self, name: &str) -> Result<T> {
        match self.need(name, &Attribute::Integer(0))? {
            Attribute::Integer(n) => T::try_from(n).map_err(|_| {
                Error::argument(self.op, format!("the attribute {name} is {n}"), "give a number in range")
            }),
            other => Err(self.wrong(name, &other, "a whole number")),
        }
    }

    /// Takes a float.
    pub fn real(&mut self, name: &str) -> Result<Real> {
        match self.need(name, &Attribute::Real(Real(0.0)))? {
            Attribute::Real(value) => Ok(value),
            other => Err(self.wrong(name, &other, "a real number such as 0.5")),
        }
    }

    /// A float; 0 where it is not written.
    pub fn real_or_zero(&mut self, name: &str) -> Result<Real> {
        if self.list.iter().any(|(given, _)| given == name) { self.real(name) } else { Ok(Real(0.0)) }
    }

    /// One element of a dtype.
    pub fn scalar(&mut self, name: &str) -> Result<Scalar> {
        match self.need(name, &Attribute::Scalar(Scalar::F32(0.0)))? {
            Attribute::Scalar(value) => Ok(value),
            other => Err(self.wrong(name, &other, "an element such as f32(1.5)")),
        }
    }

    /// Takes a dtype.
    pub fn dtype(&mut self, name: &str) -> Result<DType> {
        match self.need(name, &Attribute::DType(DType::F32))? {
            Attribute::DType(dtype) => Ok(dtype),
            other => Err(self.wrong(name, &other, "a dtype")),
        }
    }

    /// Whole numbers, each of which fits its type.
    pub fn list<T: TryFrom<i128>>(&mut self, name: &str) -> Result<Vec<T>> {
        match self.need(name, &Attribute::List(Vec::new()))? {
            Attribute::List(list) => list
                .into_iter()
                .map(|n| {
                    T::try_from(n).map_err(|_| {
                        let why = format!("the attribute {name} has the number {n}");
                        Error::argument(self.op, why, "give numbers in range")
                    })
                })
                .collect(),
            other => Err(self.wrong(name, &other, "a list such as [1, 2]")),
        }
    }

    /// Takes a shape.
    pub fn shape(&mut self, name: &str) -> Result<Shape> {
        Shape::new(&self.list::<usize>(name)?)
    }

    /// A set of axes.
    pub fn axes(&mut self, name: &str) -> Result<Axes> {
        let list = self.list::<isize>(name)?;
        if list.iter().any(|&axis| axis < 0) {
            let why = format!("the attribute {name} is {list:?}");
            return Err(Error::argument(self.op, why, "count axes from the first one, which is 0"));
        }
        Axes::of(self.op, &Shape::new(&[1; MAX_RANK])?, &list)
    }

    /// What a fused op computes.
    pub fn program(&mut self, name: &str) -> Result<Arc<Program>> {
        match self.take(name) {
            Some(Attribute::Program(program)) => Ok(program),
            Some(other) => Err(self.wrong(name, &other, "a program")),
            None => {
                Err(Error::argument(self.op, format!("the attribute {name} is missing"), "give a program"))
            }
        }
    }

    /// Another op, where one is written.
    pub fn op(&mut self, name: &str) -> Result<Option<super::Op>> {
        match self.take(name) {
            None => Ok(None),
            Some(Attribute::Op(op)) => Ok(Some(*op)),
            Some(other) => Err(self.wrong(name, &other, "an op such as relu()")),
        }
    }

    /// An error where something was written that no one took.
    pub fn finish(self) -> Result<()> {
        match self.list.first() {
            None => Ok(()),
            Some((name, _)) => {
                Err(Error::argument(self.op, format!("it has no attribute {name}"), "leave it out"))
            }
        }
    }
}
