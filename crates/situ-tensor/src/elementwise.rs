//! Elementwise methods.

use crate::apply::apply;
use crate::tensor::Tensor;
use situ_core::Result;
use situ_ir::ops::{Binary, BinaryKind, Unary, UnaryKind, Where};

macro_rules! unary_methods {
    ($($(#[$doc:meta])* $name:ident $kind:ident;)*) => {
        impl Tensor {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(&self) -> Result<Tensor> {
                apply(Unary::new(UnaryKind::$kind), &[self])
            }
        )*}
    };
}

macro_rules! binary_methods {
    ($($(#[$doc:meta])* $name:ident $kind:ident;)*) => {
        impl Tensor {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(&self, other: &Tensor) -> Result<Tensor> {
                apply(Binary { kind: BinaryKind::$kind }, &[self, other])
            }
        )*}
    };
}

unary_methods! {
    /// −x of each element.
    neg Neg;
    /// The absolute value of each element.
    abs Abs;
    /// −1, 0 or 1 for each element; NaN stays NaN.
    sign Sign;
    /// e^x of each element.
    exp Exp;
    /// e^x − 1 of each element, exact near 0.
    expm1 Expm1;
    /// The natural logarithm of each element.
    log Log;
    /// log(1 + x) of each element, exact near 0.
    log1p Log1p;
    /// The square root of each element.
    sqrt Sqrt;
    /// 1/√x of each element.
    rsqrt Rsqrt;
    /// x² of each element.
    square Square;
    /// 1/x of each element.
    reciprocal Reciprocal;
    /// The sine of each element.
    sin Sin;
    /// The cosine of each element.
    cos Cos;
    /// The hyperbolic tangent of each element.
    tanh Tanh;
    /// 1/(1 + e^−x) of each element.
    sigmoid Sigmoid;
    /// max(x, 0) of each element.
    relu Relu;
    /// x·Φ(x) of each element, by the error function.
    gelu Gelu;
    /// x·sigmoid(x) of each element.
    silu Silu;
    /// log(1 + e^x) of each element.
    softplus Softplus;
    /// The error function of each element.
    erf Erf;
    /// Each element rounded down.
    floor Floor;
    /// Each element rounded up.
    ceil Ceil;
    /// Each element rounded to the nearest, ties to even.
    round Round;
    /// Logical not of each element.
    logical_not Not;
    /// Whether each element is NaN.
    is_nan IsNan;
}

binary_methods! {
    /// a + b, broadcast; integers wrap.
    add Add;
    /// a − b, broadcast; integers wrap.
    sub Sub;
    /// a · b, broadcast; integers wrap.
    mul Mul;
    /// a / b, broadcast; integers round toward zero.
    div Div;
    /// The remainder of a / b with a's sign, broadcast.
    rem Rem;
    /// a to the power of b, broadcast.
    pow Pow;
    /// The larger of each pair; NaN if either is.
    maximum Maximum;
    /// The smaller of each pair; NaN if either is.
    minimum Minimum;
    /// Whether a = b.
    equal Equal;
    /// Whether a ≠ b.
    not_equal NotEqual;
    /// Whether a < b.
    less Less;
    /// Whether a ≤ b.
    less_equal LessEqual;
    /// Whether a > b.
    greater Greater;
    /// Whether a ≥ b.
    greater_equal GreaterEqual;
    /// Whether both hold.
    logical_and And;
    /// Whether either holds.
    logical_or Or;
    /// Whether exactly one holds.
    logical_xor Xor;
}

impl Tensor {
    /// x, or `slope`·x below 0.
    #[track_caller]
    pub fn leaky_relu(&self, slope: f64) -> Result<Tensor> {
        apply(Unary::with(UnaryKind::LeakyRelu, slope, 0.0), &[self])
    }

    /// x, or `alpha`·(e^x − 1) below 0.
    #[track_caller]
    pub fn elu(&self, alpha: f64) -> Result<Tensor> {
        apply(Unary::with(UnaryKind::Elu, alpha, 0.0), &[self])
    }

    /// Each element clamped to [low, high]; NaN stays NaN.
    #[track_caller]
    pub fn clip(&self, low: f64, high: f64) -> Result<Tensor> {
        apply(Unary::with(UnaryKind::Clip, low, high), &[self])
    }
}

/// `a` where the condition holds, else `b`; all three broadcast.
#[track_caller]
pub fn where_(condition: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    apply(Where, &[condition, a, b])
}
