//! Writes the seeds of every target into a folder each: `seeds FOLDER`.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "fuzz/corpus".into()));
    for target in situ_fuzz::TARGETS {
        let folder = folder.join(target.name);
        std::fs::create_dir_all(&folder)?;
        for (number, seed) in (target.seeds)().iter().enumerate() {
            std::fs::write(folder.join(format!("seed{number}")), seed)?;
        }
    }
    Ok(())
}
