//! WGSL text from small pieces: element types, loads and stores, and the frame around a function of one
//! element.
//!
//! The convention that every kernel of the frame follows: inputs are bound first, in order, then the output,
//! then the error slots if it has any. Parameters are those of [`super::run::Params`]: `params.w[0]` is
//! (elements, axes, flags, -), `params.w[1]` the element offsets of the inputs and, last, of the output,
//! `params.w[2]` the op's own words, and `params.w[3 + axis]` four words for each axis.

use crate::fault::Fault;
use crate::pipelines::{Source, View};
use situ_core::DType;

/// A dtype that kernels have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Elem {
    F32,
    I32,
    /// One byte each in memory, four to a word.
    Bool,
}

impl Elem {
    /// Every one, as dtypes.
    pub(crate) const DTYPES: &'static [DType] = &[DType::F32, DType::I32, DType::Bool];

    pub(crate) fn of(dtype: DType) -> Result<Elem, Fault> {
        match dtype {
            DType::F32 => Ok(Elem::F32),
            DType::I32 => Ok(Elem::I32),
            DType::Bool => Ok(Elem::Bool),
            _ => Err(Fault::Internal(format!("no GPU kernel takes {dtype}"))),
        }
    }

    /// The WGSL type of a loaded element.
    pub(crate) fn wgsl(self) -> &'static str {
        match self {
            Elem::F32 => "f32",
            Elem::I32 => "i32",
            Elem::Bool => "bool",
        }
    }

    /// An expression for element `index` of a buffer seen as words.
    pub(crate) fn load(self, buffer: &str, index: &str) -> String {
        match self {
            Elem::F32 | Elem::I32 => format!("bitcast<{}>({buffer}[{index}])", self.wgsl()),
            Elem::Bool => {
                format!("(((({buffer}[({index}) >> 2u]) >> ((({index}) & 3u) * 8u)) & 255u) != 0u)")
            }
        }
    }

    /// An expression for the bits of a value.
    pub(crate) fn bits(self, value: &str) -> String {
        match self {
            Elem::F32 | Elem::I32 => format!("bitcast<u32>({value})"),
            Elem::Bool => format!("select(0u, 1u, {value})"),
        }
    }

    /// An expression for the four elements of quad number `index` of buffer `b<i>`: a vector of a buffer that
    /// is bound as quads, or one word of bools.
    pub(crate) fn load_quad(self, i: usize, index: &str) -> String {
        match self {
            Elem::F32 | Elem::I32 => format!("bitcast<vec4<{}>>(b{i}[{index}])", self.wgsl()),
            Elem::Bool => format!(
                "((vec4<u32>(b{i}[{index}]) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(255u)) != vec4<u32>(0u)"
            ),
        }
    }

    /// An expression for the bits of four values: a vector for word dtypes, one word for bools.
    pub(crate) fn four_bits(self, values: &[String; 4]) -> String {
        let [a, b, c, d] = values;
        match self {
            Elem::F32 | Elem::I32 => format!("bitcast<vec4<u32>>(vec4<{}>({a}, {b}, {c}, {d}))", self.wgsl()),
            Elem::Bool => format!(
                "select(0u, 1u, {a}) | select(0u, 256u, {b}) | select(0u, 65536u, {c}) | select(0u, 16777216u, {d})"
            ),
        }
    }

    /// Word dtypes are moved as plain bits by one kernel.
    pub(crate) fn is_word(self) -> bool {
        self != Elem::Bool
    }
}

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

    pub(crate) fn text(self) -> String {
        // What others stand on comes first.
        const PARTS: [&str; 8] = [
            include_str!("wgsl/exp.wgsl"),
            include_str!("wgsl/log.wgsl"),
            include_str!("wgsl/softplus.wgsl"),
            include_str!("wgsl/erf.wgsl"),
            include_str!("wgsl/wide.wgsl"),
            include_str!("wgsl/trig.wgsl"),
            include_str!("wgsl/pow.wgsl"),
            include_str!("wgsl/rem.wgsl"),
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

/// A kernel that calls `element(e: u32) -> u32`, defined by `text`, for the bits of each of `params.w[0].x`
/// output elements. It binds `inputs` word buffers, then the output, then the error slots if `slots`.
pub(crate) fn per_output(output: Elem, inputs: usize, slots: bool, text: &str) -> Source {
    let mut wgsl = text.to_string();
    wgsl += &entry(256);
    let out = format!("b{inputs}");
    if output.is_word() {
        // Neighbouring invocations write neighbouring words.
        wgsl += &format!(
            "    for (var k = 0u; k < 4u; k++) {{
        let e = group * 1024u + k * 256u + lane;
        if e < params.w[0].x {{ {out}[params.w[1].w + e] = element(e); }}
    }}
}}
"
        );
    } else {
        // One invocation writes all four bytes of a word.
        wgsl += &format!(
            "    let first = (group * 256u + lane) * 4u;
    if first >= params.w[0].x {{ return; }}
    var word = 0u;
    for (var k = 0u; k < 4u; k++) {{
        if first + k < params.w[0].x {{ word |= element(first + k) << (k * 8u); }}
    }}
    {out}[(params.w[1].w + first) >> 2u] = word;
}}
"
        );
    }
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
