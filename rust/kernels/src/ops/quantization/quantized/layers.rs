//! Windows over images, and products of rows: pooling, convolution, fully connected layers.

use super::{check_ends, of_products, step};
use crate::api::prepared::{boxed, check_count, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel};
use crate::blocks::staged::Staged;
use crate::levels::{Range, Whole, by_byte, row_products, widened};
use crate::math::real::unsupported;
use crate::par;
use ferromix_base::{DType, Error, Result, element_count};

/// Products of a task, roughly.
const GRAIN: usize = 1 << 20;

/// Windows over up to three axes, each from front to back; fewer axes have ones in front.
#[derive(Clone, Copy)]
struct Windows {
    from: [usize; 3],
    to: [usize; 3],
    kernel: [usize; 3],
    stride: [usize; 3],
    dilate: [usize; 3],
    pad: [usize; 3],
}

impl Windows {
    /// Reads the attributes for data and results.
    ///
    /// # Errors
    /// Other ranks than one, two or three spatial axes.
    fn of(name: &str, attrs: &Attrs, data: &Desc, out: &Desc, global: bool) -> Result<Self> {
        let rank = data.shape.len().saturating_sub(2);
        if !(1..=3).contains(&rank) || out.shape.len() != rank + 2 {
            return Err(Error::value(format!(
                "{name}: data of shape {:?} have no one, two or three spatial axes",
                &data.shape[..]
            )));
        }
        let spread = |given: &[usize], fill: usize| {
            let mut all = [fill; 3];
            all[3 - rank..].copy_from_slice(given);
            all
        };
        let read = |attr: &str, fill: usize| -> Result<[usize; 3]> {
            if global || !attrs.has(attr) {
                return Ok([fill; 3]);
            }
            Ok(spread(&attrs.extents(attr, rank, fill)?, fill))
        };
        let from = spread(&data.shape[2..], 1);
        Ok(Windows {
            from,
            to: spread(&out.shape[2..], 1),
            kernel: if global { from } else { read("kernel", 1)? },
            stride: read("stride", 1)?,
            dilate: if attrs.has("dilate") {
                read("dilate", 1)?
            } else {
                [1; 3]
            },
            pad: read("pad", 0)?,
        })
    }

    fn places(self) -> usize {
        self.to.iter().product()
    }

    /// Calls `each` with the number of an element of the window at `place`, and with where in the image
    /// it is, if it is.
    fn visit(self, place: usize, mut each: impl FnMut(usize, Option<usize>)) {
        let [_, rows, columns] = self.to;
        let at = [
            place / columns / rows,
            place / columns % rows,
            place % columns,
        ];
        let along = |axis: usize, k: usize| {
            let at = (at[axis] * self.stride[axis]).checked_add(k * self.dilate[axis])?;
            at.checked_sub(self.pad[axis])
                .filter(|&x| x < self.from[axis])
        };
        let mut number = 0;
        for i in 0..self.kernel[0] {
            for j in 0..self.kernel[1] {
                for k in 0..self.kernel[2] {
                    let found = [along(0, i), along(1, j), along(2, k)];
                    let found = match found {
                        [Some(a), Some(b), Some(c)] => {
                            Some((a * self.from[1] + b) * self.from[2] + c)
                        }
                        _ => None,
                    };
                    each(number, found);
                    number += 1;
                }
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
    let range = Range::of(&call.inputs[1], &call.inputs[2])?;
    let mut staged = Staged::all(call);
    if let Some(target) = Staged::target::<T>(&mut staged[0])? {
        let places = windows.places().max(1);
        let size: usize = windows.from.iter().product();
        let all: usize = windows.kernel.iter().product();
        par::for_ranges(
            target.len() / places,
            GRAIN / (places * all).max(1),
            |planes| {
                for plane in planes {
                    let data = &data[plane * size..(plane + 1) * size];
                    // SAFETY: a plane of this task alone.
                    let out = unsafe { target.slice(plane * places..(plane + 1) * places) };
                    for (place, out) in out.iter_mut().enumerate() {
                        let (mut sum, mut most, mut count) = (0_i64, f32::MIN, 0);
                        windows.visit(place, |_, found| {
                            if let Some(x) = found.map(|at| data[at]) {
                                sum += i64::from(x.wide());
                                most = most.max(x.real());
                                count += 1;
                            }
                        });
                        let count = if padded { all } else { count };
                        *out = T::nearest(if average {
                            sum as f32 / count as f32
                        } else {
                            most
                        });
                    }
                }
            },
        );
    }
    range.put(&mut staged)?;
    Staged::finish_all(staged, call.outputs)
}

pub(super) fn prepare_pooling(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
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

/// Extents of a convolution.
#[derive(Clone, Copy)]
struct Convolution {
    windows: Windows,
    channels: usize,
    filters: usize,
}

impl Convolution {
    /// Products of the windows of an image with each filter.
    fn image(self, data: &[i16], weight: &[i16], bias: &[i8], out: &mut [i32]) {
        let (places, size) = (
            self.windows.places(),
            self.windows.from.iter().product::<usize>(),
        );
        let window: usize = self.windows.kernel.iter().product();
        let mut row = vec![0; self.channels * window];
        let mut sums = vec![0; self.filters];
        for place in 0..places {
            self.windows.visit(place, |number, found| {
                for c in 0..self.channels {
                    row[c * window + number] = found.map_or(0, |at| data[c * size + at]);
                }
            });
            row_products(&row, weight, &mut sums);
            for (f, &sum) in sums.iter().enumerate() {
                let bias = bias.get(f).copied().map_or(0, i32::from);
                out[f * places + place] = sum.wrapping_add(bias);
            }
        }
    }

    fn run<S: Whole>(self, call: &mut Call<'_>) -> Result<()> {
        let data = widened(call.inputs[0].read::<S>()?);
        let weight = widened(call.inputs[1].read::<i8>()?);
        let (bias, first) = bias_of(call, 6)?;
        let left = Range::of(&call.inputs[first], &call.inputs[first + 1])?;
        let right = Range::of(&call.inputs[first + 2], &call.inputs[first + 3])?;
        let mut staged = Staged::all(call);
        if let Some(target) = Staged::target::<i32>(&mut staged[0])? {
            let from = self.channels * self.windows.from.iter().product::<usize>();
            let to = self.filters * self.windows.places();
            par::for_each(target.len() / to.max(1), |image| {
                // SAFETY: an image of this task alone.
                let out = unsafe { target.slice(image * to..(image + 1) * to) };
                self.image(&data[image * from..(image + 1) * from], &weight, bias, out);
            });
        }
        // As in MXNet, whatever the type of the data.
        of_products((left, DType::I8), (right, DType::I8)).put(&mut staged)?;
        Staged::finish_all(staged, call.outputs)
    }
}

/// The bias, if there are more inputs than `without` one, and the number of the input behind it.
fn bias_of<'a>(call: &Call<'a>, without: usize) -> Result<(&'a [i8], usize)> {
    if call.inputs.len() == without {
        Ok((&[], 2))
    } else {
        Ok((call.inputs[2].read::<i8>()?, 3))
    }
}

/// Checks counts, types, ends of ranges and the bias; the number of the first end.
fn check_layer(name: &str, attrs: &Attrs, i: &[Desc], o: &[Desc], filters: usize) -> Result<()> {
    let first = if attrs.bool("no_bias")? { 2 } else { 3 };
    check_count(name, (i, 3 * first), (o, 3))?;
    check_ends(name, i, first, o)?;
    if first == 3 {
        check_shape(name, "bias", &i[2], &[filters])?;
    }
    match i[1..first].iter().find(|d| d.dtype != DType::I8) {
        Some(odd) => Err(unsupported(name, odd.dtype, "int8")),
        None if o[0].dtype != DType::I32 => Err(unsupported(name, o[0].dtype, "int32")),
        None => Ok(()),
    }
}

pub(super) fn prepare_convolution(
    attrs: &Attrs,
    i: &[Desc],
    o: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_quantized_conv";
    let filters = usize::try_from(attrs.int("num_filter")?).unwrap_or(0);
    check_layer(name, attrs, i, o, filters)?;
    let windows = Windows::of(name, attrs, &i[0], &o[0], false)?;
    let (images, channels) = (i[0].shape[0], i[0].shape[1]);
    let mut weight = vec![filters, channels];
    weight.extend(attrs.extents("kernel", i[0].shape.len() - 2, 1)?);
    check_shape(name, "weight", &i[1], &weight)?;
    let mut out = vec![images, filters];
    out.extend(&o[0].shape[2..]);
    check_shape(name, "the output", &o[0], &out)?;
    let run = Convolution {
        windows,
        channels,
        filters,
    };
    by_byte!(name, i[0].dtype, S => boxed(move |call: &mut Call<'_>| run.run::<S>(call)))
}

/// Products of rows of the data with those of the weight.
fn connected<S: Whole>(
    (rows, k, hidden): (usize, usize, usize),
    call: &mut Call<'_>,
) -> Result<()> {
    let data = widened(call.inputs[0].read::<S>()?);
    let weight = widened(call.inputs[1].read::<i8>()?);
    let (bias, first) = bias_of(call, 6)?;
    let left = Range::of(&call.inputs[first], &call.inputs[first + 1])?;
    let right = Range::of(&call.inputs[first + 2], &call.inputs[first + 3])?;
    let mut bias: Vec<i32> = bias.iter().map(|&x| i32::from(x)).collect();
    if first == 3 {
        let own = step(Range::of(&call.inputs[7], &call.inputs[8])?, DType::I8);
        let unit = step(left, S::DTYPE) * step(right, DType::I8);
        bias.iter_mut()
            .for_each(|x| *x = (*x as f32 * (own / unit)) as i32);
    }
    let mut staged = Staged::all(call);
    if let Some(target) = Staged::target::<i32>(&mut staged[0])? {
        par::for_ranges(rows, GRAIN / (k * hidden).max(1), |range| {
            for row in range {
                // SAFETY: a row of this task alone.
                let out = unsafe { target.slice(row * hidden..(row + 1) * hidden) };
                row_products(&data[row * k..(row + 1) * k], &weight, out);
                let pairs = out.iter_mut().zip(&bias);
                pairs.for_each(|(o, x)| *o = o.wrapping_add(*x));
            }
        });
    }
    of_products((left, S::DTYPE), (right, DType::I8)).put(&mut staged)?;
    Staged::finish_all(staged, call.outputs)
}

pub(super) fn prepare_connected(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_quantized_fully_connected";
    let hidden = usize::try_from(attrs.int("num_hidden")?).unwrap_or(0);
    check_layer(name, attrs, i, o, hidden)?;
    let &[_, k] = &i[1].shape[..] else {
        return Err(Error::value(format!("{name}: weight has two dimensions")));
    };
    check_shape(name, "weight", &i[1], &[hidden, k])?;
    let split = if attrs.bool("flatten")? {
        1
    } else {
        i[0].shape.len().saturating_sub(1)
    };
    let rows = element_count(&i[0].shape[..split.min(i[0].shape.len())])?;
    let all = element_count(&i[0].shape)?;
    let fits = element_count(&o[0].shape)? == rows.saturating_mul(hidden);
    if !fits || all != rows.saturating_mul(k) {
        return Err(Error::value(format!(
            "{name}: data of {:?} and weight of {:?} do not give {:?}",
            &i[0].shape[..],
            &i[1].shape[..],
            &o[0].shape[..]
        )));
    }
    by_byte!(name, i[0].dtype, S => boxed(move |call: &mut Call<'_>| {
        connected::<S>((rows, k, hidden), call)
    }))
}
