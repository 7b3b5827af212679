//! The devices of a record: those that the runtime has, and those that it had while it was recorded.

use crate::record::Device;
use situ_core::DeviceId;
use situ_runtime::Runtime;

pub(super) struct Devices {
    ids: Vec<DeviceId>,
    list: Vec<Device>,
}

impl Devices {
    pub(super) fn new(runtime: &Runtime) -> Devices {
        let logical = runtime.list_logical_devices(None);
        let list = logical.iter().map(|device| {
            let (about, memory) = (device.description(), device.memory_info());
            let driver = about.driver.as_ref().map_or_else(String::new, |driver| format!(", {driver}"));
            Device {
                name: device.id().to_string(),
                kind: device.id().kind.name().to_lowercase(),
                class: about.class.name().to_string(),
                description: format!("{}{driver}", about.hardware),
                memory_limit: memory.limit.map(|limit| limit as u64),
                memory_peak: memory.peak as u64,
                calibrated: device.costs().calibrated,
                host_addressable: Some(device.capabilities().host_addressable),
                queued: Some(device.capabilities().queued),
            }
        });
        Devices { list: list.collect(), ids: logical.iter().map(|device| device.id()).collect() }
    }

    /// The position of a device. One that is no longer there is listed by its name alone.
    pub(super) fn position(&mut self, id: DeviceId) -> usize {
        match self.ids.iter().position(|known| *known == id) {
            Some(at) => at,
            None => {
                self.ids.push(id);
                let (name, kind) = (id.to_string(), id.kind.name().to_lowercase());
                self.list.push(Device { name, class: kind.clone(), kind, ..Device::default() });
                self.ids.len() - 1
            }
        }
    }

    /// Whether a device has a queue, and so a clock of its own.
    pub(super) fn is_queued(&mut self, id: DeviceId) -> bool {
        let at = self.position(id);
        self.list[at].is_queued()
    }

    pub(super) fn into_list(self) -> Vec<Device> {
        self.list
    }
}
