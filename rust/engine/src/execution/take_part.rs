//! How a launch runs: threads are asked in, take steps, and leave.
//!
//! A step that becomes ready by another one is run next, by the same thread. Further ones go into the
//! launch's queue, which every thread that takes part empties.
//!
//! Threads are asked in by *invitations*: the operation itself, put among its lane's ready ones. At
//! most one is under way (`invited`). Whoever puts a step in the queue without taking part itself
//! exchanges `invited` afterwards; who follows an invitation exchanges it, then looks at the queue.
//! One exchange is first: so either a new invitation is sent, or the step is seen. A thread that
//! takes part looks at the queue itself before it leaves, so what it adds is not lost either way.
//!
//! `users` counts threads, invitations, and one for the steps that are left. The last to drop it gives
//! the counters back to the program, and the count of the execution to the operation.

use crate::base::process;
use crate::base::sync::{AcqRel, Relaxed};
use crate::execution::ready_batch::ReadyBatch;
use crate::functions::launch::{CHUNK, Launch, Run};
use crate::operation::access::{AccessPtr, Finished};
use crate::operation::op::OpPtr;
use crate::state::core::Core;
use crate::state::thread;

impl Core {
    /// Registrar: an access of a program's launch has started at once.
    pub(crate) fn start_quietly(&self, op: OpPtr, access: AccessPtr) {
        // SAFETY: the registrar is counted until `open_launch`.
        if let Some(run) = unsafe { Run::of(op) } {
            run.launch.start(run.plan, op.index_of(access));
        }
    }

    /// Registrar: all accesses are registered.
    pub(crate) fn open_launch(&self, op: OpPtr, batch: &mut ReadyBatch<'_>) {
        // SAFETY: the registrar is counted until the end of this call.
        if let Some(run) = unsafe { Run::of(op) } {
            if run.launch.has_more() {
                self.invite(run, batch);
            }
            self.leave(run, 0, batch);
        }
    }

    /// An access of a program's launch got its token.
    pub(crate) fn start_steps(&self, op: OpPtr, access: AccessPtr, batch: &mut ReadyBatch<'_>) {
        // SAFETY: the steps that wait for this access cannot run yet.
        if let Some(run) = unsafe { Run::of(op) } {
            // Relaxed: as for any count, the launch is held by what has not run.
            run.launch.users.fetch_add(1, Relaxed);
            if run.launch.start(run.plan, op.index_of(access)) {
                self.invite(run, batch);
            }
            self.leave(run, 0, batch);
        }
    }

    /// Sees to it that a thread looks at the queue. The caller is counted.
    pub(crate) fn invite(&self, run: Run<'_>, batch: &mut ReadyBatch<'_>) {
        // AcqRel: see the head of this file; pairs with `take_part`.
        if !run.launch.invited.swap(true, AcqRel) {
            // Relaxed: as above.
            run.launch.users.fetch_add(1, Relaxed);
            self.dispatch(run.op, batch);
        }
    }

    /// Gives up a count of `users`, and reports steps that were run.
    pub(crate) fn leave(&self, run: Run<'_>, ran: u32, batch: &mut ReadyBatch<'_>) {
        let mut counts = 1;
        // Release: what the steps did. Acquire: all of that, for the last.
        if ran > 0 && run.launch.left.fetch_sub(ran, AcqRel) == ran {
            self.sign_off(run.op);
            counts = 2;
        }
        let (op, launch) = (run.op, std::ptr::from_ref(run.launch));
        // Release: our last touches. Acquire: everybody's, for the last.
        if run.launch.users.fetch_sub(counts, AcqRel) == counts {
            // SAFETY: nobody is counted any more, and no step is left that could bring somebody.
            unsafe { Launch::end(launch, &mut batch.leftovers) };
            op.release(1);
        }
    }

    /// Follows an invitation: runs steps until there is none.
    pub(crate) fn take_part(&self, op: OpPtr, batch: &ReadyBatch<'_>) {
        // SAFETY: the invitation was counted; now we are.
        let Some(run) = (unsafe { Run::of(op) }) else {
            return;
        };
        // AcqRel: see the head of this file; pairs with `invite`.
        run.launch.invited.swap(false, AcqRel);
        let threads = self.lanes.cpu().size();
        let (mut ran, mut chunk, mut hand) = (0, [0; CHUNK], Hand::new());
        let mut batch = batch.sharing();
        let _current = thread::CurrentOpGuard::new(op);
        let process = process::number();
        loop {
            let count = run.launch.claim(&mut chunk, threads);
            if count == 0 {
                break;
            }
            if run.launch.has_more() && !run.launch.invited.load(Relaxed) {
                self.invite(run, &mut batch);
                self.settle(&mut batch);
            }
            for &step in &chunk[..count] {
                hand.next = Some(step);
                while let Some(step) = hand.take() {
                    let result = self.run_step(run, step, &mut batch.leftovers);
                    if process::number() != process {
                        return; // The function forked, and this is the child.
                    }
                    if let Some(result) = result {
                        let mut published = false;
                        self.finish_step(run, step, result, &mut batch, |step| {
                            if !hand.keep(step, run.is_small(step)) {
                                run.launch.publish(step);
                                published = true;
                            }
                        });
                        // Without an exchange, which may miss: we will look at the queue ourselves.
                        if published && !run.launch.invited.load(Relaxed) {
                            self.invite(run, &mut batch);
                        }
                        ran += 1;
                    }
                    // Before the next step, which may take long.
                    self.settle(&mut batch);
                    self.assist();
                }
            }
        }
        self.leave(run, ran, &mut batch);
        self.settle(&mut batch);
    }

    /// All steps that use a variable are through.
    pub(crate) fn let_go(&self, op: OpPtr, access: AccessPtr, batch: &mut ReadyBatch<'_>) {
        let Some(slot) = access.slot_in(&self.vars) else {
            return;
        };
        if access.writes() {
            // SAFETY: the launch still has its write access.
            unsafe { slot.bump_version() };
        }
        if let Finished::PassOn(next, message) = access.finish() {
            op.release(1);
            self.deliver(next, message, batch);
        }
    }
}

/// Ready steps that a thread has taken for itself.
struct Hand {
    small: [u32; CHUNK],
    len: usize,
    next: Option<u32>,
}

impl Hand {
    const fn new() -> Self {
        Self {
            small: [0; CHUNK],
            len: 0,
            next: None,
        }
    }

    /// Keeps one step, and small ones as long as there is room.
    fn keep(&mut self, step: u32, small: bool) -> bool {
        if small && self.len < CHUNK {
            self.small[self.len] = step;
            self.len += 1;
            return true;
        }
        self.next.is_none() && {
            self.next = Some(step);
            true
        }
    }

    /// The next step: small ones first, so that what waits for them does not wait for a long one.
    fn take(&mut self) -> Option<u32> {
        match self.len.checked_sub(1) {
            Some(len) => {
                self.len = len;
                Some(self.small[len])
            }
            None => self.next.take(),
        }
    }
}
