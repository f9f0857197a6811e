//! Factors of square matrices, with rows exchanged for the largest pivots.

use crate::linalg::gemm::{Operand, gemm_within};
use crate::linalg::rows_dot::RowsDot;
use crate::linalg::triangle::{Triangle, solve, subtract};

/// Columns that are factored at a time.
const PANEL: usize = 32;

/// What is known of the factors, which take the place of the matrix.
pub(crate) struct Lu {
    /// With which row each row was exchanged, in turn.
    pub(crate) swaps: Vec<usize>,
    /// Whether a pivot is zero.
    pub(crate) singular: bool,
}

/// Factors an `n` by `n` matrix in place: a lower triangle of unit diagonal, and an upper one.
pub(crate) fn factor<T: RowsDot>(a: &mut [T], n: usize) -> Lu {
    let mut found = Lu {
        swaps: Vec::with_capacity(n),
        singular: false,
    };
    let mut panel = Vec::new();
    for k in (0..n).step_by(PANEL) {
        let w = PANEL.min(n - k);
        panel.clear();
        for i in k..n {
            panel.extend_from_slice(&a[i * n + k..][..w]);
        }
        columns(&mut panel, w, &mut found);
        for i in k..k + w {
            let other = k + found.swaps[i];
            found.swaps[i] = other;
            swap_rows(a, n, i, other);
        }
        for (i, row) in panel.chunks_exact(w).enumerate() {
            a[(k + i) * n + k..][..w].copy_from_slice(row);
        }
        let rest = n - k - w;
        if rest == 0 {
            break;
        }
        let (top, bottom) = a.split_at_mut((k + w) * n);
        let right = &mut top[k * n + k + w..];
        let unit = Triangle {
            of: Operand::new(&panel, w),
            lower: true,
            unit: true,
        };
        solve(unit, w, right, (rest, n));
        let left = Operand::new(&panel[w * w..], w);
        let right = Operand::new(right, n);
        let to = (&mut bottom[k + w..], n);
        gemm_within((rest, rest, w), -T::ONE, left, right, T::ONE, to);
    }
    found
}

fn swap_rows<T: Copy>(a: &mut [T], width: usize, i: usize, j: usize) {
    if i != j {
        let (low, high) = a.split_at_mut(i.max(j) * width);
        low[i.min(j) * width..][..width].swap_with_slice(&mut high[..width]);
    }
}

/// Factors a panel of `w` columns; swaps are counted from its first row.
fn columns<T: RowsDot>(panel: &mut [T], w: usize, found: &mut Lu) {
    let m = panel.len() / w;
    for k in 0..w {
        let mut best = k;
        for i in k + 1..m {
            if panel[i * w + k].abs() > panel[best * w + k].abs() {
                best = i;
            }
        }
        found.swaps.push(best);
        swap_rows(panel, w, k, best);
        let (top, bottom) = panel.split_at_mut((k + 1) * w);
        let pivots = &top[k * w..];
        let pivot = pivots[k];
        if pivot == T::ZERO {
            found.singular = true;
            continue;
        }
        for row in bottom.chunks_exact_mut(w) {
            row[k] = row[k] / pivot;
            let x = row[k];
            subtract(&mut row[k + 1..], x, &pivots[k + 1..]);
        }
    }
}

impl Lu {
    /// The sign of the determinant, and the logarithm of its size, from the factors.
    pub(crate) fn determinant<T: RowsDot>(&self, a: &[T], n: usize) -> (f64, f64, f64) {
        let odd = self
            .swaps
            .iter()
            .enumerate()
            .filter(|(i, to)| i != *to)
            .count()
            % 2;
        let (mut sign, mut log, mut value) = (1.0 - 2.0 * odd as f64, 0.0, 1.0);
        for i in 0..n {
            let x = a[i * n + i].f64();
            value *= x;
            log += x.abs().ln();
            sign *= if x > 0.0 {
                1.0
            } else if x < 0.0 {
                -1.0
            } else {
                0.0
            };
        }
        (sign, log, value * (1.0 - 2.0 * odd as f64))
    }

    /// The inverse of the matrix whose factors are `a`.
    pub(crate) fn inverse<T: RowsDot>(&self, a: &[T], n: usize, out: &mut [T]) {
        out.fill(T::ZERO);
        let mut rows: Vec<usize> = (0..n).collect();
        for (i, &j) in self.swaps.iter().enumerate() {
            rows.swap(i, j);
        }
        for (i, &j) in rows.iter().enumerate() {
            out[i * n + j] = T::ONE;
        }
        let lower = Triangle {
            of: Operand::new(a, n),
            lower: true,
            unit: true,
        };
        solve(lower, n, out, (n, n));
        solve(Triangle::new(Operand::new(a, n), false), n, out, (n, n));
    }
}
