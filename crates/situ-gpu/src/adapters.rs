//! Finding the GPUs of this machine.
//!
//! Promises: the order is stable (discrete, integrated, virtual, software; then by bus address), one GPU seen
//! through two graphics APIs is listed once, and a machine without a GPU or without a Vulkan loader gives an
//! empty list: no panic, nothing on stderr. Leaves opening a device to `context`.

use situ_core::Process;
use std::fmt;

/// What kind of hardware an adapter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum AdapterKind {
    /// A card with memory of its own.
    Discrete,
    /// Shares the memory of the CPU.
    Integrated,
    /// A GPU seen through a virtual machine, or one that does not say what it is.
    Virtual,
    /// A driver that runs on the CPU (lavapipe, WARP): right results, not speed.
    Software,
}

impl fmt::Display for AdapterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AdapterKind::Discrete => "discrete",
            AdapterKind::Integrated => "integrated",
            AdapterKind::Virtual => "virtual",
            AdapterKind::Software => "software",
        })
    }
}

/// A GPU that this machine has.
#[derive(Clone, Debug)]
pub(crate) struct Adapter {
    /// The hardware's name, as its driver gives it.
    pub(crate) name: String,
    /// The driver's name and version, and the graphics API it is driven through.
    pub(crate) driver: String,
    /// What kind of hardware it is.
    pub(crate) kind: AdapterKind,
    /// Bytes of the largest heap that belongs to the device; `None` where the API does not say.
    pub(crate) memory: Option<u64>,
    /// The most bytes that one kernel argument may have.
    pub(crate) max_binding_bytes: u64,
    /// What it has that not every adapter has, and may be asked for.
    pub(crate) features: wgpu::Features,
    /// Where it was found: drivers start threads when they are asked for their devices.
    pub(crate) home: Process,
    pub(crate) handle: wgpu::Adapter,
}

/// Every GPU that can run our kernels, in a stable order.
pub(crate) fn find_adapters() -> Vec<Adapter> {
    let mut handles = vulkan_adapters();
    let backends =
        wgpu::Instance::enabled_backend_features() & (wgpu::Backends::METAL | wgpu::Backends::DX12);
    if !backends.is_empty() {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.backends = backends;
        descriptor.flags = QUIET;
        let instance = wgpu::Instance::new(descriptor);
        handles.extend(pollster::block_on(instance.enumerate_adapters(backends)));
    }
    order(handles.into_iter().filter(can_run_kernels).collect())
}

/// Validation layers print to stderr when they are missing, and cost time when they are not.
const QUIET: wgpu::InstanceFlags = wgpu::InstanceFlags::empty();

/// The Vulkan adapters. The instance is made without Wayland surfaces: with them, Mesa's device-selection
/// layer looks for a Wayland session and complains on stderr where there is none.
#[cfg(not(target_vendor = "apple"))]
fn vulkan_adapters() -> Vec<wgpu::Adapter> {
    use wgpu::hal::{InstanceDescriptor, api::Vulkan, vulkan::Instance};
    let descriptor = InstanceDescriptor {
        name: "situ",
        flags: QUIET,
        memory_budget_thresholds: Default::default(),
        backend_options: Default::default(),
        telemetry: None,
        display: None,
    };
    // SAFETY: the one extension taken away is needed for Wayland surfaces alone, which wgpu looks up in this
    // very list before it makes one, and which this crate never makes.
    let instance = unsafe {
        Instance::init_with_callback(
            &descriptor,
            Some(Box::new(|args| args.extensions.retain(|name| *name != c"VK_KHR_wayland_surface"))),
        )
    };
    // No loader, no driver: no GPU, and nothing to say about it here.
    let Ok(instance) = instance else { return Vec::new() };
    // SAFETY: the instance was made just now, and is handed over whole.
    let instance = unsafe { wgpu::Instance::from_hal::<Vulkan>(instance) };
    pollster::block_on(instance.enumerate_adapters(wgpu::Backends::VULKAN))
}

#[cfg(target_vendor = "apple")]
fn vulkan_adapters() -> Vec<wgpu::Adapter> {
    Vec::new()
}

/// Compute shaders with enough storage bindings for the widest kernel.
fn can_run_kernels(adapter: &wgpu::Adapter) -> bool {
    let compute = adapter.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS);
    let limits = adapter.limits();
    compute
        && limits.max_storage_buffers_per_shader_stage >= crate::pipelines::MAX_BINDINGS as u32
        && limits.max_compute_invocations_per_workgroup >= 256
        && limits.max_compute_workgroup_storage_size >= 16384
}

fn order(handles: Vec<wgpu::Adapter>) -> Vec<Adapter> {
    let infos: Vec<wgpu::AdapterInfo> = handles.iter().map(|h| h.get_info()).collect();
    // Vulkan's come first: it also tells the memory size.
    let kept = distinct(infos.iter().map(Seen::of));
    let mut found: Vec<(AdapterKind, String, wgpu::AdapterInfo, wgpu::Adapter)> = handles
        .into_iter()
        .zip(infos)
        .zip(kept)
        .filter(|(_, kept)| *kept)
        .map(|((handle, info), _)| (kind_of(&info), info.device_pci_bus_id.clone(), info, handle))
        .collect();
    // A stable sort: adapters without a bus address keep the driver's order.
    found.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    found.into_iter().map(|(kind, _, info, handle)| describe(kind, &info, handle)).collect()
}

/// A card as a graphics API, or one of its drivers, shows it.
#[derive(Clone, Copy, Debug)]
struct Seen<'a> {
    backend: wgpu::Backend,
    vendor: u32,
    device: u32,
    /// Its bus address; empty where nobody tells.
    bus: &'a str,
}

impl Seen<'_> {
    fn of(info: &wgpu::AdapterInfo) -> Seen<'_> {
        let wgpu::AdapterInfo { backend, vendor, device, device_pci_bus_id: bus, .. } = info;
        Seen { backend: *backend, vendor: *vendor, device: *device, bus }
    }
}

/// Of each, whether it is a card that was not there before. One card is seen through several APIs (Vulkan and
/// DX12 on Windows), and through several drivers of one API (two Vulkan drivers for AMD's cards). Equal cards
/// have different bus addresses; where an API tells none, its first is the first of the others, its second
/// the second.
fn distinct<'a>(seen: impl Iterator<Item = Seen<'a>>) -> Vec<bool> {
    // Each card, with the APIs that have shown it.
    let mut cards: Vec<(Seen<'a>, Vec<wgpu::Backend>)> = Vec::new();
    let mut is_new = |new: Seen<'a>| {
        let known = cards.iter_mut().find(|(card, shown)| {
            (card.vendor, card.device) == (new.vendor, new.device)
                && match (card.bus, new.bus) {
                    ("", _) | (_, "") => !shown.contains(&new.backend),
                    (a, b) => a.eq_ignore_ascii_case(b),
                }
        });
        match known {
            Some((_, shown)) => {
                shown.push(new.backend);
                false
            }
            None => {
                cards.push((new, vec![new.backend]));
                true
            }
        }
    };
    seen.map(&mut is_new).collect()
}

fn kind_of(info: &wgpu::AdapterInfo) -> AdapterKind {
    match info.device_type {
        wgpu::DeviceType::DiscreteGpu => AdapterKind::Discrete,
        wgpu::DeviceType::IntegratedGpu => AdapterKind::Integrated,
        wgpu::DeviceType::VirtualGpu | wgpu::DeviceType::Other => AdapterKind::Virtual,
        wgpu::DeviceType::Cpu => AdapterKind::Software,
    }
}

fn describe(kind: AdapterKind, info: &wgpu::AdapterInfo, handle: wgpu::Adapter) -> Adapter {
    let limits = handle.limits();
    let driver = [info.driver.as_str(), info.driver_info.as_str()]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    Adapter {
        name: info.name.clone(),
        driver: format!("{} ({})", if driver.is_empty() { "unknown driver" } else { &driver }, info.backend),
        kind,
        memory: heap_bytes(&handle),
        max_binding_bytes: limits.max_storage_buffer_binding_size.min(limits.max_buffer_size),
        features: handle.features(),
        home: Process::current(),
        handle,
    }
}

/// The largest device-local heap, from Vulkan; the portable API has no such number.
#[cfg(not(target_vendor = "apple"))]
fn heap_bytes(adapter: &wgpu::Adapter) -> Option<u64> {
    const DEVICE_LOCAL: u32 = 1; // VK_MEMORY_HEAP_DEVICE_LOCAL_BIT
    // SAFETY: the handle is only used to ask for properties while the guard lives, and nothing is destroyed.
    let hal = unsafe { adapter.as_hal::<wgpu::hal::api::Vulkan>() }?;
    let instance = hal.shared_instance().raw_instance();
    // SAFETY: the physical device belongs to this instance, which the guard keeps alive.
    let memory = unsafe { instance.get_physical_device_memory_properties(hal.raw_physical_device()) };
    memory.memory_heaps[..memory.memory_heap_count as usize]
        .iter()
        .filter(|heap| heap.flags.as_raw() & DEVICE_LOCAL != 0)
        .map(|heap| heap.size)
        .max()
}

#[cfg(target_vendor = "apple")]
fn heap_bytes(_: &wgpu::Adapter) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of these adapters are cards of their own.
    fn cards(seen: &[(wgpu::Backend, u32, &str)]) -> Vec<usize> {
        let seen = seen.iter().map(|&(backend, device, bus)| Seen { backend, vendor: 0x10de, device, bus });
        distinct(seen).into_iter().enumerate().filter(|(_, kept)| *kept).map(|(n, _)| n).collect()
    }

    #[test]
    fn a_card_that_two_apis_or_two_drivers_show_is_one_and_equal_cards_are_two() {
        use wgpu::Backend::{Dx12, Vulkan};
        let (a, b) = ("0000:01:00.0", "0000:02:00.0");
        // By bus address, through APIs and through drivers of one API.
        assert_eq!(cards(&[(Vulkan, 7, a), (Dx12, 7, a)]), [0]);
        assert_eq!(cards(&[(Vulkan, 7, "0000:0A:00.0"), (Vulkan, 7, "0000:0a:00.0")]), [0]);
        assert_eq!(cards(&[(Vulkan, 7, a), (Vulkan, 7, b), (Dx12, 7, b), (Dx12, 7, a)]), [0, 1]);
        // Where one of them tells no address, and where none does.
        assert_eq!(cards(&[(Vulkan, 7, a), (Vulkan, 7, b), (Dx12, 7, ""), (Dx12, 7, "")]), [0, 1]);
        assert_eq!(cards(&[(Vulkan, 7, ""), (Vulkan, 7, ""), (Dx12, 7, ""), (Dx12, 7, "")]), [0, 1]);
        // A card that Vulkan does not show stays, and so does another model.
        assert_eq!(cards(&[(Vulkan, 7, a), (Dx12, 7, a), (Dx12, 7, b)]), [0, 2]);
        assert_eq!(cards(&[(Vulkan, 7, ""), (Dx12, 7, ""), (Dx12, 7, "")]), [0, 2]);
        assert_eq!(cards(&[(Vulkan, 7, a), (Dx12, 8, "")]), [0, 1]);
        assert_eq!(cards(&[]), []);
    }

    #[test]
    fn adapters_come_in_the_same_order_every_time_with_software_last() {
        let first = find_adapters();
        if first.is_empty() {
            println!("skipped: no GPU adapter");
            return;
        }
        let names = |list: &[Adapter]| list.iter().map(|a| a.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&first), names(&find_adapters()));
        assert!(first.is_sorted_by_key(|a| a.kind));
        for adapter in &first {
            assert!(!adapter.name.is_empty() && !adapter.driver.is_empty());
            assert!(adapter.max_binding_bytes >= 128 << 20);
            println!("{adapter:?}");
        }
    }
}
