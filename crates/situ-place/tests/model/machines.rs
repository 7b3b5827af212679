//! The machine profiles that are shipped.

use situ_place::machine::{Profile, shipped};
use situ_place::{CostGraph, Problem};

#[test]
fn every_shipped_profile_is_a_machine_that_says_where_it_comes_from() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/machines");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert_eq!(shipped(name), Some(&*text), "{name} in the table of those that are shipped");
        let profile = Profile::from_toml(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Problem::new(&CostGraph::default(), &profile.machine)
            .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(!profile.measured && profile.source.len() > 10, "{}", path.display());
        assert_eq!(profile.figures.len(), profile.machine.devices.len(), "{}", path.display());
        count += 1;
    }
    assert!(count >= 3, "{count} profiles");
}

#[test]
fn a_profile_that_makes_no_sense_is_an_error_with_its_place() {
    let good = "name = 'x'\nsource = 'y'\n[[machine.devices]]\nname = 'CPU:0'\n";
    assert!(Profile::from_toml(good).is_ok());
    for (text, expected) in [
        ("name = 'x'", "line 1: missing field `source`"),
        ("name = 'x'\nsource = 3", "line 2"),
        (&format!("{good}slots = 'many'"), "line 5"),
        (
            &format!("{good}[figures.'GPU:0']\nflops = 1\nbandwidth = 1"),
            "figures[\"GPU:0\"]: there is no such device",
        ),
        (&format!("{good}[figures.'CPU:0']\nflops = -1.0\nbandwidth = 1"), "figures[\"CPU:0\"].flops: -1"),
    ] {
        let error = Profile::from_toml(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}
