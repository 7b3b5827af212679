//! The number types that have a product, and which code computes it.

use super::plan::{GemmPlan, Inputs, MatrixOrder};
use super::vector::{Float, Kernels};
use super::{Product, driver, integer, portable};
use crate::cache;
use crate::level::Level;
use crate::threads::Threads;

/// A number type that has a matrix product: `f32`, `f64`, and an integer of each size: products and sums
/// wrap, so that the sign makes no difference.
#[allow(private_bounds)] // the seal: nobody else can implement it
pub trait Element: Run {}

/// An [`Element`] whose right sides can be packed: `f32`, `f64`.
#[allow(private_bounds)] // as above
pub trait FloatElement: Element + HasKernels {}

/// How a type's products are computed.
pub(super) trait Run: Copy + Send + Sync + 'static {
    /// # Safety
    /// As [`super::matmul`], and the processor has the level.
    unsafe fn run(level: Level, threads: &Threads, product: &Product<'_, Self>);
    fn workspace_bytes(m: usize, k: usize, n: usize) -> usize;
}

/// A type with compiled kernels.
pub(super) trait HasKernels: Float {
    fn kernels(level: Level) -> &'static Kernels<Self>;
}

macro_rules! float {
    ($t:ty, $kernels:ident) => {
        impl Element for $t {}
        impl FloatElement for $t {}
        impl HasKernels for $t {
            fn kernels(level: Level) -> &'static Kernels<$t> {
                match level {
                    Level::Portable => &portable::$kernels,
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => &super::avx2::$kernels,
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => &super::avx512::$kernels,
                    #[cfg(not(target_arch = "x86_64"))]
                    Level::Avx2 | Level::Avx512 => &portable::$kernels,
                }
            }
        }
        impl Run for $t {
            unsafe fn run(level: Level, threads: &Threads, product: &Product<'_, $t>) {
                // SAFETY: the caller's promise.
                unsafe { driver::run(<$t>::kernels(level), threads, product, std::ptr::null()) }
            }
            fn workspace_bytes(m: usize, k: usize, n: usize) -> usize {
                float_workspace_bytes::<$t>(m, k, n)
            }
        }
    };
}
float!(f32, F32);
float!(f64, F64);

macro_rules! integer {
    ($($t:ty)*) => {$(
        impl Element for $t {}
        impl Run for $t {
            unsafe fn run(level: Level, threads: &Threads, product: &Product<'_, $t>) {
                // SAFETY: the caller's promise.
                unsafe { integer::run(level, threads, product) }
            }
            fn workspace_bytes(_: usize, _: usize, _: usize) -> usize {
                0
            }
        }
    )*};
}
integer!(u8 u16 i32 i64);

/// The most over all levels of this processor and all kinds of strides that plans tell apart.
fn float_workspace_bytes<T: HasKernels>(m: usize, k: usize, n: usize) -> usize {
    let (near, far, bad) = (1, isize::MAX / 8192, 4096);
    let sides_a = [
        (MatrixOrder::RowMajor, near, 1),
        (MatrixOrder::RowMajor, bad, 1),
        (MatrixOrder::ColumnMajor, 1, near),
        (MatrixOrder::ColumnMajor, 1, far),
        (MatrixOrder::Strided, near, near),
    ];
    let sides_b =
        [(MatrixOrder::RowMajor, near), (MatrixOrder::RowMajor, bad), (MatrixOrder::ColumnMajor, 1)];
    let mut most = 0;
    if m == 0 || n == 0 {
        return most;
    }
    for level in Level::available() {
        let kernels = T::kernels(level);
        for (a, a_row_stride, a_col_stride) in sides_a {
            for (b, b_row_stride) in sides_b {
                let plan = GemmPlan::new(&Inputs {
                    m,
                    k,
                    n,
                    batch: 1,
                    a,
                    b,
                    a_row_stride,
                    a_col_stride,
                    b_row_stride,
                    b_packed: false,
                    element_bytes: size_of::<T>(),
                    masked: kernels.masked,
                    second_level: cache::second_level_bytes(),
                    rows: kernels.rows,
                    cols: kernels.cols,
                    group: kernels.group,
                });
                most = most.max(driver::workspace_bytes(kernels, &plan));
            }
        }
    }
    most
}
