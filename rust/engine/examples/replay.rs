//! A program replayed in a loop: heat spreading along a rod, in blocks that depend on their
//! neighbours. Each launch is one time step of all blocks; the engine runs blocks in parallel, and
//! lets a block begin its next step as soon as its neighbours have made theirs.

use std::sync::{Arc, Mutex, PoisonError};

use ferromix_engine::{Engine, OpSpec, Program, Var};

const BLOCKS: usize = 8;
const CELLS: usize = 1000;
const STEPS: usize = 500;

/// Old and new temperatures of one block. The engine orders the accesses; the lock is never waited
/// for.
type Block = Arc<Mutex<Vec<f64>>>;

fn read(block: &Block, cell: usize) -> f64 {
    block.lock().unwrap_or_else(PoisonError::into_inner)[cell]
}

/// New temperatures of a block from old ones; the ends of the rod are kept at 1 and 0.
fn spread(old: &[f64], left: f64, right: f64) -> Vec<f64> {
    let at = |k: isize| match k {
        -1 => left,
        k => old.get(k as usize).copied().unwrap_or(right),
    };
    (0..old.len() as isize)
        .map(|k| at(k) + 0.25 * (at(k - 1) - 2.0 * at(k) + at(k + 1)))
        .collect()
}

/// One half step: every block of `to` from three blocks of `from`.
fn half_step(
    mut builder: ferromix_engine::ProgramBuilder,
    (from, from_vars): (&[Block], &[Var]),
    (to, to_vars): (&[Block], &[Var]),
) -> ferromix_engine::ProgramBuilder {
    for k in 0..BLOCKS {
        let reads = &from_vars[k.saturating_sub(1)..BLOCKS.min(k + 2)];
        let (left, here, right) = (
            k.checked_sub(1).map(|k| from[k].clone()),
            from[k].clone(),
            from.get(k + 1).cloned(),
        );
        let target = to[k].clone();
        let spec = OpSpec::new("spread").reads(reads).writes(&to_vars[k..=k]);
        builder = builder.op(&spec, move |_| {
            let left = left.as_ref().map_or(1.0, |block| read(block, CELLS - 1));
            let right = right.as_ref().map_or(0.0, |block| read(block, 0));
            let old = here.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let new = spread(&old, left, right);
            *target.lock().unwrap_or_else(PoisonError::into_inner) = new;
            Ok(())
        });
    }
    builder
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::builder().build();
    let blocks = || -> Vec<Block> {
        (0..BLOCKS)
            .map(|_| Arc::new(Mutex::new(vec![0.0; CELLS])))
            .collect()
    };
    let vars = || -> Vec<Var> { (0..BLOCKS).map(|_| engine.new_variable()).collect() };
    let (a, b, a_vars, b_vars) = (blocks(), blocks(), vars(), vars());
    let builder = Program::builder("two steps");
    let builder = half_step(builder, (&a, &a_vars), (&b, &b_vars));
    let program = half_step(builder, (&b, &b_vars), (&a, &a_vars)).build();
    for _ in 0..STEPS / 2 {
        engine.launch(&program)?;
    }
    engine.wait_for_all()?;

    // The same, serially.
    let mut rod = vec![0.0; BLOCKS * CELLS];
    for _ in 0..STEPS {
        rod = spread(&rod, 1.0, 0.0);
    }
    let parallel: Vec<f64> = (0..BLOCKS * CELLS)
        .map(|k| read(&a[k / CELLS], k % CELLS))
        .collect();
    assert_eq!(parallel, rod);
    println!("temperature beside the hot end: {:.6}", rod[0]);
    Ok(())
}
