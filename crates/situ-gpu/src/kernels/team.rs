//! Kernels that reduce rows: one invocation for a short row, a workgroup of 256 for a long one, whose numbers
//! are joined through subgroups where the device has them, else through workgroup memory alone.
//!
//! A kernel is the text of `fn work(row: u32, lane: u32)`, which visits elements `lane`, `lane + LANES`, ...
//! and joins what it found with `team_<name>(lane, x)`. All invocations of a team take the same path through
//! it. The parameters are (rows, kept axes, reduced axes, row length), offsets, the op's own words, and for
//! each axis (size, strides).

use super::shader::entry;
use crate::borders::Borders;

/// Rows of a workgroup whose invocations have one each: few, so that few rows are many workgroups.
pub(crate) const ALONE: usize = 64;

/// A number as another invocation of the subgroup has it.
pub(crate) const PASSED: &str = "subgroupShuffleXor(x, far)";

/// Who works on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Team {
    /// One invocation; 64 rows to a workgroup.
    Alone,
    /// All 256 invocations of a workgroup.
    Group,
}

impl Team {
    /// The team for `rows` rows of `length` elements.
    pub(crate) fn choose(rows: usize, length: usize, software: bool) -> Team {
        // A software driver gains nothing from joining in shared memory, once there are rows for all its
        // threads.
        if length <= 64 || (software && rows >= 128) { Team::Alone } else { Team::Group }
    }

    /// Workgroups for that many rows.
    pub(crate) fn groups(self, rows: usize) -> usize {
        match self {
            Team::Alone => rows.div_ceil(ALONE),
            Team::Group => rows,
        }
    }

    /// `const LANES`, and for each (name, join) a function `team_<name>(lane: u32, x: Acc) -> Acc`, where
    /// join is an expression in `a` and `b`. `passed` is an expression for `x`, an `Acc`, as the invocation
    /// `far` away in the subgroup has it; without one, or without subgroups, numbers go through memory.
    pub(crate) fn joins(self, borders: &Borders, passed: Option<&str>, joins: &[(&str, &str)]) -> String {
        let passed = passed.filter(|_| borders.subgroups);
        let mut text = String::from(match self {
            Team::Alone => "const LANES: u32 = 1u;\n",
            Team::Group => "const LANES: u32 = 256u;\nvar<workgroup> scratch: array<Acc, 256>;\n",
        });
        if let (Team::Group, Some(passed)) = (self, passed) {
            text += &format!("fn passed(x: Acc, far: u32) -> Acc {{ return {passed}; }}\n");
        }
        for (name, join) in joins {
            if self == Team::Alone {
                text += &format!("fn team_{name}(lane: u32, x: Acc) -> Acc {{ return x; }}\n");
                continue;
            }
            let body = if passed.is_some() { THROUGH_SUBGROUPS } else { THROUGH_MEMORY };
            text += &format!("fn join_{name}(a: Acc, b: Acc) -> Acc {{ return {join}; }}\n");
            text += &body.replace("NAME", name);
        }
        text
    }

    /// The opening of an entry point whose workgroup is a team, or [`ALONE`] of them; as [`entry`].
    pub(crate) fn entry(self, borders: &Borders) -> String {
        if self == Team::Alone {
            return entry(ALONE);
        }
        if !borders.subgroups {
            return entry(256);
        }
        let more = "@builtin(local_invocation_index) lane: u32, @builtin(subgroup_size) subgroup_size: u32,
    @builtin(subgroup_id) subgroup_number: u32, @builtin(subgroup_invocation_id) subgroup_place: u32) {
    subgroup = vec3<u32>(subgroup_size, subgroup_number, subgroup_place);\n";
        let plain = "@builtin(local_invocation_index) lane: u32) {\n";
        String::from("var<private> subgroup: vec3<u32>;\n") + &entry(256).replace(plain, more)
    }

    /// The entry point that calls `work` for each of `params.w[0].x` rows.
    pub(crate) fn main(self, borders: &Borders) -> String {
        let call = match self {
            Team::Alone => format!(
                "    let row = group * {ALONE}u + lane;\n    if row < params.w[0].x {{ work(row, 0u); }}\n}}\n"
            ),
            Team::Group => String::from("    if group < params.w[0].x { work(group, lane); }\n}\n"),
        };
        self.entry(borders) + &call
    }
}

/// Half of what is left at each step.
const THROUGH_MEMORY: &str = "fn team_NAME(lane: u32, x: Acc) -> Acc {
    // What was joined before may still be being read.
    workgroupBarrier();
    scratch[lane] = x;
    workgroupBarrier();
    for (var width = 128u; width > 0u; width = width >> 1u) {
        if lane < width { scratch[lane] = join_NAME(scratch[lane], scratch[lane + width]); }
        workgroupBarrier();
    }
    return scratch[0];
}
";

/// One number for each subgroup, which are few; all invocations join those in the same order.
const THROUGH_SUBGROUPS: &str = "fn team_NAME(lane: u32, x: Acc) -> Acc {
    var mine = x;
    for (var far = subgroup.x >> 1u; far > 0u; far = far >> 1u) { mine = join_NAME(mine, passed(mine, far)); }
    // What was joined before may still be being read.
    workgroupBarrier();
    if subgroup.z == 0u { scratch[subgroup.y] = mine; }
    workgroupBarrier();
    var all = scratch[0];
    for (var i = 1u; i < 256u / subgroup.x; i++) { all = join_NAME(all, scratch[i]); }
    return all;
}
";
