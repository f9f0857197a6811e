//! The function of an operation: how it is stored in the operation's space, and how it is called.

use std::mem::{align_of, size_of};
use std::ptr;

use crate::functions::context::{OnComplete, RunContext};
use crate::operation::op::OpPtr;
use crate::operation::task_space::{Closure, DropTable, INLINE_BYTES, TaskSpace};
use crate::types::failure::OpError;

type Run = unsafe fn(*mut Closure, &RunContext, Option<OnComplete>) -> Result<(), OpError>;

/// What can be done with a stored function.
#[repr(C)]
struct Table {
    /// First, so that a pointer to the whole is one to it.
    base: DropTable,
    run: Run,
}

/// A function to be called at most once. Its table, if there is one, is a [`Table`].
#[repr(transparent)]
pub(crate) struct Task(TaskSpace);

impl OpPtr {
    /// The function.
    ///
    /// # Safety
    /// The caller executes the operation, or has not shared it yet, and does not nest calls.
    pub(crate) unsafe fn with_task<R>(&self, f: impl FnOnce(&mut Task) -> R) -> R {
        // SAFETY: by the contract the only user. A task is nothing but its space, and `Erase::store`
        // alone sets tables.
        self.space()
            .with_mut(|space| f(unsafe { &mut *space.cast::<Task>() }))
    }
}

/// How a stored closure wants to be called. `finish` is present for asynchronous operations only.
trait Call: Send + 'static {
    fn call(self, context: &RunContext, finish: Option<OnComplete>) -> Result<(), OpError>;
}

struct SyncCall<F>(F);
struct AsyncCall<F>(F);

impl<F> Call for SyncCall<F>
where
    F: FnOnce(&RunContext) -> Result<(), OpError> + Send + 'static,
{
    fn call(self, context: &RunContext, _finish: Option<OnComplete>) -> Result<(), OpError> {
        (self.0)(context)
    }
}

impl<F> Call for AsyncCall<F>
where
    F: FnOnce(&RunContext, OnComplete) + Send + 'static,
{
    fn call(self, context: &RunContext, finish: Option<OnComplete>) -> Result<(), OpError> {
        if let Some(finish) = finish {
            (self.0)(context, finish);
        }
        Ok(())
    }
}

struct Erase<C>(std::marker::PhantomData<C>);

impl<C: Call> Erase<C> {
    const FITS: bool = size_of::<C>() <= INLINE_BYTES && align_of::<C>() <= align_of::<Closure>();

    const TABLE: &'static Table = &Table {
        base: DropTable { drop: Self::drop },
        run: Self::run,
    };

    #[inline(always)]
    fn store(task: &mut Task, call: C) {
        debug_assert!(task.0.table.is_null(), "a task got two functions");
        let closure = task.0.closure.as_mut_ptr();
        if Self::FITS {
            // SAFETY: FITS: the space is large and aligned enough for C.
            unsafe { closure.cast::<C>().write(call) };
        } else {
            let boxed = Box::into_raw(Box::new(call));
            // SAFETY: a thin pointer fits into the space.
            unsafe { closure.cast::<*mut C>().write(boxed) };
        }
        task.0.table = ptr::from_ref(Self::TABLE).cast();
    }

    /// # Safety
    /// `closure` was filled by `store` for this C and has not been taken from.
    unsafe fn take(closure: *mut Closure) -> C {
        if Self::FITS {
            // SAFETY: by the contract a C lies there, and it is not used again.
            unsafe { closure.cast::<C>().read() }
        } else {
            // SAFETY: by the contract an owned box's pointer lies there.
            unsafe { *Box::from_raw(closure.cast::<*mut C>().read()) }
        }
    }

    /// # Safety
    /// As for `take`.
    unsafe fn run(
        closure: *mut Closure,
        context: &RunContext,
        finish: Option<OnComplete>,
    ) -> Result<(), OpError> {
        // SAFETY: passed on.
        unsafe { Self::take(closure) }.call(context, finish)
    }

    /// # Safety
    /// As for `take`.
    unsafe fn drop(closure: *mut Closure) {
        // SAFETY: passed on.
        drop(unsafe { Self::take(closure) });
    }
}

impl Task {
    /// Stores a function that is finished when it returns, in a task that has none.
    #[inline(always)]
    pub(crate) fn store_sync<F>(&mut self, f: F)
    where
        F: FnOnce(&RunContext) -> Result<(), OpError> + Send + 'static,
    {
        Erase::store(self, SyncCall(f))
    }

    /// Stores a function that is finished when its `OnComplete` is called, likewise.
    #[inline(always)]
    pub(crate) fn store_async<F>(&mut self, f: F)
    where
        F: FnOnce(&RunContext, OnComplete) + Send + 'static,
    {
        Erase::store(self, AsyncCall(f))
    }

    /// Calls the function, if it is still here. The function moves out for that, and is dropped by
    /// its call.
    #[inline]
    pub(crate) fn run(
        &mut self,
        context: &RunContext,
        finish: Option<OnComplete>,
    ) -> Result<(), OpError> {
        let table = std::mem::replace(&mut self.0.table, ptr::null()).cast::<Table>();
        // SAFETY: null or a whole table, which is there for good.
        match unsafe { table.as_ref() } {
            // SAFETY: the table was there, so the closure is; it was taken, so only once.
            Some(table) => unsafe { (table.run)(&mut self.0.closure, context, finish) },
            None => Ok(()),
        }
    }

    /// Drops the function, if it is still here.
    pub(crate) fn discard(&mut self) {
        self.0.discard();
    }
}
