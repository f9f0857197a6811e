//! What the engine knows about the calling thread: whose worker it is, and what it is running.

use std::cell::Cell;
use std::ptr;

use crate::core::Core;
use crate::filling::Filling;
use crate::lane::Lane;
use crate::op::OpPtr;
use crate::ready::Frame;
use crate::sync::per_thread;

/// Shard for threads that are not workers.
const FOREIGN: usize = 0;

pub(crate) struct Here {
    /// The core that the thread works for, or null.
    pub(crate) core: Cell<*const Core>,
    /// The lane that the thread works for, or null.
    pub(crate) lane: Cell<*const Lane>,
    /// Where it counts completions.
    pub(crate) shard: Cell<usize>,
    /// The operations whose functions it is in, innermost first.
    running: Cell<*const Running>,
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

pub(crate) fn enter_worker(core: &Core, lane: &Lane, shard: usize) {
    here(|here| {
        here.core.set(core);
        here.lane.set(lane);
        here.shard.set(shard);
    });
}

pub(crate) fn leave_worker() {
    here(|here| {
        here.core.set(ptr::null());
        here.lane.set(ptr::null());
        here.shard.set(FOREIGN);
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
    /// A panic of the function is dropping its `OnComplete`.
    dropped: Cell<bool>,
}

/// Runs `f`, which does not unwind, as the function of `op`. Also returns whether
/// [`defer_to_panic`] was called meanwhile.
pub(crate) fn running<R>(core: &Core, op: OpPtr, f: impl FnOnce() -> R) -> (R, bool) {
    running_step(core, op, NO_STEP, f)
}

/// The same, for a step of a program's launch.
#[inline]
pub(crate) fn running_step<R>(
    core: &Core,
    op: OpPtr,
    step: u32,
    f: impl FnOnce() -> R,
) -> (R, bool) {
    let outer = here(|here| here.running.get());
    let frame = Running {
        op,
        step,
        core,
        outer,
        dropped: Cell::new(false),
    };
    here(|here| here.running.set(&raw const frame));
    let result = f();
    here(|here| here.running.set(outer));
    (result, frame.dropped.get())
}

/// The `OnComplete` of `op`, or of a step of it, is being dropped. If that is because its function panics on
/// this very thread, its executor is told to complete the operation, with the panic for a failure.
pub(crate) fn defer_to_panic(op: OpPtr, step: u32) -> bool {
    let frame = here(|here| here.running.get());
    // SAFETY: null, or a frame further up this thread's stack.
    match unsafe { frame.as_ref() } {
        Some(frame) if frame.op == op && frame.step == step && std::thread::panicking() => {
            frame.dropped.set(true);
            true
        }
        _ => false,
    }
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
        if let Some((_, lane)) = self.lane {
            lane.leave_blocking();
        }
    }
}

/// Whether the thread is a worker of this engine.
pub(crate) fn is_worker_of(core: &Core) -> bool {
    here(|here| ptr::eq(here.core.get(), core))
}
