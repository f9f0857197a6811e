//! The gradient of the weights of convolutions that read one plane for each plane of the result: for each tap
//! the sum over a plane of what it reads times the gradient of the result. Windows of 3 by 3 are read where they
//! lie, in strips; others from a copy with a border, in one line.

use super::super::apply::Apply;
use super::super::geometry::volume;
use super::super::lines::Planewise;
use super::super::windows::{Pair, Windows};
use super::TASK;
use crate::api::Req;
use crate::blocks::raw::Target;
use crate::math::real::Real;
use crate::par;

impl Apply {
    /// Sums the gradient of the weights of each group into `out`, sample by sample.
    pub(crate) fn plane_gradient<T: Planewise>(
        &self,
        (data, head): (&[T], &[T]),
        threads: &mut [T],
        out: &mut [T],
        req: Req,
    ) {
        let (loops, each, depth) = (T::plane_loops(), self.plane_scratch::<T>(), self.taps.len());
        let strips = Windows::strips(self, loops.lanes);
        let [inner, plane] = [&self.field.inner, &self.grid.extents].map(volume);
        let (batch, groups) = (self.grid.batch, self.groups);
        let (threads, out) = (Target::of_slice(threads), Target::of_slice(out));
        let grain = (TASK / (depth * plane * batch).max(1)).max(1);
        par::for_each_slot(groups.div_ceil(grain), |slot, task| {
            // SAFETY: tasks that run at the same time have different slots.
            let scratch = unsafe { threads.slice(slot * each..(slot + 1) * each) };
            let mut clean = false;
            let mut totals = vec![0.0; depth];
            let mut sums = vec![T::ZERO; depth];
            for group in task * grain..groups.min((task + 1) * grain) {
                totals.fill(0.0);
                for sample in 0..batch {
                    let pair =
                        |at: usize| (&data[at * inner..][..inner], &head[at * plane..][..plane]);
                    let (source, head) = pair(sample * groups + group);
                    let next = if sample + 1 < batch {
                        (sample + 1) * groups + group
                    } else {
                        groups.min(group + 2) - 1
                    };
                    let next = pair(next);
                    if let Some(strips) = &strips {
                        let pair = Pair {
                            source: source.as_ptr(),
                            head: head.as_ptr(),
                            next: [next.0.as_ptr(), next.1.as_ptr()],
                        };
                        // SAFETY: the loops are for this CPU, and these are planes of the product.
                        unsafe { (loops.strip_sums)(strips, &pair, &mut sums) };
                    }
                    // What is infinite or undefined may have met numbers that no weight meets.
                    if strips.is_none() || !finite(&sums) {
                        if !std::mem::replace(&mut clean, true) {
                            scratch.fill(T::ZERO);
                        }
                        self.copied_sums((source, head), scratch, &mut sums);
                    }
                    let found = totals.iter_mut().zip(&sums);
                    found.for_each(|(t, s)| *t += s.f64());
                }
                // SAFETY: each group's weights belong to one task.
                let to = unsafe { out.slice(group * depth..(group + 1) * depth) };
                for (&w, &total) in self.weights.iter().zip(&totals) {
                    let total = T::of(total);
                    match req {
                        Req::Null => {}
                        Req::Add => to[w] += total,
                        _ => to[w] = total,
                    }
                }
            }
        });
    }

    /// The sums of a plane by way of a copy, with zeros in the border and between rows, which stay.
    fn copied_sums<T: Planewise>(
        &self,
        (data, head): (&[T], &[T]),
        scratch: &mut [T],
        sums: &mut [T],
    ) {
        let [_, high, wide] = self.grid.extents;
        // All of a plane may be one row.
        let apart = self.field.steps()[1].max(wide);
        let (loops, reads) = (T::plane_loops(), &self.taps);
        let (source, turned) = scratch.split_at_mut(scratch.len() - self.plane_sizes().1);
        self.field.fill_plane(data, source);
        for (row, to) in head.chunks_exact(wide.max(1)).zip(turned.chunks_mut(apart)) {
            to[..wide].copy_from_slice(row);
        }
        let vectors = self.line().div_ceil(loops.lanes);
        // SAFETY: the loops are for this CPU; `plane_sizes` has room for what vectors read from the furthest tap
        // on, and for the line; what stands between rows of `turned` is zero.
        unsafe { (loops.sums)(reads, source.as_ptr(), turned.as_ptr(), vectors, sums) };
        // What is infinite or undefined may have met the zeros between rows.
        if !finite(sums) {
            sums_by_rows(reads, (source, turned), (high, wide, apart), sums);
        }
    }
}

fn finite<T: Real>(sums: &[T]) -> bool {
    sums.iter().all(|s| s.f64().is_finite())
}

/// As the loop of sums, of `high` rows of `wide` numbers alone, which begin `apart`.
fn sums_by_rows<T: Real>(
    taps: &[usize],
    (source, head): (&[T], &[T]),
    (high, wide, apart): (usize, usize, usize),
    sums: &mut [T],
) {
    for (sum, &tap) in sums.iter_mut().zip(taps) {
        let row = |y: usize| {
            let pairs = head[y * apart..][..wide]
                .iter()
                .zip(&source[tap + y * apart..]);
            pairs.map(|(&h, &x)| h * x).sum::<T>()
        };
        *sum = (0..high).map(row).sum();
    }
}
