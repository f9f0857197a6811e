//! Engines that are finished when the process ends.

use std::ptr;
use std::time::Duration;

use crate::engine::Engine;
use crate::sync::plain::{AtomicPtr, AtomicUsize};
use crate::sync::{AcqRel, Acquire, Relaxed};

/// One engine in a list that only grows, so that no fork finds it locked.
struct Due {
    engine: &'static Engine,
    limit: Duration,
    next: *mut Due,
}

static DUE: AtomicPtr<Due> = AtomicPtr::new(ptr::null_mut());
static REGISTERED: AtomicUsize = AtomicUsize::new(0);

/// Has the engine finished at the end of the process.
pub(crate) fn enlist(engine: &'static Engine, limit: Duration) {
    unsafe extern "C" {
        fn atexit(f: extern "C" fn()) -> std::ffi::c_int;
    }
    let due = Box::into_raw(Box::new(Due {
        engine,
        limit,
        next: DUE.load(Relaxed),
    }));
    loop {
        // SAFETY: not shared yet.
        let next = unsafe { (*due).next };
        // Release: its contents.
        match DUE.compare_exchange(next, due, AcqRel, Acquire) {
            Ok(_) => break,
            // SAFETY: as above.
            Err(now) => unsafe { (*due).next = now },
        }
    }
    if REGISTERED.swap(1, AcqRel) == 0 {
        // SAFETY: the signature is C's, and the function is there for good.
        let _ = unsafe { atexit(finish) };
    }
}

/// The thread that ends the process may have lost its thread-locals: another one waits.
extern "C" fn finish() {
    let waiting = std::thread::Builder::new().spawn(|| {
        let mut due = DUE.load(Acquire);
        // SAFETY: null, or in the list for good.
        while let Some(this) = unsafe { due.as_ref() } {
            if let Err(error) = this.engine.wait_for_all_timeout(this.limit) {
                eprintln!("ferromix-engine: at the end of the process: {error}");
            }
            due = this.next;
        }
    });
    if let Ok(thread) = waiting {
        let _ = thread.join();
    }
}
