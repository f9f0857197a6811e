//! The engine under loom: every interleaving (with at most three or four preemptions) of a few
//! operations, through the real log, chains, waits and completions. The naive engine runs all
//! operations inline, so these programs need no worker threads; asynchronous ones are completed by
//! another thread.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p ferromix-engine --release --test loom_engine`.
#![allow(clippy::unwrap_used)]
#![cfg(loom)]

use ferromix_engine::{
    Engine, Kind, LocalVar, OnComplete, OpError, OpSpec, Program, RunContext, Var, WaitError,
};
use loom::cell::UnsafeCell;
use loom::sync::{Arc, Mutex};
use loom::thread;

fn model(preemptions: usize, f: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    let runs = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = runs.clone();
    builder.check(move || {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        f();
    });
    let runs = runs.load(std::sync::atomic::Ordering::Relaxed);
    assert!(
        runs > 30,
        "only {runs} interleavings: the model does not test anything"
    );
}

fn naive() -> Engine {
    Engine::builder().kind(Kind::Naive).build()
}

/// Data that loom watches: an unordered pair of accesses, one a write, is an error.
struct Data(UnsafeCell<u32>);

// SAFETY: the engine orders the accesses, which is what is being checked.
unsafe impl Sync for Data {}
// SAFETY: as above.
unsafe impl Send for Data {}

impl Data {
    fn new() -> Arc<Self> {
        Arc::new(Data(UnsafeCell::new(0)))
    }
    fn add(&self, n: u32) {
        // SAFETY: called with write access only.
        self.0.with_mut(|value| unsafe { *value = *value * 10 + n });
    }
    fn get(&self) -> u32 {
        // SAFETY: called with an access, or after a wait.
        self.0.with(|value| unsafe { *value })
    }
}

fn write(engine: &Engine, vars: &[Var], data: &[&Arc<Data>], n: u32) {
    let data: Vec<Arc<Data>> = data.iter().map(|data| (*data).clone()).collect();
    let pushed = engine.push_sync(&OpSpec::new("write").writes(vars), move |_| {
        data.iter().for_each(|data| data.add(n));
        Ok(())
    });
    pushed.unwrap();
}

/// Two pushers, two variables in crossed order: no deadlock, no overlap, one order.
#[test]
fn crossed_writes() {
    model(4, || {
        let engine = naive();
        let (a, b) = (engine.new_variable(), engine.new_variable());
        let (x, y) = (Data::new(), Data::new());
        let (other, x2, y2) = (engine.clone(), x.clone(), y.clone());
        let thread = thread::spawn(move || write(&other, &[b, a], &[&y2, &x2], 1));
        write(&engine, &[a, b], &[&x, &y], 2);
        thread.join().unwrap();
        engine.wait_for_var(a).unwrap();
        assert!(matches!(x.get(), 12 | 21));
        engine.wait_for_var(b).unwrap();
        assert_eq!(x.get(), y.get());
        assert_eq!(engine.version(a).unwrap(), 2);
    });
}

/// A chain of writer, readers and writer, one of them completed by another thread meanwhile.
#[test]
fn completion_against_registration() {
    model(3, || {
        let engine = naive();
        let a = engine.new_variable();
        let x = Data::new();
        let slot: Arc<Mutex<Option<OnComplete>>> = Arc::new(Mutex::new(None));
        let (s, x2, inner) = (slot.clone(), x.clone(), engine.clone());
        // Pushed by an operation, so that the naive engine does not wait for it.
        engine
            .push_sync(&OpSpec::new("outer"), move |_| {
                let (s, x2) = (s.clone(), x2.clone());
                inner.push_async(&OpSpec::new("async").writes(&[a]), move |_, done| {
                    x2.add(1);
                    *s.lock().unwrap() = Some(done);
                })?;
                Ok(())
            })
            .unwrap();
        let done = slot.lock().unwrap().take().unwrap();
        let finisher = thread::spawn(move || done.complete(Ok(())));
        let (x2, x3, inner) = (x.clone(), x.clone(), engine.clone());
        engine
            .push_sync(&OpSpec::new("outer"), move |_| {
                for x in [x2.clone(), x3.clone()] {
                    inner.push_sync(&OpSpec::new("read").reads(&[a]), move |_| {
                        assert_eq!(x.get(), 1);
                        Ok(())
                    })?;
                }
                let x = x2.clone();
                inner.push_sync(&OpSpec::new("write").writes(&[a]), move |_| {
                    x.add(2);
                    Ok(())
                })?;
                Ok(())
            })
            .unwrap();
        engine.wait_for_var(a).unwrap();
        assert_eq!(x.get(), 12);
        finisher.join().unwrap();
    });
}

/// Two asynchronous readers completed by two threads, with a writer behind them.
#[test]
fn readers_complete_in_any_order() {
    model(3, || {
        let engine = naive();
        let a = engine.new_variable();
        let x = Data::new();
        let slot: Arc<Mutex<Vec<OnComplete>>> = Arc::new(Mutex::new(Vec::new()));
        let (s, x2, inner) = (slot.clone(), x.clone(), engine.clone());
        engine
            .push_sync(&OpSpec::new("outer"), move |_| {
                for _ in 0..2 {
                    let s = s.clone();
                    inner.push_async(&OpSpec::new("read").reads(&[a]), move |_, done| {
                        s.lock().unwrap().push(done);
                    })?;
                }
                let x = x2.clone();
                inner.push_sync(&OpSpec::new("write").writes(&[a]), move |_| {
                    x.add(5);
                    Ok(())
                })?;
                Ok(())
            })
            .unwrap();
        let (first, second) = {
            let mut list = slot.lock().unwrap();
            (list.pop().unwrap(), list.pop().unwrap())
        };
        let finish = |done: OnComplete, x: Arc<Data>| {
            thread::spawn(move || {
                let _before = x.get();
                done.complete(Ok(()));
            })
        };
        let threads = [finish(first, x.clone()), finish(second, x.clone())];
        engine.wait_for_var(a).unwrap();
        assert_eq!(x.get(), 5);
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// `wait_for_all` against a push and a completion of other threads.
#[test]
fn wait_for_all_misses_nothing() {
    model(4, || {
        let engine = naive();
        let (a, b) = (engine.new_variable(), engine.new_variable());
        let (x, y) = (Data::new(), Data::new());
        let (other, y2) = (engine.clone(), y.clone());
        let thread = thread::spawn(move || {
            write(&other, &[b], &[&y2], 3);
            other.wait_for_all().unwrap();
            assert_eq!(y2.get(), 3);
        });
        write(&engine, &[a], &[&x], 4);
        engine.wait_for_all().unwrap();
        assert_eq!(x.get(), 4);
        thread.join().unwrap();
        assert_eq!(engine.counters().in_flight, 0);
    });
}

/// A failure of one thread's operation is returned by exactly one of two waits.
#[test]
fn a_failure_surfaces_once() {
    model(4, || {
        let engine = naive();
        let a = engine.new_variable();
        engine
            .push_sync(&OpSpec::new("bad").writes(&[a]), |_| Err("bad".into()))
            .unwrap();
        let other = engine.clone();
        let thread = thread::spawn(move || other.wait_for_var(a).is_err());
        let here = matches!(engine.wait_for_var(a), Err(WaitError::Failed(_)));
        assert!(here ^ thread.join().unwrap());
    });
}

/// A push races with the deletion of its variable.
#[test]
fn deletion_against_push() {
    model(4, || {
        let engine = naive();
        let a = engine.new_variable();
        let x = Data::new();
        let (other, x2) = (engine.clone(), x.clone());
        let thread = thread::spawn(move || {
            other.delete_variable(a, move || x2.add(9)).unwrap();
        });
        let x2 = x.clone();
        let pushed = engine.push_sync(&OpSpec::new("use").writes(&[a]), move |_| {
            x2.add(1);
            Ok(())
        });
        thread.join().unwrap();
        let waited = engine.wait_for_all();
        let value = x.get();
        match (pushed, waited) {
            (Ok(()), Ok(())) => assert_eq!(value, 19),
            (Ok(()), Err(_)) | (Err(_), Ok(())) => assert_eq!(value, 9),
            (Err(_), Err(_)) => panic!("refused twice"),
        }
        let b = engine.new_variable();
        assert_eq!(engine.version(b).unwrap(), 0);
    });
}

fn step(data: &Arc<Data>, n: u32) -> impl Fn(&RunContext) -> Result<(), OpError> + use<> {
    let data = data.clone();
    move |_| {
        data.add(n);
        Ok(())
    }
}

/// A launch of two independent steps against crossed writes of their variables: steps run where
/// their tokens come from, and the launch keeps its one place in the order.
#[test]
fn a_launch_against_crossed_writes() {
    model(3, || {
        let engine = naive();
        let (a, b) = (engine.new_variable(), engine.new_variable());
        let (x, y) = (Data::new(), Data::new());
        let program = Program::builder("two")
            .op(&OpSpec::new("x").writes(&[a]), step(&x, 1))
            .op(&OpSpec::new("y").writes(&[b]), step(&y, 1))
            .build();
        let (other, x2, y2) = (engine.clone(), x.clone(), y.clone());
        let thread = thread::spawn(move || write(&other, &[b, a], &[&y2, &x2], 2));
        engine.launch(&program).unwrap();
        thread.join().unwrap();
        engine.wait_for_all().unwrap();
        assert!(matches!(x.get(), 12 | 21));
        assert_eq!(x.get(), y.get());
        assert_eq!(engine.version(a).unwrap(), 2);
    });
}

/// Two threads launch one program whose second step needs the first.
#[test]
fn two_launches_of_one_program() {
    model(3, || {
        let engine = naive();
        let (a, b) = (engine.new_variable(), engine.new_variable());
        let (x, y) = (Data::new(), Data::new());
        let (x2, y2) = (x.clone(), y.clone());
        let program = Program::builder("copy")
            .op(&OpSpec::new("x").writes(&[a]), step(&x, 1))
            .op(&OpSpec::new("y").reads(&[a]).writes(&[b]), move |_| {
                y2.add(x2.get() % 9);
                Ok(())
            })
            .build();
        let (other, again) = (engine.clone(), program.clone());
        let thread = thread::spawn(move || other.launch(&again).unwrap());
        engine.launch(&program).unwrap();
        thread.join().unwrap();
        engine.wait_for_all().unwrap();
        assert_eq!((x.get(), y.get()), (11, 12));
        assert_eq!(engine.counters().in_flight, 0);
    });
}

/// A threaded engine; as all operations are small, no thread is ever started.
fn threaded() -> Engine {
    Engine::builder().kind(Kind::Threaded).workers(1).build()
}

fn write_small(engine: &Engine, vars: &[Var], data: &[&Arc<Data>], n: u32) {
    let data: Vec<Arc<Data>> = data.iter().map(|data| (*data).clone()).collect();
    let spec = OpSpec::new("small").writes(vars).inline(true);
    let pushed = engine.push_sync(&spec, move |_| {
        data.iter().for_each(|data| data.add(n));
        Ok(())
    });
    pushed.unwrap();
}

/// Small operations of two pushers on crossed variables: either thread runs either's, in order.
#[test]
fn small_operations_keep_the_order() {
    model(3, || {
        let engine = threaded();
        let (a, b) = (engine.new_variable(), engine.new_variable());
        let (x, y) = (Data::new(), Data::new());
        let (other, x2, y2) = (engine.clone(), x.clone(), y.clone());
        let thread = thread::spawn(move || write_small(&other, &[b, a], &[&y2, &x2], 1));
        write_small(&engine, &[a, b], &[&x, &y], 2);
        thread.join().unwrap();
        engine.wait_for_var(a).unwrap();
        engine.wait_for_var(b).unwrap();
        assert!(matches!(x.get(), 12 | 21));
        assert_eq!(x.get(), y.get());
    });
}

/// A variable that is quiet shows all that this thread wrote, though another thread registers and
/// runs some of that, and blocks are used again.
#[test]
fn a_quiet_variable_has_all_writes() {
    model(3, || {
        let engine = threaded();
        let (a, b) = (engine.new_variable(), engine.new_variable());
        let (x, y) = (Data::new(), Data::new());
        let (other, y2) = (engine.clone(), y.clone());
        let thread = thread::spawn(move || {
            write_small(&other, &[b], &[&y2], 1);
            if other.is_quiet(b) {
                assert_eq!(y2.get(), 1);
            }
        });
        for value in [1, 11] {
            write_small(&engine, &[a], &[&x], 1);
            if engine.is_quiet(a) {
                assert_eq!(x.get(), value);
            }
        }
        thread.join().unwrap();
        assert!(engine.is_quiet(a) && engine.is_quiet(b));
        assert_eq!((x.get(), y.get()), (11, 1));
    });
}

/// What another thread pushed before it said so is seen, whoever registers it.
#[test]
fn a_quiet_variable_has_the_writes_of_others() {
    model(3, || {
        let engine = threaded();
        let (a, b) = (engine.new_variable(), engine.new_variable());
        let (x, y) = (Data::new(), Data::new());
        let told = Arc::new(loom::sync::atomic::AtomicBool::new(false));
        let (other, x2, told2) = (engine.clone(), x.clone(), told.clone());
        let thread = thread::spawn(move || {
            write_small(&other, &[a], &[&x2], 1);
            told2.store(true, loom::sync::atomic::Ordering::Release);
        });
        write_small(&engine, &[b], &[&y], 1);
        if told.load(loom::sync::atomic::Ordering::Acquire) && engine.is_quiet(a) {
            assert_eq!(x.get(), 1);
        }
        thread.join().unwrap();
        assert!(engine.is_quiet(a));
        assert_eq!(x.get(), 1);
    });
}

/// A variable that is deleted meanwhile is not quiet before its last write.
#[test]
fn a_deleted_variable_is_not_quiet_early() {
    model(3, || {
        let engine = threaded();
        let (a, b) = (engine.new_variable(), engine.new_variable());
        let x = Data::new();
        let (other, x2) = (engine.clone(), x.clone());
        let thread = thread::spawn(move || {
            other.delete_variable(b, || {}).unwrap();
            let c = other.new_variable();
            write_small(&other, &[c], &[&x2], 1);
        });
        // `b` has no write; `c` may have its slot.
        let _ = engine.is_quiet(b);
        write_small(&engine, &[a], &[], 1);
        thread.join().unwrap();
        assert!(!engine.is_quiet(b) && engine.is_quiet(a));
    });
}

/// A step that another thread completes, against a crossed write; the step behind it runs on
/// whichever thread comes last.
#[test]
fn an_asynchronous_step_against_crossed_writes() {
    model(3, || {
        let engine = naive();
        let (a, b) = (engine.new_variable(), engine.new_variable());
        let (x, y) = (Data::new(), Data::new());
        let slot: Arc<Mutex<Option<OnComplete>>> = Arc::new(Mutex::new(None));
        let (s, x2, between) = (slot.clone(), x.clone(), LocalVar::new(0));
        let program = Program::builder("async")
            .async_op(&OpSpec::new("x").writes(&[a]), move |_, done| {
                x2.add(1);
                *s.lock().unwrap() = Some(done);
            })
            .locals(&[], &[between])
            .op(&OpSpec::new("y").writes(&[b]), step(&y, 1))
            .locals(&[between], &[])
            .build();
        // Launched by an operation, so that the naive engine does not wait for it.
        let inner = engine.clone();
        let launch = move |_: &RunContext| Ok(inner.launch(&program)?);
        engine.push_sync(&OpSpec::new("outer"), launch).unwrap();
        let done = slot.lock().unwrap().take().unwrap();
        let finisher = thread::spawn(move || done.complete(Ok(())));
        write(&engine, &[b, a], &[&y, &x], 2);
        engine.wait_for_var(a).unwrap();
        assert_eq!((x.get(), y.get()), (12, 12));
        finisher.join().unwrap();
        engine.wait_for_all().unwrap();
        assert_eq!(engine.counters().in_flight, 0);
    });
}

/// Two asynchronous steps completed by two threads, and one behind both.
#[test]
fn asynchronous_steps_end_in_any_order() {
    model(3, || {
        let engine = naive();
        let a = engine.new_variable();
        let (x, y, z) = (Data::new(), Data::new(), Data::new());
        let slot: Arc<Mutex<Vec<OnComplete>>> = Arc::new(Mutex::new(Vec::new()));
        let mut program = Program::builder("async");
        for (number, data) in [&x, &y].into_iter().enumerate() {
            let (slot, data) = (slot.clone(), data.clone());
            let half = program.async_op(&OpSpec::new("half"), move |_, done| {
                data.add(1);
                slot.lock().unwrap().push(done);
            });
            program = half.locals(&[], &[LocalVar::new(number as u32)]);
        }
        let (x2, y2, z2) = (x.clone(), y.clone(), z.clone());
        let both = [LocalVar::new(0), LocalVar::new(1)];
        let writes = [a];
        let sum = program.op(&OpSpec::new("sum").writes(&writes), move |_| {
            z2.add(x2.get() + y2.get());
            Ok(())
        });
        let program = sum.locals(&both, &[]);
        let (inner, program) = (engine.clone(), program.build());
        let launch = move |_: &RunContext| Ok(inner.launch(&program)?);
        engine.push_sync(&OpSpec::new("outer"), launch).unwrap();
        let mut ends = std::mem::take(&mut *slot.lock().unwrap());
        let (first, second) = (ends.pop().unwrap(), ends.pop().unwrap());
        let thread = thread::spawn(move || first.complete(Ok(())));
        second.complete(Ok(()));
        engine.wait_for_var(a).unwrap();
        assert_eq!(z.get(), 2);
        thread.join().unwrap();
    });
}
