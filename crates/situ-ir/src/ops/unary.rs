//! Elementwise ops of one input.

use super::{Attributes, Given, Rule, arity, float_only, unknown};
use crate::work::{Work, WorkClass};
use situ_core::{DType, Error, Real, Result, TensorType};

/// What a unary op takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Floats,
    Numbers,
    Bools,
}

macro_rules! unary_table {
    ($($(#[$doc:meta])* $kind:ident $name:literal $takes:ident $class:ident $flops:literal;)*) => {
        /// Which function is applied to each element.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum UnaryKind { $($(#[$doc])* $kind),* }

        impl UnaryKind {
            /// Every function.
            pub const ALL: &'static [UnaryKind] = &[$(UnaryKind::$kind),*];

            const NAMES: &'static [&'static str] = &[$($name),*];

            /// Its name.
            #[inline]
            pub const fn name(self) -> &'static str {
                match self { $(UnaryKind::$kind => $name),* }
            }

            #[inline]
            const fn takes(self) -> Takes {
                match self { $(UnaryKind::$kind => Takes::$takes),* }
            }

            #[inline]
            const fn cost(self) -> (WorkClass, f64) {
                match self { $(UnaryKind::$kind => (WorkClass::$class, $flops as f64)),* }
            }
        }
    };
}

unary_table! {
    /// -x
    Neg "neg" Numbers Elementwise 1;
    /// |x|
    Abs "abs" Numbers Elementwise 1;
    /// -1, 0 or 1; NaN stays NaN.
    Sign "sign" Numbers Elementwise 2;
    /// e^x
    Exp "exp" Floats Transcendental 12;
    /// The natural logarithm.
    Log "log" Floats Transcendental 14;
    /// log(1 + x), exact near 0.
    Log1p "log1p" Floats Transcendental 16;
    /// √x
    Sqrt "sqrt" Floats Elementwise 4;
    /// 1/√x
    Rsqrt "rsqrt" Floats Elementwise 6;
    /// x²
    Square "square" Numbers Elementwise 1;
    /// 1/x
    Reciprocal "reciprocal" Floats Elementwise 4;
    /// sin x
    Sin "sin" Floats Transcendental 16;
    /// cos x
    Cos "cos" Floats Transcendental 16;
    /// tanh x
    Tanh "tanh" Floats Transcendental 16;
    /// 1/(1 + e^-x)
    Sigmoid "sigmoid" Floats Transcendental 16;
    /// max(x, 0)
    Relu "relu" Numbers Elementwise 1;
    /// x, or slope·x below 0.
    LeakyRelu "leaky_relu" Floats Elementwise 2;
    /// x, or alpha·(e^x − 1) below 0.
    Elu "elu" Floats Transcendental 14;
    /// x·Φ(x), by erf.
    Gelu "gelu" Floats Transcendental 22;
    /// x·sigmoid(x)
    Silu "silu" Floats Transcendental 17;
    /// log(1 + e^x)
    Softplus "softplus" Floats Transcendental 28;
    /// The error function.
    Erf "erf" Floats Transcendental 20;
    /// Rounds down.
    Floor "floor" Floats Elementwise 1;
    /// Rounds up.
    Ceil "ceil" Floats Elementwise 1;
    /// Rounds to the nearest, ties to even.
    Round "round" Floats Elementwise 1;
    /// Clamps to [low, high]; NaN stays NaN.
    Clip "clip" Numbers Elementwise 2;
    /// Logical not.
    Not "logical_not" Bools Elementwise 1;
    /// Whether it is NaN, as bool.
    IsNan "is_nan" Floats Elementwise 1;
}

impl UnaryKind {
    /// What its parameter of that number is called, and whether it means anything.
    fn param(self, index: usize) -> (&'static str, bool) {
        match (self, index) {
            (UnaryKind::LeakyRelu, 0) => ("slope", true),
            (UnaryKind::Elu, 0) => ("alpha", true),
            (UnaryKind::Clip, 0) => ("low", true),
            (UnaryKind::Clip, _) => ("high", true),
            (_, 0) => ("first", false),
            (_, _) => ("second", false),
        }
    }
}

/// A function of each element. `params` are leaky_relu's slope, elu's alpha, clip's low and high.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Unary {
    /// The function.
    pub kind: UnaryKind,
    /// Its parameters; zero where it has none.
    pub params: [Real; 2],
}

impl Unary {
    /// A function without parameters.
    pub const fn new(kind: UnaryKind) -> Unary {
        Unary { kind, params: [Real(0.0); 2] }
    }

    /// A function with parameters.
    pub const fn with(kind: UnaryKind, a: f64, b: f64) -> Unary {
        Unary { kind, params: [Real(a), Real(b)] }
    }
}

impl Rule for Unary {
    #[inline]
    fn name(&self) -> &'static str {
        self.kind.name()
    }

    fn names() -> &'static [&'static str] {
        UnaryKind::NAMES
    }

    fn attributes(&self) -> Attributes {
        let mut list = Attributes::none();
        for (index, &param) in self.params.iter().enumerate() {
            let (name, written) = self.kind.param(index);
            if written || param != Real(0.0) {
                list = list.with(name, param);
            }
        }
        list
    }

    fn read(name: &str, given: &mut Given) -> Result<Unary> {
        let Some(&kind) = UnaryKind::ALL.iter().find(|kind| kind.name() == name) else {
            return Err(unknown(name));
        };
        let mut params = [Real(0.0); 2];
        for (index, param) in params.iter_mut().enumerate() {
            let (name, written) = kind.param(index);
            *param = if written { given.real(name)? } else { given.real_or_zero(name)? };
        }
        Ok(Unary { kind, params })
    }

    #[inline]
    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        let op = self.name();
        arity(op, inputs, 1)?;
        let TensorType { dtype, shape } = inputs[0];
        match self.kind.takes() {
            Takes::Floats => float_only(op, inputs, dtype)?,
            Takes::Numbers if dtype == DType::Bool => {
                return Err(Error::operands(
                    op,
                    inputs,
                    "is defined for numbers, not bool",
                    "cast to a number first",
                ));
            }
            Takes::Bools if dtype != DType::Bool => {
                return Err(Error::operands(
                    op,
                    inputs,
                    format!("is defined for bool, not {dtype}"),
                    "compare or cast first",
                ));
            }
            Takes::Numbers | Takes::Bools => {}
        }
        if self.kind == UnaryKind::Clip {
            let [Real(low), Real(high)] = self.params;
            // A bound that is not a number of the dtype would clamp to something the caller did not say.
            if low.is_nan() || high.is_nan() || low > high {
                return Err(Error::operands(
                    op,
                    inputs,
                    format!("the bounds {low} and {high} enclose nothing"),
                    "give a low bound that is at most the high one",
                ));
            }
        }
        let dtype = if self.kind == UnaryKind::IsNan { DType::Bool } else { dtype };
        Ok(TensorType { dtype, shape })
    }

    #[inline]
    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        let (class, flops) = self.kind.cost();
        Work::streaming(class, flops, inputs, outputs)
    }
}
