//! Kernels that reduce rows: one invocation for a short row, a workgroup of 256 for a long one.
//!
//! A kernel is the text of `fn work(row: u32, lane: u32)`, which visits elements `lane`, `lane + LANES`, ...
//! and joins what it found with `team_<name>(lane, x)`. All invocations of a team take the same path through
//! it. The parameters are (rows, kept axes, reduced axes, row length), offsets, the op's own words, and for
//! each axis (size, strides).

use super::shader::entry;

/// Who works on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Team {
    /// One invocation; 256 rows to a workgroup.
    Alone,
    /// All 256 invocations of a workgroup.
    Group,
}

impl Team {
    /// The team for `rows` rows of `length` elements.
    pub(crate) fn choose(rows: usize, length: usize, software: bool) -> Team {
        // A software driver gains nothing from joining in shared memory, once there are rows for all its
        // lanes.
        if length <= 64 || (software && rows >= 64) { Team::Alone } else { Team::Group }
    }

    /// Workgroups for that many rows.
    pub(crate) fn groups(self, rows: usize) -> usize {
        match self {
            Team::Alone => rows.div_ceil(256),
            Team::Group => rows,
        }
    }

    /// `const LANES`, and for each (name, join) a function `team_<name>(lane: u32, x: Acc) -> Acc`, where
    /// join is an expression in `a` and `b`.
    pub(crate) fn joins(self, joins: &[(&str, &str)]) -> String {
        let mut text = match self {
            Team::Alone => String::from("const LANES: u32 = 1u;\n"),
            Team::Group => {
                String::from("const LANES: u32 = 256u;\nvar<workgroup> scratch: array<Acc, 256>;\n")
            }
        };
        for (name, join) in joins {
            text += &match self {
                Team::Alone => format!("fn team_{name}(lane: u32, x: Acc) -> Acc {{ return x; }}\n"),
                Team::Group => format!(
                    "fn join_{name}(a: Acc, b: Acc) -> Acc {{ return {join}; }}
fn team_{name}(lane: u32, x: Acc) -> Acc {{
    // What was joined before may still be being read.
    workgroupBarrier();
    scratch[lane] = x;
    workgroupBarrier();
    for (var width = 128u; width > 0u; width = width >> 1u) {{
        if lane < width {{ scratch[lane] = join_{name}(scratch[lane], scratch[lane + width]); }}
        workgroupBarrier();
    }}
    return scratch[0];
}}
"
                ),
            };
        }
        text
    }

    /// The entry point that calls `work` for each of `params.w[0].x` rows.
    pub(crate) fn main(self) -> String {
        let call = match self {
            Team::Alone => {
                "    let row = group * 256u + lane;\n    if row < params.w[0].x { work(row, 0u); }\n}\n"
            }
            Team::Group => "    if group < params.w[0].x { work(group, lane); }\n}\n",
        };
        entry(256) + call
    }
}
