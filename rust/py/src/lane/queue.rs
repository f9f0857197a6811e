//! Functions that are ready to run.

use crate::callback::Job;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A function that another function pushed: the deeper, the sooner.
struct Nested(Job);

impl PartialEq for Nested {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Nested {}

impl PartialOrd for Nested {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Nested {
    fn cmp(&self, other: &Self) -> Ordering {
        let depths = self.0.work.depth.cmp(&other.0.work.depth);
        depths.then_with(|| self.0.cmp(&other.0))
    }
}

/// Ready functions by priority and age, and apart from them those that functions pushed.
#[derive(Default)]
pub(super) struct Queue {
    outer: BinaryHeap<Job>,
    nested: BinaryHeap<Nested>,
}

impl Queue {
    pub(super) fn push(&mut self, job: Job) {
        if job.work.depth == 0 {
            self.outer.push(job);
        } else {
            self.nested.push(Nested(job));
        }
    }

    /// The next function. Where functions wait, it is one that a function pushed if there is any: they
    /// wait for it, perhaps, and those that begin instead may come to wait as well, each on a thread.
    pub(super) fn pop(&mut self, functions_wait: bool) -> Option<Job> {
        let nested_first = match (self.nested.peek(), self.outer.peek()) {
            (Some(nested), Some(outer)) => functions_wait || nested.0 > *outer,
            (nested, _) => nested.is_some(),
        };
        if nested_first {
            self.nested.pop().map(|nested| nested.0)
        } else {
            self.outer.pop()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.outer.is_empty() && self.nested.is_empty()
    }

    /// Everything that is in it.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Job> + use<> {
        let Queue { outer, nested } = std::mem::take(self);
        outer
            .into_iter()
            .chain(nested.into_iter().map(|nested| nested.0))
    }
}
