//! A warm engine allocates nothing: neither pushing, running and completing operations, nor
//! launching programs, nor filling a bulk. Counted by the allocator.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ferromix_engine::{Engine, OpSpec, Program, Var};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn settle(engine: &Engine) {
    while engine.counters().in_flight > 0 {
        std::thread::yield_now();
    }
}

fn push(engine: &Engine, vars: &[Var], count: usize) {
    for i in 0..count {
        let (a, b) = (vars[i % vars.len()], vars[(i * 7 + 3) % vars.len()]);
        let reads = [a];
        let reads = if i % 3 == 0 && a != b {
            &reads[..]
        } else {
            &[]
        };
        let spec = OpSpec::new("op")
            .reads(reads)
            .writes(std::slice::from_ref(&b));
        engine.push_sync(&spec, |_| Ok(())).unwrap();
    }
}

/// Lets queues, pool and the program's counters (two sets) grow to what they will ever need: nothing
/// runs until all is pushed, `count` operations and the launches.
fn fill(engine: &Engine, vars: &[Var], program: &Program, count: usize) {
    engine.stop().unwrap();
    for i in 0..4096 {
        let reads = [vars[i % vars.len()]];
        let spec = OpSpec::new("read").reads(&reads);
        engine.push_sync(&spec, |_| Ok(())).unwrap();
    }
    push(engine, vars, count);
    for _ in 0..2 {
        engine.launch(program).unwrap();
    }
    engine.start();
    engine.wait_for_all().unwrap();
}

/// The least that a run of the work allocates, in as many runs as it may take to allocate nothing.
///
/// What a warm engine needs once more on a busy machine, such as counters for a launch that waits in
/// vain for 10 ms, it keeps for later runs; what it needs each time shows in all of them.
fn least_allocations(work: impl Fn()) -> u64 {
    let mut least = u64::MAX;
    for _ in 0..10 {
        let before = ALLOCATIONS.load(Relaxed);
        work();
        least = least.min(ALLOCATIONS.load(Relaxed) - before);
        if least == 0 {
            break;
        }
    }
    least
}

#[test]
fn a_warm_engine_allocates_nothing() {
    let engine = Engine::builder().workers(2).max_in_flight(1024).build();
    let vars: Vec<Var> = (0..64).map(|_| engine.new_variable()).collect();
    let mut builder = Program::builder("program");
    for i in 0..1000 {
        let (reads, writes) = ([vars[i % 8]], [vars[8 + i * 5 % 8]]);
        let spec = OpSpec::new("step").reads(&reads).writes(&writes);
        builder = builder.op(&spec, |_| Ok(()));
    }
    let program = builder.build();
    fill(&engine, &vars, &program, 2048);
    let work = || {
        push(&engine, &vars, 50_000);
        for _ in 0..50 {
            engine.launch(&program).unwrap();
            settle(&engine);
        }
    };
    work();
    engine.wait_for_all().unwrap();
    assert_eq!(least_allocations(work), 0);

    // A bulk of many variables has a larger block, and each operation one of its own, whose number
    // the limit does not count.
    let _bulk = engine.bulk(40);
    fill(&engine, &vars, &program, 30_000);
    let work = || {
        push(&engine, &vars, 30_000);
        settle(&engine);
    };
    assert_eq!(least_allocations(work), 0);
}
