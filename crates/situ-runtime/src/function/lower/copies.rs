//! Values where and as a step needs them: copied to its device, made dense, each once.

use super::{Draft, Lowering, Reader};
use crate::function::plan::{Action, Buffer, DeviceIndex, Memory, Operand};
use crate::logical::copy_seconds;
use situ_core::{Layout, Result, TensorType};
use situ_ir::ops::Dense;
use situ_ir::{NodeId, Op, Value};

impl Lowering<'_> {
    /// The value on a device: where it was made, or a copy made once.
    pub(super) fn on(&mut self, value: Value, device: DeviceIndex, node: NodeId) -> Result<Operand> {
        let home = self.home(value);
        let from = self.buffers[home.buffer].device;
        if from == device {
            return Ok(home);
        }
        if let Some(copy) = self.copies.get(&(value, device)) {
            return Ok(*copy);
        }
        let reader = Reader::of(self.graph, node, value);
        if let Buffer { memory: Memory::Capture(n), bytes, .. } = self.buffers[home.buffer]
            && let Some(kept) = self.host.replicate(n, reader, device)?
        {
            let buffer = self.buffer(device, bytes, Memory::Capture(kept), "capture");
            let copy = Operand { buffer, ..home };
            self.copies.insert((value, device), copy);
            return Ok(copy);
        }
        self.host.allow_copy(reader, from, device, home.bytes())?;
        if self.can_make_dense(from, self.graph.type_of(value)) {
            let source = self.densely(value, home, from, node, true)?;
            return self.copied(value, source, device, node);
        }
        // All that the view looks at goes, and it is a view there too.
        let moved = self.moved(home, device, node)?;
        self.copies.insert((value, device), moved);
        Ok(moved)
    }

    pub(super) fn host_device(&self, node: NodeId) -> Result<DeviceIndex> {
        let host = self.devices.iter().position(|d| d.is_host());
        host.ok_or_else(|| self.broken(node, "there is no CPU to copy through"))
    }

    pub(super) fn can_make_dense(&self, device: DeviceIndex, ty: TensorType) -> bool {
        let ty = [ty];
        self.devices[device].device().is_ok_and(|d| d.kernel(&Op::from(Dense), &ty, &ty).is_ok())
    }

    /// A copy of a dense value on another device, for all that read it there.
    fn copied(
        &mut self,
        value: Value,
        source: Operand,
        device: DeviceIndex,
        node: NodeId,
    ) -> Result<Operand> {
        let copy = self.fresh(device, self.graph.type_of(value), "copy");
        self.copy(source, copy, value.node, node)?;
        self.copies.insert((value, device), copy);
        Ok(copy)
    }

    /// All memory that an operand looks at, on another device, under the same layout.
    pub(super) fn moved(&mut self, operand: Operand, device: DeviceIndex, node: NodeId) -> Result<Operand> {
        let bytes = self.buffers[operand.buffer].bytes;
        let flat = |buffer| Operand {
            buffer,
            layout: Layout::dense(situ_core::Shape::new(&[bytes]).unwrap_or(situ_core::Shape::SCALAR)),
            dtype: situ_core::DType::U8,
        };
        let buffer = self.buffer(device, bytes, Memory::Arena { chunk: 0, offset: 0 }, "copy");
        self.copy(flat(operand.buffer), flat(buffer), node, node)?;
        Ok(Operand { buffer, ..operand })
    }

    /// Drafts a copy of dense memory: one step, by way of memory of the host where neither end is the host
    /// and they do not see each other's.
    fn copy(&mut self, from: Operand, to: Operand, of: NodeId, reader: NodeId) -> Result<()> {
        let number = self.host.number_copy();
        let [source, device] = [from, to].map(|o| self.buffers[o.buffer].device);
        let [a, b] = [source, device].map(|d| &self.devices[d]);
        let seconds = copy_seconds(a, b, from.bytes());
        let through = match !a.is_host() && !b.is_host() && !b.is_peer_of(a) {
            true => {
                let host = self.host_device(reader)?;
                let memory = Memory::Arena { chunk: 0, offset: 0 };
                let buffer = self.buffer(host, from.bytes(), memory, "copy");
                Some(Operand { buffer, ..from })
            }
            false => None,
        };
        let mut writes = vec![to.buffer];
        writes.extend(through.map(|through| through.buffer));
        self.drafts.push(Draft {
            action: Action::Copy { from, to, through, number, reader, sent: None },
            device,
            node: of,
            source: self.graph.node(reader).source,
            reads: vec![from.buffer],
            writes,
            seconds,
            checks: false,
        });
        Ok(())
    }

    /// The value dense on a device where it is already; `whole`: also from the start of its memory.
    pub(super) fn densely(
        &mut self,
        value: Value,
        operand: Operand,
        device: DeviceIndex,
        node: NodeId,
        whole: bool,
    ) -> Result<Operand> {
        if operand.layout.is_dense() && (!whole || operand.layout.offset() == 0) {
            return Ok(operand);
        }
        self.made_dense(value, operand, device, node)
    }

    /// A dense copy of the value on a device where it is already, made once.
    pub(super) fn made_dense(
        &mut self,
        value: Value,
        operand: Operand,
        device: DeviceIndex,
        node: NodeId,
    ) -> Result<Operand> {
        if let Some(dense) = self.dense.get(&(value, device)) {
            return Ok(*dense);
        }
        let ty = [self.graph.type_of(value)];
        if !self.can_make_dense(device, ty[0]) {
            // By way of the host, which can.
            let host = self.host_device(node)?;
            if host == device {
                return Err(self.broken(node, "a view can't be made dense there"));
            }
            let reader = Reader::of(self.graph, node, value);
            self.host.allow_copy(reader, device, host, self.buffers[operand.buffer].bytes)?;
            let moved = self.moved(operand, host, node)?;
            let dense = self.densely(value, moved, host, node, true)?;
            let back = self.fresh(device, ty[0], "dense");
            self.copy(dense, back, value.node, node)?;
            self.dense.insert((value, device), back);
            return Ok(back);
        }
        let op = Op::from(Dense);
        let logical = self.devices[device].clone();
        let kernel = logical.device()?.kernel(&op, &ty, &ty);
        let kernel = kernel.map_err(|_| self.broken(node, "a view can't be made dense there"))?;
        let out = self.fresh(device, ty[0], "dense");
        let seconds = logical.costs().compute(&op.work(&ty, &ty));
        self.drafts.push(Draft {
            action: Action::Launch { op, kernel, inputs: vec![operand], outputs: vec![out], workspace: None },
            device,
            node: value.node,
            source: self.graph.node(node).source,
            reads: vec![operand.buffer],
            writes: vec![out.buffer],
            seconds,
            checks: false,
        });
        self.dense.insert((value, device), out);
        Ok(out)
    }
}
