//! How users end an engine, or have it finished when the process ends.

use std::time::Duration;

use crate::api::engine::Engine;
use crate::base::sync::Release;
use crate::base::unwind::Contained;
use crate::types::failure::{Failure, WaitError};
use crate::types::shutdown_error::ShutdownError;
use crate::types::wait_policy::Until;

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
        crate::api::exit::enlist(self, limit);
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
