//! A placement and a plan of it that fit the memory that there is.
//!
//! The placer goes by a model of memory; what a plan takes is known once it is packed, and beside what the
//! device holds by then. So a plan that takes too much is made again with less for the placer to give; where
//! the model has no answer that low, the largest results leave the device one after the other, until the plan
//! fits.

use super::assemble::{LaneAssignment, assemble};
use super::candidates::{CandidateContext, Candidates};
use super::costing::Costing;
use super::lower::{Ends, Host, Reader, lower};
use super::measure::Measured;
use super::place::{Placed, place};
use super::plan::{DeviceIndex, ExecutionPlan, Nested};
use crate::able;
use crate::config::Table;
use crate::ledger::Cause;
use crate::logical::LogicalDevice;
use crate::notice::Topic;
use crate::policy;
use crate::runtime::{Inner, State};
use crate::storage::DeviceTensor;
use crate::transfer::{self, CopyPurpose};
use situ_core::{DeviceId, Error, Location, Policy, Reason, Result, reason};
use situ_ir::{Content, Graph, Node};
use situ_place::Placement;
use std::sync::Arc;

/// How often a graph is placed anew because its plan, once packed, takes more memory than the placer thought.
const PLACE_AGAIN: usize = 4;

/// A device's place in the table.
pub(super) fn position(table: &Table, id: DeviceId) -> Result<usize> {
    table.devices.iter().position(|d| d.id() == id).ok_or_else(|| {
        Error::config(
            format!("compile for {id}"),
            "that device is not visible any more",
            "move its tensors first",
        )
    })
}

/// Where the variables are while a placement runs: where they were, or where it moves them.
pub(super) fn homes_of(
    graph: &Graph,
    before: &[DeviceIndex],
    assignment: &[(DeviceIndex, Reason)],
) -> Vec<DeviceIndex> {
    let mut homes = before.to_vec();
    for (id, node) in graph.iter() {
        if let Content::Variable(n) = node.content {
            homes[n as usize] = assignment[id.index()].0;
        }
    }
    homes
}

/// A captured tensor's copy on another device.
pub(super) struct Replica {
    capture: usize,
    device: DeviceIndex,
    location: Location,
}

/// A search under way for a plan that fits.
pub(super) struct Fitting<'a> {
    pub(super) inner: &'a Inner,
    pub(super) state: &'a State,
    pub(super) context: &'a CandidateContext<'a>,
    pub(super) captures: Vec<DeviceTensor>,
    /// Copies of captured tensors that the plan has on other devices for good; their numbers follow on those
    /// of the captures.
    pub(super) replicas: Vec<Replica>,
    /// Copies that the plan has so far, those inside of branches included.
    pub(super) copies: usize,
    /// Whether there may be such copies.
    pub(super) replicating: bool,
    pub(super) variables: &'a [DeviceIndex],
    pub(super) measured: &'a Measured,
    /// A placement of the same nodes for other sizes, to begin from.
    pub(super) start: Option<&'a Placement>,
}

impl Fitting<'_> {
    /// A plan within the limits if there is one. Where there is none, the plan that a call will refuse with a
    /// report of what is missing.
    pub(super) fn planned(
        &mut self,
        graph: &Graph,
        candidates: &[Option<Candidates>],
    ) -> Result<(ExecutionPlan, Placed)> {
        let devices = &self.state.table.devices;
        let free = self.free();
        let mut full = vec![false; devices.len()];
        if let Some(found) = self.within_the_model(graph, candidates, free.clone(), &mut full)? {
            return Ok(found);
        }
        if let Some(found) = self.with_results_elsewhere(graph, candidates, &free, &full)? {
            return Ok(found);
        }
        let placed = self.placed(graph, candidates, &vec![None; devices.len()])?;
        let placed = placed.ok_or_else(|| {
            Error::argument(
                "function",
                "it has no placement even without limits",
                "this is a defect of the placer",
            )
        })?;
        Ok((self.plan(graph, &placed)?, placed))
    }

    /// Bytes free on each device; `None`: no limit.
    pub(super) fn free(&self) -> Vec<Option<f64>> {
        let of = |d: &Arc<LogicalDevice>| {
            let info = d.memory_info();
            // Copies of captured tensors that are there already are in use, and are no more to come.
            let there = self.captures.iter().filter(|t| t.lent_on(d.id()).is_some());
            let there: usize = there.map(|t| t.tensor_type().bytes()).sum();
            info.limit.map(|limit| (limit + there).saturating_sub(info.in_use) as f64)
        };
        self.state.table.devices.iter().map(of).collect()
    }

    /// A plan that fits, by giving the placer less than there is where its plans take more than it thought.
    /// Marks the devices that were too full.
    fn within_the_model(
        &mut self,
        graph: &Graph,
        candidates: &[Option<Candidates>],
        mut free: Vec<Option<f64>>,
        full: &mut [bool],
    ) -> Result<Option<(ExecutionPlan, Placed)>> {
        for attempt in 0..=PLACE_AGAIN {
            let Some(placed) = self.placed(graph, candidates, &free)? else {
                if !full.contains(&true) {
                    // Somewhere, and the host is where everything can be.
                    let devices = &self.state.table.devices;
                    full.iter_mut().zip(devices).for_each(|(full, d)| *full = !d.capabilities().last_resort);
                }
                return Ok(None);
            };
            let plan = self.plan(graph, &placed)?;
            let missing = self.missing(&plan);
            if missing.iter().all(|&missing| missing == 0) {
                return Ok(Some((plan, placed)));
            }
            for (device, &missing) in missing.iter().enumerate() {
                let (1.., Some(free)) = (missing, &mut free[device]) else { continue };
                full[device] = true;
                // Less than this placement takes, by what is missing, and by more each time: packing has its
                // own overhead.
                let prediction = &placed.prediction;
                let limit = prediction.costed.problem.devices()[device].memory.unwrap_or(*free);
                let unused = (limit - prediction.placement.peak_memory[device]).max(0.0);
                *free -= unused + (missing as f64).max(*free / 32.0 * attempt as f64);
            }
        }
        Ok(None)
    }

    /// A plan that fits, by keeping the largest results off the devices that are too full: one, then two,
    /// four, all that can be elsewhere.
    fn with_results_elsewhere(
        &mut self,
        graph: &Graph,
        candidates: &[Option<Candidates>],
        free: &[Option<f64>],
        full: &[bool],
    ) -> Result<Option<(ExecutionPlan, Placed)>> {
        let mut movable: Vec<(usize, usize)> = Vec::new();
        for (id, node) in graph.iter().filter(|(_, node)| !node.content.is_source()) {
            let Some(found) = &candidates[id.index()] else { continue };
            if found.devices.iter().any(|&d| full[d]) && found.devices.iter().any(|&d| !full[d]) {
                movable.push((node.types.iter().map(|t| t.bytes()).sum(), id.index()));
            }
        }
        movable.sort_by_key(|&(bytes, node)| (std::cmp::Reverse(bytes), node));
        let mut count = 1;
        let mut kept_off = candidates.to_vec();
        let mut done = 0;
        while done < movable.len() {
            for &(_, node) in &movable[done..count.min(movable.len())] {
                if let Some(found) = &mut kept_off[node] {
                    let left =
                        found.devices.iter().find(|d| full[**d]).map(|d| self.state.table.devices[*d].id());
                    found.devices.retain(|d| !full[*d]);
                    found.reason = found.reason.or(left.map(|full| Reason::MemoryLimit { full }));
                }
            }
            done = count.min(movable.len());
            count *= 2;
            if let Some(placed) = self.placed(graph, &kept_off, free)? {
                let plan = self.plan(graph, &placed)?;
                if self.missing(&plan).iter().all(|&missing| missing == 0) {
                    return Ok(Some((plan, placed)));
                }
            }
        }
        Ok(None)
    }

    /// How many bytes each device is short of for a plan.
    fn missing(&self, plan: &ExecutionPlan) -> Vec<usize> {
        let mut sizes = plan.allocations();
        for replica in self.replicas.iter().filter(|r| self.lent(r).is_none()) {
            sizes[replica.device].push(self.captures[replica.capture].tensor_type().bytes());
        }
        self.state.table.devices.iter().zip(&sizes).map(|(device, sizes)| device.missing(sizes)).collect()
    }

    /// The graph placed with so much to give.
    pub(super) fn placed(
        &self,
        graph: &Graph,
        candidates: &[Option<Candidates>],
        free: &[Option<f64>],
    ) -> Result<Option<Placed>> {
        let devices = &self.state.table.devices;
        let costing = Costing {
            keeps_captures: self.replicating,
            devices,
            width: self.width(),
            free,
            variables: self.variables,
            movable: self.context.movable,
            measured: self.measured,
        };
        let costed = costing.problem(graph, candidates)?;
        place(graph, devices, candidates, costed, self.state.config.rule, self.start)
    }

    fn width(&self) -> usize {
        self.state.config.inter_op_threads.unwrap_or(1)
    }

    fn plan(&mut self, graph: &Graph, placed: &Placed) -> Result<ExecutionPlan> {
        let devices = &self.state.table.devices;
        let width = self.width();
        let variables = homes_of(graph, self.variables, &placed.assignment);
        self.replicas.clear();
        self.copies = 0;
        let (assignment, order) = (&placed.assignment, &placed.order);
        let lowered = lower(graph, devices, assignment, order, &variables, Ends::AsMade, self)?;
        assemble(devices, lowered, graph, assignment, LaneAssignment::ByDevice(width))
    }

    /// The captured tensors, and behind them the copies of them that the plan reads.
    pub(super) fn replicated(&self) -> Result<Vec<DeviceTensor>> {
        let table = &self.state.table;
        let mut all = self.captures.clone();
        for replica in &self.replicas {
            // Functions hold a captured tensor once on each device, however many plans read it there.
            if let Some(lent) = self.lent(replica) {
                all.push(lent);
                continue;
            }
            let Replica { capture, device, location } = replica;
            let reason = Reason::Colocated { with: "its readers" };
            let purpose =
                CopyPurpose { cause: Cause::Implicit, op: "capture", reason, caller: (*location).into() };
            let from = &self.captures[*capture];
            let copy = transfer::copy(table, &self.inner.journal, from, &table.devices[*device], purpose)?;
            from.lend(&copy);
            all.push(copy);
        }
        Ok(all)
    }

    /// The copy that other plans hold already.
    fn lent(&self, replica: &Replica) -> Option<DeviceTensor> {
        self.captures[replica.capture].lent_on(self.state.table.devices[replica.device].id())
    }

    /// What a node that reads from elsewhere is allowed.
    fn copy_policy(&self, node: &Node) -> Policy {
        self.context.request(node).copies.unwrap_or(self.state.config.copies)
    }
}

impl Host for Fitting<'_> {
    fn nest(&mut self, graph: &Graph, device: DeviceIndex, ends: Ends) -> Result<Nested> {
        let devices = &self.state.table.devices;
        let assignment = self.context.inside(graph, device)?;
        let order: Vec<_> = graph.iter().map(|(id, _)| id).collect();
        let lowered = lower(graph, devices, &assignment, &order, &[], ends, self)?;
        // It runs within the lane of its node, wherever that runs.
        let plan = assemble(devices, lowered, graph, &assignment, LaneAssignment::Together)?;
        Ok(Nested { plan, assignment })
    }

    fn number_copy(&mut self) -> usize {
        self.copies += 1;
        self.copies - 1
    }

    fn replicate(
        &mut self,
        capture: usize,
        reader: Reader<'_>,
        device: DeviceIndex,
    ) -> Result<Option<usize>> {
        let bytes = self.captures[capture].tensor_type().bytes();
        // Where only a part of it is read, it may be larger than what the device can hold.
        if !self.replicating || able::fits(&self.state.table.devices[device], bytes).is_err() {
            return Ok(None);
        }
        let known = self.replicas.iter().position(|r| (r.capture, r.device) == (capture, device));
        let number = match known {
            Some(known) => known,
            None => {
                let from = position(&self.state.table, self.captures[capture].device())?;
                self.allow_copy(reader, from, device, bytes)?;
                let location = reader.node.source.0.unwrap_or_else(|| Location::here());
                self.replicas.push(Replica { capture, device, location });
                self.replicas.len() - 1
            }
        };
        Ok(Some(self.captures.len() + number))
    }

    fn allow_copy(
        &mut self,
        reader: Reader<'_>,
        from: DeviceIndex,
        to: DeviceIndex,
        bytes: usize,
    ) -> Result<()> {
        let Reader { node, input } = reader;
        let [from, to] = [from, to].map(|d| self.state.table.devices[d].id());
        let op = node.content.name();
        if policy::copy(self.copy_policy(node), || Error::copy_forbidden(op, input, from, to, bytes))? {
            let dtype = node.types.first().map_or(situ_core::DType::F32, |t| t.dtype);
            self.inner.notices.say_once(Topic::Copy, op, dtype, to, || {
                format!(
                    "{op} on {to} copies its input {input} ({}) from {from} at each call of its function ({})",
                    reason::bytes(bytes),
                    node.source
                )
            });
        }
        Ok(())
    }
}
