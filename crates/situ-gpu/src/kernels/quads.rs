//! How an invocation finds four elements side by side of several broadcast operands: at most one division for
//! each axis and quad, none where an operand lies as the result does.
//!
//! Operands that lie as the result does are read as vectors. Of others the place of the first element is
//! divided out, and the next ones follow from it: by the stride where a quad never leaves its row, by
//! counters that carry where it may. Which of these depends on sizes, strides and offsets, and is part of
//! the kernel's text.

use super::elem::{Elem, LANES};
use super::space::Space;
use crate::pipelines::View;
use std::fmt::Write;

/// How the four elements of an operand are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Access {
    /// The operand is as dense as the result: a vector, at the number of the quad.
    Dense,
    /// One element for all of the result.
    Once,
    /// A vector, of a row that begins somewhere.
    Vector,
    /// One element for the whole row.
    Row,
    /// Element by element.
    Each,
}

/// How all operands of a kernel are read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Quads {
    rank: u8,
    /// Whether rows of the last axis are whole quads, so that none leads into the next row.
    whole: bool,
    accesses: Vec<Access>,
}

impl Quads {
    /// For operands that begin at `offsets`, in elements.
    pub(super) fn of<const N: usize>(space: &Space<N>, offsets: &[u32]) -> Quads {
        let rank = space.rank;
        let last = rank.saturating_sub(1);
        let whole = rank == 0 || space.sizes[last].is_multiple_of(4);
        let accesses = offsets.iter().zip(&space.strides).map(|(offset, strides)| {
            let strides = &strides[..rank];
            let aligned = offset.is_multiple_of(4);
            if strides.iter().all(|stride| *stride == 0) {
                Access::Once
            } else if aligned && is_dense(&space.sizes[..rank], strides) {
                Access::Dense
            } else if !whole {
                Access::Each
            } else if strides[last] == 0 {
                Access::Row
            } else if aligned && strides[last] == 1 && strides[..last].iter().all(|s| s.is_multiple_of(4)) {
                Access::Vector
            } else {
                Access::Each
            }
        });
        Quads { rank: rank as u8, whole, accesses: accesses.collect() }
    }

    /// How a kernel sees operand `i`.
    pub(super) fn view(&self, i: usize, elem: Elem) -> View {
        match self.accesses[i] {
            Access::Dense | Access::Vector => elem.view_of_four(),
            Access::Once | Access::Row | Access::Each => View::Words,
        }
    }

    /// Statements that load the elements number `4 q` and on of each operand into `v<i>x` to `v<i>w`.
    /// Expressions are given for where an operand begins, for the size of an axis, and for the stride of an
    /// operand along it.
    pub(super) fn text(
        &self,
        elems: &[Elem],
        offset: impl Fn(usize) -> String,
        size: impl Fn(usize) -> String,
        stride: impl Fn(usize, usize) -> String,
    ) -> String {
        let mut text = String::new();
        let rank = usize::from(self.rank);
        let walked: Vec<usize> =
            (0..elems.len()).filter(|i| !matches!(self.accesses[*i], Access::Dense | Access::Once)).collect();
        if !walked.is_empty() {
            text += "    var rest = q * 4u;\n";
            for axis in (1..rank).rev() {
                let size = size(axis);
                let _ = writeln!(text, "    let above{axis} = rest / {size};");
                let _ =
                    writeln!(text, "    var c{axis} = rest - above{axis} * {size};\n    rest = above{axis};");
            }
            text += "    var c0 = rest;\n";
        }
        for &i in &walked {
            let places: String = (0..rank).map(|axis| format!(" + c{axis} * {}", stride(axis, i))).collect();
            let _ = writeln!(text, "    var at{i} = {}{places};", offset(i));
        }
        let mut crossing = Vec::new();
        for (i, elem) in elems.iter().enumerate() {
            let one = |at: &str| elem.load(&format!("b{i}"), at);
            let (words, four) = match self.accesses[i] {
                Access::Dense => elem.load_quad(i, &format!("({} >> 2u) + q", offset(i))),
                Access::Vector => elem.load_quad(i, &format!("at{i} >> 2u")),
                Access::Once => repeated(i, &one(&offset(i))),
                Access::Row => repeated(i, &one(&format!("at{i}"))),
                Access::Each if self.whole => {
                    let step = stride(rank - 1, i);
                    (String::new(), [0, 1, 2, 3].map(|k| one(&format!("at{i} + {k}u * {step}"))))
                }
                Access::Each => {
                    crossing.push(i);
                    let _ = writeln!(text, "    let v{i}x = {};", one(&format!("at{i}")));
                    continue;
                }
            };
            text += &words;
            for (lane, value) in LANES.iter().zip(four) {
                let _ = writeln!(text, "    let v{i}{lane} = {value};");
            }
        }
        if !crossing.is_empty() {
            for lane in &LANES[1..] {
                for &i in &crossing {
                    let _ = writeln!(text, "    at{i} += {};", stride(rank - 1, i));
                }
                text += &carry(rank - 1, &crossing, &size, &stride);
                for &i in &crossing {
                    let load = elems[i].load(&format!("b{i}"), &format!("at{i}"));
                    let _ = writeln!(text, "    let v{i}{lane} = {load};");
                }
            }
        }
        text
    }
}

/// One value four times.
fn repeated(i: usize, value: &str) -> (String, [String; 4]) {
    (format!("    let one{i} = {value};\n"), LANES.map(|_| format!("one{i}")))
}

/// Counts axis `axis` on by one, and those before it where it is through. Beyond the last element the first
/// axis counts on: what is read there is nobody's.
fn carry(
    axis: usize,
    operands: &[usize],
    size: &impl Fn(usize) -> String,
    stride: &impl Fn(usize, usize) -> String,
) -> String {
    if axis == 0 {
        return String::new();
    }
    let mut text = format!("    c{axis} += 1u;\n    if c{axis} == {} {{\n    c{axis} = 0u;\n", size(axis));
    for &i in operands {
        let (before, own) = (stride(axis - 1, i), stride(axis, i));
        let _ = writeln!(text, "    at{i} += {before} - {} * {own};", size(axis));
    }
    text + &carry(axis - 1, operands, size, stride) + "    }\n"
}

/// Whether strides are those of a dense tensor of these sizes.
fn is_dense(sizes: &[u32], strides: &[u32]) -> bool {
    let mut next = 1u32;
    sizes.iter().zip(strides).rev().all(|(size, stride)| {
        let fits = *stride == next;
        next = next.wrapping_mul(*size);
        fits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accesses(sizes: &[usize], a: &[isize], b: &[isize], offsets: [u32; 2]) -> (bool, Vec<Access>) {
        let quads = Quads::of(&Space::<2>::merged(sizes, [a, b]), &offsets);
        (quads.whole, quads.accesses)
    }

    #[test]
    fn a_bias_is_one_element_for_a_row_or_a_vector_of_it_and_what_is_dense_is_never_walked() {
        use Access::*;
        // Channels first, of rows that are whole quads and of others; channels last, of both.
        let first =
            |side| accesses(&[8, 3, side], &[3 * side as isize, side as isize, 1], &[0, 1, 0], [0; 2]);
        assert_eq!(first(676), (true, vec![Dense, Row]));
        assert_eq!(first(121), (false, vec![Dense, Each]));
        let last = |channels| accesses(&[50, channels], &[channels as isize, 1], &[0, 1], [0; 2]);
        assert_eq!(last(64), (true, vec![Dense, Vector]));
        assert_eq!(last(3), (false, vec![Dense, Each]));
    }

    #[test]
    fn what_begins_within_a_quad_is_read_element_by_element() {
        use Access::*;
        assert_eq!(accesses(&[8, 16], &[16, 1], &[0, 1], [4, 2]), (true, vec![Dense, Each]));
        assert_eq!(accesses(&[8, 16], &[16, 1], &[18, 1], [1, 0]), (true, vec![Each, Each]));
        assert_eq!(accesses(&[8, 16], &[20, 1], &[0, 0], [0, 3]), (true, vec![Vector, Once]));
        assert_eq!(accesses(&[], &[], &[], [3, 5]), (true, vec![Once, Once]));
    }
}
