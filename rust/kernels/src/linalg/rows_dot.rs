//! Products of rows with rows, `C = alpha A B^T + beta C`, where both operands run along the
//! contracted axis in memory: nothing is packed, every row of the larger operand is read once per
//! four rows of the other. This serves fully connected layers on small batches.

use crate::linalg::lanes::Lanes;
#[cfg(target_arch = "x86_64")]
use crate::linalg::pairs;
use crate::linalg::plain::Plain;
use crate::linalg::tile::Tiled;
use crate::math::real::Real;
use crate::simd::vector::{Level, level};

/// Rows of each operand in a tile.
const N: usize = 4;

/// `depth, a, distance between its rows, b, distance between its rows, result`.
pub(super) type Micro<T> = unsafe fn(usize, *const T, usize, *const T, usize, &mut [[T; N]; N]);

/// The loops for this CPU, by rows of `a` and `b`.
pub(super) type Table<T> = [[Micro<T>; N]; N];

/// Types that there are loops for.
pub(crate) trait RowsDot: Tiled {
    fn table() -> &'static Table<Self>;
}

/// # Safety
/// The CPU has the instructions of `V`; `depth` numbers can be read in each of `M` rows at `a` and
/// `K` rows at `b`.
#[inline(always)]
unsafe fn body<T: Real, V: Lanes<T>, const M: usize, const K: usize>(
    depth: usize,
    a: *const T,
    a_stride: usize,
    b: *const T,
    b_stride: usize,
    out: &mut [[T; N]; N],
) {
    let whole = depth / V::N * V::N;
    // SAFETY: the caller vouches for the CPU and the memory.
    unsafe {
        let mut acc = [[V::zero(); K]; M];
        let mut at = 0;
        while at < whole {
            let right: [V; K] = std::array::from_fn(|j| V::load(b.add(j * b_stride + at)));
            for (i, acc) in acc.iter_mut().enumerate() {
                let left = V::load(a.add(i * a_stride + at));
                for (acc, &right) in acc.iter_mut().zip(&right) {
                    *acc = acc.fma(left, right);
                }
            }
            at += V::N;
        }
        for (i, acc) in acc.iter().enumerate() {
            for (j, acc) in acc.iter().enumerate() {
                let mut lanes = [T::ZERO; 16];
                acc.store(lanes.as_mut_ptr());
                let mut sum = tree(&mut lanes);
                for k in whole..depth {
                    sum = V::one(sum, *a.add(i * a_stride + k), *b.add(j * b_stride + k));
                }
                out[i][j] = sum;
            }
        }
    }
}

#[inline(always)]
fn tree<T: Real>(lanes: &mut [T; 16]) -> T {
    for width in [8, 4, 2, 1] {
        for i in 0..width {
            let upper = lanes[i + width];
            lanes[i] += upper;
        }
    }
    lanes[0]
}

macro_rules! table {
    ($loop:ident, $t:ty, $v:ty) => {
        &[
            table!(row $loop, $t, $v, 1),
            table!(row $loop, $t, $v, 2),
            table!(row $loop, $t, $v, 3),
            table!(row $loop, $t, $v, 4),
        ]
    };
    (row $loop:ident, $t:ty, $v:ty, $m:literal) => {
        [$loop::<$t, $v, $m, 1>, $loop::<$t, $v, $m, 2>, $loop::<$t, $v, $m, 3>, $loop::<$t, $v, $m, 4>]
    };
}

macro_rules! compiled_for {
    ($($name:ident: $features:literal),*) => {$(
        /// # Safety
        /// As [`body`].
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        unsafe fn $name<T: Real, V: Lanes<T>, const M: usize, const K: usize>(
            depth: usize,
            a: *const T,
            a_stride: usize,
            b: *const T,
            b_stride: usize,
            out: &mut [[T; N]; N],
        ) {
            // SAFETY: as the caller vouches.
            unsafe { body::<T, V, M, K>(depth, a, a_stride, b, b_stride, out) }
        }
    )*};
}
compiled_for!(
    v4_pairs: "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma",
    v4: "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma",
    v3: "avx2,fma"
);

/// The loops for pairs of bfloat16, where this CPU multiplies these.
pub(super) fn pair_table() -> Option<&'static Table<f32>> {
    #[cfg(target_arch = "x86_64")]
    if pairs::there() {
        return Some(table!(v4_pairs, f32, pairs::Pairs));
    }
    None
}

macro_rules! rows_dot {
    ($($t:ty: $v4:ident, $v3:ident, $lanes:literal);*) => {$(
        impl RowsDot for $t {
            fn table() -> &'static Table<$t> {
                match level() {
                    #[cfg(target_arch = "x86_64")]
                    Level::V4 => table!(v4, $t, std::arch::x86_64::$v4),
                    #[cfg(target_arch = "x86_64")]
                    Level::V3 => table!(v3, $t, std::arch::x86_64::$v3),
                    Level::Base => table!(body, $t, Plain<$t, $lanes>),
                }
            }
        }
    )*};
}
rows_dot!(f32: __m512, __m256, 4; f64: __m512d, __m256d, 2);

/// `C = alpha A B^T + beta C` for rows `a_stride`, `b_stride` and `c_stride` apart. With `beta` = 0
/// the old `C` is not read.
///
/// # Safety
/// `c` holds `m` rows of `n` numbers, `c_stride` apart, that nobody else uses meanwhile.
///
/// # Panics
/// Operands that are too short, which is a fault of the caller.
pub(crate) unsafe fn product<T: RowsDot>(
    table: &Table<T>,
    (m, n, depth): (usize, usize, usize),
    (alpha, beta): (T, T),
    (a, a_stride): (&[T], usize),
    (b, b_stride): (&[T], usize),
    (c, c_stride): (*mut T, usize),
) {
    assert!(m > 0 && n > 0);
    assert!(a.len() >= (m - 1) * a_stride + depth && b.len() >= (n - 1) * b_stride + depth);
    for j in (0..n).step_by(N) {
        for i in (0..m).step_by(N) {
            let (rows, cols) = (N.min(m - i), N.min(n - j));
            let mut out = [[T::ZERO; N]; N];
            let (a, b) = (a[i * a_stride..].as_ptr(), b[j * b_stride..].as_ptr());
            // SAFETY: the table is for this CPU; the lengths were checked above.
            unsafe { table[rows - 1][cols - 1](depth, a, a_stride, b, b_stride, &mut out) };
            for (r, out) in out[..rows].iter().enumerate() {
                for (s, &v) in out[..cols].iter().enumerate() {
                    // SAFETY: within the rows that the caller vouches for.
                    unsafe {
                        let to = c.add((i + r) * c_stride + j + s);
                        let old = if beta == T::ZERO { T::ZERO } else { beta * *to };
                        *to = alpha * v + old;
                    }
                }
            }
        }
    }
}
