//! A table from a CSV file becomes batches: columns of numbers and of words, normalised, shuffled, ready
//! ahead of their use.

use situ::data::transform::Normalize;
use situ::data::{Csv, Dataset};
use situ::prelude::*;
use std::path::Path;

/// A table to read: two numbers and a word in each row.
pub(crate) fn write_table(path: &Path) -> Result<()> {
    let mut text = String::from("length,width,kind\n");
    for n in 0..100 {
        let (length, width) = (4.0 + 0.03 * f64::from(n), 3.0 - 0.01 * f64::from(n));
        let kind = ["setosa", "virginica"][usize::from(n >= 50)];
        text += &format!("{length:.2},{width:.2},{kind}\n");
    }
    let path_text = path.display().to_string();
    std::fs::write(path, text)
        .map_err(|error| Error::file(path_text, "", error.to_string(), "name a folder that can be written"))
}

/// Features and labels of some rows.
pub(crate) type Batch = (Tensor, Tensor);

/// The batches of one epoch, and the words that the labels stand for.
pub(crate) fn program(path: &Path) -> Result<(Vec<Batch>, Vec<String>)> {
    let table = Csv::new().read(path)?;
    let features = table.floats(&["length", "width"])?;
    // Words become numbers from 0 on; the names say which is which.
    let (labels, names) = table.categories("kind")?;

    let normalize = Normalize::of(&features)?;
    let batches = Dataset::from_tensors((features, labels))?
        .shuffle(100, 7)
        .batch(32)
        .map(move |(x, y)| Ok((normalize.apply(&x)?, y)))
        .prefetch(2);
    Ok((batches.iter().collect::<Result<_>>()?, names))
}

pub(crate) fn main() -> Result<()> {
    let path = std::env::temp_dir().join(format!("situ-flowers-{}.csv", std::process::id()));
    write_table(&path)?;
    let (batches, names) = program(&path)?;
    for (x, y) in &batches {
        println!("{} and {} on {}", x.tensor_type(), y.tensor_type(), x.device());
    }
    println!("0 is {}, 1 is {}", names[0], names[1]);
    let _ = std::fs::remove_file(path);
    Ok(())
}
