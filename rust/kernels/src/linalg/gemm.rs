//! Products of matrices: `C = alpha A B + beta C` for operands of any strides, on the `gemm`
//! crate, or on our own loops: where packing would take as long as multiplying, and where the CPU has
//! wider registers than that crate uses. `C` is cut into tiles by the sizes of the problem alone, one task each, so that the
//! result has the same bits whatever the number of threads.

use crate::api::Req;
use crate::blocks::blockwise::store;
use crate::blocks::raw::{Source, Target};
use crate::linalg::ends::Start;
use crate::linalg::packed::{self, Right};
use crate::linalg::rows_dot::{self, RowsDot};
use crate::par;

/// A matrix in memory: element `(i, j)` stands at `i * rows + j * cols`.
#[derive(Clone, Copy)]
pub(crate) struct Operand<'a, T> {
    pub(super) data: &'a [T],
    pub(super) rows: usize,
    pub(super) cols: usize,
}

impl<'a, T> Operand<'a, T> {
    /// A row-major matrix of `width` columns.
    pub(crate) fn new(data: &'a [T], width: usize) -> Self {
        Operand {
            data,
            rows: width,
            cols: 1,
        }
    }

    /// The matrix with rows and columns exchanged.
    #[must_use]
    pub(crate) fn transposed(self) -> Self {
        Operand {
            data: self.data,
            rows: self.cols,
            cols: self.rows,
        }
    }

    /// The matrix itself, or transposed where `flip`.
    #[must_use]
    pub(crate) fn flipped(self, flip: bool) -> Self {
        if flip { self.transposed() } else { self }
    }

    /// Element `(i, j)`, which there must be.
    #[inline(always)]
    pub(crate) fn at(&self, i: usize, j: usize) -> T
    where
        T: Copy,
    {
        self.data[i * self.rows + j * self.cols]
    }

    /// The matrix from row `i` and column `j` on.
    #[must_use]
    pub(crate) fn from(self, i: usize, j: usize) -> Self {
        let start = (i * self.rows + j * self.cols).min(self.data.len());
        Operand {
            data: &self.data[start..],
            ..self
        }
    }

    pub(super) fn fits(&self, m: usize, n: usize) -> bool {
        m == 0 || n == 0 || (m - 1) * self.rows + (n - 1) * self.cols < self.data.len()
    }
}

/// Multiplications that are worth a task of their own.
pub(super) const TASK: usize = 1 << 20;
/// Multiplications in the time in which a number is read from memory.
const READ: usize = 8;
/// Most tasks of one product.
const MAX_TASKS: usize = 64;

/// Operands that both run along the contracted axis are multiplied as they lie where one of them
/// has no more rows than this.
const ROWS_LIMIT: usize = 16;

/// Rows and columns of a task's part of an `m` by `n` result.
pub(super) fn tile(m: usize, n: usize, k: usize) -> (usize, usize) {
    // Where few rows share what is read, reading takes longer than multiplying.
    let alone = (READ / m.min(n).max(1)).max(1);
    let work = m.saturating_mul(n).saturating_mul(k).saturating_mul(alone);
    let tasks = (work / TASK).clamp(1, MAX_TASKS);
    let (mut rows, mut cols) = (m, n);
    while m.div_ceil(rows) * n.div_ceil(cols) < tasks {
        if cols >= rows && cols > 96 {
            cols = cols.div_ceil(2).next_multiple_of(48);
        } else if rows > 16 {
            rows = rows.div_ceil(2).next_multiple_of(8);
        } else {
            break;
        }
    }
    (rows, cols)
}

/// `C = alpha A B + beta C` for a row-major `C` of `n` columns; `A` is `m` by `k`. With `beta` = 0
/// the old `C` is not read.
///
/// # Panics
/// Operands that are too short, which is a fault of the caller.
pub(crate) fn gemm<T: RowsDot>(
    size: (usize, usize, usize),
    alpha: T,
    a: Operand<'_, T>,
    b: Operand<'_, T>,
    beta: T,
    c: &mut [T],
) {
    gemm_within(size, alpha, a, b, beta, (c, size.1));
}

/// The same for a `C` that is part of a wider matrix, with `width` elements between its rows.
///
/// # Panics
/// As [`gemm`].
pub(crate) fn gemm_within<T: RowsDot>(
    size: (usize, usize, usize),
    alpha: T,
    a: Operand<'_, T>,
    b: Operand<'_, T>,
    beta: T,
    (c, width): (&mut [T], usize),
) {
    // SAFETY: all of `c` is ours.
    unsafe { gemm_into(size, alpha, a, b, beta, (Target::of_slice(c), 0, width)) }
}

/// As [`gemm_within`] for a `C` whose rows stand anywhere: from a place in memory on.
///
/// # Panics
/// Operands that are too short, which is a fault of the caller.
///
/// # Safety
/// Nobody else uses the elements of `C` meanwhile.
pub(crate) unsafe fn gemm_into<T: RowsDot>(
    (m, n, k): (usize, usize, usize),
    alpha: T,
    a: Operand<'_, T>,
    b: Operand<'_, T>,
    beta: T,
    (target, start, width): (Target<T>, usize, usize),
) {
    if m == 0 || n == 0 {
        return;
    }
    assert!(a.fits(m, k) && b.fits(k, n) && n <= width);
    assert!(start + (m - 1) * width + n <= target.len());
    if alpha == T::ONE && (beta == T::ZERO || beta == T::ONE) && packed::pays::<T>((m, n, k)) {
        let c = (target, start, width);
        let b = Right {
            lies: b,
            packed: None,
        };
        let from = if beta == T::ONE {
            Start::There
        } else {
            Start::Zero
        };
        // SAFETY: `C` fits, and the caller vouches for its elements.
        return unsafe { packed::product(T::tiles_for(n), (m, n, k), a, b, from, c) };
    }
    let by_rows = runs_along(a, b, (m, n, k));
    let (rows, cols) = tile(m, n, k);
    let across = n.div_ceil(cols);
    par::for_each(m.div_ceil(rows) * across, |task| {
        let (i, j) = (task / across * rows, task % across * cols);
        let (mt, nt) = (rows.min(m - i), cols.min(n - j));
        // SAFETY: the operands and the last element of `C` have been checked. The tiles of different
        // tasks do not overlap, and the caller vouches for the whole.
        unsafe {
            let c = target.at(start + i * width + j);
            if by_rows {
                let (a, b) = (
                    (&a.data[i * a.rows..], a.rows),
                    (&b.data[j * b.cols..], b.cols),
                );
                return rows_dot::product(T::table(), (mt, nt, k), (alpha, beta), a, b, (c, width));
            }
            let a_at = a.data.as_ptr().wrapping_add(i * a.rows);
            let b_at = b.data.as_ptr().wrapping_add(j * b.cols);
            gemm::gemm(
                mt,
                nt,
                k,
                c,
                1,
                width as isize,
                beta != T::ZERO,
                a_at,
                a.cols as isize,
                a.rows as isize,
                b_at,
                b.cols as isize,
                b.rows as isize,
                beta,
                alpha,
                false,
                false,
                false,
                gemm::Parallelism::None,
            );
        }
    });
}

/// Whether operands both run along the contracted axis, and one of them has few rows.
pub(super) fn runs_along<T>(
    a: Operand<'_, T>,
    b: Operand<'_, T>,
    (m, n, k): (usize, usize, usize),
) -> bool {
    a.cols == 1 && b.rows == 1 && k >= 32 && m.min(n) <= ROWS_LIMIT
}

/// `C = A B` plus a row, or `C += A B` plus a row if `add`, for a row-major `C` of `n` columns; `B` may be
/// packed. Without a row nothing is added.
///
/// # Panics
/// As [`gemm`].
pub(crate) fn affine<T: RowsDot>(
    (m, n, k): (usize, usize, usize),
    a: Operand<'_, T>,
    b: Right<'_, T>,
    row: Option<&[T]>,
    add: bool,
    c: &mut [T],
) {
    if m == 0 || n == 0 {
        return;
    }
    let packs = packed::pays::<T>((m, n, k));
    let from = match row {
        Some(row) if packs && !add => Start::Rows(Source::of_slice(row), 0, 0),
        Some(row) => {
            let req = if add { Req::Add } else { Req::Write };
            c.chunks_exact_mut(n).for_each(|to| store(row, to, req));
            Start::There
        }
        None if add => Start::There,
        None => Start::Zero,
    };
    if packs {
        assert!(a.fits(m, k) && b.lies.fits(k, n) && c.len() >= m * n);
        assert!(row.is_none_or(|row| row.len() >= n));
        let c = (Target::of_slice(c), 0, n);
        // SAFETY: all of `c` is ours, and large enough; so is the row.
        return unsafe { packed::product(T::tiles_for(n), (m, n, k), a, b, from, c) };
    }
    let beta = match from {
        Start::Zero => T::ZERO,
        _ => T::ONE,
    };
    gemm((m, n, k), T::ONE, a, b.lies, beta, c);
}

/// Numbers of a packed `B` for [`affine`]; none where it is taken as it lies.
pub(crate) fn packed_size<T: RowsDot>((m, n, k): (usize, usize, usize)) -> usize {
    if packed::pays::<T>((m, n, k)) {
        packed::size(T::tiles_for(n), (n, k))
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize, seed: usize) -> Vec<f64> {
        (0..n)
            .map(|i| ((i * 37 + seed * 11) % 23) as f64 / 4.0 - 2.5)
            .collect()
    }

    fn product(
        (m, n, k): (usize, usize, usize),
        (ta, tb): (bool, bool),
        (alpha, beta): (f64, f64),
        c: &mut [f64],
    ) {
        let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
        let a = Operand::new(&a, if ta { m } else { k }).flipped(ta);
        let b = Operand::new(&b, if tb { k } else { n }).flipped(tb);
        gemm((m, n, k), alpha, a, b, beta, c);
    }

    #[test]
    fn agrees_with_the_definition() {
        let sizes = [0, 1, 2, 3, 17, 50];
        for m in sizes {
            for n in sizes {
                for k in sizes {
                    for case in 0..12 {
                        let (ta, tb) = (case & 1 == 1, case & 2 == 2);
                        let (alpha, beta) = [(1.0, 0.0), (2.0, 1.0), (-0.5, 0.25)][case / 4];
                        let start = if beta == 0.0 {
                            vec![f64::NAN; m * n]
                        } else {
                            numbers(m * n, 3)
                        };
                        let mut c = start.clone();
                        product((m, n, k), (ta, tb), (alpha, beta), &mut c);
                        let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
                        for i in 0..m {
                            for j in 0..n {
                                let dot: f64 = (0..k)
                                    .map(|p| {
                                        let x = if ta { a[p * m + i] } else { a[i * k + p] };
                                        let y = if tb { b[j * k + p] } else { b[p * n + j] };
                                        x * y
                                    })
                                    .sum();
                                let old = if beta == 0.0 {
                                    0.0
                                } else {
                                    beta * start[i * n + j]
                                };
                                let want = alpha * dot + old;
                                let got = c[i * n + j];
                                assert!(
                                    (got - want).abs() <= 1e-12 * (1.0 + want.abs()),
                                    "{got} {want}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_packed_agrees_with_rows_one_by_one() {
        let sizes = [
            // Both as they lie; then `A` alone.
            (30, 32, 40),
            (30, 64, 40),
            // A rest of columns, depths and columns beyond what is packed at once.
            (25, 160, 33),
            (24, 250, 300),
            (37, 2200, 35),
            // Rows for which all columns are packed before.
            (110, 96, 70),
        ];
        for (m, n, k) in sizes {
            for case in 0..8 {
                let flips = (case & 1 == 1, case & 2 == 2);
                let beta = f64::from(case / 4);
                let start = numbers(m * n, 3);
                let mut c = start.clone();
                product((m, n, k), flips, (1.0, beta), &mut c);
                let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
                let a = Operand::new(&a, if flips.0 { m } else { k }).flipped(flips.0);
                let b = Operand::new(&b, if flips.1 { k } else { n }).flipped(flips.1);
                for (at, &got) in c.iter().enumerate() {
                    let dot: f64 = (0..k).map(|p| a.at(at / n, p) * b.at(p, at % n)).sum();
                    let want = dot + beta * start[at];
                    assert!(
                        (got - want).abs() <= 1e-10 * (1.0 + want.abs()),
                        "{got} {want}"
                    );
                }
            }
        }
    }

    #[test]
    fn bits_do_not_depend_on_threads() {
        for size in [
            (64, 300, 784),
            (333, 20, 1000),
            (1, 4096, 1024),
            (500, 500, 3),
        ] {
            let run = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap();
                let (m, n, k) = size;
                let a: Vec<f32> = numbers(m * k, 5)
                    .iter()
                    .map(|&x| (x * 0.37) as f32)
                    .collect();
                let b: Vec<f32> = numbers(k * n, 6)
                    .iter()
                    .map(|&x| (x * 0.73) as f32)
                    .collect();
                let mut c = vec![0f32; m * n];
                pool.install(|| {
                    gemm(
                        size,
                        1.0,
                        Operand::new(&a, k),
                        Operand::new(&b, k).transposed(),
                        0.0,
                        &mut c,
                    );
                });
                c.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
            };
            let one = run(1);
            assert_eq!(one, run(2));
            assert_eq!(one, run(3));
        }
    }
}
