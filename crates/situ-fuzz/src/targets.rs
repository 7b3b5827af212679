//! The parsers: texts as they are, files by way of the folder for temporary ones.

mod files;
mod texts;

use crate::Target;

/// All of them.
pub const TARGETS: &[Target] = &[
    Target { name: "device_name", seeds: texts::device_names, run: texts::device_name },
    Target { name: "graph_text", seeds: texts::graphs, run: texts::graph },
    Target { name: "cost_graph", seeds: texts::cost_graphs, run: texts::cost_graph },
    Target { name: "machine", seeds: texts::machines, run: texts::machine },
    Target { name: "record", seeds: texts::records, run: texts::record },
    Target { name: "pattern", seeds: texts::patterns, run: texts::pattern },
    Target { name: "calibration", seeds: files::calibrations, run: files::calibration },
    Target { name: "npy", seeds: files::npys, run: files::npy },
    Target { name: "idx", seeds: files::idxs, run: files::idx },
    Target { name: "csv", seeds: files::csvs, run: files::csv },
    Target { name: "checkpoint", seeds: files::checkpoints, run: files::checkpoint },
];
