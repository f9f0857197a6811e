//! Real numbers as whole ones, for a range, and back. Roundings are those of oneDNN, which MXNet uses.

use crate::api::prepared::{boxed, check_count, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Row};
use crate::blocks::raw::Target;
use crate::blocks::staged::Staged;
use crate::levels::{GRAIN, Range, Whole, bounds, by_byte, calibrated, most_of, rescaled, scaled};
use crate::math::real::unsupported;
use crate::par;
use ferromix_base::{DType, Result};

/// Writes `body` of each range of numbers to the first output.
fn each<T: Whole, S: Sync>(
    data: &[S],
    staged: &mut [Option<Staged>],
    body: impl Fn(&[S], &mut [T]) + Sync,
) -> Result<()> {
    let Some(target) = Staged::target::<T>(&mut staged[0])? else {
        return Ok(());
    };
    convert(data, target, body);
    Ok(())
}

fn convert<S: Sync, T: ferromix_base::Element>(
    data: &[S],
    target: Target<T>,
    body: impl Fn(&[S], &mut [T]) + Sync,
) {
    par::for_ranges(target.len(), GRAIN, |range| {
        // SAFETY: the ranges of tasks are disjoint.
        let out = unsafe { target.slice(range.clone()) };
        body(&data[range], out);
    });
}

/// The range as it is put out: of signed numbers the same on both sides.
fn shown<T: Whole>(range: Range) -> Range {
    if T::DTYPE == DType::U8 {
        range
    } else {
        Range::even(range.most())
    }
}

fn quantize<T: Whole>(known: Option<Range>, call: &mut Call<'_>) -> Result<()> {
    let data = call.inputs[0].read::<f32>()?;
    let range = match (known, call.inputs) {
        (Some(range), _) => range,
        (None, [_, low, high]) => Range::of(low, high)?,
        (None, _) => {
            let (low, high) = bounds(data);
            Range { low, high }
        }
    };
    // Whole levels for a range that comes with the data, as in MXNet.
    let levels = if call.inputs.len() == 3 {
        T::MOST
    } else {
        T::LEVELS
    };
    let factor = levels / range.most();
    let mut staged = Staged::all(call);
    each(data, &mut staged, |data, out: &mut [T]| {
        scaled(data, factor, out)
    })?;
    shown::<T>(range).put(&mut staged)?;
    Staged::finish_all(staged, call.outputs)
}

fn prepare_quantize(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_quantize";
    check(name, (i, 3), (o, 3))?;
    by_byte!(name, o[0].dtype, T => boxed(move |call: &mut Call<'_>| quantize::<T>(None, call)))
}

/// Numbers of eight bits as they are, with a range.
fn kept<T: Whole, S: Whole>(range: Range, call: &mut Call<'_>) -> Result<()> {
    let data = call.inputs[0].read::<S>()?;
    let mut staged = Staged::all(call);
    each(data, &mut staged, |data, out: &mut [T]| {
        // The bits: a type may hold less than the other.
        out.iter_mut()
            .zip(data)
            .for_each(|(o, x)| *o = T::bits(x.wide()));
    })?;
    range.put(&mut staged)?;
    Staged::finish_all(staged, call.outputs)
}

fn prepare_v2(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_quantize_v2";
    check(name, (i, 1), (o, 3))?;
    let known = calibrated(attrs)?;
    if i[0].dtype == DType::F32 {
        return by_byte!(name, o[0].dtype, T => boxed(move |call: &mut Call<'_>| {
            quantize::<T>(known, call)
        }));
    }
    let all = match i[0].dtype {
        DType::U8 => Range {
            low: 0.0,
            high: u8::LEVELS,
        },
        _ => Range::even(i8::LEVELS),
    };
    let range = known.unwrap_or(all);
    by_byte!(name, i[0].dtype, S => by_byte!(name, o[0].dtype, T => {
        boxed(move |call: &mut Call<'_>| kept::<T, S>(range, call))
    }))
}

/// Real numbers as ones of `u8`, by a factor and a shift.
fn asymmetric(known: Option<Range>, call: &mut Call<'_>) -> Result<()> {
    let data = call.inputs[0].read::<f32>()?;
    let (low, high) = known.map_or_else(|| bounds(data), |range| (range.low, range.high));
    let factor = u8::MOST / (high - low);
    let shift = u8::MOST - high * factor;
    let mut staged = Staged::all(call);
    each(data, &mut staged, |data, out: &mut [u8]| {
        for (out, x) in out.iter_mut().zip(data) {
            *out = (x * factor + shift + 0.5) as u8;
        }
    })?;
    let found = Range {
        low: factor,
        high: shift,
    };
    found.put(&mut staged)?;
    Staged::finish_all(staged, call.outputs)
}

fn prepare_asym(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    check("_contrib_quantize_asym", (i, 1), (o, 3))?;
    let known = calibrated(attrs)?;
    boxed(move |call: &mut Call<'_>| asymmetric(known, call))
}

fn dequantize<S: Whole>(call: &mut Call<'_>) -> Result<()> {
    let data = call.inputs[0].read::<S>()?;
    let factor = Range::of(&call.inputs[1], &call.inputs[2])?.most() / S::LEVELS;
    let mut staged = Staged::all(call);
    if let Some(target) = Staged::target::<f32>(&mut staged[0])? {
        convert(data, target, |data, out| {
            let pairs = out.iter_mut().zip(data);
            pairs.for_each(|(out, x)| *out = x.real() * factor);
        });
    }
    Staged::finish_all(staged, call.outputs)
}

fn prepare_dequantize(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_dequantize";
    check(name, (i, 3), (o, 1))?;
    by_byte!(name, i[0].dtype, S => boxed(dequantize::<S>))
}

fn requantize<T: Whole>(known: Option<Range>, call: &mut Call<'_>) -> Result<()> {
    let data = call.inputs[0].read::<i32>()?;
    let step = Range::of(&call.inputs[1], &call.inputs[2])?.most() / i32::LEVELS;
    let most = known.map_or_else(|| most_of(data) as f32 * step, Range::most);
    let mut range = Range::even(most);
    if T::DTYPE == DType::U8 {
        range.low = 0.0;
    }
    let factor = step * (T::MOST / most);
    let mut staged = Staged::all(call);
    each(data, &mut staged, |data, out: &mut [T]| {
        rescaled(data, factor, out);
    })?;
    range.put(&mut staged)?;
    Staged::finish_all(staged, call.outputs)
}

fn prepare_requantize(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_requantize";
    check(name, (i, 3), (o, 3))?;
    if i[0].dtype != DType::I32 {
        return Err(unsupported(name, i[0].dtype, "int32"));
    }
    let known = calibrated(attrs)?;
    by_byte!(name, o[0].dtype, T => boxed(move |call: &mut Call<'_>| requantize::<T>(known, call)))
}

/// Checks numbers of arguments, the shape of the result and those of the ends of ranges.
fn check(name: &str, i: (&[Desc], usize), o: (&[Desc], usize)) -> Result<()> {
    check_count(name, i, o)?;
    check_shape(name, "the output", &o.0[0], &i.0[0].shape)?;
    for end in i.0[1..].iter().chain(&o.0[1..]) {
        check_shape(name, "an end of a range", end, &[1])?;
    }
    Ok(())
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("_contrib_quantize", prepare_quantize),
    Row::new("_contrib_quantize_v2", prepare_v2),
    Row::new("_contrib_quantize_asym", prepare_asym),
    Row::new("_contrib_dequantize", prepare_dequantize),
    Row::new("_contrib_requantize", prepare_requantize),
];
