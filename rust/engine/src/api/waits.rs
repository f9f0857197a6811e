//! The public waits.

use std::time::Duration;

use crate::api::engine::Engine;
use crate::functions::declared::Use;
use crate::types::failure::WaitError;
use crate::types::var::Var;
use crate::types::wait_policy::{Until, WaitPolicy};

impl Engine {
    /// Waits until everything that was pushed before and mutates the variable has finished.
    ///
    /// Failures. An operation that fails leaves its failure on all variables that it mutates. An
    /// operation that uses a variable with a failure, to read or to mutate it, is skipped, and
    /// leaves the same failure on what it mutates. A wait on any of these variables returns the
    /// failure, once: one wait gets it, no later one does. Operations pushed before that wait are
    /// still skipped, those pushed after it run; for them the variables are free of it. (What the
    /// variables stand for is then as the failed operation left it.)
    ///
    /// May be called inside an operation, for a variable that the operation does not mutate and
    /// that nothing between depends on it. The worker then runs what the wait depends on, as far as
    /// that is ready in its lane, up to 64 such waits deep in each other; else a replacement thread
    /// works in its place meanwhile, up to 64 for each lane.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec, WaitError};
    /// let engine = Engine::builder().build();
    /// let (a, b) = (engine.new_variable(), engine.new_variable());
    /// engine.push_sync(&OpSpec::new("fails").writes(&[a]), |_| Err("no".into()))?;
    /// engine.push_sync(&OpSpec::new("skipped").reads(&[a]).writes(&[b]), |_| unreachable!())?;
    /// assert!(matches!(engine.wait_for_var(b), Err(WaitError::Failed(_))));
    /// assert!(engine.wait_for_var(a).is_ok(), "it was returned already");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`WaitError::Failed`], [`WaitError::StaleVariable`], [`WaitError::SelfDependency`],
    /// [`WaitError::TooManyBlocked`], [`WaitError::Forked`].
    pub fn wait_for_var(&self, var: Var) -> Result<(), WaitError> {
        self.core().wait_for_var(var, None)
    }

    /// The same, until everything that was pushed before and uses the variable has finished, also what
    /// only reads it.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// let a = engine.new_variable();
    /// engine.push_sync(&OpSpec::new("look").reads(&[a]), |_| Ok(()))?;
    /// engine.wait_to_write(a)?;
    /// assert_eq!(engine.counters().completed, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`wait_for_var`](Engine::wait_for_var).
    pub fn wait_to_write(&self, var: Var) -> Result<(), WaitError> {
        self.core().push_collected();
        self.core().wait_for_turn(var, Use::Writes, None)
    }

    /// [`wait_to_write`](Engine::wait_to_write) as long as `policy` says. A wait that is given up leaves
    /// a write of the variable behind, which orders other operations until its turn comes.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ferromix_engine::{Engine, OpSpec, WaitPolicy};
    ///
    /// /// Looks whether somebody wants to stop, every 10 ms.
    /// struct Polite;
    /// impl WaitPolicy for Polite {
    ///     fn before_sleep(&mut self) -> Option<Duration> {
    ///         Some(Duration::from_millis(10)) // `None` would give up
    ///     }
    /// }
    ///
    /// let engine = Engine::builder().build();
    /// let a = engine.new_variable();
    /// engine.push_sync(&OpSpec::new("look").reads(&[a]), |_| Ok(()))?;
    /// engine.wait_to_write_with(a, &mut Polite)?;
    /// assert_eq!(engine.counters().completed, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`wait_for_var_timeout`](Engine::wait_for_var_timeout).
    pub fn wait_to_write_with(
        &self,
        var: Var,
        policy: &mut dyn WaitPolicy,
    ) -> Result<(), WaitError> {
        self.core().push_collected();
        self.core().wait_for_turn(var, Use::Writes, Some(policy))
    }

    /// Whether [`wait_for_var`](Engine::wait_for_var) would return `Ok` without waiting: all writes
    /// pushed before have finished, with no failure. May say no in vain, for example while another
    /// thread pushes. Takes no lock, pushes nothing.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// let a = engine.new_variable();
    /// engine.push_sync(&OpSpec::new("write").writes(&[a]), |_| Ok(())).unwrap();
    /// engine.wait_for_var(a).unwrap();
    /// assert!(engine.is_quiet(a));
    /// ```
    pub fn is_quiet(&self, var: Var) -> bool {
        self.core().is_quiet(var)
    }

    /// Waits until every operation that was pushed before has finished.
    ///
    /// Returns the first failure, in push order, that no wait has returned yet; the others of
    /// these operations are forgotten, and all variables are free of them.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// for k in 0..10 {
    ///     let spec = OpSpec::new("some fail").tag(k);
    ///     engine.push_sync(&spec, move |_| if k % 4 == 1 { Err("no".into()) } else { Ok(()) })?;
    /// }
    /// assert!(engine.wait_for_all().is_err(), "the first of three");
    /// assert!(engine.wait_for_all().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`WaitError::Failed`], [`WaitError::InsideOperation`].
    pub fn wait_for_all(&self) -> Result<(), WaitError> {
        self.wait_for_all_in(None)
    }

    fn wait_for_all_in(&self, policy: Option<&mut dyn WaitPolicy>) -> Result<(), WaitError> {
        let seq = self.core().finish_all(policy)?;
        let mut failures = self.core().failures.surface_all(seq).into_iter();
        match failures.next() {
            Some(failure) => Err(WaitError::Failed(failure.into_inner())),
            None => Ok(()),
        }
    }

    /// [`wait_for_var`](Engine::wait_for_var) for so long at most.
    ///
    /// A wait that is given up surfaces no failure, and leaves behind a read of the variable, which
    /// takes some memory until its turn comes.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    /// use ferromix_engine::{Engine, OpSpec, WaitError};
    ///
    /// let engine = Engine::builder().workers(1).build();
    /// let (go, gate) = mpsc::channel();
    /// let var = engine.new_variable();
    /// engine.push_sync(&OpSpec::new("slow").writes(&[var]), move |_| Ok(gate.recv()?))?;
    /// let soon = Duration::from_millis(1);
    /// assert!(matches!(engine.wait_for_var_timeout(var, soon), Err(WaitError::GivenUp)));
    /// go.send(())?;
    /// engine.wait_for_var(var)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`wait_for_var`](Engine::wait_for_var), and [`WaitError::GivenUp`].
    pub fn wait_for_var_timeout(&self, var: Var, timeout: Duration) -> Result<(), WaitError> {
        self.wait_for_var_with(var, &mut Until::after(timeout))
    }

    /// [`wait_for_var`](Engine::wait_for_var) as long as `policy` says.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ferromix_engine::{Engine, OpSpec, WaitPolicy};
    ///
    /// /// Looks whether somebody wants to stop, every 10 ms.
    /// struct Polite;
    /// impl WaitPolicy for Polite {
    ///     fn before_sleep(&mut self) -> Option<Duration> {
    ///         Some(Duration::from_millis(10)) // `None` would give up
    ///     }
    /// }
    ///
    /// let engine = Engine::builder().build();
    /// let a = engine.new_variable();
    /// engine.push_sync(&OpSpec::new("write").writes(&[a]), |_| Ok(()))?;
    /// engine.wait_for_var_with(a, &mut Polite)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`wait_for_var_timeout`](Engine::wait_for_var_timeout).
    pub fn wait_for_var_with(
        &self,
        var: Var,
        policy: &mut dyn WaitPolicy,
    ) -> Result<(), WaitError> {
        self.core().wait_for_var(var, Some(policy))
    }

    /// [`wait_for_all`](Engine::wait_for_all) for so long at most. A wait that is given up surfaces
    /// no failure.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// engine.push_sync(&OpSpec::new("quick"), |_| Ok(()))?;
    /// engine.wait_for_all_timeout(Duration::from_secs(60))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`wait_for_all`](Engine::wait_for_all), and [`WaitError::GivenUp`].
    pub fn wait_for_all_timeout(&self, timeout: Duration) -> Result<(), WaitError> {
        self.wait_for_all_with(&mut Until::after(timeout))
    }

    /// [`wait_for_all`](Engine::wait_for_all) as long as `policy` says.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ferromix_engine::{Engine, OpSpec, WaitPolicy};
    ///
    /// /// Looks whether somebody wants to stop, every 10 ms.
    /// struct Polite;
    /// impl WaitPolicy for Polite {
    ///     fn before_sleep(&mut self) -> Option<Duration> {
    ///         Some(Duration::from_millis(10)) // `None` would give up
    ///     }
    /// }
    ///
    /// let engine = Engine::builder().build();
    /// let a = engine.new_variable();
    /// engine.push_sync(&OpSpec::new("write").writes(&[a]), |_| Ok(()))?;
    /// engine.wait_for_all_with(&mut Polite)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`wait_for_all_timeout`](Engine::wait_for_all_timeout).
    pub fn wait_for_all_with(&self, policy: &mut dyn WaitPolicy) -> Result<(), WaitError> {
        self.wait_for_all_in(Some(policy))
    }

    /// Runs `f`, which waits for something that other operations do, other than by a wait of this
    /// engine. Inside an operation another worker takes over meanwhile, where one more may be.
    ///
    /// ```
    /// # use ferromix_engine::{Engine, OpSpec};
    /// # use std::sync::mpsc::channel;
    /// let engine = Engine::builder().workers(1).build();
    /// let (send, receive) = channel();
    /// let inner = engine.clone();
    /// engine.push_sync(&OpSpec::new("waits"), move |_| {
    ///     Ok(inner.blocking(|| receive.recv())?) // the only worker is busy here
    /// })?;
    /// engine.push_sync(&OpSpec::new("sends"), move |_| Ok(send.send(())?))?;
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn blocking<R>(&self, f: impl FnOnce() -> R) -> R {
        self.core().blocking(f)
    }

    /// Whether more is in flight than [`max_in_flight`](crate::Builder::max_in_flight) and
    /// [`max_bytes_in_flight`](crate::Builder::max_bytes_in_flight) allow. For pushers that an
    /// engine with [`pushers_wait`](crate::Builder::pushers_wait) off does not hold back. Costs two
    /// loads.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ferromix_engine::{Engine, OpSpec, WaitPolicy};
    ///
    /// /// For as long as it takes.
    /// struct Calm;
    /// impl WaitPolicy for Calm {
    ///     fn before_sleep(&mut self) -> Option<Duration> {
    ///         Some(Duration::MAX)
    ///     }
    /// }
    ///
    /// let engine = Engine::builder().max_in_flight(64).pushers_wait(false).build();
    /// for _ in 0..1000 {
    ///     engine.push_sync(&OpSpec::new("small"), |_| Ok(()))?;
    ///     if engine.is_over_limit() {
    ///         engine.wait_below_limit(&mut Calm)?;
    ///     }
    /// }
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn is_over_limit(&self) -> bool {
        self.core().limiter.is_over()
    }

    /// What a push over the limit does by itself: waits until a quarter of the limit is free, or
    /// nothing finishes for a while, as long as `policy` says.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ferromix_engine::{Engine, OpSpec, WaitPolicy};
    ///
    /// /// For as long as it takes.
    /// struct Calm;
    /// impl WaitPolicy for Calm {
    ///     fn before_sleep(&mut self) -> Option<Duration> {
    ///         Some(Duration::MAX)
    ///     }
    /// }
    ///
    /// let engine = Engine::builder().max_in_flight(64).pushers_wait(false).build();
    /// for _ in 0..1000 {
    ///     engine.push_sync(&OpSpec::new("small"), |_| Ok(()))?;
    ///     if engine.is_over_limit() {
    ///         engine.wait_below_limit(&mut Calm)?;
    ///     }
    /// }
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`WaitError::GivenUp`].
    pub fn wait_below_limit(&self, policy: &mut dyn WaitPolicy) -> Result<(), WaitError> {
        let stayed = self.core().hold_back(Some(policy));
        stayed.then_some(()).ok_or(WaitError::GivenUp)
    }
}
