//! The changes that a search tries: one group, a chunk of neighbours, a block, a swap, a stretch of the
//! order, a place in it.

use super::Search;

/// The most groups that move together.
const LARGEST_CHUNK: usize = 48;
/// In graphs with more nodes than this, only neighbours in the order change places: all between would be
/// timed again.
const FAR_NODES: usize = 1500;
/// How far apart in the order two nodes may be and still be neighbours.
const NEARBY: usize = 48;

impl Search<'_> {
    /// Writes a random change into the engine's trial; says whether there is one.
    pub(super) fn propose(&mut self) -> bool {
        self.find_critical();
        match self.random.below(100) {
            0..30 => self.single(),
            30..60 => self.boundary(),
            60..75 => self.swap(),
            75..83 if !self.blocks.is_empty() => self.block(),
            75..90 => self.stretch(),
            _ => self.earlier(),
        }
    }

    /// A node, on the critical path three times out of four.
    fn node(&mut self) -> usize {
        let aimed = self.random.below(4) > 0;
        match self.random.pick(&self.critical) {
            Some(&node) if aimed => node as usize,
            _ => self.random.below(self.problem.node_count()),
        }
    }

    /// A device for a group: mostly one where something is that it reads or that reads it.
    fn device_for(&mut self, node: usize) -> Option<u16> {
        let problem = self.problem;
        let unit = problem.unit_of(node);
        let here = self.engine.devices[node];
        if self.random.below(4) > 0 {
            let &member = self.random.pick(&unit.members)?;
            let (ins, outs) = (problem.in_edges.row(member as usize), problem.out_edges.row(member as usize));
            let pick = self.random.below((ins.len() + outs.len()).max(1));
            let other = match ins.get(pick) {
                Some(&e) => problem.edges[e as usize].from,
                None => problem.edges[*outs.get(pick - ins.len())? as usize].to,
            };
            let device = self.engine.devices[other as usize];
            if device != here && unit.allowed.contains(&device) {
                return Some(device);
            }
        }
        self.random.pick(&unit.allowed).copied().filter(|&d| d != here)
    }

    /// One group to another device.
    fn single(&mut self) -> bool {
        let node = self.node();
        let Some(device) = self.device_for(node) else { return false };
        let unit = self.problem.nodes[node].unit as usize;
        self.engine.set_device(unit, device);
        self.engine.fits() || self.make_room(device, unit)
    }

    /// Sends groups away from a device that is too full, back to where the new one came from or to any other.
    fn make_room(&mut self, device: u16, newcomer: usize) -> bool {
        for _ in 0..4 {
            let node = self.random.below(self.problem.node_count());
            let unit = self.problem.nodes[node].unit as usize;
            if self.engine.unit_device(unit) != device || unit == newcomer {
                continue;
            }
            let Some(&other) = self.random.pick(&self.problem.units[unit].allowed) else { continue };
            if other != device {
                self.engine.set_device(unit, other);
                if self.engine.fits() {
                    return true;
                }
            }
        }
        false
    }

    /// Around a copy on the critical path: neighbours on one side of it go to the other side.
    fn boundary(&mut self) -> bool {
        let Some((from, to)) = self.crossing() else { return false };
        let (a, b) = (self.engine.devices[from], self.engine.devices[to]);
        let size = self.chunk_size();
        if self.random.below(2) == 0 { self.move_chunk(from, b, size) } else { self.move_chunk(to, a, size) }
    }

    /// An edge between two devices, on the critical path if there is one.
    fn crossing(&mut self) -> Option<(usize, usize)> {
        let length = self.critical.len();
        if length > 1 && self.random.below(4) > 0 {
            let begin = self.random.below(length - 1);
            for i in 0..length - 1 {
                let at = (begin + i) % (length - 1);
                let (a, b) = (self.critical[at] as usize, self.critical[at + 1] as usize);
                if self.engine.devices[a] != self.engine.devices[b] {
                    return Some((a, b));
                }
            }
        }
        for _ in 0..8 {
            let edge = self.problem.edges.get(self.random.below(self.problem.edges.len().max(1)))?;
            let (a, b) = (edge.from as usize, edge.to as usize);
            if self.engine.devices[a] != self.engine.devices[b] {
                return Some((a, b));
            }
        }
        None
    }

    /// Mostly few, sometimes many.
    fn chunk_size(&mut self) -> usize {
        let mut size = 1;
        while size < LARGEST_CHUNK && self.random.below(100) < 75 {
            size += 1 + size / 4;
        }
        size.min(LARGEST_CHUNK)
    }

    /// Moves a node's group, and neighbours of it on the same device, to another device.
    fn move_chunk(&mut self, node: usize, device: u16, size: usize) -> bool {
        let problem = self.problem;
        let here = self.engine.devices[node];
        let first = problem.nodes[node].unit;
        self.chunk.clear();
        self.chunk.push(first);
        self.in_chunk[first as usize] = true;
        let mut at = 0;
        while at < self.chunk.len() && self.chunk.len() < size {
            let members = &problem.units[self.chunk[at] as usize].members;
            'unit: for &member in members {
                let ins = problem.ins(member as usize).map(|e| e.from);
                let outs = problem.outs(member as usize).map(|e| e.to);
                for other in ins.chain(outs) {
                    let unit = problem.nodes[other as usize].unit;
                    if self.in_chunk[unit as usize] || self.engine.devices[other as usize] != here {
                        continue;
                    }
                    self.in_chunk[unit as usize] = true;
                    self.chunk.push(unit);
                    if self.chunk.len() >= size {
                        break 'unit;
                    }
                }
            }
            at += 1;
        }
        self.put_chunk(device)
    }

    /// Moves the gathered groups as far as they may and fit; says whether any moved.
    fn put_chunk(&mut self, device: u16) -> bool {
        let mut any = false;
        for i in 0..self.chunk.len() {
            let unit = self.chunk[i] as usize;
            self.in_chunk[unit] = false;
            let fits = self.engine.fill().fits(self.problem, unit, device.into());
            if fits && self.problem.units[unit].allowed.contains(&device) {
                self.engine.set_device(unit, device);
                any = true;
            }
        }
        any
    }

    /// A node near another one in the order.
    fn neighbour(&mut self, node: usize) -> usize {
        let place = self.engine.place_of(node) + self.random.below(2 * NEARBY + 1);
        self.engine.order[place.saturating_sub(NEARBY).min(self.problem.node_count() - 1)] as usize
    }

    /// Two groups change places.
    fn swap(&mut self) -> bool {
        let node = self.node();
        let Some(device) = self.device_for(node) else { return false };
        let here = self.engine.devices[node];
        let nearby = self.random.below(2) > 0 || self.problem.node_count() > FAR_NODES;
        for _ in 0..12 {
            let other =
                if nearby { self.neighbour(node) } else { self.random.below(self.problem.node_count()) };
            let unit = self.problem.nodes[other].unit as usize;
            if self.engine.devices[other] == device && self.problem.units[unit].allowed.contains(&here) {
                self.engine.set_device(self.problem.nodes[node].unit as usize, device);
                self.engine.set_device(unit, here);
                return true;
            }
        }
        false
    }

    /// A stretch of the order that is on one device goes to another device.
    fn stretch(&mut self) -> bool {
        let node = self.node();
        let here = self.engine.devices[node];
        let Some(device) = self.device_for(node) else { return false };
        let size = self.chunk_size();
        let place = self.engine.place_of(node);
        let backwards = self.random.below(2) == 0;
        self.chunk.clear();
        let count = self.problem.node_count();
        let mut at = place;
        for _ in 0..4 * size {
            let other = self.engine.order[at] as usize;
            let unit = self.problem.nodes[other].unit;
            if self.engine.devices[other] == here && !self.in_chunk[unit as usize] {
                self.in_chunk[unit as usize] = true;
                self.chunk.push(unit);
                if self.chunk.len() >= size {
                    break;
                }
            }
            if backwards && at == 0 || !backwards && at + 1 == count {
                break;
            }
            at = if backwards { at - 1 } else { at + 1 };
        }
        self.put_chunk(device)
    }

    /// A block goes to one device, wherever its nodes are.
    fn block(&mut self) -> bool {
        let node = self.node();
        let Some(device) = self.device_for(node) else { return false };
        let size = self.random.below(self.blocks.len());
        let grouping = &self.blocks[size];
        self.chunk.clear();
        for &member in grouping.members.row(grouping.of[node] as usize) {
            if self.engine.devices[member as usize] != device {
                let unit = self.problem.nodes[member as usize].unit;
                self.in_chunk[unit as usize] = true;
                self.chunk.push(unit);
            }
        }
        self.put_chunk(device)
    }

    /// A node claims its slot earlier, or later, than it did.
    fn earlier(&mut self) -> bool {
        let node = self.node();
        let place = self.engine.place_of(node);
        let count = self.problem.node_count();
        let step = 1 + self.random.below(24);
        let to =
            if self.random.below(4) > 0 { place.saturating_sub(step) } else { (place + step).min(count - 1) };
        self.engine.shift(place, to)
    }
}
