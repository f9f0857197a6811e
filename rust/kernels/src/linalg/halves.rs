//! Products of matrices of bfloat16, by the products of [pairs](crate::linalg::pairs): what is multiplied
//! are matrices of pairs of half the depth, what is summed is single, and results are rounded once.

mod by_unit;

use crate::api::Req;
use crate::blocks::aligned::Aligned;
use crate::blocks::blockwise::store;
use crate::blocks::raw::{Source, Target};
use crate::linalg::amx;
use crate::linalg::ends::Start;
use crate::linalg::gemm::{Operand, runs_along, tile};
use crate::linalg::packed::{self, Right};
use crate::linalg::pairs::{PAIR, pair};
use crate::linalg::rows_dot::{self, Table, pair_table};
use crate::linalg::tile::{Tiled, Tiles, pair_tiles};
use crate::par;
use crate::simd::vector::multiversion;
use ferromix_base::bf16;

/// Elements that a task moves.
const GRAIN: usize = 1 << 15;

/// The loops for products of pairs on this CPU.
enum Way {
    Tiles(Tiles<f32>),
    Rows(&'static Table<f32>),
}

/// How a product of these sizes goes, if it goes by pairs; `along` says whether both operands run along the
/// contracted axis.
fn way((m, n, k): (usize, usize, usize), along: bool) -> Option<Way> {
    let pairs = k.div_ceil(PAIR);
    if packed::pays::<f32>((m, n, pairs)) {
        pair_tiles().map(Way::Tiles)
    } else if along {
        pair_table().map(Way::Rows)
    } else {
        None
    }
}

/// Whether a product of these sizes goes by the matrix unit.
fn goes_by_unit((m, n, k): (usize, usize, usize)) -> bool {
    packed::pays::<f32>((m, n, k.div_ceil(PAIR))) && amx::there()
}

/// Whether [`product`] takes a product of these sizes.
pub(crate) fn takes(
    size: (usize, usize, usize),
    a: Operand<'_, bf16>,
    b: Operand<'_, bf16>,
) -> bool {
    way(size, runs_along(a, b, size)).is_some()
}

/// Numbers of a packed `B` for [`product`]; none where it is taken as it lies.
pub(crate) fn packed_size((m, n, k): (usize, usize, usize)) -> usize {
    let pairs = k.div_ceil(PAIR);
    match way((m, n, k), false) {
        Some(_) if goes_by_unit((m, n, k)) => by_unit::size((n, pairs)),
        Some(Way::Tiles(tiles)) => packed::size(tiles, (n, pairs)),
        Some(Way::Rows(_)) | None => 0,
    }
}

/// Packs a `B` of so many columns and rows.
pub(crate) fn pack((n, k): (usize, usize), b: Operand<'_, bf16>, to: &mut [f32]) {
    let mut room = Aligned::default();
    let b = in_pairs(b.transposed(), (n, k), &mut room).transposed();
    let size = (n, k.div_ceil(PAIR));
    if amx::there() {
        by_unit::pack(size, b, to);
    } else if let Some(tiles) = pair_tiles() {
        packed::pack(tiles, size, b, to);
    }
    f32::return_room(room);
}

/// `C = A B` plus a row, or `C += A B` plus a row where `req` says so, for a row-major `C` of `n` columns;
/// `B` may be packed. Whether it was done: as [`takes`] says.
///
/// # Panics
/// Operands that are too short, which is a fault of the caller.
pub(crate) fn product(
    (m, n, k): (usize, usize, usize),
    a: Operand<'_, bf16>,
    (b, packed): (Operand<'_, bf16>, Option<&[f32]>),
    row: Option<&[f32]>,
    (c, req): (&mut [bf16], Req),
) -> bool {
    let Some(way) = way((m, n, k), runs_along(a, b, (m, n, k))) else {
        return false;
    };
    if m == 0 || n == 0 {
        return true;
    }
    assert!(a.fits(m, k) && b.fits(k, n) && c.len() >= m * n);
    assert!(row.is_none_or(|row| row.len() >= n));
    let mut rooms = (Aligned::default(), Aligned::default());
    let pairs = k.div_ceil(PAIR);
    let a = in_pairs(a, (m, k), &mut rooms.0);
    let lies = match packed {
        // Not looked at.
        Some(_) => Operand::new(&[], 0).transposed(),
        None => in_pairs(b.transposed(), (n, k), &mut rooms.1).transposed(),
    };
    if goes_by_unit((m, n, k)) {
        let mut room = Aligned::default();
        let packed = packed.unwrap_or_else(|| {
            room = f32::borrow_room(by_unit::size((n, pairs)));
            by_unit::pack((n, pairs), lies, &mut room);
            &room
        });
        by_unit::product((m, n, pairs), a, packed, row, (c, req));
        [rooms.0, rooms.1, room]
            .into_iter()
            .for_each(f32::return_room);
        return true;
    }
    let mut sums = f32::borrow_room(m * n);
    let from = match row {
        Some(row) => Start::Rows(Source::of_slice(row), 0, 0),
        None => Start::Zero,
    };
    let target = Target::of_slice(&mut sums[..m * n]);
    match way {
        // SAFETY: all of the sums are ours, and large enough; so is the row.
        Way::Tiles(tiles) => unsafe {
            let b = Right { lies, packed };
            packed::product(tiles, (m, n, pairs), a, b, from, (target, 0, n));
        },
        Way::Rows(table) => rows(table, (m, n, pairs), (a, lies), row, target),
    }
    let c = Target::of_slice(c);
    par::for_ranges(m * n, GRAIN, |range| {
        // SAFETY: each task has its own elements, and nobody writes the sums any more.
        unsafe { round(target.read(range.clone()), c.slice(range), req) };
    });
    for room in [rooms.0, rooms.1, sums] {
        f32::return_room(room);
    }
    true
}

multiversion! {
    fn round<>(sums: &[f32], to: &mut [bf16], req: Req) {
        store::<bf16>(sums, to, req);
    }
}

/// The product of rows with rows, in tasks of its own.
fn rows(
    table: &Table<f32>,
    (m, n, k): (usize, usize, usize),
    (a, b): (Operand<'_, f32>, Operand<'_, f32>),
    row: Option<&[f32]>,
    c: Target<f32>,
) {
    let (high, wide) = tile(m, n, k);
    let across = n.div_ceil(wide);
    par::for_each(m.div_ceil(high) * across, |task| {
        let (i, j) = (task / across * high, task % across * wide);
        let (mt, nt) = (high.min(m - i), wide.min(n - j));
        for line in i..i + mt {
            // SAFETY: these rows and columns belong to this task.
            let to = unsafe { c.slice(line * n + j..line * n + j + nt) };
            match row {
                Some(row) => to.copy_from_slice(&row[j..j + nt]),
                None => to.fill(0.0),
            }
        }
        let (a, b) = (a.from(i, 0), b.from(0, j));
        let operands = ((a.data, a.rows), (b.data, b.cols));
        // SAFETY: as above.
        unsafe {
            let c = (c.at(i * n + j), n);
            rows_dot::product(table, (mt, nt, k), (1.0, 1.0), operands.0, operands.1, c);
        }
    });
}

/// Rows of so many elements in pairs: as they lie where that is what they do, else in `room`.
fn in_pairs<'a>(
    x: Operand<'a, bf16>,
    (lines, k): (usize, usize),
    room: &'a mut Aligned<f32>,
) -> Operand<'a, f32> {
    let pairs = k.div_ceil(PAIR);
    // SAFETY: any bits are a number, which is moved and not computed with.
    let (before, words, _) = unsafe { x.data.align_to::<f32>() };
    let even = k.is_multiple_of(PAIR) && (lines < 2 || x.rows.is_multiple_of(PAIR));
    if x.cols == 1 && even && before.is_empty() {
        return Operand::new(words, x.rows / PAIR);
    }
    *room = f32::borrow_room(lines * pairs);
    let to = Target::of_slice(&mut room[..lines * pairs]);
    if x.rows == 1 {
        par::for_ranges(pairs, GRAIN / lines.max(1), |range| {
            for p in range {
                // SAFETY: each pair of columns belongs to one task.
                let to = unsafe { to.slice(p * lines..(p + 1) * lines) };
                let first = &x.data[p * PAIR * x.cols..][..lines];
                match x.data.get((p * PAIR + 1) * x.cols..) {
                    Some(second) if p * PAIR + 1 < k => side_by_side(first, &second[..lines], to),
                    _ => to
                        .iter_mut()
                        .zip(first)
                        .for_each(|(o, &x)| *o = pair(x, bf16::ZERO)),
                }
            }
        });
        return Operand::new(&room[..lines * pairs], lines).transposed();
    }
    par::for_ranges(lines, GRAIN / k.max(1), |range| {
        for line in range {
            // SAFETY: each line belongs to one task.
            let to = unsafe { to.slice(line * pairs..(line + 1) * pairs) };
            let at = |i: usize| if i < k { x.at(line, i) } else { bf16::ZERO };
            for (p, to) in to.iter_mut().enumerate() {
                *to = pair(at(p * PAIR), at(p * PAIR + 1));
            }
        }
    });
    Operand::new(&room[..lines * pairs], pairs)
}

multiversion! {
    /// Pairs of what stands at the same places.
    pub(crate) fn side_by_side<>(first: &[bf16], second: &[bf16], to: &mut [f32]) {
        for ((to, &a), &b) in to.iter_mut().zip(first).zip(second) {
            *to = pair(a, b);
        }
    }
}
