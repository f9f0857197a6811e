//! Forks that an engine survives: it is brought to rest before, and in the child what belonged to
//! the parent's other threads is put right.
//!
//! At rest means: everything registered is finished; the lanes have no threads; and the forking
//! thread holds the baton, by an entry of its own at the end of the log, and all locks of the
//! engine. Other threads may push meanwhile. What they push lies behind that entry: in the parent it
//! is registered when the engine goes on; in the child, where nobody could tell how far they had
//! come, the log is emptied.

use std::any::Any;
use std::ptr;
use std::thread::ThreadId;
use std::time::Duration;

use crate::core::Core;
use crate::engine::Engine;
use crate::failure::WaitError;
use crate::inherit;
use crate::op::{Kind, OpPtr};
use crate::spec::OpSpec;
use crate::sync::{AcqRel, AtomicPtr, Relaxed, Release, sleep};
use crate::thread;
use crate::wait::{Patience, Until};

/// How often somebody looks whether the engine is at rest.
const NAP: Duration = Duration::from_micros(50);

/// What the thread that is about to fork holds.
pub(crate) struct Rest {
    owner: ThreadId,
    /// Dropped before `core`, in which they are.
    locks: Vec<Box<dyn Any>>,
    log: OpPtr,
}

/// A thread's claim to an engine that is at rest, or null.
pub(crate) type RestPtr = AtomicPtr<Rest>;

/// A guard of any type, held for its destructor.
struct Held<T>(#[allow(dead_code, reason = "held for its destructor")] T);

impl Core {
    /// Whether this process is the child of a fork for which the engine was not at rest.
    #[inline(always)]
    pub(crate) fn is_inherited(&self) -> bool {
        // Relaxed: as for `process`.
        self.process.load(Relaxed) != inherit::process()
    }

    fn come_to_rest(&self, limit: Duration) -> Result<(), WaitError> {
        let mut until = Until::after(limit);
        loop {
            self.finish_all(Some(&mut until))?;
            if !self.lanes.stop(Some(&mut until)) {
                break;
            }
            match self.close_log(&mut until) {
                None => break,
                Some(log) if self.epochs.is_quiet() => {
                    self.hold_locks(log);
                    return Ok(());
                }
                // Somebody has pushed meanwhile.
                Some(log) => self.open_log(log),
            }
            self.lanes.start(self);
        }
        self.lanes.start(self);
        Err(WaitError::GivenUp)
    }

    /// Takes the baton and puts it behind an entry that is nobody's. `None` if patience ended.
    fn close_log(&self, until: &mut Until) -> Option<OpPtr> {
        let entry = self.new_op(Kind::Fence, &OpSpec::new("fork"), 0, ptr::null());
        // SAFETY: not shared yet. The log's count outlives ours.
        unsafe { entry.keep_in_log() };
        entry.release(1);
        while !self.log.close(entry) {
            self.assist();
            if until.before_sleep().is_none() {
                entry.release(1);
                return None;
            }
            sleep(NAP);
        }
        Some(entry)
    }

    fn open_log(&self, entry: OpPtr) {
        if let Some(baton) = self.log.advance(entry) {
            self.register_from(baton);
        }
    }

    /// Nobody else is inside of the engine's locks from here on.
    fn hold_locks(&self, log: OpPtr) {
        let mut locks: Vec<Box<dyn Any>> = Vec::new();
        // SAFETY: the guards are dropped by `take_rest`, whose caller has the core.
        let this: &'static Core = unsafe { &*ptr::from_ref(self) };
        locks.push(Box::new(Held(this.epochs.hold())));
        locks.push(Box::new(Held(this.failures.hold())));
        locks.push(Box::new(Held(this.promises.hold())));
        locks.push(Box::new(Held(this.tracer.hold())));
        for lane in this.lanes.iter() {
            locks.push(Box::new(Held(lane.hold())));
        }
        let rest = Box::new(Rest {
            owner: std::thread::current().id(),
            locks,
            log,
        });
        self.rest.store(Box::into_raw(rest), Release);
    }

    /// What the calling thread holds, if it has brought the engine to rest.
    pub(crate) fn own_rest(&self) -> Option<*mut Rest> {
        // Relaxed: of a thread's own making, if it is what is asked for.
        let raw = self.rest.load(Relaxed);
        if raw.is_null() || raw == CLAIMED {
            return None;
        }
        // SAFETY: it is there until its owner takes it out.
        (unsafe { (*raw).owner } == std::thread::current().id()).then_some(raw)
    }

    /// The same; lets go of the locks.
    fn take_rest(&self) -> Option<OpPtr> {
        let raw = self.own_rest()?;
        self.rest.store(CLAIMED, Relaxed);
        // SAFETY: from a box, and ours alone.
        let rest = unsafe { Box::from_raw(raw) };
        drop(rest.locks);
        Some(rest.log)
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
        if let Some(log) = self.take_rest() {
            self.lanes.start(self);
            self.rest.store(ptr::null_mut(), Release);
            self.open_log(log);
        }
    }

    pub(crate) fn resume_in_child(&self) {
        if !self.is_inherited() {
            return;
        }
        let Some(log) = self.take_rest() else {
            return;
        };
        self.log.empty();
        // What stood behind it in the log is lost.
        log.release(1);
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
        self.bulks.store(thread::count_fillings(self), Relaxed);
        self.bound.begin_anew();
        self.process.store(inherit::process(), Relaxed);
        self.rest.store(ptr::null_mut(), Release);
        self.lanes.start(self);
    }
}

/// In `rest`: somebody is bringing the engine to rest.
const CLAIMED: *mut Rest = ptr::without_provenance_mut(1);

/// Forks. The child of a fork has only the thread that forked. There an engine refuses everything
/// ([`WaitError::Forked`], [`PushError::Forked`](crate::PushError::Forked)), unless it was brought to
/// rest before; dropping it does nothing. A fork inside an operation is for children that `exec` or
/// end: such an engine cannot be at rest.
impl Engine {
    /// Brings the engine to rest, so that the process may be forked: finishes what was pushed, ends
    /// the threads and keeps other threads out. Then, on this thread, fork, and call
    /// [`resume_in_parent`](Engine::resume_in_parent) there and
    /// [`resume_in_child`](Engine::resume_in_child) here. Both have the engine then, with all variables
    /// and programs; failures are left on the variables, in both.
    ///
    /// Until then pushes of other threads are kept, and their waits wait; this thread must not wait.
    /// What is pushed meanwhile belongs to the parent.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// let a = engine.new_variable();
    /// engine.push_sync(&OpSpec::new("write").writes(&[a]), |_| Ok(()))?;
    /// engine.prepare_fork(Duration::from_secs(10))?;
    /// assert_eq!(engine.version(a)?, 1);
    /// // Here the process would be forked.
    /// engine.resume_in_parent();
    /// engine.push_sync(&OpSpec::new("write").writes(&[a]), |_| Ok(()))?;
    /// engine.wait_for_var(a)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`WaitError::InsideOperation`]; [`WaitError::GivenUp`] if that takes longer than `limit`. The
    /// engine goes on as before then, and is of no use in a child.
    pub fn prepare_fork(&self, limit: Duration) -> Result<(), WaitError> {
        self.core().prepare_fork(limit)
    }

    /// Between [`prepare_fork`](Engine::prepare_fork), by this thread, and what follows it: whether no
    /// thread has pushed since. What was pushed is not there in a child.
    ///
    /// ```
    /// use std::time::Duration;
    /// let engine = ferromix_engine::Engine::builder().build();
    /// assert!(!engine.is_at_rest());
    /// engine.prepare_fork(Duration::from_secs(10))?;
    /// assert!(engine.is_at_rest());
    /// engine.resume_in_parent();
    /// # Ok::<(), ferromix_engine::WaitError>(())
    /// ```
    pub fn is_at_rest(&self) -> bool {
        let core = self.core();
        core.own_rest().is_some_and(|rest| {
            // SAFETY: this thread's own, and there until it resumes.
            core.log.ends_at(unsafe { (*rest).log })
        })
    }

    /// After [`prepare_fork`](Engine::prepare_fork) and a fork, or none: goes on, in the process that
    /// called that. Does nothing otherwise.
    ///
    /// ```
    /// use std::time::Duration;
    /// let engine = ferromix_engine::Engine::builder().build();
    /// engine.prepare_fork(Duration::from_secs(10))?;
    /// engine.resume_in_parent();
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resume_in_parent(&self) {
        self.core().resume_in_parent();
    }

    /// After [`prepare_fork`](Engine::prepare_fork) and a fork: goes on, in the child. Does nothing
    /// otherwise.
    ///
    /// ```
    /// let engine = ferromix_engine::Engine::builder().build();
    /// engine.resume_in_child(); // this is no child
    /// engine.wait_for_all()?;
    /// # Ok::<(), ferromix_engine::WaitError>(())
    /// ```
    pub fn resume_in_child(&self) {
        self.core().resume_in_child();
    }
}
