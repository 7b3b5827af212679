//! The way of bytes to the host: in pieces, through staging buffers, two of them on their way at a time.

use super::{Sent, Stream, mapped};
use crate::fault::Fault;
use crate::memory::Block;
use crate::staging::{self, Direction, Staged};
use std::collections::VecDeque;

impl Stream {
    /// Reads `into.len()` bytes from `offset`, after all work recorded before.
    pub(super) fn read_pieces(&self, block: &Block, offset: u64, into: &mut [u8]) -> Result<(), Fault> {
        let first = offset / 4 * 4;
        let end = (offset + into.len() as u64).next_multiple_of(4);
        let mut flight: VecDeque<(u64, u64, Arriving)> = VecDeque::new();
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
            if let Some((start, bytes, arriving)) = flight.pop_front() {
                let staged = self.arrived(arriving)?;
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

    /// Records and submits a copy to the host, and asks for its arrival.
    fn send_down(&self, block: &Block, at: u64, bytes: u64, staged: Staged) -> Result<Arriving, Fault> {
        let mut batch = self.lock();
        self.encoder(&mut batch).copy_buffer_to_buffer(&block.buffer, at, &staged.buffer, 0, Some(bytes));
        self.submit(&mut batch)?;
        Ok(Arriving::new(staged, bytes, batch.in_flight.back().cloned()))
    }

    fn arrived(&self, arriving: Arriving) -> Result<Staged, Fault> {
        if let Some(sent) = &arriving.sent {
            self.wait(sent)?;
        }
        Ok(arriving.staged)
    }
}

/// A copy to the host that is on its way.
struct Arriving {
    staged: Staged,
    sent: Option<Sent>,
}

impl Arriving {
    fn new(staged: Staged, bytes: u64, sent: Option<Sent>) -> Arriving {
        // Whether it worked shows when the mapped range is asked for.
        staged.buffer.map_async(wgpu::MapMode::Read, ..bytes, |_| {});
        Arriving { staged, sent }
    }
}
