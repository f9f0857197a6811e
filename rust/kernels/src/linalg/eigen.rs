//! Eigenvectors of symmetric matrices: reflections to three diagonals, then the QL method with
//! implicit shifts (Dubrulle, Martin and Wilkinson, Numer. Math. 12, 1968). The numbers of the
//! diagonals are doubles; rotations are collected and applied to blocks of columns.

use crate::blocks::raw::Target;
use crate::linalg::reflect::{Reflectors, reflector};
use crate::linalg::rows_dot::{self, RowsDot};
use crate::linalg::triangle::mirror;
use crate::math::real::Real;
use crate::par;
use crate::simd::vector::{multiversion, versions};
use std::sync::{Mutex, PoisonError};

/// Columns that a task rotates.
const COLUMNS: usize = 64;
/// Elements that a task changes.
const GRAIN: usize = 1 << 15;
/// Rotations that are collected, for each row.
const KEPT: usize = 16;
/// Steps for an eigenvalue; two or three are usual.
const STEPS: usize = 64;

/// Puts eigenvectors in the rows of `a`, of which the lower triangle is read, and their values, in
/// ascending order, in `values`. The largest component of a vector is positive. What is not finite gives
/// NaN.
///
/// # Errors
/// An eigenvalue that was not found.
pub(crate) fn decompose<T: RowsDot>(
    a: &mut [T],
    n: usize,
    values: &mut [T],
) -> std::result::Result<(), ()> {
    mirror(a, n);
    let most = a.iter().fold(0.0, |most: f64, x| most.max(x.abs().f64()));
    if !a.iter().all(|x| x.abs() <= -T::LOWEST) {
        a.fill(T::of(f64::NAN));
        values.fill(T::of(f64::NAN));
        return Ok(());
    }
    // A power of two, so that squares neither overflow nor vanish.
    let scale = if most > 0.0 {
        2f64.powi(most.log2().floor().clamp(-120.0, 1000.0) as i32)
    } else {
        1.0
    };
    a.iter_mut().for_each(|x| *x = T::of(x.f64() / scale));
    let (mut d, mut e, all) = three_diagonals(a, n);
    all.product(a);
    diagonal(&mut d, &mut e, a, n)?;
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| d[i].total_cmp(&d[j]));
    let rows = a.to_vec();
    for (to, (value, &from)) in a.chunks_exact_mut(n).zip(values.iter_mut().zip(&order)) {
        *value = T::of(d[from] * scale);
        let row = &rows[from * n..][..n];
        let top = row
            .iter()
            .fold(T::ZERO, |top, x| if x.abs() > top.abs() { *x } else { top });
        let sign = if top < T::ZERO { -T::ONE } else { T::ONE };
        to.iter_mut().zip(row).for_each(|(t, &x)| *t = x * sign);
    }
    Ok(())
}

/// Reflects a whole symmetric matrix until three diagonals are left: the main one, the one beside
/// it, and the reflectors. What a reflector changes is subtracted from a row when the next one meets it,
/// so that the matrix is gone through once for each.
fn three_diagonals<T: RowsDot>(a: &mut [T], n: usize) -> (Vec<f64>, Vec<f64>, Reflectors<T>) {
    let (mut d, mut e) = (vec![0.0; n], vec![0.0; n]);
    let mut all = Reflectors::new(n.saturating_sub(2), n, 1);
    let (mut v, mut w, mut dots) = (vec![T::ZERO; n], vec![T::ZERO; n], vec![T::ZERO; n]);
    for k in 0..n {
        subtract_two(&mut a[k * n..][..n], (v[k], &w), (w[k], &v));
        d[k] = a[k * n + k].f64();
        if n - k <= 2 {
            e[k] = if n - k == 2 {
                a[k * n + k + 1].f64()
            } else {
                0.0
            };
            continue;
        }
        let next = &mut all.rows[k * n..][..n];
        next[k + 1..].copy_from_slice(&a[k * n + k + 1..][..n - k - 1]);
        let (tau, to) = reflector(&mut next[k + 1..]);
        all.taus[k] = tau;
        e[k] = to.f64();
        // Whole registers, of the widest kind.
        let first = (k + 1) - (k + 1) % LANES;
        let (target, sums) = (Target::of_slice(a), Target::of_slice(&mut dots));
        par::for_ranges(n - k - 1, GRAIN / (n - k), |rows| {
            let rows = rows.start + k + 1..rows.end + k + 1;
            // SAFETY: each row belongs to one task.
            unsafe { subtract_and_dot((target, first), rows, (&v, &w), next, sums) };
        });
        v.copy_from_slice(next);
        let sum: f64 = (k + 1..n).map(|i| v[i].f64() * dots[i].f64()).sum();
        let share = T::of(0.5 * tau.f64() * tau.f64() * sum);
        w[..=k].fill(T::ZERO);
        for i in k + 1..n {
            w[i] = tau * dots[i] - share * v[i];
        }
    }
    (d, e, all)
}

/// Numbers of the widest registers.
const LANES: usize = 16;
/// Rows that are changed, and read again while they are near.
const NEAR: usize = 16;

/// Subtracts `v_i w + w_i v` from each row `i` of a matrix, from column `first` on, and notes the rows'
/// products with `next`.
///
/// # Safety
/// Nobody else uses these rows, nor their places in `dots`, meanwhile.
unsafe fn subtract_and_dot<T: RowsDot>(
    (matrix, first): (Target<T>, usize),
    rows: std::ops::Range<usize>,
    (v, w): (&[T], &[T]),
    next: &[T],
    dots: Target<T>,
) {
    let n = v.len();
    for start in rows.clone().step_by(NEAR) {
        let near = start..rows.end.min(start + NEAR);
        // SAFETY: the caller's rows, and their places.
        unsafe {
            let block = matrix.slice(start * n..near.end * n);
            for (i, row) in near.clone().zip(block.chunks_exact_mut(n)) {
                subtract_two(&mut row[first..], (v[i], &w[first..]), (w[i], &v[first..]));
            }
            let (block, next) = (&block[first..], &next[first..]);
            let sizes = (near.len(), 1, n - first);
            rows_dot::product(
                T::table(),
                sizes,
                (T::ONE, T::ZERO),
                (block, n),
                (next, n),
                (dots.at(start), 1),
            );
        }
    }
}

multiversion! {
    fn subtract_two<T: Real>(row: &mut [T], one: (T, &[T]), two: (T, &[T])) {
        let ((a, v), (b, w)) = (one, two);
        for ((x, &v), &w) in row.iter_mut().zip(v).zip(w) {
            *x = *x - (a * v + b * w);
        }
    }
}

/// A rotation of two neighbouring rows: the first one, cosine and sine.
type Rotation<T> = (usize, T, T);

versions! {
    /// Turns some columns of the rows of a matrix of `n` columns.
    ///
    /// # Safety
    /// Nobody else uses these columns meanwhile.
    unsafe fn turn[T: Real](
        matrix: Target<T>,
        n: usize,
        columns: std::ops::Range<usize>,
        rotations: &[Rotation<T>]
    ) [T] {
        for &(i, c, s) in rotations {
            let [upper, lower] = [i, i + 1].map(|i| i * n + columns.start..i * n + columns.end);
            // SAFETY: two rows, of columns that are the caller's.
            let (upper, lower) = unsafe { (matrix.slice(upper), matrix.slice(lower)) };
            for (x, y) in upper.iter_mut().zip(lower) {
                let (a, b) = (*x, *y);
                *y = s * a + c * b;
                *x = c * a - s * b;
            }
        }
    }
}

/// Makes `e` vanish; the rows of `u` turn with it. Rotations are found while those before are applied.
fn diagonal<T: RowsDot>(
    d: &mut [f64],
    e: &mut [f64],
    u: &mut [T],
    n: usize,
) -> std::result::Result<(), ()> {
    let search = Search {
        d,
        e,
        first: 0,
        steps: 0,
    };
    let mut found = Mutex::new((search, Vec::new(), Ok(())));
    let mut rotations: Vec<Rotation<T>> = Vec::new();
    let target = Target::of_slice(u);
    loop {
        let columns = if rotations.is_empty() { 0 } else { n };
        par::for_each(1 + columns.div_ceil(COLUMNS), |task| {
            let Some(block) = task.checked_sub(1) else {
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                let (search, rotations, result) = &mut *found;
                *result = search.go_on(KEPT * n, rotations);
                return;
            };
            let columns = block * COLUMNS..n.min((block + 1) * COLUMNS);
            // SAFETY: no other task has these columns.
            unsafe { turn(target, n, columns, &rotations) };
        });
        let (_, next, result) = found.get_mut().unwrap_or_else(PoisonError::into_inner);
        (*result)?;
        std::mem::swap(&mut rotations, next);
        next.clear();
        if rotations.is_empty() {
            return Ok(());
        }
    }
}

/// The two diagonals, and the first value that is not found yet, with the steps that it took.
struct Search<'a> {
    d: &'a mut [f64],
    e: &'a mut [f64],
    first: usize,
    steps: usize,
}

impl Search<'_> {
    /// Goes on until there are so many rotations, or no more.
    fn go_on<T: RowsDot>(
        &mut self,
        most: usize,
        rotations: &mut Vec<Rotation<T>>,
    ) -> std::result::Result<(), ()> {
        let small = if size_of::<T>() == 4 { 1e-8 } else { 1e-16 };
        let (n, d, e) = (self.d.len(), &mut *self.d, &mut *self.e);
        while self.first < n && rotations.len() < most {
            let l = self.first;
            let near = |i: usize| e[i].abs() <= small * (d[i].abs() + d[i + 1].abs());
            let m = (l..n - 1).find(|&i| near(i)).unwrap_or(n - 1);
            if m == l {
                (self.first, self.steps) = (l + 1, 0);
                continue;
            }
            if self.steps == STEPS {
                return Err(());
            }
            self.steps += 1;
            sweep(d, e, (l, m), rotations);
        }
        Ok(())
    }
}

/// Squares of which the reciprocal is finite, by far.
const LEAST: f64 = 1e-280;

/// One step on the part from `l` to `m`. Each rotation waits for the one before it, so that the time
/// is that of the longest chain of operations: root and reciprocal are taken at once.
fn sweep<T: RowsDot>(
    d: &mut [f64],
    e: &mut [f64],
    (l, m): (usize, usize),
    rotations: &mut Vec<Rotation<T>>,
) {
    let mut g = (d[l + 1] - d[l]) / (2.0 * e[l]);
    let r = (g * g + 1.0).sqrt();
    g = d[m] - d[l] + e[l] / (g + r.copysign(g));
    let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
    let before = rotations.len();
    rotations.resize(before + m - l, (0, T::ZERO, T::ZERO));
    let places = rotations[before..].iter_mut().zip((l..m).rev());
    for (rotation, i) in places {
        let (f, b) = (s * e[i], c * e[i]);
        // Squares do not overflow, as the matrix was scaled; where they vanish, so does the rest.
        let square = f * f + g * g;
        let r = square.sqrt();
        e[i + 1] = r;
        if square >= LEAST {
            let inverse = square.recip();
            (s, c) = ((f * inverse) * r, (g * inverse) * r);
        } else if r > 0.0 {
            (s, c) = (f / r, g / r);
        } else {
            d[i + 1] -= p;
            e[m] = 0.0;
            rotations.truncate(before + m - 1 - i);
            return;
        }
        g = d[i + 1] - p;
        let t = (d[i] - g) * s + 2.0 * c * b;
        p = s * t;
        d[i + 1] = g + p;
        g = c * t - b;
        *rotation = (i, T::of(c), T::of(s));
    }
    d[l] -= p;
    e[l] = g;
    e[m] = 0.0;
}
