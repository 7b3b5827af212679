//! Ops from outside: whatever implements [`Rule`] is an op like any other, without a line in this crate.
//!
//! Promises: two custom ops are equal where their types and their attributes are; a name belongs to one type.
//! Leaves to others: kernels, which device crates take for a type of op (`situ::custom` registers all at
//! once).

use super::rule::{Outputs, Part, Rule, Viewing};
use super::{Attribute, Attributes, Given, Op, Program, Register, Step};
use crate::gradient::erased::{AnyBuilder, Handle};
use crate::gradient::{Application, Builder, Differentiability, Gradients};
use crate::work::Work;
use situ_core::{DType, Error, Layout, Result, Scalar, TensorType};
use std::any::{Any, TypeId};
use std::fmt::{self, Debug};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, PoisonError, RwLock};

/// A type that can be an op from outside: a [`Rule`] that is plain data.
pub trait Foreign: Rule + Clone + Eq + Hash + Debug + Send + Sync + 'static {}

impl<T: Rule + Clone + Eq + Hash + Debug + Send + Sync + 'static> Foreign for T {}

/// An op from outside, of whatever type.
#[derive(Clone)]
pub struct Custom(Arc<dyn AnyRule>);

impl Custom {
    /// The op as one of situ's.
    pub fn new(op: impl Foreign) -> Custom {
        Custom(Arc::new(op))
    }

    /// The op itself, if it is a `T`.
    pub fn get<T: Foreign>(&self) -> Option<&T> {
        self.0.as_any().downcast_ref()
    }

    /// The type of op it is, by which kernels are found.
    pub fn type_id(&self) -> TypeId {
        self.0.as_any().type_id()
    }
}

impl Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq for Custom {
    fn eq(&self, other: &Custom) -> bool {
        self.0.is(&*other.0)
    }
}

impl Eq for Custom {}

impl Hash for Custom {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.feed(hasher);
    }
}

/// [`Rule`], for a type that is not known.
trait AnyRule: Debug + Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn is(&self, other: &dyn AnyRule) -> bool;
    fn feed(&self, hasher: &mut dyn Hasher);
    fn name(&self) -> &'static str;
    fn attributes(&self) -> Attributes;
    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType>;
    fn outputs(&self, inputs: &[TensorType]) -> Result<Outputs>;
    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work;
    fn kernel_dtype(&self, inputs: &[TensorType], outputs: &[TensorType]) -> DType;
    fn view(&self, input: &Layout, output: &TensorType) -> Option<Layout>;
    fn viewing(&self) -> Viewing;
    fn may_find_bad_data(&self, inputs: &[TensorType]) -> bool;
    fn looks_at_data_for_nothing(&self) -> bool;
    fn stream(&self) -> Option<u64>;
    fn with_stream(&self, stream: u64) -> Custom;
    fn broadcasts(&self) -> bool;
    fn commutes(&self, dtype: DType) -> bool;
    fn constant(&self) -> Option<Scalar>;
    fn moved(&self, elements: &[Scalar]) -> Option<Scalar>;
    fn step(&self, reads: &[Register]) -> Option<Step>;
    fn program(&self) -> Option<&Program>;
    fn stays_alone(&self, outputs: &[TensorType]) -> Option<&'static str>;
    fn parts(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Vec<Part>;
    fn differentiability(&self) -> Differentiability;
    fn gradient(
        &self,
        builder: &mut AnyBuilder<'_>,
        at: &Application<'_, Handle>,
    ) -> Result<Gradients<Handle>>;
}

/// The methods of both traits that only hand on, in one list.
macro_rules! handed_on {
    ($($name:ident($($argument:ident: $ty:ty),*) -> $result:ty;)*) => {
        impl<T: Foreign> AnyRule for T {
            fn as_any(&self) -> &dyn Any {
                self
            }

            fn is(&self, other: &dyn AnyRule) -> bool {
                other.as_any().downcast_ref::<T>() == Some(self)
            }

            fn feed(&self, mut hasher: &mut dyn Hasher) {
                TypeId::of::<T>().hash(&mut hasher);
                self.hash(&mut hasher);
            }

            fn with_stream(&self, stream: u64) -> Custom {
                Custom::new(Rule::with_stream(self, stream))
            }

            fn gradient(
                &self,
                builder: &mut AnyBuilder<'_>,
                at: &Application<'_, Handle>,
            ) -> Result<Gradients<Handle>> {
                Rule::gradient(self, builder, at)
            }

            $(fn $name(&self, $($argument: $ty),*) -> $result {
                Rule::$name(self, $($argument),*)
            })*
        }

        impl Rule for Custom {
            // They are those of the types that were registered.
            const NAMES: &'static [&'static str] = &[];

            fn read(name: &str, _: &mut Given) -> Result<Custom> {
                Err(super::unknown(name))
            }

            fn with_stream(&self, stream: u64) -> Custom {
                self.0.with_stream(stream)
            }

            fn gradient<B: Builder>(
                &self,
                builder: &mut B,
                at: &Application<'_, B::Value>,
            ) -> Result<Gradients<B::Value>> {
                crate::gradient::erased::gradient(builder, at, |builder, at| self.0.gradient(builder, at))
            }

            $(fn $name(&self, $($argument: $ty),*) -> $result {
                self.0.$name($($argument),*)
            })*
        }
    };
}

handed_on! {
    name() -> &'static str;
    attributes() -> Attributes;
    infer(inputs: &[TensorType]) -> Result<TensorType>;
    outputs(inputs: &[TensorType]) -> Result<Outputs>;
    work(inputs: &[TensorType], outputs: &[TensorType]) -> Work;
    kernel_dtype(inputs: &[TensorType], outputs: &[TensorType]) -> DType;
    view(input: &Layout, output: &TensorType) -> Option<Layout>;
    viewing() -> Viewing;
    may_find_bad_data(inputs: &[TensorType]) -> bool;
    looks_at_data_for_nothing() -> bool;
    stream() -> Option<u64>;
    broadcasts() -> bool;
    commutes(dtype: DType) -> bool;
    constant() -> Option<Scalar>;
    moved(elements: &[Scalar]) -> Option<Scalar>;
    step(reads: &[Register]) -> Option<Step>;
    program() -> Option<&Program>;
    stays_alone(outputs: &[TensorType]) -> Option<&'static str>;
    parts(inputs: &[TensorType], outputs: &[TensorType]) -> Vec<Part>;
    differentiability() -> Differentiability;
}

/// How an op of a name is read from text.
struct Reader {
    name: &'static str,
    of: TypeId,
    read: fn(&'static str, &mut Given) -> Result<Custom>,
}

static READERS: RwLock<Vec<Reader>> = RwLock::new(Vec::new());

/// Makes the names of a type of ops known, so that text with them can be read. To register a type again
/// changes nothing; a name that is another op's is an error.
pub fn register<T: Foreign>() -> Result<()> {
    let mut readers = READERS.write().unwrap_or_else(PoisonError::into_inner);
    for name in T::NAMES {
        let taken = readers.iter().any(|reader| reader.name == *name && reader.of != TypeId::of::<T>());
        if taken || Op::names().any(|own| own == *name) {
            let help = "give the op a name of its own, such as one that begins with that of its crate";
            return Err(Error::argument("custom", format!("there is an op {name} already"), help));
        }
    }
    for name in T::NAMES {
        if !readers.iter().any(|reader| reader.name == *name) {
            let read = |name: &'static str, given: &mut Given| T::read(name, given).map(Custom::new);
            readers.push(Reader { name, of: TypeId::of::<T>(), read });
        }
    }
    Ok(())
}

/// The op of a registered name; `None` where nobody registered it.
pub(super) fn read(name: &str, attributes: Vec<(String, Attribute)>) -> Option<Result<Op>> {
    let readers = READERS.read().unwrap_or_else(PoisonError::into_inner);
    let (name, read) = readers.iter().find(|r| r.name == name).map(|r| (r.name, r.read))?;
    drop(readers);
    let mut given = Given::new(name, attributes);
    Some(read(name, &mut given).and_then(|op| given.finish().map(|()| Op::Custom(op))))
}
