//! Where what a program is given is: its arguments, variables and captured tensors.

use super::candidates::CandidateContext;
use super::compile::Program;
use super::fit::position;
use crate::config::{PlacementRule, Table};
use crate::runtime::State;
use crate::storage::DeviceTensor;
use situ_core::{DeviceId, Result};
use situ_ir::{Content, Graph, Node};

/// Where a program's sources are, by positions in the table.
pub(super) struct Given {
    pub(super) variables: Vec<usize>,
    /// By node; none of what is computed.
    pub(super) homes: Vec<Option<usize>>,
    /// Which variables placement may move.
    movable: Vec<bool>,
}

impl Given {
    pub(super) fn of(
        program: &Program<'_>,
        graph: &Graph,
        captures: &[DeviceTensor],
        state: &State,
    ) -> Result<Given> {
        let all = |ids: &[DeviceId]| positions(&state.table, ids.iter().copied());
        let (arguments, variables) = (all(program.arguments)?, all(program.variables)?);
        let captured = positions(&state.table, captures.iter().map(DeviceTensor::device))?;
        let home = |node: &Node| match node.content {
            Content::Input(n) => arguments.get(n as usize).copied(),
            Content::Capture(n) => captured.get(n as usize).copied(),
            Content::Variable(n) => variables.get(n as usize).copied(),
            Content::Op(_) | Content::Cond(_) | Content::While(_) => None,
        };
        let homes = graph.nodes().iter().map(home).collect();
        // A variable is moved by who assigns it, and only where placement has its way.
        let assigned = |n: usize| graph.updates().iter().any(|(variable, _)| *variable as usize == n);
        let may_move = |(n, &allowed): (usize, &bool)| {
            allowed && assigned(n) && state.config.rule != PlacementRule::Manual
        };
        let movable = program.movable.iter().enumerate().map(may_move).collect();
        Ok(Given { variables, homes, movable })
    }

    /// What finding candidates for its ops needs to know.
    pub(super) fn context<'a>(
        &'a self,
        program: &Program<'a>,
        state: &'a State,
        reach: &'a [bool],
    ) -> CandidateContext<'a> {
        CandidateContext {
            table: &state.table,
            config: &state.config,
            call: program.call,
            homes: &self.homes,
            movable: &self.movable,
            reach,
            in_parts: false,
        }
    }
}

fn positions(table: &Table, ids: impl Iterator<Item = DeviceId>) -> Result<Vec<usize>> {
    ids.map(|id| position(table, id)).collect()
}
