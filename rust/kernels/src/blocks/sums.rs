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

/// The sum of `n` terms; for use inside [`multiversion`] functions.
#[inline(always)]
pub(crate) fn blocks<R: Real>(n: usize, term: impl Fn(usize) -> R) -> f64 {
    let mut total = 0.0;
    for start in (0..n).step_by(BLOCK) {
        let end = (start + BLOCK).min(n);
        let mut lanes = [R::ZERO; LANES];
        let whole = start + (end - start) / LANES * LANES;
        for at in (start..whole).step_by(LANES) {
            for (i, lane) in lanes.iter_mut().enumerate() {
                *lane += term(at + i);
            }
        }
        for (i, lane) in lanes.iter_mut().enumerate().take(end - whole) {
            *lane += term(whole + i);
        }
        let mut width = LANES / 2;
        while width > 0 {
            for i in 0..width {
                let upper = lanes[i + width];
                lanes[i] += upper;
            }
            width /= 2;
        }
        total += lanes[0].f64();
    }
    total
}

multiversion! {
    /// The sum of `x`.
    pub(crate) fn sum<R: Real>(x: &[R]) -> f64 {
        blocks(x.len(), |i| x[i])
    }

    /// The sum of `(x - center)^2`.
    pub(crate) fn sum_squares<R: Real>(x: &[R], center: R) -> f64 {
        blocks(x.len(), |i| (x[i] - center) * (x[i] - center))
    }

    /// The sum of `g * (x - center)`.
    pub(crate) fn sum_products<R: Real>(g: &[R], x: &[R], center: R) -> f64 {
        let n = g.len().min(x.len());
        let (g, x) = (&g[..n], &x[..n]);
        blocks(n, |i| g[i] * (x[i] - center))
    }

    /// The sum of `g * x` where `x` is not positive.
    pub(crate) fn sum_below<R: Real>(g: &[R], x: &[R]) -> f64 {
        let n = g.len().min(x.len());
        let (g, x) = (&g[..n], &x[..n]);
        blocks(n, |i| if x[i] > R::ZERO { R::ZERO } else { g[i] * x[i] })
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
                super::sum_squares(&x, 0.5),
                plain(&|_, x| (x - 0.5) * (x - 0.5))
            );
            assert_eq!(
                super::sum_products(&g, &x, 0.5),
                plain(&|g, x| g * (x - 0.5))
            );
            assert_eq!(
                super::sum_below(&g, &x),
                plain(&|g, x| if x > 0.0 { 0.0 } else { g * x })
            );
        }
    }
}
