//! Describing and opening simulated GPUs.

use super::controls::Controls;
use super::device::Simulated;
use situ_core::{DType, DeviceKind, Error, Result};
use situ_device::{Capabilities, Description, Device, DeviceClass, Open, Physical};
use std::sync::Arc;
use std::time::Duration;

/// What a simulated GPU is like.
#[derive(Clone, Debug)]
pub(super) struct Nature {
    pub(super) missing_dtypes: Vec<DType>,
    pub(super) missing_ops: Vec<&'static str>,
    pub(super) needless_checks: Vec<&'static str>,
    pub(super) delay: Duration,
    pub(super) deferred: bool,
    pub(super) asks: bool,
    pub(super) staging: usize,
    pub(super) max_block: usize,
}

/// A GPU that is not there.
///
/// ```
/// use situ_testkit::{machines, simulated::SimulatedGpu};
/// let gpu = SimulatedGpu::new().memory(1 << 20);
/// let runtime = machines::runtime(vec![situ_cpu::physical(), gpu.physical()]);
/// assert_eq!(runtime.list_logical_devices(None).len(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct SimulatedGpu {
    description: Description,
    nature: Nature,
    controls: Arc<Controls>,
}

impl Default for SimulatedGpu {
    fn default() -> SimulatedGpu {
        SimulatedGpu::new()
    }
}

impl SimulatedGpu {
    /// A discrete GPU of 256 MiB with kernels for f32, i32 and bool, which queues its work.
    pub fn new() -> SimulatedGpu {
        SimulatedGpu {
            description: Description {
                kind: DeviceKind::Gpu,
                capabilities: Capabilities::QUEUE,
                class: DeviceClass::DiscreteGpu,
                hardware: "simulated".to_string(),
                driver: Some("none".to_string()),
                memory: Some(256 << 20),
                cores: Vec::new(),
                features: Vec::new(),
                dtypes: vec![DType::F32, DType::I32, DType::Bool],
            },
            nature: Nature {
                missing_dtypes: vec![DType::F64, DType::I64, DType::U8],
                missing_ops: Vec::new(),
                needless_checks: Vec::new(),
                delay: Duration::ZERO,
                deferred: true,
                asks: true,
                staging: 0,
                max_block: 128 << 20,
            },
            controls: Arc::default(),
        }
    }

    /// With that much memory.
    pub fn memory(mut self, bytes: usize) -> SimulatedGpu {
        self.description.memory = Some(bytes);
        self
    }

    /// Of another sort of hardware.
    pub fn class(mut self, class: DeviceClass) -> SimulatedGpu {
        self.description.class = class;
        self
    }

    /// With kernels for every dtype but these.
    pub fn without_dtypes(mut self, missing: &[DType]) -> SimulatedGpu {
        self.description.dtypes = DType::ALL.into_iter().filter(|d| !missing.contains(d)).collect();
        self.nature.missing_dtypes = missing.to_vec();
        self
    }

    /// Without kernels for ops of these names.
    pub fn without_ops(mut self, missing: &[&'static str]) -> SimulatedGpu {
        self.nature.missing_ops = missing.to_vec();
        self
    }

    /// Leaves a check at every launch of ops of these names, though their rules say that they need none.
    pub fn with_needless_checks(mut self, ops: &[&'static str]) -> SimulatedGpu {
        self.nature.needless_checks = ops.to_vec();
        self
    }

    /// Every launch takes at least so long.
    pub fn delay(mut self, delay: Duration) -> SimulatedGpu {
        self.nature.delay = delay;
        self
    }

    /// Runs work at the call instead of queueing it.
    pub fn immediate(mut self) -> SimulatedGpu {
        self.nature.deferred = false;
        self
    }

    /// Can't be asked for bytes ahead: whoever wants them waits at once.
    pub fn without_asking(mut self) -> SimulatedGpu {
        self.nature.asks = false;
        self
    }

    /// Its logical devices copy to one another without the host.
    pub fn with_peers(mut self) -> SimulatedGpu {
        self.description.capabilities.peers = true;
        self
    }

    /// Holds so many bytes of its budget for staging from the start.
    pub fn staging(mut self, bytes: usize) -> SimulatedGpu {
        self.nature.staging = bytes;
        self
    }

    /// Gives blocks of at most so many bytes.
    pub fn max_block(mut self, bytes: usize) -> SimulatedGpu {
        self.nature.max_block = bytes;
        self
    }

    /// What a test can do to it later.
    pub fn controls(&self) -> &Arc<Controls> {
        &self.controls
    }

    /// The device for a runtime.
    pub fn physical(&self) -> Arc<dyn Physical> {
        Arc::new(self.clone())
    }
}

impl Physical for SimulatedGpu {
    fn description(&self) -> &Description {
        &self.description
    }

    fn open(&self, how: &Open) -> Result<Arc<dyn Device>> {
        let claim = how.budget.reserve(self.nature.staging).map_err(|_| {
            Error::config(
                format!("open {}", how.id),
                "the limit holds not even its staging",
                "raise the limit",
            )
        })?;
        let inner = situ_cpu::physical().open(&Open { cores: None, threads: Some(1), ..how.clone() })?;
        self.controls.count_open();
        let (description, nature) = (self.description.clone(), self.nature.clone());
        Ok(Arc::new(Simulated::new(how.id, description, nature, self.controls.clone(), inner, claim)))
    }
}
