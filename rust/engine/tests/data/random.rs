//! Random programs on `Data` against a serial replay.

use crate::engines::engines;
use ferromix_engine::{Data, Engine, OpError, OpSpec, Program, RunContext, WaitError};
use proptest::prelude::*;

const DATA: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Sync,
    Inline,
    Async,
    Thread,
    Step,
    Fails,
}

#[derive(Clone, Debug)]
enum Step {
    /// Folds what it reads into what it writes.
    Run(Vec<usize>, Vec<usize>, How),
    Read(usize),
    /// Multiplies by three.
    Write(usize),
    /// Makes new data of the value.
    Take(usize),
    /// Begins or ends a bulk.
    Bulk,
}

fn step() -> impl Strategy<Value = Step> {
    let some = || prop::collection::vec(0..DATA, 0..4);
    let how = prop_oneof![
        4 => Just(How::Sync),
        2 => Just(How::Inline),
        2 => Just(How::Async),
        1 => Just(How::Thread),
        2 => Just(How::Step),
        1 => Just(How::Fails),
    ];
    prop_oneof![
        12 => (some(), some(), how).prop_map(|(reads, writes, how)| Step::Run(reads, writes, how)),
        2 => (0..DATA).prop_map(Step::Read),
        2 => (0..DATA).prop_map(Step::Write),
        1 => (0..DATA).prop_map(Step::Take),
        1 => Just(Step::Bulk),
    ]
}

fn fold(id: u64, read: &[u64], old: u64) -> u64 {
    let all = read
        .iter()
        .fold(id, |sum, value| sum.rotate_left(9) ^ value);
    old.wrapping_mul(31).wrapping_add(all)
}

/// The values in the end, and for each look what it found: `None` for a failure.
#[derive(Debug, PartialEq)]
struct Outcome {
    values: Vec<u64>,
    looks: Vec<Option<u64>>,
}

/// What must come out. A failed operation leaves its failure, by number, on all that it writes; who
/// uses one that no look has returned is skipped.
fn replay(program: &[Step]) -> Outcome {
    let (mut values, mut looks) = (vec![1; DATA], Vec::new());
    let (mut held, mut returned) = ([None::<usize>; DATA], Vec::<bool>::new());
    for (id, step) in program.iter().enumerate() {
        match step {
            Step::Run(reads, writes, how) => {
                let mut uses = writes.iter().chain(reads).filter_map(|k| held[*k]);
                let mut failure = uses.find(|f| !returned[*f]);
                if failure.is_none() && *how == How::Fails {
                    failure = Some(returned.len());
                    returned.push(false);
                }
                let read: Vec<u64> = reads.iter().map(|k| values[*k]).collect();
                let mut once = writes.clone();
                once.sort_unstable();
                once.dedup();
                for k in once {
                    held[k] = failure;
                    if failure.is_none() {
                        values[k] = fold(id as u64, &read, values[k]);
                    }
                }
            }
            Step::Read(k) | Step::Write(k) | Step::Take(k) => {
                let failure = held[*k].filter(|f| !returned[*f]);
                if let Some(f) = failure {
                    returned[f] = true;
                } else {
                    if matches!(step, Step::Write(_)) {
                        values[*k] = values[*k].wrapping_mul(3);
                    }
                    // Whatever changes it afterwards starts without a failure.
                    held[*k] = held[*k].filter(|_| matches!(step, Step::Read(_)));
                }
                looks.push(failure.is_none().then_some(values[*k]));
            }
            Step::Bulk => (),
        }
    }
    Outcome { values, looks }
}

/// The operation's function.
fn body(
    data: &[Data<u64>],
    id: u64,
    reads: &[usize],
    writes: &[usize],
) -> impl Fn(&RunContext) -> Result<(), OpError> + Send + Sync + use<> {
    let pick = |which: &[usize]| which.iter().map(|k| data[*k].clone()).collect::<Vec<_>>();
    let mut once = writes.to_vec();
    once.sort_unstable();
    once.dedup();
    let (from, to) = (pick(reads), pick(&once));
    move |context| {
        let mut read = Vec::new();
        for data in &from {
            read.push(*context.read(data)?);
        }
        for data in &to {
            let mut value = context.write(data)?;
            *value = fold(id, &read, *value);
        }
        Ok(())
    }
}

fn push(engine: &Engine, data: &[Data<u64>], id: u64, step: (&[usize], &[usize], How)) {
    let (reads, writes, how) = step;
    let vars = |which: &[usize]| which.iter().map(|k| data[*k].var()).collect::<Vec<_>>();
    let (const_vars, mutate_vars) = (vars(reads), vars(writes));
    let spec = OpSpec::new("step").reads(&const_vars).writes(&mutate_vars);
    let spec = spec.inline(how == How::Inline);
    let run = body(data, id, reads, writes);
    let pushed = match how {
        How::Sync | How::Inline => engine.push_sync(&spec, run),
        How::Fails => engine.push_sync(&spec, |_| Err("fails".into())),
        How::Async => engine.push_async(&spec, move |context, done| done.complete(run(context))),
        How::Thread => engine.push_async(&spec, move |context, done| {
            let result = run(context);
            std::thread::spawn(move || done.complete(result));
        }),
        How::Step => {
            let program = Program::builder("program").op(&spec, run);
            engine.launch(&program.build())
        }
    };
    pushed.unwrap();
}

/// Nothing else than a failure may keep a look from its value.
fn look<T>(result: Result<T, WaitError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(WaitError::Failed(_)) => None,
        Err(other) => panic!("{other}"),
    }
}

fn run(engine: &Engine, program: &[Step]) -> Outcome {
    let mut data: Vec<Data<u64>> = (0..DATA).map(|_| engine.data(1)).collect();
    let (mut looks, mut bulk) = (Vec::new(), None);
    for (id, step) in program.iter().enumerate() {
        match step {
            Step::Run(reads, writes, how) => {
                push(engine, &data, id as u64, (reads, writes, *how));
            }
            Step::Read(k) => looks.push(look(data[*k].read().map(|value| *value))),
            Step::Write(k) => looks.push(look(data[*k].write().map(|mut value| {
                *value = value.wrapping_mul(3);
                *value
            }))),
            Step::Take(k) => {
                let taken = look(data[*k].write().map(|value| *value));
                looks.push(taken);
                if let Some(value) = taken {
                    data[*k] = engine.data(value);
                }
            }
            Step::Bulk => bulk = bulk.is_none().then(|| engine.bulk(7)),
        }
    }
    drop(bulk);
    let _ = engine.wait_for_all();
    let values = data.iter().map(|data| *data.read().unwrap()).collect();
    Outcome { values, looks }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.min(96), failure_persistence: None, ..Default::default() })]

    #[test]
    fn data_are_as_after_a_serial_replay(program in prop::collection::vec(step(), 1..80)) {
        // An operation that reads what it writes would borrow it twice.
        let program: Vec<Step> = program
            .into_iter()
            .map(|step| match step {
                Step::Run(mut reads, writes, how) => {
                    reads.retain(|k| !writes.contains(k));
                    Step::Run(reads, writes, how)
                }
                other => other,
            })
            .collect();
        let expected = replay(&program);
        for engine in engines() {
            prop_assert_eq!(&run(&engine, &program), &expected);
        }
    }
}
