//! The machine of a cost graph: devices and the links between them, as the file has them.
//!
//! Plain data. Whether it makes sense is decided once, when a [`Problem`](crate::Problem) is built from it.

mod profile;
mod shipped;

pub use profile::{Figures, Profile};
use serde::{Deserialize, Serialize};
pub use shipped::{SHIPPED, shipped};

/// A device that runs nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Its name, such as `GPU:0`.
    pub name: String,
    /// Its kind, by which costs may be keyed; without one, the part of the name before the colon, in small
    /// letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// How many nodes it runs at once.
    #[serde(default = "one")]
    pub slots: u32,
    /// Its memory in bytes; none: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<f64>,
    /// Devices with the same label never run at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute: Option<String>,
}

fn one() -> u32 {
    1
}

impl Device {
    /// A device with one slot, unlimited memory, and the kind that its name says.
    pub fn new(name: impl Into<String>) -> Device {
        Device { name: name.into(), kind: None, slots: 1, memory: None, compute: None }
    }

    /// With this many slots.
    pub fn slots(self, slots: u32) -> Device {
        Device { slots, ..self }
    }

    /// With this much memory, in bytes.
    pub fn memory(self, bytes: f64) -> Device {
        Device { memory: Some(bytes), ..self }
    }

    /// Never running at the same time as other devices with this label.
    pub fn compute(self, label: impl Into<String>) -> Device {
        Device { compute: Some(label.into()), ..self }
    }

    /// Its kind, stated or taken from its name.
    pub fn kind(&self) -> String {
        match &self.kind {
            Some(kind) => kind.clone(),
            None => self.name.split(':').next().unwrap_or_default().to_lowercase(),
        }
    }
}

/// A one-way link between two devices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// The device that a copy leaves.
    pub from: String,
    /// The device that a copy reaches.
    pub to: String,
    /// Seconds per copy, whatever its size.
    #[serde(default)]
    pub latency: f64,
    /// Bytes per second.
    pub bandwidth: f64,
    /// Links with the same label carry one copy at a time between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<String>,
}

/// Devices and links.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The devices that run nodes.
    pub devices: Vec<Device>,
    /// The one-way links between them.
    #[serde(default)]
    pub links: Vec<Link>,
}
