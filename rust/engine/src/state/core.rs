//! The engine behind the handles: what its threads share.
//!
//! The steps of the protocol are in `execution`: `register.rs` (a push gets its place), `ready_batch.rs`
//! (tokens travel, operations become ready) and `execute.rs` (operations run and complete).

use std::ptr;
use std::sync::Weak;

use crossbeam_utils::CachePadded;

use crate::base::process;
use crate::base::sync::{
    Acquire, Arc, AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Relaxed, UnsafeCell,
};
use crate::base::unwind::catch;
use crate::failures::ledger::Failures;
use crate::operation::log::Log;
use crate::operation::op::{Fields, OpKind, OpPtr};
use crate::operation::promises::Promises;
use crate::operation::var_slots::VarSlab;
use crate::scheduling::lane::{Lane, LaneKey};
use crate::scheduling::lanes::Lanes;
use crate::state::limiter::Limiter;
use crate::state::rest::RestPtr;
use crate::state::thread::{self, here};
use crate::tracing::recorder::Tracer;
use crate::types::failure::PushError;
use crate::types::options::{self, Options};
use crate::types::spec::OpSpec;
use crate::waiters::epoch::{Epoch, Epochs};
use crate::waiters::waiter::Waiter;

/// Everything that one engine shares between threads.
pub(crate) struct Core {
    me: Weak<Core>,
    pub(crate) log: Log,
    pub(crate) vars: VarSlab,
    pub(crate) failures: Failures,
    pub(crate) epochs: Epochs,
    pub(crate) lanes: Lanes,
    pub(crate) limiter: Limiter,
    pub(crate) tracer: Tracer,
    /// Run everything on the pushing thread.
    pub(crate) naive: bool,
    pub(crate) shutting_down: AtomicBool,
    /// The process that it is of use in; see `base/process.rs`. On a cache line of its own, as workers read
    /// it for each operation, and what lies beside it changes.
    pub(crate) process: CachePadded<AtomicU64>,
    /// Which thread has stopped the engine last, by its [address](crate::state::thread::address).
    pub(crate) stopped_by: AtomicUsize,
    /// What the thread holds that has brought it to rest for a fork.
    pub(crate) rest: RestPtr,
    /// That thread, by its [address](thread::address).
    pub(crate) rest_owner: AtomicUsize,
    pub(crate) promises: Promises,
    /// How many threads an operation may use that does not say so itself; 0: no limit.
    pub(crate) threads_per_worker: AtomicU32,
    pub(crate) options: Options,
    /// Bulks that threads build.
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
        process::watch();
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
            limiter: Limiter::new(options.limit),
            tracer: Tracer::new(),
            naive: options.kind == options::Kind::Naive,
            shutting_down: AtomicBool::new(false),
            process: CachePadded::new(AtomicU64::new(process::number())),
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

    /// A new operation, its accesses and its function still to be set.
    #[inline(always)]
    pub(crate) fn new_op(
        &self,
        kind: OpKind,
        spec: &OpSpec<'_>,
        accesses: usize,
        waiter: *const Waiter,
    ) -> OpPtr {
        let lane = if !kind.is_users() || spec.runs_inline() {
            ptr::null()
        } else {
            ptr::from_ref(self.lanes.find(LaneKey::new(spec.device, spec.property))).cast()
        };
        let fields = Fields {
            kind,
            name: spec.name,
            tag: spec.tag,
            device: spec.device,
            priority: spec.priority,
            threads: spec.threads,
            lane,
            waiter,
        };
        OpPtr::new(accesses, &fields)
    }

    /// Whether waiting for all operations could end, seen from this thread.
    pub(crate) fn may_block_here(&self) -> bool {
        !thread::is_worker_of(self) && thread::running_ops(self).next().is_none()
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
