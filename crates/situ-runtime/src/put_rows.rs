//! Rows written over in the value of a variable, where nobody else holds it: what changes 2,000 rows of a
//! million takes as long as 2,000 rows.
//!
//! It comes last: all that can fail in a call was done before, [`Runtime::ready_for`] included, and what the
//! rows depend on has turned out well.

use crate::recording::{EagerEntry, Entry, nanoseconds, this_thread};
use crate::runtime::Runtime;
use crate::storage::DeviceTensor;
use crate::transfer;
use situ_core::{Caller, Error, Reason, Result, ScopeName, TensorType};
use situ_device::{Call, KernelId};
use situ_ir::Op;
use situ_ir::ops::PutRows;

/// Rows that a value is to have from now on.
#[derive(Clone, Debug)]
pub struct NewRows {
    /// Which: each at most once; what is no row is passed over.
    pub indices: DeviceTensor,
    /// A row for each index.
    pub rows: DeviceTensor,
    /// Why they are where they are.
    pub reason: Reason,
    /// What they are called in records.
    pub name: ScopeName,
    /// Who they are for.
    pub caller: Caller,
}

/// What is known of rows that can be written: nothing but the loss of the device stands against it.
#[derive(Clone, Copy, Debug)]
pub struct Ready(KernelId);

impl Runtime {
    /// A copy of a tensor on its device, which nobody else holds.
    pub fn copied(&self, tensor: &DeviceTensor, caller: Caller) -> Result<DeviceTensor> {
        transfer::dense_copy(tensor, caller)
    }

    /// Whether the device of a table can write rows of it over, that indices of this type name.
    pub fn can_put_rows(&self, table: &DeviceTensor, indices: TensorType, rows: TensorType) -> bool {
        kernel(table, [indices, rows]).is_ok()
    }

    /// What [`Runtime::put_rows`] needs, or why these can't be rows of the table: they are not on its device,
    /// not in order in their memory, not of its type, or there is no kernel.
    pub fn ready_for(&self, table: &DeviceTensor, new: &NewRows) -> Result<Ready> {
        let (indices, rows) = (&new.indices, &new.rows);
        if [indices, rows].into_iter().any(|t| t.device() != table.device() || !t.is_whole()) {
            return Err(refused(table, "the rows are on another device, or a view"));
        }
        kernel(table, [indices.tensor_type(), rows.tensor_type()]).map(Ready)
    }

    /// Writes rows over those of a table that nobody else holds: see [`DeviceTensor::is_alone`].
    pub fn put_rows(&self, table: &mut DeviceTensor, new: &NewRows, Ready(kernel): Ready) -> Result<()> {
        let _in_flight = self.inner.state();
        if !table.is_alone() {
            return Err(refused(table, "somebody else holds the table"));
        }
        let logical = table.logical_device().clone();
        let device = logical.device()?;
        // Copies of what was there before are of no use any more.
        table.forget_copies();
        let recordings = &self.inner.journal.recordings;
        let start = if recordings.is_on() { nanoseconds() } else { 0 };
        let op = Op::from(PutRows);
        device.launch(&Call {
            kernel,
            op: &op,
            inputs: &[table.arg(), new.indices.arg(), new.rows.arg()],
            outputs: &[table.arg()],
            workspace: None,
            caller: Some(new.caller),
            timing: None,
        })?;
        if start > 0 {
            recordings.take(Entry::Eager(EagerEntry {
                op: op.name(),
                name: new.name.clone(),
                ty: new.rows.tensor_type(),
                requested: logical.id().spec(),
                device: logical.id(),
                reason: new.reason,
                location: new.caller.location(),
                thread: this_thread(),
                start,
                end: nanoseconds(),
                timing: None,
            }));
        }
        table.reason = new.reason;
        Ok(())
    }
}

fn kernel(table: &DeviceTensor, [indices, rows]: [TensorType; 2]) -> Result<KernelId> {
    let op = Op::from(PutRows);
    let inputs = [table.tensor_type(), indices, rows];
    let outputs = op.infer(&inputs)?;
    let kernel = table.logical_device().device()?.kernel(&op, &inputs, &outputs);
    kernel.map_err(|_| refused(table, "there is no kernel for it"))
}

#[cold]
fn refused(table: &DeviceTensor, why: &str) -> Error {
    Error::Kernel { op: "put_rows", device: table.device(), why: why.to_string() }
}
