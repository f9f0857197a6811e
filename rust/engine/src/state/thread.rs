//! What the engine knows about the calling thread: whose worker it is, and what it is running.

use std::cell::Cell;
use std::ptr;

use crate::base::sync::per_thread;
use crate::base::unwind::{PanicError, catch};
use crate::operation::op::{NO_STEP, OpPtr};
use crate::scheduling::current_op::CurrentOp;
use crate::scheduling::lane::Lane;
use crate::state::bulk_builder::BulkBuilder;
use crate::state::core::Core;
use crate::state::frame::Frame;

/// Shard for threads that are not workers.
const FOREIGN: usize = 0;

pub(crate) struct Here {
    /// The core that the thread works for, or null.
    pub(crate) core: Cell<*const Core>,
    /// The lane that the thread works for, or null.
    pub(crate) lane: Cell<*const Lane>,
    /// Where it counts completions.
    pub(crate) shard: Cell<usize>,
    /// Which worker of its lane it is.
    pub(crate) index: Cell<usize>,
    /// Where it says what it runs, or null.
    current_op: Cell<*const CurrentOp>,
    /// The stream that its lane's operations get.
    pub(crate) stream: Cell<Option<u64>>,
    /// The core that it ever worked for, to the thread's end.
    served: Cell<*const Core>,
    /// The operations whose functions it is in, innermost first.
    running: Cell<*const Running>,
    /// The asynchronous operation whose function it is in, or null.
    begun: Cell<*const Begun>,
    /// How many waits on its stack run operations meanwhile.
    pub(crate) nested: Cell<u32>,
    /// How many operations it has pushed.
    pub(crate) pushes: Cell<u32>,
    /// How many operations of an engine were registered when it last looked.
    pub(crate) registered: Cell<(*const Core, u64)>,
    /// Inline operations it has found ready and not run yet, innermost first.
    pub(crate) frames: Cell<*const Frame>,
    /// The bulks that it fills, for whichever engine, innermost first.
    pub(crate) bulks: Cell<*const BulkBuilder>,
}

per_thread! {
    static HERE: Here = Here {
        core: Cell::new(ptr::null()),
        lane: Cell::new(ptr::null()),
        shard: Cell::new(FOREIGN),
        index: Cell::new(0),
        current_op: Cell::new(ptr::null()),
        stream: Cell::new(None),
        served: Cell::new(ptr::null()),
        nested: Cell::new(0),
        pushes: Cell::new(0),
        registered: Cell::new((ptr::null(), 0)),
        running: Cell::new(ptr::null()),
        begun: Cell::new(ptr::null()),
        frames: Cell::new(ptr::null()),
        bulks: Cell::new(ptr::null()),
    };
}

/// Looks at the calling thread's record.
#[inline]
pub(crate) fn here<R>(f: impl FnOnce(&Here) -> R) -> R {
    HERE.with(f)
}

/// A number of the thread, of no other one that lives.
pub(crate) fn address() -> usize {
    here(|here| ptr::from_ref(here) as usize)
}

/// The thread becomes worker `index` of a lane.
pub(crate) fn enter_worker(core: &Core, lane: &Lane, index: usize) {
    here(|here| {
        here.core.set(core);
        here.lane.set(lane);
        here.shard.set(core.next_shard());
        here.index.set(index);
        here.current_op.set(lane.current_op(index));
        here.stream.set(core.stream_for(lane, index));
        here.served.set(core);
    });
}

pub(crate) fn leave_worker() {
    here(|here| {
        here.core.set(ptr::null());
        here.lane.set(ptr::null());
        here.shard.set(FOREIGN);
        here.current_op.set(ptr::null());
        here.stream.set(None);
    });
}

/// An operation whose function is on the thread's stack.
struct Running {
    op: OpPtr,
    /// Which step, of a program.
    step: u32,
    core: *const Core,
    outer: *const Running,
    /// Its function has dropped its `OnComplete`.
    dropped: Cell<bool>,
}

/// Takes a frame off the thread's stack, however the function ended.
struct Unlink<'a>(&'a Running);

impl Drop for Unlink<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        here(|here| here.running.set(self.0.outer));
    }
}

/// If the thread is a worker, an operation is published as its current one, as long as this lives.
pub(crate) struct CurrentOpGuard(*const CurrentOp);

impl CurrentOpGuard {
    #[inline(always)]
    pub(crate) fn new(op: OpPtr) -> Self {
        let current_op = here(|here| here.current_op.get());
        // SAFETY: null, or a place of the lane that the thread works for.
        if let Some(current_op) = unsafe { current_op.as_ref() } {
            current_op.enter(op);
        }
        Self(current_op)
    }
}

impl Drop for CurrentOpGuard {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: as above.
        if let Some(current_op) = unsafe { self.0.as_ref() } {
            let outer = here(|here| here.running.get());
            // SAFETY: null, or a frame further up this thread's stack.
            current_op.leave(unsafe { outer.as_ref() }.map(|outer| outer.op));
        }
    }
}

/// Runs `f` as the function of `op`, and catches what it throws. Also returns whether
/// [`left_to_executor`] said yes meanwhile.
#[inline(always)]
pub(crate) fn running<R>(
    core: &Core,
    op: OpPtr,
    f: impl FnOnce() -> R,
) -> (Result<R, Box<PanicError>>, bool) {
    let _current = CurrentOpGuard::new(op);
    running_step(core, op, NO_STEP, f)
}

/// The same, for a step of a program's launch.
#[inline(always)]
pub(crate) fn running_step<R>(
    core: &Core,
    op: OpPtr,
    step: u32,
    f: impl FnOnce() -> R,
) -> (Result<R, Box<PanicError>>, bool) {
    let frame = Running {
        op,
        step,
        core,
        outer: here(|here| here.running.get()),
        dropped: Cell::new(false),
    };
    here(|here| here.running.set(&raw const frame));
    let unlink = Unlink(&frame);
    let result = catch(f);
    drop(unlink);
    (result, frame.dropped.get())
}

/// The `OnComplete` of `op`, or of a step of it, is being dropped. If that happens inside of its own
/// function, its executor completes the operation once the function has ended: only then is it
/// known how.
pub(crate) fn left_to_executor(op: OpPtr, step: u32) -> bool {
    let frame = here(|here| here.running.get());
    // SAFETY: null, or a frame further up this thread's stack.
    match unsafe { frame.as_ref() } {
        Some(frame) if frame.op == op && frame.step == step => {
            frame.dropped.set(true);
            true
        }
        _ => false,
    }
}

/// Whether the thread is in an operation's function, of whichever engine.
pub(crate) fn is_running() -> bool {
    here(|here| !here.running.get().is_null())
}

/// The operations of this engine whose functions the thread is in, innermost first.
pub(crate) fn running_ops(core: &Core) -> impl Iterator<Item = OpPtr> {
    let core: *const Core = core;
    let mut next = here(|here| here.running.get());
    std::iter::from_fn(move || {
        loop {
            // SAFETY: frames lie further up this thread's stack, and each unlinks itself.
            let frame = unsafe { next.as_ref() }?;
            next = frame.outer;
            if ptr::eq(frame.core, core) {
                return Some(frame.op);
            }
        }
    })
}

/// An asynchronous operation whose function runs on a thread of the user's.
struct Begun {
    op: OpPtr,
    core: *const Core,
    outer: *const Begun,
}

/// Runs `f` as the function of an asynchronous operation, which is not completed meanwhile.
pub(crate) fn during<R>(core: &Core, op: OpPtr, f: impl FnOnce() -> R) -> R {
    struct Leave(*const Begun);
    impl Drop for Leave {
        fn drop(&mut self) {
            here(|here| here.begun.set(self.0));
        }
    }
    let outer = here(|here| here.begun.get());
    let begun = Begun { op, core, outer };
    here(|here| here.begun.set(&raw const begun));
    let _leave = Leave(outer);
    f()
}

/// The asynchronous operations of this engine whose functions the thread is in, innermost first.
pub(crate) fn begun_ops(core: &Core) -> impl Iterator<Item = OpPtr> {
    let core: *const Core = core;
    let mut next = here(|here| here.begun.get());
    std::iter::from_fn(move || {
        loop {
            // SAFETY: frames lie further up this thread's stack, and each unlinks itself.
            let frame = unsafe { next.as_ref() }?;
            next = frame.outer;
            if ptr::eq(frame.core, core) {
                return Some(frame.op);
            }
        }
    })
}

/// The lane that the thread is a worker of, whichever engine's, and that engine's core.
pub(crate) fn own_lane<'a>() -> Option<(&'a Core, &'a Lane)> {
    let (core, lane) = here(|here| (here.core.get(), here.lane.get()));
    // SAFETY: null, or kept alive by the worker loop further up this thread's stack.
    unsafe { Some((core.as_ref()?, lane.as_ref()?)) }
}

/// The lane of this engine that the thread is a worker of.
pub(crate) fn own_lane_of(core: &Core) -> Option<&Lane> {
    own_lane()
        .filter(|(own, _)| ptr::eq(*own, core))
        .map(|(_, lane)| lane)
}

/// Whether the thread is a worker of this engine.
pub(crate) fn is_worker_of(core: &Core) -> bool {
    here(|here| ptr::eq(here.core.get(), core))
}

/// Whether the thread is, or was, a worker of this engine: even at its very end it must not wait
/// for all workers to be gone.
pub(crate) fn has_served(core: &Core) -> bool {
    here(|here| ptr::eq(here.served.get(), core))
}

/// How many bulks for this engine the thread fills.
pub(crate) fn count_bulk_builders(core: &Core) -> usize {
    let mut next = here(|here| here.bulks.get());
    let mut count = 0;
    // SAFETY: what is linked is in a box that a `Bulk` of this thread still owns.
    while let Some(builder) = unsafe { next.as_ref() } {
        count += usize::from(builder.is_of(core));
        next = builder.outer.get();
    }
    count
}
