//! A blocked Cholesky factorisation: dense linear algebra as operations on tiles.
//!
//! Each tile of the matrix has a variable. The loops below push the operations of the textbook's
//! right-looking algorithm in its serial order; which of them run at once follows from the tiles
//! that they read and write, and nobody writes that down.
//! A matrix that is not positive definite fails in one operation, and the wait returns its error.
//!
//! usage: `cholesky [TILES]`, by default 12 rows of tiles of 128 by 128. Prints GFLOP/s with one and
//! with two workers, and compares entries of L times its transpose with the matrix.

use std::cell::RefCell;
use std::error::Error;
use std::time::Instant;

use ferromix_engine::{Data, Engine, OpError, OpSpec, ReadGuard, WaitError};

/// Rows and columns of a tile.
const SIZE: usize = 128;

/// A square tile of the matrix, by rows.
type Tile = Data<Vec<f64>>;

/// The entries of the example's matrix: symmetric, and so heavy on its diagonal that it is positive
/// definite.
fn entry(row: usize, column: usize, order: usize) -> f64 {
    let (low, high) = (row.min(column) as u64, row.max(column) as u64);
    let mixed = (high << 32 | low).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let random = (mixed >> 40) as f64 / (1_u64 << 24) as f64 - 0.5;
    random + if row == column { order as f64 } else { 0.0 }
}

/// Where a tile at or below the diagonal is, row by row.
fn place(row: usize, column: usize) -> usize {
    row * (row + 1) / 2 + column
}

/// The lower triangle of a symmetric matrix, or its factor.
struct Matrix {
    order: usize,
    tiles: Vec<Tile>,
}

impl Matrix {
    fn new(engine: &Engine, order: usize) -> Self {
        let make = |(row, column)| {
            let value = |k| entry(row * SIZE + k / SIZE, column * SIZE + k % SIZE, order);
            engine.data((0..SIZE * SIZE).map(value).collect())
        };
        let pairs = (0..order / SIZE).flat_map(|row| (0..=row).map(move |column| (row, column)));
        let tiles = pairs.map(make).collect();
        Self { order, tiles }
    }

    /// Pushes the operations that turn the matrix into its factor, and waits for them.
    fn factorise(&self, engine: &Engine) -> Result<(), Box<dyn Error>> {
        let rows = self.order / SIZE;
        let tile = |row, column| self.tiles[place(row, column)].clone();
        for k in 0..rows {
            let diagonal = tile(k, k);
            let vars = [diagonal.var()];
            let spec = OpSpec::new("potrf").writes(&vars).priority(1);
            engine.push_sync(&spec, move |context| potrf(&mut context.write(&diagonal)?))?;
            for i in k + 1..rows {
                let (l, a) = (tile(k, k), tile(i, k));
                let (reads, writes) = ([l.var()], [a.var()]);
                let spec = OpSpec::new("trsm").reads(&reads).writes(&writes);
                engine.push_sync(&spec.priority(1), move |context| {
                    trsm(&context.read(&l)?, &mut context.write(&a)?);
                    Ok(())
                })?;
            }
            for (i, j) in (k + 1..rows).flat_map(|i| (k + 1..=i).map(move |j| (i, j))) {
                let (a, b, c) = (tile(i, k), tile(j, k), tile(i, j));
                let (reads, writes) = ([a.var(), b.var()], [c.var()]);
                let spec = OpSpec::new("gemm").reads(&reads).writes(&writes);
                engine.push_sync(&spec, move |context| {
                    let (a, b) = (context.read(&a)?, context.read(&b)?);
                    gemm(&a, &b, &mut context.write(&c)?);
                    Ok(())
                })?;
            }
        }
        Ok(engine.wait_for_all()?)
    }

    /// A look at all tiles.
    fn read(&self) -> Result<Vec<ReadGuard<'_, Vec<f64>>>, WaitError> {
        self.tiles.iter().map(Data::read).collect()
    }
}

/// Factorises a tile on the diagonal.
fn potrf(a: &mut [f64]) -> Result<(), OpError> {
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    for row in 0..SIZE {
        let (above, here) = a.split_at_mut(row * SIZE);
        for (j, above) in above.chunks_exact(SIZE).enumerate() {
            here[j] = (here[j] - dot(&here[..j], &above[..j])) / above[j];
        }
        let rest = here[row] - dot(&here[..row], &here[..row]);
        if rest <= 0.0 {
            return Err(format!("not positive definite: {rest} left in row {row}").into());
        }
        here[row] = rest.sqrt();
    }
    Ok(())
}

/// `a := a * transpose(inverse(l))`.
fn trsm(l: &[f64], a: &mut [f64]) {
    transposed(l, |across| {
        for row in a.chunks_exact_mut(SIZE) {
            for j in 0..SIZE {
                let from = &across[j * SIZE..][..SIZE];
                let x = row[j] / from[j];
                row[j] = x;
                for (value, l) in row[j + 1..].iter_mut().zip(&from[j + 1..]) {
                    *value -= x * l;
                }
            }
        }
    });
}

/// `c := c - a * transpose(b)`, by four rows at a time, to load and store `c` less often.
fn gemm(a: &[f64], b: &[f64], c: &mut [f64]) {
    transposed(b, |across| {
        for (a, c) in a.chunks_exact(SIZE).zip(c.chunks_exact_mut(SIZE)) {
            for (a, rows) in a.chunks_exact(4).zip(across.chunks_exact(4 * SIZE)) {
                let r: [&[f64]; 4] = std::array::from_fn(|k| &rows[k * SIZE..][..SIZE]);
                for (j, c) in c.iter_mut().enumerate() {
                    *c -= a[0] * r[0][j] + a[1] * r[1][j] + a[2] * r[2][j] + a[3] * r[3][j];
                }
            }
        }
    });
}

/// Calls `f` with the transposed tile, in memory of the thread.
fn transposed(tile: &[f64], f: impl FnOnce(&[f64])) {
    thread_local!(static SCRATCH: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) });
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.resize(SIZE * SIZE, 0.0);
        for (k, value) in tile.iter().enumerate() {
            scratch[k % SIZE * SIZE + k / SIZE] = *value;
        }
        f(scratch);
    });
}

/// The largest difference between entries of the matrix and of L times its transpose, relative to
/// the diagonal.
fn residual(factor: &Matrix) -> Result<f64, WaitError> {
    let (order, tiles) = (factor.order, factor.read()?);
    let get = |row, column| {
        let tile = &tiles[place(row / SIZE, column / SIZE)];
        tile[row % SIZE * SIZE + column % SIZE]
    };
    let pairs = (0..order).step_by(37);
    let pairs = pairs.flat_map(|i| (0..=i).step_by(29).map(move |j| (i, j)));
    let errors = pairs.map(|(i, j)| {
        let product: f64 = (0..=j).map(|k| get(i, k) * get(j, k)).sum();
        (product - entry(i, j, order)).abs() / order as f64
    });
    Ok(errors.fold(0.0, f64::max))
}

fn main() -> Result<(), Box<dyn Error>> {
    let tiles = std::env::args().nth(1).map_or(Ok(12), |text| text.parse());
    let order = SIZE * tiles?.max(1);
    let mut rates = Vec::new();
    for workers in [1, 2] {
        let engine = Engine::builder().workers(workers).build();
        let mut best = f64::INFINITY;
        for _ in 0..3 {
            let matrix = Matrix::new(&engine, order);
            let begin = Instant::now();
            matrix.factorise(&engine)?;
            best = best.min(begin.elapsed().as_secs_f64());
            assert!(residual(&matrix)? < 1e-14);
        }
        rates.push((order as f64).powi(3) / 3e9 / best);
        println!("workers: {workers}, GFLOP/s: {:.1}", rates[workers - 1]);
    }
    println!("speed-up: {:.2}", rates[1] / rates[0]);
    Ok(())
}
