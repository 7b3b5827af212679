//! The program `situ`.
fn main() {}
