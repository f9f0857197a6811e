//! Operations that borrow from the stack of the thread that pushes them.

use std::fmt;
use std::marker::PhantomData;

use crate::api::engine::Engine;
use crate::base::sync::{AcqRel, Acquire, Arc, AtomicUsize, Relaxed, Thread, current, park};
use crate::functions::context::{OnComplete, RunContext};
use crate::types::failure::{OpError, PushError};
use crate::types::spec::OpSpec;
use crate::types::var::Var;

/// Where operations are pushed that borrow from outside; made by [`Engine::scope`].
pub struct Scope<'scope, 'env: 'scope> {
    engine: &'env Engine,
    /// Read by each operation, so that it is known what the end of the scope waits for.
    var: Var,
    left: Arc<Left>,
    /// Neither lifetime may be changed.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

type SyncFn<'a> = Box<dyn FnOnce(&RunContext) -> Result<(), OpError> + Send + 'a>;
type AsyncFn<'a> = Box<dyn FnOnce(&RunContext, OnComplete) + Send + 'a>;

/// The functions that are still there.
struct Left {
    count: AtomicUsize,
    owner: Thread,
}

/// A function that is still there.
struct Counted(Arc<Left>);

impl Counted {
    fn new(left: &Arc<Left>) -> Self {
        // Relaxed: the owner's own, or of an operation that is counted itself.
        left.count.fetch_add(1, Relaxed);
        Self(left.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let owner = self.0.owner.clone();
        // Release: the last touch of what is borrowed. Acquire: that of the others, for the last.
        if self.0.count.fetch_sub(1, AcqRel) == 1 {
            owner.unpark();
        }
    }
}

/// A function, and that it is there: dropped in this order.
struct Borrowing<F> {
    f: F,
    counted: Counted,
}

impl<F> Borrowing<F> {
    /// Calls the function, which is gone before it is counted off, also by a panic.
    fn call<R>(self, call: impl FnOnce(F) -> R) -> R {
        let Self { f, counted } = self;
        let _counted = counted;
        call(f)
    }
}

/// Waits for the functions, however the scope is left.
struct Wait<'a>(&'a Engine, &'a Left, Var);

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        let core = self.0.core();
        // Acquire: pairs with `Counted`. In the child of a fork nobody has them.
        let over = || self.1.count.load(Acquire) == 0 || core.is_inherited();
        core.push_collected();
        // An operation of the scope may have pushed another one meanwhile.
        while !over() && self.0.wait_to_write(self.2).is_ok() {}
        if !over() {
            core.blocking(|| {
                while !over() {
                    park();
                }
            });
        }
    }
}

impl Engine {
    /// Runs `f`, which may push operations that borrow what outlives this call, and waits until these
    /// have run, or were skipped. Their failures are on their variables, as always.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().workers(2).build();
    /// let (mut left, mut right) = ([1, 2, 3], [4, 5, 6]);
    /// engine.scope(|scope| {
    ///     for half in [&mut left, &mut right] {
    ///         scope.push_sync(&OpSpec::new("double"), move |_| {
    ///             half.iter_mut().for_each(|x| *x *= 2);
    ///             Ok(())
    ///         })?;
    ///     }
    ///     Ok::<(), ferromix_engine::PushError>(())
    /// })?;
    /// assert_eq!((left, right), ([2, 4, 6], [8, 10, 12]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scope<'env, F, R>(&'env self, f: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
    {
        let left = Arc::new(Left {
            count: AtomicUsize::new(0),
            owner: current(),
        });
        let var = self.owned_variable();
        let scope = Scope {
            engine: self,
            var: var.var(),
            left: left.clone(),
            scope: PhantomData,
            env: PhantomData,
        };
        let _wait = Wait(self, &left, var.var());
        f(&scope)
    }
}

impl<'scope> Scope<'scope, '_> {
    /// [`Engine::push_sync`], of a function that may borrow from outside of the scope.
    ///
    /// # Errors
    /// As for [`Engine::push_sync`].
    pub fn push_sync<F>(&'scope self, spec: &OpSpec<'_>, f: F) -> Result<(), PushError>
    where
        F: FnOnce(&RunContext) -> Result<(), OpError> + Send + 'scope,
    {
        let work = Borrowing {
            f,
            counted: Counted::new(&self.left),
        };
        let run: SyncFn<'scope> = Box::new(move |context| work.call(|f| f(context)));
        // SAFETY: the scope does not end before the function is gone, and counted off: `Wait`.
        let run: SyncFn<'static> = unsafe { std::mem::transmute(run) };
        let reads = self.reads(spec);
        self.engine.push_sync(&spec.reads(&reads), run)
    }

    /// [`Engine::push_async`], of a function that may borrow from outside of the scope. Its
    /// [`OnComplete`] may outlive the scope.
    ///
    /// # Errors
    /// As for [`Engine::push_async`].
    pub fn push_async<F>(&'scope self, spec: &OpSpec<'_>, f: F) -> Result<(), PushError>
    where
        F: FnOnce(&RunContext, OnComplete) + Send + 'scope,
    {
        let work = Borrowing {
            f,
            counted: Counted::new(&self.left),
        };
        let run: AsyncFn<'scope> =
            Box::new(move |context, finish| work.call(|f| f(context, finish)));
        // SAFETY: as above.
        let run: AsyncFn<'static> = unsafe { std::mem::transmute(run) };
        // Without the scope's variable, which its end would have to wait for.
        self.engine.push_async(spec, run)
    }

    fn reads(&self, spec: &OpSpec<'_>) -> Vec<Var> {
        [spec.const_vars, &[self.var]].concat()
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}
