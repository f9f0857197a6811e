//! Forks as users see them.

use std::time::Duration;

use crate::api::engine::Engine;
use crate::types::failure::WaitError;

/// Forks. The child of a fork has only the thread that forked (whose handle of the engine must be its
/// own, not a reference to another thread's). There an engine refuses everything
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
    /// An engine that this thread has stopped stays stopped in both; one that another thread has
    /// stopped is started in the child. A trace that is being recorded goes on in both. A guard of a
    /// [`Data`](crate::Data) or a promise that is held keeps the engine from resting.
    ///
    /// Until then pushes of other threads are kept, and their waits wait; those of this thread are
    /// refused.
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
    /// [`WaitError::InsideOperation`]; [`WaitError::GivenUp`] if that takes longer than `limit`, as it
    /// does where a stopped engine keeps operations. It goes on as before then, and is of no use in a
    /// child.
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
