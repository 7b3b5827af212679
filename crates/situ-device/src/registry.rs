//! The table of kernels: one row per op family, one column per dtype.

use crate::{KernelId, Lack};
use situ_core::{DType, TensorType};
use situ_ir::{Op, OpKind};

/// A device's kernels of type `K`, found by index, without a hash.
#[derive(Debug)]
pub struct Registry<K> {
    kernels: Vec<Entry<K>>,
    /// Index into `kernels` plus one; zero where there is none.
    table: Vec<u16>,
}

/// Whether a kernel does an op on these types, or why not.
pub type Supports = fn(&Op, &[TensorType], &[TensorType]) -> std::result::Result<(), Lack>;

#[derive(Debug)]
struct Entry<K> {
    kernel: K,
    scope: Scope,
}

/// The ops of its family that a kernel does.
#[derive(Clone, Copy, Debug)]
enum Scope {
    All,
    Where(fn(&Op, &[TensorType], &[TensorType]) -> bool),
    Within(Supports),
}

impl<K> Default for Registry<K> {
    fn default() -> Self {
        Registry { kernels: Vec::new(), table: vec![0; OpKind::ALL.len() * DType::ALL.len()] }
    }
}

impl<K> Registry<K> {
    #[inline]
    fn slot(kind: OpKind, dtype: DType) -> usize {
        kind as usize * DType::ALL.len() + dtype as usize
    }

    /// Registers a kernel for every op of a family on these dtypes (see [`Op::kernel_dtype`]).
    pub fn add(&mut self, kind: OpKind, dtypes: &[DType], kernel: K) {
        self.insert(kind, dtypes, kernel, Scope::All);
    }

    /// Registers a kernel for those ops of a family for which `supports` says yes.
    pub fn add_where(
        &mut self,
        kind: OpKind,
        dtypes: &[DType],
        kernel: K,
        supports: fn(&Op, &[TensorType], &[TensorType]) -> bool,
    ) {
        self.insert(kind, dtypes, kernel, Scope::Where(supports));
    }

    /// Registers a kernel that can say why it does not do an op of its family: for its size, say.
    pub fn add_within(&mut self, kind: OpKind, dtypes: &[DType], kernel: K, supports: Supports) {
        self.insert(kind, dtypes, kernel, Scope::Within(supports));
    }

    fn insert(&mut self, kind: OpKind, dtypes: &[DType], kernel: K, scope: Scope) {
        self.kernels.push(Entry { kernel, scope });
        for &dtype in dtypes {
            self.table[Self::slot(kind, dtype)] = self.kernels.len() as u16;
        }
    }

    /// Registers for `dtype`, where it has none, what is registered of a family for `like`, as `make` changes
    /// it, for the same ops.
    pub fn share(&mut self, kind: OpKind, like: DType, dtype: DType, make: impl Fn(&K) -> K) {
        let (from, to) = (self.table[Self::slot(kind, like)], Self::slot(kind, dtype));
        if from == 0 || self.table[to] != 0 {
            return;
        }
        let Entry { kernel, scope } = &self.kernels[usize::from(from) - 1];
        let entry = Entry { kernel: make(kernel), scope: *scope };
        self.kernels.push(entry);
        self.table[to] = self.kernels.len() as u16;
    }

    /// The kernel for this op on these types, or why there is none.
    #[inline]
    pub fn find(
        &self,
        op: &Op,
        inputs: &[TensorType],
        outputs: &[TensorType],
    ) -> std::result::Result<KernelId, Lack> {
        let slot = Self::slot(op.kind(), op.kernel_dtype(inputs, outputs));
        let index = usize::from(self.table[slot]).checked_sub(1).ok_or(Lack::Kernel)?;
        match self.kernels[index].scope {
            Scope::All => {}
            Scope::Where(supports) if supports(op, inputs, outputs) => {}
            Scope::Where(_) => return Err(Lack::Kernel),
            Scope::Within(supports) => supports(op, inputs, outputs)?,
        }
        Ok(KernelId(index as u32))
    }

    /// The kernel of that number.
    #[inline]
    pub fn get(&self, id: KernelId) -> Option<&K> {
        self.kernels.get(id.0 as usize).map(|e| &e.kernel)
    }

    /// The dtypes for which there is any kernel.
    pub fn dtypes(&self) -> Vec<DType> {
        let has = |d: &DType| OpKind::ALL.iter().any(|&k| self.table[Self::slot(k, *d)] != 0);
        DType::ALL.into_iter().filter(has).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use situ_core::Shape;
    use situ_ir::ops::{Binary, BinaryKind, Unary, UnaryKind};

    #[test]
    fn a_kernel_is_found_by_family_and_dtype_and_only_if_it_supports_the_op() {
        let mut registry = Registry::default();
        registry.add(OpKind::Binary, &[DType::F32], "binary");
        registry.add_where(OpKind::Unary, &[DType::F32], "unary", |op, _, _| op.name() != "erf");
        let f32s = TensorType::new(DType::F32, Shape::SCALAR);
        let f64s = TensorType::new(DType::F64, Shape::SCALAR);
        let add = Op::from(Binary { kind: BinaryKind::Add });
        let id = registry.find(&add, &[f32s, f32s], &[f32s]).unwrap();
        assert_eq!(registry.get(id), Some(&"binary"));
        assert_eq!(registry.find(&add, &[f64s, f64s], &[f64s]), Err(Lack::Kernel));
        let unary = |kind| Op::from(Unary::new(kind));
        assert!(registry.find(&unary(UnaryKind::Exp), &[f32s], &[f32s]).is_ok());
        assert_eq!(registry.find(&unary(UnaryKind::Erf), &[f32s], &[f32s]), Err(Lack::Kernel));
        let small: Supports = |_, inputs, _| match inputs[0].shape.elements() {
            n if n <= 8 => Ok(()),
            n => Err(Lack::too_large("elements in one input", n, 8)),
        };
        registry.add_within(OpKind::Unary, &[DType::F32], "small", small);
        let nine = TensorType::new(DType::F32, Shape::new(&[9]).unwrap());
        let exp = unary(UnaryKind::Exp);
        assert!(registry.find(&exp, &[f32s], &[f32s]).is_ok());
        assert_eq!(
            registry.find(&exp, &[nine], &[nine]),
            Err(Lack::too_large("elements in one input", 9, 8))
        );
        assert_eq!(registry.dtypes(), [DType::F32]);
    }
}
