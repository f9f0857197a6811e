//! Pooling: the mean or the most of each window.

use super::check_ends;
use super::windows::Windows;
use crate::api::prepared::{boxed, check_count};
use crate::api::{Attrs, Call, Desc, Kernel};
use crate::blocks::staged::Staged;
use crate::levels::{self, Whole, by_byte};
use crate::par;
use crate::simd::vector::multiversion;
use ferromix_base::{Error, Result};
use std::ops::Range;

/// Elements that a task reads, roughly.
const GRAIN: usize = 1 << 18;

/// What windows reach, found once for all planes.
struct Reach {
    /// For each line of windows the lines of the plane.
    lines: Vec<Vec<usize>>,
    /// For each tap along a line the windows of which it is inside, and where it is in the first.
    along: Vec<(Range<usize>, usize)>,
    /// How many taps along a line are inside, by window.
    counts: Vec<usize>,
    windows: Windows,
}

impl Reach {
    fn new(windows: Windows) -> Self {
        let [deep, rows, columns] = windows.to;
        let places = |axis: usize, at: usize| {
            let taps = windows.taps(axis, at);
            taps.map(move |k| windows.place(axis, at, k))
        };
        let line = |number: usize| {
            let (z, y) = (number / rows, number % rows);
            let lines =
                places(0, z).flat_map(|z| places(1, y).map(move |y| z * windows.from[1] + y));
            lines.collect()
        };
        let along = (0..windows.kernel[2]).map(|x| (windows.inside(2, x), x));
        Reach {
            lines: (0..deep * rows).map(line).collect(),
            along: along
                .filter(|(inside, _)| !inside.is_empty())
                .map(|(inside, x)| (inside.clone(), windows.place(2, inside.start, x)))
                .collect(),
            counts: (0..columns).map(|x| windows.taps(2, x).len()).collect(),
            windows,
        }
    }
}

/// Has `f` have every other element, by a distance that is known where it is a usual one.
macro_rules! every {
    ($from:expr, $stride:expr, $every:ident => $f:expr) => {
        match $stride {
            2 => {
                let $every = $from.iter().step_by(2);
                $f
            }
            stride => {
                let $every = $from.iter().step_by(stride);
                $f
            }
        }
    };
}

multiversion! {
    /// The largest numbers of the windows of a plane.
    fn most_of_plane<T: Whole>(reach: &Reach, plane: &[T], out: &mut [T]) {
        let (wide, columns) = (reach.windows.from[2], reach.windows.to[2]);
        let least = T::nearest(f32::MIN);
        let mut line = vec![least; wide];
        for (lines, out) in reach.lines.iter().zip(out.chunks_exact_mut(columns.max(1))) {
            line.fill(least);
            for &number in lines {
                let other = &plane[number * wide..(number + 1) * wide];
                other.iter().zip(&mut line).for_each(|(&x, most)| *most = x.max(*most));
            }
            out.fill(least);
            for (inside, from) in &reach.along {
                let out = &mut out[inside.clone()];
                every!(line[*from..], reach.windows.stride[2], every => {
                    every.zip(out).for_each(|(&x, most)| *most = x.max(*most));
                });
            }
        }
    }

    /// The means of the windows of a plane, of all their elements if `padded`.
    fn means_of_plane<T: Whole>(reach: &Reach, padded: bool, plane: &[T], out: &mut [T]) {
        let (wide, columns) = (reach.windows.from[2], reach.windows.to[2]);
        let all: usize = reach.windows.kernel.iter().product();
        let (mut line, mut sums) = (vec![0; wide], vec![0; columns]);
        for (lines, out) in reach.lines.iter().zip(out.chunks_exact_mut(columns.max(1))) {
            line.fill(0);
            for &number in lines {
                let other = &plane[number * wide..(number + 1) * wide];
                let pairs = other.iter().zip(&mut line);
                pairs.for_each(|(x, sum)| *sum += i64::from(x.wide()));
            }
            sums.fill(0);
            for (inside, from) in &reach.along {
                let sums = &mut sums[inside.clone()];
                every!(line[*from..], reach.windows.stride[2], every => {
                    every.zip(sums).for_each(|(x, sum)| *sum += x);
                });
            }
            let pairs = sums.iter().zip(&reach.counts);
            for (out, (&sum, count)) in out.iter_mut().zip(pairs) {
                let count = if padded { all } else { lines.len() * count };
                *out = T::nearest(sum as f32 / count as f32);
            }
        }
    }
}

fn pooled<T: Whole>(
    windows: Windows,
    (average, padded): (bool, bool),
    call: &mut Call<'_>,
) -> Result<()> {
    let data = call.inputs[0].read::<T>()?;
    let range = levels::Range::of(&call.inputs[1], &call.inputs[2])?;
    let mut staged = Staged::all(call);
    if let Some(target) = Staged::target::<T>(&mut staged[0])? {
        let (reach, places) = (Reach::new(windows), windows.places().max(1));
        let size: usize = windows.from.iter().product();
        par::for_ranges(target.len() / places, GRAIN / size.max(1), |planes| {
            for plane in planes {
                let data = &data[plane * size..(plane + 1) * size];
                // SAFETY: a plane of this task alone.
                let out = unsafe { target.slice(plane * places..(plane + 1) * places) };
                if average {
                    means_of_plane(&reach, padded, data, out);
                } else {
                    most_of_plane(&reach, data, out);
                }
            }
        });
    }
    range.put(&mut staged)?;
    Staged::finish_all(staged, call.outputs)
}

pub(super) fn prepare(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_quantized_pooling";
    check_count(name, (i, 3), (o, 3))?;
    check_ends(name, i, 1, o)?;
    let average = match attrs.str("pool_type")? {
        "max" => false,
        "avg" => true,
        other => {
            return Err(Error::value(format!(
                "{name}: pool_type must be 'max' or 'avg', got '{other}'"
            )));
        }
    };
    let padded = !attrs.has("count_include_pad") || attrs.bool("count_include_pad")?;
    let global = attrs.bool("global_pool")?;
    let windows = Windows::of(name, attrs, &i[0], &o[0], global)?;
    if i[0].shape[..2] != o[0].shape[..2] || i[0].dtype != o[0].dtype {
        return Err(Error::value(format!(
            "{name}: data of {:?} do not become {:?}",
            &i[0].shape[..],
            &o[0].shape[..]
        )));
    }
    by_byte!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        pooled::<T>(windows, (average, padded), call)
    }))
}
