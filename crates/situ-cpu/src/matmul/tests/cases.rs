//! Operands, a reference, and a way to run one case.

use crate::level::Level;
use crate::matmul::{Activation, Element, Epilogue, Matrix, Offsets, Product, SINGLE, Workspace, matmul};
use crate::threads::Threads;

/// How an operand lies in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Lay {
    Dense,
    Transposed,
    /// Rows and columns both apart.
    Apart,
    /// Rows backwards.
    Backwards,
    /// Every row is the same.
    OneRow,
    /// Every column is the same.
    OneColumn,
}

pub(super) const LAYS: [Lay; 6] =
    [Lay::Dense, Lay::Transposed, Lay::Apart, Lay::Backwards, Lay::OneRow, Lay::OneColumn];

/// A matrix with the memory it lies in.
pub(super) struct Operand<T> {
    data: Vec<T>,
    first: usize,
    row_stride: isize,
    col_stride: isize,
}

impl<T: Copy> Operand<T> {
    /// A matrix of rows × cols for each of `count` products, one behind the other, with numbers from `next`.
    pub(super) fn new(
        lay: Lay,
        rows: usize,
        cols: usize,
        count: usize,
        mut next: impl FnMut() -> T,
    ) -> Operand<T> {
        let (row_stride, col_stride) = match lay {
            Lay::Dense => (cols as isize, 1),
            Lay::Transposed => (1, rows as isize),
            Lay::Apart => (3 * cols as isize + 2, 3),
            Lay::Backwards => (-(cols as isize), 1),
            Lay::OneRow => (0, 1),
            Lay::OneColumn => (1, 0),
        };
        let reach = |n: usize, stride: isize| n.saturating_sub(1) * stride.unsigned_abs();
        let span = reach(rows, row_stride) + reach(cols, col_stride) + 1;
        let first = if row_stride < 0 { reach(rows, row_stride) } else { 0 };
        // Nothing behind the last element: a kernel that reads too far is caught by tools that watch memory.
        let data = (0..span * count).map(|_| next()).collect();
        Operand { data, first, row_stride, col_stride }
    }

    pub(super) fn matrix(&self) -> Matrix<T> {
        Matrix { ptr: &self.data[self.first], row_stride: self.row_stride, col_stride: self.col_stride }
    }

    /// From one product's matrix to the next one's.
    pub(super) fn span(&self, count: usize) -> isize {
        (self.data.len() / count) as isize
    }

    pub(super) fn get(&self, offset: isize, row: usize, col: usize) -> T {
        let at =
            self.first as isize + offset + row as isize * self.row_stride + col as isize * self.col_stride;
        self.data[at as usize]
    }
}

/// Numbers that look random and are the same every time.
pub(super) fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// A case with its operands.
pub(super) struct Case<T> {
    pub(super) sizes: (usize, usize, usize),
    pub(super) a: Operand<T>,
    pub(super) b: Operand<T>,
    pub(super) batch: Vec<Offsets>,
    pub(super) bias: Option<Vec<T>>,
    pub(super) activation: Activation,
}

impl<T: Element + Default> Case<T> {
    pub(super) fn new(
        sizes: (usize, usize, usize),
        lays: (Lay, Lay),
        mut next: impl FnMut() -> T,
    ) -> Case<T> {
        let (m, k, n) = sizes;
        let a = Operand::new(lays.0, m, k, 1, &mut next);
        let b = Operand::new(lays.1, k, n, 1, &mut next);
        Case { sizes, a, b, batch: SINGLE.to_vec(), bias: None, activation: Activation::None }
    }

    /// The output before the call: a value that must not survive.
    pub(super) fn fresh_output(&self, value: T) -> Vec<T> {
        let (m, _, n) = self.sizes;
        vec![value; self.batch.len() * m * n]
    }

    pub(super) fn product<'a>(&'a self, out: &mut [T]) -> Product<'a, T> {
        let (m, k, n) = self.sizes;
        Product {
            m,
            k,
            n,
            batch: &self.batch,
            a: self.a.matrix(),
            b: self.b.matrix(),
            out: out.as_mut_ptr(),
            epilogue: Epilogue { bias: self.bias.as_ref().map(|b| b.as_ptr()), activation: self.activation },
            workspace: Workspace::NONE,
        }
    }

    pub(super) fn run(&self, level: Level, threads: &Threads, before: T) -> Vec<T> {
        let mut out = self.fresh_output(before);
        // SAFETY: the operands have the elements that the sizes, strides and offsets say.
        unsafe { matmul(level, threads, &self.product(&mut out)) };
        out
    }
}

/// The product in double precision, and for each element the sum of the magnitudes that went into it.
fn reference<T: Element + Default + Into<f64>>(case: &Case<T>) -> Vec<(f64, f64)> {
    let (m, k, n) = case.sizes;
    let mut out = Vec::new();
    let mut column = vec![0.0; k];
    for offsets in &case.batch {
        let start = out.len();
        out.resize(start + m * n, (0.0, 0.0));
        for j in 0..n {
            column.iter_mut().enumerate().for_each(|(step, x)| *x = case.b.get(offsets.b, step, j).into());
            let bias = case.bias.as_ref().map_or(0.0, |b| b[j].into());
            for i in 0..m {
                let (mut sum, mut size) = (bias, bias.abs());
                for (step, b) in column.iter().enumerate() {
                    let term: f64 = case.a.get(offsets.a, i, step).into() * b;
                    sum += term;
                    size += term.abs();
                }
                if case.activation == Activation::Relu && sum < 0.0 {
                    sum = 0.0;
                }
                out[start + i * n + j] = (sum, size);
            }
        }
    }
    out
}

/// Runs a case at every level and checks it: an element may be wrong by what rounding every step can do, and
/// no more.
pub(super) fn check<T: Element + Default + Into<f64>>(
    case: &Case<T>,
    roundoff: f64,
    what: &str,
    mut run: impl FnMut(Level) -> Vec<T>,
) {
    let (_, k, n) = case.sizes;
    let want = reference(case);
    for level in Level::available() {
        for (at, ((want, size), got)) in want.iter().zip(run(level)).enumerate() {
            let got: f64 = got.into();
            assert!(
                (got - want).abs() <= roundoff * (k + 2) as f64 * size,
                "{what} {:?} at {level}: element {}, {} is {got}, want {want}",
                case.sizes,
                at / n,
                at % n
            );
        }
    }
}
