//! Kernels of ops that are not of this workspace: how they are registered, and what they work on.
//!
//! Promises: a kernel sees dense slices of the dtypes it asks for, or an error; no two borrows of an output
//! exist. A kernel that panics is an error of the op. Leaves to the kernel: that results do not depend on the
//! number of threads, for which chunks have a size that it names.

use crate::exec::{Exec, Shared};
use situ_core::{DType, Element, Error, Result, TensorType};
use situ_device::Call;
use situ_ir::ops::{Custom, Foreign};
use std::any::TypeId;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// What a kernel of an op from outside works on: the dense inputs and outputs of one launch, and the device's
/// threads.
pub struct CpuCall<'a> {
    exec: &'a Exec<'a>,
    call: &'a Call<'a>,
    inputs: Vec<*mut u8>,
    /// Null once it was taken.
    outputs: Vec<Option<*mut u8>>,
}

impl fmt::Debug for CpuCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuCall").field("op", self.call.op).finish_non_exhaustive()
    }
}

impl<'a> CpuCall<'a> {
    pub(crate) fn new(
        exec: &'a Exec<'a>,
        call: &'a Call<'a>,
        inputs: Vec<*mut u8>,
        outputs: Vec<*mut u8>,
    ) -> CpuCall<'a> {
        CpuCall { exec, call, inputs, outputs: outputs.into_iter().map(Some).collect() }
    }

    /// The type of an input.
    pub fn input_type(&self, number: usize) -> Result<TensorType> {
        self.call.inputs.get(number).map(|arg| arg.tensor_type()).ok_or_else(|| self.absent("input", number))
    }

    /// The type of an output.
    pub fn output_type(&self, number: usize) -> Result<TensorType> {
        self.call
            .outputs
            .get(number)
            .map(|arg| arg.tensor_type())
            .ok_or_else(|| self.absent("output", number))
    }

    /// The elements of an input, row-major.
    pub fn input<T: Element>(&self, number: usize) -> Result<&'a [T]> {
        let ty = self.input_type(number)?;
        self.of_dtype::<T>(ty)?;
        match ty.shape.elements() {
            0 => Ok(&[]),
            count => {
                let first = self.inputs[number].cast::<T>().cast_const();
                // SAFETY: the input is dense, has so many elements of this dtype, and nothing writes to it
                // while the kernel runs: the kernel may not write in place.
                Ok(unsafe { std::slice::from_raw_parts(first, count) })
            }
        }
    }

    /// The elements of an output, row-major, to be written. Each can be taken once.
    pub fn output<T: Element>(&mut self, number: usize) -> Result<&'a mut [T]> {
        let ty = self.output_type(number)?;
        self.of_dtype::<T>(ty)?;
        let Some(start) = self.outputs[number].take() else {
            return Err(
                self.wrong(format!("its kernel takes output {number} twice"), "take it once, and share it")
            );
        };
        match ty.shape.elements() {
            0 => Ok(&mut []),
            count => {
                // What was in the memory need not be a value of the type: a bool is 0 or 1. SAFETY: an output
                // is dense memory of its own with so many elements, and it is handed out once.
                unsafe { std::ptr::write_bytes(start.cast::<T>(), 0, count) };
                // SAFETY: as above; zeros are a value of every element type.
                Ok(unsafe { std::slice::from_raw_parts_mut(start.cast::<T>(), count) })
            }
        }
    }

    /// Calls `each` with the number of its first element for every chunk of `chunk` elements, on all threads
    /// of the device. Where the cuts are depends on `chunk` alone.
    pub fn chunks<T: Element>(&self, all: &mut [T], chunk: usize, each: impl Fn(usize, &mut [T]) + Sync) {
        let first = Shared(all.as_mut_ptr());
        self.exec.for_ranges(all.len(), chunk, |from, to| {
            // SAFETY: ranges lie within the slice and do not overlap, and the slice is borrowed for as long
            // as they are.
            let part = unsafe { std::slice::from_raw_parts_mut(first.get().add(from), to - from) };
            each(from, part);
        });
    }

    fn of_dtype<T: Element>(&self, ty: TensorType) -> Result<()> {
        if ty.dtype == T::DTYPE {
            return Ok(());
        }
        let why = format!("its kernel reads {ty} as {}", T::DTYPE);
        Err(self.wrong(why, "register it for the dtypes it has, or look at the type first"))
    }

    fn absent(&self, what: &str, number: usize) -> Error {
        self.wrong(format!("it has no {what} {number}"), "look at the op's rule")
    }

    #[cold]
    fn wrong(&self, why: String, help: &str) -> Error {
        Error::argument(self.call.op.name(), why, help)
    }
}

/// A kernel for any type of op.
type Run = dyn Fn(&Custom, &mut CpuCall<'_>) -> Result<()> + Send + Sync;

#[derive(Clone)]
pub(crate) struct Compute {
    dtypes: Arc<[DType]>,
    run: Arc<Run>,
}

impl Compute {
    pub(crate) fn takes(&self, dtype: DType) -> bool {
        self.dtypes.contains(&dtype)
    }

    pub(crate) fn run(&self, op: &Custom, work: &mut CpuCall<'_>) -> Result<()> {
        (self.run)(op, work)
    }
}

static KERNELS: RwLock<Option<HashMap<TypeId, Compute>>> = RwLock::new(None);

pub(crate) fn find(of: TypeId) -> Option<Compute> {
    KERNELS.read().unwrap_or_else(PoisonError::into_inner).as_ref()?.get(&of).cloned()
}

/// Registers the kernel of a type of ops for these dtypes (those of the first input, unless the op's rule
/// names another). Every CPU of the process has it from then on; a kernel that was registered before is
/// replaced.
pub fn register<T: Foreign>(dtypes: &[DType], kernel: fn(&T, &mut CpuCall<'_>) -> Result<()>) {
    let run =
        move |op: &Custom, work: &mut CpuCall<'_>| match op.get::<T>() {
            Some(op) => kernel(op, work),
            None => Err(work
                .wrong("its kernel is that of another type of op".to_string(), "this is a defect of situ")),
        };
    let mut kernels = KERNELS.write().unwrap_or_else(PoisonError::into_inner);
    let compute = Compute { dtypes: dtypes.into(), run: Arc::new(run) };
    kernels.get_or_insert_default().insert(TypeId::of::<T>(), compute);
}
