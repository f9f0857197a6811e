//! The engine behind the handles: what threads share. The protocol's steps are in `register.rs`
//! (a push gets its place), `ready.rs` (tokens travel, operations become ready) and `execute.rs`
//! (operations run and complete).

use std::sync::Weak;

use crossbeam_utils::CachePadded;

use crate::bound::Bound;
use crate::builder::{Kind, Options};
use crate::epoch::{Epoch, Epochs};
use crate::failure::PushError;
use crate::fork::RestPtr;
use crate::inherit;
use crate::lane::Lane;
use crate::lanes::Lanes;
use crate::ledger::Failures;
use crate::log::Log;
use crate::promises::Promises;
use crate::sync::{
    Acquire, Arc, AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Relaxed, UnsafeCell,
};
use crate::thread::here;
use crate::trace::Tracer;
use crate::unwind::catch;
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
    /// The process that it is of use in; see `inherit.rs`. On a cache line of its own, as workers read
    /// it for each operation, and what lies beside it changes.
    pub(crate) process: CachePadded<AtomicU64>,
    /// Which thread has stopped the engine last, by its [address](crate::thread::address).
    pub(crate) stopped_by: AtomicUsize,
    /// What the thread holds that has brought it to rest for a fork.
    pub(crate) rest: RestPtr,
    /// That thread, by its [address](thread::address).
    pub(crate) rest_owner: AtomicUsize,
    pub(crate) promises: Promises,
    /// How many threads an operation may use that does not say so itself; 0: no limit.
    pub(crate) threads_per_worker: AtomicU32,
    pub(crate) options: Options,
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
    pub(crate) fn new(options: Options, shards: usize) -> Arc<Self> {
        inherit::watch();
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
            lanes: Lanes::new(options.sizes),
            bound: Bound::new(options.limit),
            tracer: Tracer::new(),
            naive: options.kind == Kind::Naive,
            shutting_down: AtomicBool::new(false),
            process: CachePadded::new(AtomicU64::new(inherit::process())),
            stopped_by: AtomicUsize::new(0),
            rest: RestPtr::new(std::ptr::null_mut()),
            rest_owner: AtomicUsize::new(0),
            promises: Promises::new(),
            threads_per_worker: AtomicU32::new(0),
            options,
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

    /// The stream of the operations that worker `index` of a lane runs.
    pub(crate) fn stream_for(&self, lane: &Lane, index: usize) -> Option<u64> {
        let streams = self.options.streams.as_ref()?;
        let (device, property) = lane.key.parts();
        // The user's function; without a stream if it panics.
        catch(|| streams(device, property, index)).ok()
    }

    /// Operations pushed and completed so far.
    pub(crate) fn counts(&self) -> (u64, u64) {
        // Under the locks of a fork to come everything is finished. In a child they may be locked.
        if self.is_inherited() || self.own_rest().is_some() {
            let registered = self.epochs.registered();
            return (registered, registered);
        }
        self.epochs.counts()
    }

    /// The stream of what this thread runs.
    #[inline]
    pub(crate) fn own_stream(&self) -> Option<u64> {
        match self.options.streams {
            None => None,
            Some(_) => here(|here| here.stream.get()),
        }
    }

    /// Whether new work is taken.
    #[inline]
    pub(crate) fn check_open(&self) -> Result<(), PushError> {
        if self.is_inherited() {
            return Err(PushError::Forked);
        }
        if self.is_shutting_down() {
            return Err(PushError::ShutDown);
        }
        Ok(())
    }

    /// Whether pushes are refused.
    fn is_shutting_down(&self) -> bool {
        // Acquire: pairs with the store in `notify_shutdown`.
        self.shutting_down.load(Acquire)
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // SAFETY: `&mut self`.
        unsafe { self.vars.drain_tails(|tail| tail.op().release(1)) };
        debug_assert!(
            self.log.is_idle(),
            "an engine ended in the middle of its log"
        );
    }
}
