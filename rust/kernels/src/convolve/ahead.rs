//! Telling the cache what is read next, a little with each tile, so that gathering it does not wait: taps of
//! different planes read lines that are far apart, which the processor does not fetch ahead by itself.

use super::field::Run;
use crate::blocks::raw::fetch_far;

/// What some runs read, as far as it was not fetched yet.
pub(super) struct Ahead<'a> {
    /// Those that are left.
    taps: &'a [usize],
    /// Neighbours that each tap reads: where they begin, and how many there are.
    spans: Vec<(usize, usize)>,
    /// Taps that are fetched at a time.
    some: usize,
}

impl<'a> Ahead<'a> {
    /// What `taps` read of neighbours in `runs`, in so many parts.
    pub(super) fn new(taps: &'a [usize], runs: &[Run], parts: usize) -> Self {
        let mut spans: Vec<(usize, usize)> = Vec::new();
        for run in runs {
            match spans.last_mut() {
                Some((start, len)) if *start + *len == run.source => *len += run.len,
                _ => spans.push((run.source, run.len)),
            }
        }
        let taps = if runs.is_empty() { &[] } else { taps };
        Ahead {
            some: taps.len().div_ceil(parts.max(1)),
            taps,
            spans,
        }
    }

    /// Fetches the next part.
    pub(super) fn fetch<T>(&mut self, source: &[T]) {
        let (now, later) = self.taps.split_at(self.some.min(self.taps.len()));
        self.taps = later;
        for tap in now {
            for (start, len) in &self.spans {
                fetch_far(source.as_ptr().wrapping_add(start + tap), *len);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_span_and_all_taps_are_fetched() {
        let run = |source, len| Run {
            at: 0,
            len,
            source,
            target: 0,
        };
        let taps = [0, 10, 20, 30, 40];
        let mut ahead = Ahead::new(&taps, &[run(3, 4), run(7, 2), run(50, 4)], 2);
        assert_eq!(ahead.spans, [(3, 6), (50, 4)]);
        let left: Vec<usize> = (0..3)
            .map(|_| {
                ahead.fetch(&[0.0; 4]);
                ahead.taps.len()
            })
            .collect();
        assert_eq!(left, [2, 0, 0]);
        assert_eq!(Ahead::new(&taps, &[], 2).taps, [0; 0]);
    }
}
