//! Where the largest or smallest element lies: argmax and argmin. The first of equals counts; NaN
//! counts as the extreme one.

use crate::api::axes::Axes;
use crate::api::check::{NUMBERS, arity, unsupported};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::copy::assign;
use crate::fold::sums::{Max, Min};
use crate::fold::{Rows, inner_block};
use crate::iter::reader::{Parts, ReadBuffer, Reader};
use crate::iter::walk::{Order, Walk};
use crate::loops::GRAIN;
use crate::par;
use crate::simd::body::PIECE;
use crate::simd::number::Number;
use crate::simd::vector::versions;
use ferromix_base::{DType, Error, Result};
use smallvec::SmallVec;

struct Arg {
    axes: Axes,
    least: bool,
}

impl Kernel for Arg {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let (data, out, req) = (&call.inputs[0], &call.outputs[0], call.reqs[0]);
        if req == Req::Null || out.is_empty() {
            return Ok(());
        }
        let mut places: SmallVec<[i64; 16]> = SmallVec::from_elem(0, out.len());
        match data.dtype() {
            DType::F64 => self.find::<f64>(data, &mut places),
            t if t.is_float() => self.find::<f32>(data, &mut places),
            _ => self.find::<i64>(data, &mut places),
        }
        assign(&View::of_slice(&mut places, out.shape())?, out, req)
    }
}

/// Columns that are searched side by side.
const TILE: usize = 256;

/// Rows that are counted in 32 bits, which vectors compare faster.
const ERA: usize = 1 << 31;

/// No row.
const NONE: u32 = u32::MAX;

/// Elements that stay in the first-level cache until the extreme one of them is found again.
const NEARBY: usize = 4096;

impl Arg {
    /// The places in rows without gaps between them.
    fn gapless<C: Number>(&self, all: &[C], places: &mut [i64]) {
        let n = all.len() / places.len();
        let (grain, shared) = ((GRAIN / n).max(1), Parts::new(places));
        par::for_ranges(all.len() / n, grain, |range| {
            // SAFETY: tasks have disjoint outputs.
            let places = unsafe { shared.part(range.start, range.len()) };
            let all = &all[range.start * n..range.end * n];
            if n > NEARBY {
                let rows = all.chunks(n).zip(places);
                return rows.for_each(|(row, place)| *place = self.long(row));
            }
            let first = all.as_ptr();
            let step = n as isize;
            short_rows(Rows { first, step, n }, places, self.least);
        });
    }

    /// The place in a long row.
    fn long<C: Number>(&self, row: &[C]) -> i64 {
        let (mut best, mut place) = (None, 0);
        for (i, part) in row.chunks(NEARBY).enumerate() {
            if let Some((x, at)) = better(part, best, self.least) {
                (best, place) = (Some(x), i * NEARBY + at);
            }
        }
        place as i64
    }

    fn find<C: Number>(&self, data: &View, places: &mut [i64]) {
        if let Ok(all) = data.read::<C>()
            && self.axes.reduced.is_sorted()
        {
            return self.gapless(all, places);
        }
        let walk = |reduced| {
            let (dims, strides) = self.axes.select(data, reduced);
            Walk::new(&dims, [&strides], Order::Kept)
        };
        let (kept, reduced) = (walk(false), walk(true));
        let search = Search {
            input: Reader::<C>::new(data),
            least: self.least,
        };
        let along = kept.inner_strides()[0].abs();
        let side_by_side = kept.inner() > 1 && along < reduced.inner_strides()[0].abs();
        let tile = if side_by_side {
            TILE.min(kept.inner())
        } else {
            1
        };
        let grain = (GRAIN / reduced.total.max(1) / tile).max(1);
        let (width, per_row) = (kept.inner(), kept.inner().div_ceil(tile));
        let shared = Parts::new(places);
        par::for_ranges(kept.total / width * per_row, grain, |range| {
            if !side_by_side {
                // SAFETY: tasks have disjoint outputs.
                let places = unsafe { shared.part(range.start, range.len()) };
                if search.rows(&kept, range.start, &reduced, places) {
                    return;
                }
            }
            for unit in range {
                let column = unit % per_row * tile;
                let n = tile.min(width - column);
                let start = unit / per_row * width + column;
                // SAFETY: units have disjoint outputs.
                let places = unsafe { shared.part(start, n) };
                if side_by_side {
                    search.columns(&kept, start, &reduced, places);
                } else {
                    places[0] = search.row(kept.cursor(start).place[0], &reduced) as i64;
                }
            }
        });
    }
}

/// Elements among which a place is searched at once.
const NEAR: usize = 64;

/// The first place of `x`, by value, or of NaN.
#[inline(always)]
fn find<C: Number>(run: &[C], x: C) -> usize {
    if x.is_nan() {
        return first_nan(run);
    }
    if run.len() <= PIECE {
        return first_of(run.iter().take(PIECE), x, PIECE);
    }
    // Whole chunks are tested without a branch per element; then all places of one are compared.
    let start = if run.len() > NEAR {
        let chunk = |c: &[C]| c.iter().fold(false, |any, y| any | (*y == x));
        run.chunks(NEAR).position(chunk).unwrap_or(0) * NEAR
    } else {
        0
    };
    start + first_of(run[start..].iter().take(NEAR), x, NEAR)
}

/// The first place of `x` among at most so many; without a branch per element.
#[inline(always)]
fn first_of<'a, C: Number>(all: impl Iterator<Item = &'a C>, x: C, most: usize) -> usize {
    let place = |first: u32, (y, i): (&C, u32)| first.min(if *y == x { i } else { most as u32 });
    all.zip(0_u32..).fold(most as u32, place) as usize % most
}

#[cold]
fn first_nan<C: Number>(run: &[C]) -> usize {
    run.iter().position(|y| y.is_nan()).unwrap_or(0)
}

/// The extreme one of a block, and its place.
#[inline(always)]
fn extreme<C: Number>(run: &[C], least: bool) -> C {
    if least {
        inner_block(run, Min)
    } else {
        inner_block(run, Max)
    }
}

#[inline(always)]
fn is_better<C: Number>(x: C, best: C, least: bool) -> bool {
    let beats = if least { x < best } else { x > best };
    beats || (x.is_nan() && !best.is_nan())
}

versions! {
    /// The extreme one of a block and its place, if it is better than `best`.
    fn better[C: Number](run: &[C], best: Option<C>, least: bool) -> Option<(C, usize)> [C] {
        let x = extreme(run, least);
        best.is_none_or(|best| is_better(x, best, least)).then(|| (x, find(run, x)))
    }
}

versions! {
    /// The places in rows that are no longer than [`NEARBY`].
    fn short_rows[C: Number](rows: Rows<C>, places: &mut [i64], least: bool) [C] {
        for (i, place) in places.iter_mut().enumerate() {
            let row = rows.get(i);
            *place = find(row, extreme(row, least)) as i64;
        }
    }
}

versions! {
    /// Takes what is better in `run`, which is row `row`, to `best`, and the row to `places`.
    fn improve[C: Number](best: &mut [C], places: &mut [u32], run: &[C], row: u32, least: bool) [C] {
        let n = best.len();
        let (places, run) = (&mut places[..n], &run[..n]);
        for i in 0..n {
            let (x, old) = (run[i], best[i]);
            let beats = if least { x < old } else { x > old };
            let better = beats | (x.is_nan() & !old.is_nan());
            best[i] = if better { x } else { old };
            places[i] = if better { row } else { places[i] };
        }
    }
}

struct Search<'a, C> {
    input: Reader<'a, C>,
    least: bool,
}

impl<C: Number> Search<'_, C> {
    /// The place of the extreme one of the positions of `reduced` at `offset`.
    fn row(&self, offset: isize, reduced: &Walk<1>) -> usize {
        let mut buffer = ReadBuffer::new();
        let mut best: Option<(C, usize)> = None;
        for start in (0..reduced.total).step_by(ReadBuffer::LEN) {
            let n = ReadBuffer::LEN.min(reduced.total - start);
            // SAFETY: positions of the two walks together lie within the view.
            let run = unsafe { self.input.read(offset, reduced, start, n, &mut buffer) };
            if let Some((x, place)) = better(run, best.map(|(x, _)| x), self.least) {
                best = Some((x, start + place));
            }
        }
        best.map_or(0, |(_, place)| place)
    }

    /// The places of rows of `kept` from `start` on, if their elements can be read where they are and
    /// are no more than a block.
    fn rows(&self, kept: &Walk<1>, start: usize, reduced: &Walk<1>, places: &mut [i64]) -> bool {
        let even = kept.dims.len() == 1 && reduced.dims.len() == 1 && reduced.strides[0] == [1];
        let Some(x) = self
            .input
            .plain::<C>()
            .filter(|_| even && reduced.total <= ReadBuffer::LEN)
        else {
            return false;
        };
        let place = kept.cursor(start).place[0] + reduced.offsets[0];
        let rows = Rows {
            first: x.wrapping_offset(place),
            step: kept.inner_strides()[0],
            n: reduced.total,
        };
        short_rows(rows, places, self.least);
        true
    }

    /// The places for the positions of `kept` from `start` on, which are in one row.
    fn columns(&self, kept: &Walk<1>, start: usize, reduced: &Walk<1>, places: &mut [i64]) {
        let n = places.len();
        let mut buffer = ReadBuffer::new();
        let mut best = [C::ZERO; TILE];
        let mut cursor = reduced.cursor(0);
        for era in (0..reduced.total).step_by(ERA) {
            let mut rows = [NONE; TILE];
            for row in era..reduced.total.min(era + ERA) {
                let [offset] = cursor.place;
                cursor.advance_in_row(1);
                // SAFETY: as above.
                let run = unsafe { self.input.read(offset, kept, start, n, &mut buffer) };
                if row == 0 {
                    best[..n].copy_from_slice(run);
                }
                improve(
                    &mut best[..n],
                    &mut rows[..n],
                    run,
                    (row - era) as u32,
                    self.least,
                );
            }
            for (place, &row) in places
                .iter_mut()
                .zip(&rows)
                .filter(|(_, row)| **row != NONE)
            {
                *place = era as i64 + i64::from(row);
            }
        }
    }
}

fn prepare(
    name: &str,
    least: bool,
    attrs: &Attrs,
    i: &[Desc],
    o: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let ([data], [out]) = arity(name, i, o)?;
    let mut axes = Axes::from_attrs(name, attrs, data.shape.len())?;
    if name == "argmax_channel" {
        axes.reduced
            .iter_mut()
            .enumerate()
            .for_each(|(a, r)| *r = a == 1);
    }
    crate::fold::axes::check_shapes(name, &axes, data, out)?;
    if data.dtype == DType::Bool {
        return Err(unsupported(name, data.dtype, &NUMBERS));
    }
    if axes.count(&data.shape) == 0 && out.shape.iter().all(|&d| d > 0) {
        return Err(Error::value(format!(
            "{name} of no elements is undefined: data has shape {:?}",
            data.shape
        )));
    }
    Ok(Box::new(Arg { axes, least }))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("argmax", |a, i, o| prepare("argmax", false, a, i, o)).strided(),
    Row::new("argmax_channel", |a, i, o| {
        prepare("argmax_channel", false, a, i, o)
    })
    .strided(),
    Row::new("argmin", |a, i, o| prepare("argmin", true, a, i, o)).strided(),
];
