//! A program compiled once and launched in a loop: heat that spreads along a rod whose one end is
//! heated and cooled from outside.
//!
//! The rod is cut into blocks, each with a variable for its even and one for its odd states. The
//! program makes two time steps of all blocks; a block may begin its next step as soon as its
//! neighbours have made theirs, and a launch may begin while the one before is under way. The
//! temperature of the end is a variable that the program only reads. Operations pushed between
//! launches change it, and others watch a place near it: both take their places between the
//! launches as the variables demand, and nobody waits until the end.
//!
//! usage: `replay_loop [LAUNCHES]`, by default 500. Compares the result with a serial computation,
//! bit by bit.

use std::error::Error;
use std::sync::{Arc, RwLock, TryLockResult};
use std::time::Instant;

use ferromix_engine::{Engine, OpSpec, Program, ProgramBuilder, Var};

const BLOCKS: usize = 8;
const CELLS: usize = 1000;
/// The cell of the first block that is watched.
const WATCHED: usize = 10;
/// Launches between two changes of the temperature at the end.
const EVERY: usize = 50;

/// What a lock protects that nobody else holds: the engine orders the operations.
fn free<G>(lock: TryLockResult<G>) -> G {
    lock.unwrap_or_else(|_| panic!("two operations use a value that one of them writes"))
}

/// Values that operations work on, and the variable that stands for them.
#[derive(Clone)]
struct Cell {
    values: Arc<RwLock<Vec<f64>>>,
    var: Var,
}

impl Cell {
    fn new(engine: &Engine, length: usize) -> Self {
        Self {
            values: Arc::new(RwLock::new(vec![0.0; length])),
            var: engine.new_variable(),
        }
    }

    fn get(&self, index: usize) -> f64 {
        free(self.values.try_read())[index]
    }
}

/// New temperatures of a piece of the rod from old ones and those beside it.
fn spread(old: &[f64], left: f64, right: f64, new: &mut [f64]) {
    for (k, new) in new.iter_mut().enumerate() {
        let left = k.checked_sub(1).map_or(left, |k| old[k]);
        let right = old.get(k + 1).copied().unwrap_or(right);
        *new = old[k] + 0.25 * (left - 2.0 * old[k] + right);
    }
}

/// Adds one time step to a program: every block of `to` from three blocks of `from`, where the
/// heated end stands before the first; beyond the last block it is cold.
fn step(mut builder: ProgramBuilder, end: &Cell, from: &[Cell], to: &[Cell]) -> ProgramBuilder {
    for k in 0..BLOCKS {
        let left = if k == 0 { end } else { &from[k - 1] };
        let mut vars = vec![left.var, from[k].var];
        vars.extend(from.get(k + 1).map(|right| right.var));
        let (left, old, right) = (left.clone(), from[k].clone(), from.get(k + 1).cloned());
        let new = to[k].clone();
        let writes = [new.var];
        let spec = OpSpec::new("spread").reads(&vars).writes(&writes);
        builder = builder.op(&spec, move |_| {
            let last = free(left.values.try_read()).len() - 1;
            let right = right.as_ref().map_or(0.0, |right| right.get(0));
            let old = free(old.values.try_read());
            spread(
                &old,
                left.get(last),
                right,
                &mut free(new.values.try_write()),
            );
            Ok(())
        });
    }
    builder
}

/// The temperature of the end, after so many changes.
fn heat(change: usize) -> f64 {
    (change % 3) as f64
}

/// What [`main`] computes, without an engine: the rod, and what was seen near its end.
fn serial(launches: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut rod, mut next) = (vec![0.0; BLOCKS * CELLS], vec![0.0; BLOCKS * CELLS]);
    let mut seen = Vec::new();
    for launch in 0..launches {
        for _ in 0..2 {
            spread(&rod, heat(launch / EVERY), 0.0, &mut next);
            std::mem::swap(&mut rod, &mut next);
        }
        if launch % EVERY == EVERY - 1 {
            seen.push(rod[WATCHED]);
        }
    }
    (rod, seen)
}

fn main() -> Result<(), Box<dyn Error>> {
    let launches = std::env::args()
        .nth(1)
        .map_or(Ok(500), |text| text.parse())?;
    let engine = Engine::builder().build();
    let rod = || -> Vec<Cell> { (0..BLOCKS).map(|_| Cell::new(&engine, CELLS)).collect() };
    let (even, odd, end, log) = (rod(), rod(), Cell::new(&engine, 1), Cell::new(&engine, 0));
    let builder = step(Program::builder("two steps"), &end, &even, &odd);
    let program = step(builder, &end, &odd, &even).build();

    let begin = Instant::now();
    for launch in 0..launches {
        if launch % EVERY == 0 {
            let target = end.clone();
            engine.push_sync(&OpSpec::new("heat").writes(&[end.var]), move |_| {
                free(target.values.try_write())[0] = heat(launch / EVERY);
                Ok(())
            })?;
        }
        engine.launch(&program)?;
        if launch % EVERY == EVERY - 1 {
            let (block, list) = (even[0].clone(), log.clone());
            let (reads, writes) = ([block.var], [list.var]);
            let spec = OpSpec::new("look").reads(&reads).writes(&writes);
            engine.push_sync(&spec, move |_| {
                free(list.values.try_write()).push(block.get(WATCHED));
                Ok(())
            })?;
        }
    }
    engine.wait_for_all()?;
    let time = begin.elapsed();

    let (rod, seen) = serial(launches);
    let parallel = (0..rod.len()).map(|k| even[k / CELLS].get(k % CELLS));
    assert_eq!(parallel.collect::<Vec<f64>>(), rod);
    assert_eq!(*free(log.values.try_read()), seen);
    println!(
        "{launches} launches of {} operations: {:.1} us each; {:.3} degrees near the end at last",
        program.len(),
        time.as_secs_f64() * 1e6 / launches.max(1) as f64,
        seen.last().copied().unwrap_or(0.0)
    );
    Ok(())
}
