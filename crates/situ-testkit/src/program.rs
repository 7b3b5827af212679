//! A longer program whose every value is known: what failures must leave intact.
//!
//! A [`Session`] runs the steps in order and keeps all results alive. It stops where a step fails, and can go
//! on from there once the cause is gone.

use crate::array::Array;
use situ_core::{DType, Result};
use situ_tensor::{Span, Tensor, Variable, concat, constant, random::Generator, where_};

/// One step: it sees everything made so far, and adds one tensor.
type Step = fn(&Session) -> Result<Tensor>;

/// The steps, each with the name under which later ones know its result.
const STEPS: &[(&str, Step)] = &[
    ("x", |_| constant(&ramp(8 * 16), &[8, 16])),
    ("w", |_| constant(&ramp(16 * 4), &[16, 4])),
    ("b", |_| constant(&[0.5f32, -0.25, 0.0, 1.0], &[4])),
    ("labels", |_| constant(&[0i32, 1, 2, 3, 3, 2, 1, 0], &[8])),
    ("product", |s| s.get("x").matmul(s.get("w"))),
    ("biased", |s| s.get("product").bias_add(s.get("b"))),
    ("relu", |s| s.get("biased").relu()),
    ("gram", |s| s.get("relu").matmul_transposed(s.get("relu"), true, false)),
    ("softmax", |s| s.get("biased").softmax(-1)),
    ("columns", |s| s.get("softmax").sum(&[0])),
    ("losses", |s| s.get("biased").sparse_softmax_cross_entropy(s.get("labels"))),
    ("loss", |s| s.get("losses").mean(&[])),
    ("even", |s| s.get("x").slice(&[Span::ALL.by(2), Span::ALL.by(-3)])),
    ("doubled", |s| s.get("even").add(s.get("even"))),
    ("flat", |s| s.get("biased").transpose(&[])?.reshape(&[32])),
    ("joined", |s| concat(&[s.get("biased"), s.get("relu"), s.get("softmax")], 1)),
    ("picked", |s| s.get("joined").gather(s.get("labels"), 0)),
    ("positions", |s| s.get("joined").argmax(&[1])),
    ("positive", |s| s.get("biased").greater(s.get("b"))),
    ("chosen", |s| where_(s.get("positive"), s.get("biased"), s.get("b"))),
    ("whole", |s| s.get("chosen").cast(DType::I32)),
    ("noise", |_| Generator::new(7).uniform(&[64, 33], -1.0, 1.0, DType::F32)),
    ("padded", |s| s.get("noise").pad(&[(1, 2), (0, 1)], 3.0)),
    ("normal", |s| s.get("x").layer_norm(&s.get("x").narrow(0, 0, 1)?.reshape(&[16])?, &s.row()?, 1e-5)),
    ("total", |s| {
        // A variable: what it holds after a failed update is what it held before.
        let variable = Variable::new(s.get("b"))?;
        variable.assign_add(s.get("columns"))?;
        variable.assign_sub(s.get("b"))?;
        Ok(variable.value())
    }),
    ("last", |s| s.get("gram").add(s.get("total"))?.mul(s.get("loss"))?.tanh()),
];

fn ramp(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 37 + 11) % 101) as f32 / 50.0 - 1.0).collect()
}

/// A run of the program, whole or as far as it came.
#[derive(Debug, Default)]
pub struct Session {
    made: Vec<Tensor>,
}

impl Session {
    /// A run that has not begun.
    pub fn new() -> Session {
        Session::default()
    }

    /// Goes on from where it is to the end, or to the first step that fails; what was made stays.
    pub fn run(&mut self) -> Result<()> {
        while let Some((_, step)) = STEPS.get(self.made.len()) {
            let made = step(self)?;
            self.made.push(made);
        }
        Ok(())
    }

    /// Whether every step is done.
    pub fn is_done(&self) -> bool {
        self.made.len() == STEPS.len()
    }

    /// The name of the step it stands before; `None` at the end.
    pub fn at(&self) -> Option<&'static str> {
        STEPS.get(self.made.len()).map(|s| s.0)
    }

    /// The results so far, with their names.
    pub fn results(&self) -> impl Iterator<Item = (&'static str, &Tensor)> {
        STEPS.iter().map(|s| s.0).zip(&self.made)
    }

    /// The results so far as plain data.
    pub fn values(&self) -> Result<Vec<Array>> {
        self.made.iter().map(|t| Ok(Array::from_bytes(t.dtype(), t.shape(), &t.to_bytes()?))).collect()
    }

    fn get(&self, name: &str) -> &Tensor {
        let at = STEPS.iter().position(|s| s.0 == name).expect("a step of that name");
        &self.made[at]
    }

    fn row(&self) -> Result<Tensor> {
        self.get("x").narrow(0, 7, 8)?.reshape(&[16])
    }
}
