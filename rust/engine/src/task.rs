//! The function of an operation, type-erased into a fixed space so that a push need not allocate.

use std::mem::{MaybeUninit, align_of, size_of};

use crate::context::{OnComplete, RunContext};
use crate::failure::OpError;

/// Bytes of closure that an operation holds in place; a larger one is boxed.
const INLINE_BYTES: usize = 64;

type Space = MaybeUninit<[u64; INLINE_BYTES / 8]>;

struct Table {
    run: unsafe fn(*mut Space, &RunContext, Option<OnComplete>) -> Result<(), OpError>,
    drop: unsafe fn(*mut Space),
}

/// A function to be called at most once.
pub(crate) struct Task {
    table: Option<&'static Table>,
    space: Space,
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
    const FITS: bool = size_of::<C>() <= INLINE_BYTES && align_of::<C>() <= align_of::<Space>();

    const TABLE: &'static Table = &Table {
        run: Self::run,
        drop: Self::drop,
    };

    #[inline(always)]
    fn store(task: &mut Task, call: C) {
        debug_assert!(task.table.is_none(), "a task got two functions");
        let space = task.space.as_mut_ptr();
        if Self::FITS {
            // SAFETY: FITS: the space is large and aligned enough for C.
            unsafe { space.cast::<C>().write(call) };
        } else {
            let boxed = Box::into_raw(Box::new(call));
            // SAFETY: a thin pointer fits into the space.
            unsafe { space.cast::<*mut C>().write(boxed) };
        }
        task.table = Some(Self::TABLE);
    }

    /// # Safety
    /// `space` was filled by `store` for this C and has not been taken from.
    unsafe fn take(space: *mut Space) -> C {
        if Self::FITS {
            // SAFETY: by the contract a C lies there, and it is not used again.
            unsafe { space.cast::<C>().read() }
        } else {
            // SAFETY: by the contract an owned box's pointer lies there.
            unsafe { *Box::from_raw(space.cast::<*mut C>().read()) }
        }
    }

    /// # Safety
    /// As for `take`.
    unsafe fn run(
        space: *mut Space,
        context: &RunContext,
        finish: Option<OnComplete>,
    ) -> Result<(), OpError> {
        // SAFETY: passed on.
        unsafe { Self::take(space) }.call(context, finish)
    }

    /// # Safety
    /// As for `take`.
    unsafe fn drop(space: *mut Space) {
        // SAFETY: passed on.
        drop(unsafe { Self::take(space) });
    }
}

impl Task {
    /// A task of no function.
    pub(crate) const fn none() -> Self {
        Self {
            table: None,
            space: Space::uninit(),
        }
    }

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
    pub(crate) fn run(
        &mut self,
        context: &RunContext,
        finish: Option<OnComplete>,
    ) -> Result<(), OpError> {
        match self.table.take() {
            // SAFETY: the table was there, so the space is full; it was taken, so only once.
            Some(table) => unsafe { (table.run)(&mut self.space, context, finish) },
            None => Ok(()),
        }
    }
}

impl Task {
    /// Drops the function, if it is still here.
    pub(crate) fn discard(&mut self) {
        if let Some(table) = self.table.take() {
            // SAFETY: as in `run`.
            unsafe { (table.drop)(&mut self.space) };
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.discard();
    }
}
