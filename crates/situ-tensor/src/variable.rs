//! Variables: the mutable ones.
//!
//! Reads and writes run where the variable lives: on the device of the scope it was made in, for good; else where its first value was, until a
//! function that assigns it does better elsewhere and moves it, before a call. A copy of it made for an op on another device is in the ledger and
//! is kept until the next assignment.

use crate::apply::{apply_on, apply_with};
use crate::scope::{current_request, on_device};
use crate::tape;
use crate::tensor::Tensor;
use crate::trace::{self, is_tracing};
use situ_core::{DType, DeviceId, DeviceSpec, Error, Result, Shape, TensorType};
use situ_ir::ops::{Binary, BinaryKind};
use situ_runtime::{DeviceTensor, Request, Runtime};
use std::panic::Location;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, RwLock};

/// Times that functions may move a variable: two that disagree must not toss it to and fro for ever.
const MOST_MOVES: u32 = 4;

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
    pinned: bool,
    /// How often functions have moved it.
    moves: AtomicU32,
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
        let (dtype, shape) = (placed.dtype(), *placed.shape());
        let value = RwLock::new(Tensor::from_concrete(placed));
        let (moves, place) = (AtomicU32::new(0), AtomicUsize::new(0));
        Ok(Variable(Arc::new(Cell { value, pinned, moves, dtype, shape, place })))
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

    /// Where it lives now.
    pub fn device(&self) -> DeviceId {
        self.0.value.read().unwrap_or_else(|poisoned| poisoned.into_inner()).device()
    }

    /// What its reads and updates ask for: the device it lives on. While a function is traced, one that no scope has pinned asks for none,
    /// because the function may move it.
    pub fn here(&self) -> DeviceSpec {
        if is_tracing() && !self.0.pinned { DeviceSpec::default() } else { on_device(self.device()) }
    }

    /// Whether a function that assigns it may move it before a call.
    pub(crate) fn is_movable(&self) -> bool {
        !self.0.pinned && self.0.moves.load(Relaxed) < MOST_MOVES
    }

    /// It stays where it is.
    pub(crate) fn settle(&self) {
        self.0.moves.store(MOST_MOVES, Relaxed);
    }

    /// Moves it to another device; gives its value there.
    pub(crate) fn move_to(&self, device: DeviceId, runtime: &Runtime) -> Result<DeviceTensor> {
        let location = Location::caller();
        let mut held = self.write();
        let value = held.concrete()?;
        if value.device() == device {
            return Ok(value.clone());
        }
        let from = value.device();
        let request = Request { spec: on_device(device), ..Request::default() };
        let moved = runtime.to_device(value, &request, location)?;
        self.0.moves.fetch_add(1, Relaxed);
        let ty = self.tensor_type();
        runtime.log_placement(|| {
            format!(
                "a variable of {ty} moves from {from} to {device}: the function that assigns it is quicker so"
            )
        });
        self.replace(&mut held, Tensor::from_concrete(moved.clone()));
        Ok(moved)
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
        let request = Request { spec: on_device(self.device()), ..current_request() };
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
            let request = Request { spec: self.here(), ..current_request() };
            let inputs = [&self.unwatched(), &amount.unwatched()];
            let sum = apply_with(Binary { kind }.into(), &inputs, &request, location)?;
            return trace::assign_variable(call, self, &sum);
        }
        // The lock is held over the whole update, so that two threads adding at once both count.
        let mut held = self.write();
        let sum = apply_on(held.device(), Binary { kind }, &[&held, &amount.unwatched()], location)?;
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
