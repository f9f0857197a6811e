//! Room for the function of an operation, type-erased, so that a push need not allocate.
//!
//! An operation only has to drop its function. How it is called takes the types of what it is called
//! with, which build on operations: that is the business of `task.rs`.

use std::mem::MaybeUninit;
use std::ptr;

/// Bytes of closure that an operation holds in place; a larger one is boxed.
pub(crate) const INLINE_BYTES: usize = 64;

/// Where a closure lies, or the pointer to its box.
pub(crate) type Closure = MaybeUninit<[u64; INLINE_BYTES / 8]>;

/// What an operation knows about its function. The first field of what `task.rs` knows.
pub(crate) struct DropTable {
    pub(crate) drop: unsafe fn(*mut Closure),
}

/// A function, or none.
#[repr(C)]
pub(crate) struct TaskSpace {
    /// Null if there is no function; else the table of the one that lies in `closure`.
    pub(crate) table: *const DropTable,
    pub(crate) closure: Closure,
}

impl TaskSpace {
    /// Room without a function.
    #[inline(always)]
    pub(crate) const fn empty() -> Self {
        Self {
            table: ptr::null(),
            closure: Closure::uninit(),
        }
    }

    /// Drops the function, if it is still here.
    #[inline]
    pub(crate) fn discard(&mut self) {
        let table = std::mem::replace(&mut self.table, ptr::null());
        // SAFETY: null or a table, which is there for good.
        if let Some(table) = unsafe { table.as_ref() } {
            // SAFETY: the table was there, so the closure is; it was taken, so only once.
            unsafe { (table.drop)(&mut self.closure) };
        }
    }
}

impl Drop for TaskSpace {
    #[inline]
    fn drop(&mut self) {
        self.discard();
    }
}
