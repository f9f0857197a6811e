//! Indices as operators take them: of any type, fractions cut, and what lies outside as the operator says.

use crate::api::{Attrs, View};
use crate::iter::convert::converter;
use crate::iter::reader::Parts;
use crate::par;
use crate::simd::body::Run;
use ferromix_base::{DType, Error, Result};
use std::ops::Range;

/// Indices that are converted at a time.
const BLOCK: usize = 512;

/// Indices per task.
const GRAIN: usize = 32_768;

/// What an index outside of the axis stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outside {
    /// The nearest place.
    Clip,
    /// The axis is a circle.
    Wrap,
    /// Nothing: it is refused.
    Raise,
    /// Negative ones count from the end, others are refused.
    FromEnd,
}

impl Outside {
    /// Reads the attribute `mode`.
    ///
    /// # Errors
    /// A word that is none.
    pub(crate) fn from_attrs(name: &str, attrs: &Attrs) -> Result<Self> {
        match attrs.str("mode")? {
            "clip" => Ok(Outside::Clip),
            "wrap" => Ok(Outside::Wrap),
            "raise" => Ok(Outside::Raise),
            other => Err(Error::value(format!(
                "{name}: unknown mode '{other}'; known: clip, wrap, raise"
            ))),
        }
    }

    /// The place of an index on an axis of `n`, if there is one.
    #[inline(always)]
    pub(crate) fn place(self, index: i64, n: usize) -> Option<usize> {
        let n = n as i64;
        let place = match self {
            Outside::Clip => index.max(0).min(n - 1),
            Outside::Wrap => index.checked_rem_euclid(n).unwrap_or(-1),
            Outside::FromEnd if index < 0 => index + n,
            Outside::Raise | Outside::FromEnd => index,
        };
        (0..n).contains(&place).then_some(place as usize)
    }
}

/// Indices in memory without gaps.
#[derive(Clone, Copy)]
pub(crate) struct Indices<'a> {
    view: &'a View,
}

impl<'a> Indices<'a> {
    /// Those of `view`.
    ///
    /// # Errors
    /// Memory with gaps.
    pub(crate) fn of(view: &'a View) -> Result<Self> {
        if view.is_contiguous() {
            Ok(Indices { view })
        } else {
            Err(Error::internal("indices must lie without gaps"))
        }
    }

    /// How many there are.
    pub(crate) fn len(self) -> usize {
        self.view.len()
    }

    /// The error for the index at a position, which has no place on an axis of `n`.
    pub(crate) fn refuse(self, at: usize, (name, axis): (&str, usize), n: usize) -> Error {
        let mut found = 0;
        self.each(at..at + 1, |_, index| found = index);
        Error::index(format!(
            "{name}: index {found} is out of bounds for axis {axis} with size {n}"
        ))
    }

    /// Calls `each` with the positions of `range` and the indices there, in order.
    pub(crate) fn each(self, range: Range<usize>, mut each: impl FnMut(usize, i64)) {
        assert!(range.end <= self.view.len());
        let mut block = [0_i64; BLOCK];
        let convert = converter(self.view.dtype(), DType::I64);
        for start in range.clone().step_by(BLOCK) {
            let n = BLOCK.min(range.end - start);
            let from = self
                .view
                .ptr()
                .wrapping_add(start * self.view.dtype().size());
            let runs = [block.as_mut_ptr().cast(), from].map(|ptr| Run {
                ptr,
                uniform: false,
            });
            // SAFETY: `n` elements within the view, as asserted, and room for them in the block.
            unsafe { convert.run(runs, n) };
            block[..n]
                .iter()
                .enumerate()
                .for_each(|(i, x)| each(start + i, *x));
        }
    }

    /// The places of the indices of `range` on an axis of `n`.
    ///
    /// # Errors
    /// The first index that has none: it names the operator and the axis.
    pub(crate) fn places(
        self,
        range: Range<usize>,
        what: (&str, usize),
        n: usize,
        outside: Outside,
    ) -> Result<Vec<usize>> {
        const NONE: usize = usize::MAX;
        let mut places = vec![NONE; range.len()];
        let parts = Parts::new(&mut places);
        par::for_ranges(range.len(), GRAIN, |task| {
            // SAFETY: tasks have disjoint ranges.
            let own = unsafe { parts.part(task.start, task.len()) };
            let first = range.start + task.start;
            self.each(first..first + task.len(), |at, index| {
                own[at - first] = outside.place(index, n).unwrap_or(NONE);
            });
        });
        if let Some(bad) = places.iter().position(|place| *place == NONE) {
            return Err(self.refuse(range.start + bad, what, n));
        }
        Ok(places)
    }
}

/// Which positions lead to each place, in their order.
pub(crate) struct Groups {
    starts: Vec<usize>,
    members: Vec<usize>,
}

impl Groups {
    /// The positions of `places`, which are all below `n`, by place.
    pub(crate) fn of(places: &[usize], n: usize) -> Self {
        let mut starts = vec![0; n + 1];
        places.iter().for_each(|&place| starts[place + 1] += 1);
        (0..n).for_each(|i| starts[i + 1] += starts[i]);
        let mut next = starts.clone();
        let mut members = vec![0; places.len()];
        for (position, &place) in places.iter().enumerate() {
            members[next[place]] = position;
            next[place] += 1;
        }
        Groups { starts, members }
    }

    /// The number of positions.
    pub(crate) fn positions(&self) -> usize {
        self.members.len()
    }

    /// The positions that lead to `place`.
    pub(crate) fn at(&self, place: usize) -> &[usize] {
        &self.members[self.starts[place]..self.starts[place + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_outside_is_clipped_wrapped_counted_from_the_end_or_nothing() {
        let of = |outside: Outside, indices: [i64; 6]| indices.map(|i| outside.place(i, 3));
        let far = [i64::MIN, -4, -1, 2, 3, i64::MAX];
        let some = |places: [usize; 6]| places.map(Some);
        assert_eq!(of(Outside::Clip, far), some([0, 0, 0, 2, 2, 2]));
        assert_eq!(of(Outside::Wrap, far), some([1, 2, 2, 2, 0, 1]));
        let inside = [None, None, None, Some(2), None, None];
        assert_eq!(of(Outside::Raise, far), inside);
        let end = [None, None, Some(2), Some(2), None, None];
        assert_eq!(of(Outside::FromEnd, far), end);
        for outside in [
            Outside::Clip,
            Outside::Wrap,
            Outside::Raise,
            Outside::FromEnd,
        ] {
            assert_eq!(outside.place(0, 0), None);
        }
    }

    #[test]
    fn groups_keep_the_order_of_positions() {
        let groups = Groups::of(&[2, 0, 2, 2], 4);
        assert_eq!(groups.positions(), 4);
        let all: Vec<&[usize]> = (0..4).map(|place| groups.at(place)).collect();
        assert_eq!(all, [&[1][..], &[], &[0, 2, 3], &[]]);
    }
}
