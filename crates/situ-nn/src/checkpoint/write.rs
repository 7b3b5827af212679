//! Writing.

use super::saved::Saved;
use super::{STATE, state_name, to_file};
use crate::Weight;
use crate::train::Training;
use safetensors::tensor::{Metadata, TensorInfo};
use situ_core::{Error, Result, replace_file};
use situ_tensor::{Tensor, Variable};
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

/// A tensor whose bytes can be had: in the host's memory already, or read from its device.
struct Held {
    tensor: Tensor,
    read: Option<Vec<u8>>,
}

impl Held {
    fn new(variable: &Variable) -> Result<Held> {
        let tensor = variable.value();
        let read = if tensor.host_bytes().is_some() { None } else { Some(tensor.to_bytes()?) };
        Ok(Held { tensor, read })
    }
}

impl Held {
    fn bytes(&self) -> &[u8] {
        match &self.read {
            Some(bytes) => bytes,
            None => self.tensor.host_bytes().unwrap_or_default(),
        }
    }
}

/// Writes the form of safetensors: the size of the header, the header, the bytes of every tensor. The crate's
/// own writer makes files that only their owner may read, and leaves one behind when it is killed.
fn write(
    path: &Path,
    mut tensors: Vec<(String, Held)>,
    metadata: Option<HashMap<String, String>>,
) -> Result<()> {
    // Wide numbers first, as readers want them aligned.
    tensors.sort_by(|(a, left), (b, right)| {
        let size = |held: &Held| held.tensor.dtype().size();
        size(right).cmp(&size(left)).then_with(|| a.cmp(b))
    });
    let mut end = 0;
    let infos = tensors.iter().map(|(name, held)| {
        let start = end;
        end += held.bytes().len();
        let (dtype, shape) = (to_file(held.tensor.dtype()), held.tensor.shape().dims().to_vec());
        (name.clone(), TensorInfo { dtype, shape, data_offsets: (start, end) })
    });
    let unwritten =
        |why: String| Error::file(path.to_string_lossy(), "", why, "what was there before is as it was");
    let header = Metadata::new(metadata, infos.collect()).map_err(|e| unwritten(e.to_string()))?;
    let mut header = serde_json::to_vec(&header).map_err(|e| unwritten(e.to_string()))?;
    header.resize(header.len().next_multiple_of(8), b' ');
    replace_file(path, |file| {
        file.write_all(&(header.len() as u64).to_le_bytes())?;
        file.write_all(&header)?;
        tensors.iter().try_for_each(|(_, held)| file.write_all(held.bytes()))
    })
}

fn held(weights: &[Weight]) -> Result<Vec<(String, Held)>> {
    let mut tensors = Vec::with_capacity(weights.len());
    for weight in weights {
        if weight.name.starts_with(STATE) {
            return Err(Error::argument(
                "save",
                format!("a weight has the name {}, and {STATE} is the optimizer's", weight.name),
                "give its layer another name",
            ));
        }
        tensors.push((weight.name.clone(), Held::new(&weight.variable)?));
    }
    Ok(tensors)
}

/// Writes weights alone to a safetensors file, in the place of what was there.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::checkpoint::{load_weights, save_weights};
/// use situ_nn::{Maker, Penalty};
/// use situ_tensor::tensor;
/// let weight = Maker::new(0).weight("kernel", &tensor([1.0f32, 2.0])?, true, Penalty::default())?;
/// let path = std::env::temp_dir().join(format!("situ-doc-{}.safetensors", std::process::id()));
/// save_weights(&path, &[weight.clone()])?;
/// weight.variable.assign(&tensor([0.0f32, 0.0])?)?;
/// load_weights(&path, &[weight.clone()])?;
/// assert_eq!(weight.variable.value().to_vec::<f32>()?, [1.0, 2.0]);
/// # std::fs::remove_file(path).unwrap();
/// # Ok(()) }
/// ```
pub fn save_weights(path: impl AsRef<Path>, weights: &[Weight]) -> Result<()> {
    write(path.as_ref(), held(weights)?, None)
}

impl Training {
    /// Writes weights, optimizer state and position to one file: the old file, or the new one, is there at
    /// any moment.
    pub fn save(&mut self, path: &Path) -> Result<()> {
        // Sums of the epoch under way are part of the position.
        self.figures()?;
        let mut tensors = held(&self.weights)?;
        for (weight, state, variable) in self.stepper.bound().state() {
            tensors.push((state_name(state, weight), Held::new(variable)?));
        }
        write(path, tensors, Some(Saved::of(self).into_metadata()?))
    }
}
