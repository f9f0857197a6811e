//! Forks, as far as every engine notices them: a child process gets a copy of the parent's memory,
//! but only the thread that forked. An engine that was not brought to rest before (see `lifecycle/fork.rs`)
//! is of no use there; it says so instead of waiting for threads that are not there.
//!
//! A handler of the system's counts forks in the child. It does nothing else, so that it is safe
//! whatever the other threads were doing.

use crossbeam_utils::CachePadded;

use crate::base::sync::{Relaxed, plain::AtomicU64};

/// How many forks lie between this process and the one in which the first engine was made. On a cache
/// line of its own: each operation reads it, and what lies beside it is anybody's.
static FORKS: CachePadded<AtomicU64> = CachePadded::new(AtomicU64::new(0));

/// The number of the process.
#[inline(always)]
pub(crate) fn number() -> u64 {
    // Relaxed: changes only while a process has a single thread.
    FORKS.load(Relaxed)
}

/// Sees to it that forks from now on are counted.
#[cfg(all(unix, not(any(loom, shuttle))))]
pub(crate) fn watch() {
    use crate::base::sync::plain::AtomicUsize;

    /// Threads may do this twice: then a fork counts as two. A lock might be inherited.
    static WATCHED: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn in_child() {
        FORKS.fetch_add(1, Relaxed);
    }

    if WATCHED.load(Relaxed) == 0 {
        // If there is no memory for it, forks go unnoticed.
        let _ = at_fork(None, None, Some(in_child));
        WATCHED.store(1, Relaxed);
    }
}

#[cfg(not(all(unix, not(any(loom, shuttle)))))]
pub(crate) fn watch() {}

#[cfg(unix)]
type Handler = Option<extern "C" fn()>;

/// Registers functions to be called by the thread that forks. False if that cannot be.
#[cfg(unix)]
#[cfg_attr(any(loom, shuttle), expect(dead_code, reason = "models do not fork"))]
pub(crate) fn at_fork(prepare: Handler, parent: Handler, child: Handler) -> bool {
    unsafe extern "C" {
        fn pthread_atfork(prepare: Handler, parent: Handler, child: Handler) -> std::ffi::c_int;
    }
    // SAFETY: the signature is POSIX's, and the functions are there for good.
    unsafe { pthread_atfork(prepare, parent, child) == 0 }
}
