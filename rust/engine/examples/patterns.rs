//! What an operation costs, by shape of dependency: the side of Ferromix in `benches/engine.py`, and
//! a program for profilers.
//!
//! ```text
//! patterns push|replay SHAPE [--operations N] [--rounds N] [--workers N] [--grain N] [--length N]
//! patterns dump SHAPE
//! ```
//!
//! `push` pushes the operations of a shape one by one; `replay` launches a program of the first
//! `--length` of them again and again. An operation is one relaxed addition and `--grain` turns of
//! a loop. Each round prints a line of JSON: nanoseconds per operation from the first push to the
//! last completion, and to the last push. The last line has the most memory that the process ever
//! had, in MiB. `dump` prints the shape for the programs of the peers: the number of variables and
//! of operations, then for each operation how many variables it uses and which; it mutates the last.

#[path = "../benches/shapes/mod.rs"]
mod shapes;

use std::error::Error;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ferromix_engine::{Engine, OpSpec, Program};
use shapes::{Binding, Shape};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Operations of a shape; more are the same again.
const CYCLE: usize = 1 << 17;

static COUNT: AtomicU64 = AtomicU64::new(0);

/// The operation: turns of a loop that the compiler cannot shorten, about 1.5 ns each.
fn payload(grain: u32) {
    let mut x = black_box(0.5_f64);
    for _ in 0..grain {
        x = x * 0.999 + 0.001;
    }
    black_box(x);
    COUNT.fetch_add(1, Relaxed);
}

struct Options {
    operations: usize,
    rounds: usize,
    workers: usize,
    grain: u32,
    length: usize,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Outcome<Self> {
        let mut options = Self {
            operations: 200_000,
            rounds: 3,
            workers: 2,
            grain: 0,
            length: 10_000,
        };
        while let Some(name) = args.next() {
            let value = args.next().ok_or(format!("{name} needs a number"))?;
            let number: usize = value.parse().map_err(|_| format!("{name} {value}?"))?;
            match name.as_str() {
                "--operations" => options.operations = number,
                "--rounds" => options.rounds = number,
                "--workers" => options.workers = number,
                "--grain" => options.grain = u32::try_from(number)?,
                "--length" => options.length = number.max(1),
                _ => return Err(format!("unknown option {name}").into()),
            }
        }
        Ok(options)
    }
}

fn push(engine: &Engine, binding: &Binding<'_>, count: usize, grain: u32) -> Outcome {
    for left in (1..=count).rev().step_by(CYCLE) {
        for (reads, writes) in binding.ops().take(left) {
            let spec = OpSpec::new("add").reads(reads).writes(writes);
            engine.push_sync(&spec, move |_| {
                payload(grain);
                Ok(())
            })?;
        }
    }
    Ok(())
}

fn program(binding: &Binding<'_>, length: usize, grain: u32) -> Program {
    let mut builder = Program::builder("patterns");
    for (reads, writes) in binding.ops().take(length) {
        let spec = OpSpec::new("add").reads(reads).writes(writes);
        builder = builder.op(&spec, move |_| {
            payload(grain);
            Ok(())
        });
    }
    builder.build()
}

fn launch(engine: &Engine, program: &Program, count: usize) -> Outcome {
    for _ in 0..count / program.len() {
        engine.launch(program)?;
    }
    Ok(())
}

/// Measures rounds of `run`, which is given how many operations are wanted, all at least `unit`.
fn measure(
    engine: &Engine,
    options: &Options,
    unit: usize,
    run: impl Fn(usize) -> Outcome,
) -> Outcome {
    let whole = |count: usize| (count / unit).max(1) * unit;
    let all = whole(options.operations);
    for round in 0..=options.rounds {
        // The first round is a short one that warms up.
        let count = if round == 0 { whole(all / 10) } else { all };
        COUNT.store(0, Relaxed);
        let begin = Instant::now();
        run(count)?;
        let pushed = begin.elapsed();
        engine.wait_for_all()?;
        let done = begin.elapsed();
        let ran = COUNT.load(Relaxed);
        if ran != count as u64 {
            return Err(format!("{ran} of {count} operations ran").into());
        }
        if round > 0 {
            let per = |time: Duration| time.as_secs_f64() * 1e9 / count as f64;
            let (done, pushed) = (per(done), per(pushed));
            println!("{{\"ns_per_op\": {done:.1}, \"push_ns\": {pushed:.1}}}");
        }
    }
    Ok(())
}

/// The high-water mark of the resident set, where the system tells.
fn peak_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}

fn dump(shape: &Shape) -> Outcome {
    let mut out = BufWriter::new(std::io::stdout().lock());
    writeln!(out, "{} {}", shape.variables, shape.len())?;
    for row in shape.rows() {
        write!(out, "{}", row.len())?;
        row.iter().try_for_each(|var| write!(out, " {var}"))?;
        writeln!(out)?;
    }
    Ok(out.flush()?)
}

fn main() -> Outcome {
    let mut args = std::env::args().skip(1);
    let usage = "usage: patterns push|replay|dump SHAPE [--operations N] [--rounds N] [--workers N]\
                 [--grain N] [--length N]";
    let (mode, name) = (args.next().ok_or(usage)?, args.next().ok_or(usage)?);
    let options = Options::parse(args)?;
    let shape = Shape::named(&name, CYCLE).ok_or_else(|| {
        let names = [&shapes::FIVE[..], &shapes::GRAPHS, &shapes::GRIDS].concat();
        format!("no shape '{name}'; there are {}", names.join(", "))
    })?;
    if mode == "dump" {
        return dump(&shape);
    }
    let engine = Engine::builder().workers(options.workers).build();
    let binding = shape.on(&engine);
    if mode == "replay" {
        let program = program(&binding, options.length, options.grain);
        let run = |count| launch(&engine, &program, count);
        measure(&engine, &options, program.len(), run)?;
    } else {
        let run = |count| push(&engine, &binding, count, options.grain);
        measure(&engine, &options, 1, run)?;
    }
    if let Some(peak) = peak_mib() {
        println!("{{\"peak_mib\": {peak:.1}}}");
    }
    Ok(())
}
