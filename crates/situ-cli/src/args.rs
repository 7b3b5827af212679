//! What can be typed after `situ`.

use clap::{Parser, Subcommand};

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
    /// What situ does, in a few seconds: placement, its reasons, fallbacks, memory limits, the ledger
    Demo(Output),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Output {
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        Args::command().debug_assert();
    }
}
