//! The end of an engine: of its last handle, on request, and with the process.

use std::fmt;
use std::time::Duration;

use crate::core::Core;
use crate::engine::Engine;
use crate::failure::{Failure, WaitError};
use crate::ready::Agenda;
use crate::spec::Name;
use crate::sync::{Arc, Instant, MODEL, Release, start_thread};
use crate::thread;
use crate::unwind::Contained;
use crate::wait::{Patience, Until};

/// Names that an error gives at most.
const MOST_NAMES: usize = 16;
/// How often somebody who waits for the end looks whether anything finishes.
const LOOK: Duration = Duration::from_millis(10);

/// Why [`Engine::shutdown`] gave up: what is unfinished.
///
/// ```
/// use std::time::Duration;
/// use ferromix_engine::{Engine, OpSpec};
/// let engine = Engine::builder().drop_limit(Duration::from_millis(1)).build();
/// engine.push_async(&OpSpec::new("forgotten"), |_, done| std::mem::forget(done))?;
/// let unfinished = engine.shutdown(Duration::from_millis(50)).unwrap_err();
/// assert_eq!(unfinished.count(), 1);
/// assert_eq!(unfinished.names()[0].as_str(), "forgotten");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ShutdownError {
    names: Vec<Name>,
    count: u64,
    inside: bool,
}

impl ShutdownError {
    /// The names of operations whose functions run, and of asynchronous ones that nobody has
    /// completed, each once; what waits for those is not named.
    pub fn names(&self) -> &[Name] {
        &self.names
    }

    /// How many operations are unfinished.
    pub fn count(&self) -> u64 {
        self.count
    }
}

impl fmt::Display for ShutdownError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.inside {
            return f.write_str("an operation cannot shut down the engine that runs it");
        }
        write!(f, "{} operations did not finish in time", self.count)?;
        for (k, name) in self.names.iter().take(MOST_NAMES).enumerate() {
            let comma = if k == 0 {
                "; running, or begun and not completed: "
            } else {
                ", "
            };
            write!(f, "{comma}{name}")?;
        }
        if self.names.len() > MOST_NAMES {
            f.write_str(", ...")?;
        }
        Ok(())
    }
}

impl std::error::Error for ShutdownError {}

/// Patience as long as something finishes now and then.
struct WhileSomethingFinishes<'a> {
    core: &'a Core,
    limit: Duration,
    completed: u64,
    since: Instant,
}

impl Patience for WhileSomethingFinishes<'_> {
    fn before_sleep(&mut self) -> Option<Duration> {
        let completed = self.core.epochs.counts().1;
        if completed != self.completed {
            (self.completed, self.since) = (completed, Instant::now());
        }
        (self.since.elapsed() < self.limit).then_some(LOOK)
    }
}

impl Core {
    /// Finishes everything and ends the threads, for good; false if `patience` ended first.
    fn shut_down(&self, patience: &mut dyn Patience) -> bool {
        // Somebody may have stopped the engine and pushed afterwards.
        self.lanes.start(self);
        // In a model, time passes in turns, and nobody runs out of it.
        let finished = if MODEL {
            self.finish_all(None).is_ok() && self.lanes.stop(None)
        } else {
            self.finish_all(Some(&mut *patience)).is_ok() && self.lanes.stop(Some(patience))
        };
        if !finished {
            return false;
        }
        // Invitations to launches that were over before anybody followed.
        for lane in self.lanes.iter() {
            while let Some(op) = lane.queue.pop_foreign() {
                let mut agenda = Agenda::new();
                self.execute(op, &mut agenda);
                self.settle(&mut agenda);
            }
        }
        true
    }

    pub(crate) fn unfinished(&self, inside: bool) -> ShutdownError {
        let running = self.lanes.iter().flat_map(|lane| lane.running());
        let mut names: Vec<Name> = running.chain(self.promises.names()).collect();
        names.sort_unstable_by_key(|name| name.as_str());
        names.dedup();
        let (pushed, completed) = self.epochs.counts();
        ShutdownError {
            names,
            count: pushed - completed,
            inside,
        }
    }

    /// The end of the last handle.
    pub(crate) fn end_of_handles(&self) {
        let mut patience = WhileSomethingFinishes {
            core: self,
            limit: self.options.drop_limit,
            completed: 0,
            since: Instant::now(),
        };
        if !self.shut_down(&mut patience) && !self.is_inherited() {
            let unfinished = self.unfinished(false);
            eprintln!("ferromix-engine: dropped, and left to its threads: {unfinished}");
        }
    }
}

/// The last of these to go drains the engine.
pub(crate) struct Handle {
    pub(crate) core: Arc<Core>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.core.is_inherited() {
            // Nobody here could finish anything, nor free what the parent's threads had in hand.
            std::mem::forget(self.core.clone());
            return;
        }
        // Where this thread has brought it to rest: it goes on, to its end.
        self.core.resume_in_parent();
        if !thread::is_running() && self.core.may_block_here() && !thread::has_served(&self.core) {
            return self.core.end_of_handles();
        }
        // The last handle went with an operation's function, which must end first, also if it is
        // another engine's, or with a worker.
        let core = self.core.clone();
        if let Err(error) = start_thread("fmx-end".to_owned(), move || core.end_of_handles()) {
            eprintln!("ferromix-engine: dropped, and left to its threads, as {error}");
        }
    }
}

impl Engine {
    /// Refuses pushes from now on, finishes what was pushed, and ends the threads. After an error what
    /// was pushed goes on (pushes stay refused), and this may be called again. What another thread's
    /// [`Bulk`](crate::Bulk) has collected is run when that is dropped.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ferromix_engine::{Engine, OpSpec, PushError};
    /// let engine = Engine::builder().build();
    /// engine.push_sync(&OpSpec::new("last"), |_| Ok(()))?;
    /// engine.shutdown(Duration::from_secs(10))?;
    /// assert_eq!(engine.push_sync(&OpSpec::new("late"), |_| Ok(())), Err(PushError::ShutDown));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ShutdownError`] names what has not finished in time. Inside an operation; then nothing changes.
    pub fn shutdown(&self, timeout: Duration) -> Result<(), ShutdownError> {
        let core = self.core();
        if core.is_inherited() {
            return Ok(());
        }
        if !core.may_block_here() {
            return Err(core.unfinished(true));
        }
        core.resume_in_parent();
        self.notify_shutdown();
        let finished = core.shut_down(&mut Until::after(timeout));
        // Also for what was taken before, and lies in a thread's bulk, or is on its way: threads start
        // if there is work.
        core.lanes.start(core);
        if finished {
            return Ok(());
        }
        Err(core.unfinished(false))
    }

    /// Tells the engine that the process is about to end: further pushes are refused with
    /// [`PushError::ShutDown`](crate::PushError::ShutDown). What was pushed before still runs, and deletions are still taken.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec, PushError};
    /// let engine = Engine::builder().build();
    /// engine.notify_shutdown();
    /// let refused = engine.push_sync(&OpSpec::new("late"), |_| Ok(()));
    /// assert_eq!(refused, Err(PushError::ShutDown));
    /// ```
    pub fn notify_shutdown(&self) {
        self.core().push_collected();
        // Release: pairs with `is_shutting_down`.
        self.core().shutting_down.store(true, Release);
    }

    /// Has the process, when it ends by `exit` or by the end of `main`, wait until this engine has
    /// finished what was pushed, for so long at most; says on the standard error what is unfinished
    /// then. To be called once. Without it, what is pushed to [`Engine::global`] and not waited for is
    /// lost when `main` returns.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ferromix_engine::{Engine, OpSpec};
    /// Engine::global().finish_at_exit(Duration::from_secs(60));
    /// Engine::global().push_sync(&OpSpec::new("save"), |_| Ok(()))?; // will be done
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish_at_exit(&'static self, limit: Duration) {
        crate::exit::enlist(self, limit);
    }

    /// The same as [`wait_for_all`](Engine::wait_for_all), but returns all failures, in push order.
    /// Of those that no variable holds any more, the engine keeps some hundred at most.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// for k in 0..10 {
    ///     let spec = OpSpec::new("some fail").tag(k);
    ///     engine.push_sync(&spec, move |_| if k % 4 == 1 { Err("no".into()) } else { Ok(()) })?;
    /// }
    /// let tags: Vec<u64> = engine.drain_failures()?.iter().map(|failure| failure.tag).collect();
    /// assert_eq!(tags, [1, 5, 9]);
    /// assert!(engine.wait_for_all().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`WaitError::InsideOperation`].
    pub fn drain_failures(&self) -> Result<Vec<Failure>, WaitError> {
        let seq = self.core().finish_all(None)?;
        let failures = self.core().failures.surface_all(seq);
        Ok(failures.into_iter().map(Contained::into_inner).collect())
    }
}
