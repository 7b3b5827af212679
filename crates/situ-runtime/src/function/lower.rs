//! From nodes on devices to steps: every launch, every copy, every view made dense, in an order that respects
//! what they read.

mod copies;

use super::candidates::{input_types, is_view};
use super::plan::{Action, Buffer, BufferIndex, DeviceIndex, Memory, Nested, Operand, Put};
use super::written_over::written_over;
use crate::able;
use crate::logical::LogicalDevice;
use crate::transfer::wastes;
use situ_core::{Error, Layout, Reason, Result, TensorType};
use situ_ir::graph::Source;
use situ_ir::{Content, Graph, Node, NodeId, Op, Value, WorkClass};
use std::collections::HashMap;
use std::sync::Arc;

/// A step before lanes and waits are known. Drafts are in an order in which each comes after what it reads.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) action: Action,
    pub(crate) device: DeviceIndex,
    pub(crate) node: NodeId,
    pub(crate) source: Source,
    pub(crate) reads: Vec<BufferIndex>,
    pub(crate) writes: Vec<BufferIndex>,
    /// Seconds its device's model says, whatever the device's price: for sharing steps among lanes, and for
    /// judging the model.
    pub(crate) seconds: f64,
    pub(crate) checks: bool,
}

/// What lowering gives: everything of a plan but lanes and offsets.
#[derive(Debug)]
pub(crate) struct Lowered {
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) drafts: Vec<Draft>,
    pub(crate) outputs: Vec<(Operand, Value)>,
    pub(crate) updates: Vec<(usize, Operand, Value)>,
    pub(crate) puts: Vec<Put>,
}

/// How the results of a graph are left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ends {
    /// As they are: a function may give views.
    AsMade,
    /// Dense and whole, wherever they are.
    Whole,
    /// Dense and whole on one device.
    At(DeviceIndex),
}

/// A node that reads a value, and as which of its inputs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    pub(crate) node: &'a Node,
    pub(crate) input: usize,
}

impl<'a> Reader<'a> {
    fn of(graph: &'a Graph, node: NodeId, value: Value) -> Reader<'a> {
        let node = graph.node(node);
        // What is left of a function at its end is read by no node: then it is the node's own.
        Reader { node, input: node.inputs.iter().position(|v| *v == value).unwrap_or(0) }
    }
}

/// What lowering asks of whoever compiles.
pub(crate) trait Host {
    /// The plan of a block, which takes its arguments on one device, and gives its results there or `ends` as
    /// it says.
    fn nest(&mut self, graph: &Graph, device: DeviceIndex, ends: Ends) -> Result<Nested>;

    /// The number of the next copy, among all copies of the outermost plan.
    fn number_copy(&mut self) -> usize;

    /// A copy of a captured tensor on another device, made once and for all calls: the number of the captured
    /// tensor that it is from then on; `None` where it must be copied at each call.
    fn replicate(&mut self, capture: usize, reader: Reader<'_>, device: DeviceIndex)
    -> Result<Option<usize>>;

    /// Whether a node may have an input copied to its device at each call.
    fn allow_copy(
        &mut self,
        reader: Reader<'_>,
        from: DeviceIndex,
        to: DeviceIndex,
        bytes: usize,
    ) -> Result<()>;
}

pub(crate) struct Lowering<'a> {
    graph: &'a Graph,
    devices: &'a [Arc<LogicalDevice>],
    assignment: &'a [(DeviceIndex, Reason)],
    host: &'a mut dyn Host,
    buffers: Vec<Buffer>,
    drafts: Vec<Draft>,
    /// Where each node's outputs were made.
    homes: Vec<Vec<Operand>>,
    /// Copies on other devices.
    copies: HashMap<(Value, DeviceIndex), Operand>,
    /// Dense versions of views.
    dense: HashMap<(Value, DeviceIndex), Operand>,
}

/// Lowers a graph whose nodes have been assigned, in an order in which each comes after what it reads.
/// `variables` are the devices the graph's variables live on, `ends` says how its results are left.
pub(crate) fn lower(
    graph: &Graph,
    devices: &[Arc<LogicalDevice>],
    assignment: &[(DeviceIndex, Reason)],
    order: &[NodeId],
    variables: &[DeviceIndex],
    ends: Ends,
    host: &mut dyn Host,
) -> Result<Lowered> {
    let mut lowering = Lowering {
        graph,
        devices,
        assignment,
        host,
        buffers: Vec::new(),
        drafts: Vec::new(),
        homes: vec![Vec::new(); graph.nodes().len()],
        copies: HashMap::new(),
        dense: HashMap::new(),
    };
    let at_home = |&(variable, id): &(u32, NodeId)| assignment[id.index()].0 == variables[variable as usize];
    let over: Vec<(u32, NodeId)> = written_over(graph).into_iter().filter(at_home).collect();
    for &id in order {
        // What ends a call is no step of it.
        if over.iter().any(|(_, put)| *put == id) {
            continue;
        }
        let made = lowering.node(id, graph.node(id))?;
        lowering.homes[id.index()] = made;
    }
    let mut outputs = Vec::new();
    for &value in graph.outputs() {
        let operand = lowering.end(value, ends)?;
        let operand = lowering.compact(value, operand)?;
        lowering.promote(operand.buffer);
        outputs.push((operand, value));
    }
    let (mut updates, mut puts) = (Vec::new(), Vec::new());
    for &(variable, value) in graph.updates() {
        if over.contains(&(variable, value.node)) {
            puts.push(lowering.put(variable as usize, value.node)?);
            continue;
        }
        let device = variables[variable as usize];
        let node = value.node;
        let here = lowering.on(value, device, node)?;
        let operand = lowering.densely(value, here, device, node, true)?;
        let operand = lowering.compact(value, operand)?;
        lowering.promote(operand.buffer);
        updates.push((variable as usize, operand, value));
    }
    Ok(Lowered { buffers: lowering.buffers, drafts: lowering.drafts, outputs, updates, puts })
}

impl Lowering<'_> {
    fn home(&self, value: Value) -> Operand {
        self.homes[value.node.index()][value.slot()]
    }

    /// A result as it is to be left.
    fn end(&mut self, value: Value, ends: Ends) -> Result<Operand> {
        let home = self.home(value);
        let device = match ends {
            Ends::AsMade => return Ok(home),
            Ends::Whole => self.buffers[home.buffer].device,
            Ends::At(device) => device,
        };
        let here = self.on(value, device, value.node)?;
        self.densely(value, here, device, value.node, true)
    }

    /// The rows that the end of a call writes over.
    fn put(&mut self, variable: usize, id: NodeId) -> Result<Put> {
        let (node, (device, reason)) = (self.graph.node(id), self.assignment[id.index()]);
        let [indices, rows] = [node.inputs[1], node.inputs[2]].map(|value| -> Result<Operand> {
            let here = self.on(value, device, id)?;
            let operand = self.densely(value, here, device, id, true)?;
            let operand = self.compact(value, operand)?;
            self.promote(operand.buffer);
            Ok(operand)
        });
        let name = node.request.name.clone();
        Ok(Put { variable, node: id, indices: indices?, rows: rows?, reason, name, source: node.source })
    }

    /// A tensor that leaves the call is no part of the arena.
    fn promote(&mut self, buffer: BufferIndex) {
        if matches!(self.buffers[buffer].memory, Memory::Arena { .. }) {
            self.buffers[buffer].memory = Memory::Own { slot: 0 };
        }
    }

    /// What leaves the call as a small part of a large buffer leaves as a copy, so that it does not hold the
    /// buffer.
    fn compact(&mut self, value: Value, operand: Operand) -> Result<Operand> {
        let Buffer { device, bytes, .. } = self.buffers[operand.buffer];
        let ty = TensorType::new(operand.dtype, *operand.layout.shape());
        if !wastes(operand.bytes(), bytes) || !self.can_make_dense(device, ty) {
            return Ok(operand);
        }
        self.made_dense(value, operand, device, value.node)
    }

    fn buffer(
        &mut self,
        device: DeviceIndex,
        bytes: usize,
        memory: Memory,
        owner: &'static str,
    ) -> BufferIndex {
        self.buffers.push(Buffer { device, bytes, memory, owner });
        self.buffers.len() - 1
    }

    /// A dense tensor in new memory.
    fn fresh(&mut self, device: DeviceIndex, ty: TensorType, owner: &'static str) -> Operand {
        let buffer = self.buffer(device, ty.bytes(), Memory::Arena { chunk: 0, offset: 0 }, owner);
        Operand { buffer, layout: Layout::dense(ty.shape), dtype: ty.dtype }
    }

    fn node(&mut self, id: NodeId, node: &Node) -> Result<Vec<Operand>> {
        let device = self.assignment[id.index()].0;
        let given = |memory: Memory, lowering: &mut Self| {
            let ty = node.types[0];
            let buffer = lowering.buffer(device, ty.bytes(), memory, node.content.name());
            Ok(vec![Operand { buffer, layout: Layout::dense(ty.shape), dtype: ty.dtype }])
        };
        match &node.content {
            Content::Input(n) => given(Memory::Argument(*n as usize), self),
            Content::Capture(n) => given(Memory::Capture(*n as usize), self),
            Content::Variable(n) => given(Memory::Variable(*n as usize), self),
            Content::Op(op) if is_view(op) => self.view(id, node, op),
            Content::Op(op) => self.launch(id, node, op, device),
            Content::Cond(cond) => {
                let then = Box::new(self.host.nest(&cond.then, device, Ends::At(device))?);
                let otherwise = Box::new(self.host.nest(&cond.otherwise, device, Ends::At(device))?);
                self.branch(id, node, device, |inputs, outputs| Action::Cond {
                    then,
                    otherwise,
                    inputs,
                    outputs,
                })
            }
            Content::While(repeated) => {
                // What the condition gives is read, wherever it is.
                let condition = Box::new(self.host.nest(&repeated.condition, device, Ends::Whole)?);
                let body = Box::new(self.host.nest(&repeated.body, device, Ends::At(device))?);
                self.branch(id, node, device, |inputs, outputs| Action::While {
                    condition,
                    body,
                    inputs,
                    outputs,
                })
            }
        }
    }

    fn view(&mut self, id: NodeId, node: &Node, op: &Op) -> Result<Vec<Operand>> {
        let value = node.inputs[0];
        let mut base = self.home(value);
        if op.view(&base.layout, &node.types[0]).is_none() {
            base = self.dense_base(value, base, id)?;
        }
        let layout = op.view(&base.layout, &node.types[0]);
        let layout = layout.ok_or_else(|| self.broken(id, "a dense tensor could not be viewed"))?;
        Ok(vec![Operand { layout, ..base }])
    }

    /// What a view looks at, dense: where it is, or on the host where its device can't hold that much in one
    /// piece.
    fn dense_base(&mut self, value: Value, base: Operand, id: NodeId) -> Result<Operand> {
        let device = self.buffers[base.buffer].device;
        let bytes = self.graph.type_of(value).bytes();
        if able::fits(&self.devices[device], bytes).is_ok() {
            return self.densely(value, base, device, id, true);
        }
        let host = self.host_device(id)?;
        let reader = Reader::of(self.graph, id, value);
        self.host.allow_copy(reader, device, host, self.buffers[base.buffer].bytes)?;
        let moved = self.moved(base, host, id)?;
        self.densely(value, moved, host, id, true)
    }

    fn launch(&mut self, id: NodeId, node: &Node, op: &Op, device: DeviceIndex) -> Result<Vec<Operand>> {
        let types = input_types(self.graph, node);
        let logical = self.devices[device].clone();
        let target = logical.device()?;
        let kernel = target.kernel(op, &types, &node.types);
        let kernel = kernel.map_err(|_| self.broken(id, "it was placed where it has no kernel"))?;
        let mut inputs = Vec::with_capacity(node.inputs.len());
        for (index, &value) in node.inputs.iter().enumerate() {
            let mut operand = self.on(value, device, id)?;
            if !target.accepts(kernel, op, index, &operand.layout) {
                operand = self.densely(value, operand, device, id, false)?;
            }
            inputs.push(operand);
        }
        let outputs: Vec<Operand> = node.types.iter().map(|ty| self.fresh(device, *ty, op.name())).collect();
        let workspace = match target.workspace(kernel, op, &types, &node.types) {
            0 => None,
            bytes => {
                let memory = Memory::Arena { chunk: 0, offset: 0 };
                Some(self.buffer(device, bytes, memory, "workspace"))
            }
        };
        let reads = inputs.iter().map(|o| o.buffer).collect();
        let writes = outputs.iter().map(|o| o.buffer).chain(workspace).collect();
        let seconds = logical.costs().compute(&op.work(&types, &node.types));
        self.drafts.push(Draft {
            action: Action::Launch { op: op.clone(), kernel, inputs, outputs: outputs.clone(), workspace },
            device,
            node: id,
            source: node.source,
            reads,
            writes,
            seconds,
            checks: op.may_find_bad_data(&types) && logical.is_queued(),
        });
        Ok(outputs)
    }

    fn branch(
        &mut self,
        id: NodeId,
        node: &Node,
        device: DeviceIndex,
        action: impl FnOnce(Vec<Operand>, Vec<Operand>) -> Action,
    ) -> Result<Vec<Operand>> {
        let mut inputs = Vec::new();
        for &value in &node.inputs {
            let here = self.on(value, device, id)?;
            let operand = self.densely(value, here, device, id, true)?;
            // A branch takes whole tensors, so what it reads is no part of the arena.
            self.promote(operand.buffer);
            inputs.push(operand);
        }
        let mut outputs = Vec::new();
        for ty in &node.types {
            let operand = self.fresh(device, *ty, node.content.name());
            self.buffers[operand.buffer].memory = Memory::Late { slot: 0 };
            outputs.push(operand);
        }
        let reads = inputs.iter().map(|o| o.buffer).collect();
        let writes = outputs.iter().map(|o| o.buffer).collect();
        self.drafts.push(Draft {
            action: action(inputs, outputs.clone()),
            device,
            node: id,
            source: node.source,
            reads,
            writes,
            seconds: self.devices[device].costs().line(WorkClass::Elementwise).launch,
            checks: false,
        });
        Ok(outputs)
    }

    #[cold]
    fn broken(&self, node: NodeId, why: &str) -> Error {
        let name = self.graph.node(node).content.name();
        let device = self.devices[self.assignment[node.index()].0].id();
        Error::Kernel { op: name, device, why: why.to_string() }
    }
}
