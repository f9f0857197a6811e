//! Threads that end: what their destructors of thread-local things may still do with an engine.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::{Sender, channel};

use crate::watchdog::in_child;
use ferromix_engine::{Engine, OnComplete, OpSpec};

/// Is called when its thread ends.
struct AtExit(Option<Box<dyn FnOnce()>>);

impl Drop for AtExit {
    fn drop(&mut self) {
        if let Some(f) = self.0.take() {
            f();
        }
    }
}

thread_local! {
    static AT_EXIT: RefCell<Vec<AtExit>> = const { RefCell::new(Vec::new()) };
}

/// Calls `f` when this thread ends.
fn at_exit(f: impl FnOnce() + 'static) {
    AT_EXIT.with(|all| all.borrow_mut().push(AtExit(Some(Box::new(f)))));
}

fn engine(traced: bool) -> Engine {
    let engine = Engine::builder().workers(1).build();
    if traced {
        engine.start_trace();
    }
    engine
}

/// Does something of everything.
fn use_it(engine: &Engine, count: &Arc<AtomicU64>) {
    let var = engine.new_variable();
    for small in [false, true] {
        let count = count.clone();
        engine
            .push_sync(&OpSpec::new("op").inline(small).writes(&[var]), move |_| {
                count.fetch_add(1, SeqCst);
                Ok(())
            })
            .unwrap();
    }
    engine.wait_for_var(var).unwrap();
    let bulk = engine.bulk(10);
    let joined = count.clone();
    engine
        .push_sync(&OpSpec::new("joined").writes(&[var]), move |_| {
            joined.fetch_add(1, SeqCst);
            Ok(())
        })
        .unwrap();
    drop(bulk);
    engine.delete_variable(var, || ()).unwrap();
    engine.wait_for_all().unwrap();
}

/// Ends a thread that uses the engine before and in its destructors. If `late`, the engine's own
/// thread-local things come first, so that they go last or first, as the platform has it.
fn end_a_thread(engine: Engine, late: bool, at_the_end: impl FnOnce(Engine) + Send + 'static) {
    std::thread::spawn(move || {
        let count = Arc::new(AtomicU64::new(0));
        if late {
            use_it(&engine, &count);
        }
        let kept = engine.clone();
        at_exit(move || at_the_end(kept));
        use_it(&engine, &count);
    })
    .join()
    .unwrap();
}

fn pushes_and_waits(name: &str, traced: bool) {
    in_child(name, 8, || {
        for late in [false, true] {
            let (engine, count) = (engine(traced), Arc::new(AtomicU64::new(0)));
            let counted = count.clone();
            end_a_thread(engine.clone(), late, move |engine| {
                use_it(&engine, &counted);
            });
            assert_eq!(count.load(SeqCst), 3);
            use_it(&engine, &count);
        }
    });
}

#[test]
fn a_thread_that_ends_may_push_and_wait() {
    pushes_and_waits("a_thread_that_ends_may_push_and_wait", false);
}

#[test]
fn a_thread_that_ends_may_push_and_wait_while_a_trace_records() {
    let name = "a_thread_that_ends_may_push_and_wait_while_a_trace_records";
    pushes_and_waits(name, true);
}

fn drops_the_last_handle(name: &str, traced: bool) {
    in_child(name, 8, || {
        for late in [false, true] {
            let (engine, count) = (engine(traced), Arc::new(AtomicU64::new(0)));
            let counted = count.clone();
            end_a_thread(engine, late, move |engine| {
                for _ in 0..100 {
                    let counted = counted.clone();
                    engine
                        .push_sync(&OpSpec::new("last"), move |_| {
                            counted.fetch_add(1, SeqCst);
                            Ok(())
                        })
                        .unwrap();
                }
                drop(engine);
                assert_eq!(counted.load(SeqCst), 100);
            });
            assert_eq!(count.load(SeqCst), 100);
        }
    });
}

#[test]
fn a_thread_that_ends_may_drop_the_last_handle() {
    drops_the_last_handle("a_thread_that_ends_may_drop_the_last_handle", false);
}

#[test]
fn a_thread_that_ends_may_drop_the_last_handle_while_a_trace_records() {
    let name = "a_thread_that_ends_may_drop_the_last_handle_while_a_trace_records";
    drops_the_last_handle(name, true);
}

/// Makes the engine's only worker wait, so that a replacement works meanwhile; makes that keep a
/// handle, which is the last, until it ends, when there are too many threads.
fn worker_has_the_last_handle(engine: Engine, at_the_end: impl FnOnce(Engine) + Send + 'static) {
    let (held, waits) = (engine.new_variable(), engine.new_variable());
    let (send, receive) = channel::<OnComplete>();
    engine
        .push_async(&OpSpec::new("held").writes(&[held]), move |_, done| {
            send.send(done).unwrap();
        })
        .unwrap();
    let done = receive.recv().unwrap();
    let inner = engine.clone();
    engine
        .push_sync(&OpSpec::new("waits").writes(&[waits]), move |_| {
            Ok(inner.wait_for_var(held)?)
        })
        .unwrap();
    let ((say, said), (open, gate)) = (channel(), channel::<()>());
    let kept = engine.clone();
    engine
        .push_sync(&OpSpec::new("keeps a handle"), move |_| {
            at_exit(move || at_the_end(kept));
            say.send(())?;
            Ok(gate.recv()?)
        })
        .unwrap();
    said.recv().unwrap();
    done.complete(Ok(()));
    engine.wait_for_var(waits).unwrap();
    drop(engine);
    open.send(()).unwrap();
}

/// Something that is there as long as the engine's threads are.
fn push_work(engine: &Engine, count: &Arc<AtomicU64>, alive: &Sender<()>) {
    let (count, alive) = (count.clone(), alive.clone());
    engine
        .push_sync(&OpSpec::new("last"), move |_| {
            let _alive = alive;
            count.fetch_add(1, SeqCst);
            Ok(())
        })
        .unwrap();
}

fn a_worker_drops_the_last_handle(name: &str, traced: bool) {
    in_child(name, 8, || {
        let (engine, count) = (engine(traced), Arc::new(AtomicU64::new(0)));
        let ((alive, ended), (say, said)) = (channel::<()>(), channel());
        let counted = count.clone();
        worker_has_the_last_handle(engine, move |engine| {
            for _ in 0..100 {
                push_work(&engine, &counted, &alive);
            }
            drop(engine);
            say.send(()).unwrap();
        });
        said.recv().unwrap();
        assert!(ended.recv().is_err(), "all operations are over");
        assert_eq!(count.load(SeqCst), 100);
    });
}

#[test]
fn a_worker_that_ends_may_drop_the_last_handle() {
    a_worker_drops_the_last_handle("a_worker_that_ends_may_drop_the_last_handle", false);
}

#[test]
fn a_worker_that_ends_may_drop_the_last_handle_while_a_trace_records() {
    let name = "a_worker_that_ends_may_drop_the_last_handle_while_a_trace_records";
    a_worker_drops_the_last_handle(name, true);
}

fn a_worker_pushes(name: &str, traced: bool) {
    in_child(name, 8, || {
        let (engine, count) = (engine(traced), Arc::new(AtomicU64::new(0)));
        let (kept, counted, (alive, ended)) = (engine.clone(), count.clone(), channel::<()>());
        engine
            .push_sync(&OpSpec::new("remembers"), move |_| {
                at_exit(move || push_work(&kept, &counted, &alive));
                Ok(())
            })
            .unwrap();
        engine.stop().unwrap(); // The worker ends, and pushes to the stopped engine.
        assert_eq!(count.load(SeqCst), 0);
        engine.start();
        engine.wait_for_all().unwrap();
        assert!(ended.recv().is_err());
        assert_eq!(count.load(SeqCst), 1);
    });
}

#[test]
fn a_worker_that_ends_may_push() {
    a_worker_pushes("a_worker_that_ends_may_push", false);
}

#[test]
fn a_worker_that_ends_may_push_while_a_trace_records() {
    a_worker_pushes("a_worker_that_ends_may_push_while_a_trace_records", true);
}
