//! Where arrays live, temporary space, and what happens when memory runs out.
#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

use ferromix_base::{Context, DType, DeviceType, ErrorKind};
use ferromix_engine::{Engine, Kind, Name, OnComplete, OpSpec};
use ferromix_kernels::{Attrs, Desc, Req, Value};
use ferromix_runtime::{Array, Binding, Prepared, Runtime, copy, read_into, write_from};
use ferromix_storage::{Config, HostBackend, Pool};
use std::error::Error;
use std::sync::Arc;
use std::sync::mpsc::channel;

const MIB: usize = 1 << 20;

fn with_engine(engine: Engine) -> Arc<Runtime> {
    let pool = Pool::new(Context::cpu(), HostBackend, Config::default());
    Runtime::new(engine, pool)
}

fn runtime(workers: usize) -> Arc<Runtime> {
    with_engine(Engine::builder().workers(workers).build())
}

fn on(device_type: DeviceType) -> Context {
    Context {
        device_type,
        device_id: 0,
    }
}

fn bytes(array: &Array) -> Vec<u8> {
    let mut bytes = vec![0; array.len() * array.dtype().size()];
    read_into(array, &mut bytes).unwrap();
    bytes
}

/// A transposing copy in place, which needs a packed copy of `size` by `size` floats.
struct Turn {
    bound: Arc<Binding>,
    _array: Array,
}

impl Turn {
    fn new(rt: &Arc<Runtime>, size: usize) -> Turn {
        let array = Array::new(rt, &[size, size], DType::F32).unwrap();
        write_from(&array, &vec![0; size * size * 4], 0).unwrap();
        let turned = array
            .strided(0, &[size, size], &[1, size as isize])
            .unwrap();
        let desc = || Desc::new(&[size, size], DType::F32);
        let attrs = Attrs::new(vec![("scalar".into(), Value::Float(1.0))]);
        let row = "_plus_scalar";
        let prepared = Prepared::new(row, row, &attrs, vec![desc()], vec![desc()]).unwrap();
        let out = [Some(&array)];
        let bound = Binding::new(
            &prepared,
            Name::new("turn"),
            &[&turned],
            &out,
            &[Req::Write],
        );
        Turn {
            bound: bound.unwrap(),
            _array: array,
        }
    }
}

#[test]
fn a_warm_run_asks_the_pool_for_nothing() {
    for engine in [
        Engine::builder().workers(1).build(),
        Engine::builder().kind(Kind::Naive).build(),
    ] {
        let rt = with_engine(engine);
        let (large, small) = (Turn::new(&rt, 300), Turn::new(&rt, 200));
        large.bound.push(&rt, 0).unwrap();
        rt.engine().wait_for_all().unwrap();
        let before = rt.pool().stats();
        for turn in [&small, &large].into_iter().cycle().take(100) {
            turn.bound.push(&rt, 0).unwrap();
        }
        rt.engine().wait_for_all().unwrap();
        let after = rt.pool().stats();
        assert_eq!((after.hits, after.misses), (before.hits, before.misses));
        let (stats, temporary) = rt.storage(Context::cpu()).unwrap();
        assert!(temporary >= 300 * 300 * 4, "{temporary}");
        assert_eq!(stats.in_use + temporary, after.in_use);
        rt.trim(Context::cpu(), 0).unwrap();
        assert_eq!(rt.storage(Context::cpu()).unwrap().1, 0);
        assert_eq!(rt.pool().stats().in_use, after.in_use - temporary);
    }
}

#[test]
fn the_end_of_a_runtime_frees_its_temporary_space() {
    let pool = Pool::new(Context::cpu(), HostBackend, Config::default());
    let rt = Runtime::new(Engine::builder().workers(2).build(), pool.clone());
    let turn = Turn::new(&rt, 200);
    turn.bound.push(&rt, 0).unwrap();
    rt.engine().wait_for_all().unwrap();
    drop(turn);
    rt.engine().wait_for_all().unwrap();
    drop(rt);
    assert_eq!(pool.stats().in_use, 0);
}

/// An operation that reads an array, and ends when it is told to.
fn hold(rt: &Arc<Runtime>, array: &Array) -> OnComplete {
    let (send, receive) = channel();
    let reads = [array.chunk().var()];
    let run = move |_: &_, done: OnComplete| send.send(done).unwrap();
    let spec = OpSpec::new("hold").reads(&reads);
    rt.engine().push_async(&spec, run).unwrap();
    receive.recv().unwrap()
}

#[test]
fn a_thread_that_runs_ahead_waits_for_arrays_that_are_about_to_be_freed() {
    let rt = runtime(1);
    rt.pool().set_limit(Some(24 * MIB));
    let array = Array::new(&rt, &[16 * MIB], DType::U8).unwrap();
    write_from(&array, &vec![1; 16 * MIB], 0).unwrap();
    let done = hold(&rt, &array);
    drop(array);
    let later = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        done.complete(Ok(()));
    });
    let next = Array::new(&rt, &[16 * MIB], DType::U8).unwrap();
    write_from(&next, &vec![2; 16 * MIB], 0).unwrap();
    assert_eq!(bytes(&next)[16 * MIB - 1], 2);
    later.join().unwrap();
    let last = Array::new(&rt, &[16 * MIB], DType::U8).unwrap();
    let error = write_from(&last, &vec![3; 16 * MIB], 0).unwrap_err();
    assert_eq!(
        error.kind(),
        ErrorKind::Memory,
        "nothing is about to be freed"
    );
    assert!(error.message().contains("1 of 16777216"), "{error}");
}

/// What the operation waits for is done by the worker that takes over from it.
#[test]
fn an_operation_waits_for_memory_though_it_has_the_only_worker() {
    let rt = runtime(1);
    let turn = Turn::new(&rt, 1024);
    let other = Array::new(&rt, &[4 * MIB], DType::U8).unwrap();
    write_from(&other, &vec![0; 4 * MIB], 0).unwrap();
    rt.engine().wait_for_all().unwrap();
    rt.pool().set_limit(Some(rt.pool().stats().in_use));
    let gate = Array::new(&rt, &[0], DType::U8).unwrap();
    let (send, receive) = channel();
    let writes = [gate.chunk().var()];
    let closed = OpSpec::new("gate").writes(&writes);
    let run = move |_: &_| {
        receive.recv()?;
        Ok(())
    };
    rt.engine().push_sync(&closed, run).unwrap();
    turn.bound.push(&rt, 0).unwrap();
    let reads = [other.chunk().var()];
    let last = OpSpec::new("last user").reads(&reads);
    rt.engine().push_sync(&last, |_| Ok(())).unwrap();
    drop(other);
    send.send(()).unwrap();
    rt.engine().wait_for_all().unwrap();
    rt.pool().set_limit(None);
}

#[test]
fn an_operation_without_memory_fails_and_the_next_one_works() {
    let rt = runtime(2);
    let turn = Turn::new(&rt, 1024);
    rt.engine().wait_for_all().unwrap();
    rt.pool().set_limit(Some(rt.pool().stats().in_use));
    turn.bound.push(&rt, 0).unwrap();
    let failed = rt.engine().wait_for_all().unwrap_err();
    let error = failed.source().unwrap().to_string();
    assert!(error.contains("cannot allocate 4194304 bytes"), "{error}");
    rt.pool().set_limit(None);
    turn.bound.push(&rt, 0).unwrap();
    rt.engine().wait_for_all().unwrap();
}

#[test]
fn arrays_live_where_they_were_placed() {
    let rt = runtime(2);
    let second = Context {
        device_id: 1,
        ..Context::cpu()
    };
    for place in [on(DeviceType::CpuPinned), on(DeviceType::CpuShared), second] {
        let array = Array::on(&rt, place, &[1000], DType::U8).unwrap();
        assert_eq!(array.chunk().context(), place);
        write_from(&array, &[7; 1000], 0).unwrap();
        let here = Array::new(&rt, &[1000], DType::U8).unwrap();
        copy(&array, &here, 0).unwrap();
        assert_eq!(bytes(&here), [7; 1000]);
        // Locked and shared memory comes in pages.
        let bytes = if place == second { 1024 } else { 4096 };
        assert_eq!(rt.storage(place).unwrap().0.in_use, bytes);
        drop(array);
        rt.engine().wait_for_all().unwrap();
        rt.release_all();
        let stats = rt.storage(place).unwrap().0;
        assert_eq!((stats.in_use, stats.cached), (0, 0));
    }
    let array = Array::on(&rt, on(DeviceType::Gpu), &[1], DType::U8).unwrap();
    let error = write_from(&array, &[0], 0).unwrap_err();
    assert!(error.message().contains("no driver of GPUs"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn shared_memory_is_seen_by_all_who_have_it() {
    use ferromix_runtime::Chunk;
    use ferromix_storage::SharedBlock;
    use std::os::fd::BorrowedFd;

    let rt = runtime(2);
    let array = Array::on(&rt, on(DeviceType::CpuShared), &[64], DType::F32).unwrap();
    write_from(&array, &[0; 256], 0).unwrap();
    rt.engine().wait_for_all().unwrap();
    let descriptor = array.chunk().share().unwrap();
    assert_eq!(array.chunk().share().unwrap(), descriptor);
    // SAFETY: the descriptor is open as long as the array lives.
    let sent = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let block = SharedBlock::from_fd(sent.try_clone_to_owned().unwrap()).unwrap();
    let other = Array::bytes_of(Chunk::received(&rt, block));
    assert_eq!(other.chunk().context(), on(DeviceType::CpuShared));
    let other = other.cast_view(DType::F32, &[64]).unwrap();
    write_from(&other, &1f32.to_ne_bytes().repeat(64), 0).unwrap();
    rt.engine().wait_for_all().unwrap();
    assert_eq!(bytes(&array), 1f32.to_ne_bytes().repeat(64));
    drop(array);
    rt.engine().wait_for_all().unwrap();
    assert_eq!(
        bytes(&other),
        1f32.to_ne_bytes().repeat(64),
        "the others keep it"
    );

    let plain = Array::new(&rt, &[1], DType::U8).unwrap();
    let error = plain.chunk().share().unwrap_err();
    assert!(
        error.message().contains("copy the array to cpu_shared"),
        "{error}"
    );
}
