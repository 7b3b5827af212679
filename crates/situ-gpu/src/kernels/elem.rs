//! How elements of each dtype lie in buffers, and what they are in WGSL.
//!
//! Buffers are words. An element of 4 bytes is one; one of 8 is two, the low word first; smaller ones share a
//! word, the first in its low bits, and whoever writes one of them writes the whole word. What is computed
//! with is a [`Number`]: integers of less than a word are computed in one and wrap when they are stored,
//! 16-bit floats are computed in f32 and rounded once.
//!
//! Conversions of 16-bit floats are arithmetic on bits, because WGSL leaves to drivers which way they round
//! and what becomes of NaN, infinities and denormals: so they are the same everywhere, and need nothing of an
//! adapter. 64-bit arithmetic is the adapter's; one without it still moves such elements, and converts them.

use super::shader::Math;
use crate::fault::Fault;
use crate::pipelines::View;
use situ_core::dtype::Class;
use situ_core::{DType, Scalar};

/// What a loaded element is in WGSL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Number {
    F32,
    I32,
    U32,
    Bool,
    /// Arithmetic that not every adapter has.
    I64,
    U64,
    /// The two words of an element of 8 bytes, which every adapter moves.
    Pair,
}

/// A dtype that kernels have, and what they compute with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Elem {
    pub(crate) dtype: DType,
    pub(crate) number: Number,
}

impl Elem {
    pub(crate) const F32: Elem = Elem { dtype: DType::F32, number: Number::F32 };
    pub(crate) const I32: Elem = Elem { dtype: DType::I32, number: Number::I32 };
    pub(crate) const U32: Elem = Elem { dtype: DType::U32, number: Number::U32 };
    pub(crate) const BOOL: Elem = Elem { dtype: DType::Bool, number: Number::Bool };

    /// Every one, as dtypes.
    pub(crate) const DTYPES: &'static [DType] = &[
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::Bool,
    ];

    /// Those that are numbers.
    pub(crate) const NUMBERS: &'static [DType] = Elem::DTYPES.split_at(Elem::DTYPES.len() - 1).0;

    /// Numbers of one or two words, which are written one by one.
    pub(crate) const WORDS: &'static [DType] = &[DType::F32, DType::I32, DType::U32, DType::I64, DType::U64];

    pub(crate) fn of(dtype: DType) -> Result<Elem, Fault> {
        let number = match (dtype.class(), dtype.size()) {
            (Class::Float, 4) | (Class::Half, _) => Number::F32,
            (Class::Signed, 8) => Number::I64,
            (Class::Signed, _) => Number::I32,
            (Class::Unsigned, 8) => Number::U64,
            (Class::Unsigned, _) => Number::U32,
            (Class::Bool, _) => Number::Bool,
            (Class::Float, _) => return Err(Fault::Internal(format!("no GPU kernel takes {dtype}"))),
        };
        Ok(Elem { dtype, number })
    }

    /// An element that is moved and not computed with: what its bits mean makes no difference, so that one
    /// kernel serves all dtypes of a size.
    pub(crate) fn moved(dtype: DType) -> Elem {
        match dtype.size() {
            1 => Elem { dtype: DType::U8, number: Number::U32 },
            2 => Elem { dtype: DType::U16, number: Number::U32 },
            4 => Elem::U32,
            _ => Elem { dtype: DType::U64, number: Number::Pair },
        }
    }

    /// The same without 64-bit arithmetic: pairs of words.
    pub(crate) fn in_words(self) -> Elem {
        match self.number {
            Number::I64 | Number::U64 => Elem { number: Number::Pair, ..self },
            _ => self,
        }
    }

    /// A number with all its bits, as partial results are kept.
    pub(crate) fn whole(self) -> Elem {
        match self.number {
            Number::F32 => Elem::F32,
            Number::I32 => Elem::I32,
            Number::U32 | Number::Bool => Elem::U32,
            Number::I64 | Number::U64 | Number::Pair => self,
        }
    }

    /// Bytes of an element in memory.
    pub(crate) fn size(self) -> usize {
        self.dtype.size()
    }

    /// Elements in a word, of those that share one; 1 for others.
    pub(crate) fn per_word(self) -> usize {
        (4 / self.size()).max(1)
    }

    /// Whether an element is one word.
    pub(crate) fn is_word(self) -> bool {
        self.size() == 4
    }

    pub(crate) fn is_float(self) -> bool {
        self.number == Number::F32
    }

    /// Whether the number that is computed with has values that the dtype does not have.
    fn is_narrow(self) -> bool {
        self.size() < 4 && self.number != Number::Bool
    }

    /// The WGSL type of a loaded element.
    pub(crate) fn wgsl(self) -> &'static str {
        match self.number {
            Number::F32 => "f32",
            Number::I32 => "i32",
            Number::U32 => "u32",
            Number::Bool => "bool",
            Number::I64 => "i64",
            Number::U64 => "u64",
            Number::Pair => "vec2<u32>",
        }
    }

    /// The WGSL type of an element's bits.
    pub(crate) fn bits_type(self) -> &'static str {
        if self.size() == 8 { "vec2<u32>" } else { "u32" }
    }

    /// The functions that loads and stores of it stand on.
    pub(crate) fn math(self) -> Math {
        match (self.dtype.is_half(), self.number) {
            (true, _) => Math::HALVES,
            (false, Number::I64 | Number::U64) => Math::INT64,
            _ => Math::NONE,
        }
    }

    /// An expression for the number of these bits. Of an element that shares a word, only the low bits
    /// count.
    fn decoded(self, bits: &str) -> String {
        let shift = 32 - 8 * self.size().min(4);
        match (self.dtype, self.number) {
            (DType::F16, _) => format!("f16_of({bits})"),
            (DType::BF16, _) => format!("bitcast<f32>(({bits}) << 16u)"),
            (_, Number::F32) => format!("bitcast<f32>({bits})"),
            (_, Number::I32) if shift == 0 => format!("bitcast<i32>({bits})"),
            (_, Number::I32) => format!("(bitcast<i32>(({bits}) << {shift}u) >> {shift}u)"),
            (_, Number::U32) if shift == 0 => bits.to_string(),
            (_, Number::U32) => format!("(({bits}) & {}u)", u32::MAX >> shift),
            (_, Number::Bool) => format!("((({bits}) & 255u) != 0u)"),
            (_, Number::I64) => format!("i64_of({bits})"),
            (_, Number::U64) => format!("u64_of({bits})"),
            (_, Number::Pair) => bits.to_string(),
        }
    }

    /// An expression for the bits of a value: of an element that shares a word, in the low end, and zeros
    /// above.
    pub(crate) fn bits(self, value: &str) -> String {
        let mask = u32::MAX >> (32 - 8 * self.size().min(4));
        match (self.dtype, self.number) {
            (DType::F16, _) => format!("f16_bits({value})"),
            (DType::BF16, _) => format!("bf16_bits({value})"),
            (_, Number::U32) if self.is_word() => format!("({value})"),
            (_, Number::F32 | Number::I32) if self.is_word() => format!("bitcast<u32>({value})"),
            (_, Number::F32 | Number::I32) => format!("(bitcast<u32>({value}) & {mask}u)"),
            (_, Number::U32) => format!("(({value}) & {mask}u)"),
            (_, Number::Bool) => format!("select(0u, 1u, {value})"),
            (_, Number::I64) => format!("i64_bits({value})"),
            (_, Number::U64) => format!("u64_bits({value})"),
            (_, Number::Pair) => format!("({value})"),
        }
    }

    /// An expression for a value as the dtype holds it: what is loaded after it was stored.
    pub(crate) fn held(self, value: &str) -> String {
        match self.dtype {
            DType::F16 => format!("f16_of(f16_bits({value}))"),
            DType::BF16 => format!("bitcast<f32>(bf16_bits({value}) << 16u)"),
            _ if self.number == Number::I32 && self.is_narrow() => {
                self.decoded(&format!("bitcast<u32>({value})"))
            }
            _ if self.is_narrow() => self.decoded(value),
            _ => value.to_string(),
        }
    }

    /// The words of a constant, as [`Elem::constant`] reads them.
    pub(crate) fn words(self, value: Scalar) -> Vec<u32> {
        let bits = match self.number {
            // A float of 16 bits is one of 32.
            Number::F32 => u64::from((value.to_f64() as f32).to_bits()),
            // Of integers, those of the number that is computed with: with its sign.
            _ => value.to_whole().unwrap_or_default() as u64,
        };
        match self.size() {
            8 => vec![bits as u32, (bits >> 32) as u32],
            _ => vec![bits as u32],
        }
    }

    /// An expression for a constant from its words.
    pub(crate) fn constant(self, words: &[String]) -> String {
        match (self.number, words) {
            (Number::I64 | Number::U64 | Number::Pair, [low, high]) => {
                self.decoded(&format!("vec2<u32>({low}, {high})"))
            }
            (Number::Bool, [word, ..]) => format!("({word} != 0u)"),
            (_, [word, ..]) => self.whole().decoded(word),
            (_, []) => String::new(),
        }
    }

    /// An expression for element `index` of a buffer seen as words.
    pub(crate) fn load(self, buffer: &str, index: &str) -> String {
        let bits = match self.size() {
            8 => format!("vec2<u32>({buffer}[2u * ({index})], {buffer}[2u * ({index}) + 1u])"),
            4 => format!("{buffer}[{index}]"),
            2 => format!("({buffer}[({index}) >> 1u] >> ((({index}) & 1u) * 16u))"),
            _ => format!("({buffer}[({index}) >> 2u] >> ((({index}) & 3u) * 8u))"),
        };
        self.decoded(&bits)
    }

    /// Functions `<name>(at: u32) -> T`, which loads element `at` of a buffer, and
    /// `set_<name>(at: u32, value: T)`, which stores it, of elements that share no word with others.
    pub(crate) fn access(self, name: &str, buffer: &str) -> String {
        let ty = self.wgsl();
        let store = match self.size() {
            8 => format!(
                "let bits = {}; {buffer}[2u * at] = bits.x; {buffer}[2u * at + 1u] = bits.y;",
                self.bits("value")
            ),
            _ => format!("{buffer}[at] = {};", self.bits("value")),
        };
        format!(
            "fn {name}(at: u32) -> {ty} {{ return {}; }}\nfn set_{name}(at: u32, value: {ty}) {{ {store} }}\n",
            self.load(buffer, "at")
        )
    }

    /// How a kernel that takes four elements at a time sees the buffer.
    pub(crate) fn view_of_four(self) -> View {
        match self.size() {
            1 => View::Words,
            2 => View::Pairs,
            _ => View::Quads,
        }
    }

    /// A statement that reads the words of the four elements of quad number `index` of buffer `b<i>`, and
    /// expressions for the elements. The buffer is bound as [`Elem::view_of_four`] says.
    pub(crate) fn load_quad(self, i: usize, index: &str) -> (String, [String; 4]) {
        let one = format!("    let w{i} = b{i}[{index}];\n");
        let (words, bits) = match self.size() {
            1 => (one, [0, 8, 16, 24].map(|shift| format!("(w{i} >> {shift}u)"))),
            2 => (one, ["x", "x >> 16u", "y", "y >> 16u"].map(|part| format!("(w{i}.{part})"))),
            4 => (one, LANES.map(|lane| format!("w{i}.{lane}"))),
            _ => (
                format!("    let w{i} = b{i}[2u * ({index})];\n    let x{i} = b{i}[2u * ({index}) + 1u];\n"),
                [("w", "xy"), ("w", "zw"), ("x", "xy"), ("x", "zw")]
                    .map(|(name, part)| format!("{name}{i}.{part}")),
            ),
        };
        (words, bits.map(|bits| self.decoded(&bits)))
    }

    /// A statement that stores four values as the elements number `4 q` and on of buffer `b<i>`, from the
    /// element offset `offset`.
    pub(crate) fn store_four(self, i: usize, offset: &str, values: &[String; 4]) -> String {
        let [a, b, c, d] = values.each_ref().map(|value| self.bits(value));
        let at = format!("({offset} >> 2u) + q");
        match self.size() {
            1 => format!("    b{i}[{at}] = {a} | ({b} << 8u) | ({c} << 16u) | ({d} << 24u);\n"),
            2 => format!("    b{i}[{at}] = vec2<u32>({a} | ({b} << 16u), {c} | ({d} << 16u));\n"),
            4 => format!("    b{i}[{at}] = vec4<u32>({a}, {b}, {c}, {d});\n"),
            _ => format!(
                "    b{i}[2u * ({at})] = vec4<u32>({a}, {b});\n    b{i}[2u * ({at}) + 1u] = vec4<u32>({c}, {d});\n"
            ),
        }
    }
}

/// The four lanes of a vector.
pub(crate) const LANES: [&str; 4] = ["x", "y", "z", "w"];
