//! The tables of "Coming from .." name nothing that does not exist: every name in their column `situ` is in
//! the program of the page, which `cargo test --doc` compiles and runs.

use std::collections::BTreeSet;

/// Words of Rust code that can be names of ours.
fn names(code: &str) -> BTreeSet<&str> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    code.split(|c| !word(c))
        .filter(|name| {
            name.starts_with(|c: char| c.is_alphabetic()) && !["let", "x", "f", "w", "v"].contains(name)
        })
        .collect()
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn check(page: &str) {
    let (tables, program) = page.split_once("## The program").expect("a program at the end of the page");
    let known = names(program);
    let mut rows = 0;
    for line in tables.lines().filter(|line| line.starts_with("| ") && !line.contains("| situ |")) {
        // A bar within code is written `\|`.
        let line = line.replace("\\|", "");
        let cells: Vec<&str> = line.split('|').collect();
        assert_eq!(cells.len(), 5, "{line}");
        rows += 1;
        for code in quoted(cells[2]) {
            let missing: Vec<&str> = names(code).difference(&known).copied().collect();
            assert!(missing.is_empty(), "{missing:?} of {code} are not in the program of the page");
        }
    }
    assert!(rows > 30, "{rows} rows");
}

#[test]
fn every_name_of_the_tables_is_in_the_program_of_its_page() {
    check(include_str!("../docs/coming-from-tensorflow.md"));
    check(include_str!("../docs/coming-from-pytorch.md"));
}
