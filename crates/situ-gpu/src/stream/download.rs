//! The way of bytes to the host: in pieces, through staging buffers, two of them on their way at a time.

use super::batch::Sent;
use super::{Stream, mapped};
use crate::fault::Fault;
use crate::memory::Block;
use crate::staging::{self, Direction, Staged};
use std::collections::VecDeque;
use std::sync::Arc;

impl Stream {
    /// Reads `into.len()` bytes from `offset`, after all work recorded before.
    pub(super) fn read_pieces(&self, block: &Block, offset: u64, into: &mut [u8]) -> Result<(), Fault> {
        let first = offset / 4 * 4;
        let end = (offset + into.len() as u64).next_multiple_of(4);
        let mut flight: VecDeque<(u64, u64, StagedRead)> = VecDeque::new();
        let mut at = first;
        while at < end || !flight.is_empty() {
            while at < end && flight.len() < 2 {
                let want = staging::PIECE.min(end - at);
                let taken = if flight.is_empty() {
                    Some(self.staging.take(Direction::Down, want, || Ok(()))?)
                } else {
                    self.staging.try_take(Direction::Down, want)?
                };
                let Some(staged) = taken else { break };
                let bytes = want.min(staged.bytes);
                flight.push_back((at, bytes, self.send_down(block, at, bytes, staged)?));
                at += bytes;
            }
            if let Some((start, bytes, staged_read)) = flight.pop_front() {
                let staged = self.arrived(staged_read)?;
                let view = mapped(&staged.buffer, bytes)?;
                // Only the first and last piece can reach beyond what was asked for.
                let from = start.max(offset);
                let to = (start + bytes).min(offset + into.len() as u64);
                into[(from - offset) as usize..(to - offset) as usize]
                    .copy_from_slice(&view[(from - start) as usize..(to - start) as usize]);
                drop(view);
                self.staging.give_back_down(staged);
            }
        }
        Ok(())
    }

    /// Asks for `bytes` bytes from `offset`, after all work recorded before; `None` if there is no staging
    /// buffer that takes them whole, or if checks are open, which reading must settle.
    pub(crate) fn begin_read(
        self: &Arc<Self>,
        block: &Block,
        offset: u64,
        bytes: u64,
    ) -> Result<Option<PendingRead>, Fault> {
        self.context.check()?;
        if bytes > staging::PIECE || !offset.is_multiple_of(4) || self.lock().checks.bytes_in_use() > 0 {
            return Ok(None);
        }
        let whole = bytes.next_multiple_of(4);
        let Some(staged) = self.staging.try_take(Direction::Down, whole)? else { return Ok(None) };
        if staged.bytes < whole {
            self.staging.give_back_unused(staged);
            return Ok(None);
        }
        let staged_read = self.send_down(block, offset, whole, staged)?;
        Ok(Some(PendingRead { stream: self.clone(), staged_read, whole }))
    }

    /// Records and submits a copy to the host, and asks for its arrival.
    fn send_down(&self, block: &Block, at: u64, bytes: u64, staged: Staged) -> Result<StagedRead, Fault> {
        let mut batch = self.lock();
        self.end_lap_before_read(&mut batch, bytes);
        self.encoder(&mut batch).copy_buffer_to_buffer(&block.buffer, at, &staged.buffer, 0, Some(bytes));
        self.submit(&mut batch)?;
        Ok(StagedRead::new(staged, bytes, batch.in_flight.back().cloned()))
    }

    fn arrived(&self, staged_read: StagedRead) -> Result<Staged, Fault> {
        if let Some(sent) = &staged_read.sent {
            self.wait(sent)?;
        }
        Ok(staged_read.staged)
    }
}

/// Bytes that somebody asked for.
pub(crate) struct PendingRead {
    stream: Arc<Stream>,
    staged_read: StagedRead,
    whole: u64,
}

impl PendingRead {
    /// Waits for them.
    pub(crate) fn finish(self, into: &mut [u8]) -> Result<(), Fault> {
        let staged = self.stream.arrived(self.staged_read)?;
        let view = mapped(&staged.buffer, self.whole)?;
        into.copy_from_slice(&view[..into.len()]);
        drop(view);
        self.stream.staging.give_back_down(staged);
        Ok(())
    }
}

/// A copy to the host that is on its way.
struct StagedRead {
    staged: Staged,
    sent: Option<Sent>,
}

impl StagedRead {
    fn new(staged: Staged, bytes: u64, sent: Option<Sent>) -> StagedRead {
        // Whether it worked shows when the mapped range is asked for.
        staged.buffer.map_async(wgpu::MapMode::Read, ..bytes, |_| {});
        StagedRead { staged, sent }
    }
}
