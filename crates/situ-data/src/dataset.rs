//! The dataset: a description of elements that can be iterated any number of times.

use crate::element::Elements;
use crate::fingerprint::Fingerprint;
use crate::iterate::Iter;
use crate::random::Rng;
use crate::stages::batch::Batch;
use crate::stages::cache::Cache;
use crate::stages::filter::Filter;
use crate::stages::generator::{Generator, Rows};
use crate::stages::interleave::Interleave;
use crate::stages::map::{ClosureScope, Map, Work, Workers};
use crate::stages::placed::{Home, Invalid, Placed};
use crate::stages::prefetch::Prefetch;
use crate::stages::sequence::{Concatenate, Repeat, Skip, Take, Zip};
use crate::stages::shuffle::Shuffle;
use crate::stages::tensors::Tensors;
use crate::stream::{Length, Stage};
use situ_core::{DType, DeviceSpec, DeviceType, Error, Result, Shape, TensorType};
use situ_tensor::{Tensor, current_runtime};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Elements of type `E` (a tensor, a tuple of tensors, a `Vec` of them), to be iterated epoch by epoch.
///
/// Methods describe; nothing runs before [`Dataset::iter`]. An argument that can't be (a batch of 0) is the
/// first element of the iteration, as an error.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_data::Dataset;
/// let numbers = Dataset::from_tensors(situ_tensor::range(0, 10, 1)?)?;
/// let sums: Vec<i32> = numbers
///     .filter(|x| Ok(x.item::<i32>()? % 2 == 0))
///     .batch(2)
///     .map(|x| x.sum(&[]))
///     .iter()
///     .map(|sum| sum?.item())
///     .collect::<situ_core::Result<_>>()?;
/// assert_eq!(sums, [2, 10, 8]);
/// # Ok(()) }
/// ```
pub struct Dataset<E> {
    stage: Arc<dyn Stage>,
    /// The epoch that the next iteration is. Clones count together.
    next_epoch: Arc<AtomicU64>,
    _elements: PhantomData<fn() -> E>,
}

impl<E> Clone for Dataset<E> {
    fn clone(&self) -> Dataset<E> {
        Dataset { stage: self.stage.clone(), next_epoch: self.next_epoch.clone(), _elements: PhantomData }
    }
}

fn dataset<E>(stage: impl Stage + 'static) -> Dataset<E> {
    Dataset { stage: Arc::new(stage), next_epoch: Arc::default(), _elements: PhantomData }
}

/// The stage, if its argument can be.
fn checked<E>(
    stage: impl Stage + 'static,
    call: &'static str,
    argument: usize,
    why: &'static str,
) -> Dataset<E> {
    match argument {
        0 => dataset(Invalid(Error::argument(call, why, "use at least 1"))),
        _ => dataset(stage),
    }
}

impl<E: Elements> Dataset<E> {
    /// Slices along the first axis: an element for every row. Tensors on another device are copied to the
    /// host, once.
    pub fn from_tensors(tensors: E) -> Result<Dataset<E>> {
        Ok(dataset(Tensors::new(&tensors.into_row())?))
    }

    /// The elements of an iterator, which `make` makes anew for every pass. It ends at its first error.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_data::Dataset;
    /// let squares = Dataset::from_generator(|| (0..4).map(|n| situ_tensor::tensor(n * n)));
    /// assert_eq!(squares.batch(4).iter().next().unwrap()?.to_vec::<i32>()?, [0, 1, 4, 9]);
    /// # Ok(()) }
    /// ```
    pub fn from_generator<I>(make: impl Fn() -> I + Send + Sync + 'static) -> Dataset<E>
    where
        I: Iterator<Item = Result<E>> + Send + 'static,
    {
        let here = ClosureScope::here();
        let make = move || -> Result<Rows> {
            let (mut elements, here) = (make(), here.clone());
            let next = move || here.enter(|| elements.next()).map(|e| e.map(Elements::into_row));
            Ok(Box::new(std::iter::from_fn(next)))
        };
        dataset(Generator { make: Arc::new(make) })
    }

    /// The elements of an iterator that can be cloned, from its start in every pass.
    pub fn from_iterator<I>(elements: I) -> Dataset<E>
    where
        I: IntoIterator<Item = Result<E>> + Clone + Send + Sync + 'static,
        I::IntoIter: Send + 'static,
    {
        Dataset::from_generator(move || elements.clone().into_iter())
    }

    /// The elements of the next epoch: the first call gives epoch 0.
    pub fn iter(&self) -> Iter<E> {
        self.epoch(self.next_epoch.fetch_add(1, Relaxed))
    }

    /// The elements of one epoch, the same every time: how interrupted training goes on where it was.
    pub fn epoch(&self, epoch: u64) -> Iter<E> {
        Iter::new(&*self.stage, epoch)
    }

    /// How many elements an epoch has.
    pub fn length(&self) -> Length {
        self.stage.length()
    }

    /// A number that tells this dataset from others, in this process and in later ones: of its stages and
    /// their arguments, and of the tensors at its start, some rows of which are looked at. Closures and
    /// generators all look the same to it, and threads, devices and what is made ahead do not count.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_data::Dataset;
    /// let numbers = Dataset::range(100)?;
    /// assert_eq!(numbers.batch(8).fingerprint(), Dataset::range(100)?.batch(8).prefetch(2).fingerprint());
    /// assert_ne!(numbers.batch(8).fingerprint(), numbers.batch(9).fingerprint());
    /// # Ok(()) }
    /// ```
    pub fn fingerprint(&self) -> u64 {
        let mut fingerprint = Fingerprint::default();
        self.stage.identify(&mut fingerprint);
        fingerprint.value()
    }

    /// In random order: each element is drawn from the next `buffer` ones. A `buffer` of all elements
    /// shuffles fully. The order depends on the seed and on the epoch.
    pub fn shuffle(&self, buffer: usize, seed: u64) -> Dataset<E> {
        let stage = Shuffle { from: self.stage.clone(), buffer, seed, anew_each_epoch: true };
        checked(stage, "shuffle", buffer, "a buffer of 0 holds nothing to draw from")
    }

    /// [`Dataset::shuffle`] in one order for all epochs.
    pub fn shuffle_once(&self, buffer: usize, seed: u64) -> Dataset<E> {
        let stage = Shuffle { from: self.stage.clone(), buffer, seed, anew_each_epoch: false };
        checked(stage, "shuffle_once", buffer, "a buffer of 0 holds nothing to draw from")
    }

    fn mapped<F: Elements>(&self, work: Work, workers: Workers, seed: Option<u64>) -> Dataset<F> {
        dataset(Map { from: self.stage.clone(), work, closure_scope: ClosureScope::here(), workers, seed })
    }

    /// Every element through a closure, on the thread that pulls. After [`Dataset::batch`] it is given
    /// batches: one call of each op for all of their rows, which is far the faster way where the closure
    /// allows it.
    pub fn map<F: Elements>(&self, f: impl Fn(E) -> Result<F> + Send + Sync + 'static) -> Dataset<F> {
        self.mapped(erased(f), Workers::Caller, None)
    }

    /// [`Dataset::map`] on `workers` threads; the elements keep their order.
    pub fn map_parallel<F: Elements>(
        &self,
        workers: usize,
        f: impl Fn(E) -> Result<F> + Send + Sync + 'static,
    ) -> Dataset<F> {
        self.mapped(erased(f), Workers::Ordered(workers), None)
    }

    /// [`Dataset::map`] on `workers` threads; the elements come as they are ready, in an order that may
    /// differ from run to run.
    pub fn map_unordered<F: Elements>(
        &self,
        workers: usize,
        f: impl Fn(E) -> Result<F> + Send + Sync + 'static,
    ) -> Dataset<F> {
        self.mapped(erased(f), Workers::Unordered(workers), None)
    }

    /// [`Dataset::map_parallel`] with random numbers for every element, which depend on the seed, the epoch
    /// and the element's position alone. The closure takes them last, as the functions of
    /// [`augment`](crate::augment) do.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_data::{Dataset, augment};
    /// let images = Dataset::from_tensors(situ_tensor::zeros(&[8, 28, 28, 1], situ_core::DType::F32)?)?;
    /// let varied = images.map_random(2, 7, |image, rng| {
    ///     augment::random_crop(&augment::random_flip(&image, 1, rng)?, &[24, 24], rng)
    /// });
    /// assert_eq!(varied.batch(8).iter().next().unwrap()?.shape().dims(), [8, 24, 24, 1]);
    /// # Ok(()) }
    /// ```
    pub fn map_random<F: Elements>(
        &self,
        workers: usize,
        seed: u64,
        f: impl Fn(E, &mut Rng) -> Result<F> + Send + Sync + 'static,
    ) -> Dataset<F> {
        let work: Work = Arc::new(move |place, row| {
            let epoch_seed = Rng::new(seed, place.epoch).next_u64();
            f(E::from_row(row)?, &mut Rng::new(epoch_seed, place.position)).map(Elements::into_row)
        });
        self.mapped(work, Workers::Ordered(workers), Some(seed))
    }

    /// The elements for which the closure says true.
    pub fn filter(&self, f: impl Fn(E) -> Result<bool> + Send + Sync + 'static) -> Dataset<E> {
        let test = Arc::new(move |row| f(E::from_row(row)?));
        dataset(Filter { from: self.stage.clone(), test: Some(test), closure_scope: ClosureScope::here() })
    }

    /// Without the elements that failed.
    pub fn ignore_errors(&self) -> Dataset<E> {
        dataset(Filter { from: self.stage.clone(), test: None, closure_scope: ClosureScope::here() })
    }

    /// `size` elements as one, along a new first axis; the last batch may be smaller. A batch with an element
    /// that failed is that error.
    pub fn batch(&self, size: usize) -> Dataset<E> {
        self.batched("batch", size, false)
    }

    /// [`Dataset::batch`] without a smaller last one.
    pub fn batch_exact(&self, size: usize) -> Dataset<E> {
        self.batched("batch_exact", size, true)
    }

    fn batched(&self, call: &'static str, size: usize, drop_remainder: bool) -> Dataset<E> {
        let stage =
            Batch { from: self.stage.clone(), size, drop_remainder, closure_scope: ClosureScope::here() };
        checked(stage, call, size, "a batch of 0 elements never comes to an end")
    }

    /// `times` over, each pass shuffled anew; `None`: without end.
    pub fn repeat(&self, times: impl Into<Option<usize>>) -> Dataset<E> {
        dataset(Repeat { from: self.stage.clone(), times: times.into() })
    }

    /// The first `count` elements.
    pub fn take(&self, count: usize) -> Dataset<E> {
        dataset(Take { from: self.stage.clone(), count })
    }

    /// All but the first `count` elements.
    pub fn skip(&self, count: usize) -> Dataset<E> {
        dataset(Skip { from: self.stage.clone(), count })
    }

    /// These elements, then those of another dataset.
    pub fn concatenate(&self, other: &Dataset<E>) -> Dataset<E> {
        dataset(Concatenate { parts: [self.stage.clone(), other.stage.clone()] })
    }

    /// Kept in memory by the first pass that comes to its end without an error. What is before it then runs
    /// no more.
    pub fn cache(&self) -> Dataset<E> {
        dataset(Cache::new(self.stage.clone()))
    }

    /// A dataset for every element; `cycle` of them are open at a time, and `block` elements of one come
    /// before the next one's.
    pub fn interleave<F: Elements>(
        &self,
        cycle: usize,
        block: usize,
        f: impl Fn(E) -> Result<Dataset<F>> + Send + Sync + 'static,
    ) -> Dataset<F> {
        let stage = Interleave {
            from: self.stage.clone(),
            make: Arc::new(move |row| Ok(f(E::from_row(row)?)?.stage)),
            cycle,
            block,
            closure_scope: ClosureScope::here(),
        };
        checked(stage, "interleave", cycle.min(block), "a cycle or a block of 0 takes nothing")
    }

    /// Up to `ahead` elements made ahead by a thread.
    pub fn prefetch(&self, ahead: usize) -> Dataset<E> {
        let stage =
            Prefetch { from: self.stage.clone(), ahead, device: None, closure_scope: ClosureScope::here() };
        checked(stage, "prefetch", ahead, "0 elements ahead is no prefetch")
    }

    /// Copied by a thread to the device of that name, which must exist: while the program uses one element,
    /// the next one is copied.
    pub fn prefetch_to_device(&self, device: &str) -> Dataset<E> {
        self.prefetch_ahead_to_device(device, 1)
    }

    /// [`Dataset::prefetch_to_device`] with more than one element on the device beyond the one in use.
    pub fn prefetch_ahead_to_device(&self, device: &str, ahead: usize) -> Dataset<E> {
        if let Err(error) = device.parse::<DeviceSpec>() {
            return dataset(Invalid(error.into()));
        }
        let stage = Prefetch {
            from: self.stage.clone(),
            ahead,
            device: Some(device.into()),
            closure_scope: ClosureScope::here(),
        };
        checked(stage, "prefetch_to_device", ahead, "0 elements ahead is no prefetch")
    }

    /// The threads of the stages before this one on these cores. The kernels of ops run on the cores of their
    /// device, as ever.
    pub fn on_cores(&self, cores: &[usize]) -> Dataset<E> {
        let stage = Placed { from: self.stage.clone(), home: Home::Cores(cores.into()) };
        checked(stage, "on_cores", cores.len(), "a list of no cores runs nothing")
    }

    /// The stages before this one on a CPU device: threads on its cores, batches in its memory, and the ops
    /// of closures that were written without a scope on it. With a device that owns cores, input work and
    /// compute do not disturb one another.
    pub fn on_device(&self, device: &str) -> Dataset<E> {
        let spec = match device.parse::<DeviceSpec>() {
            Ok(spec) if spec.kind == Some(DeviceType::Cpu) => spec,
            Ok(_) => {
                return dataset(Invalid(Error::argument(
                    "on_device",
                    format!("{device} is no CPU, and elements are put together in the host's memory"),
                    "name a CPU device; use prefetch_to_device to bring elements to another",
                )));
            }
            Err(error) => return dataset(Invalid(error.into())),
        };
        dataset(Placed { from: self.stage.clone(), home: Home::Device(spec, current_runtime()) })
    }

    /// Side by side with another dataset, as long as the shorter one; an element has the tensors of both, and
    /// `Z` is the type for them.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_data::Dataset;
    /// use situ_tensor::Tensor;
    /// let x = Dataset::from_tensors(situ_tensor::range(0, 4, 1)?)?;
    /// let y = x.skip(1);
    /// let pairs: Dataset<(Tensor, Tensor)> = x.zip(&y);
    /// for pair in &pairs {
    ///     let (x, y) = pair?;
    ///     assert_eq!(x.item::<i32>()? + 1, y.item::<i32>()?);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn zip<F: Elements, Z: Elements>(&self, other: &Dataset<F>) -> Dataset<Z> {
        dataset(Zip { parts: [self.stage.clone(), other.stage.clone()] })
    }
}

impl Dataset<Tensor> {
    /// The numbers from 0 to `count` − 1, as i64: indices to make elements of.
    pub fn range(count: usize) -> Result<Dataset<Tensor>> {
        let numbers = situ_tensor::written(TensorType::new(DType::I64, Shape::new(&[count])?), |bytes| {
            for (number, bytes) in bytes.chunks_exact_mut(size_of::<i64>()).enumerate() {
                bytes.copy_from_slice(&(number as i64).to_ne_bytes());
            }
            Ok(())
        })?;
        Dataset::from_tensors(numbers)
    }
}

/// The closure over tensors, whatever its types.
fn erased<E: Elements, F: Elements>(f: impl Fn(E) -> Result<F> + Send + Sync + 'static) -> Work {
    Arc::new(move |_, row| f(E::from_row(row)?).map(Elements::into_row))
}

impl<E: Elements> IntoIterator for &Dataset<E> {
    type Item = Result<E>;
    type IntoIter = Iter<E>;
    fn into_iter(self) -> Iter<E> {
        self.iter()
    }
}
