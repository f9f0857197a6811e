//! Forks that an engine survives: it is brought to rest before, and in the child what belonged to
//! the parent's other threads is put right.
//!
//! At rest means: everything registered is finished; the lanes have no threads; and the forking
//! thread holds the baton, at an entry of its own in the log, and all locks of the
//! engine. Other threads may push meanwhile. What they push lies behind that entry: in the parent it
//! is registered when the engine goes on; in the child, where nobody could tell how far they had
//! come, the log is emptied.

use std::any::Any;
use std::ptr;
use std::time::Duration;

use crate::base::process;
use crate::base::sync::{AcqRel, Relaxed, Release, sleep, yield_now};
use crate::operation::op::{OpKind, OpPtr};
use crate::state::core::Core;
use crate::state::rest::Rest;
use crate::state::thread;
use crate::types::failure::WaitError;
use crate::types::spec::OpSpec;
use crate::types::wait_policy::{Until, WaitPolicy};
use crate::waiters::waiter::Waiter;

/// How long what is in flight may take to finish behind a closed log, at first and at most.
const QUIET: Duration = Duration::from_millis(20);
const QUIET_MOST: Duration = Duration::from_secs(1);
/// How often somebody looks whether the engine is at rest.
const NAP: Duration = Duration::from_micros(50);

/// A guard of any type, held for its destructor.
struct Guard<T>(#[allow(dead_code, reason = "held for its destructor")] T);

impl Core {
    fn come_to_rest(&self, limit: Duration) -> Result<(), WaitError> {
        let mut until = Until::after(limit);
        let stopped = self.lanes.is_stopped();
        let go_on = || {
            if !stopped {
                self.lanes.start(self);
            }
        };
        let mut quiet = QUIET;
        loop {
            self.finish_all(Some(&mut until)).inspect_err(|_| go_on())?;
            let log = self.close_log();
            if self.is_quiet_within(quiet)
                && self.lanes.stop(Some(&mut until))
                && self.hold_locks(log, stopped)
            {
                return Ok(());
            }
            // What is in flight waits for what it has pushed itself; or somebody has started the engine.
            self.open_log(log);
            go_on();
            quiet = (2 * quiet).min(QUIET_MOST);
            if until.before_sleep().is_none() {
                return Err(WaitError::GivenUp);
            }
        }
    }

    /// Puts an entry into the log at which the registrar stops, and leaves the baton to this thread:
    /// what is pushed later is not registered. (Just waiting for an idle log might take for ever.)
    fn close_log(&self) -> OpPtr {
        let waiter = Waiter::new();
        let entry = self.new_op(OpKind::Close, &OpSpec::new("fork"), 0, &raw const waiter);
        // SAFETY: not shared yet. The log's count outlives ours.
        unsafe { entry.keep_in_log() };
        entry.release(1);
        self.submit(entry);
        while !waiter.is_done() {
            // The lanes may be stopped, and have nobody to take a baton that was handed over.
            self.assist();
            yield_now();
        }
        entry
    }

    fn open_log(&self, entry: OpPtr) {
        if let Some(baton) = self.log.advance(entry) {
            self.register_from(baton);
        }
    }

    /// Whether everything that is registered finishes in time.
    fn is_quiet_within(&self, time: Duration) -> bool {
        let mut until = Until::after(time);
        while !self.epochs.is_quiet() {
            if until.before_sleep().is_none() {
                return false;
            }
            sleep(NAP);
        }
        true
    }

    /// Nobody else is inside of the engine's locks from here on; false, and nothing held, if something
    /// is unfinished, or a lane has threads.
    fn hold_locks(&self, log: OpPtr, stopped: bool) -> bool {
        let mut locks: Vec<Box<dyn Any>> = Vec::new();
        // SAFETY: the guards are dropped here or by `take_rest`, whose callers have the core.
        let this: &'static Core = unsafe { &*ptr::from_ref(self) };
        for lane in this.lanes.iter() {
            locks.push(Box::new(Guard(lane.hold())));
        }
        if !self.lanes.are_empty() || !self.epochs.is_quiet() {
            return false;
        }
        locks.push(Box::new(Guard(this.epochs.hold())));
        locks.push(Box::new(Guard(this.failures.hold())));
        locks.push(Box::new(Guard(this.promises.hold())));
        locks.push(Box::new(Guard(this.tracer.hold())));
        let rest = Box::new(Rest {
            locks,
            core: self.shared(),
            log,
            stopped,
            own_stop: self.stopped_by.load(Relaxed) == thread::address(),
        });
        self.rest_owner.store(thread::address(), Relaxed);
        self.rest.store(Box::into_raw(rest), Release);
        true
    }

    /// The same, for the owner to let go of; the locks are open.
    fn take_rest(&self) -> Option<Box<Rest>> {
        let raw = self.own_rest()?;
        self.rest_owner.store(0, Relaxed);
        // SAFETY: from a box, in `hold_locks`, and ours alone.
        let mut rest = unsafe { Box::from_raw(raw) };
        self.rest.store(CLAIMED, Relaxed);
        rest.locks.clear();
        Some(rest)
    }

    pub(crate) fn prepare_fork(&self, limit: Duration) -> Result<(), WaitError> {
        if self.is_inherited() {
            return Err(WaitError::Forked);
        }
        if !self.may_block_here() {
            return Err(WaitError::InsideOperation);
        }
        if self.own_rest().is_some() {
            return Ok(());
        }
        let mut until = Until::after(limit);
        // Another thread may be about to fork. AcqRel: it has left the engine as it was.
        while self
            .rest
            .compare_exchange(ptr::null_mut(), CLAIMED, AcqRel, Relaxed)
            .is_err()
        {
            if until.before_sleep().is_none() {
                return Err(WaitError::GivenUp);
            }
            sleep(NAP);
        }
        let rested = self.come_to_rest(limit);
        if rested.is_err() {
            self.rest.store(ptr::null_mut(), Release);
        }
        rested
    }

    pub(crate) fn resume_in_parent(&self) {
        if self.is_inherited() {
            return;
        }
        if let Some(rest) = self.take_rest() {
            if !rest.stopped {
                self.lanes.start(self);
            }
            self.rest.store(ptr::null_mut(), Release);
            self.open_log(rest.log);
            drop(rest.core);
        }
    }

    pub(crate) fn resume_in_child(&self) {
        if !self.is_inherited() {
            return;
        }
        let Some(rest) = self.take_rest() else {
            return;
        };
        self.log.empty();
        // What stood behind it in the log is lost.
        rest.log.release(1);
        // A wait of a thread that is not here may be in a chain, unfinished. Everything else is
        // finished, so the chains may as well be empty.
        // SAFETY: this is the only thread.
        unsafe {
            self.vars.drain_tails(|tail| {
                if tail.is_finished() {
                    tail.op().release(1);
                }
            });
        }
        let open = self.epochs.begin_anew();
        // SAFETY: as above.
        self.registrar.with_mut(|registrar| unsafe {
            (*registrar).epoch = open;
            (*registrar).epoch_began = self.epochs.registered();
        });
        self.bulks.store(thread::count_bulk_builders(self), Relaxed);
        self.limiter.begin_anew();
        self.process.store(process::number(), Relaxed);
        self.rest.store(ptr::null_mut(), Release);
        if rest.stopped && rest.own_stop {
            self.lanes.be_stopped();
        } else {
            self.lanes.start(self);
        }
        drop(rest.core);
    }
}

/// In `rest`: somebody is bringing the engine to rest.
const CLAIMED: *mut Rest = ptr::without_provenance_mut(1);
