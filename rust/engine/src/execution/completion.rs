//! How an asynchronous operation is completed: by a call of its `OnComplete`, or by dropping it.

use crate::base::sync::Arc;
use crate::base::unwind::discard;
use crate::functions::context::OnComplete;
use crate::functions::declared::Declared;
use crate::functions::launch::Run;
use crate::operation::op::{NO_STEP, OpPtr};
use crate::state::core::Core;
use crate::state::limiter::Bytes;
use crate::state::thread;
use crate::types::failure::{NeverCompleted, OpError};

impl OnComplete {
    pub(crate) fn new(core: Arc<Core>, op: OpPtr) -> Self {
        Self::of_step(core, op, NO_STEP)
    }

    /// The end of one step of a program's launch.
    pub(crate) fn of_step(core: Arc<Core>, op: OpPtr, step: u32) -> Self {
        core.promises.begin(op, step, op.name());
        Self {
            core,
            op: Some(op),
            step,
            bytes: None,
        }
    }

    /// Keeps count of the operation's bytes until it is completed.
    pub(crate) fn with_bytes(mut self, bytes: Bytes) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// What its operation has said that it uses.
    pub(crate) fn declared(&self) -> Option<Declared> {
        let op = self.op?;
        match self.step {
            NO_STEP => Some(Declared::of(op)),
            // SAFETY: the launch holds until all steps are reported, this one by us.
            step => unsafe { Run::of(op) }.map(|run| Declared::of_step(run, step)),
        }
    }

    fn finish(&self, op: OpPtr, result: Result<(), OpError>) {
        if self.core.is_inherited() {
            // Nobody here goes on with this engine. What the error owns is the user's.
            return discard(result);
        }
        self.core.promises.end(op, self.step);
        match self.step {
            NO_STEP => self.core.complete_async(op, result),
            step => self.core.complete_step(op, step, result),
        }
    }

    /// Finishes the operation, well or with an error that goes where a synchronous operation's
    /// would. What becomes ready by this and runs inline (the functions of deletions; with the
    /// naive engine, everything) runs on this thread before the call returns.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// engine.push_async(&OpSpec::new("fails"), |_, done| done.complete(Err("no luck".into())))?;
    /// let failure = engine.wait_for_all().unwrap_err();
    /// assert_eq!(failure.to_string(), "operation fails failed");
    /// assert_eq!(std::error::Error::source(&failure).unwrap().to_string(), "no luck");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn complete(mut self, result: Result<(), OpError>) {
        self.bytes = None;
        if let Some(op) = self.op.take() {
            self.finish(op, result);
        }
    }

    /// Runs `f` as the function of the operation, wherever that is: what it waits for must not depend
    /// on the operation. A wait for a variable that does returns
    /// [`WaitError::SelfDependency`](crate::WaitError::SelfDependency), if what is pending between the
    /// two is not too much to be looked through, and no program's launch.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec, WaitError};
    /// let engine = Engine::builder().build();
    /// let (a, b) = (engine.new_variable(), engine.new_variable());
    /// let (send, receive) = std::sync::mpsc::channel();
    /// engine.push_async(&OpSpec::new("waits").writes(&[a]), move |_, done| {
    ///     let _ = send.send(done);
    /// })?;
    /// engine.push_sync(&OpSpec::new("behind it").reads(&[a]).writes(&[b]), |_| Ok(()))?;
    /// let done = receive.recv()?;
    /// let waited = done.during(|| engine.wait_for_var(b));
    /// assert!(matches!(waited, Err(WaitError::SelfDependency(var)) if var == b));
    /// done.complete(Ok(()));
    /// engine.wait_for_var(b)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn during<R>(&self, f: impl FnOnce() -> R) -> R {
        match self.op {
            Some(op) => thread::during(&self.core, op, f),
            None => f(),
        }
    }
}

impl Drop for OnComplete {
    fn drop(&mut self) {
        if let Some(op) = self.op.take() {
            if thread::left_to_executor(op, self.step) {
                self.core.promises.end(op, self.step);
            } else {
                self.finish(op, Err(Box::new(NeverCompleted)));
            }
        }
    }
}
