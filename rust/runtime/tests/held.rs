//! Functions that run as operations, and what they may do with the arrays that they were given.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A failure to run is a failed test.

use ferromix_base::{Context, DType, ErrorKind};
use ferromix_engine::{Engine, OpSpec};
use ferromix_runtime::held::{self, Held};
use ferromix_runtime::{Array, Forever, Runtime, copy, read_into, wait_to_read, write_from};
use ferromix_storage::{Config, HostBackend, Pool};
use std::error::Error;
use std::sync::{Arc, mpsc};

fn runtime() -> Arc<Runtime> {
    let engine = Engine::builder().workers(2).build();
    let pool = Pool::new(Context::cpu(), HostBackend, Config::default());
    Runtime::new(engine, pool)
}

fn array(rt: &Arc<Runtime>, value: i32) -> Array {
    let array = Array::new(rt, &[1], DType::I32).unwrap();
    write_from(&array, &value.to_ne_bytes(), 0).unwrap();
    array
}

fn value(array: &Array) -> i32 {
    let mut bytes = [0; 4];
    read_into(array, &mut bytes).unwrap();
    i32::from_ne_bytes(bytes)
}

/// Pushes `f` as an operation that runs on a thread of its own, once `go` is told.
fn push_function(
    rt: &Arc<Runtime>,
    reads: &[&Array],
    writes: &[&Array],
    f: impl FnOnce() + Send + 'static,
) -> mpsc::Sender<()> {
    let vars = |arrays: &[&Array]| arrays.iter().map(|a| a.chunk().var()).collect::<Vec<_>>();
    let (reads, writes) = (vars(reads), vars(writes));
    let held = Held::new(rt, &reads, &writes);
    let (go, told) = mpsc::channel::<()>();
    let spec = OpSpec::new("function").reads(&reads).writes(&writes);
    rt.engine()
        .push_async(&spec, move |_, on_complete| {
            std::thread::spawn(move || {
                told.recv().unwrap();
                held.during(f);
                on_complete.complete(Ok(()));
            });
        })
        .unwrap();
    go
}

#[test]
fn reads_of_held_arrays_do_not_wait_for_later_writers() {
    let rt = runtime();
    let (a, nine) = (array(&rt, 5), array(&rt, 9));
    let (b, (send, seen)) = (a.clone(), mpsc::channel());
    let go = push_function(&rt, &[&a], &[], move || {
        wait_to_read(&b).unwrap();
        send.send((held::inside(), value(&b))).unwrap();
    });
    copy(&nine, &a, 0).unwrap(); // waits for the function
    go.send(()).unwrap();
    assert_eq!(value(&a), 9);
    assert_eq!(seen.recv().unwrap(), (true, 5));
    assert!(!held::inside());
}

#[test]
fn operations_on_held_arrays_are_done_when_they_return() {
    let rt = runtime();
    let (source, target, copied) = (array(&rt, 3), array(&rt, 0), array(&rt, 0));
    let (s, t, c) = (source.clone(), target.clone(), copied.clone());
    let (send, seen) = mpsc::channel();
    let go = push_function(&rt, &[&source], &[&target], move || {
        copy(&s, &t, 0).unwrap(); // both held
        send.send(value(&t)).unwrap();
        copy(&t, &c, 0).unwrap(); // one that the engine orders
        write_from(&t, &8i32.to_ne_bytes(), 0).unwrap();
        send.send(value(&t)).unwrap();
    });
    let last = array(&rt, 0);
    copy(&target, &last, 0).unwrap();
    go.send(()).unwrap();
    assert_eq!(value(&last), 8);
    assert_eq!(value(&copied), 3);
    assert_eq!(seen.iter().collect::<Vec<_>>(), [3, 8]);
}

#[test]
fn constants_cannot_be_written() {
    let rt = runtime();
    let a = array(&rt, 1);
    let (b, (send, seen)) = (a.clone(), mpsc::channel());
    let go = push_function(&rt, &[&a], &[], move || {
        let error = write_from(&b, &[0; 4], 0).unwrap_err();
        send.send((error.kind(), error.message().to_owned()))
            .unwrap();
    });
    go.send(()).unwrap();
    let (kind, message) = seen.recv().unwrap();
    assert_eq!(kind, ErrorKind::Value);
    assert!(message.contains("mutable variables"), "{message}");
    assert_eq!(value(&a), 1);
}

#[test]
fn a_failure_of_what_a_function_uses_is_returned_to_it() {
    let rt = runtime();
    let (broken, target) = (array(&rt, 1), array(&rt, 0));
    let (b, t) = (broken.clone(), target.clone());
    let (send, seen) = mpsc::channel();
    let go = push_function(&rt, &[], &[&target], move || {
        send.send(copy(&b, &t, 0).unwrap_err().to_string()).unwrap();
    });
    let var = [broken.chunk().var()];
    let spec = OpSpec::new("breaks").writes(&var);
    rt.engine()
        .push_sync(&spec, |_| Err("torn".into()))
        .unwrap();
    go.send(()).unwrap();
    assert!(seen.recv().unwrap().contains("torn"));
    assert_eq!(value(&target), 0);
}

#[test]
fn arrays_of_another_runtime_are_not_held() {
    let (mine, other) = (runtime(), runtime());
    let (a, b) = (array(&mine, 1), array(&other, 2));
    let held = Held::new(&mine, &[], &[a.chunk().var()]);
    held.during(|| {
        assert!(held::may_read(&mine, a.chunk().var()));
        assert!(!held::may_read(&other, b.chunk().var()));
    });
}

#[test]
fn a_pause_finishes_the_work_and_keeps_failures() {
    let rt = runtime();
    let (a, one) = (array(&rt, 0), array(&rt, 1));
    copy(&one, &a, 0).unwrap();
    let var = [a.chunk().var()];
    let spec = OpSpec::new("breaks").writes(&var);
    rt.engine()
        .push_sync(&spec, |_| Err("torn".into()))
        .unwrap();
    assert!(rt.pause(std::time::Duration::from_secs(60)));
    assert!(rt.engine().is_at_rest());
    copy(&one, &array(&rt, 0), 0).unwrap();
    assert!(!rt.engine().is_at_rest());
    rt.resume();
    let error = rt.engine().wait_for_var(var[0]).unwrap_err();
    assert_eq!(error.source().unwrap().to_string(), "torn", "{error}");
    rt.engine().wait_for_all().unwrap();
}

#[test]
fn a_pause_gives_up_on_what_does_not_finish() {
    let rt = runtime();
    let (a, one) = (array(&rt, 0), array(&rt, 1));
    let var = [a.chunk().var()];
    let (go, gate) = mpsc::channel::<()>();
    let spec = OpSpec::new("waits").writes(&var);
    rt.engine()
        .push_sync(&spec, move |_| Ok(gate.recv()?))
        .unwrap();
    copy(&one, &a, 0).unwrap();
    assert!(!rt.pause(std::time::Duration::from_millis(20)));
    assert!(!rt.engine().is_at_rest());
    go.send(()).unwrap();
    assert_eq!(value(&a), 1);
    assert!(rt.pause(std::time::Duration::from_secs(60)));
    rt.resume();
}

#[test]
fn a_stopped_runtime_refuses_work_and_has_none() {
    let rt = runtime();
    let (a, one) = (array(&rt, 0), array(&rt, 1));
    copy(&one, &a, 0).unwrap();
    rt.stop(&mut Forever).unwrap();
    rt.stop(&mut Forever).unwrap();
    assert!(rt.is_stopped());
    assert_eq!(rt.engine().counters().in_flight, 0);
    let refused = copy(&one, &a, 0).unwrap_err();
    assert!(refused.message().contains("stopped"), "{refused:?}");
    assert!(rt.check_pushable().is_err() && rt.check_usable().is_ok());
    let held = Held::new(&rt, &[], &[]);
    assert!(held.during(|| rt.check_pushable()).is_ok());
    assert!(held.during(|| rt.stop(&mut Forever)).is_err());
    assert_eq!(value(&a), 1);
    rt.start(&mut Forever).unwrap();
    rt.start(&mut Forever).unwrap();
    copy(&a, &one, 0).unwrap();
    assert_eq!(value(&one), 1);
}

#[test]
fn a_stop_that_is_given_up_changes_nothing() {
    struct Never;
    impl ferromix_engine::WaitPolicy for Never {
        fn before_sleep(&mut self) -> Option<std::time::Duration> {
            None
        }
    }
    let rt = runtime();
    let (a, one) = (array(&rt, 0), array(&rt, 1));
    let var = [a.chunk().var()];
    let (go, gate) = mpsc::channel::<()>();
    let spec = OpSpec::new("waits").writes(&var);
    rt.engine()
        .push_sync(&spec, move |_| Ok(gate.recv()?))
        .unwrap();
    assert!(rt.stop(&mut Never).is_err());
    assert!(!rt.is_stopped());
    copy(&one, &a, 0).unwrap();
    go.send(()).unwrap();
    assert_eq!(value(&a), 1);
}
