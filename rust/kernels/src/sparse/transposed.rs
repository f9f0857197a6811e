//! Products of the transpose of compressed sparse rows: each element adds a row of the dense operand to
//! a row of the result. Where that is larger than the nearer caches, the elements are first put in
//! order by parts of the result, which are then made one after the other, or at the same time. Either
//! way a row's sum runs in the order in which the elements are stored.

use super::pattern::Pattern;
use super::product::WIDTH;
use crate::blocks::raw::Target;
use crate::math::real::Real;
use crate::par;
use crate::simd::vector::versions;

/// Bytes of the result that are made at a time.
const PART: usize = 1 << 18;
/// Parts that elements are put in order by, at most.
const PARTS: usize = 256;
/// Columns from which on putting elements in order pays.
const WIDE: usize = 8;

/// A stored element: where it adds what.
#[derive(Clone, Copy, Default)]
struct Entry<T> {
    to: u32,
    from: u32,
    value: T,
}

/// Adds `x · from` to `to`. `W` is how many numbers these have at least, and most often.
#[inline(always)]
fn add_scaled<T: Real, const W: usize>(to: &mut [T], from: &[T], x: T) {
    if let (Ok(to), Ok(from)) = (<&mut [T; W]>::try_from(&mut *to), <&[T; W]>::try_from(from)) {
        for lane in 0..W {
            to[lane] += x * from[lane];
        }
        return;
    }
    for (sum, &y) in to.iter_mut().zip(from) {
        *sum += x * y;
    }
}

versions! {
    /// Adds every element, in the order in which they are stored.
    fn scatter[T: Real, const W: usize, F: Fn(usize) -> usize](
        data: &[T],
        pattern: Pattern<'_>,
        rhs: &[T],
        width: usize,
        out: &mut [T],
        place: &F,
    ) [T, W, F] {
        for (row, from) in rhs.chunks_exact(width).enumerate().take(pattern.rows()) {
            let range = pattern.row(row).unwrap_or(0..0);
            for (&x, &c) in data[range.clone()].iter().zip(&pattern.indices[range]) {
                let at = place(c as usize);
                if W == 1 {
                    out[at] += x * from[0];
                } else {
                    add_scaled::<T, W>(&mut out[at * width..][..width], from, x);
                }
            }
        }
    }
}

versions! {
    /// Makes a part of the result, which begins with row `first`.
    fn gather[T: Real](
        entries: &[Entry<T>],
        rhs: &[T],
        width: usize,
        first: usize,
        out: &mut [T],
    ) [T] {
        out.fill(T::ZERO);
        for entry in entries {
            let from = &rhs[entry.from as usize * width..][..width];
            let to = &mut out[(entry.to as usize - first) * width..][..width];
            if width < WIDTH {
                add_scaled::<T, WIDE>(to, from, entry.value);
            } else {
                add_scaled::<T, WIDTH>(to, from, entry.value);
            }
        }
    }
}

/// The elements by parts of `1 << shift` rows of the result, and where each part ends.
fn sorted<T: Real>(
    data: &[T],
    pattern: Pattern<'_>,
    (parts, shift): (usize, u32),
    place: impl Fn(usize) -> usize,
) -> (Vec<Entry<T>>, Vec<usize>) {
    let mut ends = vec![0; parts];
    let rows = || (0..pattern.rows()).filter_map(|row| Some((row, pattern.row(row)?)));
    for (_, range) in rows() {
        for &c in &pattern.indices[range] {
            ends[place(c as usize) >> shift] += 1;
        }
    }
    let mut total = 0;
    for end in &mut ends {
        total += std::mem::replace(end, total);
    }
    let mut entries = vec![Entry::default(); total];
    for (row, range) in rows() {
        for (&value, &c) in data[range.clone()].iter().zip(&pattern.indices[range]) {
            let to = place(c as usize);
            let end = &mut ends[to >> shift];
            let (to, from) = (to as u32, row as u32);
            entries[*end] = Entry { to, from, value };
            *end += 1;
        }
    }
    (entries, ends)
}

/// `csrᵀ · rhs` as rows of `out`; `place` says which of them a column has. The structure was checked.
pub(crate) fn multiply_transposed<T: Real>(
    data: &[T],
    pattern: Pattern<'_>,
    rhs: &[T],
    width: usize,
    out: &mut [T],
    place: impl Fn(usize) -> usize + Sync,
) {
    let rows = out.len() / width;
    let counted = u32::try_from(rows.max(pattern.rows())).is_ok();
    if width < WIDE || size_of_val(out) <= PART || !counted {
        out.fill(T::ZERO);
        let run = match width {
            1 => scatter::<T, 1, _>,
            2 | 3 => scatter::<T, 2, _>,
            4..WIDE => scatter::<T, 4, _>,
            WIDE..WIDTH => scatter::<T, WIDE, _>,
            _ => scatter::<T, WIDTH, _>,
        };
        return run(data, pattern, rhs, width, out, &place);
    }
    let span = (PART / (width * size_of::<T>())).max(rows.div_ceil(PARTS));
    let shift = span.max(1).next_power_of_two().trailing_zeros();
    let parts = rows.div_ceil(1 << shift);
    let (entries, ends) = sorted(data, pattern, (parts, shift), place);
    let target = Target::of_slice(out);
    par::for_each(parts, |part| {
        let start = part.checked_sub(1).map_or(0, |before| ends[before]);
        let (first, last) = (part << shift, ((part + 1) << shift).min(rows));
        // SAFETY: the rows of parts are disjoint.
        let out = unsafe { target.slice(first * width..last * width) };
        gather(&entries[start..ends[part]], rhs, width, first, out);
    });
}
