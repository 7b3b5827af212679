//! Which device runs each node of a graph, and why: requests first, then fallbacks, then the placement rule.

use crate::config::{Config, PlacementRule, Table};
use crate::constant::is_local;
use crate::logical::LogicalDevice;
use situ_core::error::{NoKernel, NoSuchDevice};
use situ_core::{DeviceKind, DeviceType, Error, Policy, Reason, Request, Result, TensorType};
use situ_ir::{Content, Graph, Node, NodeId, Op};
use std::sync::Arc;

/// The device of each node (its position in the table) and why it is there.
pub(crate) type Assignment = Vec<(usize, Reason)>;

/// What assigning needs to know.
pub(crate) struct Scene<'a> {
    pub(crate) table: &'a Table,
    pub(crate) config: &'a Config,
    /// The scopes around the call: weaker than a node's own.
    pub(crate) call: &'a Request,
    /// Where each source node's tensor is, by node.
    pub(crate) homes: &'a [Option<usize>],
}

impl Scene<'_> {
    fn request(&self, node: &Node) -> Request {
        Request {
            spec: self.call.spec.inside(&node.request.spec),
            fallback: node.request.fallback.or(self.call.fallback),
            copies: node.request.copies.or(self.call.copies),
        }
    }

    pub(crate) fn assign(&self, graph: &Graph) -> Result<Assignment> {
        let mut places: Vec<Option<(usize, Reason)>> = vec![None; graph.nodes().len()];
        let mut free = Vec::new();
        for (id, node) in graph.iter() {
            places[id.index()] = match &node.content {
                content if content.is_source() => {
                    let home = self.homes[id.index()].unwrap_or(0);
                    Some((home, Reason::Colocated { with: "its data" }))
                }
                Content::Op(op) if is_view(op) => None,
                _ => {
                    let request = self.request(node);
                    if request.spec.is_empty() {
                        free.push(id);
                        None
                    } else {
                        Some(self.requested(graph, id, node, &request)?)
                    }
                }
            };
        }
        self.place_free(graph, &free, &mut places)?;
        // Views are where their input is.
        let mut done: Assignment = Vec::with_capacity(places.len());
        for (id, node) in graph.iter() {
            let place = places[id.index()].unwrap_or_else(|| match node.inputs.first() {
                Some(input) => (done[input.node.index()].0, Reason::View),
                None => (0, Reason::OnlyDevice),
            });
            done.push(place);
        }
        Ok(done)
    }

    fn requested(
        &self,
        graph: &Graph,
        id: NodeId,
        node: &Node,
        request: &Request,
    ) -> Result<(usize, Reason)> {
        let asked = || {
            Error::NoSuchDevice(Box::new(NoSuchDevice {
                asked: request.spec.to_string(),
                available: self.table.ids(),
            }))
        };
        let kind = match &request.spec.kind {
            Some(DeviceType::Cpu) => Some(DeviceKind::Cpu),
            Some(DeviceType::Gpu) => Some(DeviceKind::Gpu),
            Some(DeviceType::Custom(_)) => return Err(asked()),
            None => None,
        };
        if !is_local(request) {
            return Err(asked());
        }
        let devices = &self.table.devices;
        let matching = || (0..devices.len()).filter(|&d| devices[d].id().is_allowed_by(&request.spec));
        if let Some(device) = matching().find(|&d| self.can_run(graph, node, &devices[d])) {
            return Ok((device, Reason::Requested));
        }
        let wanted = matching().next();
        let dtype = self.dtype(graph, node);
        if request.fallback.unwrap_or(self.config.fallback) == Policy::Forbid {
            let Some(wanted) = wanted else { return Err(asked()) };
            let have = devices.iter().filter(|d| self.can_run(graph, node, d)).map(|d| d.id()).collect();
            let device = Some(devices[wanted].id());
            return Err(Error::NoKernel(Box::new(NoKernel { op: node.content.name(), dtype, device, have })));
        }
        let reason = match wanted {
            Some(wanted) => Reason::NoKernel { op: node.content.name(), dtype, wanted: devices[wanted].id() },
            None => Reason::NoSuchDevice { kind, index: request.spec.index },
        };
        let same_kind = (0..devices.len()).filter(|&d| Some(devices[d].id().kind) == kind);
        let cpus = (0..devices.len()).filter(|&d| devices[d].id().kind == DeviceKind::Cpu);
        same_kind
            .chain(cpus)
            .find(|&d| self.can_run(graph, node, &devices[d]))
            .map(|d| (d, reason))
            .ok_or_else(|| self.no_kernel(graph, id, node))
    }

    /// Nodes without a request: under `PreferGpu` each on the first GPU that can run it; under `Auto` all on the one device
    /// that the cost model finds soonest done, where it has the kernels.
    fn place_free(
        &self,
        graph: &Graph,
        free: &[NodeId],
        places: &mut [Option<(usize, Reason)>],
    ) -> Result<()> {
        let devices = &self.table.devices;
        let order: Vec<usize> = match self.config.rule {
            PlacementRule::PreferGpu => {
                let gpu = |d: &usize| devices[*d].id().kind != DeviceKind::Gpu;
                let mut order: Vec<usize> = (0..devices.len()).collect();
                order.sort_by_key(gpu);
                order
            }
            PlacementRule::Auto => self.soonest(graph, free, places),
        };
        for &id in free {
            let node = graph.node(id);
            let found = order.iter().find(|&&d| self.can_run(graph, node, &devices[d]));
            let &device = found.ok_or_else(|| self.no_kernel(graph, id, node))?;
            let reason = match self.config.rule {
                _ if devices.len() == 1 => Reason::OnlyDevice,
                PlacementRule::PreferGpu if devices[device].id().kind == DeviceKind::Gpu => Reason::PreferGpu,
                PlacementRule::PreferGpu => Reason::OnlyDevice,
                PlacementRule::Auto if device != order[0] => Reason::NoKernel {
                    op: node.content.name(),
                    dtype: self.dtype(graph, node),
                    wanted: devices[order[0]].id(),
                },
                PlacementRule::Auto => {
                    let work = self.seconds(graph, node, order[0]);
                    let next = order.get(1).copied().unwrap_or(order[0]);
                    Reason::Faster { than: devices[next].id(), saves: self.seconds(graph, node, next) - work }
                }
            };
            places[id.index()] = Some((device, reason));
        }
        Ok(())
    }

    /// Devices by how soon the unrequested nodes would be done there as a whole, copies at the edges included.
    fn soonest(&self, graph: &Graph, free: &[NodeId], places: &[Option<(usize, Reason)>]) -> Vec<usize> {
        let mut costs: Vec<(f64, usize)> = (0..self.table.devices.len())
            .map(|device| {
                let mut seconds = 0.0;
                for &id in free {
                    let node = graph.node(id);
                    seconds += self.seconds(graph, node, device);
                    for input in &node.inputs {
                        if let Some((from, _)) = places[input.node.index()]
                            && from != device
                        {
                            seconds += self.copy_seconds(from, device, graph.type_of(*input).bytes());
                        }
                    }
                }
                (seconds, device)
            })
            .collect();
        costs.sort_by(|a, b| a.0.total_cmp(&b.0));
        costs.into_iter().map(|(_, device)| device).collect()
    }

    fn copy_seconds(&self, from: usize, to: usize, bytes: usize) -> f64 {
        let ends = [&self.table.devices[from], &self.table.devices[to]];
        ends.iter().filter(|d| d.id().kind != DeviceKind::Cpu).map(|d| d.costs().copy(bytes)).sum()
    }

    fn seconds(&self, graph: &Graph, node: &Node, device: usize) -> f64 {
        match &node.content {
            Content::Op(op) => {
                let inputs = input_types(graph, node);
                self.table.devices[device].costs().compute(&op.work(&inputs, &node.types))
            }
            _ => self.table.devices[device].costs().launch,
        }
    }

    fn dtype(&self, graph: &Graph, node: &Node) -> situ_core::DType {
        match &node.content {
            Content::Op(op) => op.kernel_dtype(&input_types(graph, node), &node.types),
            _ => node.types.first().map_or(situ_core::DType::F32, |t| t.dtype),
        }
    }

    fn no_kernel(&self, graph: &Graph, _: NodeId, node: &Node) -> Error {
        let (op, dtype) = (node.content.name(), self.dtype(graph, node));
        Error::NoKernel(Box::new(NoKernel { op, dtype, device: None, have: Vec::new() }))
    }

    /// Whether a device has every kernel a node needs; of a branch, those of the graphs within.
    fn can_run(&self, graph: &Graph, node: &Node, device: &Arc<LogicalDevice>) -> bool {
        can_run(graph, node, device)
    }
}

/// Whether a device has every kernel a node needs; of a branch, those of the graphs within.
fn can_run(graph: &Graph, node: &Node, device: &Arc<LogicalDevice>) -> bool {
    let whole = |g: &Graph| g.nodes().iter().all(|n| can_run(g, n, device));
    match &node.content {
        Content::Input(_) | Content::Capture(_) | Content::Variable(_) => true,
        Content::Op(op) if is_view(op) => true,
        Content::Op(op) => {
            device.device().is_ok_and(|d| d.kernel(op, &input_types(graph, node), &node.types).is_some())
        }
        Content::Cond(cond) => whole(&cond.then) && whole(&cond.otherwise),
        Content::While(repeated) => whole(&repeated.condition) && whole(&repeated.body),
    }
}

/// The types of a node's inputs.
pub(crate) fn input_types(graph: &Graph, node: &Node) -> Vec<TensorType> {
    node.inputs.iter().map(|v| graph.type_of(*v)).collect()
}

/// Whether an op only looks at its input differently.
pub(crate) fn is_view(op: &Op) -> bool {
    matches!(op, Op::Reshape(_) | Op::Permute(_) | Op::Expand(_) | Op::Slice(_))
}
