//! When a pool has no more memory: waiting for arrays that are about to be freed.
//!
//! An array that nobody holds is freed when the operations pushed on it are done, so a program that
//! runs ahead of the engine may find the memory full that will be free in a moment. Which pending
//! operation will free some is not known, and inside an operation some may depend on that very
//! operation. So the wait looks on while the engine gets things done, and ends when memory came
//! back, when nothing else is left to finish, or when nothing was finished for a while. It pushes
//! nothing, takes no lock and lets another worker take over, so it cannot deadlock.

use crate::{Runtime, held};
use ferromix_storage::Pool;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a thread outside of operations waits without any operation finishing.
const IDLE_LIMIT: Duration = Duration::from_secs(10);
/// And one inside of an operation, for which others may be waiting.
const IDLE_LIMIT_INSIDE: Duration = Duration::from_secs(2);
const NAP: Duration = Duration::from_micros(100);
const LONG_NAP: Duration = Duration::from_millis(2);

thread_local! {
    static IN_KERNEL: Cell<bool> = const { Cell::new(false) };
}

/// Operations whose thread waits here.
static WAITING: AtomicU64 = AtomicU64::new(0);

/// Runs `f` as a part of an operation.
pub(crate) fn in_kernel<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            IN_KERNEL.set(self.0);
        }
    }
    let _restore = Restore(IN_KERNEL.replace(true));
    f()
}

/// Gives temporary space back, or waits until operations that were pushed have freed some memory
/// of `pool`. `false`: there is nothing to wait for, or it takes too long.
pub(crate) fn wait(runtime: &Runtime, pool: &Pool) -> bool {
    if runtime.workspaces().clear(runtime.pool()) {
        return true;
    }
    if runtime.is_naive() {
        return false;
    }
    let inside = IN_KERNEL.get() || held::inside();
    let look_on = || runtime.engine().blocking(|| look_on(runtime, pool, inside));
    if inside {
        // Relaxed, here and below: a count, by which a hopeless wait ends sooner.
        WAITING.fetch_add(1, Ordering::Relaxed);
        let freed = look_on();
        WAITING.fetch_sub(1, Ordering::Relaxed);
        return freed;
    }
    let mut freed = false;
    let waited = runtime.detached(&mut || freed = look_on());
    waited && freed
}

fn look_on(runtime: &Runtime, pool: &Pool, inside: bool) -> bool {
    let limit = if inside {
        IDLE_LIMIT_INSIDE
    } else {
        IDLE_LIMIT
    };
    let before = pool.stats().in_use;
    let (mut completed, mut since, mut nap) = (0, Instant::now(), NAP);
    loop {
        let counters = runtime.engine().counters();
        if pool.stats().in_use < before {
            return true;
        }
        if counters.in_flight <= WAITING.load(Ordering::Relaxed) {
            return false;
        }
        if counters.completed != completed {
            (completed, since) = (counters.completed, Instant::now());
        } else if since.elapsed() > limit {
            return false;
        }
        std::thread::sleep(nap);
        nap = (nap * 2).min(LONG_NAP);
    }
}
