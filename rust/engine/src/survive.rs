//! Engines that come to rest by themselves when the process is forked.

use std::ptr;
use std::sync::Weak;

use crate::core::Core;
use crate::inherit::at_fork;
use crate::sync::plain::{AtomicPtr, AtomicUsize};
use crate::sync::{AcqRel, Acquire, Arc, Relaxed};
use crate::unwind::{catch, discard};

/// One engine in a list that only grows, so that no fork finds it locked.
struct Survivor {
    core: Weak<Core>,
    next: *mut Survivor,
}

static SURVIVORS: AtomicPtr<Survivor> = AtomicPtr::new(ptr::null_mut());
static REGISTERED: AtomicUsize = AtomicUsize::new(0);

/// From now on, forks bring the engine to rest.
pub(crate) fn enlist(core: &Arc<Core>) {
    // Threads may do this twice: then the second call finds the engines at rest already. (A lock
    // might be inherited by a child.)
    if REGISTERED.load(Relaxed) == 0 && at_fork(Some(prepare), Some(parent), Some(child)) {
        REGISTERED.store(1, Relaxed);
    }
    let survivor = Box::into_raw(Box::new(Survivor {
        core: Arc::downgrade(core),
        next: SURVIVORS.load(Relaxed),
    }));
    loop {
        // SAFETY: not shared yet.
        let next = unsafe { (*survivor).next };
        // Release: its contents.
        match SURVIVORS.compare_exchange(next, survivor, AcqRel, Acquire) {
            Ok(_) => return,
            // SAFETY: as above.
            Err(now) => unsafe { (*survivor).next = now },
        }
    }
}

/// What a handler does with each of the engines. Nothing may be thrown across the system's `fork`.
fn each(f: impl Fn(&Core)) {
    let mut survivor = SURVIVORS.load(Acquire);
    // SAFETY: null, or in the list for good.
    while let Some(this) = unsafe { survivor.as_ref() } {
        if let Some(core) = this.core.upgrade() {
            let _ = catch(|| f(&core));
            discard(core);
        }
        survivor = this.next;
    }
}

extern "C" fn prepare() {
    each(|core| {
        // If it does not come to rest, it refuses everything in the child.
        let _ = core.prepare_fork(core.options.fork_limit.unwrap_or_default());
    });
}

extern "C" fn parent() {
    each(Core::resume_in_parent);
}

extern "C" fn child() {
    each(Core::resume_in_child);
}
