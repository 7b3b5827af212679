//! Variables: the mutable ones.
//!
//! Reads and writes run where the variable lives: on the device of the scope it was made in, for good; else
//! where its first value was, until a function that assigns it does better elsewhere and moves it, before a
//! call. A copy of it made for an op on another device is in the ledger and is kept until the next
//! assignment.
//!
//! Threads may share a variable: a call that assigns it, of a function or of a method here, is over before
//! the next one begins (see `together`). A value never depends on anything that may still turn out bad: it is
//! waited for before it is taken.

use crate::apply::{apply_on, apply_with};
use crate::scope::{ScopeGuard, clear_device, current_request, device_spec, line_of, on_device};
use crate::tape;
use crate::tensor::Tensor;
use crate::trace::{self, is_tracing};
use situ_core::{Caller, DType, DeviceId, DeviceSpec, Error, Result, Shape, TensorType};
use situ_ir::ops::{Binary, BinaryKind};
use situ_runtime::{DeviceTensor, Request, Runtime};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Times that functions may move a variable: two that disagree must not toss it to and fro for ever.
const MOST_MOVES: u32 = 4;

/// A tensor that can be replaced by another of its type. Clones are the same variable.
///
/// Calls that assign a variable take turns, whichever thread makes them, with all other variables that they
/// assign or read: none loses what another has added, and who reads sees what was before a call or what is
/// after it.
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
    /// Held over every change, from reading the old value on; shared by those that only need it to stay as it
    /// is.
    turn: RwLock<()>,
    pinned: bool,
    /// How often functions have moved it.
    moves: AtomicU32,
    dtype: DType,
    shape: Shape,
    /// Where the tape that read it last found it: a hint, for tapes are of threads and a variable is of all.
    place: AtomicUsize,
}

/// The turn of a variable: nobody else changes it meanwhile, or, if it is one's own, sees to it that nobody
/// does.
#[derive(Debug)]
pub(crate) enum VariableLock<'v> {
    /// With others who only read it.
    Shared { _held: RwLockReadGuard<'v, ()> },
    /// Alone: it may be assigned.
    Exclusive { _held: RwLockWriteGuard<'v, ()> },
}

impl Variable {
    /// A variable with that value: pinned to the device of the scope around the call, or where the value is.
    #[track_caller]
    pub fn new(value: &Tensor) -> Result<Variable> {
        let request = current_request();
        let caller = Caller::here();
        let value = value.concrete()?;
        let runtime = Runtime::of(value)?;
        let pinned = !request.spec.is_empty();
        let placed = if pinned { runtime.place(value, &request, caller)? } else { value.clone() };
        let placed = runtime.compact(&placed, caller)?;
        placed.settle()?;
        placed.keep_replicas();
        let (dtype, shape) = (placed.dtype(), *placed.shape());
        let value = RwLock::new(Tensor::from_concrete(placed));
        let (turn, moves, place) = (RwLock::new(()), AtomicU32::new(0), AtomicUsize::new(0));
        Ok(Variable(Arc::new(Cell { value, turn, pinned, moves, dtype, shape, place })))
    }

    /// Its value now. It does not change when the variable does. While a tape runs, gradients flow to the
    /// variable.
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
        self.read().clone()
    }

    /// Replaces the value with one that was made for it, on its device; gives the old one. Its turn is held.
    pub(crate) fn set(&self, value: DeviceTensor) -> Tensor {
        Variable::swap(&mut self.write(), Tensor::from_concrete(value))
    }

    /// Whether the two are one variable.
    pub(crate) fn is_same(&self, other: &Variable) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// What variables are put in order by: one and the same for clones of one variable.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// Waits for its turn: to change it, or to have it stay as it is.
    pub(crate) fn turn(&self, to_assign: bool) -> VariableLock<'_> {
        let turn = &self.0.turn;
        match to_assign {
            true => VariableLock::Exclusive {
                _held: turn.write().unwrap_or_else(|poisoned| poisoned.into_inner()),
            },
            false => {
                VariableLock::Shared { _held: turn.read().unwrap_or_else(|poisoned| poisoned.into_inner()) }
            }
        }
    }

    /// dtype and shape together.
    pub fn tensor_type(&self) -> TensorType {
        TensorType::new(self.0.dtype, self.0.shape)
    }

    /// Where it lives now.
    pub fn device(&self) -> DeviceId {
        self.read().device()
    }

    /// What its reads and updates ask for: the device it lives on. While a function is traced, one that no
    /// scope has pinned asks for none, because the function may move it.
    pub fn here(&self) -> DeviceSpec {
        if is_tracing() && !self.0.pinned { DeviceSpec::default() } else { on_device(self.device()) }
    }

    /// A scope of the device that [`Variable::here`] asks for: what is computed in it is computed where the
    /// variable lives.
    pub fn device_scope(&self) -> ScopeGuard {
        device_spec(self.here())
    }

    /// A variable that goes with this one, such as an optimizer's state: pinned to the same device, or as
    /// free to move. `value` runs in the [scope](Variable::device_scope) of this one's device.
    pub fn new_beside(&self, value: impl FnOnce() -> Result<Tensor>) -> Result<Variable> {
        let there = self.device_scope();
        let value = value()?;
        if self.is_pinned() {
            return Variable::new(&value);
        }
        drop(there);
        let _anywhere = clear_device();
        Variable::new(&value)
    }

    /// Whether a function that assigns it may move it before a call.
    pub(crate) fn is_movable(&self) -> bool {
        !self.0.pinned && self.0.moves.load(Relaxed) < MOST_MOVES
    }

    /// It stays where it is.
    pub(crate) fn settle(&self) {
        self.0.moves.store(MOST_MOVES, Relaxed);
    }

    /// Moves it to another device; gives its value there. Its turn is held.
    pub(crate) fn move_to(&self, device: DeviceId, runtime: &Runtime) -> Result<DeviceTensor> {
        let held = self.held();
        let value = held.concrete()?;
        let from = value.device();
        if from == device {
            return Ok(value.clone());
        }
        let request = Request { spec: on_device(device), ..Request::default() };
        let moved = runtime.to_device(value, &request, Caller::here())?;
        self.0.moves.fetch_add(1, Relaxed);
        self.set(moved.clone());
        let ty = self.tensor_type();
        runtime.log_placement(|| {
            format!(
                "a variable of {ty} moves from {from} to {device}: the function that assigns it is quicker so"
            )
        });
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

    /// The sizes of its dimensions.
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
        let _turn = self.turn(true);
        let placed = self.placed(value, line_of(Caller::here()))?;
        self.set(placed);
        Ok(())
    }

    /// A value as the variable may hold it: on its device, dense, and known to be good.
    pub(crate) fn placed(&self, value: &Tensor, caller: Caller) -> Result<DeviceTensor> {
        let value = value.concrete()?;
        let runtime = Runtime::of(value)?;
        let request = Request { spec: on_device(self.device()), ..current_request() };
        let placed = runtime.to_device(value, &request, caller)?;
        let placed = runtime.compact(&placed, caller)?;
        placed.settle()?;
        Ok(placed)
    }

    /// Adds to the value, where the variable lives.
    #[track_caller]
    pub fn assign_add(&self, amount: &Tensor) -> Result<()> {
        self.update("assign_add", BinaryKind::Add, amount, line_of(Caller::here()))
    }

    /// Subtracts from the value, where the variable lives.
    #[track_caller]
    pub fn assign_sub(&self, amount: &Tensor) -> Result<()> {
        self.update("assign_sub", BinaryKind::Sub, amount, line_of(Caller::here()))
    }

    fn update(&self, call: &'static str, kind: BinaryKind, amount: &Tensor, caller: Caller) -> Result<()> {
        self.check(call, amount)?;
        if is_tracing() {
            let request = Request { spec: self.here(), ..current_request() };
            let inputs = [&self.unwatched(), &amount.unwatched()];
            let sum = apply_with(Binary { kind }.into(), &inputs, &request, caller)?;
            return trace::assign_variable(call, self, &sum);
        }
        // The turn is held over the whole update, so that two threads adding at once both count.
        let _turn = self.turn(true);
        let held = self.held();
        let sum = apply_on(held.device(), Binary { kind }, &[&held, &amount.unwatched()], caller)?;
        let sum = sum.concrete()?;
        sum.settle()?;
        self.set(sum.clone());
        Ok(())
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Tensor> {
        self.0.value.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Tensor> {
        self.0.value.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Puts a value where a variable holds its own; gives the old one.
    pub(crate) fn swap(held: &mut Tensor, value: Tensor) -> Tensor {
        if let (Ok(old), Ok(new)) = (held.concrete(), value.concrete()) {
            old.forget_replicas();
            new.keep_replicas();
        }
        std::mem::replace(held, value)
    }

    pub(crate) fn check(&self, call: &'static str, value: &Tensor) -> Result<()> {
        if value.dtype() == self.0.dtype && *value.unseen_shape() == self.0.shape {
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
