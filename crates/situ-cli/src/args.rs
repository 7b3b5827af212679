//! What can be typed after `situ`.

use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// Tensor programs in their proper place: CPU and GPU, decided and explained.
#[derive(Debug, Parser)]
#[command(name = "situ", version, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The machine's devices, and what programs see of them
    Devices(Output),
    /// What is fine on this machine, what is not, and what to do about it
    ///
    /// Ends with 0 unless something is broken.
    Doctor(Output),
    /// Measures the devices, so that placement goes by what this machine does; a few seconds each
    Calibrate(Calibrate),
    /// What situ does, in less than a minute: training, placement, its reasons, memory limits, fallbacks, the
    /// ledger
    Demo(Demo),
    /// Decides where and when each node of a cost graph runs, and why
    ///
    /// The graph is a JSON file of devices, links, nodes and edges. The answer is a summary, or JSON with
    /// --json or --out. Ctrl-C ends the search with the best answer so far.
    Place(Place),
    /// Shows a saved record: a page with its timeline, graph, memory, copies, and what to do
    View(View),
    /// Why an op of a saved record runs where it does, what other devices would change, and what is copied
    /// for it
    Why(Why),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Output {
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Demo {
    /// Epochs of each training
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) epochs: u16,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) to: RecordTo,
}

/// What a command that runs something writes about it.
#[derive(Debug, clap::Args)]
pub(crate) struct RecordTo {
    /// Write what happened to a file, for `situ view` and `situ why`
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Write what happened as a trace, which ui.perfetto.dev and chrome://tracing open
    #[arg(long, value_name = "FILE.json")]
    pub(crate) trace: Option<PathBuf>,
    /// Write what happened as a page that any browser opens
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Write what happened to a folder that TensorBoard reads
    #[arg(long, value_name = "DIR")]
    pub(crate) tensorboard: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct View {
    /// The record
    pub(crate) record: PathBuf,
    /// Where to write the page [default: the record's name with .html]
    #[arg(long, value_name = "FILE.html")]
    pub(crate) out: Option<PathBuf>,
    /// Write the page and leave the browser alone
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Print tables instead of a page
    #[arg(long, conflicts_with_all = ["out", "json"])]
    pub(crate) text: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Why {
    /// The record
    pub(crate) record: PathBuf,
    /// The op: its name or those around it, such as matmul, dense/* or /encoder/dense
    pub(crate) op: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Calibrate {
    /// Only this device, such as GPU:0
    pub(crate) device: Option<String>,
    /// Measure nothing new: compare what the costs say with ops that they were not fitted to
    #[arg(long)]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Place {
    /// The cost graph
    pub(crate) graph: PathBuf,
    /// Put the graph on this machine instead of its own: a100-pcie, h100-sxm-4, rtx4090, or the file of a
    /// profile
    #[arg(long, value_name = "MACHINE")]
    pub(crate) machine: Option<PathBuf>,
    /// Write the answer to a file, as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// How long to search, in seconds; the answer is not repeatable [default: 1]
    #[arg(long, value_name = "S", value_parser = seconds, conflicts_with = "moves")]
    pub(crate) seconds: Option<f64>,
    /// How many moves to try; the same moves and seed give the same answer
    #[arg(long, value_name = "N")]
    pub(crate) moves: Option<u64>,
    /// Where the random choices begin
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// How many threads search; they change nothing in the answer to --moves
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = threads)]
    pub(crate) threads: usize,
    /// The algorithm; a wrong name lists them all
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub(crate) algorithm: String,
    /// Say of every node why it is where it is, and what every other device would change
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Place it by every algorithm and show what each reaches
    #[arg(long, conflicts_with_all = ["explain", "algorithm"])]
    pub(crate) compare: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds >= 0.0 => Ok(seconds),
        _ => Err("not a number of seconds".to_owned()),
    }
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(threads @ 1..=1024) => Ok(threads),
        _ => Err("not a number of threads from 1 to 1024".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        Args::command().debug_assert();
    }
}
