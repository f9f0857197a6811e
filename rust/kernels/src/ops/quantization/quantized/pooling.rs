//! Pooling: the mean or the most of each window.

use super::check_ends;
use super::windows::Windows;
use crate::api::prepared::{boxed, check_count};
use crate::api::{Attrs, Call, Desc, Kernel};
use crate::blocks::staged::Staged;
use crate::levels::{Range, Whole, by_byte};
use crate::par;
use crate::simd::vector::multiversion;
use ferromix_base::{Error, Result};
use std::ops::Range as Places;

/// Elements that a task reads, roughly.
const GRAIN: usize = 1 << 18;

multiversion! {
    /// Has the larger one of each two stay.
    fn larger<T: Whole>(data: &[T], out: &mut [T]) {
        data.iter().zip(out).for_each(|(&x, out)| *out = x.max(*out));
    }

    /// The same for every other number.
    fn larger_of_every<T: Whole>(data: &[T], stride: usize, out: &mut [T]) {
        let every = data.iter().step_by(stride);
        every.zip(out).for_each(|(&x, out)| *out = x.max(*out));
    }

    /// Adds numbers to sums.
    fn add<T: Whole>(data: &[T], sums: &mut [i64]) {
        data.iter().zip(sums).for_each(|(x, sum)| *sum += i64::from(x.wide()));
    }

    /// Adds every other sum to sums.
    fn add_every<>(data: &[i64], stride: usize, sums: &mut [i64]) {
        data.iter().step_by(stride).zip(sums).for_each(|(x, sum)| *sum += x);
    }

    /// The nearest numbers to sums divided by counts.
    fn means<T: Whole>(sums: &[i64], counts: &[f32], out: &mut [T]) {
        for ((out, &sum), count) in out.iter_mut().zip(sums).zip(counts) {
            *out = T::nearest(sum as f32 / count);
        }
    }
}

impl Windows {
    /// Calls `each` with the lines of a plane that the windows of line `number` reach; how many.
    fn lines<T>(&self, number: usize, plane: &[T], mut each: impl FnMut(&[T])) -> usize {
        let ([_, high, wide], [_, rows, _]) = (self.from, self.to);
        let at = [number / rows, number % rows];
        let taps: [_; 2] = std::array::from_fn(|axis| self.taps(axis, at[axis]));
        for z in taps[0].clone() {
            for y in taps[1].clone() {
                let line = self.place(0, at[0], z) * high + self.place(1, at[1], y);
                each(&plane[line * wide..(line + 1) * wide]);
            }
        }
        taps[0].len() * taps[1].len()
    }

    /// Calls `each` with the windows of a line that have a tap inside, and where it is in the first.
    fn along(&self, mut each: impl FnMut(Places<usize>, usize)) {
        for x in 0..self.kernel[2] {
            let inside = self.inside(2, x);
            if !inside.is_empty() {
                let from = self.place(2, inside.start, x);
                each(inside, from);
            }
        }
    }
}

/// The largest numbers of the windows of a plane.
fn most_of_plane<T: Whole>(windows: &Windows, plane: &[T], out: &mut [T]) {
    let least = T::nearest(f32::MIN);
    let mut line = vec![least; windows.from[2]];
    for (number, out) in out.chunks_exact_mut(windows.to[2].max(1)).enumerate() {
        line.fill(least);
        windows.lines(number, plane, |other| larger(other, &mut line));
        out.fill(least);
        windows.along(|inside, from| {
            larger_of_every(&line[from..], windows.stride[2], &mut out[inside]);
        });
    }
}

/// The means of the windows of a plane, of all their elements if `padded`.
fn means_of_plane<T: Whole>(windows: &Windows, padded: bool, plane: &[T], out: &mut [T]) {
    let columns = windows.to[2];
    let all: usize = windows.kernel.iter().product();
    let mut line = vec![0; windows.from[2]];
    let (mut sums, mut counts) = (vec![0; columns], vec![0.0; columns]);
    for (number, out) in out.chunks_exact_mut(columns.max(1)).enumerate() {
        line.fill(0);
        let lines = windows.lines(number, plane, |other| add(other, &mut line));
        sums.fill(0);
        windows.along(|inside, from| {
            add_every(&line[from..], windows.stride[2], &mut sums[inside]);
        });
        for (x, count) in counts.iter_mut().enumerate() {
            let inside = lines * windows.taps(2, x).len();
            *count = if padded { all } else { inside } as f32;
        }
        means(&sums, &counts, out);
    }
}

fn pooled<T: Whole>(
    windows: Windows,
    (average, padded): (bool, bool),
    call: &mut Call<'_>,
) -> Result<()> {
    let data = call.inputs[0].read::<T>()?;
    let range = Range::of(&call.inputs[1], &call.inputs[2])?;
    let mut staged = Staged::all(call);
    if let Some(target) = Staged::target::<T>(&mut staged[0])? {
        let places = windows.places().max(1);
        let size: usize = windows.from.iter().product();
        par::for_ranges(target.len() / places, GRAIN / size.max(1), |planes| {
            for plane in planes {
                let data = &data[plane * size..(plane + 1) * size];
                // SAFETY: a plane of this task alone.
                let out = unsafe { target.slice(plane * places..(plane + 1) * places) };
                if average {
                    means_of_plane(&windows, padded, data, out);
                } else {
                    most_of_plane(&windows, data, out);
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
