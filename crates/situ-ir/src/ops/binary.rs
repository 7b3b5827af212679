//! Elementwise ops of two inputs, with NumPy broadcasting: arithmetic, comparisons, logic.

use super::{Given, Register, Rule, Step, UnaryKind, arity, broadcast, float_only, same_dtype, unknown};
use crate::gradient::elementwise::Kept;
use crate::gradient::{Application, Builder, Differentiability, Elementwise, Gradients, Terms, undefined};
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

            /// Its name in graphs, errors and tables.
            #[inline]
            pub const fn name(self) -> &'static str {
                match self { $(BinaryKind::$kind => $name),* }
            }

            #[inline]
            const fn signature(self) -> Signature {
                match self { $(BinaryKind::$kind => Signature::$signature),* }
            }

            /// The sort of its work: whether it is a matter of a few instructions.
            #[inline]
            pub const fn class(self) -> WorkClass {
                self.cost().0
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
    /// Whether both hold.
    And "logical_and" Logic Elementwise 1;
    /// Whether either holds, or both.
    Or "logical_or" Logic Elementwise 1;
    /// Whether exactly one holds.
    Xor "logical_xor" Logic Elementwise 1;
}

impl BinaryKind {
    /// Whether it divides: of integers, by what may be zero.
    fn divides(self) -> bool {
        matches!(self, BinaryKind::Div | BinaryKind::Rem)
    }

    /// Whether the result is bool whatever the inputs are.
    pub fn is_predicate(self) -> bool {
        matches!(self.signature(), Signature::Equality | Signature::Order | Signature::Logic)
    }
}

/// A function of each pair of elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Binary {
    /// The function of each pair.
    pub kind: BinaryKind,
}

impl Rule for Binary {
    const NAMES: &'static [&'static str] = BinaryKind::NAMES;

    #[inline]
    fn name(&self) -> &'static str {
        self.kind.name()
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

    fn may_find_bad_data(&self, inputs: &[TensorType]) -> bool {
        self.kind.divides() && inputs.first().is_some_and(|t| t.dtype.is_integer())
    }

    fn broadcasts(&self) -> bool {
        true
    }

    fn commutes(&self, dtype: DType) -> bool {
        match self.kind {
            BinaryKind::Add
            | BinaryKind::Mul
            | BinaryKind::Equal
            | BinaryKind::NotEqual
            | BinaryKind::And
            | BinaryKind::Or
            | BinaryKind::Xor => true,
            // Of floats, the sign of a zero depends on the order.
            BinaryKind::Maximum | BinaryKind::Minimum => !dtype.is_float(),
            BinaryKind::Sub
            | BinaryKind::Div
            | BinaryKind::Rem
            | BinaryKind::Pow
            | BinaryKind::Less
            | BinaryKind::LessEqual
            | BinaryKind::Greater
            | BinaryKind::GreaterEqual => false,
        }
    }

    fn step(&self, reads: &[Register]) -> Option<Step> {
        match reads {
            [a, b] => Some(Step::Binary(*self, *a, *b)),
            _ => None,
        }
    }

    fn stays_alone(&self, outputs: &[TensorType]) -> Option<&'static str> {
        let integer = outputs.first().is_some_and(|t| !t.dtype.is_float());
        (self.kind.divides() && integer)
            .then_some("an integer division can fail on its data, and must be able to say so")
    }

    fn differentiability(&self) -> Differentiability {
        if self.kind.is_predicate() { Differentiability::Flat } else { Differentiability::Smooth }
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let ([a, b], y, upstream) = (at.inputs, &at.outputs[0], at.by_output()?) else {
            return Err(undefined(self.name()));
        };
        let mut list = Gradients::new();
        for (side, input) in [a, b].into_iter().enumerate() {
            list.push(if at.wants(side) {
                let derivative = Derivative { kind: self.kind, side };
                let part = builder.elementwise(&derivative, &[a, b, y, upstream])?;
                Some(builder.summed_to(&part, builder.shape(input))?)
            } else {
                None
            });
        }
        Ok(list)
    }
}

/// The derivative by one side at a and b (where y is the value) times the upstream gradient.
struct Derivative {
    kind: BinaryKind,
    side: usize,
}

impl Elementwise for Derivative {
    fn kept(&self) -> Option<&'static Kept> {
        static KEPT: [[Kept; 2]; BinaryKind::ALL.len()] =
            [const { [const { Kept::new() }; 2] }; BinaryKind::ALL.len()];
        KEPT.get(self.kind as usize)?.get(self.side)
    }

    fn build<B: Builder>(&self, builder: &mut B, inputs: &[B::Value]) -> Result<B::Value> {
        use BinaryKind as Kind;
        let [a, b, y, upstream] = inputs else { return Err(undefined(self.kind.name())) };
        match (self.kind, self.side) {
            (Kind::Add, _) | (Kind::Sub, 0) | (Kind::Rem, 0) => Ok(upstream.clone()),
            (Kind::Sub, _) => builder.neg(upstream),
            (Kind::Mul, 0) => builder.mul(upstream, b),
            (Kind::Mul, _) => builder.mul(upstream, a),
            (Kind::Div, 0) => builder.div(upstream, b),
            (Kind::Div, _) => {
                let slope = builder.div(y, b)?;
                let part = builder.mul(upstream, &slope)?;
                builder.neg(&part)
            }
            (Kind::Rem, _) => {
                // a − trunc(a / b) · b
                let rest = builder.sub(a, y)?;
                let whole = builder.div(&rest, b)?;
                let whole = builder.unary(UnaryKind::Round, &whole)?;
                let part = builder.mul(upstream, &whole)?;
                builder.neg(&part)
            }
            (Kind::Pow, 0) => {
                // b · a^(b − 1), and 0 where b is 0, whatever a is.
                let zero = builder.scalar(b, 0.0)?;
                let still = builder.binary(Kind::Equal, b, &zero)?;
                let less = builder.plus(b, -1.0)?;
                let power = builder.binary(Kind::Pow, a, &less)?;
                let slope = builder.mul(b, &power)?;
                let part = builder.mul(upstream, &slope)?;
                builder.zero_or(&still, &part)
            }
            (Kind::Pow, _) => {
                // y · log a, and 0 where a has no logarithm.
                let zero = builder.scalar(a, 0.0)?;
                let above = builder.binary(Kind::Greater, a, &zero)?;
                let one = builder.scalar(a, 1.0)?;
                let safe = builder.select(&above, a, &one)?;
                let log = builder.unary(UnaryKind::Log, &safe)?;
                let slope = builder.mul(y, &log)?;
                let part = builder.mul(upstream, &slope)?;
                builder.where_or_zero(&above, &part)
            }
            // Equals go to the first.
            (Kind::Maximum, side) => {
                let first = builder.binary(Kind::GreaterEqual, a, b)?;
                if side == 0 {
                    builder.where_or_zero(&first, upstream)
                } else {
                    builder.zero_or(&first, upstream)
                }
            }
            (Kind::Minimum, side) => {
                let first = builder.binary(Kind::LessEqual, a, b)?;
                if side == 0 {
                    builder.where_or_zero(&first, upstream)
                } else {
                    builder.zero_or(&first, upstream)
                }
            }
            (
                Kind::Equal
                | Kind::NotEqual
                | Kind::Less
                | Kind::LessEqual
                | Kind::Greater
                | Kind::GreaterEqual
                | Kind::And
                | Kind::Or
                | Kind::Xor,
                _,
            ) => Err(undefined(self.kind.name())),
        }
    }
}
