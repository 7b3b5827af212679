//! Everything in situ that parses bytes, as targets for a fuzzer.
//!
//! A [`Target`] reads bytes as a file of its kind and asks the result a few questions. It may say that the
//! bytes are wrong; it must not panic, hang, or take memory out of proportion. The same targets are run by
//! `cargo fuzz` (`fuzz/`, `make fuzz`) and, with mutations of their seeds, by the tests of this crate.

mod mutate;
mod targets;

pub use mutate::Mutator;
pub use targets::TARGETS;

/// A parser, and inputs that it accepts.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name: that of the file in `fuzz/fuzz_targets/`.
    pub name: &'static str,
    /// Inputs that are as they should be.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Parses, and says whether the bytes were accepted.
    pub run: fn(&[u8]) -> bool,
}

/// The target of that name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
