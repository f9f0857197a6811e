//! The pool's sense of age. Time is cut into *epochs*, which begin when a call looks at the clock
//! and finds the last one old enough; kept blocks carry the epoch in which they were put down.
//!
//! So reading the age of a block costs nothing, and a pool that rests does not age: after an hour
//! without calls the next epoch is one later, not hundreds, and what was in use before the pause
//! is still there after it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Epochs for which an unused block is kept. Its last epoch may have been at its end when it was
/// put down, so two whole ones are sure to pass: each is half of the configured age.
pub(crate) const KEPT: u32 = 3;

/// Counts epochs.
#[derive(Debug)]
pub(crate) struct Clock {
    start: Instant,
    /// Nanoseconds of an epoch; `None`: time stands still.
    period: Option<u64>,
    /// When the next epoch may begin, in nanoseconds from `start`.
    next: AtomicU64,
    epoch: AtomicU32,
}

impl Clock {
    /// A clock by which blocks unused for `age` are old; `None`: no block ever is.
    pub(crate) fn new(age: Option<Duration>) -> Clock {
        let period = age.map(|age| u64::try_from(age.as_nanos() / 2).unwrap_or(u64::MAX));
        Clock {
            start: Instant::now(),
            period,
            next: AtomicU64::new(period.unwrap_or(u64::MAX)),
            epoch: AtomicU32::new(0),
        }
    }

    /// The epoch.
    #[inline]
    pub(crate) fn epoch(&self) -> u32 {
        // Relaxed: a stamp, which orders nothing.
        self.epoch.load(Ordering::Relaxed)
    }

    /// Begins the next epoch if its time has come; `true` for the one caller who began it.
    pub(crate) fn advance(&self) -> bool {
        let Some(period) = self.period else {
            return false;
        };
        let now = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let next = self.next.load(Ordering::Relaxed);
        if now < next {
            return false;
        }
        // Relaxed: only elects one caller.
        let won = self
            .next
            .compare_exchange(
                next,
                now.saturating_add(period),
                Ordering::Relaxed,
                Ordering::Relaxed,
            )
            .is_ok();
        if won {
            self.epoch.fetch_add(1, Ordering::Relaxed);
        }
        won
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_lasts_half_the_age_and_a_pause_is_one() {
        let clock = Clock::new(Some(Duration::from_millis(40)));
        assert!(!clock.advance());
        std::thread::sleep(Duration::from_millis(100));
        assert!(clock.advance());
        assert!(!clock.advance(), "the pause of five periods is one epoch");
        assert_eq!(clock.epoch(), 1);
    }

    #[test]
    fn without_an_age_time_stands_still() {
        let clock = Clock::new(None);
        assert!(!clock.advance());
        assert!(!Clock::new(Some(Duration::MAX)).advance());
    }
}
