//! The gradient of a convolution's weights: the product of the matrix that the taps read with the
//! transposed gradient of the output, summed over positions. One of the two is read where it lies, and the
//! other is turned, so that vectors hold its rows. The batch is cut into a fixed number of parts with a
//! partial sum each.

use super::ahead::Ahead;
use super::apply::Apply;
use super::direct::{Direct, Sums, Taps};
use super::field::Run;
use super::gather::take_every;
use super::geometry::Geometry;
use super::plan;
use super::winograd::sums::WinogradSums;
use crate::api::Req;
use crate::blocks::blockwise;
use crate::blocks::raw::{Target, scratch_bytes};
use crate::copy::transpose::transpose;
use crate::linalg::tile::{Tiles, tile_rows};
use crate::math::real::Real;
use crate::par;
use crate::simd::vector::multiversion;
use std::ops::Range;

/// Positions that are worked on at a time, at most.
const POSITIONS: usize = 512;
/// Rows of sums of a task, at most: what they read at the positions of a block stays in the second-level cache
/// for all panels.
const ROWS: usize = 256;
/// Parts to aim for.
const PARTS: usize = 16;
/// Tasks of each thread to aim for, on several.
const TASKS: usize = 4;
/// Columns whose partial sums are added up together.
const COLUMNS: usize = 16;
/// Numbers that partial sums may take.
const PARTIALS: usize = 1 << 18;
/// Bytes of a block that lies, of which the cache is told before.
const NEAR: usize = 1 << 19;

/// The sums; `apply` is the product of the forward pass.
#[derive(Clone, Debug)]
pub(crate) struct WeightSums {
    pub(crate) apply: Apply,
    /// Another way to the same, of single precision.
    pub(super) winograd: Option<WinogradSums>,
}

/// Rows and columns of the sums of a group, and how they are cut into tasks.
struct Cuts {
    rows: usize,
    columns: usize,
    /// Columns with the rest of the last panel.
    padded: usize,
    /// Parts of the batch.
    parts: usize,
    /// Panels of columns that a task sums.
    panels: usize,
    /// Rows that a task sums.
    some: usize,
}

/// One factor: what its rows have at each position.
#[derive(Clone, Copy)]
struct Side<'a, T> {
    data: &'a [T],
    /// Where rows are, from the place of a position.
    rows: &'a [usize],
    /// Distance between neighbouring positions.
    step: usize,
}

multiversion! {
    /// Puts what the rows have at the positions of `runs` side by side, in rows that are so far apart.
    fn line_up<T: Real>(data: &[T], rows: &[usize], step: usize, runs: &[Run], apart: usize, to: &mut [T]) {
        for (&row, to) in rows.iter().zip(to.chunks_exact_mut(apart)) {
            for run in runs {
                let span = (run.len - 1) * step + 1;
                take_every(step, &data[run.source + row..][..span], &mut to[run.at..]);
            }
        }
    }
}

impl<T: Direct> Side<'_, T> {
    /// Turns some rows, which are equally far apart, into columns of a panel. What is not read as it lies is
    /// lined up first.
    fn turn(&self, rows: Range<usize>, (runs, n): (&[Run], usize), width: usize, room: &mut [T]) {
        let (rows, count) = (&self.rows[rows.clone()], rows.len());
        let (panel, lined) = room.split_at_mut(width * POSITIONS);
        if self.step > 1 {
            line_up(self.data, rows, self.step, runs, n, lined);
            return transpose((lined, n), (n, count), (panel, width));
        }
        let apart = rows.get(1).map_or(0, |second| second - rows[0]);
        for run in runs {
            let from = &self.data[run.source + rows[0]..];
            transpose(
                (from, apart),
                (run.len, count),
                (&mut panel[run.at * width..], width),
            );
        }
    }
}

/// What the head has at the positions of `runs`, as runs of its own, which go over the ends of rows.
fn joined(runs: &[Run], out: &mut Vec<Run>) {
    out.clear();
    for run in runs {
        match out.last_mut() {
            Some(last) if last.source + last.len == run.target => last.len += run.len,
            _ => out.push(Run {
                source: run.target,
                ..*run
            }),
        }
    }
}

impl WeightSums {
    pub(crate) fn new(g: &Geometry) -> Self {
        WeightSums {
            apply: plan::forward(g),
            winograd: WinogradSums::of(g),
        }
    }

    /// Whether rows of the sums are filters, and columns are taps, which are turned: where that is the lesser
    /// work, and they are equally far apart.
    fn by_filters(&self) -> bool {
        self.apply.taps.are_single() && self.apply.taps.len() <= self.apply.rows
    }

    fn cuts<T: Direct>(&self) -> Cuts {
        let a = &self.apply;
        let (mut rows, mut columns) = (a.taps.len(), a.rows);
        if self.by_filters() {
            (rows, columns) = (columns, rows);
        }
        let width = tiles::<T>(columns).width;
        let most = PARTIALS / (rows * columns * a.groups).max(1);
        let parts = PARTS.min(most).clamp(1, a.grid.batch.max(1));
        let all = columns.div_ceil(width);
        let down = rows.div_ceil(ROWS).max(1);
        let wanted = match par::threads() {
            1 => 1,
            threads => threads * TASKS,
        };
        let across = wanted.div_ceil(parts * a.groups * down);
        Cuts {
            rows,
            columns,
            padded: all * width,
            parts,
            panels: all.div_ceil(across).max(1),
            some: rows.div_ceil(down).max(1),
        }
    }

    /// Scratch numbers for the partial sums.
    pub(crate) fn partials<T: Direct>(&self) -> usize {
        let cuts = self.cuts::<T>();
        cuts.parts * self.apply.groups * cuts.rows * cuts.padded
    }

    /// Scratch numbers of one thread.
    pub(crate) fn per_thread<T: Direct>(&self) -> usize {
        let panels = 1 + usize::from(self.by_filters() && self.apply.grid.source[2] > 1);
        scratch_bytes::<T>(panels * POSITIONS * T::tiles().width) / size_of::<T>()
    }

    /// Sums the gradient into `out`, `[groups * filters, weights of a filter]`.
    pub(crate) fn run<T: Direct>(
        &self,
        (source, head): (&[T], &[T]),
        partials: &mut [T],
        threads: &mut [T],
        out: &mut [T],
        req: Req,
    ) {
        let (a, cuts) = (&self.apply, self.cuts::<T>());
        let filters: Vec<usize> = (0..a.rows).map(|f| f * a.target_row).collect();
        let whole = cuts.parts == 1 && cuts.padded == cuts.columns && a.grid.len() > 0;
        let straight = whole && self.by_filters() && req != Req::Add;
        let each = self.per_thread::<T>();
        let threads = Target::of_slice(threads);
        let target = Target::of_slice(if straight { &mut *out } else { &mut *partials });
        if a.grid.len() == 0 {
            // SAFETY: nobody uses them meanwhile.
            unsafe { target.slice(0..target.len()) }.fill(T::ZERO);
        }
        let width = tiles::<T>(cuts.columns).width;
        let across = cuts.padded / width;
        let (across, down) = (across.div_ceil(cuts.panels), cuts.rows.div_ceil(cuts.some));
        par::for_each_slot(cuts.parts * a.groups * across * down, |slot, task| {
            let (first, cut) = (task / down / across, task / down % across);
            let (part, group) = (first / a.groups, first % a.groups);
            let row = task % down * cuts.some;
            let columns =
                cut * cuts.panels * width..cuts.padded.min((cut + 1) * cuts.panels * width);
            // SAFETY: tasks that run at the same time have different slots.
            let room = unsafe { threads.slice(slot * each..(slot + 1) * each) };
            let taps = Side {
                data: source.get(group * a.source_group..).unwrap_or(&[]),
                rows: &a.taps,
                step: a.grid.source[2],
            };
            let head = Side {
                data: head.get(group * a.target_group..).unwrap_or(&[]),
                rows: &filters,
                step: 1,
            };
            let sides = if self.by_filters() {
                [head, taps]
            } else {
                [taps, head]
            };
            let rows = row..cuts.rows.min(row + cuts.some);
            let to = (target, first * cuts.rows * cuts.padded, cuts.padded);
            // SAFETY: each task has its own rows and columns of its own part.
            unsafe { self.part(part, sides, (rows, columns), room, to) };
        });
        if !straight {
            self.collect(partials, out, req);
        }
    }

    /// The positions of a part of the batch.
    fn positions(&self, part: usize, parts: usize) -> Range<usize> {
        let grid = &self.apply.grid;
        let each = grid.len() / grid.batch.max(1);
        part * grid.batch / parts * each..(part + 1) * grid.batch / parts * each
    }

    /// Sums some rows and columns over one part of the batch, into a matrix that begins at a place, with so
    /// much from row to row. A block of positions begins with zero, and its sums are added to those before.
    ///
    /// # Safety
    /// Nobody else uses these rows and columns of the matrix meanwhile.
    unsafe fn part<T: Direct>(
        &self,
        part: usize,
        [lying, turned]: [Side<'_, T>; 2],
        (rows, columns): (Range<usize>, Range<usize>),
        room: &mut [T],
        (to, place, stride): (Target<T>, usize, usize),
    ) {
        let loops = T::loops();
        let cuts = self.cuts::<T>();
        let tiles = tiles::<T>(cuts.columns);
        let positions = self.positions(part, cuts.parts);
        let blocks = positions.len().div_ceil(POSITIONS).max(1);
        let each = positions.len().div_ceil(blocks).next_multiple_of(16);
        let tiles_of_rows: Vec<_> = tile_rows(rows.len(), tiles.most_rows)
            .map(|(first, n)| rows.start + first..rows.start + first + n)
            .map(|rows| (rows.start, Taps::new(&lying.rows[rows])))
            .collect();
        let count = tiles_of_rows.len();
        let near = rows.len() * each * size_of::<T>() <= NEAR;
        let single = self.apply.taps.are_single();
        let (mut runs, mut next) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        self.runs(
            positions.start..positions.end.min(positions.start + each),
            &mut runs,
        );
        for start in positions.clone().step_by(each.max(1)) {
            let end = positions.end.min(start + each);
            self.runs(end..positions.end.min(end + each), &mut next);
            let later = [single && near && lying.step == 1, turned.step == 1];
            let [later_lying, later_turned] =
                [0, 1].map(|i| if later[i] { &next[i][..] } else { &[] });
            let panels = columns.len().div_ceil(tiles.width);
            let mut ahead = Ahead::new(&lying.rows[rows.clone()], later_lying, panels * count);
            for column in columns.clone().step_by(tiles.width) {
                let some = column..cuts.columns.min(column + tiles.width);
                turned.turn(some.clone(), (&runs[1], end - start), tiles.width, room);
                let mut ahead_turned = Ahead::new(&turned.rows[some], later_turned, count);
                for &(row, rows) in &tiles_of_rows {
                    ahead.fetch(lying.data);
                    ahead_turned.fetch(turned.data);
                    // SAFETY: as the caller vouches.
                    unsafe {
                        let sums = Sums {
                            to: to.at(place + row * stride + column),
                            stride,
                            fresh: start == positions.start,
                        };
                        let x = (lying.data, rows, lying.step);
                        loops.sums(tiles.width / loops.lanes, x, (room, &runs[0]), sums);
                    }
                }
            }
            std::mem::swap(&mut runs, &mut next);
        }
    }

    /// The runs of some positions in what lies and in what is turned.
    fn runs(&self, positions: Range<usize>, [lying, turned]: &mut [Vec<Run>; 2]) {
        let (fine, line) = if self.by_filters() {
            (turned, lying)
        } else {
            (lying, turned)
        };
        let n = positions.len();
        self.apply.grid.runs(positions.start, n, n, fine);
        joined(fine, line);
    }

    /// Adds the partial sums up, in order, and stores them.
    fn collect<T: Direct>(&self, partials: &[T], out: &mut [T], req: Req) {
        if !self.by_filters() {
            return self.collect_turned(partials, out, req);
        }
        let (groups, cuts) = (self.apply.groups, self.cuts::<T>());
        let target = Target::of_slice(out);
        let grain = (65_536 / (cuts.columns * cuts.parts).max(1)).max(1);
        par::for_ranges(groups * cuts.rows, grain, |filters| {
            let mut total = vec![T::ZERO; cuts.columns];
            for filter in filters {
                let parts = (0..cuts.parts).map(|part| {
                    let row = part * groups * cuts.rows + filter;
                    &partials[row * cuts.padded..][..cuts.columns]
                });
                total.fill(T::ZERO);
                for row in parts {
                    total.iter_mut().zip(row).for_each(|(t, &v)| *t += v);
                }
                // SAFETY: filters belong to one task each.
                let to =
                    unsafe { target.slice(filter * cuts.columns..(filter + 1) * cuts.columns) };
                blockwise::store(&total, to, req);
            }
        });
    }

    /// As [`WeightSums::collect`] for sums whose columns are filters.
    fn collect_turned<T: Direct>(&self, partials: &[T], out: &mut [T], req: Req) {
        let (a, cuts) = (&self.apply, self.cuts::<T>());
        let (depth, columns) = (cuts.rows, cuts.padded);
        let target = Target::of_slice(out);
        let across = a.rows.div_ceil(COLUMNS);
        let grain = (65_536 / (depth * cuts.parts * COLUMNS).max(1)).max(1);
        par::for_ranges(a.groups * across, grain, |tasks| {
            let mut totals = vec![[T::ZERO; COLUMNS]; depth];
            let mut row = vec![T::ZERO; depth];
            for task in tasks {
                let (group, first) = (task / across, task % across * COLUMNS);
                let n = COLUMNS.min(columns - first);
                totals.fill([T::ZERO; COLUMNS]);
                for part in 0..cuts.parts {
                    let from = &partials[(part * a.groups + group) * depth * columns..];
                    add_columns(&from[first..], columns, n, &mut totals);
                }
                for f in 0..COLUMNS.min(a.rows - first) {
                    row.iter_mut().zip(&totals).for_each(|(o, t)| *o = t[f]);
                    let filter = group * a.rows + first + f;
                    // SAFETY: filters belong to one task each.
                    let to = unsafe { target.slice(filter * depth..(filter + 1) * depth) };
                    blockwise::store(&row, to, req);
                }
            }
        });
    }
}

/// The tiles that suit so many columns.
fn tiles<T: Direct>(columns: usize) -> Tiles<T> {
    let narrow = T::narrow_tiles();
    if columns <= narrow.width {
        narrow
    } else {
        T::tiles()
    }
}

/// Adds `n` columns of `x` to `totals`; rows of `x` are `stride` apart.
fn add_columns<T: Real>(x: &[T], stride: usize, n: usize, totals: &mut [[T; COLUMNS]]) {
    for (total, row) in totals.iter_mut().zip(x.chunks(stride)) {
        match row.first_chunk::<COLUMNS>() {
            Some(row) if n == COLUMNS => total.iter_mut().zip(row).for_each(|(t, &v)| *t += v),
            _ => total[..n].iter_mut().zip(row).for_each(|(t, &v)| *t += v),
        }
    }
}
