//! Tiled Cholesky, LU and QR factorisations: right-looking, one task per tile operation.

use super::{Draft, hybrid};
use situ_place::GraphFile;

/// Which factorisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Cholesky,
    Lu,
    Qr,
}

/// What copies of tiles are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copies {
    /// Nothing.
    Free,
    /// Bytes over links.
    Links,
    /// Seconds of each edge by the kinds at its ends, as simulators of task graphs have them.
    Priced,
    /// Those of small tiles: tasks of a tenth of a millisecond, each with its own seconds, and copies that
    /// take as long.
    Small,
}

/// A kernel: its name, seconds on a CPU core and on a GPU of a large tile, then of a small one.
type Kernel = (&'static str, [f64; 2], [f64; 2]);

const POTRF: Kernel = ("potrf", [18.0e-3, 10.5e-3], [90.0e-6, 480.0e-6]);
const TRSM: Kernel = ("trsm", [48.0e-3, 5.5e-3], [140.0e-6, 75.0e-6]);
const SYRK: Kernel = ("syrk", [46.0e-3, 1.7e-3], [150.0e-6, 34.0e-6]);
const GEMM: Kernel = ("gemm", [88.0e-3, 3.05e-3], [240.0e-6, 32.0e-6]);
const GETRF: Kernel = ("getrf", [32.0e-3, 20.0e-3], [170.0e-6, 700.0e-6]);
const GEQRT: Kernel = ("geqrt", [58.0e-3, 40.0e-3], [420.0e-6, 1300.0e-6]);
const TSQRT: Kernel = ("tsqrt", [68.0e-3, 42.0e-3], [380.0e-6, 1500.0e-6]);
const UNMQR: Kernel = ("unmqr", [92.0e-3, 6.5e-3], [330.0e-6, 140.0e-6]);
const TSMQR: Kernel = ("tsmqr", [170.0e-3, 7.4e-3], [540.0e-6, 160.0e-6]);

struct Tiles {
    draft: Draft,
    size: usize,
    copies: Copies,
    /// The last writer of each tile.
    writer: Vec<Option<usize>>,
}

impl Tiles {
    /// A task that reads and writes tiles; the tiles it writes are also read.
    fn task(&mut self, kernel: Kernel, at: &[usize], reads: &[(usize, usize)], writes: &[(usize, usize)]) {
        let name = at.iter().fold(kernel.0.to_owned(), |name, i| format!("{name}_{i}"));
        let [cpu, gpu] = match self.copies {
            Copies::Small => {
                // Measured times scatter: a fixed pattern of up to a fifth more stands for it.
                let scatter = |salt: usize| {
                    let mixed = at.iter().fold(salt, |sum, i| sum.wrapping_mul(31).wrapping_add(i * 7 + 3));
                    1.0 + (mixed.wrapping_mul(0x9E37_79B9) >> 7 & 0xFF) as f64 / 1280.0
                };
                [kernel.2[0] * scatter(5), kernel.2[1] * scatter(11)]
            }
            Copies::Free | Copies::Links | Copies::Priced => kernel.1,
        };
        let bytes = if self.copies == Copies::Links { 960.0 * 960.0 * 8.0 } else { 0.0 };
        let node = self.draft.node(name, &[("cpu", cpu), ("gpu", gpu)], bytes);
        for &(i, j) in reads.iter().chain(writes) {
            if let Some(from) = self.writer[i * self.size + j] {
                match self.copies {
                    Copies::Free | Copies::Links => self.draft.edge(from, node),
                    Copies::Priced => self.draft.priced_edge(from, node, 6.2e-4),
                    Copies::Small => self.draft.priced_edge(from, node, 3.0e-5),
                }
            }
        }
        for &(i, j) in writes {
            self.writer[i * self.size + j] = Some(node);
        }
    }
}

/// The factorisation of `size` × `size` tiles on so many CPU cores and GPUs.
pub(crate) fn factorisation(kind: Kind, size: usize, cores: u32, gpus: usize, copies: Copies) -> GraphFile {
    let mut tiles = Tiles { draft: Draft::default(), size, copies, writer: vec![None; size * size] };
    for k in 0..size {
        match kind {
            Kind::Cholesky => cholesky_step(&mut tiles, k),
            Kind::Lu => lu_step(&mut tiles, k),
            Kind::Qr => qr_step(&mut tiles, k),
        }
    }
    let mut machine = hybrid(cores, gpus);
    if copies != Copies::Links {
        machine.links.iter_mut().for_each(|link| link.latency = 0.0);
    }
    tiles.draft.on(machine)
}

fn cholesky_step(tiles: &mut Tiles, k: usize) {
    tiles.task(POTRF, &[k], &[], &[(k, k)]);
    for i in k + 1..tiles.size {
        tiles.task(TRSM, &[k, i], &[(k, k)], &[(i, k)]);
    }
    for i in k + 1..tiles.size {
        tiles.task(SYRK, &[k, i], &[(i, k)], &[(i, i)]);
        for j in k + 1..i {
            tiles.task(GEMM, &[k, i, j], &[(i, k), (j, k)], &[(i, j)]);
        }
    }
}

fn lu_step(tiles: &mut Tiles, k: usize) {
    tiles.task(GETRF, &[k], &[], &[(k, k)]);
    for i in k + 1..tiles.size {
        tiles.task(TRSM, &[k, i, k], &[(k, k)], &[(i, k)]);
        tiles.task(TRSM, &[k, k, i], &[(k, k)], &[(k, i)]);
    }
    for i in k + 1..tiles.size {
        for j in k + 1..tiles.size {
            tiles.task(GEMM, &[k, i, j], &[(i, k), (k, j)], &[(i, j)]);
        }
    }
}

fn qr_step(tiles: &mut Tiles, k: usize) {
    tiles.task(GEQRT, &[k], &[], &[(k, k)]);
    for j in k + 1..tiles.size {
        tiles.task(UNMQR, &[k, j], &[(k, k)], &[(k, j)]);
    }
    for i in k + 1..tiles.size {
        tiles.task(TSQRT, &[k, i], &[], &[(k, k), (i, k)]);
        for j in k + 1..tiles.size {
            tiles.task(TSMQR, &[k, i, j], &[(i, k)], &[(k, j), (i, j)]);
        }
    }
}
