//! The tensor: immutable, cheap to clone, safe to share between threads.

use crate::apply::apply;
use crate::scope::current_request;
use situ_core::{DType, DeviceId, Element, Error, Layout, Reason, Result, Shape, TensorType};
use situ_ir::ops::Cast;
use situ_runtime::{DeviceTensor, Request, Runtime};
use std::panic::Location;
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
pub struct Tensor(Arc<DeviceTensor>);

impl Tensor {
    pub(crate) fn from_concrete(tensor: DeviceTensor) -> Tensor {
        Tensor(Arc::new(tensor))
    }

    pub(crate) fn concrete(&self) -> &DeviceTensor {
        &self.0
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.0.dtype()
    }

    /// The sizes, outermost first.
    pub fn shape(&self) -> &Shape {
        self.0.shape()
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape().rank()
    }

    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.shape().elements()
    }

    /// dtype and shape together.
    pub fn tensor_type(&self) -> TensorType {
        self.0.tensor_type()
    }

    /// How the elements lie in memory.
    pub fn layout(&self) -> &Layout {
        self.0.layout()
    }

    /// Where its bytes are.
    pub fn device(&self) -> DeviceId {
        self.0.device()
    }

    /// Why they are there.
    pub fn reason(&self) -> Reason {
        self.0.reason()
    }

    /// Whether two tensors share their memory, as a view does with what it looks at.
    pub fn shares_memory_with(&self, other: &Tensor) -> bool {
        self.0.shares_memory_with(&other.0)
    }

    /// The elements, row-major. Waits for queued work and returns its errors.
    #[track_caller]
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let bytes = self.bytes_as::<T>("to_vec", Location::caller())?;
        Ok(bytes.chunks_exact(size_of::<T>()).map(T::from_bytes).collect())
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
        Ok(T::from_bytes(&self.bytes_as::<T>("item", Location::caller())?))
    }

    /// The elements' bytes, row-major, as they are in memory.
    #[track_caller]
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.read(Location::caller())
    }

    fn bytes_as<T: Element>(
        &self,
        call: &'static str,
        location: &'static Location<'static>,
    ) -> Result<Vec<u8>> {
        if T::DTYPE != self.dtype() {
            return Err(Error::operands(
                call,
                &[self.tensor_type()],
                format!("was asked for {}, the tensor holds {}", T::DTYPE, self.dtype()),
                "ask for its dtype, or cast first",
            ));
        }
        self.read(location)
    }

    fn read(&self, location: &'static Location<'static>) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.tensor_type().bytes()];
        Runtime::of(&self.0)?.read(&self.0, &mut bytes, location)?;
        Ok(bytes)
    }

    /// A copy on the device that `name` names, which must exist; itself if it is there already.
    #[track_caller]
    pub fn to_device(&self, name: &str) -> Result<Tensor> {
        let request = Request { spec: name.parse()?, ..current_request() };
        let copy = Runtime::of(&self.0)?.to_device(&self.0, &request, Location::caller())?;
        Ok(Tensor::from_concrete(copy))
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
