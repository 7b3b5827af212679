//! Listing and configuring devices.
//!
//! A change is made whenever no live tensor is on a device it concerns and no call is in flight; otherwise it
//! is refused with an error that names what is live. Policies and logging can change at any time.

use crate::config::{Config, LogicalConfig, PlacementRule, Table, Variants};
use crate::logical::LogicalDevice;
use crate::pool::MemoryInfo;
use crate::runtime::{Runtime, State};
use situ_core::{DeviceId, DeviceKind, DeviceSpec, Error, Policy, Result, reason};
use situ_device::{Capabilities, Description, Physical};
use std::sync::{Arc, TryLockError};

/// A device that the machine has, and how it is configured.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PhysicalDevice {
    /// Its name among the physical devices: `GPU:0`.
    pub id: DeviceId,
    /// What is known of it.
    pub description: Description,
    /// Whether programs see it.
    pub visible: bool,
    /// Whether its pools grow on demand, or take their whole limit at first use.
    pub memory_growth: bool,
    /// The logical devices made on it.
    pub logical: Vec<LogicalConfig>,
}

impl Runtime {
    /// The machine's devices, of one kind or of all.
    pub fn list_physical_devices(&self, kind: Option<DeviceKind>) -> Vec<PhysicalDevice> {
        let state = self.inner.state();
        let mut next = [0u16; DeviceKind::ALL.len()];
        let mut list = Vec::new();
        for (p, c) in self.inner.physical.iter().zip(&state.config.physical) {
            let description = p.description().clone();
            let index = next[description.kind as usize];
            next[description.kind as usize] += 1;
            if kind.is_none_or(|k| k == description.kind) {
                list.push(PhysicalDevice {
                    id: DeviceId { kind: description.kind, index },
                    description,
                    visible: c.visible,
                    memory_growth: c.growth,
                    logical: c.logical.clone(),
                });
            }
        }
        list
    }

    /// What may be asked of a logical device besides kernels; `None` where there is no such device.
    pub fn capabilities(&self, device: DeviceId) -> Option<Capabilities> {
        let state = self.inner.state();
        state.table.devices.iter().find(|d| d.id() == device).map(|d| d.capabilities())
    }

    /// The devices programs see, of one kind or of all.
    pub fn list_logical_devices(&self, kind: Option<DeviceKind>) -> Vec<Arc<LogicalDevice>> {
        let state = self.inner.state();
        state.table.devices.iter().filter(|d| kind.is_none_or(|k| k == d.id().kind)).cloned().collect()
    }

    /// Hides the devices of a kind that are not in the list. `CPU:0` can't be hidden: the host's data is
    /// there.
    pub fn set_visible_devices(&self, kind: DeviceKind, visible: &[DeviceId]) -> Result<()> {
        let asked = format!("set_visible_devices({kind}, {visible:?})");
        for id in visible {
            if id.kind != kind {
                return Err(Error::config(
                    asked,
                    format!("{id} is no {kind}"),
                    format!("list {kind} devices only"),
                ));
            }
            self.physical_position(*id)?;
        }
        let holds_host_data =
            |p: &Arc<dyn Physical>| p.description().kind == kind && p.description().capabilities.last_resort;
        if visible.is_empty() && self.inner.physical.iter().any(holds_host_data) {
            return Err(Error::config(asked, "the host's data needs a CPU device", "keep CPU:0 visible"));
        }
        let positions: Vec<usize> =
            visible.iter().map(|id| self.physical_position(*id)).collect::<Result<_>>()?;
        self.change(asked, |config, physical, at| {
            if physical.kind == kind {
                config.physical[at].visible = positions.contains(&at);
            }
        })
    }

    /// Whether a physical device's pools grow on demand (the default), or take their whole limit at first
    /// use.
    pub fn set_memory_growth(&self, physical: DeviceId, growth: bool) -> Result<()> {
        let position = self.physical_position(physical)?;
        self.change(format!("set_memory_growth({physical}, {growth})"), |config, _, at| {
            if at == position {
                config.physical[at].growth = growth;
            }
        })
    }

    /// Splits a physical device into logical ones, each with its memory limit or its cores.
    pub fn set_logical_devices(&self, physical: DeviceId, logical: &[LogicalConfig]) -> Result<()> {
        let position = self.physical_position(physical)?;
        Config::check_logical(&*self.inner.physical[position], &physical.to_string(), logical)?;
        self.change(format!("set_logical_devices({physical}, {} devices)", logical.len()), |config, _, at| {
            if at == position {
                config.physical[at].logical = logical.to_vec();
            }
        })
    }

    /// Threads used within one op on CPU devices; `None`: one per core.
    pub fn set_intra_op_threads(&self, threads: Option<usize>) -> Result<()> {
        check_threads("set_intra_op_threads", threads)?;
        self.change(format!("set_intra_op_threads({threads:?})"), |config, physical, _| {
            if physical.capabilities.owns_cores {
                config.intra_op_threads = threads;
            }
        })
    }

    /// Ops of a function that run at once on one CPU device; `None`: one.
    pub fn set_inter_op_threads(&self, threads: Option<usize>) -> Result<()> {
        check_threads("set_inter_op_threads", threads)?;
        self.write()?.config.inter_op_threads = threads;
        Ok(())
    }

    /// Threads within one op, and ops at once, as configured.
    pub fn threads(&self) -> (Option<usize>, Option<usize>) {
        let state = self.inner.state();
        (state.config.intra_op_threads, state.config.inter_op_threads)
    }

    /// What happens when a scope can't be met.
    pub fn set_fallback_policy(&self, policy: Policy) -> Result<()> {
        self.write()?.config.fallback = policy;
        Ok(())
    }

    /// What happens when an op needs an input from another device.
    pub fn set_copy_policy(&self, policy: Policy) -> Result<()> {
        self.write()?.config.copies = policy;
        Ok(())
    }

    /// How ops without a scope find their device.
    pub fn set_placement_rule(&self, rule: PlacementRule) -> Result<()> {
        self.write()?.config.rule = rule;
        Ok(())
    }

    /// Whether functions stay where they were first placed, whatever is measured: the same program runs the
    /// same way every time.
    pub fn set_deterministic(&self, on: bool) -> Result<()> {
        self.write()?.config.deterministic = on;
        Ok(())
    }

    /// How many variants of a function are kept, by number and by bytes.
    pub fn set_variants(&self, most: Variants) -> Result<()> {
        if most.count == 0 {
            return Err(Error::argument(
                "set_variants",
                "a function that keeps no variant would be compiled at every call",
                "keep at least 1",
            ));
        }
        self.write()?.config.variants = most;
        Ok(())
    }

    /// How many variants of a function are kept.
    pub fn variants(&self) -> Variants {
        self.inner.state().config.variants
    }

    /// Whether every placement is said.
    pub fn set_log_placement(&self, on: bool) -> Result<()> {
        self.write()?.config.log_placement = on;
        Ok(())
    }

    /// The memory figures of the one device that `name` names.
    pub fn memory_info(&self, name: &DeviceSpec) -> Result<MemoryInfo> {
        Ok(self.logical_device(name)?.memory_info())
    }

    /// The one logical device that `name` names; a kind alone names its device 0.
    pub fn logical_device(&self, name: &DeviceSpec) -> Result<Arc<LogicalDevice>> {
        let state = self.inner.state();
        let device = state.table.devices.iter().find(|d| d.id().is_allowed_by(name)).cloned();
        device.ok_or_else(|| Error::no_such_device(name.to_string(), state.table.ids()))
    }

    /// Waits for the queued work of every device, and returns its errors.
    pub fn sync(&self) -> Result<()> {
        self.list_logical_devices(None).iter().try_for_each(|d| d.sync())
    }

    /// Gives memory that holds nothing back to the system, on every device.
    pub fn trim(&self) -> Result<()> {
        self.list_logical_devices(None).iter().try_for_each(|d| d.trim())
    }

    fn physical_position(&self, id: DeviceId) -> Result<usize> {
        let of_kind = self.inner.physical.iter().enumerate().filter(|(_, p)| p.description().kind == id.kind);
        of_kind.map(|(position, _)| position).nth(usize::from(id.index)).ok_or_else(|| {
            let available = self.list_physical_devices(None).iter().map(|p| p.id).collect();
            Error::no_such_device(format!("{id} (physical)"), available)
        })
    }

    fn write(&self) -> Result<std::sync::RwLockWriteGuard<'_, State>> {
        let state = match self.inner.state.try_write() {
            Ok(state) => Ok(state),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(Error::config(
                "a configuration change",
                "a call is in flight on another thread",
                "change the configuration between calls",
            )),
        };
        // Even where the change is refused: compiling once too often is no harm.
        self.inner.epoch.fetch_add(1, std::sync::atomic::Ordering::AcqRel);
        state
    }

    /// Applies a change that makes devices anew: `edit` is called for every physical device with the
    /// configuration, its kind and its position. Refused where a live tensor is on a device that would go.
    fn change(&self, asked: String, mut edit: impl FnMut(&mut Config, &Description, usize)) -> Result<()> {
        let mut state = self.write()?;
        let mut config = state.config.clone();
        for (at, p) in self.inner.physical.iter().enumerate() {
            edit(&mut config, p.description(), at);
        }
        let runtime = Arc::downgrade(&self.inner);
        let fresh = Table::build(
            &self.inner.physical,
            &config,
            &self.inner.host,
            self.inner.host_memory,
            self.inner.calibrations.as_deref(),
            &runtime,
        );
        // Devices that the change does not touch keep their identity, their memory and their tensors.
        let mut kept = Vec::with_capacity(fresh.devices.len());
        for new in fresh.devices {
            let same = state.table.devices.iter().find(|old| old.is_same_as(&new));
            kept.push(same.cloned().unwrap_or(new));
        }
        for old in &state.table.devices {
            if kept.iter().any(|k| Arc::ptr_eq(k, old)) || !old.is_open() {
                continue;
            }
            let info = old.memory_info();
            if info.live > 0 {
                let owners = old.live();
                let list: Vec<String> = owners
                    .iter()
                    .take(5)
                    .map(|o| format!("{} of {} ({})", o.count, o.name, reason::bytes(o.bytes)))
                    .collect();
                return Err(Error::config(
                    asked,
                    format!("{} tensors are live on {}: {}", info.live, old.id(), list.join(", ")),
                    "drop them first, or move them with to_device",
                ));
            }
        }
        let is_new = |d: &&Arc<LogicalDevice>| !state.table.devices.iter().any(|old| Arc::ptr_eq(old, d));
        let new: Vec<Arc<LogicalDevice>> = kept.iter().filter(is_new).cloned().collect();
        *state = State { config, table: Table { devices: kept } };
        drop(state);
        self.inner.say_ignored(&new);
        Ok(())
    }
}

fn check_threads(call: &'static str, threads: Option<usize>) -> Result<()> {
    match threads {
        Some(0) => Err(Error::argument(call, "0 threads run nothing", "use None for one per core")),
        Some(n) if n > 1024 => Err(Error::argument(call, format!("{n} threads"), "use at most 1024")),
        _ => Ok(()),
    }
}
