//! Engines that come to rest by themselves when the process is forked.

use std::sync::Weak;

use crate::base::grow_only::GrowOnly;
use crate::base::process::at_fork;
use crate::base::sync::plain::AtomicUsize;
use crate::base::sync::{Arc, Relaxed};
use crate::base::unwind::{catch, discard};
use crate::state::core::Core;

static SURVIVORS: GrowOnly<Weak<Core>> = GrowOnly::new();
static REGISTERED: AtomicUsize = AtomicUsize::new(0);

/// From now on, forks bring the engine to rest.
pub(crate) fn enlist(core: &Arc<Core>) {
    // Threads may do this twice: then the second call finds the engines at rest already. (A lock
    // might be inherited by a child.)
    if REGISTERED.load(Relaxed) == 0 && at_fork(Some(prepare), Some(parent), Some(child)) {
        REGISTERED.store(1, Relaxed);
    }
    SURVIVORS.push(Arc::downgrade(core));
}

/// What a handler does with each of the engines. Nothing may be thrown across the system's `fork`.
fn each(f: impl Fn(&Core)) {
    for core in SURVIVORS.iter().filter_map(Weak::upgrade) {
        let _ = catch(|| f(&core));
        discard(core);
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
