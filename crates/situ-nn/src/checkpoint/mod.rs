//! Checkpoints: training in one safetensors file.
//!
//! Weights are under their own names, so that any program that reads safetensors can use them; the
//! optimizer's state is under `optimizer/`, and the position (step, epoch, batch, and a fingerprint of the
//! data it is in), the seed, the learning rate if it was set, what callbacks want kept and the weights'
//! devices are in the file's metadata.
//!
//! # Promises
//! - A file is written beside the old one, synced, and renamed over it: a kill at any moment leaves the old
//!   one or the new one.
//! - A file that does not fit changes nothing, and the error names every weight that is missing, too many, or
//!   of another type.
//! - With `set_deterministic(true)`, training goes on from a file, on the same data, bit for bit as it would
//!   have without the stop.
//!
//! # What it leaves to others
//! When to save (`callbacks::Checkpoint`). One program at a time writes a file.

mod rate;
mod read;
mod saved;
mod write;

pub use read::load_weights;
pub use write::save_weights;

use situ_core::DType;

/// What the names of the optimizer's tensors begin with.
const STATE: &str = "optimizer/";
/// The key of the metadata.
const KEY: &str = "situ";

fn state_name(state: &str, weight: &str) -> String {
    format!("{STATE}{state}/{weight}")
}

fn to_file(dtype: DType) -> safetensors::Dtype {
    macro_rules! names {
        ($([$variant:ident ($rust:ty) $class:ident $name:literal $npy:literal $file:ident $doc:literal])*) => {
            match dtype { $(DType::$variant => safetensors::Dtype::$file,)* }
        };
    }
    situ_core::dtype_table!([names])
}
