//! Elementwise ops of one input.

use super::{Attributes, BinaryKind, Given, Register, Rule, Step, arity, float_only, unknown};
use crate::gradient::elementwise::Kept;
use crate::gradient::{Application, Builder, Differentiability, Elementwise, Gradients, Terms, undefined};
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
    (@is activation) => { true };
    (@is) => { false };
    ($($(#[$doc:meta])* $kind:ident $name:literal $takes:ident $class:ident $flops:literal $($activation:ident)?;)*) => {
        /// Which function is applied to each element.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum UnaryKind { $($(#[$doc])* $kind),* }

        impl UnaryKind {
            /// Every function.
            pub const ALL: &'static [UnaryKind] = &[$(UnaryKind::$kind),*];

            const NAMES: &'static [&'static str] = &[$($name),*];

            /// Its name in graphs, errors and tables.
            #[inline]
            pub const fn name(self) -> &'static str {
                match self { $(UnaryKind::$kind => $name),* }
            }

            #[inline]
            const fn takes(self) -> Takes {
                match self { $(UnaryKind::$kind => Takes::$takes),* }
            }

            /// Whether networks put it after a bias, and it gives the dtype it takes: a product may end with
            /// it.
            pub const fn is_activation(self) -> bool {
                match self { $(UnaryKind::$kind => unary_table!(@is $($activation)?)),* }
            }

            /// The sort of its work: whether it is a matter of a few instructions.
            #[inline]
            pub const fn class(self) -> WorkClass {
                self.cost().0
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
    /// e^x − 1, exact near 0.
    Expm1 "expm1" Floats Transcendental 14;
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
    Tanh "tanh" Floats Transcendental 16 activation;
    /// 1/(1 + e^-x)
    Sigmoid "sigmoid" Floats Transcendental 16 activation;
    /// max(x, 0)
    Relu "relu" Numbers Elementwise 1 activation;
    /// x, or slope·x below 0.
    LeakyRelu "leaky_relu" Floats Elementwise 2 activation;
    /// x, or alpha·(e^x − 1) below 0.
    Elu "elu" Floats Transcendental 14 activation;
    /// x·Φ(x), by erf.
    Gelu "gelu" Floats Transcendental 22 activation;
    /// x·sigmoid(x)
    Silu "silu" Floats Transcendental 17 activation;
    /// log(1 + e^x)
    Softplus "softplus" Floats Transcendental 28 activation;
    /// The error function.
    Erf "erf" Floats Transcendental 20;
    /// The largest integer that is not above it.
    Floor "floor" Floats Elementwise 1;
    /// The smallest integer that is not below it.
    Ceil "ceil" Floats Elementwise 1;
    /// Rounds to the nearest, ties to even.
    Round "round" Floats Elementwise 1;
    /// Clamps to [low, high]; NaN stays NaN.
    Clip "clip" Numbers Elementwise 2 activation;
    /// Whether it does not hold.
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

/// Whether a number of the dtype lies from `low` to `high`, which are in order.
fn encloses(dtype: DType, low: f64, high: f64) -> bool {
    match dtype.whole_range() {
        Some(range) if dtype.is_integer() => {
            (*range.start()).max(low.ceil() as i128) <= (*range.end()).min(high.floor() as i128)
        }
        _ => true,
    }
}

/// A function of each element. `params` are leaky_relu's slope, elu's alpha, clip's low and high.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Unary {
    /// The function of each element.
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
    const NAMES: &'static [&'static str] = UnaryKind::NAMES;

    #[inline]
    fn name(&self) -> &'static str {
        self.kind.name()
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
            if low.is_nan() || high.is_nan() || low > high || !encloses(dtype, low, high) {
                return Err(Error::operands(
                    op,
                    inputs,
                    format!("the bounds {low} and {high} enclose no {dtype}"),
                    "give a low bound that is at most the high one, with a number of the dtype between them",
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

    fn step(&self, reads: &[Register]) -> Option<Step> {
        match reads {
            [a] => Some(Step::Unary(*self, *a)),
            _ => None,
        }
    }

    fn differentiability(&self) -> Differentiability {
        match self.kind {
            UnaryKind::Sign | UnaryKind::Floor | UnaryKind::Ceil | UnaryKind::Round => {
                Differentiability::Flat
            }
            UnaryKind::Not | UnaryKind::IsNan => Differentiability::Flat,
            _ => Differentiability::Smooth,
        }
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let (x, y, upstream) = (&at.inputs[0], &at.outputs[0], at.by_output()?);
        let back = builder.elementwise(&Derivative(*self), &[x, y, upstream])?;
        Ok(Gradients::from_iter([Some(back)]))
    }
}

/// The derivative at x (where y is the value) times the upstream gradient.
struct Derivative(Unary);

impl Elementwise for Derivative {
    fn kept(&self) -> Option<&'static Kept> {
        static KEPT: [Kept; UnaryKind::ALL.len()] = [const { Kept::new() }; UnaryKind::ALL.len()];
        let has_parameters = self.0.kind.param(0).1;
        if has_parameters { None } else { KEPT.get(self.0.kind as usize) }
    }

    fn build<B: Builder>(&self, b: &mut B, inputs: &[B::Value]) -> Result<B::Value> {
        use UnaryKind as Kind;
        let [x, y, upstream] = inputs else { return Err(undefined(self.0.name())) };
        let [first, second] = self.0.params.map(|p| p.0);
        let slope = match self.0.kind {
            Kind::Neg => return b.neg(upstream),
            Kind::Abs => b.unary(Kind::Sign, x)?,
            Kind::Exp => y.clone(),
            Kind::Expm1 => b.plus(y, 1.0)?,
            Kind::Log => return b.div(upstream, x),
            Kind::Log1p => {
                let beside = b.plus(x, 1.0)?;
                return b.div(upstream, &beside);
            }
            Kind::Sqrt => {
                let twice = b.add(y, y)?;
                return b.div(upstream, &twice);
            }
            Kind::Rsqrt => {
                let square = b.unary(Kind::Square, y)?;
                let cube = b.mul(&square, y)?;
                b.scaled(&cube, -0.5)?
            }
            Kind::Square => b.add(x, x)?,
            Kind::Reciprocal => {
                let square = b.unary(Kind::Square, y)?;
                b.neg(&square)?
            }
            Kind::Sin => b.unary(Kind::Cos, x)?,
            Kind::Cos => {
                let sine = b.unary(Kind::Sin, x)?;
                b.neg(&sine)?
            }
            Kind::Tanh => {
                let square = b.unary(Kind::Square, y)?;
                let one = b.scalar(x, 1.0)?;
                b.sub(&one, &square)?
            }
            Kind::Sigmoid => {
                let one = b.scalar(x, 1.0)?;
                let rest = b.sub(&one, y)?;
                b.mul(y, &rest)?
            }
            Kind::Relu => {
                let zero = b.scalar(x, 0.0)?;
                let above = b.binary(BinaryKind::Greater, y, &zero)?;
                return b.where_or_zero(&above, upstream);
            }
            Kind::LeakyRelu => {
                let zero = b.scalar(x, 0.0)?;
                let above = b.binary(BinaryKind::Greater, x, &zero)?;
                let (one, below) = (b.scalar(x, 1.0)?, b.scalar(x, first)?);
                b.select(&above, &one, &below)?
            }
            Kind::Elu => {
                let zero = b.scalar(x, 0.0)?;
                let above = b.binary(BinaryKind::Greater, x, &zero)?;
                let (one, below) = (b.scalar(x, 1.0)?, b.plus(y, first)?);
                b.select(&above, &one, &below)?
            }
            Kind::Gelu => {
                // Φ(x) + x · φ(x)
                let within = b.scaled(x, std::f64::consts::FRAC_1_SQRT_2)?;
                let error = b.unary(Kind::Erf, &within)?;
                let both = b.plus(&error, 1.0)?;
                let share = b.scaled(&both, 0.5)?;
                let square = b.unary(Kind::Square, x)?;
                let exponent = b.scaled(&square, -0.5)?;
                let bell = b.unary(Kind::Exp, &exponent)?;
                let density = b.scaled(&bell, 1.0 / (2.0 * std::f64::consts::PI).sqrt())?;
                let moving = b.mul(x, &density)?;
                b.add(&share, &moving)?
            }
            Kind::Silu => {
                let share = b.unary(Kind::Sigmoid, x)?;
                let one = b.scalar(x, 1.0)?;
                let rest = b.sub(&one, &share)?;
                let moving = b.mul(y, &rest)?;
                b.add(&share, &moving)?
            }
            Kind::Softplus => b.unary(Kind::Sigmoid, x)?,
            Kind::Erf => {
                let square = b.unary(Kind::Square, x)?;
                let exponent = b.neg(&square)?;
                let bell = b.unary(Kind::Exp, &exponent)?;
                b.scaled(&bell, std::f64::consts::FRAC_2_SQRT_PI)?
            }
            Kind::Clip => {
                let (low, high) = (b.scalar(x, first)?, b.scalar(x, second)?);
                let from = b.binary(BinaryKind::GreaterEqual, x, &low)?;
                let to = b.binary(BinaryKind::LessEqual, x, &high)?;
                let within = b.binary(BinaryKind::And, &from, &to)?;
                return b.where_or_zero(&within, upstream);
            }
            Kind::Sign | Kind::Floor | Kind::Ceil | Kind::Round | Kind::Not | Kind::IsNan => {
                return Err(undefined(self.0.name()));
            }
        };
        b.mul(upstream, &slope)
    }
}
