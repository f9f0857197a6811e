//! Places that are the same in every plane.

use std::ops::Deref;
use std::sync::OnceLock;

/// Places of one plane, and those of the planes behind it. All are written out when they are first read:
/// that takes memory, of which a graph that is bound and not run yet needs none.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    within: Vec<usize>,
    planes: usize,
    /// From a plane to the next.
    step: usize,
    all: OnceLock<Vec<usize>>,
}

impl Places {
    pub(crate) fn new(within: Vec<usize>, planes: usize, step: usize) -> Self {
        Places {
            within,
            planes,
            step,
            all: OnceLock::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.planes * self.within.len()
    }

    /// Whether there is one in each plane.
    pub(crate) fn are_single(&self) -> bool {
        self.within.len() == 1
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether these are all numbers from nought on.
    pub(crate) fn are_in_order(&self) -> bool {
        let within = self.within.iter().copied().eq(0..self.within.len());
        within && (self.planes < 2 || self.step == self.within.len())
    }
}

impl Deref for Places {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        self.all.get_or_init(|| {
            let planes = (0..self.planes).map(|p| p * self.step);
            let all = planes.flat_map(|first| self.within.iter().map(move |place| first + place));
            all.collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_follow_each_other() {
        let places = Places::new(vec![0, 1, 5], 3, 10);
        assert_eq!(places.len(), 9);
        assert_eq!(*places, [0, 1, 5, 10, 11, 15, 20, 21, 25]);
        assert!(!places.are_in_order());
        assert!(Places::new(vec![], 3, 10).is_empty());
        assert!(Places::new(vec![4], 0, 1).is_empty());
    }

    #[test]
    fn order_is_seen_without_writing_it_out() {
        for (planes, step, in_order) in [(4, 3, true), (4, 2, false), (1, 7, true)] {
            let places = Places::new(vec![0, 1, 2], planes, step);
            assert_eq!(places.are_in_order(), in_order);
            assert!(places.all.get().is_none());
            assert_eq!(places.iter().copied().eq(0..places.len()), in_order);
        }
        assert!(!Places::new(vec![1, 0], 1, 2).are_in_order());
    }
}
