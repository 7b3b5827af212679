//! What people are told of a placement when it is made: a line for each op if they asked for it, fallbacks
//! always.

use super::candidates::{CandidateContext, dtype};
use super::plan::DeviceIndex;
use crate::notice::Topic;
use crate::policy::{self, Moment};
use crate::runtime::{Inner, State};
use situ_core::{Location, Reason};
use situ_ir::Graph;

/// What announcing a placement needs.
pub(super) struct Announced<'a> {
    pub(super) inner: &'a Inner,
    pub(super) state: &'a State,
    pub(super) context: &'a CandidateContext<'a>,
}

impl Announced<'_> {
    /// Says what people asked to be told of placements, and books fallbacks.
    pub(super) fn all(&self, graph: &Graph, assignment: &[(DeviceIndex, Reason)], is_block: bool) {
        let Announced { inner, state, context } = *self;
        for (id, node) in graph.iter().filter(|(_, node)| !node.content.is_source()) {
            let (device, why) = assignment[id.index()];
            let ran = state.table.devices[device].id();
            let op = node.content.name();
            if state.config.log_placement {
                let text = format!("{op} -> {ran}: {why} ({}), in a function", node.source);
                inner.notices.say(Topic::Placement, text);
            }
            let Some(wanted) = why.wanted() else { continue };
            let request = context.request(node);
            let fallback = request.fallback.unwrap_or(state.config.fallback);
            let report = policy::report(&why, &request, fallback, Moment::Planned);
            if report.booked {
                let location = node.source.0.unwrap_or_else(|| Location::here());
                match is_block {
                    // A recording knows the outermost graph alone from its plan.
                    true => inner.journal.fell_back(wanted, ran, op, why, location),
                    false => inner.journal.ledger.book_fallback(wanted, ran, op, location, 0.0),
                }
            }
            if report.said {
                inner.notices.say_once(Topic::Fallback, op, dtype(graph, node), wanted, || {
                    format!("{op} runs on {ran}: {why} ({}), at each call of its function", node.source)
                });
            }
        }
    }
}
