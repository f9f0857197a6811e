//! Giving kept memory back: what is old, what is too much, or everything.

use crate::cache;
use crate::clock::KEPT;
use crate::core::Core;
use crate::fork;
use std::sync::{Arc, PoisonError};

impl Core {
    /// Bytes kept for reuse.
    pub(crate) fn cached(&self) -> usize {
        self.books.stats().cached
    }

    /// Whether more is kept than the settings want.
    pub(crate) fn is_above_high(&self) -> bool {
        // What is kept is part of what is reserved, which is cheap to know.
        let high = self.config.trim_high;
        high.is_some_and(|high| self.books.reserved() > high && self.cached() > high)
    }

    /// Brings what threads keep within reach: this one's now, the others' at their next call.
    pub(crate) fn gather(self: &Arc<Self>) {
        self.ring();
        cache::with(self, |cache| cache.flush(self));
    }

    /// Hands back the blocks that were not used for the configured age, as long as more than the
    /// low watermark is kept.
    pub(crate) fn trim_old(&self) {
        self.trim_to(self.config.trim_low, KEPT);
    }

    /// Hands blocks of the depot back, those put down first in front, until at most `target` bytes
    /// are kept or only magazines younger than `age` epochs are left. Says whether there were any.
    pub(crate) fn trim_to(&self, target: usize, age: u32) -> bool {
        // Nothing panics while it is held, and it guards nothing but the order of events.
        let _no_fork = fork::away(fork::Lock::Trimming);
        let _one_at_a_time = self.trimming.lock().unwrap_or_else(PoisonError::into_inner);
        let mut excess = self.cached().saturating_sub(target);
        if excess == 0 {
            return false;
        }
        let mut found = self.depot.take_all();
        // Within a bucket they come youngest first, and the sort keeps that order among equals; so
        // the walk from the end meets the oldest first.
        found.sort_by_key(|magazine| magazine.age);
        let mut victims = Vec::new();
        for magazine in found.into_iter().rev() {
            if excess > 0 && magazine.age >= age {
                excess = excess.saturating_sub(magazine.bytes);
                victims.push(magazine);
            } else {
                self.depot.put_back(magazine);
            }
        }
        let any = !victims.is_empty();
        // The others can go on before the system takes its time.
        for victim in victims {
            while let Some(block) = self.depot.magazine(victim.index).pop() {
                self.unmap(victim.class, block);
            }
            self.depot.give(victim.class, victim.index);
        }
        any
    }
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::unwrap_used, reason = "a failure here is a failed test")]
mod tests {
    use crate::{Config, Handle, HostBackend, Pool};
    use ferromix_base::Context;
    use std::time::Duration;

    const MIB: usize = 1 << 20;

    fn pool(low: usize) -> Pool {
        let config = Config {
            // The tests begin epochs themselves, by ages that pass at once.
            trim_age: Some(Duration::ZERO),
            trim_low: low,
            ..Config::default()
        };
        Pool::new(Context::cpu(), HostBackend, config)
    }

    fn epoch(pool: &Pool) {
        let core = pool.core();
        assert!(core.depot.clock().advance());
        core.gather();
        core.trim_old();
    }

    fn cycle(pool: &Pool, sizes: &[usize]) {
        let blocks: Vec<Handle> = sizes
            .iter()
            .map(|&size| pool.alloc(size).unwrap())
            .collect();
        blocks.into_iter().for_each(|block| pool.free(block));
    }

    #[test]
    fn what_is_unused_for_three_epochs_goes_and_what_is_used_stays() {
        let pool = pool(0);
        cycle(&pool, &[1000, 3 * MIB, 5 * MIB]);
        let kept: Vec<usize> = (0..6)
            .map(|_| {
                epoch(&pool);
                cycle(&pool, &[3 * MIB]);
                pool.stats().cached
            })
            .collect();
        // The magazine of the small block came to the depot one epoch after it was put down.
        let all = 8 * MIB + 1024;
        assert_eq!(kept, [all, all, 3 * MIB + 1024, 3 * MIB, 3 * MIB, 3 * MIB]);
        assert_eq!((pool.stats().misses, pool.stats().released), (3, 2));
    }

    #[test]
    fn the_low_watermark_is_kept_whatever_its_age() {
        let pool = pool(2 * MIB);
        cycle(&pool, &[MIB, MIB, MIB]);
        (0..10).for_each(|_| epoch(&pool));
        assert_eq!(pool.stats().cached, 2 * MIB);
    }

    #[test]
    fn the_oldest_go_first() {
        let pool = pool(usize::MAX);
        for size in [2 * MIB, 7 * MIB, 4 * MIB] {
            cycle(&pool, &[size]);
            epoch(&pool);
        }
        let core = pool.core();
        core.trim_to(12 * MIB, 0);
        assert_eq!(
            pool.stats().cached,
            11 * MIB,
            "the 2 MiB of the first epoch"
        );
        core.trim_to(10 * MIB, 0);
        assert_eq!(
            pool.stats().cached,
            4 * MIB,
            "the 7 MiB of the second epoch"
        );
        core.trim_to(4 * MIB, 0);
        assert_eq!(pool.stats().cached, 4 * MIB);
    }
}
