//! `Data`: operations get at the values whose variables they have listed, and only at these; looks
//! from outside wait, fail and hold others back as the contract says.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread::sleep;
use std::time::Duration;

use crate::engines::{engines, threaded};
use crate::watchdog::in_child;
use ferromix_engine::{
    AccessError, Data, Device, Engine, FnProperty, OpSpec, Program, RunContext, WaitError,
};

const SHORT: Duration = Duration::from_millis(10);

fn everywhere(name: &str, test: impl Fn(&Engine)) {
    in_child(name, 8, || {
        for engine in engines() {
            test(&engine);
            engine.wait_for_all().unwrap();
            assert_eq!(engine.counters().in_flight, 0);
        }
    });
}

/// What an operation may do with data that it reads, that it changes, and that it does not list.
#[derive(Clone)]
struct Three {
    read: Data<u64>,
    changed: Data<Vec<u64>>,
    other: Data<u64>,
}

impl Three {
    fn new(engine: &Engine) -> Self {
        Self {
            read: engine.data(7),
            changed: engine.data(Vec::new()),
            other: engine.data(0),
        }
    }

    /// Tries everything; appends to what is changed.
    fn try_all(&self, context: &RunContext) {
        let (read, changed, other) = (self.read.var(), self.changed.var(), self.other.var());
        let undeclared = context.read(&self.other).map(|value| *value);
        assert_eq!(undeclared, Err(AccessError::Undeclared(other)));
        let undeclared = context.write(&self.other).map(|value| *value);
        assert_eq!(undeclared, Err(AccessError::Undeclared(other)));
        let read_only = context.write(&self.read).map(|value| *value);
        assert_eq!(read_only, Err(AccessError::ReadOnly(read)));
        let (first, second) = (context.read(&self.read), context.read(&self.read));
        assert_eq!((*first.unwrap(), *second.unwrap()), (7, 7));
        let looked = context.read(&self.changed).unwrap();
        let in_use = AccessError::InUse(changed);
        assert_eq!(context.write(&self.changed).map(drop), Err(in_use));
        drop(looked);
        let mut vec = context.write(&self.changed).unwrap();
        vec.push(7);
        assert_eq!(context.write(&self.changed).map(drop), Err(in_use));
        assert_eq!(context.read(&self.changed).map(drop), Err(in_use));
        drop(vec);
        context.write(&self.changed).unwrap().push(8);
    }

    fn check(&self, times: usize) {
        assert_eq!(self.changed.read().unwrap().len(), 2 * times);
        assert_eq!(*self.read.read().unwrap(), 7);
        assert_eq!(*self.other.read().unwrap(), 0);
    }
}

#[test]
fn an_operation_gets_at_what_it_lists_however_it_is_pushed() {
    let name = "an_operation_gets_at_what_it_lists_however_it_is_pushed";
    everywhere(name, |engine| {
        let three = Three::new(engine);
        let (reads, writes) = ([three.read.var()], [three.changed.var()]);
        let plain = OpSpec::new("tries").reads(&reads).writes(&writes);
        let both = [three.changed.var(), three.read.var(), three.changed.var()];
        let specs = [
            plain,
            plain.inline(true),
            plain.bytes(100),
            plain.reads(&both),
            plain.on(Device::gpu(0)),
            plain.property(FnProperty::CpuPrioritized),
        ];
        for spec in &specs {
            let mine = three.clone();
            let push = engine.push_sync(spec, move |context| {
                mine.try_all(context);
                Ok(())
            });
            push.unwrap();
            let mine = three.clone();
            let push = engine.push_async(spec, move |context, done| {
                mine.try_all(context);
                done.complete(Ok(()));
            });
            push.unwrap();
        }
        three.check(12);
        let bulk = engine.bulk(5);
        for k in 0..12 {
            let mine = three.clone();
            let push = engine.push_sync(&plain.inline(k % 2 == 0), move |context| {
                mine.try_all(context);
                Ok(())
            });
            push.unwrap();
            // Its neighbour in the bulk.
            let mine = three.clone();
            let push = engine.push_sync(&OpSpec::new("nothing"), move |context| {
                assert!(context.read(&mine.changed).is_err());
                Ok(())
            });
            push.unwrap();
        }
        drop(bulk);
        three.check(24);
        let operator = three.clone();
        let operator = engine.new_operator(&plain, move |context| {
            operator.try_all(context);
            Ok(())
        });
        engine.push(&operator, Device::CPU, 0).unwrap();
        engine.delete_operator(operator);
        three.check(25);
    });
}

#[test]
fn a_reference_that_is_refused_lifts_no_other() {
    everywhere("a_reference_that_is_refused_lifts_no_other", |engine| {
        let data = engine.data(1);
        let (mine, (send, results)) = (data.clone(), channel());
        let vars = [data.var()];
        let push = engine.push_sync(&OpSpec::new("borrows").writes(&vars), move |context| {
            let is_refused = |send: &std::sync::mpsc::Sender<bool>, write: bool| {
                let refused = if write {
                    context.write(&mine).is_err()
                } else {
                    context.read(&mine).is_err()
                };
                send.send(refused).unwrap();
            };
            let reads = context.read(&mine)?;
            (0..3).for_each(|_| is_refused(&send, true));
            drop(reads);
            let writes = context.write(&mine)?;
            (0..3).for_each(|k| is_refused(&send, k % 2 == 0));
            drop(writes);
            drop(context.write(&mine)?);
            Ok(())
        });
        push.unwrap();
        let end = engine.wait_for_all();
        assert_eq!(results.iter().collect::<Vec<_>>(), [true; 6]);
        end.unwrap();
    });
}

#[test]
fn a_step_gets_at_what_it_lists_and_not_at_what_others_do() {
    let name = "a_step_gets_at_what_it_lists_and_not_at_what_others_do";
    everywhere(name, |engine| {
        let three = Three::new(engine);
        let (reads, writes) = ([three.read.var()], [three.changed.var()]);
        let other = [three.other.var()];
        let spec = OpSpec::new("tries").reads(&reads).writes(&writes);
        let (a, b, c) = (three.clone(), three.clone(), three.clone());
        let program = Program::builder("program")
            .op(&spec, move |context| {
                a.try_all(context);
                Ok(())
            })
            .op(&OpSpec::new("reads").reads(&other), move |context| {
                assert!(matches!(
                    context.read(&b.read),
                    Err(AccessError::Undeclared(_))
                ));
                let result = context.write(&b.changed).map(drop);
                assert_eq!(result, Err(AccessError::Undeclared(b.changed.var())));
                assert_eq!(*context.read(&b.other)?, 0);
                let result = context.write(&b.other).map(drop);
                assert_eq!(result, Err(AccessError::ReadOnly(b.other.var())));
                Ok(())
            })
            .async_op(&spec.inline(true), move |context, done| {
                c.try_all(context);
                done.complete(Ok(()));
            })
            .build();
        for _ in 0..5 {
            engine.launch(&program).unwrap();
        }
        three.check(10);
        engine.wait_for_all().unwrap();
    });
}

#[test]
fn an_operation_that_is_completed_gets_at_nothing_any_more() {
    let name = "an_operation_that_is_completed_gets_at_nothing_any_more";
    everywhere(name, |engine| {
        let data = engine.data(1);
        let (mine, refused) = (data.clone(), Arc::new(AtomicBool::new(false)));
        let result = refused.clone();
        let vars = [data.var()];
        let spec = OpSpec::new("completes").writes(&vars);
        let push = engine.push_async(&spec, move |context, done| {
            done.complete(Ok(()));
            let late = context.write(&mine).map(drop);
            result.store(late == Err(AccessError::Undeclared(mine.var())), Relaxed);
        });
        push.unwrap();
        engine.wait_for_all().unwrap();
        // The function may still be about to end.
        while Arc::strong_count(&refused) > 1 {
            std::thread::yield_now();
        }
        assert!(refused.load(Relaxed));
    });
}

#[test]
fn a_step_that_is_completed_gets_at_nothing_any_more() {
    let name = "a_step_that_is_completed_gets_at_nothing_any_more";
    everywhere(name, |engine| {
        let data = engine.data(1);
        let (mine, (send, results)) = (data.clone(), channel());
        let vars = [data.var()];
        let spec = OpSpec::new("completes").writes(&vars);
        let program = Program::builder("program")
            .async_op(&spec, move |context, done| {
                done.complete(Ok(()));
                let late = context.write(&mine).map(drop);
                send.send(late).unwrap();
            })
            .op(&OpSpec::new("next").reads(&vars), |_| Ok(()))
            .build();
        engine.launch(&program).unwrap();
        let late = results.recv().unwrap();
        assert_eq!(late, Err(AccessError::Undeclared(data.var())));
    });
}

#[test]
fn the_data_of_another_engine_is_not_listed() {
    let name = "the_data_of_another_engine_is_not_listed";
    everywhere(name, |engine| {
        let other = threaded(1);
        // Of the same place in either engine.
        let (here, there) = (engine.data(1), other.data(2));
        let (mine, theirs) = (here.clone(), there.clone());
        let push = engine.push_sync(&OpSpec::new("two").writes(&[here.var()]), move |context| {
            *context.write(&mine)? += 1;
            let result = context.write(&theirs).map(drop);
            assert_eq!(result, Err(AccessError::Undeclared(theirs.var())));
            // From outside of that engine's operations, it may be looked at.
            *theirs.write()? += *context.read(&mine)?;
            Ok(())
        });
        push.unwrap();
        assert!(
            engine
                .push_sync(&OpSpec::new("x").reads(&[there.var()]), |_| Ok(()))
                .is_err()
        );
        assert_eq!((*here.read().unwrap(), *there.read().unwrap()), (2, 4));
        drop(other);
        assert_eq!(*there.read().unwrap(), 4);
    });
}

#[test]
fn looks_from_outside_wait_for_what_was_pushed_before() {
    let name = "looks_from_outside_wait_for_what_was_pushed_before";
    everywhere(name, |engine| {
        let data = engine.data(Vec::new());
        for k in 0..20 {
            let (mine, vars) = (data.clone(), [data.var()]);
            let spec = OpSpec::new("append").inline(k % 3 == 0);
            let push = engine.push_sync(&spec.writes(&vars), move |context| {
                if k % 5 == 0 {
                    sleep(SHORT / 10);
                }
                context.write(&mine)?.push(k);
                Ok(())
            });
            push.unwrap();
            match k {
                5 => assert_eq!(data.read().unwrap().len(), 6),
                7 => data.write().unwrap().clear(),
                _ => (),
            }
        }
        engine.wait_for_var(data.var()).unwrap();
        assert_eq!(data.into_inner().unwrap(), (8..20).collect::<Vec<_>>());
    });
}

#[test]
fn a_failure_is_returned_once_and_the_value_is_there() {
    let name = "a_failure_is_returned_once_and_the_value_is_there";
    everywhere(name, |engine| {
        for look in 0..3 {
            let data = engine.data(5);
            let vars = [data.var()];
            let push = engine.push_sync(&OpSpec::new("fails").writes(&vars), |_| Err("no".into()));
            push.unwrap();
            let failed = match look {
                0 => data.read().map(drop),
                1 => data.write().map(drop),
                _ => data.clone().into_inner().map(drop),
            };
            assert!(matches!(failed, Err(WaitError::Failed(_))), "{failed:?}");
            assert_eq!(*data.read().unwrap(), 5);
            assert_eq!(*data.write().unwrap(), 5);
            assert_eq!(data.into_inner().unwrap(), 5);
        }
    });
}
