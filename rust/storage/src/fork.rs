//! Keeps forks away while a thread has a lock of a pool. Threads take them when they begin and end, so
//! at any time, whatever their process has brought to rest; and a child that inherited one taken could
//! never take it.

use std::sync::{Once, PoisonError, RwLock, RwLockReadGuard};

/// What a lock is for. A thread that has the second may not take the first.
#[derive(Clone, Copy)]
pub(crate) enum Lock {
    Trimming,
    Ledgers,
}

/// Read by threads that have such a lock, written by one that forks.
static LOCKS: [RwLock<()>; 2] = [RwLock::new(()), RwLock::new(())];

/// To be called before a lock is taken, and kept until it is let go.
pub(crate) fn away(lock: Lock) -> RwLockReadGuard<'static, ()> {
    // Nothing is guarded that a panic could leave half done.
    let lock = LOCKS[lock as usize].read();
    lock.unwrap_or_else(PoisonError::into_inner)
}

/// Sees to it that forks from now on wait for whoever has a lock.
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(handlers::register);
}

#[cfg(unix)]
mod handlers {
    use super::{LOCKS, PoisonError};
    use std::cell::RefCell;
    use std::sync::RwLockWriteGuard;

    thread_local! {
        /// Those of the thread that forks.
        static HELD: RefCell<Vec<RwLockWriteGuard<'static, ()>>> =
            const { RefCell::new(Vec::new()) };
    }

    extern "C" fn prepare() {
        let locks = LOCKS.iter().map(|lock| lock.write());
        let locks = locks.map(|lock| lock.unwrap_or_else(PoisonError::into_inner));
        // An error means that the thread is ending; then the fork goes on without the locks.
        let _ = HELD.try_with(|held| held.borrow_mut().extend(locks));
    }

    extern "C" fn resume() {
        let _ = HELD.try_with(|held| held.borrow_mut().clear());
    }

    pub(super) fn register() {
        // SAFETY: the handlers live as long as the process, and do not unwind. If there is no memory
        // for them, forks do not wait.
        let _ = unsafe { libc::pthread_atfork(Some(prepare), Some(resume), Some(resume)) };
    }
}

#[cfg(not(unix))]
mod handlers {
    pub(super) fn register() {}
}

#[cfg(all(test, unix, not(loom), not(miri)))]
#[allow(clippy::unwrap_used)] // A failure to run is a failed test.
mod tests {
    use crate::{Config, HostBackend, Pool};
    use ferromix_base::Context;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::time::{Duration, Instant};

    /// Forks; what the child, which does `work`, ends with; `None` if it does not within 20 s.
    fn forked(work: impl FnOnce()) -> Option<i32> {
        // SAFETY: what a child may do with what other threads had in hand is what is tested.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            work();
            // SAFETY: never returns.
            unsafe { libc::_exit(0) };
        }
        let (begin, mut status) = (Instant::now(), 0);
        // SAFETY: our child, and a place for its status.
        while unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == 0 {
            if begin.elapsed() > Duration::from_secs(20) {
                // SAFETY: our child, which was not waited for yet.
                unsafe { libc::kill(child, libc::SIGKILL) };
                // SAFETY: as above.
                unsafe { libc::waitpid(child, &raw mut status, 0) };
                return None;
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        Some(status)
    }

    #[test]
    fn a_child_may_use_a_pool_whose_threads_were_beginning_and_ending() {
        let pool = Pool::new(Context::cpu(), HostBackend, Config::default());
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !over.load(Relaxed) {
                        let pool = pool.clone();
                        let work = move || {
                            pool.free(pool.alloc(100).unwrap());
                            pool.stats();
                        };
                        std::thread::spawn(work).join().unwrap();
                        trim_another();
                    }
                });
            }
            let hung = (0..300).filter(|_| {
                // Both take the locks.
                forked(|| {
                    pool.stats();
                    pool.trim_to(0);
                    pool.stats();
                }) != Some(0)
            });
            let hung = hung.count();
            over.store(true, Relaxed);
            assert_eq!(hung, 0);
        });
    }

    fn trim_another() {
        let pool = Pool::new(Context::cpu(), HostBackend, Config::default());
        pool.free(pool.alloc(1 << 20).unwrap());
        pool.trim_to(0);
    }
}
