//! Following a recipe: the same calls whether a function is being traced or not.

use super::{Action, Given, Recipe};
use crate::array::Array;
use crate::numbers::Noise;
use situ_core::{DType, Error, Result};
use situ_tensor::{Span, Tensor, Variable, concat, cond, constant, full, where_, while_loop, with_device};

impl Recipe {
    /// Data for what is given, the same for the same seed.
    pub fn data(&self, seed: u64) -> Vec<Array> {
        let mut noise = Noise::named(&format!("data {seed}"));
        let data = |g: &Given| match g.dtype.is_float() {
            true => noise.reals(g.dtype, &g.dims, -3.0, 3.0),
            false => noise.wholes(g.dtype, &g.dims, -3, 4),
        };
        self.given.iter().map(data).collect()
    }

    /// Runs the steps on values, and sets the variables. `given` and `variables` are in the order of
    /// [`Recipe::given`].
    pub fn follow(&self, given: &[Tensor], variables: &[Variable], scoped: bool) -> Result<Vec<Tensor>> {
        let (mut next, mut held) = (given.iter(), variables.iter());
        let missing = || Error::argument("recipe", "it was given too few tensors", "give one for each");
        let mut values: Vec<Tensor> = Vec::new();
        for one in &self.given {
            values.push(match one.variable {
                true => held.next().ok_or_else(missing)?.value(),
                false => next.next().ok_or_else(missing)?.clone(),
            });
        }
        for step in &self.steps {
            let made = match step.scope.filter(|_| scoped) {
                Some(scope) => with_device(scope, || act(&step.action, &values))?,
                None => act(&step.action, &values)?,
            };
            values.push(made);
        }
        let number = |given: usize| self.given[..given].iter().filter(|g| g.variable).count();
        for &(variable, value) in &self.updates {
            variables[number(variable)].assign(&values[value])?;
        }
        Ok(self.returned.iter().map(|&v| values[v].clone()).collect())
    }
}

fn act(action: &Action, values: &[Tensor]) -> Result<Tensor> {
    let v = |n: &usize| &values[*n];
    match action {
        Action::Unary(name, x) => unary(name, v(x)),
        Action::Binary(name, a, b) => binary(name, v(a), v(b)),
        Action::Quotient(a, b) => v(a).div(&(&v(b).abs()? + 1.0)?),
        Action::Choose(a, b, x, y) => where_(&v(a).greater(v(b))?, v(x), v(y)),
        Action::Scale(x, by) => v(x) * *by,
        Action::Reduce(name, x, axes, keep) => {
            let kind = match *name {
                "sum" => situ_ir::ops::ReduceKind::Sum,
                "mean" => situ_ir::ops::ReduceKind::Mean,
                "max" => situ_ir::ops::ReduceKind::Max,
                _ => situ_ir::ops::ReduceKind::Min,
            };
            v(x).reduce(kind, axes, *keep)
        }
        Action::Matmul(a, b, ta, tb) => v(a).matmul_transposed(v(b), *ta, *tb),
        Action::BiasAdd(x, bias) => v(x).bias_add(v(bias)),
        Action::Softmax(x) => v(x).softmax(-1),
        Action::LayerNorm(x, scale, shift) => v(x).layer_norm(v(scale), v(shift), 0.1),
        Action::Transpose(x) => v(x).transpose(&[]),
        Action::Flatten(x) => v(x).reshape(&[-1]),
        Action::Narrow(x, axis, start, stop) => v(x).narrow(*axis, *start, *stop),
        Action::Skip(x) => {
            let mut spans = vec![Span::ALL; v(x).rank() - 1];
            spans.push(Span::ALL.by(2));
            v(x).slice(&spans)
        }
        Action::Concat(a, b, axis) => concat(&[v(a), v(b)], *axis),
        Action::Pad(x, value) => v(x).pad(&vec![(0, 1); v(x).rank()], *value),
        Action::Tile(x) => {
            let mut repeats = vec![1; v(x).rank()];
            repeats[v(x).rank() - 1] = 2;
            v(x).tile(&repeats)
        }
        Action::Gather(x, rows) => v(x).gather(&constant(rows, &[rows.len()])?, 0),
        Action::CrossEntropy(x, labels) => {
            v(x).sparse_softmax_cross_entropy(&constant(labels, &[labels.len()])?)
        }
        Action::Cast(x, dtype) => v(x).cast(*dtype),
        Action::Cond(by, x) => {
            let first = first_element(v(by))?;
            let holds = first.greater(&fill(0.0, first.dtype(), &[])?)?;
            let mut made = cond(&holds, || Ok(vec![v(x).tanh()?.add(v(x))?]), || Ok(vec![v(x).sigmoid()?]))?;
            made.pop().ok_or_else(|| Error::argument("recipe", "a branch gave nothing", ""))
        }
        Action::Loop(x) => {
            let bound = fill(0.5, v(x).dtype(), &[])?;
            let state = [v(x).clone()];
            let made =
                while_loop(&state, |s| first_element(&s[0])?.greater(&bound), |s| Ok(vec![(&s[0] * 0.5)?]))?;
            Ok(made[0].clone())
        }
        Action::Constant(dtype, dims, value) => fill(*value, *dtype, dims),
    }
}

fn first_element(x: &Tensor) -> Result<Tensor> {
    x.reshape(&[-1])?.narrow(0, 0, 1)?.reshape(&[])
}

fn fill(value: f64, dtype: DType, dims: &[usize]) -> Result<Tensor> {
    match dtype {
        DType::F64 => full(dims, value),
        DType::I32 => full(dims, value as i32),
        _ => full(dims, value as f32),
    }
}

fn unary(name: &str, x: &Tensor) -> Result<Tensor> {
    match name {
        "neg" => x.neg(),
        "abs" => x.abs(),
        "relu" => x.relu(),
        "square" => x.square(),
        "tanh" => x.tanh(),
        "sigmoid" => x.sigmoid(),
        "sin" => x.sin(),
        "cos" => x.cos(),
        "exp" => x.exp(),
        "gelu" => x.gelu(),
        "silu" => x.silu(),
        "softplus" => x.softplus(),
        "erf" => x.erf(),
        "clip" => x.clip(-1.5, 1.5),
        "leaky_relu" => x.leaky_relu(0.1),
        _ => x.elu(0.5),
    }
}

fn binary(name: &str, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    match name {
        "add" => a.add(b),
        "sub" => a.sub(b),
        "mul" => a.mul(b),
        "maximum" => a.maximum(b),
        _ => a.minimum(b),
    }
}
