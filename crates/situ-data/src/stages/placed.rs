//! Where a pipeline works: its threads' cores, and the CPU device of what has no scope.

use crate::fingerprint::Fingerprint;
use crate::stream::{Context, Length, Once, Stage, Stream};
use situ_core::{DeviceSpec, Error, Result};
use situ_runtime::{LogicalDevice, Runtime};
use std::sync::Arc;

/// What a dataset was told about where to work.
#[derive(Clone)]
pub(crate) enum Home {
    /// On these cores.
    Cores(Arc<[usize]>),
    /// On the cores, and in the memory, of a CPU device.
    Device(DeviceSpec, Runtime),
}

pub(crate) struct Placed {
    pub(crate) from: Arc<dyn Stage>,
    pub(crate) home: Home,
}

impl Placed {
    /// The context in which the stages before this one work.
    fn inside(&self, context: &Context) -> Result<Context> {
        let mut inner = context.clone();
        match &self.home {
            Home::Cores(cores) => inner.cores = Some(cores.clone()),
            Home::Device(spec, runtime) => {
                // Stages run on threads of the host.
                let devices = runtime.list_logical_devices(None);
                let on_cores = |d: &&Arc<LogicalDevice>| d.capabilities().owns_cores;
                let wanted = devices.iter().filter(on_cores).find(|d| d.id().is_allowed_by(spec));
                let device = wanted.ok_or_else(|| {
                    Error::config(
                        format!("on_device({spec})"),
                        "there is no such CPU device",
                        "make it with set_logical_devices, or name one of those there are",
                    )
                })?;
                inner.host = device.id().spec();
                inner.cores = device.cores().map(Arc::from);
            }
        }
        Ok(inner)
    }
}

impl Stage for Placed {
    fn open(&self, context: &Context) -> Box<dyn Stream> {
        match self.inside(context) {
            Ok(inner) => self.from.open(&inner),
            Err(error) => Box::new(Once(Some(Err(error)))),
        }
    }

    fn length(&self) -> Length {
        self.from.length()
    }

    fn identify(&self, fingerprint: &mut Fingerprint) {
        self.from.identify(fingerprint);
    }
}

/// A stage that can't be: its error is its only element.
pub(crate) struct Invalid(pub(crate) Error);

impl Stage for Invalid {
    fn open(&self, _: &Context) -> Box<dyn Stream> {
        Box::new(Once(Some(Err(self.0.clone()))))
    }

    fn length(&self) -> Length {
        Length::Unknown
    }

    fn identify(&self, fingerprint: &mut Fingerprint) {
        fingerprint.text("invalid");
    }
}
