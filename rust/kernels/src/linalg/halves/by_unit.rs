//! Products of matrices of pairs by the [matrix unit](crate::linalg::amx). `B` is packed in panels of [`WIDTH`]
//! columns, the last one with zeros behind its own; `A` is read where it lies.

use crate::api::Req;
use crate::blocks::aligned::Aligned;
use crate::blocks::blockwise::store;
use crate::blocks::raw::Target;
use crate::copy::transpose::transpose;
use crate::linalg::amx::{Factors, ROWS, Unit, WORDS};
use crate::linalg::gemm::Operand;
use crate::linalg::tile::Tiled;
use crate::par;
use crate::simd::vector::multiversion;
use ferromix_base::bf16;

/// Columns of a panel.
const WIDTH: usize = 2 * WORDS;
/// Rows that are multiplied together, and those of a task.
const TOGETHER: usize = 2 * ROWS;
const CHUNK: usize = 4 * TOGETHER;
/// Products of pairs that are worth a task.
const TASK: usize = 1 << 21;
/// Words that a task packs, at least.
const PACKED: usize = 1 << 14;

/// Words of a packed `B` of so many columns and rows of pairs.
pub(super) fn size((n, pairs): (usize, usize)) -> usize {
    n.next_multiple_of(WIDTH) * pairs
}

/// Packs a `B` of so many columns and rows of pairs, of which the columns or the rows are without gaps.
pub(super) fn pack((n, pairs): (usize, usize), b: Operand<'_, f32>, to: &mut [f32]) {
    let panel = WIDTH * pairs;
    let to = Target::of_slice(to);
    par::for_ranges(
        n.div_ceil(WIDTH),
        (PACKED / panel.max(1)).max(1),
        |panels| {
            for i in panels {
                // SAFETY: panels belong to one task each.
                let to = unsafe { to.slice(i * panel..(i + 1) * panel) };
                let (first, count) = (i * WIDTH, WIDTH.min(n - i * WIDTH));
                if count < WIDTH {
                    to.fill(0.0);
                }
                let from = b.from(0, first);
                if b.rows == 1 {
                    transpose((from.data, b.cols), (pairs, count), (&mut *to, WIDTH));
                    continue;
                }
                for (p, row) in to.chunks_exact_mut(WIDTH).enumerate() {
                    let from = from.from(p, 0).data.iter().step_by(b.cols.max(1));
                    row.iter_mut()
                        .zip(from)
                        .take(count)
                        .for_each(|(to, &x)| *to = x);
                }
            }
        },
    );
}

/// `C = A B` plus a row, or `C += A B` plus a row where `req` says so, for a row-major `C` of `n` columns and a packed
/// `B`, on a CPU that has the unit.
pub(super) fn product(
    (m, n, pairs): (usize, usize, usize),
    a: Operand<'_, f32>,
    packed: &[f32],
    row: Option<&[f32]>,
    (c, req): (&mut [bf16], Req),
) {
    let mut room = Aligned::default();
    let a = lines(a, (m, pairs), &mut room);
    assert!(a.fits(m, pairs) && packed.len() >= size((n, pairs)) && c.len() >= m * n);
    let steps: Vec<usize> = (0..pairs / WORDS).map(|i| i * WORDS).collect();
    let (chunks, panels) = (m.div_ceil(CHUNK), n.div_ceil(WIDTH));
    let work = WIDTH * pairs * m.min(CHUNK);
    let grain = (TASK / work.max(1)).clamp(1, panels.max(1));
    let groups = panels.div_ceil(grain);
    let c = Target::of_slice(c);
    par::for_each(chunks * groups, |task| {
        let (chunk, group) = (task / groups, task % groups);
        let Some(mut unit) = Unit::take() else { return };
        let mut sums = [0.0; TOGETHER * WIDTH];
        for panel in group * grain..panels.min((group + 1) * grain) {
            let b = &packed[panel * WIDTH * pairs..(panel + 1) * WIDTH * pairs];
            let first = panel * WIDTH;
            let count = WIDTH.min(n - first);
            for top in (chunk * CHUNK..m.min((chunk + 1) * CHUNK)).step_by(TOGETHER) {
                let rows = TOGETHER.min(m - top);
                multiply(
                    &mut unit,
                    (a.from(top, 0), rows),
                    (b, pairs),
                    &steps,
                    &mut sums,
                );
                for (r, sums) in sums.chunks_exact_mut(WIDTH).take(rows).enumerate() {
                    let at = (top + r) * n + first;
                    // SAFETY: these rows and columns belong to one task.
                    let to = unsafe { c.slice(at..at + count) };
                    let row = row.map(|row| &row[first..first + count]);
                    finish(&mut sums[..count], row, to, req);
                }
            }
        }
    });
    f32::return_room(room);
}

/// The sums of some rows with a panel.
fn multiply(
    unit: &mut Unit,
    (a, rows): (Operand<'_, f32>, usize),
    (b, pairs): (&[f32], usize),
    steps: &[usize],
    sums: &mut [f32; TOGETHER * WIDTH],
) {
    let whole = pairs / WORDS * WORDS;
    let second = a.from(ROWS, 0).data.as_ptr();
    let mut factors = Factors {
        a: [
            (a.data.as_ptr().cast(), rows.min(ROWS)),
            (second.cast(), rows.saturating_sub(ROWS)),
        ],
        step: a.rows * size_of::<f32>(),
        taps: steps,
        pairs: WORDS,
        b: b.as_ptr(),
        columns: WIDTH,
    };
    // SAFETY: `A` has these rows, of so many pairs, and `B` has a row for each; there is room for all sums.
    unsafe {
        unit.multiply(&factors, false, sums.as_mut_ptr());
        if whole < pairs {
            factors.taps = std::slice::from_ref(&whole);
            factors.pairs = pairs - whole;
            factors.b = b[whole * WIDTH..].as_ptr();
            unit.multiply(&factors, true, sums.as_mut_ptr());
        }
    }
}

/// Rows of pairs without gaps: as they lie, or in `room`.
fn lines<'a>(
    a: Operand<'a, f32>,
    (m, pairs): (usize, usize),
    room: &'a mut Aligned<f32>,
) -> Operand<'a, f32> {
    if a.cols == 1 || pairs < 2 {
        return a;
    }
    *room = f32::borrow_room(m * pairs);
    let to = Target::of_slice(&mut room[..m * pairs]);
    par::for_ranges(m, (PACKED / pairs).max(1), |rows| {
        let (first, count) = (rows.start, rows.len());
        // SAFETY: rows belong to one task each.
        let to = unsafe { to.slice(first * pairs..(first + count) * pairs) };
        if a.rows == 1 {
            transpose((&a.data[first..], a.cols), (count, pairs), (to, pairs));
            return;
        }
        for (i, to) in to.iter_mut().enumerate() {
            *to = a.at(first + i / pairs, i % pairs);
        }
    });
    Operand::new(&room[..m * pairs], pairs)
}

multiversion! {
    /// Rounds a row of sums, to which another one is added.
    fn finish<>(sums: &mut [f32], row: Option<&[f32]>, to: &mut [bf16], req: Req) {
        if let Some(row) = row {
            sums.iter_mut().zip(row).for_each(|(sum, &x)| *sum += x);
        }
        store::<bf16>(sums, to, req);
    }
}
