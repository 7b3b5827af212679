//! The tensor: immutable, cheap to clone, safe to share between threads.

use crate::apply::apply;
use crate::rows::{Lazy, Rows};
use crate::scope::{current_request, line_of};
use crate::tape::{self, Node};
use crate::trace::{SizesRead, emit, is_tracing};
use situ_core::{Caller, DType, DeviceId, Element, Error, Layout, Reason, Result, Shape, TensorType};
use situ_ir::gradient::Made;
use situ_ir::ops::{Cast, Dense};
use situ_ir::{Op, Value};
use situ_runtime::{DeviceTensor, Request, Runtime, host_out_of_memory, zeroed};
use std::sync::Arc;

/// An array of elements on one device.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// let a = situ_tensor::tensor([[1.0f32, 2.0], [3.0, 4.0]])?;
/// let b = a.matmul(&a)?;
/// assert_eq!(b.to_vec::<f32>()?, [7.0, 10.0, 15.0, 22.0]);
/// println!("{} is on {}: {}", b.shape(), b.device(), b.reason());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Tensor {
    repr: Arc<Repr>,
    /// Its place on a tape, if it has one.
    node: Node,
}

#[allow(
    clippy::large_enum_variant,
    reason = "nearly every tensor is concrete, so boxing it would only add a step"
)]
enum Repr {
    Concrete(DeviceTensor),
    /// A gradient of a lookup: rows, and the tensor in memory once somebody wants it.
    Rows {
        lazy: Lazy,
        layout: Layout,
    },
    Traced(Traced),
}

/// A value of a function that is being traced: it has a type, and no elements yet.
pub(crate) struct Traced {
    /// The trace it belongs to.
    pub(crate) trace: u64,
    /// The value in that trace's graph.
    pub(crate) value: Value,
    dtype: DType,
    layout: Layout,
    /// Set when anybody asks for its sizes.
    sizes_read: SizesRead,
    /// The rows that it is made of, if it is the gradient of a lookup.
    rows: Option<Box<Rows>>,
}

impl Traced {
    pub(crate) fn new(trace: u64, value: Value, ty: TensorType, sizes_read: SizesRead) -> Traced {
        Traced { trace, value, dtype: ty.dtype, layout: Layout::dense(ty.shape), sizes_read, rows: None }
    }
}

impl Tensor {
    pub(crate) fn from_concrete(tensor: DeviceTensor) -> Tensor {
        Tensor { repr: Arc::new(Repr::Concrete(tensor)), node: Node::NONE }
    }

    pub(crate) fn from_traced(traced: Traced) -> Tensor {
        Tensor { repr: Arc::new(Repr::Traced(traced)), node: Node::NONE }
    }

    pub(crate) fn from_rows(lazy: Lazy) -> Tensor {
        let layout = Layout::dense(lazy.rows.table().shape);
        Tensor { repr: Arc::new(Repr::Rows { lazy, layout }), node: Node::NONE }
    }

    /// A value of a trace, with the rows that it is made of, if it is to be known for any.
    pub(crate) fn with_rows(self, rows: Option<Rows>) -> Tensor {
        match &*self.repr {
            Repr::Traced(t) => {
                let ty = TensorType::new(t.dtype, *t.layout.shape());
                let traced = Traced::new(t.trace, t.value, ty, t.sizes_read.clone());
                Tensor::from_traced(Traced { rows: rows.map(Box::new), ..traced })
            }
            _ => self,
        }
    }

    /// The rows that it is made of, if it is the gradient of a lookup: all others are zero. Sums of such
    /// gradients, and products with one number, are rows too. Whatever else is done with it makes it dense,
    /// which takes as long as for a tensor of its size.
    pub fn rows(&self) -> Option<&Rows> {
        match &*self.repr {
            Repr::Concrete(_) => None,
            Repr::Rows { lazy, .. } => Some(&lazy.rows),
            Repr::Traced(traced) => traced.rows.as_deref(),
        }
    }

    /// The tensor in memory, if nobody else holds it: it may be written over then.
    pub(crate) fn alone(&mut self) -> Option<&mut DeviceTensor> {
        match Arc::get_mut(&mut self.repr) {
            Some(Repr::Concrete(tensor)) => tensor.is_alone().then_some(tensor),
            _ => None,
        }
    }

    /// Its place on a tape.
    #[inline]
    pub(crate) fn node(&self) -> Node {
        self.node
    }

    /// The same tensor at another place of a tape.
    pub(crate) fn at(self, node: Node) -> Tensor {
        Tensor { node, ..self }
    }

    /// The same tensor, unknown to any tape.
    pub(crate) fn unwatched(&self) -> Tensor {
        self.clone().at(Node::NONE)
    }

    /// The tensor in memory; an error for a value of a function that is being traced.
    pub(crate) fn concrete(&self) -> Result<&DeviceTensor> {
        match &*self.repr {
            Repr::Concrete(tensor) => Ok(tensor),
            Repr::Rows { lazy, .. } => lazy.dense(None),
            Repr::Traced(traced) => Err(Error::argument(
                "read",
                format!(
                    "{}{} is a step of a function that is being traced: it has no elements yet",
                    traced.dtype,
                    traced.layout.shape()
                ),
                "return it from the function and read what the call gives; use cond, while_loop or where_ to decide \
                 by its value",
            )),
        }
    }

    /// [`Tensor::concrete`], for an op: where rows are made dense for it, people are told so who asked to be.
    #[inline]
    pub(crate) fn concrete_for(&self, op: &Op) -> Result<&DeviceTensor> {
        match &*self.repr {
            Repr::Concrete(tensor) => Ok(tensor),
            Repr::Rows { lazy, .. } => lazy.dense(Some(op.name())),
            Repr::Traced(_) => self.concrete(),
        }
    }

    pub(crate) fn traced(&self) -> Option<&Traced> {
        match &*self.repr {
            Repr::Concrete(_) | Repr::Rows { .. } => None,
            Repr::Traced(traced) => Some(traced),
        }
    }

    /// Whether the two are one: the same view of the same memory, or the same value of a trace.
    pub(crate) fn is_same(&self, other: &Tensor) -> bool {
        match (&*self.repr, &*other.repr) {
            (Repr::Concrete(a), Repr::Concrete(b)) => a.is_same_view(b),
            (Repr::Traced(a), Repr::Traced(b)) => a.trace == b.trace && a.value == b.value,
            _ => Arc::ptr_eq(&self.repr, &other.repr),
        }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        match &*self.repr {
            Repr::Concrete(tensor) => tensor.dtype(),
            Repr::Rows { lazy, .. } => lazy.rows.table().dtype,
            Repr::Traced(traced) => traced.dtype,
        }
    }

    /// The sizes, outermost first. A function whose closure asks for those of what it computes with is traced
    /// anew for each shape of its arguments.
    pub fn shape(&self) -> &Shape {
        self.layout().shape()
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.unseen_shape().rank()
    }

    /// The sizes, for who makes the same of a trace whatever they are.
    pub(crate) fn unseen_shape(&self) -> &Shape {
        match &*self.repr {
            Repr::Concrete(tensor) => tensor.shape(),
            Repr::Rows { layout, .. } => layout.shape(),
            Repr::Traced(traced) => traced.layout.shape(),
        }
    }

    /// dtype and shape together, for who makes the same of a trace whatever the sizes are.
    pub(crate) fn unseen_type(&self) -> TensorType {
        TensorType::new(self.dtype(), *self.unseen_shape())
    }

    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.shape().elements()
    }

    /// dtype and shape together.
    pub fn tensor_type(&self) -> TensorType {
        TensorType::new(self.dtype(), *self.shape())
    }

    /// How the elements lie in memory; of a value being traced, how they would lie if nothing intervened.
    pub fn layout(&self) -> &Layout {
        match &*self.repr {
            Repr::Concrete(tensor) => tensor.layout(),
            Repr::Rows { layout, .. } => layout,
            Repr::Traced(traced) => {
                traced.sizes_read.set();
                &traced.layout
            }
        }
    }

    /// Where its bytes are; [`DeviceId::UNDECIDED`] for a value of a function that is being traced.
    pub fn device(&self) -> DeviceId {
        match &*self.repr {
            Repr::Concrete(tensor) => tensor.device(),
            Repr::Rows { lazy, .. } => {
                lazy.made().map_or_else(|| lazy.rows.values().device(), |t| t.device())
            }
            Repr::Traced(_) => DeviceId::UNDECIDED,
        }
    }

    /// Why they are there.
    pub fn reason(&self) -> Reason {
        match &*self.repr {
            Repr::Concrete(tensor) => tensor.reason(),
            Repr::Rows { lazy, .. } => {
                lazy.made().map_or_else(|| lazy.rows.values().reason(), |t| t.reason())
            }
            Repr::Traced(_) => Reason::Undecided,
        }
    }

    /// Whether two tensors share their memory, as a view does with what it looks at.
    pub fn shares_memory_with(&self, other: &Tensor) -> bool {
        match (&*self.repr, &*other.repr) {
            (Repr::Concrete(a), Repr::Concrete(b)) => a.shares_memory_with(b),
            _ => false,
        }
    }

    /// The elements, row-major. Waits for queued work and returns its errors.
    #[track_caller]
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let bytes = self.bytes_as::<T>("to_vec", line_of(Caller::here()))?;
        let mut elements = Vec::new();
        let room = elements.try_reserve_exact(self.elements());
        room.map_err(|_| host_out_of_memory("to_vec", bytes.len()))?;
        elements.extend(bytes.chunks_exact(size_of::<T>()).map(T::from_bytes));
        Ok(elements)
    }

    /// The one element of a tensor that has exactly one.
    #[track_caller]
    pub fn item<T: Element>(&self) -> Result<T> {
        if self.elements() != 1 {
            return Err(Error::operands(
                "item",
                &[self.tensor_type()],
                format!("has {} elements, not one", self.elements()),
                "use to_vec, or reduce it first",
            ));
        }
        Ok(T::from_bytes(&self.bytes_as::<T>("item", line_of(Caller::here()))?))
    }

    /// The elements' bytes, row-major, as they are in memory.
    #[track_caller]
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.read(line_of(Caller::here()))
    }

    /// Whether the data on the way to this tensor were good, without reading it: the error of an index or a
    /// label out of range, or of an integer divided by zero. It waits for a device only where that is not
    /// known yet; a value of a function that is being traced has no data yet.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// let table = situ_tensor::tensor([1.0f32, 2.0])?;
    /// let found = table.gather(&situ_tensor::tensor([0, 5])?, 0).and_then(|found| found.verify());
    /// assert!(found.is_err());
    /// # Ok(()) }
    /// ```
    pub fn verify(&self) -> Result<()> {
        match &*self.repr {
            Repr::Concrete(tensor) => tensor.settle(),
            Repr::Rows { lazy, .. } => {
                lazy.rows.indices().verify()?;
                lazy.rows.values().verify()?;
                lazy.made().map_or(Ok(()), DeviceTensor::settle)
            }
            Repr::Traced(_) => Ok(()),
        }
    }

    /// Whether it lies in memory that the host reads as it is; a traced one lies nowhere yet.
    pub fn is_on_host(&self) -> bool {
        let on_host = |tensor: &DeviceTensor| tensor.logical_device().capabilities().host_addressable;
        match &*self.repr {
            Repr::Concrete(tensor) => on_host(tensor),
            Repr::Rows { lazy, .. } => lazy.made().map_or_else(|| lazy.rows.values().is_on_host(), on_host),
            Repr::Traced(_) => false,
        }
    }

    /// The elements' bytes where they lie, row-major, without a copy: of a dense tensor on a CPU. `None` for
    /// any other.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// let x = situ_tensor::tensor([[1u8, 2], [3, 4]])?;
    /// assert_eq!(x.host_bytes(), Some(&[1, 2, 3, 4][..]));
    /// assert_eq!(x.transpose(&[])?.host_bytes(), None);
    /// # Ok(()) }
    /// ```
    pub fn host_bytes(&self) -> Option<&[u8]> {
        match &*self.repr {
            Repr::Concrete(tensor) => tensor.host_bytes(),
            Repr::Rows { lazy, .. } => lazy.dense(None).ok().and_then(DeviceTensor::host_bytes),
            Repr::Traced(_) => None,
        }
    }

    fn bytes_as<T: Element>(&self, call: &'static str, caller: Caller) -> Result<Vec<u8>> {
        if T::DTYPE != self.dtype() {
            return Err(Error::operands(
                call,
                &[self.tensor_type()],
                format!("was asked for {}, the tensor holds {}", T::DTYPE, self.dtype()),
                "ask for its dtype, or cast first",
            ));
        }
        self.read(caller)
    }

    fn read(&self, caller: Caller) -> Result<Vec<u8>> {
        let concrete = self.concrete()?;
        let mut bytes = zeroed("read", self.tensor_type().bytes())?;
        Runtime::of(concrete)?.read(concrete, &mut bytes, caller)?;
        Ok(bytes)
    }

    /// A copy on the device that `name` names, which must exist; itself if it is there already.
    #[track_caller]
    pub fn to_device(&self, name: &str) -> Result<Tensor> {
        let request = Request { spec: name.parse()?, ..current_request() };
        let caller = line_of(Caller::here());
        let copy = if is_tracing() {
            emit(Dense.into(), &[self], &request, caller)?
        } else {
            let concrete = self.concrete()?;
            Tensor::from_concrete(Runtime::of(concrete)?.to_device(concrete, &request, caller)?)
        };
        Ok(match tape::log_of(&[self]) {
            0 => copy,
            log => tape::record(log, Made::Op(Dense.into()), &[self], copy, Request::default(), caller),
        })
    }

    /// The same values in another dtype; itself if it has that dtype.
    #[track_caller]
    pub fn cast(&self, to: DType) -> Result<Tensor> {
        if to == self.dtype() {
            return Ok(self.clone());
        }
        apply(Cast { to }, &[self])
    }
}
