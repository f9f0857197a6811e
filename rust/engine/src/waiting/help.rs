//! A worker that waits inside an operation first runs what its wait depends on.
//!
//! Only that: anything else could wait, in turn, for the very operation beneath it on the stack. What
//! a ready operation leads to is found by following the chains of its variables. That is safe while
//! the caller has the operation and does not run it: behind an access that has not finished nothing
//! is retired, and an operation that waits for one has not finished any of its own.

use crate::execution::ready_batch::ReadyBatch;
use crate::operation::access::AccessPtr;
use crate::operation::op::{OpKind, OpPtr};
use crate::scheduling::lane::Lane;
use crate::state::core::Core;
use crate::state::thread::{self, here};

/// Waits that run operations inside each other, on one thread.
const DEPTH: u32 = 64;
/// Ready operations that a wait looks at before it leaves them to other workers.
const LOOKS: usize = 4096;
/// Accesses that are looked at to find out whether an operation leads to a wait.
const STEPS: usize = 512;
/// The same, where a wait looks whether it waits for its own function.
const MANY_STEPS: usize = 4096;

/// Counts a wait that runs operations, as long as this lives.
struct Nested;

impl Nested {
    fn enter() -> Option<Self> {
        here(|here| {
            let deep = here.nested.get();
            here.nested.set(deep + 1);
            let nested = Self; // Counted off when it is dropped.
            (deep < DEPTH).then_some(nested)
        })
    }
}

impl Drop for Nested {
    fn drop(&mut self) {
        here(|here| here.nested.set(here.nested.get() - 1));
    }
}

impl Core {
    /// Runs ready operations of this worker's lane that `wait` depends on, until it is `over` or
    /// there is none. The caller has a count of `wait`.
    pub(crate) fn help_wait(&self, wait: OpPtr, over: &dyn Fn() -> bool) {
        let Some(lane) = thread::own_lane_of(self) else {
            return;
        };
        let Some(_nested) = Nested::enter() else {
            return;
        };
        while !over() && !self.is_inherited() {
            let Some(op) = self.find_leading_to(wait, lane) else {
                return;
            };
            let mut batch = ReadyBatch::new();
            self.execute(op, &mut batch);
            self.settle(&mut batch);
        }
    }

    /// Takes a ready operation that leads to `wait` out of the lane.
    fn find_leading_to(&self, wait: OpPtr, lane: &Lane) -> Option<OpPtr> {
        // Those of low priority lie behind all others, however many these are.
        let ranked = lane.queue.take_ranked(|op| leads_to(op, wait, STEPS));
        if ranked.is_some() || lane.queue.is_exact() {
            return ranked;
        }
        let index = here(|here| here.index.get());
        let mut aside = Vec::new();
        let mut found = None;
        while found.is_none() && aside.len() < LOOKS {
            // SAFETY: this thread is that worker.
            let Some((op, _)) = (unsafe { lane.queue.pop(index) }) else {
                break;
            };
            if leads_to(op, wait, STEPS) {
                found = Some(op);
            } else {
                aside.push(op);
            }
        }
        if !aside.is_empty() {
            aside.into_iter().for_each(|op| lane.queue.push(op));
            lane.wake(self);
        }
        found
    }
}

/// Whether `wait`, of which the caller has a count, is behind an asynchronous operation whose function
/// this thread is in: so it cannot end. May say no in vain.
pub(crate) fn waits_for_itself(core: &Core, wait: OpPtr) -> bool {
    thread::begun_ops(core).any(|op| leads_to(op, wait, MANY_STEPS))
}

/// Whether `wait` cannot end before `op`, which is ready or begun, and the caller's. May say no in vain.
fn leads_to(op: OpPtr, wait: OpPtr, most: usize) -> bool {
    let mut search = Search {
        wait,
        seen: Vec::new(),
        steps: 0,
        most,
    };
    let (mut op, mut looked) = (op, 0);
    while search.steps <= most {
        if search.is_behind(op) {
            return true;
        }
        let Some(further) = search.seen.get(looked) else {
            break;
        };
        (op, looked) = (*further, looked + 1);
    }
    false
}

struct Search {
    wait: OpPtr,
    /// What was found on the way, and is to be looked at itself. (Nothing is allocated for
    /// operations that nothing waits for, nor for what leads to the wait at once.)
    seen: Vec<OpPtr>,
    steps: usize,
    most: usize,
}

impl Search {
    /// Whether `wait` waits for `op`; notes what else does.
    fn is_behind(&mut self, op: OpPtr) -> bool {
        // The steps of a launch may be over one by one, and then its accesses are not held.
        if op.header().kind == OpKind::Program {
            return false;
        }
        let held = |access: &AccessPtr| !access.slot_address().is_null();
        op.accesses().filter(held).any(|access| self.follow(access))
    }

    fn follow(&mut self, access: AccessPtr) -> bool {
        let mut writes = access.writes();
        let mut behind = access.known_successor();
        while let Some(access) = behind {
            self.steps += 1;
            if self.steps > self.most {
                return false;
            }
            if (writes || access.writes()) && self.is_or_note(access) {
                return true;
            }
            if access.writes() {
                if access.op().header().kind != OpKind::Program {
                    break; // What is behind it is found from there.
                }
                writes = true;
            }
            behind = access.known_successor();
        }
        false
    }

    /// Whether an access is that of the wait; if not, its operation is looked at later.
    fn is_or_note(&mut self, access: AccessPtr) -> bool {
        let op = access.op();
        if op != self.wait && !self.seen.contains(&op) {
            self.seen.push(op);
        }
        op == self.wait
    }
}
