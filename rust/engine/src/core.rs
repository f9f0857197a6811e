//! The engine behind the handles: what threads share. The protocol's steps are in `register.rs`
//! (a push gets its place), `ready.rs` (tokens travel, operations become ready) and `execute.rs`
//! (operations run and complete).

use std::sync::Weak;

use crossbeam_utils::CachePadded;

use crate::bound::{Bound, Limit};
use crate::epoch::{Epoch, Epochs};
use crate::lane::Sizes;
use crate::lanes::Lanes;
use crate::ledger::Failures;
use crate::log::Log;
use crate::sync::{Acquire, Arc, AtomicBool, AtomicUsize, Relaxed, UnsafeCell};
use crate::trace::Tracer;
use crate::var::VarSlab;

/// Everything that one engine shares between threads.
pub(crate) struct Core {
    me: Weak<Core>,
    pub(crate) log: Log,
    pub(crate) vars: VarSlab,
    pub(crate) failures: Failures,
    pub(crate) epochs: Epochs,
    pub(crate) lanes: Lanes,
    pub(crate) bound: Bound,
    pub(crate) tracer: Tracer,
    /// Run everything on the pushing thread.
    pub(crate) naive: bool,
    pub(crate) shutting_down: AtomicBool,
    /// Bulks that threads are filling.
    pub(crate) bulks: AtomicUsize,
    shards: AtomicUsize,
    /// On a cache line of its own, as it changes with every push.
    pub(crate) registrar: CachePadded<UnsafeCell<Registrar>>,
}

/// What only the holder of the baton touches, besides the variables' chains.
pub(crate) struct Registrar {
    pub(crate) next_seq: u64,
    /// Operations counted before the open epoch.
    pub(crate) epoch_began: u64,
    pub(crate) epoch: *const Epoch,
}

// SAFETY: `registrar` is touched under the baton alone; the rest is shared by design.
unsafe impl Sync for Core {}
// SAFETY: as above; the raw pointer is to an epoch that `epochs` owns.
unsafe impl Send for Core {}

impl Core {
    pub(crate) fn new(naive: bool, sizes: Sizes, limit: Limit, shards: usize) -> Arc<Self> {
        let epochs = Epochs::new(shards);
        let registrar = Registrar {
            next_seq: 1,
            epoch_began: 0,
            epoch: epochs.open(),
        };
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            log: Log::new(),
            vars: VarSlab::new(),
            failures: Failures::new(),
            epochs,
            lanes: Lanes::new(sizes),
            bound: Bound::new(limit),
            tracer: Tracer::new(),
            naive,
            shutting_down: AtomicBool::new(false),
            bulks: AtomicUsize::new(0),
            shards: AtomicUsize::new(1),
            registrar: CachePadded::new(UnsafeCell::new(registrar)),
        })
    }

    /// Another handle on this core, for a thread of its own.
    pub(crate) fn shared(&self) -> Option<Arc<Self>> {
        self.me.upgrade()
    }

    /// A shard of its own for a worker, as long as there are enough; 0 is for other threads.
    pub(crate) fn next_shard(&self) -> usize {
        self.shards.fetch_add(1, Relaxed)
    }

    /// Whether new work is refused.
    pub(crate) fn is_shutting_down(&self) -> bool {
        // Acquire: pairs with the store in `notify_shutdown`.
        self.shutting_down.load(Acquire)
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.vars.drain_tails(|tail| tail.op().release(1));
        debug_assert!(
            self.log.is_idle(),
            "an engine ended in the middle of its log"
        );
    }
}
