//! What a launch may bring along and what steps may be: other variables, an argument, a tag; local
//! variables, small steps, steps that others finish.

use std::error::Error as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use ferromix_engine::{
    Engine, Kind, LaunchArgs, LocalVar, OnComplete, OpSpec, Program, PushError, RebindError,
    RunContext, Var, WaitError,
};
use proptest::prelude::*;

/// Variables of the programs: external ones, then local ones.
const SLOTS: usize = 6;
const EXTERNAL: usize = 4;
/// Variables of the engine that the external ones may stand for.
const VARS: usize = 7;

#[derive(Clone, Copy, Debug)]
enum How {
    Sync,
    Small,
    Async,
    /// Finished by another thread.
    Thread,
}

#[derive(Clone, Debug)]
struct Op {
    reads: Vec<usize>,
    writes: Vec<usize>,
    how: How,
}

fn op() -> impl Strategy<Value = Op> {
    let vars = || prop::collection::vec(0..SLOTS, 0..4);
    let how = prop_oneof![
        Just(How::Sync),
        Just(How::Small),
        Just(How::Async),
        Just(How::Thread)
    ];
    (vars(), vars(), how).prop_map(|(reads, writes, how)| Op { reads, writes, how })
}

/// Which variable each external one of the program stands for.
fn binding() -> impl Strategy<Value = Vec<usize>> {
    Just((0..VARS).collect::<Vec<_>>())
        .prop_shuffle()
        .prop_map(|mut all| {
            all.truncate(EXTERNAL);
            all
        })
}

fn fold(seen: &[u64], old: u64, tag: u64) -> u64 {
    let mut value = old.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ tag;
    for seen in seen {
        value = (value.rotate_left(7) ^ seen).wrapping_mul(31);
    }
    value
}

/// The values behind a launch's variables.
type Cells = Vec<Arc<AtomicU64>>;

/// Runs an operation.
fn run(op: &Op, number: u64, tag: u64, cells: &Cells) {
    let seen: Vec<u64> = op.reads.iter().map(|&k| cells[k].load(Relaxed)).collect();
    let mut once = op.writes.clone();
    once.sort_unstable();
    once.dedup();
    for k in once {
        let old = cells[k].load(Relaxed);
        cells[k].store(fold(&seen, old, tag ^ number), Relaxed);
    }
}

fn compile(ops: &[Op], vars: &[Var]) -> Program {
    let mut program = Program::builder("random");
    for (number, op) in ops.iter().cloned().enumerate() {
        let pick = |list: &[usize]| -> Vec<Var> {
            list.iter().filter_map(|&k| vars.get(k)).copied().collect()
        };
        let (reads, writes) = (pick(&op.reads), pick(&op.writes));
        let local = |list: &[usize]| -> Vec<LocalVar> {
            let beyond = list.iter().filter_map(|&k| k.checked_sub(vars.len()));
            beyond.map(|number| LocalVar::new(number as u32)).collect()
        };
        let locals = (local(&op.reads), local(&op.writes));
        let spec = OpSpec::new("op").reads(&reads).writes(&writes);
        let spec = spec.inline(matches!(op.how, How::Small));
        let how = op.how;
        let step = move |context: &RunContext| {
            let cells = context.argument::<Cells>().unwrap();
            run(&op, number as u64, context.tag(), cells);
        };
        program = match how {
            How::Sync | How::Small => program.op(&spec, move |context| {
                step(context);
                Ok(())
            }),
            How::Async => program.async_op(&spec, move |context, done| {
                step(context);
                done.complete(Ok(()));
            }),
            How::Thread => program.async_op(&spec, move |context, done| {
                step(context);
                thread::spawn(move || done.complete(Ok(())));
            }),
        };
        program = program.locals(&locals.0, &locals.1);
    }
    program.build()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Launches of one program on changing variables, against a serial replay.
    #[test]
    fn rebound_programs_agree_with_a_serial_replay(
        ops in prop::collection::vec(op(), 1..25),
        launches in prop::collection::vec(binding(), 1..12),
        kind in prop_oneof![Just(Kind::Threaded), Just(Kind::Naive)],
    ) {
        let engine = Engine::builder().kind(kind).workers(3).build();
        let formal: Vec<Var> = (0..EXTERNAL)
            .map(|_| engine.new_variable())
            .collect();
        let program = compile(&ops, &formal);
        let vars: Vec<Var> = (0..VARS).map(|_| engine.new_variable()).collect();
        let cells: Cells = (0..VARS).map(|_| Arc::default()).collect();
        let expected: Cells = (0..VARS).map(|_| Arc::default()).collect();
        for (launch, binding) in launches.iter().enumerate() {
            let bind = |cells: &Cells| -> Cells {
                let external = binding.iter().map(|&k| cells[k].clone());
                external.chain(std::iter::repeat_with(Arc::default)).take(SLOTS).collect()
            };
            let used = |k: &usize| ops.iter().any(|op| op.reads.contains(k) || op.writes.contains(k));
            let changes: Vec<(Var, Var)> =
                (0..EXTERNAL).filter(used).map(|k| (formal[k], vars[binding[k]])).collect();
            let tag = launch as u64 + 1000;
            let args = LaunchArgs::new().tag(tag).argument(Arc::new(bind(&cells)));
            engine.launch_with(&program.rebind(&changes).unwrap(), args).unwrap();
            let serial = bind(&expected);
            ops.iter().enumerate().for_each(|(number, op)| run(op, number as u64, tag, &serial));
        }
        engine.wait_for_all().unwrap();
        let values = |cells: &Cells| cells.iter().map(|c| c.load(Relaxed)).collect::<Vec<_>>();
        prop_assert_eq!(values(&cells), values(&expected));
        prop_assert_eq!(engine.counters().in_flight, 0);
    }
}

#[test]
fn rebinding_says_what_is_wrong() {
    let engine = Engine::builder().workers(1).build();
    let [a, b, c] = [(); 3].map(|()| engine.new_variable());
    let program = Program::builder("two")
        .op(&OpSpec::new("op").reads(&[a]).writes(&[b]), |_| Ok(()))
        .locals(&[], &[LocalVar::new(0)])
        .build();
    let refused = |changes: &[(Var, Var)]| program.rebind(changes).unwrap_err();
    assert_eq!(refused(&[(c, a)]), RebindError::NotUsed(c));
    assert_eq!(refused(&[(a, b)]), RebindError::Twice(b));
    let swapped = program.rebind(&[(a, b), (b, a)]).unwrap();
    engine.launch(&swapped).unwrap();
    engine.wait_for_all().unwrap();
    assert_eq!((engine.version(a), engine.version(b)), (Ok(1), Ok(0)));
    let on_c = program.rebind(&[(a, c)]).unwrap();
    engine.delete_variable(c, || ()).unwrap();
    assert_eq!(engine.launch(&on_c), Err(PushError::StaleVariable(c)));
}

/// Which thread ran each of the steps of a program, which is a small one or not.
fn runners(engine: &Engine, small: bool, count: usize) -> Vec<thread::ThreadId> {
    let var = engine.new_variable();
    let list = Arc::new(Mutex::new(Vec::new()));
    let mut program = Program::builder("who");
    for k in 0..count {
        let list = list.clone();
        let spec = OpSpec::new("step").writes(std::slice::from_ref(&var));
        program = program.op(&spec.inline(k > 0), move |_| {
            list.lock().unwrap().push(thread::current().id());
            Ok(())
        });
    }
    engine.launch(&program.inline(small).build()).unwrap();
    engine.wait_for_var(var).unwrap();
    let list = list.lock().unwrap();
    assert_eq!(list.len(), count);
    list.clone()
}

#[test]
fn a_small_program_runs_on_the_launching_thread() {
    let engine = Engine::builder().workers(2).build();
    let me = thread::current().id();
    assert!(runners(&engine, true, 256).iter().all(|id| *id == me));
    let ran = runners(&engine, false, 3);
    assert!(ran.iter().all(|id| *id == ran[0] && *id != me));
}

/// More small steps get ready at once than a thread takes on its hands.
#[test]
fn many_small_steps_behind_one() {
    let engine = Engine::builder().workers(2).build();
    let (a, count) = (engine.new_variable(), Arc::new(AtomicUsize::new(0)));
    let mut program = Program::builder("fan").op(&OpSpec::new("first").writes(&[a]), |_| Ok(()));
    for _ in 0..1000 {
        let count = count.clone();
        let spec = OpSpec::new("reader").reads(std::slice::from_ref(&a));
        program = program.op(&spec.inline(true), move |_| {
            count.fetch_add(1, Relaxed);
            Ok(())
        });
    }
    let program = program.build();
    (0..20).for_each(|_| engine.launch(&program).unwrap());
    engine.wait_for_all().unwrap();
    assert_eq!(count.load(Relaxed), 20_000);
}

/// An asynchronous step, then one that records what it saw; and how both can fail.
struct Pair {
    engine: Engine,
    program: Program,
    out: Var,
    seen: Arc<AtomicUsize>,
    handles: mpsc::Receiver<OnComplete>,
}

fn pair(between: LocalVar) -> Pair {
    let engine = Engine::builder().workers(1).build();
    let out = engine.new_variable();
    let seen = Arc::new(AtomicUsize::new(0));
    let (send, handles) = mpsc::channel();
    let count = seen.clone();
    let first = OpSpec::new("first").tag(1);
    let second = OpSpec::new("second").tag(2);
    let program = Program::builder("pair")
        .async_op(&first, move |_, done| send.send(done).unwrap())
        .locals(&[], &[between])
        .op(&second.writes(std::slice::from_ref(&out)), move |_| {
            count.fetch_add(1, Relaxed);
            Ok(())
        })
        .locals(&[between], &[])
        .build();
    Pair {
        engine,
        program,
        out,
        seen,
        handles,
    }
}

#[test]
fn an_asynchronous_step_holds_no_thread_and_what_follows_waits() {
    let pair = pair(LocalVar::new(0));
    pair.engine.launch(&pair.program).unwrap();
    pair.engine.launch(&pair.program).unwrap();
    // Both are in flight, on one worker.
    let (first, second) = (pair.handles.recv().unwrap(), pair.handles.recv().unwrap());
    assert_eq!(pair.seen.load(Relaxed), 0);
    assert!(!pair.engine.is_quiet(pair.out));
    second.complete(Ok(()));
    first.complete(Ok(()));
    pair.engine.wait_for_var(pair.out).unwrap();
    assert_eq!(pair.seen.load(Relaxed), 2);
    assert_eq!(pair.engine.version(pair.out), Ok(2));
}

#[test]
fn failures_go_through_local_variables_and_end_with_the_launch() {
    let pair = pair(LocalVar::new(7));
    for drop_it in [false, true] {
        pair.engine
            .launch_with(&pair.program, LaunchArgs::new().tag(40))
            .unwrap();
        let handle = pair.handles.recv().unwrap();
        if drop_it {
            drop(handle);
        } else {
            handle.complete(Err("bad".into()));
        }
        match pair.engine.wait_for_var(pair.out) {
            Err(WaitError::Failed(failure)) => {
                let text = if drop_it { "OnComplete" } else { "bad" };
                assert!(failure.error().to_string().contains(text), "{failure:?}");
                assert_eq!((failure.name.as_str(), failure.tag), ("first", 40));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(pair.seen.load(Relaxed), 0);
    pair.engine.launch(&pair.program).unwrap();
    pair.handles.recv().unwrap().complete(Ok(()));
    pair.engine.wait_for_all().unwrap();
    assert_eq!(pair.seen.load(Relaxed), 1);
}

#[test]
fn an_asynchronous_step_that_panics_fails_once() {
    let engine = Engine::builder().workers(1).build();
    let var = engine.new_variable();
    let program = Program::builder("panics")
        .async_op(&OpSpec::new("step").writes(&[var]), |_, _done| {
            std::panic::resume_unwind(Box::new("oh"))
        })
        .build();
    engine.launch(&program).unwrap();
    let error = engine.wait_for_var(var).unwrap_err();
    assert_eq!(error.to_string(), "operation step failed");
    assert_eq!(error.source().unwrap().to_string(), "panicked: oh");
    engine.wait_for_all().unwrap();
}

/// A step that panics with another step's `OnComplete` in its hands fails both.
#[test]
fn a_panic_with_another_steps_completion() {
    let engine = Engine::builder().workers(1).build();
    let (a, b) = (engine.new_variable(), engine.new_variable());
    let (send, receive) = mpsc::channel();
    let receive = Mutex::new(receive);
    let program = Program::builder("theft")
        .async_op(&OpSpec::new("first").writes(&[a]), move |_, done| {
            send.send(done).unwrap()
        })
        .op(&OpSpec::new("thief").writes(&[b]), move |_| {
            let _done: OnComplete = receive.lock().unwrap().recv().unwrap();
            std::panic::resume_unwind(Box::new("oh"))
        })
        .build();
    engine.launch(&program).unwrap();
    let text = |var| {
        let error = engine.wait_for_var(var).unwrap_err();
        error.source().unwrap().to_string()
    };
    assert!(text(a).contains("OnComplete"));
    assert_eq!(text(b), "panicked: oh");
}

/// Ready launches run by priority.
#[test]
fn launches_have_priorities() {
    let engine = Engine::builder().workers(1).build();
    let (send, receive) = mpsc::channel::<()>();
    let receive = Mutex::new(receive);
    let order = Arc::new(Mutex::new(Vec::new()));
    let (ready, started) = mpsc::channel();
    engine
        .push_sync(&OpSpec::new("hold the worker"), move |_| {
            ready.send(()).unwrap();
            receive.lock().unwrap().recv()?;
            Ok(())
        })
        .unwrap();
    started.recv().unwrap();
    for priority in [-1, 0, 1] {
        let order = order.clone();
        let program = Program::builder("one")
            .priority(priority)
            .op(&OpSpec::new("step"), move |context| {
                order.lock().unwrap().push(context.priority());
                Ok(())
            })
            .build();
        engine.launch(&program).unwrap();
    }
    send.send(()).unwrap();
    engine.wait_for_all().unwrap();
    assert_eq!(*order.lock().unwrap(), [1, 0, -1]);
}

#[test]
fn the_first_step_that_failed_is_reported_whatever_finished_first() {
    let engine = Engine::builder().workers(2).build();
    let (send, receive) = mpsc::channel::<OnComplete>();
    let program = Program::builder("fails twice")
        .async_op(&OpSpec::new("first").tag(1), move |_, done| {
            send.send(done).unwrap();
        })
        .op(&OpSpec::new("second").tag(2), |_| Err("early".into()))
        .build();
    for _ in 0..20 {
        engine.launch(&program).unwrap();
        let first = receive.recv().unwrap();
        thread::sleep(std::time::Duration::from_millis(1)); // The second fails meanwhile.
        first.complete(Err("late".into()));
        match engine.wait_for_all() {
            Err(WaitError::Failed(failure)) => assert_eq!(failure.tag, 1),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn budgets_of_threads_reach_steps_and_the_smaller_counts() {
    let engine = Engine::builder().workers(2).build();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut builder = Program::builder("budgets");
    for (k, threads) in [0, 2, 7].into_iter().enumerate() {
        let (seen, spec) = (seen.clone(), OpSpec::new("ask").threads(threads));
        builder = builder.op(&spec, move |context| {
            let threads = context.threads().map(std::num::NonZero::get);
            seen.lock().unwrap().push((k, threads));
            Ok(())
        });
    }
    let program = builder.build();
    let budgets = |args: LaunchArgs| {
        engine.launch_with(&program, args).unwrap();
        engine.wait_for_all().unwrap();
        let mut seen = std::mem::take(&mut *seen.lock().unwrap());
        seen.sort_unstable();
        seen.into_iter()
            .map(|(_, threads)| threads)
            .collect::<Vec<_>>()
    };
    assert_eq!(budgets(LaunchArgs::new()), [None, Some(2), Some(7)]);
    let all = [Some(3), Some(2), Some(3)];
    assert_eq!(budgets(LaunchArgs::new().threads(3)), all);

    let asks = engine.new_operator(&OpSpec::new("ask").threads(5), |context| {
        assert_eq!(context.threads().map(std::num::NonZero::get), Some(5));
        Ok(())
    });
    engine.push(&asks, ferromix_engine::Device::CPU, 0).unwrap();
    engine.wait_for_all().unwrap();
}
