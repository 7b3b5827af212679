//! Variables: the mutable ones.
//!
//! Reads and writes run where the variable lives. A copy of it made for an op on another device is in the ledger and
//! is kept until the next assignment.

use crate::apply::apply_on;
use crate::scope::{current_request, on_device};
use crate::tape;
use crate::tensor::Tensor;
use crate::trace::{self, is_tracing};
use situ_core::{DType, DeviceId, Error, Result, Shape, TensorType};
use situ_ir::ops::{Binary, BinaryKind};
use situ_runtime::{DeviceTensor, Request, Runtime};
use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, RwLock};

/// A tensor that can be replaced by another of its type. Clones are the same variable.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// let v = situ_tensor::Variable::new(&situ_tensor::tensor([1.0f32, 2.0])?)?;
/// v.assign_add(&situ_tensor::tensor([10.0f32, 10.0])?)?;
/// assert_eq!(v.value().to_vec::<f32>()?, [11.0, 12.0]);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Variable(Arc<Cell>);

#[derive(Debug)]
struct Cell {
    value: RwLock<Tensor>,
    device: DeviceId,
    pinned: bool,
    dtype: DType,
    shape: Shape,
    /// Where the tape that read it last found it: a hint, for tapes are of threads and a variable is of all.
    place: AtomicUsize,
}

impl Variable {
    /// A variable with that value: pinned to the device of the scope around the call, or where the value is.
    #[track_caller]
    pub fn new(value: &Tensor) -> Result<Variable> {
        let request = current_request();
        let location = Location::caller();
        let value = value.concrete()?;
        let runtime = Runtime::of(value)?;
        let pinned = !request.spec.is_empty();
        let placed = if pinned { runtime.place(value, &request, location)? } else { value.clone() };
        let placed = runtime.dense(&placed, location)?;
        placed.keep_replicas();
        let (device, dtype, shape) = (placed.device(), placed.dtype(), *placed.shape());
        let value = RwLock::new(Tensor::from_concrete(placed));
        Ok(Variable(Arc::new(Cell { value, device, pinned, dtype, shape, place: AtomicUsize::new(0) })))
    }

    /// Its value now. It does not change when the variable does. While a tape runs, gradients flow to the variable.
    #[track_caller]
    pub fn value(&self) -> Tensor {
        tape::read_of(self, self.unwatched())
    }

    /// Its value now, as a constant to tapes.
    pub(crate) fn unwatched(&self) -> Tensor {
        if is_tracing()
            && let Ok(traced) = trace::read_variable(self)
        {
            return traced;
        }
        self.held()
    }

    /// The hint that [`Variable::set_place`] left.
    pub(crate) fn place(&self) -> usize {
        self.0.place.load(Relaxed)
    }

    /// Leaves a hint for the tape that reads it next.
    pub(crate) fn set_place(&self, place: usize) {
        self.0.place.store(place, Relaxed);
    }

    /// Its value in memory, whether or not a function is being traced.
    pub(crate) fn held(&self) -> Tensor {
        self.0.value.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// Replaces the value with one that a function made for it, on its device.
    pub(crate) fn set(&self, value: DeviceTensor) {
        self.replace(&mut self.write(), Tensor::from_concrete(value));
    }

    /// Whether the two are one variable.
    pub(crate) fn is_same(&self, other: &Variable) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// dtype and shape together.
    pub fn tensor_type(&self) -> TensorType {
        TensorType::new(self.0.dtype, self.0.shape)
    }

    /// Where it lives.
    pub fn device(&self) -> DeviceId {
        self.0.device
    }

    /// Whether a scope put it there.
    pub fn is_pinned(&self) -> bool {
        self.0.pinned
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.0.dtype
    }

    /// The sizes.
    pub fn shape(&self) -> &Shape {
        &self.0.shape
    }

    /// Replaces the value. The new one is copied to the variable's device if it is elsewhere.
    #[track_caller]
    pub fn assign(&self, value: &Tensor) -> Result<()> {
        self.check("assign", value)?;
        if is_tracing() {
            return trace::assign_variable("assign", self, value);
        }
        let location = Location::caller();
        let value = value.concrete()?;
        let runtime = Runtime::of(value)?;
        let request = Request { spec: on_device(self.0.device), ..current_request() };
        let placed = runtime.to_device(value, &request, location)?;
        let placed = runtime.dense(&placed, location)?;
        self.replace(&mut self.write(), Tensor::from_concrete(placed));
        Ok(())
    }

    /// Adds to the value, where the variable lives.
    #[track_caller]
    pub fn assign_add(&self, amount: &Tensor) -> Result<()> {
        self.update("assign_add", BinaryKind::Add, amount, Location::caller())
    }

    /// Subtracts from the value, where the variable lives.
    #[track_caller]
    pub fn assign_sub(&self, amount: &Tensor) -> Result<()> {
        self.update("assign_sub", BinaryKind::Sub, amount, Location::caller())
    }

    fn update(
        &self,
        call: &'static str,
        kind: BinaryKind,
        amount: &Tensor,
        location: &'static Location<'static>,
    ) -> Result<()> {
        self.check(call, amount)?;
        if is_tracing() {
            let sum = apply_on(
                self.0.device,
                Binary { kind },
                &[&self.unwatched(), &amount.unwatched()],
                location,
            )?;
            return trace::assign_variable(call, self, &sum);
        }
        // The lock is held over the whole update, so that two threads adding at once both count.
        let mut held = self.write();
        let sum = apply_on(self.0.device, Binary { kind }, &[&held, &amount.unwatched()], location)?;
        self.replace(&mut held, sum);
        Ok(())
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Tensor> {
        self.0.value.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn replace(&self, held: &mut Tensor, value: Tensor) {
        if let (Ok(old), Ok(new)) = (held.concrete(), value.concrete()) {
            old.forget_replicas();
            new.keep_replicas();
        }
        *held = value;
    }

    fn check(&self, call: &'static str, value: &Tensor) -> Result<()> {
        if value.dtype() == self.0.dtype && *value.shape() == self.0.shape {
            return Ok(());
        }
        Err(Error::operands(
            call,
            &[value.tensor_type()],
            format!("the variable holds {}{}", self.0.dtype, self.0.shape),
            "cast or reshape the value to the variable's type",
        ))
    }
}
