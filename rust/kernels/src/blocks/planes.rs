//! Which elements make up a plane, one channel of one image, where channels come second and where they
//! come last, and the loop over all planes.

use crate::api::{Req, View};
use crate::blocks::blockwise::{lifted, store};
use crate::blocks::raw::{Source, Target};
use crate::math::real::{Float, Real};
use crate::par;
use ferromix_base::Result;
use std::ops::Range;

/// Channels that are taken from an image together where they come last: neighbours in memory.
const LANES: usize = 16;

/// The planes of the tensors.
#[derive(Clone, Copy)]
pub(crate) struct Planes {
    pub(crate) images: usize,
    pub(crate) channels: usize,
    /// Whether channels come last.
    pub(crate) last: bool,
    /// Planes per task.
    pub(crate) grain: usize,
    /// How many planes that follow each other in memory are worked on together, at most.
    pub(crate) together: usize,
}

/// Runs work on each plane, in parallel: from the planes of `inputs`, of so many elements, to that of
/// the output; or on several planes together, if they are to be and channels come second. Each task makes
/// its own work by `worker`.
///
/// # Errors
/// Arguments of other element types, or with gaps.
pub(crate) fn each<T: Float, const N: usize, W>(
    planes: &Planes,
    inputs: [(&View, usize); N],
    (output, size): (&mut View, usize),
    req: Req,
    worker: impl Fn() -> W + Sync,
) -> Result<()>
where
    W: FnMut([&[T::Real]; N], &mut [T::Real]),
{
    if req == Req::Null || output.is_empty() {
        return Ok(());
    }
    let mut sources = Vec::with_capacity(N);
    for (view, size) in inputs {
        sources.push((Source::<T>::of(view)?, size));
    }
    let target = (Target::<T>::of(output)?, size);
    if planes.last {
        channels_last(planes, &sources, target, req, worker);
    } else {
        channels_second(planes, &sources, target, req, worker);
    }
    Ok(())
}

fn channels_second<T: Float, const N: usize, W>(
    planes: &Planes,
    sources: &[(Source<T>, usize)],
    (target, size): (Target<T>, usize),
    req: Req,
    worker: impl Fn() -> W + Sync,
) where
    W: FnMut([&[T::Real]; N], &mut [T::Real]),
{
    let (count, together) = (planes.images * planes.channels, planes.together);
    let some_planes = |range: Range<usize>| {
        let mut work = worker();
        let (mut buffers, mut result) = ([const { Vec::new() }; N], Vec::new());
        for first in range.clone().step_by(together) {
            let last = range.end.min(first + together);
            let within = |n: usize| first * n..last * n;
            let place = within(size);
            let mut args: [&[T::Real]; N] = [&[]; N];
            for ((arg, buffer), (source, n)) in args.iter_mut().zip(&mut buffers).zip(sources) {
                let mine = within(*n);
                let shared = source.overlaps(&mine, &target, &place);
                // SAFETY: inputs are only read.
                let raw = unsafe { source.slice(mine) };
                *arg = if shared {
                    buffer.resize(raw.len(), T::Real::ZERO);
                    T::lift(raw, buffer);
                    buffer
                } else {
                    lifted(raw, buffer)
                };
            }
            // SAFETY: planes belong to one task each, and `args` are apart from this one.
            let out = unsafe { target.slice(place) };
            match T::plain_mut(out) {
                Some(out) if req != Req::Add => work(args, out),
                _ => {
                    result.resize(out.len(), T::Real::ZERO);
                    work(args, &mut result);
                    store(&result, out, req);
                }
            }
        }
    };
    let in_parallel = |all: Range<usize>| {
        let sets = all.len().div_ceil(together);
        par::for_ranges(sets, planes.grain.div_ceil(together), |range| {
            let end = all.end.min(all.start + range.end * together);
            some_planes(all.start + range.start * together..end);
        });
    };
    let (first, n) = &sources[0];
    let shrinks = size < *n && first.overlaps(&(0..n * count), &target, &(0..size * count));
    if !shrinks {
        return in_parallel(0..count);
    }
    // The output begins where the first input does: what a wave writes lies before what it reads.
    let mut done = 0;
    while done < count {
        let end = (done * n / size).clamp(done + 1, count);
        in_parallel(done..end);
        done = end;
    }
}

fn channels_last<T: Float, const N: usize, W>(
    planes: &Planes,
    sources: &[(Source<T>, usize)],
    (target, size): (Target<T>, usize),
    req: Req,
    worker: impl Fn() -> W + Sync,
) where
    W: FnMut([&[T::Real]; N], &mut [T::Real]),
{
    let channels = planes.channels;
    let groups = channels.div_ceil(LANES);
    let grain = (planes.grain / LANES.min(channels.max(1))).max(1);
    par::for_ranges(planes.images * groups, grain, |range| {
        let mut work = worker();
        let (mut buffers, mut result) = ([const { Vec::new() }; N], Vec::new());
        for i in range {
            let (image, first) = (i / groups, i % groups * LANES);
            let count = LANES.min(channels - first);
            // Where the neighbours of one position of a tensor with `n` positions are.
            let place = |n: usize, at: usize| {
                let start = (image * n + at) * channels + first;
                start..start + count
            };
            for (buffer, (source, n)) in buffers.iter_mut().zip(sources) {
                buffer.resize(n * count, T::Real::ZERO);
                for at in 0..*n {
                    // SAFETY: inputs are only read.
                    let raw = unsafe { source.slice(place(*n, at)) };
                    raw.iter()
                        .enumerate()
                        .for_each(|(lane, x)| buffer[lane * n + at] = x.up());
                }
            }
            result.resize(size * count, T::Real::ZERO);
            for (lane, out) in result.chunks_exact_mut(size).enumerate() {
                let args = std::array::from_fn(|j| {
                    let n = sources[j].1;
                    &buffers[j][lane * n..(lane + 1) * n]
                });
                work(args, out);
            }
            for at in 0..size {
                let mut row = [T::Real::ZERO; LANES];
                let row = &mut row[..count];
                row.iter_mut()
                    .enumerate()
                    .for_each(|(lane, x)| *x = result[lane * size + at]);
                // SAFETY: channels of an image belong to one task.
                store(row, unsafe { target.slice(place(size, at)) }, req);
            }
        }
    });
}
