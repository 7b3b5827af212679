//! Elementwise ops of two inputs, with NumPy broadcasting: arithmetic, comparisons, logic.

use super::{Given, Rule, arity, broadcast, float_only, same_dtype, unknown};
use crate::work::{Work, WorkClass};
use situ_core::{DType, Error, Result, TensorType};

/// What a binary op takes and gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Signature {
    /// Numbers to numbers of the same dtype.
    Arithmetic,
    /// Floats to floats.
    Floats,
    /// Anything to bool.
    Equality,
    /// Numbers to bool.
    Order,
    /// Bools to bool.
    Logic,
}

macro_rules! binary_table {
    ($($(#[$doc:meta])* $kind:ident $name:literal $signature:ident $class:ident $flops:literal;)*) => {
        /// Which function is applied to each pair.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum BinaryKind { $($(#[$doc])* $kind),* }

        impl BinaryKind {
            /// Every function.
            pub const ALL: &'static [BinaryKind] = &[$(BinaryKind::$kind),*];

            const NAMES: &'static [&'static str] = &[$($name),*];

            /// Its name.
            #[inline]
            pub const fn name(self) -> &'static str {
                match self { $(BinaryKind::$kind => $name),* }
            }

            #[inline]
            const fn signature(self) -> Signature {
                match self { $(BinaryKind::$kind => Signature::$signature),* }
            }

            #[inline]
            const fn cost(self) -> (WorkClass, f64) {
                match self { $(BinaryKind::$kind => (WorkClass::$class, $flops as f64)),* }
            }
        }
    };
}

binary_table! {
    /// a + b; integers wrap.
    Add "add" Arithmetic Elementwise 1;
    /// a − b; integers wrap.
    Sub "sub" Arithmetic Elementwise 1;
    /// a · b; integers wrap.
    Mul "mul" Arithmetic Elementwise 1;
    /// a / b; integers round toward zero, and dividing them by zero is an error.
    Div "div" Arithmetic Elementwise 4;
    /// The remainder of a / b with a's sign; integers by zero are an error.
    Rem "rem" Arithmetic Elementwise 6;
    /// a to the power of b.
    Pow "pow" Floats Transcendental 30;
    /// The larger; NaN if either is.
    Maximum "maximum" Arithmetic Elementwise 1;
    /// The smaller; NaN if either is.
    Minimum "minimum" Arithmetic Elementwise 1;
    /// a = b
    Equal "equal" Equality Elementwise 1;
    /// a ≠ b
    NotEqual "not_equal" Equality Elementwise 1;
    /// a < b
    Less "less" Order Elementwise 1;
    /// a ≤ b
    LessEqual "less_equal" Order Elementwise 1;
    /// a > b
    Greater "greater" Order Elementwise 1;
    /// a ≥ b
    GreaterEqual "greater_equal" Order Elementwise 1;
    /// Both.
    And "logical_and" Logic Elementwise 1;
    /// Either.
    Or "logical_or" Logic Elementwise 1;
    /// Exactly one.
    Xor "logical_xor" Logic Elementwise 1;
}

impl BinaryKind {
    /// Whether the result is bool whatever the inputs are.
    pub fn is_predicate(self) -> bool {
        matches!(self.signature(), Signature::Equality | Signature::Order | Signature::Logic)
    }
}

/// A function of each pair of elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Binary {
    /// The function.
    pub kind: BinaryKind,
}

impl Rule for Binary {
    #[inline]
    fn name(&self) -> &'static str {
        self.kind.name()
    }

    fn names() -> &'static [&'static str] {
        BinaryKind::NAMES
    }

    fn read(name: &str, _: &mut Given) -> Result<Binary> {
        match BinaryKind::ALL.iter().find(|kind| kind.name() == name) {
            Some(&kind) => Ok(Binary { kind }),
            None => Err(unknown(name)),
        }
    }

    #[inline]
    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        let op = self.name();
        arity(op, inputs, 2)?;
        let dtype = same_dtype(op, inputs)?;
        match self.kind.signature() {
            Signature::Floats => float_only(op, inputs, dtype)?,
            Signature::Arithmetic | Signature::Order if dtype == DType::Bool => {
                return Err(Error::operands(
                    op,
                    inputs,
                    "is defined for numbers, not bool",
                    "use the logical ops, or cast",
                ));
            }
            Signature::Logic if dtype != DType::Bool => {
                return Err(Error::operands(
                    op,
                    inputs,
                    format!("is defined for bool, not {dtype}"),
                    "compare or cast first",
                ));
            }
            Signature::Arithmetic | Signature::Order | Signature::Logic | Signature::Equality => {}
        }
        let shape = broadcast(op, inputs)?;
        Ok(TensorType { dtype: if self.kind.is_predicate() { DType::Bool } else { dtype }, shape })
    }

    #[inline]
    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        let (class, flops) = self.kind.cost();
        Work::streaming(class, flops, inputs, outputs)
    }
}
