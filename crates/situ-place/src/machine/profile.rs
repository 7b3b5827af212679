//! Machine profiles: a machine as a TOML file, for planning on hardware one does not have.
//!
//! A profile says where its figures come from. Figures from a data sheet are peaks: real programs stay below
//! them.

use super::Machine;
use crate::error::GraphError;
use serde::Deserialize;
use std::collections::BTreeMap;

/// What a data sheet, or a measurement, says of one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// Floating-point operations per second in 32 bits.
    pub flops: f64,
    /// Bytes per second to and from its memory.
    pub bandwidth: f64,
    /// Seconds to start one kernel.
    #[serde(default)]
    pub launch: f64,
}

/// A machine and where its figures come from.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// What it is.
    pub name: String,
    /// Where the figures come from.
    pub source: String,
    /// Whether somebody measured them, rather than read them.
    #[serde(default)]
    pub measured: bool,
    /// Devices and links.
    pub machine: Machine,
    /// By device name, what it can do; for cost models.
    #[serde(default)]
    pub figures: BTreeMap<String, Figures>,
}

impl Profile {
    /// Reads a profile.
    pub fn from_toml(text: &str) -> Result<Profile, GraphError> {
        let profile: Profile = toml::from_str(text).map_err(|error| {
            let before = &text[..error.span().map_or(0, |span| span.start.min(text.len()))];
            let line = before.matches('\n').count() + 1;
            GraphError::at(format!("line {line}"), error.message())
        })?;
        for (name, figures) in &profile.figures {
            if !profile.machine.devices.iter().any(|d| &d.name == name) {
                return Err(GraphError::at(format!("figures[{name:?}]"), "there is no such device"));
            }
            let all =
                [("flops", figures.flops), ("bandwidth", figures.bandwidth), ("launch", figures.launch)];
            if let Some((field, value)) = all.iter().find(|(_, v)| !v.is_finite() || *v < 0.0) {
                let place = format!("figures[{name:?}].{field}");
                return Err(GraphError::at(place, format!("{value} is negative or not finite")));
            }
        }
        Ok(profile)
    }
}
