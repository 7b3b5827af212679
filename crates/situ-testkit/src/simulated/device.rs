//! The simulated device behind the seam.

use super::controls::{Controls, Fault};
use super::memory::{Held, HeldArg, Home, hide, home_of};
use super::physical::Nature;
use super::queue::{Launch, Queue, Work};
use situ_core::{DeviceId, Error, Layout, Reservation, Result, TensorType};
use situ_device::{Block, Call, Check, Description, Device, KernelId, Lack, PendingDownload, Region, Sizes};
use situ_ir::Op;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

/// A logical device on a simulated GPU.
#[derive(Debug)]
pub(super) struct Simulated {
    id: DeviceId,
    description: Description,
    nature: Nature,
    controls: Arc<Controls>,
    inner: Arc<dyn Device>,
    queue: Arc<Mutex<Queue>>,
    staging: Reservation,
}

impl Simulated {
    pub(super) fn new(
        id: DeviceId,
        description: Description,
        nature: Nature,
        controls: Arc<Controls>,
        inner: Arc<dyn Device>,
        staging: Reservation,
    ) -> Simulated {
        Simulated { id, description, nature, controls, inner, queue: Arc::default(), staging }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn alive(&self) -> Result<()> {
        match self.controls.lost() {
            Some(why) => Err(Error::DeviceLost { device: self.id, why }),
            None => Ok(()),
        }
    }

    fn submit(&self, work: Work) -> Result<()> {
        let mut queue = self.queue();
        queue.push(work);
        if self.nature.deferred { Ok(()) } else { queue.run(&*self.inner, self.nature.delay) }
    }

    fn wait(&self) -> Result<()> {
        self.alive()?;
        self.queue().run(&*self.inner, self.nature.delay)
    }

    fn foreign(&self, op: &'static str) -> Error {
        Error::Kernel { op, device: self.id, why: "was given memory of another device".to_string() }
    }
}

/// Bytes that the queue will leave when it gets there.
#[derive(Debug)]
struct SimulatedDownload {
    left: Arc<OnceLock<Vec<u8>>>,
    queue: Arc<Mutex<Queue>>,
    inner: Arc<dyn Device>,
    delay: Duration,
    id: DeviceId,
    controls: Arc<Controls>,
}

impl PendingDownload for SimulatedDownload {
    fn finish(self: Box<Self>, into: &mut [u8]) -> Result<()> {
        if self.left.get().is_none() {
            let mut queue = self.queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            queue.run(&*self.inner, self.delay)?;
        }
        match (self.left.get(), self.controls.lost()) {
            (Some(bytes), _) => into.copy_from_slice(bytes),
            (None, why) => {
                let why = why.unwrap_or_else(|| "the bytes never came".to_string());
                return Err(Error::DeviceLost { device: self.id, why });
            }
        }
        Ok(())
    }
}

impl Device for Simulated {
    fn description(&self) -> &Description {
        &self.description
    }

    fn kernel(
        &self,
        op: &Op,
        inputs: &[TensorType],
        outputs: &[TensorType],
    ) -> std::result::Result<KernelId, Lack> {
        let missing = |t: &TensorType| self.nature.missing_dtypes.contains(&t.dtype);
        if self.nature.missing_ops.contains(&op.name()) || inputs.iter().chain(outputs).any(missing) {
            return Err(Lack::Kernel);
        }
        let kernel = self.inner.kernel(op, inputs, outputs)?;
        let sizes = Sizes { bytes: self.max_block(), elements: i32::MAX as usize };
        sizes.hold(inputs, outputs, self.inner.workspace(kernel, op, inputs, outputs))?;
        Ok(kernel)
    }

    fn accepts(&self, kernel: KernelId, op: &Op, input: usize, layout: &Layout) -> bool {
        self.inner.accepts(kernel, op, input, layout)
    }

    fn in_place(&self, kernel: KernelId, op: &Op, input: usize) -> bool {
        self.inner.in_place(kernel, op, input)
    }

    fn workspace(&self, kernel: KernelId, op: &Op, inputs: &[TensorType], outputs: &[TensorType]) -> usize {
        self.inner.workspace(kernel, op, inputs, outputs)
    }

    fn allocate(&self, bytes: usize) -> std::result::Result<Block, String> {
        if !self.controls.grant_block() {
            return Err("the simulated driver refused".to_string());
        }
        let (queue, inner, delay) = (self.queue.clone(), self.inner.clone(), self.nature.delay);
        self.inner.allocate(bytes).map(|block| hide(block, Home { queue, inner, delay }))
    }

    fn max_block(&self) -> usize {
        self.nature.max_block / self.alignment() * self.alignment()
    }

    fn alignment(&self) -> usize {
        256
    }

    fn launch(&self, call: &Call<'_>) -> Result<Option<Arc<Check>>> {
        match self.controls.next_fault() {
            Some(Fault::Lost) => self.controls.lose("the simulated driver stopped answering"),
            Some(Fault::Panic) => panic!("the simulated kernel panics"),
            None => (),
        }
        self.alive()?;
        self.controls.count_launch();
        let held = |args: &[situ_device::Arg<'_>]| -> Result<Vec<HeldArg>> {
            args.iter().map(|a| HeldArg::of(a).ok_or_else(|| self.foreign(call.op.name()))).collect()
        };
        let types: Vec<TensorType> = call.inputs.iter().map(situ_device::Arg::tensor_type).collect();
        let needless = self.nature.needless_checks.contains(&call.op.name());
        let check = (needless || call.op.may_find_bad_data(&types))
            .then(|| Check::open(call.op.name(), call.location()));
        let launch = Launch {
            kernel: call.kernel,
            op: call.op.clone(),
            inputs: held(call.inputs)?,
            outputs: held(call.outputs)?,
            workspace: call.workspace.and_then(Held::of),
            location: call.location(),
            timing: call.timing.cloned(),
            check: check.clone(),
        };
        self.submit(Work::Launch(Box::new(launch)))?;
        Ok(check)
    }

    fn upload(&self, to: Region<'_>, bytes: &[u8]) -> Result<()> {
        self.alive()?;
        let to = Held::of(to).ok_or_else(|| self.foreign("upload"))?;
        self.submit(Work::Upload(to, bytes.to_vec()))
    }

    fn download(&self, from: Region<'_>, into: &mut [u8]) -> Result<()> {
        self.wait()?;
        let from = Held::of(from).ok_or_else(|| self.foreign("download"))?;
        self.inner.download(from.region(), into)
    }

    fn begin_download(&self, from: Region<'_>, bytes: usize) -> Result<Option<Box<dyn PendingDownload>>> {
        self.alive()?;
        if !self.nature.asks {
            return Ok(None);
        }
        let from = Held::of(from).ok_or_else(|| self.foreign("download"))?;
        let left = Arc::new(OnceLock::new());
        self.submit(Work::Read(from, bytes, left.clone()))?;
        let (queue, inner, delay) = (self.queue.clone(), self.inner.clone(), self.nature.delay);
        Ok(Some(Box::new(SimulatedDownload {
            left,
            queue,
            inner,
            delay,
            id: self.id,
            controls: self.controls.clone(),
        })))
    }

    fn copy_from_peer(&self, to: Region<'_>, from: Region<'_>, bytes: usize) -> Result<bool> {
        self.alive()?;
        let Some((home, held)) = home_of(from).zip(Held::of(from)) else { return Ok(false) };
        // What makes the bytes has run when they are taken; a real queue would only come behind it.
        home.drain()?;
        let mut taken = vec![0; bytes];
        home.inner.download(held.region(), &mut taken)?;
        let to = Held::of(to).ok_or_else(|| self.foreign("copy"))?;
        self.controls.count_peer_copy();
        self.submit(Work::Upload(to, taken))?;
        Ok(true)
    }

    fn sync(&self) -> Result<()> {
        self.wait()
    }

    fn staging(&self) -> usize {
        self.staging.bytes()
    }

    fn backlog(&self) -> f64 {
        self.queue().len() as f64 * self.nature.delay.as_secs_f64()
    }

    fn lost(&self) -> Option<String> {
        self.controls.lost()
    }
}
