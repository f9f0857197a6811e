//! What the engine knows about the calling thread: whose worker it is, and what it is running.

use std::cell::Cell;
use std::ptr;

use crate::core::Core;
use crate::desk::Desk;
use crate::failure::PanicError;
use crate::filling::Filling;
use crate::lane::Lane;
use crate::op::OpPtr;
use crate::ready::Frame;
use crate::sync::per_thread;
use crate::unwind::catch;

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
    desk: Cell<*const Desk>,
    /// The stream that its lane's operations get.
    pub(crate) stream: Cell<Option<u64>>,
    /// The core that it ever worked for, to the thread's end.
    served: Cell<*const Core>,
    /// The operations whose functions it is in, innermost first.
    running: Cell<*const Running>,
    /// How many waits on its stack run operations meanwhile.
    pub(crate) nested: Cell<u32>,
    /// How many operations it has pushed.
    pub(crate) pushes: Cell<u32>,
    /// How many operations of an engine were registered when it last looked.
    pub(crate) registered: Cell<(*const Core, u64)>,
    /// Inline operations it has found ready and not run yet, innermost first.
    pub(crate) frames: Cell<*const Frame>,
    /// The bulks that it fills, for whichever engine, innermost first.
    pub(crate) filling: Cell<*const Filling>,
}

per_thread! {
    static HERE: Here = Here {
        core: Cell::new(ptr::null()),
        lane: Cell::new(ptr::null()),
        shard: Cell::new(FOREIGN),
        index: Cell::new(0),
        desk: Cell::new(ptr::null()),
        stream: Cell::new(None),
        served: Cell::new(ptr::null()),
        nested: Cell::new(0),
        pushes: Cell::new(0),
        registered: Cell::new((ptr::null(), 0)),
        running: Cell::new(ptr::null()),
        frames: Cell::new(ptr::null()),
        filling: Cell::new(ptr::null()),
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
        here.desk.set(lane.desk(index));
        here.stream.set(core.stream_for(lane, index));
        here.served.set(core);
    });
}

pub(crate) fn leave_worker() {
    here(|here| {
        here.core.set(ptr::null());
        here.lane.set(ptr::null());
        here.shard.set(FOREIGN);
        here.desk.set(ptr::null());
        here.stream.set(None);
    });
}

/// Of an operation that is no program's launch.
pub(crate) const NO_STEP: u32 = u32::MAX;

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

/// The thread's desk, if it is a worker's, says that it runs an operation, as long as this lives.
pub(crate) struct AtDesk(*const Desk);

impl AtDesk {
    #[inline(always)]
    pub(crate) fn new(op: OpPtr) -> Self {
        let desk = here(|here| here.desk.get());
        // SAFETY: null, or a desk of the lane that the thread works for.
        if let Some(desk) = unsafe { desk.as_ref() } {
            desk.enter(op);
        }
        Self(desk)
    }
}

impl Drop for AtDesk {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: as above.
        if let Some(desk) = unsafe { self.0.as_ref() } {
            let outer = here(|here| here.running.get());
            // SAFETY: null, or a frame further up this thread's stack.
            desk.leave(unsafe { outer.as_ref() }.map(|outer| outer.op));
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
    let _at_desk = AtDesk::new(op);
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

/// The lane that the thread is a worker of, whichever engine's, and that engine's core.
fn own_lane<'a>() -> Option<(&'a Core, &'a Lane)> {
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

/// A worker's lane knows that the worker waits, as long as this lives.
pub(crate) struct Blocking {
    lane: Option<(&'static Core, &'static Lane)>,
}

impl Blocking {
    /// `None` if so many workers wait already that this one must not.
    pub(crate) fn enter() -> Option<Self> {
        let lane = own_lane();
        match lane {
            Some((_, lane)) if !lane.enter_blocking() => None,
            _ => Some(Self { lane }),
        }
    }

    /// The wait will take time: see that somebody else works meanwhile.
    pub(crate) fn cover(&self) {
        if let Some((core, lane)) = self.lane {
            lane.cover(core);
        }
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        if let Some((core, lane)) = self.lane {
            lane.leave_blocking(core);
        }
    }
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
pub(crate) fn count_fillings(core: &Core) -> usize {
    let mut next = here(|here| here.filling.get());
    let mut count = 0;
    // SAFETY: what is linked is in a box that a `Bulk` of this thread still owns.
    while let Some(filling) = unsafe { next.as_ref() } {
        count += usize::from(filling.is_of(core));
        next = filling.outer.get();
    }
    count
}
