//! The child of a fork that nobody prepared: whatever it does with the parent's engine ends quickly,
//! and says so where it can; the parent does not notice.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::busy::{TWO, hold, while_busy};
use crate::forks::{forked, in_child};
use ferromix_engine::{
    Data, Device, Engine, Kind, LaunchArgs, Name, OnComplete, OpSpec, Operator, OwnedVar, Program,
    PushError, Var, WaitError, WaitPolicy,
};

/// What the forking thread has of the engine. `Option`s are taken in the child only.
struct Mine {
    engine: Option<Engine>,
    /// An operation on it is never finished in the child.
    busy: Var,
    quiet: Var,
    program: Option<Program>,
    operator: Option<Operator>,
    data: Option<Data<u64>>,
    owned: Option<OwnedVar>,
    done: Option<OnComplete>,
}

impl Mine {
    fn engine(&self) -> &Engine {
        self.engine.as_ref().unwrap()
    }

    fn data(&self) -> &Data<u64> {
        self.data.as_ref().unwrap()
    }
}

const LONG: Duration = Duration::from_secs(30);
const SPEC: fn() -> OpSpec<'static> = || OpSpec::new("in the child");

/// For as long as it takes.
struct Calm;

impl WaitPolicy for Calm {
    fn before_sleep(&mut self) -> Option<Duration> {
        Some(LONG)
    }
}

fn is_forked<T>(result: Result<T, WaitError>) {
    assert!(matches!(result, Err(WaitError::Forked)));
}

fn is_refused(result: Result<(), PushError>) {
    assert_eq!(result, Err(PushError::Forked));
}

/// A use of the engine, by name.
type Use = (&'static str, fn(&mut Mine));

const PUSHES: &[Use] = &[
    ("push_sync", |my| {
        let vars = [my.quiet];
        let never = || -> Result<(), _> { unreachable!() };
        is_refused(
            my.engine()
                .push_sync(&SPEC().writes(&vars), move |_| never()),
        );
        is_refused(
            my.engine()
                .push_sync(&SPEC().inline(true), move |_| never()),
        );
        is_refused(my.engine().push_sync(&SPEC().bytes(1), move |_| never()));
        is_refused(
            my.engine()
                .push_sync(&SPEC().on(Device::gpu(7)), move |_| never()),
        );
    }),
    ("push_async", |my| {
        let vars = [my.busy];
        is_refused(
            my.engine()
                .push_async(&SPEC().reads(&vars), |_, _| unreachable!()),
        );
        is_refused(
            my.engine()
                .push_async(&SPEC().bytes(1), |_, _| unreachable!()),
        );
    }),
    ("push of an operator", |my| {
        let operator = my.operator.take().unwrap();
        is_refused(my.engine().push(&operator, Device::CPU, 0));
        my.engine().delete_operator(operator);
    }),
    ("launch", |my| {
        let program = my.program.take().unwrap();
        is_refused(my.engine().launch(&program));
        let args = LaunchArgs::new().argument(Arc::new(1));
        is_refused(my.engine().launch_with(&program, args));
        let other = my.engine().new_variable();
        is_refused(
            my.engine()
                .launch(&program.rebind(&[(my.quiet, other)]).unwrap()),
        );
    }),
    ("bulk", |my| {
        let bulk = my.engine().bulk(4);
        for _ in 0..10 {
            is_refused(my.engine().push_sync(&SPEC(), |_| unreachable!()));
        }
        drop(bulk);
    }),
    ("scope", |my| {
        let mut local = 1;
        my.engine().scope(|scope| {
            is_refused(scope.push_sync(&SPEC(), |_| {
                local += 1;
                Ok(())
            }));
        });
        assert_eq!(local, 1);
    }),
    ("delete_variable", |my| {
        is_refused(my.engine().delete_variable(my.busy, || unreachable!()));
        is_refused(my.engine().delete_variable(my.quiet, || unreachable!()));
        let gpu = Device::gpu(0);
        is_refused(
            my.engine()
                .delete_variable_on(my.busy, gpu, |_| unreachable!()),
        );
    }),
    ("owned variable", |my| {
        drop(my.owned.take());
        drop(my.engine().owned_variable());
    }),
];

const WAITS: &[Use] = &[
    ("wait_for_var", |my| {
        is_forked(my.engine().wait_for_var(my.busy));
        is_forked(my.engine().wait_for_var_with(my.busy, &mut Calm));
    }),
    ("wait_for_var_timeout", |my| {
        is_forked(my.engine().wait_for_var_timeout(my.busy, LONG));
        is_forked(my.engine().wait_for_var_timeout(my.busy, Duration::ZERO));
    }),
    ("wait for a quiet variable", |my| {
        let quiet = my.engine().is_quiet(my.quiet);
        let result = my.engine().wait_for_var(my.quiet);
        assert!(matches!(result, Ok(()) if quiet) || matches!(result, Err(WaitError::Forked)));
        assert_eq!(my.engine().version(my.quiet), Ok(1));
    }),
    ("wait_for_all", |my| {
        is_forked(my.engine().wait_for_all());
        is_forked(my.engine().wait_for_all_timeout(LONG));
        is_forked(my.engine().wait_for_all_timeout(Duration::ZERO));
        is_forked(my.engine().drain_failures());
    }),
    ("wait_below_limit", |my| {
        let _ = my.engine().is_over_limit();
        let _ = my.engine().wait_below_limit(&mut Calm);
    }),
    ("blocking", |my| assert_eq!(my.engine().blocking(|| 5), 5)),
    ("stop and start", |my| {
        is_forked(my.engine().stop());
        my.engine().start();
        is_refused(my.engine().push_sync(&SPEC(), |_| unreachable!()));
    }),
    ("shutdown", |my| {
        my.engine().shutdown(LONG).unwrap();
        my.engine().notify_shutdown();
        is_refused(my.engine().push_sync(&SPEC(), |_| unreachable!()));
    }),
    ("prepare_fork", |my| {
        is_forked(my.engine().prepare_fork(LONG));
        assert!(!my.engine().is_at_rest());
        my.engine().resume_in_child();
        my.engine().resume_in_parent();
        is_forked(my.engine().wait_for_all());
    }),
];

const OTHERS: &[Use] = &[
    ("counters", |my| {
        let counters = my.engine().counters();
        assert!(counters.completed <= counters.pushed);
    }),
    ("Debug", |my| {
        let text = format!("{:?} {:?} {:?}", my.engine(), my.data, my.done);
        assert!(text.contains("Engine"));
        my.engine().set_num_threads_per_worker(3);
        assert_eq!(my.engine().num_threads_per_worker(), 3);
        let _ = my.engine().num_workers();
    }),
    ("new_variable", |my| {
        // More than fit into what there is.
        let vars: Vec<Var> = (0..300).map(|_| my.engine().new_variable()).collect();
        assert_eq!(my.engine().version(vars[299]), Ok(0));
    }),
    ("starting a trace", |my| {
        my.engine().start_trace();
        my.engine().start_trace_of(100);
        my.engine().resume_trace();
        let _ = my.engine().is_tracing();
    }),
    ("ending a trace", |my| {
        my.engine().pause_trace();
        let _ = my.engine().trace();
        let _ = my.engine().stop_trace();
        let _ = my.engine().stop_trace();
    }),
    ("tracing", |my| {
        let (name, now) = (Name::new("traced"), Instant::now());
        for _ in 0..1000 {
            my.engine().trace_span(name, name, now);
            my.engine().trace_mark(name, name, Duration::ZERO);
            my.engine().trace_counter(name, name, 1.0);
        }
        let _ = my.engine().trace();
    }),
    ("data", |my| {
        is_forked(my.data().read());
        is_forked(my.data().write());
        is_forked(my.data.take().unwrap().into_inner());
        let new = my.engine().data(String::from("new"));
        is_forked(new.read());
        is_forked(new.into_inner());
    }),
    ("dropping data", |my| drop(my.data.take())),
    ("completing", |my| my.done.take().unwrap().complete(Ok(()))),
    ("completing with an error", |my| {
        my.done.take().unwrap().complete(Err("in the child".into()));
        is_forked(my.engine().wait_for_var(my.busy));
    }),
    ("dropping a promise", |my| drop(my.done.take())),
    ("clones", |my| {
        let clones: Vec<Engine> = (0..10).map(|_| my.engine().clone()).collect();
        drop(clones);
    }),
    ("dropping all that one has", |my| {
        my.done = None;
        my.program = None;
        my.operator = None;
        my.data = None;
        my.owned = None;
        // The parent's other threads have handles, too; nobody drops them here.
        my.engine = None;
    }),
    ("another thread", |my| {
        let engine = my.engine().clone();
        let done = my.done.take().unwrap();
        std::thread::spawn(move || {
            is_refused(engine.push_sync(&SPEC(), |_| unreachable!()));
            done.complete(Ok(()));
            is_forked(engine.wait_for_all());
        })
        .join()
        .unwrap();
    }),
];

fn try_all(engine: &Engine, uses: &[Use], traced: bool) {
    let (busy, quiet) = (engine.new_variable(), engine.new_variable());
    let spec = OpSpec::new("first");
    engine
        .push_sync(&spec.writes(&[quiet]), |_| Ok(()))
        .unwrap();
    engine.wait_for_var(quiet).unwrap();
    let (done, pusher) = hold(engine, busy);
    let spec = OpSpec::new("kept");
    let spec = spec.writes(std::slice::from_ref(&quiet));
    let mut mine = Mine {
        engine: Some(engine.clone()),
        busy,
        quiet,
        program: Some(Program::builder("kept").op(&spec, |_| Ok(())).build()),
        operator: Some(engine.new_operator(&spec, |_| Ok(()))),
        data: Some(engine.data(1)),
        owned: Some(engine.owned_variable()),
        done: Some(done),
    };
    if traced {
        engine.start_trace();
    }
    while_busy(engine, TWO, || {
        for (name, check) in uses {
            for _ in 0..3 {
                let code = forked(|| check(&mut mine));
                assert_eq!(
                    code, 0,
                    "{name} in the child (with {engine:?}, traced: {traced})"
                );
            }
        }
    });
    mine.done.take().unwrap().complete(Ok(()));
    pusher.join().unwrap();
    engine.wait_for_all().unwrap();
    assert_eq!(engine.version(quiet), Ok(1));
    assert_eq!(mine.data.unwrap().into_inner().unwrap(), 1);
    let counters = engine.counters();
    assert_eq!(
        (counters.in_flight, counters.pushed),
        (0, counters.completed)
    );
}

fn everywhere(name: &str, uses: &[Use]) {
    in_child(name, 25, || {
        for kind in [Kind::Threaded, Kind::Naive] {
            for traced in [false, true] {
                let engine = Engine::builder().kind(kind).workers(2).build();
                try_all(&engine, uses, traced);
            }
        }
    });
}

#[test]
fn pushes_in_the_child_are_refused() {
    everywhere("pushes_in_the_child_are_refused", PUSHES);
}

#[test]
fn waits_in_the_child_end_at_once() {
    everywhere("waits_in_the_child_end_at_once", WAITS);
}

#[test]
fn everything_else_in_the_child_ends_too() {
    everywhere("everything_else_in_the_child_ends_too", OTHERS);
}
