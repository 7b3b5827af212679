//! Writing recipes: each step is chosen among what its operands allow.

use super::{Action, Given, MOST, Recipe, Step};
use crate::numbers::Noise;
use situ_core::DType;

/// What is known of a value while the recipe is written.
#[derive(Clone, Debug)]
struct Known {
    dtype: DType,
    dims: Vec<usize>,
    /// No element is larger.
    most: f64,
    /// Whether it is the same wherever it is computed, to the last bit.
    exact: bool,
}

const SIZES: [usize; 7] = [1, 2, 3, 4, 5, 8, 17];

impl Recipe {
    /// The recipe of a seed, with scopes drawn from `scopes`.
    pub fn random(seed: u64, scopes: &[&'static str]) -> Recipe {
        let mut writer = Writer::new(seed);
        let count = 3 + writer.noise.below(14);
        let given = writer.given();
        let mut steps = Vec::new();
        let mut scope = None;
        while steps.len() < count {
            let Some((action, known)) = writer.step() else { continue };
            // Neighbours often share a scope, as they do in programs.
            if writer.noise.below(3) == 0 {
                let one = writer.noise.below(scopes.len().max(1) * 2);
                scope = scopes.get(one).copied();
            }
            steps.push(Step { action, scope });
            writer.values.push(known);
        }
        let last = writer.values.len() - 1;
        let mut returned = vec![last];
        for _ in 0..writer.noise.below(3) {
            let one = writer.noise.below(last + 1);
            if !returned.contains(&one) {
                returned.push(one);
            }
        }
        let mut updates = Vec::new();
        for (variable, _) in given.iter().enumerate().filter(|(_, g)| g.variable) {
            let fits = |v: &Known| {
                let own = &writer.values[variable];
                v.dtype == own.dtype && v.dims == own.dims && v.most <= own.most
            };
            let able: Vec<usize> = (given.len()..=last).filter(|&v| fits(&writer.values[v])).collect();
            if !able.is_empty() {
                updates.push((variable, able[writer.noise.below(able.len())]));
            }
        }
        Recipe { given, steps, returned, updates }
    }
}

struct Writer {
    noise: Noise,
    values: Vec<Known>,
    /// The sizes that this recipe's tensors have, so that many of them fit together.
    sizes: [usize; 3],
    dtype: DType,
}

impl Writer {
    fn new(seed: u64) -> Writer {
        let mut noise = Noise::named(&format!("recipe {seed}"));
        let sizes = [0; 3].map(|_| SIZES[noise.below(SIZES.len())]);
        let dtype = if noise.below(8) == 0 { DType::F64 } else { DType::F32 };
        Writer { noise, values: Vec::new(), sizes, dtype }
    }

    fn dims(&mut self) -> Vec<usize> {
        let [a, b, c] = self.sizes;
        let forms = [vec![a, b], vec![a, b], vec![b], vec![a, 1], vec![c, a, b], vec![b, c], vec![1], vec![]];
        let one = self.noise.below(forms.len());
        forms[one].clone()
    }

    fn given(&mut self) -> Vec<Given> {
        let count = 2 + self.noise.below(3);
        let mut given = Vec::new();
        for n in 0..count {
            let dtype = if n > 0 && self.noise.below(6) == 0 { DType::I32 } else { self.dtype };
            let dims = if n == 0 { vec![self.sizes[0], self.sizes[1]] } else { self.dims() };
            let variable = dtype.is_float() && self.noise.below(4) == 0;
            // A variable's value is that of the call before: rounded differently elsewhere.
            self.values.push(Known { dtype, dims: dims.clone(), most: 3.0, exact: !variable });
            given.push(Given { dtype, dims, variable });
        }
        given
    }

    /// A value for which `fits` holds; late ones more often.
    fn pick(&mut self, fits: impl Fn(&Known) -> bool) -> Option<usize> {
        let able: Vec<usize> = (0..self.values.len()).filter(|&v| fits(&self.values[v])).collect();
        let latest = able.len().checked_sub(1)?;
        let back = self.noise.below(able.len()).min(self.noise.below(able.len()));
        Some(able[latest - back])
    }

    fn float(&mut self) -> Option<usize> {
        self.pick(|v| v.dtype.is_float())
    }

    fn step(&mut self) -> Option<(Action, Known)> {
        match self.noise.below(30) {
            0..=6 => self.unary(),
            7..=12 => self.binary(),
            13 => self.quotient(),
            14 => self.choose(),
            15 => {
                let x = self.float()?;
                let by: f64 = [0.5, -1.0, 2.0, 0.25][self.noise.below(4)];
                let known = self.values[x].clone();
                let most = known.most * by.abs();
                bounded(Action::Scale(x, by), Known { most, ..known })
            }
            16 | 17 => self.reduce(),
            18 | 19 => self.matmul(),
            20 => self.rows(),
            21..=25 => self.movement(),
            26 => self.gather(),
            27 => self.cast(),
            28 => self.control(),
            _ => {
                let dims = self.dims();
                let value = self.noise.below(9) as f64 / 4.0 - 1.0;
                let known = Known { dtype: self.dtype, dims: dims.clone(), most: 2.0, exact: true };
                Some((Action::Constant(self.dtype, dims, value), known))
            }
        }
    }

    fn unary(&mut self) -> Option<(Action, Known)> {
        let x = self.float()?;
        let known = self.values[x].clone();
        let most = known.most;
        let (name, most, exact) = match self.noise.below(16) {
            0 => ("neg", most, known.exact),
            1 => ("abs", most, known.exact),
            2 => ("relu", most, known.exact),
            3 => ("square", most * most, false),
            4 => ("tanh", 1.0, false),
            5 => ("sigmoid", 1.0, false),
            6 => ("sin", 1.0, false),
            7 => ("cos", 1.0, false),
            8 => ("exp", most.exp(), false),
            9 => ("gelu", most, false),
            10 => ("silu", most, false),
            11 => ("softplus", most + 1.0, false),
            12 => ("erf", 1.0, false),
            13 => ("clip", most.min(1.5), known.exact),
            14 => ("leaky_relu", most, false),
            _ => ("elu", most, false),
        };
        bounded(Action::Unary(name, x), Known { most, exact, ..known })
    }

    fn binary(&mut self) -> Option<(Action, Known)> {
        let a = self.pick(|_| true)?;
        let first = self.values[a].clone();
        let b = self.pick(|v| v.dtype == first.dtype && broadcast(&v.dims, &first.dims).is_some())?;
        let second = self.values[b].clone();
        if first.dtype == DType::Bool {
            return None;
        }
        let dims = broadcast(&first.dims, &second.dims)?;
        let both = first.exact && second.exact;
        let whole = !first.dtype.is_float();
        let (name, most, exact) = match self.noise.below(5) {
            0 => ("add", first.most + second.most, both && whole),
            1 => ("sub", first.most + second.most, both && whole),
            2 => ("mul", first.most * second.most, both && whole),
            3 => ("maximum", first.most.max(second.most), both),
            _ => ("minimum", first.most.max(second.most), both),
        };
        bounded(Action::Binary(name, a, b), Known { dims, most, exact, ..first })
    }

    fn quotient(&mut self) -> Option<(Action, Known)> {
        let a = self.float()?;
        let first = self.values[a].clone();
        let b = self.pick(|v| v.dtype == first.dtype && broadcast(&v.dims, &first.dims).is_some())?;
        let dims = broadcast(&first.dims, &self.values[b].dims)?;
        Some((Action::Quotient(a, b), Known { dims, exact: false, ..first }))
    }

    fn choose(&mut self) -> Option<(Action, Known)> {
        let a = self.pick(|v| v.exact && v.dtype != DType::Bool)?;
        let compared = self.values[a].clone();
        let b = self
            .pick(|v| v.exact && v.dtype == compared.dtype && broadcast(&v.dims, &compared.dims).is_some())?;
        let condition = broadcast(&compared.dims, &self.values[b].dims)?;
        let x = self.pick(|v| v.dtype.is_float() && broadcast(&v.dims, &condition).is_some())?;
        let first = self.values[x].clone();
        let over = broadcast(&condition, &first.dims)?;
        let y = self.pick(|v| v.dtype == first.dtype && broadcast(&v.dims, &over).is_some())?;
        let second = self.values[y].clone();
        let dims = broadcast(&over, &second.dims)?;
        let (most, exact) = (first.most.max(second.most), first.exact && second.exact);
        bounded(Action::Choose(a, b, x, y), Known { dims, most, exact, ..first })
    }

    fn reduce(&mut self) -> Option<(Action, Known)> {
        let x = self.float()?;
        let known = self.values[x].clone();
        let rank = known.dims.len();
        let axis = if rank == 0 { None } else { Some(self.noise.below(rank + 1)) };
        let keep = self.noise.below(2) == 0;
        let (axes, count): (Vec<isize>, usize) = match axis {
            Some(axis) if axis < rank => (vec![axis as isize], known.dims[axis]),
            _ => (vec![], known.dims.iter().product()),
        };
        let (name, most, exact) = match self.noise.below(4) {
            0 => ("sum", known.most * count as f64, false),
            1 => ("mean", known.most, false),
            2 => ("max", known.most, known.exact),
            _ => ("min", known.most, known.exact),
        };
        let mut dims = known.dims.clone();
        match (axes.first(), keep) {
            (Some(&axis), true) => dims[axis as usize] = 1,
            (Some(&axis), false) => {
                dims.remove(axis as usize);
            }
            (None, true) => dims.iter_mut().for_each(|d| *d = 1),
            (None, false) => dims.clear(),
        }
        bounded(Action::Reduce(name, x, axes, keep), Known { dims, most, exact, ..known })
    }

    fn matmul(&mut self) -> Option<(Action, Known)> {
        let a = self.pick(|v| v.dtype.is_float() && v.dims.len() == 2)?;
        let first = self.values[a].clone();
        let ta = self.noise.below(2) == 0;
        let (rows, inner) = if ta { (first.dims[1], first.dims[0]) } else { (first.dims[0], first.dims[1]) };
        let fits = |v: &Known| v.dtype == first.dtype && v.dims.len() == 2 && v.dims.contains(&inner);
        let b = self.pick(fits)?;
        let second = self.values[b].clone();
        let tb = second.dims[0] != inner;
        let columns = if tb { second.dims[0] } else { second.dims[1] };
        let most = first.most * second.most * inner as f64;
        let dims = vec![rows, columns];
        bounded(Action::Matmul(a, b, ta, tb), Known { dims, most, exact: false, ..first })
    }

    /// Ops along the last axis.
    fn rows(&mut self) -> Option<(Action, Known)> {
        let x = self.pick(|v| v.dtype.is_float() && v.dims.len() >= 2)?;
        let known = self.values[x].clone();
        let columns = *known.dims.last()?;
        let vector = |v: &Known| v.dtype == known.dtype && v.dims == [columns];
        match self.noise.below(4) {
            0 => Some((Action::Softmax(x), Known { most: 1.0, exact: false, ..known })),
            1 => {
                let bias = self.pick(vector)?;
                let most = known.most + self.values[bias].most;
                bounded(Action::BiasAdd(x, bias), Known { most, exact: false, ..known })
            }
            2 => {
                let (scale, shift) = (self.pick(vector)?, self.pick(vector)?);
                let most = self.values[scale].most * (columns as f64).sqrt() + self.values[shift].most;
                bounded(Action::LayerNorm(x, scale, shift), Known { most, exact: false, ..known })
            }
            _ => {
                if known.dims.len() != 2 {
                    return None;
                }
                let labels = (0..known.dims[0]).map(|_| self.noise.below(columns) as i32).collect();
                let most = 2.0 * known.most + (columns as f64).ln();
                let dims = vec![known.dims[0]];
                bounded(Action::CrossEntropy(x, labels), Known { dims, most, exact: false, ..known })
            }
        }
    }

    fn movement(&mut self) -> Option<(Action, Known)> {
        let x = self.pick(|v| !v.dims.is_empty())?;
        let known = self.values[x].clone();
        let mut dims = known.dims.clone();
        let elements: usize = dims.iter().product();
        let last = dims.len() - 1;
        let action = match self.noise.below(8) {
            0 | 1 => {
                dims.reverse();
                Action::Transpose(x)
            }
            2 => {
                dims = vec![elements];
                Action::Flatten(x)
            }
            3 => {
                let axis = self.noise.below(dims.len());
                let start = self.noise.below(dims[axis]);
                let stop = start + 1 + self.noise.below(dims[axis] - start);
                dims[axis] = stop - start;
                Action::Narrow(x, axis as isize, start, stop)
            }
            4 => {
                dims[last] = dims[last].div_ceil(2);
                Action::Skip(x)
            }
            5 if elements < 4000 => {
                let same = |v: &Known| {
                    v.dtype == known.dtype
                        && v.dims.len() == known.dims.len()
                        && v.dims[..last] == known.dims[..last]
                };
                let y = self.pick(same)?;
                dims[last] += self.values[y].dims[last];
                let (most, exact) =
                    (known.most.max(self.values[y].most), known.exact && self.values[y].exact);
                return bounded(Action::Concat(x, y, -1), Known { dims, most, exact, ..known });
            }
            6 if elements < 4000 && known.dtype.is_float() => {
                dims.iter_mut().for_each(|d| *d += 1);
                return Some((Action::Pad(x, 0.5), Known { dims, most: known.most.max(0.5), ..known }));
            }
            7 if elements < 4000 => {
                dims[last] *= 2;
                Action::Tile(x)
            }
            _ => return None,
        };
        Some((action, Known { dims, ..known }))
    }

    fn gather(&mut self) -> Option<(Action, Known)> {
        let x = self.pick(|v| !v.dims.is_empty())?;
        let known = self.values[x].clone();
        let count = 1 + self.noise.below(4);
        let rows = (0..count).map(|_| self.noise.below(known.dims[0]) as i32).collect();
        let mut dims = known.dims.clone();
        dims[0] = count;
        Some((Action::Gather(x, rows), Known { dims, ..known }))
    }

    fn cast(&mut self) -> Option<(Action, Known)> {
        let x = self.pick(|v| !v.dtype.is_float() || v.exact)?;
        let known = self.values[x].clone();
        let dtype = if known.dtype.is_float() { DType::I32 } else { self.dtype };
        Some((Action::Cast(x, dtype), Known { dtype, ..known }))
    }

    fn control(&mut self) -> Option<(Action, Known)> {
        let x = self.float()?;
        let known = self.values[x].clone();
        if self.noise.below(3) == 0 && known.exact {
            return Some((Action::Loop(x), Known { exact: false, ..known }));
        }
        let by = self.pick(|v| v.exact && v.dtype != DType::Bool)?;
        Some((Action::Cond(by, x), Known { most: known.most + 1.0, exact: false, ..known }))
    }
}

/// The step, unless its values could become too large to compare.
fn bounded(action: Action, known: Known) -> Option<(Action, Known)> {
    let small = known.dims.iter().product::<usize>() <= 20_000;
    (known.most <= MOST && small).then_some((action, known))
}

/// The shape of two operands together.
fn broadcast(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let at = |dims: &[usize], axis: usize| (axis + dims.len()).checked_sub(rank).map_or(1, |i| dims[i]);
    (0..rank)
        .map(|axis| match (at(a, axis), at(b, axis)) {
            (x, y) if x == y => Some(x),
            (1, y) => Some(y),
            (x, 1) => Some(x),
            _ => None,
        })
        .collect()
}
