//! WGSL text from small pieces: the mathematics, and the frame around a function of one element.
//!
//! The convention that every kernel of the frame follows: inputs are bound first, in order, then the output,
//! then the error slots if it has any. Parameters are those of [`super::run::Params`]: `params.w[0]` is
//! (elements, axes, flags, -), `params.w[1]` the element offsets of the inputs and, last, of the output,
//! `params.w[2]` the op's own words, and `params.w[3 + axis]` four words for each axis.

use crate::pipelines::{Source, View};

pub(crate) use super::elem::Elem;

/// Parts of the mathematics that a kernel includes, each with what it stands on. Parts join with `|`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Math(u16);

impl Math {
    /// Only what every kernel has.
    pub(crate) const NONE: Math = Math(0);
    pub(crate) const EXP: Math = Math(1);
    pub(crate) const LOG: Math = Math(2);
    pub(crate) const SOFTPLUS: Math = Math(4 | 1 | 2);
    pub(crate) const ERF: Math = Math(8 | 1);
    pub(crate) const WIDE: Math = Math(16);
    pub(crate) const TRIG: Math = Math(32 | 16);
    pub(crate) const POW: Math = Math(64 | 1);
    pub(crate) const REM: Math = Math(128);
    /// Floats of 16 bits to f32 and back.
    pub(crate) const HALVES: Math = Math(256);
    /// Integers of 64 bits as pairs of words, and their conversions.
    pub(crate) const PAIRS: Math = Math(512);
    /// Integers of 64 bits, on adapters that have them.
    pub(crate) const INT64: Math = Math(1024);

    pub(crate) fn text(self) -> String {
        // What others stand on comes first.
        const PARTS: [&str; 11] = [
            include_str!("wgsl/exp.wgsl"),
            include_str!("wgsl/log.wgsl"),
            include_str!("wgsl/softplus.wgsl"),
            include_str!("wgsl/erf.wgsl"),
            include_str!("wgsl/wide.wgsl"),
            include_str!("wgsl/trig.wgsl"),
            include_str!("wgsl/pow.wgsl"),
            include_str!("wgsl/rem.wgsl"),
            include_str!("wgsl/halves.wgsl"),
            include_str!("wgsl/pairs.wgsl"),
            include_str!("wgsl/int64.wgsl"),
        ];
        let mut text = String::from(include_str!("wgsl/prelude.wgsl"));
        for (bit, part) in PARTS.iter().enumerate() {
            if self.0 & (1 << bit) != 0 {
                text += part;
            }
        }
        text
    }
}

impl std::ops::BitOr for Math {
    type Output = Math;
    fn bitor(self, other: Math) -> Math {
        Math(self.0 | other.0)
    }
}

/// The opening of an entry point: `group` is the number of the workgroup, `lane` that of the invocation
/// within it. Work that is too much for one dispatch is queued as several, each from workgroup number
/// `params.w[15].y`.
pub(crate) fn entry(workgroup: usize) -> String {
    format!(
        "@compute @workgroup_size({workgroup})
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lane: u32) {{
    let group = wid.y * nwg.x + wid.x + params.w[15].y;
"
    )
}

/// A kernel that calls `element(e: u32)`, defined by `text`, for the bits of each of `params.w[0].x` output
/// elements: a word, or a vector of two for an element of 8 bytes. It binds `inputs` word buffers, then the
/// output, then the error slots if `slots`.
pub(crate) fn per_output(output: Elem, inputs: usize, slots: bool, text: &str) -> Source {
    let mut wgsl = text.to_string();
    wgsl += &entry(256);
    let out = format!("b{inputs}");
    wgsl += &match output.size() {
        // Neighbouring invocations write neighbouring elements.
        4 | 8 => {
            let store = match output.size() {
                4 => format!("{out}[params.w[1].w + e] = element(e);"),
                _ => format!(
                    "let at = 2u * (params.w[1].w + e); let bits = element(e); {out}[at] = bits.x; {out}[at + 1u] = bits.y;"
                ),
            };
            format!(
                "    for (var k = 0u; k < 4u; k++) {{
        let e = group * 1024u + k * 256u + lane;
        if e < params.w[0].x {{ {store} }}
    }}
}}
"
            )
        }
        // One invocation writes all elements of a word.
        size => {
            let (per, bits) = (output.per_word(), 8 * size);
            format!(
                "    let first = (group * 256u + lane) * 4u;
    if first >= params.w[0].x {{ return; }}
    var word = 0u;
    for (var k = 0u; k < 4u; k++) {{
        let e = first + k;
        if e < params.w[0].x {{ word |= element(e) << ((k % {per}u) * {bits}u); }}
        if k % {per}u == {per}u - 1u {{
            {out}[(params.w[1].w + e) / {per}u] = word;
            word = 0u;
        }}
    }}
}}
"
            )
        }
    };
    let mut buffers = vec![View::Words; inputs + 1];
    if slots {
        buffers.push(View::Atomics);
    }
    Source { buffers, wgsl }
}

/// A statement block that turns the row-major number `e` into the element offsets `at0`, `at1`, ... of
/// `operands` tensors; axis words are (size, strides of the operands).
pub(crate) fn locate(operands: usize) -> String {
    let lanes = ["y", "z", "w"];
    let mut text = String::from("    var rest = e;\n");
    for (k, lane) in ["x", "y", "z"].iter().enumerate().take(operands) {
        text += &format!("    var at{k} = params.w[1].{lane};\n");
    }
    text += "    for (var d = params.w[0].y; d > 0u; d--) {\n        let axis = params.w[2u + d];\n";
    text +=
        "        let above = rest / axis.x;\n        let c = rest - above * axis.x;\n        rest = above;\n";
    for (k, lane) in lanes.iter().enumerate().take(operands) {
        text += &format!("        at{k} += c * axis.{lane};\n");
    }
    text + "    }\n"
}

#[cfg(test)]
mod tests {
    use super::Math;

    /// A fused program includes any of the parts together.
    #[test]
    fn parts_of_the_mathematics_share_no_name() {
        let all = Math(u16::MAX).text();
        let mut names: Vec<&str> = all
            .lines()
            .filter_map(|line| {
                ["fn ", "const ", "struct ", "alias "].iter().find_map(|word| line.strip_prefix(word))
            })
            .map(|rest| rest.split(['(', ':', ' ', '=']).next().unwrap_or(rest))
            .collect();
        assert!(names.len() > 40, "{names:?}");
        names.sort_unstable();
        let twice: Vec<&str> =
            names.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        assert!(twice.is_empty(), "defined twice: {twice:?}");
    }
}
