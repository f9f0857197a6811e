//! Inline operations that a thread has found ready and not run yet. They lie on its stack, a frame for
//! each list, so that a wait deeper in the stack can run them.

use std::ptr;

use crate::operation::op::OpPtr;
use crate::operation::op_list::OpList;
use crate::state::core::Core;
use crate::state::thread::here;

/// Inline operations on a thread's hands, reachable from waits deeper in its stack.
pub(crate) struct Frame {
    pub(crate) core: *const Core,
    pub(crate) list: std::cell::RefCell<OpList>,
    pub(crate) outer: *const Frame,
    pub(crate) depth: u32,
}

impl Frame {
    /// Gives an operation to the next frame of the same engine further up; false if there is none.
    pub(crate) fn leave_to_outer(&self, op: OpPtr) -> bool {
        let mut frame = self.outer;
        // SAFETY: frames lie further up this thread's stack, and each unlinks itself.
        while let Some(outer) = unsafe { frame.as_ref() } {
            if ptr::eq(outer.core, self.core) {
                outer.list.borrow_mut().push(op);
                return true;
            }
            frame = outer.outer;
        }
        false
    }
}

/// The thread's innermost frame, as long as this lives.
pub(crate) struct FrameLink<'a>(&'a Frame);

impl<'a> FrameLink<'a> {
    pub(crate) fn new(frame: &'a Frame) -> Self {
        here(|here| here.frames.set(frame));
        Self(frame)
    }
}

impl Drop for FrameLink<'_> {
    fn drop(&mut self) {
        here(|here| here.frames.set(self.0.outer));
    }
}
