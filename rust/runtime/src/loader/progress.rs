//! What a loader has done so far, for whoever looks, at any time and from any thread.

use super::locked;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a loader has done since it was made.
#[derive(Debug, Default)]
pub struct Progress {
    images: AtomicU64,
    batches: AtomicU64,
    busy: Mutex<Busy>,
}

/// When batches were being made.
#[derive(Debug, Default)]
struct Busy {
    running: usize,
    since: Option<Instant>,
    before: Duration,
}

impl Busy {
    fn passed(&self) -> Duration {
        self.before + self.since.map_or(Duration::ZERO, |start| start.elapsed())
    }
}

/// What was done up to a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Images, damaged ones included.
    pub images: u64,
    /// Batches that are done.
    pub batches: u64,
    /// For how long at least one batch was being made.
    pub busy: Duration,
}

impl Progress {
    /// What was done up to now.
    pub fn read(&self) -> Counts {
        // Relaxed: counters for people to look at.
        Counts {
            images: self.images.load(Ordering::Relaxed),
            batches: self.batches.load(Ordering::Relaxed),
            busy: locked(&self.busy).passed(),
        }
    }

    /// A batch is being made until the result is dropped.
    pub(super) fn begin(&self) -> Making<'_> {
        let mut busy = locked(&self.busy);
        busy.running += 1;
        busy.since.get_or_insert_with(Instant::now);
        Making(self)
    }

    /// Another image is done.
    pub(super) fn count_image(&self) {
        // Relaxed: a counter for people to look at.
        self.images.fetch_add(1, Ordering::Relaxed);
    }
}

/// A batch that is being made.
pub(super) struct Making<'a>(&'a Progress);

impl Drop for Making<'_> {
    fn drop(&mut self) {
        // Relaxed: a counter for people to look at.
        self.0.batches.fetch_add(1, Ordering::Relaxed);
        let mut busy = locked(&self.0.busy);
        busy.running -= 1;
        if busy.running == 0 {
            busy.before = busy.passed();
            busy.since = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_counted_once_while_several_batches_are_made() {
        let progress = Progress::default();
        assert_eq!(progress.read().busy, Duration::ZERO);
        let first = progress.begin();
        let second = progress.begin();
        progress.count_image();
        drop(first);
        assert_eq!(locked(&progress.busy).running, 1);
        assert!(locked(&progress.busy).since.is_some());
        drop(second);
        let counts = progress.read();
        assert_eq!((counts.images, counts.batches), (1, 2));
        assert_eq!(counts, progress.read(), "nothing runs, so nothing passes");
    }
}
