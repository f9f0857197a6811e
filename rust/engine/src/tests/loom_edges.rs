//! Loom models of what happens at an engine's edges: the end of a lane's workers, a log that is
//! closed for a fork, launches that are used again, borrowed values, and variables that are deleted
//! while others hold them.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering::Relaxed};
use loom::thread;

use crate::base::borrow_cell::BorrowCell;
use crate::base::sync::Acquire;
use crate::functions::launch_cache::LaunchCache;
use crate::operation::op::OpPtr;
use crate::operation::var_slots::{Killed, VarSlab};
use crate::scheduling::park::Idle;
use crate::tests::loom::{SmallLog, entry, model};
use crate::types::var::Var;

/// Who is told to end is not left asleep, also where another one is searching.
#[test]
fn dismissed_workers_do_not_sleep_on() {
    model(3, || {
        let idle = Arc::new(Idle::new(2));
        let over = Arc::new(AtomicBool::new(false));
        let workers = [0, 1].map(|index| {
            idle.start_search();
            let (idle, over) = (idle.clone(), over.clone());
            thread::spawn(move || {
                let is_over = || over.load(Relaxed);
                while !is_over() {
                    idle.rest(index, is_over, || false);
                }
                let _ = idle.stop_search(|| false);
            })
        });
        over.store(true, Relaxed);
        idle.wake_all();
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

/// What is pushed behind a closed end is registered when it is opened, once, and not before.
#[test]
fn a_closed_log_keeps_what_is_pushed() {
    model(4, || {
        let small = Arc::new(SmallLog::new());
        let (end, other) = (entry(), entry());
        // SAFETY: not shared yet.
        unsafe { end.keep_in_log() };
        // The log is idle: its baton is ours, and we do not go on yet.
        assert!(small.log.insert(end).is_some());
        let inner = small.clone();
        let pusher = thread::spawn(move || inner.push(other));
        assert_eq!(small.count.load(Acquire), 0);
        small.open(end);
        pusher.join().unwrap();
        small.assist();
        assert_eq!(small.count.load(Acquire), 1);
        assert!(small.log.is_idle());
        end.release(1);
        other.release(1);
    });
}

/// A launch has one user at a time, and its contents go with it.
#[test]
fn a_launch_has_one_user_at_a_time() {
    model(3, || {
        let idle = Arc::new(LaunchCache::new());
        let used = Arc::new(UnsafeCell::new(0));
        let plan = crate::Program::builder("none").build().plan;
        let turn = move || {
            let new = || Box::new(crate::functions::launch::Launch::new(&plan));
            if let Some(launch) = idle.take(1, new) {
                // SAFETY: the holder of the one launch.
                used.with_mut(|used| unsafe { *used += 1 });
                idle.give(launch);
            }
        };
        let other = turn.clone();
        let thread = thread::spawn(other);
        turn();
        thread.join().unwrap();
    });
}

/// Borrows never meet; and who gets one sees what was done under those before.
#[test]
fn a_cell_has_one_writer_or_readers() {
    model(3, || {
        let cell = Arc::new(BorrowCell::new(UnsafeCell::new(0)));
        let inner = cell.clone();
        let writer = thread::spawn(move || {
            if let Some(value) = inner.write() {
                // SAFETY: the one writer, as the cell says; loom looks whether that is so.
                value.with_mut(|value| unsafe { *value += 1 });
            }
        });
        if let Some(value) = cell.read() {
            // SAFETY: a reader.
            value.with(|value| assert!(unsafe { *value } <= 1));
        }
        if let Some(value) = cell.write() {
            // SAFETY: as above.
            value.with_mut(|value| unsafe { *value += 1 });
        }
        writer.join().unwrap();
    });
}

/// Deletes a variable; if this call wins, its deletion is pushed now or by the last one that holds
/// the variable.
fn delete(vars: &VarSlab, var: Var, small: &SmallLog) -> Option<OpPtr> {
    let killed = vars.kill(var);
    if killed == Killed::Before {
        return None;
    }
    let deletion = entry();
    let slot = vars.slot(var.index).unwrap();
    let mine = match killed {
        // SAFETY: by `killed`; once.
        Killed::Held => unsafe { slot.park(deletion) },
        _ => Some(deletion),
    };
    mine.into_iter().for_each(|deletion| small.push(deletion));
    Some(deletion)
}

/// Collects an operation on the variable, and pushes it later; none if the variable is stale.
fn collect(vars: &VarSlab, var: Var, small: &SmallLog) -> Option<OpPtr> {
    let slot = vars.hold(var)?;
    let op = entry();
    small.push(op);
    slot.let_go().into_iter().for_each(|op| small.push(op));
    Some(op)
}

/// What is collected on several threads while others delete its variable: one deletion, pushed once,
/// behind all operations whose bulk held the variable.
#[test]
fn a_deletion_comes_after_all_that_hold_the_variable() {
    model(3, || {
        let small = Arc::new(SmallLog::new());
        let vars = Arc::new(VarSlab::new());
        let var = vars.create();
        let threads = [delete, collect].map(|act| {
            let (small, vars) = (small.clone(), vars.clone());
            thread::spawn(move || act(&vars, var, &small))
        });
        let op = collect(&vars, var, &small);
        let rival = delete(&vars, var, &small);
        let [deletion, other] = threads.map(|thread| thread.join().unwrap());
        small.assist();
        assert!(vars.hold(var).is_none(), "stale");
        // SAFETY: everybody else has ended.
        let order = small.registered.with(|list| unsafe { (*list).clone() });
        let deletions: Vec<OpPtr> = deletion.into_iter().chain(rival).collect();
        assert_eq!(deletions.len(), 1);
        assert_eq!(order.last(), deletions.first());
        let ops = op.into_iter().chain(other).count();
        assert_eq!(order.len(), 1 + ops, "each once");
        for op in order {
            op.release(1);
        }
    });
}
