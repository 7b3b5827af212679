//! An op that situ does not have: the squared distance of every point of one list to every point of another.
//!
//! It is written with the facade alone, as any crate could: what the op is ([`PairwiseDistance`] and its
//! `Rule`), what it does on CPUs (`on_cpu`) and on GPUs (`SHADER`), and [`pairwise_distance`], which people
//! call. From then on it is an op like any other: it is placed, explained, recorded by tapes, traced by
//! functions, printed and read in graphs.

use situ::custom::{
    Application, Attributes, Axes, Builder, CpuCall, Differentiability, Given, Gradients, Rule, Terms, Wgsl,
    Work, WorkClass, undefined,
};
use situ::ops::Matmul;
use situ::{DType, Element, Error, Real, Result, Shape, Tensor, TensorType};
use std::sync::OnceLock;

/// `scale · Σ (x[i] − y[j])²` for points `x` of shape \[n, d\] and `y` of shape \[m, d\]: a tensor of shape
/// \[n, m\].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PairwiseDistance {
    /// What the distances are multiplied by.
    pub scale: Real,
}

impl Rule for PairwiseDistance {
    const NAMES: &'static [&'static str] = &["pairwise_distance"];

    fn attributes(&self) -> Attributes {
        Attributes::none().with("scale", self.scale)
    }

    fn read(_: &str, given: &mut Given) -> Result<PairwiseDistance> {
        Ok(PairwiseDistance { scale: given.real("scale")? })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        let wrong = |why: &str| {
            Err(Error::operands(
                self.name(),
                inputs,
                why,
                "give points of shapes [n, d] and [m, d], in f32 or f64",
            ))
        };
        let [x, y] = inputs else { return wrong("takes two lists of points") };
        if x.dtype != y.dtype || !matches!(x.dtype, DType::F32 | DType::F64) {
            return wrong("the points must be floats of one dtype");
        }
        if x.shape.rank() != 2 || y.shape.rank() != 2 || x.shape[1] != y.shape[1] {
            return wrong("the points must have the same number of coordinates");
        }
        Ok(TensorType::new(x.dtype, Shape::new(&[x.shape[0], y.shape[0]])?))
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        // A difference, a product and a sum for each coordinate of each pair.
        let flops = 3.0 * outputs[0].shape.elements() as f64 * inputs[0].shape[1] as f64;
        Work { flops, ..Work::streaming(WorkClass::Reduce, 0.0, inputs, outputs) }
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Smooth
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let [x, y] = at.inputs else { return Err(undefined(self.name())) };
        let upstream = at.by_output()?;
        let mut list = Gradients::new();
        for side in 0..2 {
            if !at.wants(side) {
                list.push(None);
                continue;
            }
            // 2 · scale · (x[i] · Σ g[i, j] − Σ g[i, j] · y[j]), and the same the other way round.
            let (own, other) = if side == 0 { (x, y) } else { (y, x) };
            let points = builder.shape(own)[0];
            let total = builder.sum_keep(upstream, Axes::one(1 - side))?;
            let total = builder.reshaped(&total, Shape::new(&[points, 1])?)?;
            let near = builder.mul(own, &total)?;
            let product = Matmul { transpose_a: side == 1, transpose_b: false };
            let far = builder.emit(product.into(), &[upstream, other])?;
            let apart = builder.sub(&near, &far)?;
            list.push(Some(builder.scaled(&apart, 2.0 * self.scale.0)?));
        }
        Ok(list)
    }
}

/// Rows of results that are a task of their own.
const ROWS: usize = 16;

trait Number:
    Element + std::ops::Sub<Output = Self> + std::ops::Mul<Output = Self> + std::ops::AddAssign
{
    fn of(number: f64) -> Self;
}

impl Number for f32 {
    fn of(number: f64) -> f32 {
        number as f32
    }
}

impl Number for f64 {
    fn of(number: f64) -> f64 {
        number
    }
}

fn on_cpu(op: &PairwiseDistance, call: &mut CpuCall<'_>) -> Result<()> {
    match call.input_type(0)?.dtype {
        DType::F64 => of_numbers::<f64>(op, call),
        _ => of_numbers::<f32>(op, call),
    }
}

fn of_numbers<T: Number>(op: &PairwiseDistance, call: &mut CpuCall<'_>) -> Result<()> {
    let (size, others) = (call.input_type(0)?.shape[1], call.output_type(0)?.shape[1]);
    let (x, y, out) = (call.input::<T>(0)?, call.input::<T>(1)?, call.output::<T>(0)?);
    let scale = T::of(op.scale.0);
    call.chunks(out, ROWS * others.max(1), |first, part| {
        for (n, result) in part.iter_mut().enumerate() {
            let (i, j) = ((first + n) / others, (first + n) % others);
            let mut sum = T::default();
            for (a, b) in x[i * size..(i + 1) * size].iter().zip(&y[j * size..]) {
                let apart = *a - *b;
                sum += apart * apart;
            }
            *result = scale * sum;
        }
    });
    Ok(())
}

const SHADER: Wgsl<PairwiseDistance> = Wgsl::new(
    |op: &PairwiseDistance| {
        format!(
            "fn result(e: u32) -> f32 {{
    let size = own().x;
    let i = e / own().y;
    let j = e % own().y;
    var sum = 0.0;
    for (var k = 0u; k < size; k++) {{
        let apart = in0(i * size + k) - in1(j * size + k);
        sum += apart * apart;
    }}
    return bitcast<f32>({}u) * sum;
}}
",
            (op.scale.0 as f32).to_bits()
        )
    },
    |_, inputs| inputs[0].shape[1],
)
.with_words(|_, inputs, outputs| [inputs[0].shape[1] as u32, outputs[0].shape[1] as u32, 0, 0]);

/// Makes the op known to every device. What is called first calls it; who only reads graphs with the op in
/// them calls it once.
pub fn register() -> Result<()> {
    static DONE: OnceLock<Result<()>> = OnceLock::new();
    let done = DONE.get_or_init(|| {
        situ::custom::register::<PairwiseDistance>()?
            .cpu(&[DType::F32, DType::F64], on_cpu)
            .gpu(&[DType::F32], SHADER);
        Ok(())
    });
    done.clone()
}

/// The squared distance of each point of `x` to each of `y`, times `scale`.
#[track_caller]
pub fn pairwise_distance(x: &Tensor, y: &Tensor, scale: f64) -> Result<Tensor> {
    register()?;
    situ::custom::apply(PairwiseDistance { scale: Real(scale) }, &[x, y])
}
