//! Load with everything at once: pushers with crossed variables, waits outside and inside
//! operations, failures, deletions, asynchronous operations completed elsewhere, programs, and, with
//! `--bulk N`, operations that are joined.
//!
//! `cargo run --release -p ferromix-engine --example stress -- --seconds 60 --pushers 4 --seed 1`
//!
//! Checked all the time: writers exclude everybody; every operation sees exactly the writes that
//! its pusher pushed before it, and as many writes as the variable's version says; no wait ends
//! early; each failure is surfaced once and nothing runs that depends on it; a deletion comes after
//! all users. Between rounds nothing is in flight. A violation, or a minute without progress, ends
//! the process with status 1.

mod cell;
mod pusher;
mod shared;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use ferromix_engine::Engine;
use pusher::Pusher;
use shared::{Shared, memory_now, peak_memory};

/// Operations of all pushers between two looks at everything.
const ROUND: usize = 200_000;

struct Options {
    seconds: u64,
    operations: u64,
    pushers: usize,
    workers: usize,
    variables: usize,
    seed: u64,
    bulk: usize,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        seconds: 10,
        operations: u64::MAX,
        pushers: 4,
        workers: 2,
        variables: 12,
        seed: 1,
        bulk: 0,
    };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        let value = args.next().ok_or(format!("{name} needs a value"))?;
        let number: u64 = value
            .parse()
            .map_err(|_| format!("{name} needs a whole number, not {value}"))?;
        match name.as_str() {
            "--seconds" => options.seconds = number,
            "--operations" => options.operations = number,
            "--pushers" => options.pushers = number.clamp(1, 1000) as usize,
            "--workers" => options.workers = number as usize,
            "--variables" => options.variables = number.clamp(6, 1000) as usize,
            "--bulk" => options.bulk = number as usize,
            "--seed" => options.seed = number,
            _ => return Err(format!("there is no option {name}")),
        }
    }
    Ok(options)
}

/// Rounds until time or operations are used up. Everybody meets between rounds; the first pusher
/// then looks at everything.
fn work(mut pusher: Pusher, shared: &Shared, me: usize, options: &Options, begin: Instant) {
    let mut failing = false;
    loop {
        shared.barrier.wait();
        if me == 0 {
            shared.check_rest();
            let done = shared.figures.operations.load(Relaxed) >= options.operations;
            let late = begin.elapsed() >= Duration::from_secs(options.seconds);
            shared.stop.store(done || late, Relaxed);
            failing = !failing;
            shared.failing.store(failing, Relaxed);
        }
        shared.barrier.wait();
        if shared.stop.load(Relaxed) {
            return;
        }
        pusher.round(ROUND / options.pushers);
    }
}

fn report(shared: &Shared, begin: Instant) {
    let figures = &shared.figures;
    let seconds = begin.elapsed().as_secs_f64();
    let operations = figures.operations.load(Relaxed);
    println!(
        "{seconds:.0} s: {operations} operations ({:.0} per second), {} asynchronous, \
         {} launches, {} waits, {} waits inside operations ({} refused), {} failed, {} surfaced, \
         {} variables deleted ({} races lost), {} MiB, at most {} MiB",
        operations as f64 / seconds,
        figures.asynchronous.load(Relaxed),
        figures.launches.load(Relaxed),
        figures.waits.load(Relaxed),
        figures.waits_inside.load(Relaxed),
        figures.refused.load(Relaxed),
        figures.failed.load(Relaxed),
        figures.surfaced.load(Relaxed),
        figures.deleted.load(Relaxed),
        figures.stale.load(Relaxed),
        memory_now().unwrap_or(0),
        peak_memory().unwrap_or(0),
    );
}

/// Reports now and then, and ends the process if nothing happens any more.
fn watch(shared: &Shared, begin: Instant) {
    let (mut last, mut since, mut next) = (0, Instant::now(), 10);
    while !shared.stop.load(Relaxed) {
        std::thread::sleep(Duration::from_millis(200));
        let operations = shared.figures.operations.load(Relaxed);
        if operations != last {
            (last, since) = (operations, Instant::now());
        } else if since.elapsed() > Duration::from_secs(60) {
            report(shared, begin);
            cell::violation(format_args!("nothing happened for a minute"));
        }
        if begin.elapsed().as_secs() >= next {
            report(shared, begin);
            next += next.clamp(10, 300);
        }
    }
}

fn main() -> Result<(), String> {
    let options = options()?;
    let engine = Engine::builder().workers(options.workers).build();
    let shared = Shared::new(engine, options.pushers, options.variables, options.bulk);
    let shared = Arc::new(shared);
    let finishers = shared::finishers(2);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for me in 0..options.pushers {
            let pusher = Pusher::new(shared.clone(), me, options.seed, finishers.clone());
            let (shared, options) = (&shared, &options);
            scope.spawn(move || work(pusher, shared, me, options, begin));
        }
        scope.spawn(|| watch(&shared, begin));
    });
    let figures = &shared.figures;
    let (failed, surfaced) = (figures.failed.load(Relaxed), figures.surfaced.load(Relaxed));
    if failed != surfaced {
        cell::violation(format_args!("{failed} failed, {surfaced} surfaced"));
    }
    report(&shared, begin);
    println!(
        "no violation (seed {}, {} pushers, {} workers, {} variables, bulks of {})",
        options.seed, options.pushers, options.workers, options.variables, options.bulk
    );
    Ok(())
}
