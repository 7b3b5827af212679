//! Kernels of ops that are not of this workspace: how they are registered.

use situ_core::{DType, TensorType};
use situ_ir::ops::{Custom, Foreign};
use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

type Text = dyn Fn(&Custom) -> String + Send + Sync;
type Words = dyn Fn(&Custom, &[TensorType], &[TensorType]) -> [u32; 4] + Send + Sync;
type Trips = dyn Fn(&Custom, &[TensorType]) -> usize + Send + Sync;

#[derive(Clone)]
pub(crate) struct Shader {
    pub(crate) dtypes: Arc<[DType]>,
    pub(crate) text: Arc<Text>,
    pub(crate) words: Arc<Words>,
    pub(crate) trips: Arc<Trips>,
}

static SHADERS: RwLock<Option<HashMap<TypeId, Shader>>> = RwLock::new(None);

pub(crate) fn find(of: TypeId) -> Option<Shader> {
    SHADERS.read().unwrap_or_else(PoisonError::into_inner).as_ref()?.get(&of).cloned()
}

/// Registers the kernel of a type of ops for these dtypes, with at most three inputs and one output. Every
/// GPU of the process has it from then on. The first that is registered for a type stays: what was compiled
/// is kept by the op. `text`, `words` and `trips` are those of `situ_runtime::custom::Wgsl`, which says what
/// they are.
pub fn register<T: Foreign>(
    dtypes: &[DType],
    text: fn(&T) -> String,
    words: fn(&T, &[TensorType], &[TensorType]) -> [u32; 4],
    trips: fn(&T, &[TensorType]) -> usize,
) {
    let mut shaders = SHADERS.write().unwrap_or_else(PoisonError::into_inner);
    shaders.get_or_insert_default().entry(TypeId::of::<T>()).or_insert_with(|| Shader {
        dtypes: dtypes.into(),
        text: Arc::new(move |op| op.get::<T>().map(text).unwrap_or_default()),
        words: Arc::new(move |op, inputs, outputs| {
            op.get::<T>().map_or([0; 4], |op| words(op, inputs, outputs))
        }),
        trips: Arc::new(move |op, inputs| op.get::<T>().map_or(0, |op| trips(op, inputs))),
    });
}
