//! The engine behind the handles: what threads share. The protocol's steps are in `register.rs`
//! (a push gets its place), `ready.rs` (tokens travel, operations become ready) and `execute.rs`
//! (operations run and complete).

use std::ptr;
use std::sync::Weak;

use crate::bound::{Bound, Limit};
use crate::epoch::{Epoch, Epochs};
use crate::failure::Failures;
use crate::lane::{Lanes, Sizes};
use crate::log::Log;
use crate::op::{Fields, Kind, OpPtr};
use crate::spec::{Device, Name};
use crate::sync::{Acquire, Arc, AtomicBool, AtomicUsize, Relaxed, UnsafeCell};
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
    /// Run everything on the pushing thread.
    pub(crate) naive: bool,
    pub(crate) shutting_down: AtomicBool,
    shards: AtomicUsize,
    pub(crate) registrar: UnsafeCell<Registrar>,
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
        let head = OpPtr::new_log_head(&Fields {
            kind: Kind::Wait,
            name: Name::new("log head"),
            tag: 0,
            device: Device::CPU,
            priority: 0,
            lane: ptr::null(),
            waiter: ptr::null(),
        });
        let epochs = Epochs::new(shards);
        let registrar = Registrar {
            next_seq: 1,
            epoch_began: 0,
            epoch: epochs.open(),
        };
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            log: Log::new(head),
            vars: VarSlab::new(),
            failures: Failures::new(),
            epochs,
            lanes: Lanes::new(sizes),
            bound: Bound::new(limit),
            naive,
            shutting_down: AtomicBool::new(false),
            shards: AtomicUsize::new(1),
            registrar: UnsafeCell::new(registrar),
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
        if let Some(last) = self.log.last() {
            debug_assert!(last.is_last(), "something still counts the end of the log");
            last.release(1);
        }
    }
}
