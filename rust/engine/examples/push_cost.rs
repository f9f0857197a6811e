//! What a push costs, for profilers: one shape of dependency, as many rounds as asked for.
//!
//! `cargo run --release --example push_cost -- random 20 2` pushes 20 rounds of 200,000 operations
//! with 2 workers, and prints the nanoseconds per operation of each round, from the first push to
//! the last completion. With a fourth argument, the rounds are launches of programs of so many
//! operations. `valgrind --tool=callgrind` counts instructions.

#[path = "../benches/shapes/mod.rs"]
mod shapes;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use ferromix_engine::{Engine, OpSpec, Program, Var};
use shapes::{Shape, VARS};

const OPS: usize = 200_000;
static COUNT: AtomicU64 = AtomicU64::new(0);

fn round(engine: &Engine, shape: &Shape, list: &[Var]) -> Result<(), Box<dyn std::error::Error>> {
    for (reads, writes) in shape.ops(list) {
        let spec = OpSpec::new("add").reads(reads).writes(writes);
        engine.push_sync(&spec, |_| {
            COUNT.fetch_add(1, Relaxed);
            Ok(())
        })?;
    }
    Ok(engine.wait_for_all()?)
}

/// The first operations of a shape.
fn program(shape: &Shape, list: &[Var], len: usize) -> Program {
    let mut builder = Program::builder(shape.name);
    for (reads, writes) in shape.ops(list).take(len) {
        builder = builder.op(&OpSpec::new("add").reads(reads).writes(writes), |_| {
            COUNT.fetch_add(1, Relaxed);
            Ok(())
        });
    }
    builder.build()
}

fn replay(engine: &Engine, program: &Program) -> Result<(), Box<dyn std::error::Error>> {
    for _ in 0..OPS / program.len() {
        engine.launch(program)?;
    }
    Ok(engine.wait_for_all()?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or_else(|| "independent".to_owned());
    let mut number = |default: usize| {
        args.next()
            .map_or(Ok(default), |text| text.parse::<usize>())
    };
    let (rounds, workers, len) = (number(5)?, number(2)?, number(0)?);
    let shape = Shape::all(OPS).into_iter().find(|shape| shape.name == name);
    let shape = shape.ok_or("the shapes are: independent, chain, fan, random, wide")?;
    let engine = Engine::builder().workers(workers).build();
    let vars: Vec<Var> = (0..VARS).map(|_| engine.new_variable()).collect();
    let list = shape.list(&vars);
    let program = program(&shape, &list, len);
    for _ in 0..rounds {
        let begin = Instant::now();
        if program.is_empty() {
            round(&engine, &shape, &list)?;
        } else {
            replay(&engine, &program)?;
        }
        let nanos = begin.elapsed().as_nanos() / OPS as u128;
        println!("{name}: {nanos} ns per operation");
    }
    Ok(())
}
