//! Rows that are picked by places, and rows that come together at them.

use crate::api::{Req, View};
use crate::blocks::indices::{Groups, Indices, Outside};
use crate::iter::convert::with_type;
use crate::iter::reader::Parts;
use crate::par;
use crate::simd::number::{Convert, From3, Number};
use ferromix_base::{DType, Element, Result, bf16, f16};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Elements per task.
const GRAIN: usize = 32_768;

/// A tensor seen as `[outer, n, inner]`: rows of `inner` elements, `n` to choose from in each of `outer`
/// blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    pub(crate) outer: usize,
    pub(crate) n: usize,
    pub(crate) inner: usize,
}

/// Sets row `(o, j)` of `out` to row `(o, places[j])` of `data`.
///
/// # Errors
/// Arguments of other types than each other, or with gaps.
pub(crate) fn gather(data: &View, out: &mut View, places: &[usize], rows: Rows) -> Result<()> {
    with_type!(data.dtype(), T => gather_as::<T>(data.read::<T>()?, out.write::<T>()?, places, rows));
    Ok(())
}

fn gather_as<T: Element>(data: &[T], out: &mut [T], places: &[usize], rows: Rows) {
    let (Rows { outer, n, inner }, m) = (rows, places.len());
    let out = Parts::new(out);
    if inner == 1 {
        return par::for_ranges(outer * m, GRAIN, |range| {
            // SAFETY: tasks have disjoint ranges.
            let own = unsafe { out.part(range.start, range.len()) };
            let (mut block, mut j) = (range.start / m, range.start % m);
            for x in own {
                *x = data[block * n + places[j]];
                j += 1;
                if j == m {
                    (block, j) = (block + 1, 0);
                }
            }
        });
    }
    par::for_ranges(outer * m, GRAIN / inner.max(1), |range| {
        // SAFETY: as above.
        let own = unsafe { out.part(range.start * inner, range.len() * inner) };
        for (row, to) in range.zip(own.chunks_exact_mut(inner.max(1))) {
            let at = (row / m * n + places[row % m]) * inner;
            to.copy_from_slice(&data[at..at + inner]);
        }
    });
}

/// Sets row `j` of `out` to the row of `data` that index `j` means, of `rows` in one block.
///
/// # Errors
/// The first index that has no place: it names the operator and the axis, which are `what`.
pub(crate) fn gather_at(
    data: &View,
    out: &mut View,
    indices: Indices<'_>,
    rows: Rows,
    (what, outside): ((&str, usize), Outside),
) -> Result<()> {
    let wrong = with_type!(data.dtype(), T => {
        gather_at_as::<T>(data.read::<T>()?, out.write::<T>()?, indices, rows, outside)
    });
    wrong.map_or(Ok(()), |at| Err(indices.refuse(at, what, rows.n)))
}

/// The first position whose index has no place, if there is one.
fn gather_at_as<T: Element>(
    data: &[T],
    out: &mut [T],
    indices: Indices<'_>,
    Rows { n, inner, .. }: Rows,
    outside: Outside,
) -> Option<usize> {
    let out = Parts::new(out);
    let wrong = AtomicUsize::new(usize::MAX);
    par::for_ranges(indices.len(), GRAIN / inner.max(1), |range| {
        // SAFETY: tasks have disjoint ranges.
        let own = unsafe { out.part(range.start * inner, range.len() * inner) };
        let first = range.start;
        indices.each(range, |at, index| match outside.place(index, n) {
            Some(place) if inner == 1 => own[at - first] = data[place],
            Some(place) => {
                let to = &mut own[(at - first) * inner..][..inner];
                to.copy_from_slice(&data[place * inner..][..inner]);
            }
            // Relaxed: a number alone, read when all tasks have ended.
            None => _ = wrong.fetch_min(at, Ordering::Relaxed),
        });
    });
    Some(wrong.into_inner()).filter(|at| *at != usize::MAX)
}

/// What becomes of rows that come to one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// They are added up, in their order.
    Sum,
    /// The last one stays.
    Last,
}

/// Sets row `(o, place)` of `out` to what rows `(o, j)` of `from` give, over the positions `j` of the
/// place; zeros where there are none. Halves are added up in single precision, integers in 64 bits.
///
/// # Errors
/// Arguments of other types than each other, or with gaps.
pub(crate) fn collect(
    from: &View,
    (out, req): (&mut View, Req),
    groups: &Groups,
    rows: Rows,
    meeting: Meeting,
) -> Result<()> {
    macro_rules! run {
        ($t:ty, $c:ty) => {{
            let (from, out) = (from.read::<$t>()?, out.write::<$t>()?);
            collect_as::<$t, $c>(from, (out, req), groups, rows, meeting)
        }};
    }
    match from.dtype() {
        DType::F32 => run!(f32, f32),
        DType::F64 => run!(f64, f64),
        DType::F16 => run!(f16, f32),
        DType::BF16 => run!(bf16, f32),
        DType::U8 => run!(u8, i64),
        DType::I8 => run!(i8, i64),
        DType::I32 => run!(i32, i64),
        DType::I64 => run!(i64, i64),
        DType::Bool => run!(bool, i64),
    }
    Ok(())
}

fn collect_as<T: Convert + From3, C: Number + Convert>(
    from: &[T],
    (out, req): (&mut [T], Req),
    groups: &Groups,
    Rows { outer, n, inner }: Rows,
    meeting: Meeting,
) {
    let m = groups.positions();
    let out = Parts::new(out);
    par::for_ranges(outer * n, GRAIN / inner.max(1), |range| {
        let mut sums = vec![C::ZERO; inner];
        for row in range {
            let mut members = groups.at(row % n);
            if meeting == Meeting::Last {
                members = &members[members.len().saturating_sub(1)..];
            }
            // SAFETY: each row belongs to one task.
            let to = unsafe { out.part(row * inner, inner) };
            if members.is_empty() && req != Req::Add {
                to.fill(C::ZERO.convert::<T>());
                continue;
            }
            sums.fill(C::ZERO);
            for &j in members {
                let at = (row / n * m + j) * inner;
                let pairs = sums.iter_mut().zip(&from[at..at + inner]);
                pairs.for_each(|(sum, x)| *sum = sum.plus(x.convert::<C>()));
            }
            for (x, sum) in to.iter_mut().zip(&sums) {
                let old = if req == Req::Add {
                    x.convert::<C>()
                } else {
                    C::ZERO
                };
                *x = old.plus(*sum).convert::<T>();
            }
        }
    });
}
