//! Products of bytes against sums in 64 bits, by every kind of kernels that the processor has.

use super::cases::{LAYS, Lay, Operand, numbers};
use crate::level::Level;
use crate::matmul::bytes::{ByteKernels, available};
use crate::matmul::{IntegerProduct, Offsets, SINGLE, Workspace, integer_workspace_bytes, matmul_integer};
use crate::threads::Threads;

fn random_bytes(seed: u64) -> impl FnMut() -> u8 {
    let mut next = numbers(seed);
    // The ends of the range often: that is where narrow sums would run over.
    move || match (next() * 128.0 + 128.0) as u8 {
        x @ 0..=40 => [0, 127, 128, 255][usize::from(x % 4)],
        x => x,
    }
}

fn wide(byte: u8, signed: bool) -> i64 {
    if signed { i64::from(byte as i8) } else { i64::from(byte) }
}

struct Sides {
    sizes: (usize, usize, usize),
    a: Operand<u8>,
    b: Operand<u8>,
    batch: Vec<Offsets>,
    signed: (bool, bool),
}

impl Sides {
    fn new(sizes: (usize, usize, usize), lays: (Lay, Lay), signed: (bool, bool)) -> Sides {
        let mut next = random_bytes((sizes.0 * 7 + sizes.1 * 3 + sizes.2) as u64);
        let a = Operand::new(lays.0, sizes.0, sizes.1, 1, &mut next);
        let b = Operand::new(lays.1, sizes.1, sizes.2, 1, &mut next);
        Sides { sizes, a, b, batch: SINGLE.to_vec(), signed }
    }

    fn expected(&self) -> Vec<i32> {
        let (m, k, n) = self.sizes;
        let mut out = Vec::new();
        for offsets in &self.batch {
            for i in 0..m {
                for j in 0..n {
                    let product = |step: usize| {
                        wide(self.a.get(offsets.a, i, step), self.signed.0)
                            * wide(self.b.get(offsets.b, step, j), self.signed.1)
                    };
                    out.push((0..k).map(product).sum::<i64>() as i32);
                }
            }
        }
        out
    }

    fn product(&self, out: &mut [i32], workspace: Workspace) -> IntegerProduct<'_> {
        let (m, k, n) = self.sizes;
        IntegerProduct {
            m,
            k,
            n,
            batch: &self.batch,
            a: self.a.matrix(),
            a_signed: self.signed.0,
            b: self.b.matrix(),
            b_signed: self.signed.1,
            out: out.as_mut_ptr(),
            workspace,
        }
    }

    fn run(&self, kernels: &ByteKernels, level: Level, threads: &Threads) -> Vec<i32> {
        let mut out = vec![-77; self.batch.len() * self.sizes.0 * self.sizes.2];
        // SAFETY: the operands have the elements that the sizes and strides say; the kernels are the
        // processor's.
        unsafe { kernels.run(level, threads, &self.product(&mut out, Workspace::NONE)) };
        out
    }

    fn check(&self, threads: &Threads) {
        let expected = self.expected();
        for level in Level::available() {
            for (kind, kernels) in available(level).into_iter().enumerate() {
                let what = format!("{:?} {:?} by kind {kind} at {level}", self.sizes, self.signed);
                assert!(self.run(&kernels, level, threads) == expected, "{what}");
            }
        }
    }
}

const SIGNS: [(bool, bool); 4] = [(false, true), (true, true), (false, false), (true, false)];

#[test]
fn sums_are_exact_for_any_size_and_sign_by_every_kind_of_kernels() {
    let threads = Threads::new(2, None).unwrap();
    let sizes = [
        (1, 1, 1),
        (1, 2, 3),
        (2, 3, 33),
        (3, 4, 16),
        (5, 5, 17),
        (7, 63, 31),
        (14, 64, 32),
        (15, 65, 65),
        (29, 130, 48),
        (1, 600, 70),
        (70, 600, 1),
        (33, 2051, 40),
        (100, 4100, 35),
        (300, 40, 70),
        (61, 300, 600),
        (400, 90, 100),
    ];
    for size in sizes {
        for signed in SIGNS {
            Sides::new(size, (Lay::Dense, Lay::Dense), signed).check(&threads);
        }
    }
}

#[test]
fn strides_of_any_kind_are_read_in_place() {
    let threads = Threads::new(1, None).unwrap();
    for left in LAYS {
        for right in LAYS {
            Sides::new((19, 71, 37), (left, right), (true, true)).check(&threads);
            Sides::new((19, 71, 37), (left, right), (true, false)).check(&threads);
        }
    }
}

#[test]
fn a_batch_may_share_a_side_and_have_none_of_k() {
    let threads = Threads::new(2, None).unwrap();
    for signed in SIGNS {
        let mut sides = Sides::new((6, 20, 40), (Lay::Dense, Lay::Dense), signed);
        let mut next = random_bytes(3);
        sides.a = Operand::new(Lay::Dense, 6, 20, 3, &mut next);
        sides.b = Operand::new(Lay::Dense, 20, 40, 2, &mut next);
        let (a, b) = (sides.a.span(3), sides.b.span(2));
        sides.batch = [(0, 0), (a, 0), (2 * a, b), (0, b)].map(|(a, b)| Offsets { a, b }).to_vec();
        sides.check(&threads);
        let empty = Sides::new((3, 0, 5), (Lay::Dense, Lay::Dense), signed);
        let mut out = [1; 15];
        // SAFETY: nothing is read, and the output has 3 × 5 elements.
        unsafe { matmul_integer(Level::detect(), &threads, &empty.product(&mut out, Workspace::NONE)) };
        assert_eq!(out, [0; 15]);
    }
}

#[test]
fn the_number_of_threads_and_the_workspace_make_no_difference() {
    let sides = Sides::new((200, 900, 300), (Lay::Dense, Lay::Transposed), (true, true));
    let expected = sides.expected();
    let bytes = integer_workspace_bytes(200, 900, 300);
    let mut memory = vec![0xaau8; bytes + 3];
    for count in [1, 2, 3, 5] {
        let threads = Threads::new(count, None).unwrap();
        for workspace in [Workspace::NONE, Workspace { start: memory[3..].as_mut_ptr(), bytes }] {
            let mut out = vec![0; expected.len()];
            // SAFETY: the operands have the elements that the sizes and strides say; the workspace is ours.
            unsafe { matmul_integer(Level::detect(), &threads, &sides.product(&mut out, workspace)) };
            assert!(out == expected, "{count} threads");
        }
    }
}
