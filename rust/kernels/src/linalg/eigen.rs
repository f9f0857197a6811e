//! Eigenvectors of symmetric matrices: reflections to three diagonals, then the QL method with
//! implicit shifts (Dubrulle, Martin and Wilkinson, Numer. Math. 12, 1968). The numbers of the
//! diagonals are doubles; rotations are collected and applied to blocks of columns.

use crate::blocks::raw::Target;
use crate::linalg::gemm::{Operand, gemm};
use crate::linalg::reflect::{Reflectors, reflector};
use crate::linalg::rows_dot::RowsDot;
use crate::linalg::triangle::mirror;
use crate::math::real::Real;
use crate::par;
use crate::simd::vector::{multiversion, versions};

/// Columns that a task rotates.
const COLUMNS: usize = 128;
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
/// it, and the reflectors.
fn three_diagonals<T: RowsDot>(a: &mut [T], n: usize) -> (Vec<f64>, Vec<f64>, Reflectors<T>) {
    let (mut d, mut e) = (vec![0.0; n], vec![0.0; n]);
    let mut all = Reflectors::new(n.saturating_sub(2), n, 1);
    let mut w = vec![T::ZERO; n];
    for k in 0..n {
        d[k] = a[k * n + k].f64();
        let rest = n - k - 1;
        if rest < 2 {
            if rest == 1 {
                e[k] = a[k * n + k + 1].f64();
            }
            continue;
        }
        let v = &mut all.rows[k * n + k + 1..][..rest];
        v.copy_from_slice(&a[k * n + k + 1..][..rest]);
        let (tau, to) = reflector(v);
        all.taus[k] = tau;
        e[k] = to.f64();
        if tau == T::ZERO {
            continue;
        }
        let inner = &mut a[(k + 1) * n + k + 1..];
        let column = Operand::new(v, n).transposed();
        let w = &mut w[..rest];
        gemm(
            (rest, 1, rest),
            tau,
            Operand::new(inner, n),
            column,
            T::ZERO,
            w,
        );
        let sum: f64 = v.iter().zip(&*w).map(|(x, y)| x.f64() * y.f64()).sum();
        let share = T::of(0.5 * tau.f64() * sum);
        for (w, &x) in w.iter_mut().zip(&*v) {
            *w = *w - share * x;
        }
        let target = Target::of_slice(inner);
        let (v, w) = (&*v, &*w);
        par::for_ranges(rest, GRAIN / rest, |rows| {
            for i in rows {
                // SAFETY: each row belongs to one task.
                let row = unsafe { target.slice(i * n..i * n + rest) };
                subtract_two(row, (v[i], w), (w[i], v));
            }
        });
    }
    (d, e, all)
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

fn rotate<T: RowsDot>(u: &mut [T], n: usize, rotations: &mut Vec<Rotation<T>>) {
    let target = Target::of_slice(u);
    par::for_ranges(n, COLUMNS, |columns| {
        // SAFETY: no other task has these columns.
        unsafe { turn(target, n, columns, rotations) };
    });
    rotations.clear();
}

/// Makes `e` vanish; the rows of `u` turn with it.
fn diagonal<T: RowsDot>(
    d: &mut [f64],
    e: &mut [f64],
    u: &mut [T],
    n: usize,
) -> std::result::Result<(), ()> {
    let small = if size_of::<T>() == 4 { 1e-8 } else { 1e-16 };
    let mut rotations = Vec::new();
    for l in 0..n {
        for step in 0.. {
            let near = |i: usize| e[i].abs() <= small * (d[i].abs() + d[i + 1].abs());
            let m = (l..n - 1).find(|&i| near(i)).unwrap_or(n - 1);
            if m == l {
                break;
            }
            if step == STEPS {
                return Err(());
            }
            sweep(d, e, (l, m), &mut rotations);
            if rotations.len() >= KEPT * n {
                rotate(u, n, &mut rotations);
            }
        }
    }
    rotate(u, n, &mut rotations);
    Ok(())
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
