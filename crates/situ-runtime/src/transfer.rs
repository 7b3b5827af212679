//! Copies between devices and to the program. Every one is booked in the ledger.

use crate::config::Table;
use crate::journal::Journal;
use crate::ledger::{Cause, Route};
use crate::logical::LogicalDevice;
use crate::storage::{Checks, DeviceTensor};
use situ_core::error::Data;
use situ_core::{Caller, DType, Error, Layout, Reason, Result, Shape};
use situ_device::{Arg, Call, Check, Lack, Region};
use situ_ir::Op;
use situ_ir::ops::Dense;
use std::sync::Arc;
use std::time::Instant;

/// The bytes of a host-addressable region.
///
/// # Safety
/// Nothing may write to the region while the slice is in use.
pub(crate) unsafe fn host_bytes<'a>(region: &Region<'a>, bytes: usize) -> Option<&'a [u8]> {
    debug_assert!(bytes <= region.bytes);
    // SAFETY: a region lies within its block, which outlives 'a; the caller vouches that nothing writes to
    // it.
    region.host().map(|p| unsafe { std::slice::from_raw_parts(p.as_ptr(), bytes) })
}

/// The tensor itself if it is dense (from an offset that copies can start at), else a dense copy on its
/// device.
pub(crate) fn dense(tensor: &DeviceTensor, caller: Caller) -> Result<DeviceTensor> {
    let start = tensor.layout.offset() * tensor.dtype.size();
    if tensor.layout.is_dense() && start.is_multiple_of(4) {
        return Ok(tensor.clone());
    }
    dense_copy(tensor, caller)
}

/// The tensor itself if it is its memory from the start, in order; else a dense copy on its device.
pub(crate) fn whole(tensor: &DeviceTensor, caller: Caller) -> Result<DeviceTensor> {
    if tensor.layout.is_dense() && tensor.layout.offset() == 0 {
        return Ok(tensor.clone());
    }
    dense_copy(tensor, caller)
}

/// [`whole_for_all`], or on the host where the tensor's device can't hold it in one piece: a view may be far
/// larger than its memory.
pub(crate) fn whole_or_hosted(
    table: &Table,
    journal: &Journal,
    tensor: &DeviceTensor,
    caller: Caller,
) -> Result<DeviceTensor> {
    match whole_for_all(tensor, caller) {
        Err(Error::Kernel { .. }) if !tensor.logical_device().is_host() => {
            let host = table.devices.iter().find(|d| d.is_host());
            let host = host.ok_or_else(|| unaddressable(tensor.device()))?;
            let purpose = CopyPurpose { cause: Cause::Implicit, op: "dense", reason: tensor.reason, caller };
            whole(&copy(table, journal, tensor, host, purpose)?, caller)
        }
        done => done,
    }
}

/// [`whole`], for functions to hold: where one of them holds a dense copy already, it is that one.
pub(crate) fn whole_for_all(tensor: &DeviceTensor, caller: Caller) -> Result<DeviceTensor> {
    if tensor.is_whole() {
        return Ok(tensor.clone());
    }
    if let Some(lent) = tensor.lent_on(tensor.device()) {
        return Ok(lent);
    }
    let copy = dense_copy(tensor, caller)?;
    tensor.lend(&copy);
    Ok(copy)
}

/// Whether a view of `own` bytes is too small a part of a memory of `all` bytes to keep it: a copy costs less
/// than what it frees.
pub(crate) fn wastes(own: usize, all: usize) -> bool {
    all > WORTH_A_COPY && own < all / LEAST_PART
}

/// Memory below this is not worth a copy.
const WORTH_A_COPY: usize = 64 << 10;
/// A view of less than this part of a memory is copied before it is kept for long.
const LEAST_PART: usize = 4;

/// [`whole`], for what is kept for long: a view of a small part of its memory is copied, so that the rest can
/// go. Where it can't be copied for want of memory or of a kernel, it is kept as it is, if it can be.
pub(crate) fn compact(tensor: &DeviceTensor, caller: Caller) -> Result<DeviceTensor> {
    if !tensor.is_whole() {
        return dense_copy(tensor, caller);
    }
    if !wastes(tensor.tensor_type().bytes(), tensor.storage.region().bytes) {
        return Ok(tensor.clone());
    }
    match dense_copy(tensor, caller) {
        Err(Error::OutOfMemory(_) | Error::Kernel { .. }) => Ok(tensor.clone()),
        copied => copied,
    }
}

/// A dense copy of a view, on its device.
pub(crate) fn dense_copy(tensor: &DeviceTensor, caller: Caller) -> Result<DeviceTensor> {
    let logical = tensor.logical_device();
    let device = logical.device()?;
    let op = Op::from(Dense);
    let ty = [tensor.tensor_type()];
    let kernel = device.kernel(&op, &ty, &ty).map_err(|lack| Error::Kernel {
        op: "dense",
        device: logical.id(),
        why: match lack {
            Lack::Kernel => format!("a view of {} can't be made dense here", tensor.dtype),
            Lack::TooLarge(excess) => format!("a view can't be made dense here: {excess}"),
        },
    })?;
    let mut out = logical.tensor(ty[0], "dense", tensor.reason)?;
    let outputs = [out.arg()];
    let inputs = [tensor.arg()];
    let call = Call {
        kernel,
        op: &op,
        inputs: &inputs,
        outputs: &outputs,
        workspace: None,
        caller: Some(caller),
        timing: None,
    };
    device.launch(&call)?;
    out.checks = tensor.checks.clone();
    Ok(out)
}

/// The region of a dense tensor's elements, without what lies before them.
fn elements(tensor: &DeviceTensor) -> Region<'_> {
    let Arg { region, dtype, layout } = tensor.arg();
    let start = layout.offset() * dtype.size();
    Region { block: region.block, offset: region.offset + start, bytes: region.bytes - start }
}

/// Reads a tensor's elements, row-major, into `into`, which has exactly their bytes.
pub(crate) fn read(journal: &Journal, tensor: &DeviceTensor, into: &mut [u8], caller: Caller) -> Result<()> {
    let start = Instant::now();
    let source = match dense(tensor, caller) {
        // No memory or no kernel to make a view dense: what it looks at can still be read, and picked from
        // here.
        Err(Error::OutOfMemory(_) | Error::Kernel { .. }) => {
            read_picking(tensor, into)?;
            tensor.clone()
        }
        dense => {
            let source = dense?;
            let device = source.logical_device().device()?;
            if into.is_empty() {
                device.sync()?;
            } else {
                device.download(elements(&source), into)?;
            }
            source
        }
    };
    let logical = source.logical_device();
    if !logical.is_host() {
        let to = situ_core::DeviceId::CPU0;
        journal.copied(
            Cause::Read,
            (logical.id(), to, Route::Link),
            "read",
            caller.location(),
            into.len(),
            start.elapsed().as_secs_f64(),
        );
    }
    source.settle()
}

/// Reads all memory that a view looks at, and picks the view's elements from it.
fn read_picking(tensor: &DeviceTensor, into: &mut [u8]) -> Result<()> {
    let region = tensor.storage.region();
    let mut whole = crate::host::zeroed("read", region.bytes)?;
    tensor.logical_device().device()?.download(region, &mut whole)?;
    let size = tensor.dtype.size();
    for (offset, to) in tensor.layout.offsets().zip(into.chunks_exact_mut(size)) {
        to.copy_from_slice(&whole[offset * size..][..size]);
    }
    Ok(())
}

/// What a copy is for.
#[derive(Clone, Copy)]
pub(crate) struct CopyPurpose {
    pub(crate) cause: Cause,
    pub(crate) op: &'static str,
    pub(crate) reason: Reason,
    pub(crate) caller: Caller,
}

/// A copy of the tensor on `to`, or the tensor itself if it is there.
pub(crate) fn copy(
    table: &Table,
    journal: &Journal,
    tensor: &DeviceTensor,
    to: &Arc<LogicalDevice>,
    purpose: CopyPurpose,
) -> Result<DeviceTensor> {
    let from = tensor.device();
    if from == to.id() {
        return Ok(tensor.clone());
    }
    if let Some(kept) = tensor.replica_on(to.id()) {
        return Ok(kept);
    }
    let start = Instant::now();
    let source = match dense(tensor, purpose.caller) {
        // No memory or no kernel to make a view dense where it is: all that it looks at goes, and it is a
        // view there too.
        Err(Error::OutOfMemory(_) | Error::Kernel { .. }) => {
            let flat = Shape::new(&[tensor.storage.region().bytes])?;
            let whole = DeviceTensor { layout: Layout::dense(flat), dtype: DType::U8, ..tensor.clone() };
            let moved = copy(table, journal, &whole, to, purpose)?;
            return Ok(DeviceTensor { layout: tensor.layout, dtype: tensor.dtype, ..moved });
        }
        dense => dense?,
    };
    let bytes = source.tensor_type().bytes();
    let mut out = to.tensor(source.tensor_type(), purpose.op, purpose.reason)?;
    let source_is_host = source.logical_device().is_host();
    let mut route = Route::Link;
    if !source_is_host && !to.is_host() {
        route = between(table, &source, &out, purpose)?;
    } else if bytes > 0 {
        if source_is_host {
            // SAFETY: a tensor's memory is written only by the launch that made it, which has ended on a CPU.
            let data = unsafe { host_bytes(&elements(&source), bytes) };
            let data = data.ok_or_else(|| unaddressable(from))?;
            to.device()?.upload(out.storage.region(), data)?;
        } else {
            let region = out.storage.region();
            let host = region.host().ok_or_else(|| unaddressable(to.id()))?;
            // SAFETY: the memory was just allocated for `out`, which nobody else has seen yet.
            let into = unsafe { std::slice::from_raw_parts_mut(host.as_ptr(), bytes) };
            source.logical_device().device()?.download(elements(&source), into)?;
        }
    }
    out.checks = open_checks(&source)?;
    let seconds = start.elapsed().as_secs_f64();
    journal.copied(
        purpose.cause,
        (from, to.id(), route),
        purpose.op,
        purpose.caller.location(),
        bytes,
        seconds,
    );
    tensor.keep_replica(&out);
    Ok(out)
}

/// Copies a dense tensor from one device to another, neither of which is the host: directly where they see
/// each other's memory.
fn between(table: &Table, source: &DeviceTensor, out: &DeviceTensor, purpose: CopyPurpose) -> Result<Route> {
    let (from, to) = (source.logical_device(), out.logical_device());
    let bytes = source.tensor_type().bytes();
    let are_peers = to.is_peer_of(from);
    if bytes == 0 {
        return Ok(if are_peers { Route::Peer } else { Route::ThroughHost });
    }
    let region = out.storage.region();
    if are_peers && to.device()?.copy_from_peer(region, elements(source), bytes)? {
        return Ok(Route::Peer);
    }
    let host = table.devices.iter().find(|d| d.is_host()).ok_or_else(|| {
        Error::config(
            format!("copy {} -> {}", from.id(), to.id()),
            "no CPU is visible to copy through",
            "make CPU:0 visible",
        )
    })?;
    // In memory of the host's device, so that it counts towards its limit.
    let staged = host.tensor(source.tensor_type(), purpose.op, purpose.reason)?;
    let start = staged.storage.region().host().ok_or_else(|| unaddressable(host.id()))?;
    // SAFETY: the memory was just allocated for `staged`, which nobody else has seen.
    let through = unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), bytes) };
    from.device()?.download(elements(source), through)?;
    to.device()?.upload(region, through)?;
    Ok(Route::ThroughHost)
}

/// Host data as a tensor on `to`.
pub(crate) fn upload(
    journal: &Journal,
    bytes: &[u8],
    ty: situ_core::TensorType,
    to: &Arc<LogicalDevice>,
    reason: Reason,
    caller: Caller,
) -> Result<DeviceTensor> {
    let start = Instant::now();
    let out = to.tensor(ty, "constant", reason)?;
    debug_assert_eq!(out.layout, Layout::dense(ty.shape));
    if !bytes.is_empty() {
        to.device()?.upload(out.storage.region(), bytes)?;
    }
    if !to.is_host() {
        let from = situ_core::DeviceId::CPU0;
        journal.copied(
            Cause::Upload,
            (from, to.id(), Route::Link),
            "constant",
            caller.location(),
            bytes.len(),
            start.elapsed().as_secs_f64(),
        );
    }
    Ok(out)
}

/// The checks that are still open; an error if one has failed.
pub(crate) fn open_checks(tensor: &DeviceTensor) -> Result<Checks> {
    tensor.poisoned()?;
    Ok(tensor.checks.iter().filter(|c| c.outcome().is_none()).cloned().collect())
}

/// Waits until checks are settled: on the device that holds what depends on them, or else on whichever one
/// made it.
pub(crate) fn await_checks(checks: &[Arc<Check>], holder: &LogicalDevice) -> Result<()> {
    let open = || checks.iter().any(|check| check.outcome().is_none());
    if open() {
        holder.device()?.sync()?;
    }
    if open()
        && let Some(runtime) = holder.runtime.upgrade()
    {
        for device in runtime.state().table.devices.iter().filter(|d| d.is_open()) {
            if open() {
                device.device()?.sync()?;
            }
        }
    }
    Ok(())
}

/// How settled checks came out: the error of the first that failed. The others are known to the program with
/// it.
pub(crate) fn verdict(checks: &[Arc<Check>]) -> Result<()> {
    let mut failed: Option<Data> = None;
    for check in checks {
        match check.outcome() {
            Some(None) => (),
            Some(Some(data)) => {
                check.report();
                failed.get_or_insert_with(|| data.clone());
            }
            None => return Err(unknown()),
        }
    }
    failed.map_or(Ok(()), |data| Err(Error::Data(Box::new(data))))
}

#[cold]
fn unknown() -> Error {
    Error::argument(
        "check",
        "its device has not said whether the data it met were good",
        "the device may have failed in between; do it again",
    )
}

#[cold]
pub(crate) fn unaddressable(device: situ_core::DeviceId) -> Error {
    Error::Kernel { op: "copy", device, why: "its memory can't be addressed by the host".to_string() }
}
