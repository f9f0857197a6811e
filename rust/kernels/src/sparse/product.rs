//! Products of compressed sparse rows and dense matrices.

use super::pattern::Pattern;
use crate::blocks::raw::Target;
use crate::math::real::Real;
use crate::par;
use crate::simd::vector::versions;
use ferromix_base::Result;
use std::ops::Range;
use std::sync::OnceLock;

/// Multiplications per task, roughly.
pub(crate) const GRAIN: usize = 1 << 16;
/// Columns of a dense operand that are computed at a time.
pub(crate) const WIDTH: usize = 16;

/// The product of a row and a vector; None where the row has an element outside of it.
#[inline(always)]
fn along<T: Real>(values: &[T], places: &[i64], rhs: &[T]) -> Option<T> {
    // Four sums, as one would wait for itself. The places are checked one by one on the way: a loop of
    // its own costs as much again, and instructions that gather are slower.
    let mut sums = [T::ZERO; 4];
    let (quads, rest) = values.as_chunks::<4>();
    let (near, last) = places.as_chunks::<4>();
    for (x, c) in quads.iter().zip(near) {
        for lane in 0..4 {
            sums[lane] += x[lane] * *rhs.get(c[lane] as usize)?;
        }
    }
    for (lane, (&x, &c)) in rest.iter().zip(last).enumerate() {
        sums[lane] += x * *rhs.get(c as usize)?;
    }
    Some((sums[0] + sums[1]) + (sums[2] + sums[3]))
}

/// `W` columns of the product of a row, whose places were checked, from column `start` on.
#[inline(always)]
fn block<T: Real, const W: usize>(
    (values, places): (&[T], &[i64]),
    (rhs, width): (&[T], usize),
    start: usize,
    out: &mut [T],
) {
    let mut sums = [T::ZERO; W];
    for (&x, &c) in values.iter().zip(places) {
        if let Some(from) = rhs[c as usize * width + start..].first_chunk::<W>() {
            for lane in 0..W {
                sums[lane] += x * from[lane];
            }
        }
    }
    out[start..start + W].copy_from_slice(&sums);
}

versions! {
    /// Rows of a product with a matrix of `width` columns; the first row that is wrong, or none.
    fn product[T: Real](
        data: &[T],
        pattern: Pattern<'_>,
        rows: Range<usize>,
        rhs: &[T],
        width: usize,
        out: &mut [T],
    ) -> Option<usize> [T] {
        let columns = pattern.columns as u64;
        for (row, out) in rows.zip(out.chunks_exact_mut(width)) {
            let Some(range) = pattern.row(row) else { return Some(row) };
            let (values, places) = (&data[range.clone()], &pattern.indices[range]);
            if width == 1 {
                let Some(sum) = along(values, places, rhs) else { return Some(row) };
                out[0] = sum;
                continue;
            }
            // A negative column is a large one.
            if places.iter().any(|&c| c as u64 >= columns) {
                return Some(row);
            }
            let (row, dense, mut start) = ((values, places), (rhs, width), 0);
            while start + WIDTH <= width {
                block::<T, WIDTH>(row, dense, start, out);
                start += WIDTH;
            }
            let rest = width - start;
            if rest & 8 != 0 {
                block::<T, 8>(row, dense, start, out);
            }
            if rest & 4 != 0 {
                block::<T, 4>(row, dense, start + (rest & 8), out);
            }
            if rest & 2 != 0 {
                block::<T, 2>(row, dense, start + (rest & 12), out);
            }
            if rest & 1 != 0 {
                block::<T, 1>(row, dense, width - 1, out);
            }
        }
        None
    }
}

/// `csr · rhs`. Sums run in the order in which the elements are stored, by fours for a vector.
///
/// # Errors
/// A structure that is wrong.
pub(crate) fn multiply<T: Real>(
    name: &str,
    data: &[T],
    pattern: Pattern<'_>,
    rhs: &[T],
    width: usize,
    out: &mut [T],
) -> Result<()> {
    let rows = pattern.rows();
    let work = pattern.indices.len() * width / rows.max(1);
    let target = Target::of_slice(out);
    let wrong = OnceLock::new();
    par::for_ranges(rows, (GRAIN / work.max(1)).max(8), |range| {
        // SAFETY: the rows of tasks are disjoint.
        let out = unsafe { target.slice(range.start * width..range.end * width) };
        if let Some(row) = product(data, pattern, range, rhs, width, out) {
            wrong.get_or_init(|| row);
        }
    });
    match wrong.into_inner() {
        None => Ok(()),
        Some(row) => Err(pattern.refuse(name, row)),
    }
}
