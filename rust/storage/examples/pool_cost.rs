//! What taking and giving back a block costs, of the pool or of the process's `malloc`: a side of
//! `benches/pool.py`, which preloads other allocators, and a program for profilers.
//!
//! usage: `pool_cost pool|malloc [SCENARIO [ROUNDS]]`. Prints a line of JSON per scenario and size:
//! nanoseconds, the best of some rounds.

#[path = "../benches/scenarios/mod.rs"]
mod scenarios;

use std::error::Error;
use std::time::Duration;

use scenarios::{
    Allocator, Fresh, Malloc, at_random, fight, hand_over, pool, reuse, step, touched,
};

/// A round takes so long at least.
const ROUND: Duration = Duration::from_millis(20);
const SMALL_AND_LARGE: [usize; 4] = [64, 4 << 10, 1 << 20, 16 << 20];
const LARGE: [usize; 2] = [1 << 20, 16 << 20];

struct Options {
    only: Option<String>,
    rounds: u32,
}

/// Measures a scenario: finds out how many times fit into a round, then takes the best of some.
fn measure<A: Allocator>(
    options: &Options,
    name: &str,
    (make, sizes): (impl Fn() -> A, &[usize]),
    run: impl Fn(&A, usize, u64) -> Duration,
) {
    if options.only.as_ref().is_some_and(|only| only != name) {
        return;
    }
    for &size in sizes {
        let allocator = make();
        let mut times = 1;
        while run(&allocator, size, times) < ROUND {
            times *= 2;
        }
        let rounds = (0..options.rounds).map(|_| run(&allocator, size, times));
        let best = rounds.min().unwrap_or_default();
        let nanos = best.as_nanos() as f64 / times as f64;
        println!("{{\"what\": \"{name}\", \"size\": {size}, \"ns\": {nanos:.1}}}");
    }
}

fn all<A: Allocator>(options: &Options, make: impl Fn() -> A) {
    let sizes = &SMALL_AND_LARGE[..];
    measure(options, "reuse", (&make, sizes), reuse);
    measure(options, "fight", (&make, sizes), fight);
    measure(options, "at random", (&make, sizes), at_random);
    measure(options, "hand over", (&make, sizes), hand_over);
    measure(options, "touched", (&make, &LARGE), touched);
    measure(options, "step", (&make, &[40 << 20]), step);
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let which = args.next();
    let options = Options {
        only: args.next().filter(|name| name != "all"),
        rounds: args.next().map_or(Ok(5), |text| text.parse())?,
    };
    match which.as_deref() {
        Some("pool") => {
            all(&options, pool);
            let fresh = || Fresh(pool());
            measure(&options, "fresh", (fresh, &LARGE), touched);
        }
        Some("malloc") => all(&options, || Malloc),
        _ => return Err("usage: pool_cost pool|malloc [SCENARIO [ROUNDS]]".into()),
    }
    Ok(())
}
