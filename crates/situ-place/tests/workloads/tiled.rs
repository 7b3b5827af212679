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

/// A kernel: its name, seconds on a CPU core, seconds on a GPU.
type Kernel = (&'static str, f64, f64);

const POTRF: Kernel = ("potrf", 18.0e-3, 10.5e-3);
const TRSM: Kernel = ("trsm", 48.0e-3, 5.5e-3);
const SYRK: Kernel = ("syrk", 46.0e-3, 1.7e-3);
const GEMM: Kernel = ("gemm", 88.0e-3, 3.05e-3);
const GETRF: Kernel = ("getrf", 32.0e-3, 20.0e-3);
const GEQRT: Kernel = ("geqrt", 58.0e-3, 40.0e-3);
const TSQRT: Kernel = ("tsqrt", 68.0e-3, 42.0e-3);
const UNMQR: Kernel = ("unmqr", 92.0e-3, 6.5e-3);
const TSMQR: Kernel = ("tsmqr", 170.0e-3, 7.4e-3);

struct Tiles {
    draft: Draft,
    size: usize,
    bytes: f64,
    /// The last writer of each tile.
    writer: Vec<Option<usize>>,
}

impl Tiles {
    /// A task that reads and writes tiles; the tiles it writes are also read.
    fn task(&mut self, kernel: Kernel, at: &[usize], reads: &[(usize, usize)], writes: &[(usize, usize)]) {
        let name = at.iter().fold(kernel.0.to_owned(), |name, i| format!("{name}_{i}"));
        let node = self.draft.node(name, &[("cpu", kernel.1), ("gpu", kernel.2)], self.bytes);
        for &(i, j) in reads.iter().chain(writes) {
            if let Some(from) = self.writer[i * self.size + j] {
                self.draft.edge(from, node);
            }
        }
        for &(i, j) in writes {
            self.writer[i * self.size + j] = Some(node);
        }
    }
}

/// The factorisation of `size` × `size` tiles on so many CPU cores and GPUs. Without copies a tile has no bytes.
pub(crate) fn factorisation(kind: Kind, size: usize, cores: u32, gpus: usize, copies: bool) -> GraphFile {
    let bytes = if copies { 960.0 * 960.0 * 8.0 } else { 0.0 };
    let mut tiles = Tiles { draft: Draft::default(), size, bytes, writer: vec![None; size * size] };
    for k in 0..size {
        match kind {
            Kind::Cholesky => cholesky_step(&mut tiles, k),
            Kind::Lu => lu_step(&mut tiles, k),
            Kind::Qr => qr_step(&mut tiles, k),
        }
    }
    let mut machine = hybrid(cores, gpus);
    if !copies {
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
