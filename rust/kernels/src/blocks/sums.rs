//! Sums of rows in a fixed order: lanes within a block of elements, blocks one after another in
//! `f64`. The order depends on the length alone.

use crate::api::Req;
use crate::blocks::blockwise::store;
use crate::blocks::raw::Target;
use crate::math::real::Real;
use crate::par;
use crate::simd::vector::multiversion;

const LANES: usize = 32;
const BLOCK: usize = 2048;

/// The sum of all lanes, a power of two of them, in halves.
#[inline(always)]
pub(crate) fn joined<R: Real, const N: usize>(mut lanes: [R; N]) -> R {
    let mut width = N / 2;
    while width > 0 {
        for i in 0..width {
            let upper = lanes[i + width];
            lanes[i] += upper;
        }
        width /= 2;
    }
    lanes[0]
}

/// The sums of the numbers that `terms` makes of an element of each input; for use inside
/// [`multiversion`] functions. Rows of [`LANES`] elements are taken at once, without a look at bounds
/// for each; loops are plain, as closures over arrays are not sure to become a part of them.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
pub(crate) fn sums_of<R: Real, const N: usize, const M: usize>(
    inputs: [&[R]; N],
    terms: impl Fn([R; N]) -> [R; M],
) -> [f64; M] {
    let mut n = usize::MAX;
    for x in &inputs {
        n = n.min(x.len());
    }
    let mut totals = [0.0; M];
    for start in (0..n).step_by(BLOCK) {
        let end = (start + BLOCK).min(n);
        let mut part = inputs;
        for x in &mut part {
            *x = &x[start..end];
        }
        let mut lanes = [[R::ZERO; LANES]; M];
        let whole = (end - start) / LANES * LANES;
        for at in (0..whole).step_by(LANES) {
            let mut rows = [[R::ZERO; LANES]; N];
            for (row, x) in rows.iter_mut().zip(part) {
                row.copy_from_slice(&x[at..at + LANES]);
            }
            for i in 0..LANES {
                let mut x = [R::ZERO; N];
                for j in 0..N {
                    x[j] = rows[j][i];
                }
                for (lane, y) in lanes.iter_mut().zip(terms(x)) {
                    lane[i] += y;
                }
            }
        }
        for i in 0..end - start - whole {
            let mut x = [R::ZERO; N];
            for j in 0..N {
                x[j] = part[j][whole + i];
            }
            for (lane, y) in lanes.iter_mut().zip(terms(x)) {
                lane[i] += y;
            }
        }
        for (total, lanes) in totals.iter_mut().zip(&lanes) {
            *total += joined(*lanes).f64();
        }
    }
    totals
}

multiversion! {
    /// The sum of `x`.
    pub(crate) fn sum<R: Real>(x: &[R]) -> f64 {
        sums_of([x], |x| x)[0]
    }

    /// The sum of `g * x` where `x` is not positive.
    pub(crate) fn sum_below<R: Real>(g: &[R], x: &[R]) -> f64 {
        sums_of([g, x], |[g, x]| [if x > R::ZERO { R::ZERO } else { g * x }])[0]
    }

    /// Adds each row of `x` (rows of `out.len()` elements, `stride` apart) to `out`.
    pub(crate) fn add_rows<R: Real>(x: &[R], stride: usize, out: &mut [f64]) {
        for row in x.chunks(stride) {
            for (o, &v) in out.iter_mut().zip(row) {
                *o += v.f64();
            }
        }
    }
}

/// The sums over rows of `width` elements, each in the order of the rows.
pub(crate) fn columns<T: Real>(x: &[T], width: usize, out: &mut [T], req: Req) {
    const COLUMNS: usize = 64;
    let target = Target::of_slice(out);
    let grain = if x.len() < 65_536 { width } else { COLUMNS };
    par::for_ranges(width, grain, |columns| {
        let mut totals = vec![0.0; columns.len()];
        if let Some(from) = x.get(columns.start..) {
            add_rows(from, width, &mut totals);
        }
        let totals: Vec<T> = totals.into_iter().map(T::of).collect();
        // SAFETY: columns belong to one task each.
        store(&totals, unsafe { target.slice(columns) }, req);
    });
}

#[cfg(test)]
mod tests {
    #[test]
    fn sums_agree_with_plain_loops() {
        for n in [0, 1, 31, 32, 33, 2047, 2048, 5000] {
            let x: Vec<f64> = (0..n).map(|i| (i % 7) as f64 - 3.0).collect();
            let g: Vec<f64> = (0..n).map(|i| (i % 5) as f64).collect();
            let plain = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
                g.iter().zip(&x).map(|(&g, &x)| f(g, x)).sum()
            };
            assert_eq!(super::sum(&x), plain(&|_, x| x));
            assert_eq!(
                super::sum_below(&g, &x),
                plain(&|g, x| if x > 0.0 { 0.0 } else { g * x })
            );
        }
    }
}
