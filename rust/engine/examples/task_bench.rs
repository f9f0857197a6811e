//! How short operations may be: METG(50 %), the *minimum effective task granularity*, for four
//! shapes of Task Bench, pushed and as a replayed program.
//!
//! The definition is that of Slaughter et al., *Task Bench: A Parameterized Benchmark for Evaluating
//! Parallel Runtime Performance* (SC 2020): of a run with operations of some length, the
//! *granularity* is the time that the workers have for one (wall time * workers / operations), and
//! the *efficiency* the share of it that goes to the operation itself. The METG(50 %) is the
//! granularity at which efficiency falls to one half; shorter operations spend more time on being
//! scheduled than on work.
//!
//! usage: `task_bench [WORKERS [POINTS]]`, by default 2 workers and 64 points per step. Prints
//! microseconds as a Markdown table. `benches/engine.py --metg` does the same beside OpenMP.

#[path = "../benches/shapes/mod.rs"]
mod shapes;

use std::error::Error;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use ferromix_engine::{Engine, OpSpec, Program};
use shapes::{Binding, GRIDS, Shape};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Lengths of operations, in turns of a loop of about 1.5 ns: from nothing to a tenth of a
/// millisecond.
const GRAINS: std::ops::RangeInclusive<u32> = 4..=16;
/// Of each length the best of so many runs.
const ROUNDS: usize = 5;

static TURNS: AtomicU64 = AtomicU64::new(0);

/// An operation: a chain of multiplications and additions that no compiler can shorten.
fn work(turns: u32) {
    let mut x = black_box(0.5_f64);
    for _ in 0..turns {
        x = x * 0.999 + 0.001;
    }
    black_box(x);
    TURNS.fetch_add(u64::from(turns), Relaxed);
}

fn push_all(engine: &Engine, binding: &Binding<'_>, turns: u32) -> Outcome {
    for (reads, writes) in binding.ops() {
        let spec = OpSpec::new("point").reads(reads).writes(writes);
        engine.push_sync(&spec, move |_| {
            work(turns);
            Ok(())
        })?;
    }
    Ok(())
}

fn compile(binding: &Binding<'_>, turns: u32) -> Program {
    let mut builder = Program::builder("steps");
    for (reads, writes) in binding.ops() {
        let spec = OpSpec::new("point").reads(reads).writes(writes);
        builder = builder.op(&spec, move |_| {
            work(turns);
            Ok(())
        });
    }
    builder.build()
}

/// Nanoseconds from the start of `run` to its last completion, the best of some rounds. Checks
/// that so many turns were made.
fn best(engine: &Engine, turns: u64, run: impl Fn() -> Outcome) -> Outcome<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        TURNS.store(0, Relaxed);
        let begin = Instant::now();
        run()?;
        engine.wait_for_all()?;
        best = best.min(begin.elapsed().as_secs_f64() * 1e9);
        assert_eq!(TURNS.load(Relaxed), turns, "operations were lost");
    }
    Ok(best)
}

/// One length of operation.
#[derive(Clone, Copy)]
struct Point {
    /// Its loop alone, in nanoseconds.
    useful: f64,
    /// What the workers had for it, in nanoseconds.
    granularity: f64,
}

impl Point {
    fn efficiency(self) -> f64 {
        self.useful / self.granularity
    }
}

/// The granularity at which efficiency is one half, from points of shrinking length.
fn metg(points: &[Point]) -> Option<f64> {
    points.windows(2).find_map(|pair| {
        let [coarse, fine] = [pair[0], pair[1]];
        let (high, low) = (coarse.efficiency(), fine.efficiency());
        let share = (high - 0.5) / (high - low);
        let ratio = fine.granularity / coarse.granularity;
        (high >= 0.5 && low < 0.5).then(|| coarse.granularity * ratio.powf(share))
    })
}

/// METG of pushes and of replay.
fn measure(shape: &str, workers: usize, points: usize) -> Outcome<[Option<f64>; 2]> {
    let mut curves = [Vec::new(), Vec::new()];
    let mut turn = 0.0;
    for grain in GRAINS.rev() {
        let turns = 1_u32 << grain;
        let steps = (100_000_000 / turns as usize / points).clamp(2, 400) & !1;
        let shape = Shape::grid(shape, points, steps * points).ok_or("no such shape")?;
        let engine = Engine::builder().workers(workers).build();
        let binding = shape.on(&engine);
        let program = compile(&binding, turns);
        let all = turns as u64 * shape.len() as u64;
        let times = [
            best(&engine, all, || push_all(&engine, &binding, turns))?,
            best(&engine, all, || Ok(engine.launch(&program)?))?,
        ];
        let per = workers as f64 / shape.len() as f64;
        if turn == 0.0 {
            // Nobody spends a noticeable share of the longest operations on anything else.
            turn = times[0].min(times[1]) * per / f64::from(turns);
        }
        for (curve, time) in curves.iter_mut().zip(times) {
            curve.push(Point {
                useful: turn * f64::from(turns),
                granularity: time * per,
            });
        }
    }
    Ok(curves.map(|curve| metg(&curve)))
}

fn main() -> Outcome {
    let mut args = std::env::args().skip(1);
    let mut number = |default: usize| args.next().map_or(Ok(default), |text| text.parse());
    let (workers, points) = (number(2)?, number(64)?);
    println!("METG(50 %), microseconds, {workers} workers, {points} points a step:\n");
    println!("| shape | push | replay |\n|---|---|---|");
    for shape in GRIDS {
        let [push, replay] = measure(shape, workers, points)?.map(|metg| match metg {
            Some(nanos) => format!("{:.2}", nanos / 1000.0),
            None => "out of range".to_owned(),
        });
        println!("| {shape} | {push} | {replay} |");
    }
    Ok(())
}
