//! Convolutions that read one plane for each plane of the result, such as depthwise ones. Most are read where
//! they lie ([`super::windows`]). Otherwise a plane is small: with its border it stays in the cache, cut into
//! lattices as fields are, so that rows of the result follow each other as one long line and vectors run over
//! their ends. What stands between rows of the result is computed and left out.

mod weight;

use super::apply::Apply;
use super::field::Run;
use super::finish::{Addend, Finish};
use super::geometry::volume;
use super::lines::{AT_ONCE, LANES, Planewise};
use super::windows::spread::{Filled, Spread};
use super::windows::{Plane, Windows};
use crate::api::Req;
use crate::blocks::raw::{Source, Target, scratch_bytes};
use crate::math::real::Real;
use crate::par;

/// Most taps of a plane.
const TAPS: usize = 64;
/// Most numbers of a plane with its border.
const PLANE: usize = 1 << 16;
/// Numbers that a plane is fetched before it is read, at least.
const AHEAD: usize = 1 << 11;
/// Bytes of a result that must come from memory, to be written.
const FAR: usize = 1 << 23;
/// Multiplications per task, at least.
pub(super) const TASK: usize = 1 << 18;

/// Numbers that vectors over a line may touch.
fn whole(line: usize) -> usize {
    line.next_multiple_of(LANES * AT_ONCE)
}

impl Apply {
    /// Whether one plane is read for each plane of the result, and it is small enough.
    pub(crate) fn planewise(&self) -> bool {
        let (plane, [deep, ..]) = (self.field.plane(), self.field.extents());
        let grid = &self.grid;
        deep == 1
            && grid.extents[0] == 1
            && self.rows == 1
            && self.source_group == plane
            && (1..=TAPS).contains(&self.taps.len())
            && plane <= PLANE
            && self.groups > 1
    }

    /// Numbers from the first of the results of a plane to its last, as they follow each other.
    pub(super) fn line(&self) -> usize {
        let [_, high, wide] = self.grid.extents;
        (high.max(1) - 1) * self.field.steps()[1] + wide
    }

    /// Scratch numbers of one thread: a plane with its border, and a line.
    pub(crate) fn plane_scratch<T: Planewise>(&self) -> usize {
        let (source, line) = self.plane_sizes();
        scratch_bytes::<T>(source + line) / size_of::<T>()
    }

    /// Numbers of a plane with what vectors read behind it, and of a line.
    pub(super) fn plane_sizes(&self) -> (usize, usize) {
        (self.field.plane() + LANES * AT_ONCE, whole(self.line()))
    }

    /// Planes that are worth a task.
    fn grain(&self) -> usize {
        let [_, high, wide] = self.grid.extents;
        (TASK / (self.taps.len() * high * wide).max(1)).max(1)
    }

    /// The weights of a group, in the order of the taps, times `scale`.
    fn group_weights<'a, T: Real>(
        &self,
        (weights, scale): (&[T], T),
        group: usize,
        room: &'a mut [T; TAPS],
    ) -> &'a [T] {
        let from = &weights[group * self.weight_group..];
        let found = room.iter_mut().zip(self.weights.iter());
        found.for_each(|(to, &w)| *to = from[w] * scale);
        &room[..self.weights.len()]
    }
}

/// Runs products that read the same planes, on data that no other plane of the result lies over.
pub(crate) fn run<T: Planewise>(
    products: &[Apply],
    (data, weights): (Source<T>, &[T]),
    threads: &mut [T],
    finish: &Finish<'_, T>,
) {
    let Some(first) = products.first() else {
        return;
    };
    let (loops, threads) = (T::plane_loops(), Target::of_slice(threads));
    let each = products.iter().map(Apply::plane_scratch::<T>).max();
    let (each, inner) = (each.unwrap_or(0), volume(&first.field.inner));
    let rows: Vec<_> = products.iter().map(Apply::rows_of_plane).collect();
    let grain = products.iter().map(Apply::grain).min().unwrap_or(1);
    let planes = first.field.planes;
    par::for_each_slot(planes.div_ceil(grain), |slot, task| {
        // SAFETY: tasks that run at the same time have different slots.
        let scratch = unsafe { threads.slice(slot * each..(slot + 1) * each) };
        scratch.fill(T::ZERO);
        let mut room = [T::ZERO; TAPS];
        for plane in task * grain..((task + 1) * grain).min(planes) {
            let (sample, group) = (plane / first.groups, plane % first.groups);
            for (product, rows) in products.iter().zip(&rows) {
                let (source, line) = scratch.split_at_mut(each - product.plane_sizes().1);
                if std::ptr::eq(product, first) {
                    // SAFETY: what is written meanwhile are other planes, and later this one.
                    let from = unsafe { data.slice(plane * inner..(plane + 1) * inner) };
                    product.field.fill_plane(from, source);
                }
                let w = product.group_weights((weights, finish.scale(group)), group, &mut room);
                let vectors = product.line().div_ceil(loops.lanes);
                let (taps, source) = (&product.taps, source.as_ptr());
                // SAFETY: the loops are for this CPU; `plane_sizes` has room for what vectors read from
                // the furthest tap on, and for the line.
                unsafe { (loops.product)(taps, w, source, line.as_mut_ptr(), vectors) };
                let start = product.target_start
                    + group * product.target_group
                    + sample * product.grid.target_sample;
                let places = (start, 0, product.grid.target[2]);
                // SAFETY: planes belong to one task each.
                unsafe { finish.store(group..group + 1, (line, 0), rows, places) };
            }
        }
    });
}

/// Runs a product that reads planes where they lie, by its windows. A plane that the result lies over is
/// copied before.
pub(super) fn run_windows<T: Planewise>(
    (product, windows): (&Apply, &Windows),
    (data, weights): (Source<T>, &[T]),
    threads: &mut [T],
    finish: &Finish<'_, T>,
) {
    let (loops, threads) = (T::plane_loops(), Target::of_slice(threads));
    let (each, grain) = (product.plane_scratch::<T>(), product.grain());
    let (planes, inner) = (product.field.planes, volume(&product.field.inner));
    let plane_out = volume(&product.grid.extents);
    let far = finish.target.len() * size_of::<T>() > FAR;
    let ahead = |at: usize| (at + inner.max(AHEAD)).min((planes * inner).max(1) - 1);
    par::for_each_slot(planes.div_ceil(grain), |slot, task| {
        // SAFETY: tasks that run at the same time have different slots.
        let scratch = unsafe { threads.slice(slot * each..(slot + 1) * each) };
        let mut room = [T::ZERO; TAPS];
        for plane in task * grain..((task + 1) * grain).min(planes) {
            let (sample, group) = (plane / product.groups, plane % product.groups);
            let read = plane * inner..(plane + 1) * inner;
            let start = product.target_start
                + group * product.target_group
                + sample * product.grid.target_sample;
            let written = start..start + plane_out;
            let covers = data.is(&finish.target) && windows.may_cover::<T>();
            let copied = !covers && data.overlaps(&read, &finish.target, &written);
            let (next, end) = (ahead(read.start), ahead(read.end));
            // SAFETY: there is such a plane.
            let mut source = unsafe { data.at(read.start) };
            if copied {
                // In the middle: a vector of which a few places are read takes many times as long where the
                // others are on a page that is not there.
                let first = (scratch.len() - inner) / 2;
                let room = &mut scratch[first..first + inner];
                // SAFETY: what is written meanwhile are other planes, and later this one.
                room.copy_from_slice(unsafe { data.slice(read) });
                source = room.as_ptr();
            }
            // SAFETY: planes belong to one task each, and the addend lies as the target does; the loops are
            // for this CPU.
            unsafe {
                let target = finish.target.slice(written).as_mut_ptr();
                let addend = match finish.addend {
                    Addend::Of(x) => x.at(start),
                    Addend::Held => target.cast_const(),
                    Addend::Nothing if finish.req == Req::Add => target.cast_const(),
                    Addend::Nothing => std::ptr::null(),
                };
                let w = product.group_weights((weights, finish.scale(group)), group, &mut room);
                let after = target.cast_const().wrapping_add(plane_out.max(AHEAD));
                let plane = Plane {
                    weights: w,
                    source,
                    next: (data.at(next), end - next),
                    after: (after, if far { plane_out } else { 0 }),
                    shift: finish.shift.map_or(T::ZERO, |s| s[group]),
                    addend,
                    relu: finish.relu,
                    target,
                };
                (loops.windows)(windows, &plane);
            }
        }
    });
}

/// Fills planes from those of a gradient whose windows are two apart, of so many groups in turn.
pub(super) fn run_spread<T: Planewise>(
    (spread, groups): (&Spread, usize),
    (head, weights): (&[T], &[T]),
    target: Target<T>,
) {
    let loops = T::plane_loops();
    let [size, read] = spread.sizes();
    let planes = head.len() / read.max(1);
    let depth = weights.len() / groups;
    let grain = (TASK / (depth * size).max(1)).max(1);
    par::for_ranges(planes, grain, |range| {
        for plane in range {
            let after = (plane + 1).min(planes - 1);
            // SAFETY: planes belong to one task each; the loops are for this CPU.
            unsafe {
                let filled = Filled {
                    weights: &weights[plane % groups * depth..][..depth],
                    head: head[plane * read..][..read].as_ptr(),
                    target: target.slice(plane * size..(plane + 1) * size).as_mut_ptr(),
                    next: [
                        head[after * read..].as_ptr(),
                        target.at(after * size).cast_const(),
                    ],
                };
                (loops.spread)(spread, &filled);
            }
        }
    });
}

impl Apply {
    /// The rows of a plane of results, in a line and in their place.
    fn rows_of_plane(&self) -> Vec<Run> {
        let [_, high, wide] = self.grid.extents;
        let row = |y: usize| Run {
            at: y * self.field.steps()[1],
            len: wide,
            source: 0,
            target: y * self.grid.target[1],
        };
        (0..if wide == 0 { 0 } else { high }).map(row).collect()
    }
}
