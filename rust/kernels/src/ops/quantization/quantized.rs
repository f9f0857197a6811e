//! Layers on numbers of eight bits with ranges: each gives numbers and the range of those.

mod bytes;
mod connected;
mod convolution;
mod pooling;
mod windows;

use crate::api::prepared::{axis, boxed, check_count, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::blocks::along_axis::AlongAxis;
use crate::blocks::indices::{Indices, Outside};
use crate::blocks::staged::Staged;
use crate::copy::assign;
use crate::levels::{GRAIN, Range, Whole, by_byte, calibrated, levels};
use crate::math::real::unsupported;
use crate::par;
use ferromix_base::{DType, Error, Result, element_count};

/// The real number that a whole one of `dtype` counts for, with what stands for a magnitude.
fn step(range: Range, dtype: DType) -> f32 {
    range.most() / levels(dtype).0
}

/// The range of sums of products, by the largest numbers that both may be.
fn of_products(left: (Range, DType), right: (Range, DType)) -> Range {
    let each = |(range, dtype): (Range, DType)| range.most() / levels(dtype).1;
    Range::even(each(left) * each(right) * i32::LEVELS)
}

/// Requires ends of ranges, from input `first` on and of the outputs, to be one number each.
fn check_ends(name: &str, i: &[Desc], first: usize, o: &[Desc]) -> Result<()> {
    let ends = i[first..].iter().chain(&o[1..]);
    for end in ends {
        check_shape(name, "an end of a range", end, &[1])?;
    }
    Ok(())
}

/// Data as they are, in another shape, or without negative numbers.
fn same(rectified: bool, call: &mut Call<'_>) -> Result<()> {
    let range = Range::of(&call.inputs[1], &call.inputs[2])?;
    let mut staged = Staged::all(call);
    if let Some(out) = &mut staged[0] {
        if rectified {
            let pairs = out.view.write::<i8>()?.iter_mut();
            let data = call.inputs[0].read::<i8>()?;
            pairs.zip(data).for_each(|(o, &x)| *o = x.max(0));
        } else {
            assign(
                &call.inputs[0].flattened(),
                &out.view.flattened(),
                Req::Write,
            )?;
        }
    }
    range.put(&mut staged)?;
    Staged::finish_all(staged, call.outputs)
}

fn prepare_act(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_quantized_act";
    check_count(name, (i, 3), (o, 3))?;
    check_shape(name, "the output", &o[0], &i[0].shape)?;
    check_ends(name, i, 1, o)?;
    if attrs.str("act_type")? != "relu" {
        return Err(Error::value(format!("{name}: act_type must be 'relu'")));
    }
    if i[0].dtype != DType::I8 || o[0].dtype != DType::I8 {
        return Err(unsupported(name, i[0].dtype, "int8"));
    }
    boxed(|call: &mut Call<'_>| same(true, call))
}

fn prepare_flatten(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_quantized_flatten";
    check_count(name, (i, 3), (o, 3))?;
    check_ends(name, i, 1, o)?;
    if element_count(&i[0].shape)? != element_count(&o[0].shape)? || i[0].dtype != o[0].dtype {
        return Err(Error::value(format!(
            "{name}: data of {:?} do not become {:?}",
            &i[0].shape[..],
            &o[0].shape[..]
        )));
    }
    boxed(|call: &mut Call<'_>| same(false, call))
}

/// Sums of numbers of two types, as numbers of a third one.
fn add<A: Whole, B: Whole, T: Whole>(known: Option<Range>, call: &mut Call<'_>) -> Result<()> {
    let (a, b) = (call.inputs[0].read::<A>()?, call.inputs[1].read::<B>()?);
    let left = Range::of(&call.inputs[2], &call.inputs[3])?;
    let right = Range::of(&call.inputs[4], &call.inputs[5])?;
    let range = known.unwrap_or_else(|| Range::even(left.most() + right.most()));
    let unit = range.most() / T::LEVELS;
    let (by_a, by_b) = (
        left.most() / A::LEVELS / unit,
        right.most() / B::LEVELS / unit,
    );
    let mut staged = Staged::all(call);
    if let Some(target) = Staged::target::<T>(&mut staged[0])? {
        par::for_ranges(a.len(), GRAIN, |part| {
            // SAFETY: the ranges of tasks are disjoint.
            let out = unsafe { target.slice(part.clone()) };
            let pairs = a[part.clone()].iter().zip(&b[part]);
            for (out, (a, b)) in out.iter_mut().zip(pairs) {
                *out = T::nearest(a.real() * by_a + b.real() * by_b);
            }
        });
    }
    range.put(&mut staged)?;
    Staged::finish_all(staged, call.outputs)
}

fn check_pair(name: &str, i: &[Desc], o: &[Desc]) -> Result<()> {
    check_shape(name, "rhs", &i[1], &i[0].shape)?;
    check_shape(name, "the output", &o[0], &i[0].shape)?;
    check_ends(name, i, 2, o)
}

fn prepare_add(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_quantized_elemwise_add";
    check_count(name, (i, 6), (o, 3))?;
    check_pair(name, i, o)?;
    let known = calibrated(attrs)?;
    by_byte!(name, i[0].dtype, A => by_byte!(name, i[1].dtype, B => match o[0].dtype {
        DType::I32 => boxed(move |call: &mut Call<'_>| add::<A, B, i32>(known, call)),
        to => by_byte!(name, to, T => boxed(move |call: &mut Call<'_>| {
            add::<A, B, T>(known, call)
        })),
    }))
}

/// What products become.
#[derive(Clone, Copy)]
enum Product {
    Whole,
    Real,
    Bytes(Range),
}

fn multiply(made: Product, call: &mut Call<'_>) -> Result<()> {
    let (a, b) = (call.inputs[0].read::<i8>()?, call.inputs[1].read::<i8>()?);
    let left = Range::of(&call.inputs[2], &call.inputs[3])?;
    let right = Range::of(&call.inputs[4], &call.inputs[5])?;
    let real = step(left, DType::I8) * step(right, DType::I8);
    let mut staged = Staged::all(call);
    let pairs = a.iter().zip(b);
    let products = pairs.map(|(&a, &b)| i32::from(a) * i32::from(b));
    if let Some(out) = &mut staged[0] {
        match made {
            Product::Whole => {
                let out = out.view.write::<i32>()?.iter_mut();
                out.zip(products).for_each(|(o, x)| *o = x);
            }
            Product::Real => {
                let out = out.view.write::<f32>()?.iter_mut();
                out.zip(products).for_each(|(o, x)| *o = x as f32 * real);
            }
            Product::Bytes(range) => {
                let factor = real / step(range, DType::I8);
                let out = out.view.write::<i8>()?.iter_mut();
                // Cut, not rounded, as in MXNet.
                out.zip(products)
                    .for_each(|(o, x)| *o = (x as f32 * factor) as i8);
            }
        }
    }
    let range = match made {
        Product::Bytes(range) => range,
        _ => of_products((left, DType::I8), (right, DType::I8)),
    };
    range.put(&mut staged)?;
    Staged::finish_all(staged, call.outputs)
}

fn prepare_multiply(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_quantized_elemwise_mul";
    let real = attrs.bool("enable_float_output")?;
    check_count(name, (i, 6), (o, if real { 1 } else { 3 }))?;
    check_pair(name, i, o)?;
    if let Some(odd) = i[..2].iter().find(|d| d.dtype != DType::I8) {
        return Err(unsupported(name, odd.dtype, "int8"));
    }
    let made = match calibrated(attrs)? {
        _ if real => Product::Real,
        Some(range) => Product::Bytes(range),
        None => Product::Whole,
    };
    boxed(move |call: &mut Call<'_>| multiply(made, call))
}

/// Numbers of a type as those of another one, by a factor.
fn rescale(from: &View, factor: f32, dtype: DType) -> Result<Vec<i16>> {
    by_byte!("_contrib_quantized_concat", from.dtype(), S => {
        let data = from.read::<S>()?.iter();
        Ok(if factor == 1.0 {
            data.map(|x| x.wide()).collect()
        } else if dtype == DType::U8 {
            data.map(|x| u8::nearest(x.real() * factor).wide()).collect()
        } else {
            data.map(|x| i8::nearest(x.real() * factor).wide()).collect()
        })
    })
}

/// Tensors joined along an axis, in the widest of their ranges.
fn concat<T: Whole>(parts: &[AlongAxis], call: &mut Call<'_>) -> Result<()> {
    let n = parts.len();
    let mut ranges = Vec::with_capacity(n);
    for k in 0..n {
        ranges.push(Range::of(
            &call.inputs[n + 2 * k],
            &call.inputs[n + 2 * k + 1],
        )?);
    }
    let all = ranges.iter().copied().reduce(|a, b| Range {
        low: a.low.min(b.low),
        high: a.high.max(b.high),
    });
    let all = all.unwrap_or(Range::even(0.0));
    let mut staged = Staged::all(call);
    if let Some(out) = &mut staged[0] {
        let out = out.view.write::<T>()?;
        let total: usize = parts.iter().map(|p| p.k * p.inner).sum();
        let mut at = 0;
        for ((part, view), range) in parts.iter().zip(call.inputs).zip(&ranges) {
            let factor = step(*range, view.dtype()) / step(all, T::DTYPE);
            let numbers = rescale(view, factor, T::DTYPE)?;
            let line = part.k * part.inner;
            for (row, from) in numbers.chunks_exact(line.max(1)).enumerate() {
                let to = &mut out[row * total + at..row * total + at + line];
                to.iter_mut().zip(from).for_each(|(o, &x)| *o = T::bits(x));
            }
            at += line;
        }
    }
    all.put(&mut staged)?;
    Staged::finish_all(staged, call.outputs)
}

fn prepare_concat(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_quantized_concat";
    let n = usize::try_from(attrs.int("num_args")?).unwrap_or(0);
    check_count(name, (i, n.saturating_mul(3)), (o, 3))?;
    check_ends(name, i, n, o)?;
    let along = axis(name, attrs.int("dim")?, o[0].shape.len())?;
    let mut expected = o[0].shape.to_vec();
    expected[along] = 0;
    for part in &i[..n] {
        let extent = part.shape.get(along).copied().unwrap_or(0);
        expected[along] = expected[along].saturating_add(extent);
    }
    check_shape(name, "the output", &o[0], &expected)?;
    for part in &i[..n] {
        let mut own = expected.clone();
        own[along] = part.shape.get(along).copied().unwrap_or(0);
        check_shape(name, "an input", part, &own)?;
    }
    let parts: Vec<AlongAxis> = i[..n]
        .iter()
        .map(|part| AlongAxis::new(&part.shape, along))
        .collect();
    by_byte!(name, o[0].dtype, T => boxed(move |call: &mut Call<'_>| concat::<T>(&parts, call)))
}

/// Rows of a table.
fn embedding(rows: usize, width: usize, call: &mut Call<'_>) -> Result<()> {
    let name = "_contrib_quantized_embedding";
    let range = Range::of(&call.inputs[2], &call.inputs[3])?;
    let indices = Indices::of(&call.inputs[0])?;
    let places = indices.places(0..indices.len(), (name, 0), rows, Outside::Clip)?;
    let table = call.inputs[1].read::<i8>()?;
    let mut staged = Staged::all(call);
    if let Some(out) = &mut staged[0] {
        let out = out.view.write::<i8>()?.chunks_exact_mut(width.max(1));
        for (row, place) in out.zip(places) {
            row.copy_from_slice(&table[place * width..(place + 1) * width]);
        }
    }
    range.put(&mut staged)?;
    Staged::finish_all(staged, call.outputs)
}

fn prepare_embedding(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_quantized_embedding";
    check_count(name, (i, 4), (o, 3))?;
    check_ends(name, i, 2, o)?;
    let &[rows, width] = &i[1].shape[..] else {
        return Err(Error::value(format!("{name}: weight has two dimensions")));
    };
    let expected: Vec<usize> = i[0].shape.iter().copied().chain([width]).collect();
    check_shape(name, "the output", &o[0], &expected)?;
    if i[1].dtype != DType::I8 || o[0].dtype != DType::I8 {
        return Err(unsupported(name, i[1].dtype, "int8"));
    }
    boxed(move |call: &mut Call<'_>| embedding(rows, width, call))
}

/// Normalization of each channel by statistics that are known, from numbers to numbers.
fn normalize<S: Whole>(
    (images, channels): (usize, usize),
    (eps, range): (f32, Range),
    call: &mut Call<'_>,
) -> Result<()> {
    let data = call.inputs[0].read::<S>()?;
    let mut given = [&[][..]; 4];
    for (given, view) in given.iter_mut().zip(&call.inputs[1..5]) {
        *given = view.read::<f32>()?;
    }
    let [gamma, beta, mean, var] = given;
    let most = Range::of(&call.inputs[5], &call.inputs[6])?.most();
    // Numbers without sign become such with one first, as in MXNet.
    let signed = i8::LEVELS / S::LEVELS;
    let mut staged = Staged::all(call);
    if let Some(out) = &mut staged[0] {
        let out = out.view.write::<i8>()?;
        let plane = data.len() / (images * channels).max(1);
        let planes = out
            .chunks_exact_mut(plane.max(1))
            .zip(data.chunks_exact(plane.max(1)));
        for (k, (out, data)) in planes.enumerate() {
            let c = k % channels;
            let root = gamma[c] / (var[c] + eps).sqrt();
            // In MXNet a normalization by variance 1 follows, which adds epsilon once more.
            let by = root * most / range.most() / (1.0 + eps).sqrt();
            let more = (beta[c] - mean[c] * root) * i8::LEVELS / range.most();
            for (out, x) in out.iter_mut().zip(data) {
                let x = i8::nearest(x.real() * signed).real();
                *out = i8::nearest(x.mul_add(by, more));
            }
        }
    }
    range.put(&mut staged)?;
    Staged::finish_all(staged, call.outputs)
}

fn prepare_normalize(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_quantized_batch_norm";
    check_count(name, (i, 7), (o, 3))?;
    check_shape(name, "the output", &o[0], &i[0].shape)?;
    let &[images, channels, ..] = &i[0].shape[..] else {
        return Err(Error::value(format!(
            "{name}: data have channels on axis 1"
        )));
    };
    for statistic in &i[1..5] {
        check_shape(name, "a statistic", statistic, &[channels])?;
    }
    check_ends(name, i, 5, o)?;
    let Some(range) = calibrated(attrs)? else {
        return Err(Error::value(format!(
            "{name}: min_calib_range and max_calib_range must be given"
        )));
    };
    let eps = attrs.float("eps")? as f32;
    by_byte!(name, i[0].dtype, S => boxed(move |call: &mut Call<'_>| {
        normalize::<S>((images, channels), (eps, range), call)
    }))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("_contrib_quantized_act", prepare_act),
    Row::new("_contrib_quantized_flatten", prepare_flatten),
    Row::new("_contrib_quantized_elemwise_add", prepare_add),
    Row::new("_contrib_quantized_elemwise_mul", prepare_multiply),
    Row::new("_contrib_quantized_concat", prepare_concat),
    Row::new("_contrib_quantized_embedding", prepare_embedding),
    Row::new("_contrib_quantized_batch_norm", prepare_normalize),
    Row::new("_contrib_quantized_pooling", pooling::prepare).unknown_cost(),
    Row::new("_contrib_quantized_conv", convolution::prepare).unknown_cost(),
    Row::new("_contrib_quantized_fully_connected", connected::prepare).unknown_cost(),
];
