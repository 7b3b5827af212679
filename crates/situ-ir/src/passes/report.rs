//! What a pass did, and what it nearly did.

use crate::graph::{Node, NodeId, Source};
use std::fmt;

/// One thing about one node.
#[derive(Clone, Debug)]
pub struct Note {
    /// The node, by its number in the graph that the pass was given.
    pub node: NodeId,
    /// The blocks in which it stands: empty, or such as `%5/then/`.
    pub within: String,
    /// The op of that node.
    pub op: &'static str,
    /// Where it was called.
    pub source: Source,
    /// What was done, or why it was not.
    pub text: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%{} {}", self.within, self.node.0, self.op)?;
        if self.source.0.is_some() {
            write!(f, " ({})", self.source)?;
        }
        write!(f, ": {}", self.text)
    }
}

/// What one pass did to one graph.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The pass, by its name.
    pub pass: &'static str,
    /// What it changed.
    pub did: Vec<Note>,
    /// What it would have changed, but for the reason given.
    pub nearly: Vec<Note>,
}

impl Report {
    /// An empty report.
    pub fn new(pass: &'static str) -> Report {
        Report { pass, ..Report::default() }
    }

    pub(super) fn note(within: &str, id: NodeId, node: &Node, text: impl Into<String>) -> Note {
        Note {
            node: id,
            within: within.to_string(),
            op: node.content.name(),
            source: node.source,
            text: text.into(),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} done, {} nearly", self.pass, self.did.len(), self.nearly.len())?;
        for note in &self.did {
            writeln!(f, "  did    {note}")?;
        }
        for note in &self.nearly {
            writeln!(f, "  nearly {note}")?;
        }
        Ok(())
    }
}
