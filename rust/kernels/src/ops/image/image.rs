//! Images as tensors with channels first, normalized, in another size, and turned round by chance.

use crate::api::check::{arity, one_dtype, one_shape, unsupported};
use crate::api::prepared::boxed;
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::blocks::raw::{Source, Target};
use crate::copy::assign;
use crate::loops::{GRAIN, Loop};
use crate::par;
use crate::simd::body::{Body, unary};
use ferromix_base::{DType, Element, Error, Result, Shape, Strides, contiguous_strides};
use ferromix_io::{Interpolation, Sample, resize};

/// `view` without one of its axes, at `index` along that.
fn at(view: &View, axis: usize, index: usize) -> View {
    let (mut shape, mut strides) = (
        Shape::from_slice(view.shape()),
        Strides::from_slice(view.strides()),
    );
    shape.remove(axis);
    let offset = strides.remove(axis) * index as isize * view.dtype().size() as isize;
    // SAFETY: `index` is below the extent, so that all elements are ones of `view`.
    unsafe {
        View::from_raw(
            view.ptr().wrapping_offset(offset),
            view.dtype(),
            shape,
            strides,
        )
    }
}

/// Three or four dimensions, or an error.
fn rank(name: &str, data: &Desc) -> Result<usize> {
    match data.shape.len() {
        n @ (3 | 4) => Ok(n),
        _ => Err(Error::value(format!(
            "{name}: data must have 3 dimensions, or 4 with a batch, got shape {:?}",
            &data.shape[..]
        ))),
    }
}

fn prepare_tensor(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_image_to_tensor";
    let ([data], [out]) = arity(name, i, o)?;
    let n = rank(name, data)?;
    let mut expected = data.shape.clone();
    expected[n - 3..].rotate_right(1);
    if out.shape != expected || out.dtype != DType::F32 {
        return Err(Error::value(format!(
            "{name}: the output must be float32 of shape {:?}",
            &expected[..]
        )));
    }
    let divide = Loop::new([DType::F32; 2], unary(|x: f32| x / 255.0), GRAIN);
    boxed(move |call: &mut Call<'_>| {
        let data = &call.inputs[0];
        let (mut shape, mut strides) = (
            Shape::from_slice(data.shape()),
            Strides::from_slice(data.strides()),
        );
        shape[n - 3..].rotate_right(1);
        strides[n - 3..].rotate_right(1);
        // SAFETY: the same elements with their axes in another order.
        let moved = unsafe { View::from_raw(data.ptr(), data.dtype(), shape, strides) };
        divide.run([&call.outputs[0], &moved], call.reqs[0])
    })
}

/// One number for all channels, or one for each.
fn per_channel(attrs: &Attrs, key: &str, channels: usize) -> Result<Vec<f64>> {
    let given = attrs.floats(key)?;
    match given.len() {
        1 => Ok(vec![given[0]; channels]),
        n if n == channels => Ok(given),
        n => Err(Error::value(format!(
            "_image_normalize: {key} must have 1 or {channels} numbers, got {n}"
        ))),
    }
}

fn normalizing(dtype: DType, mean: f64, deviation: f64) -> Loop<2> {
    let (mean32, deviation32) = (mean as f32, deviation as f32);
    let (dtype, body): (_, Box<dyn Body<2>>) = if dtype == DType::F64 {
        // As single precision holds them.
        let (mean, deviation) = (f64::from(mean32), f64::from(deviation32));
        (dtype, unary(move |x: f64| (x - mean) / deviation))
    } else {
        (DType::F32, unary(move |x: f32| (x - mean32) / deviation32))
    };
    Loop::new([dtype; 2], body, GRAIN)
}

fn prepare_normalize(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_image_normalize";
    let ([data], [out]) = arity(name, i, o)?;
    let dtype = one_dtype(name, &[data, out])?;
    one_shape(name, &[data, out])?;
    let axis = rank(name, data)? - 3;
    let channels = data.shape[axis];
    let (means, deviations) = (
        per_channel(attrs, "mean", channels)?,
        per_channel(attrs, "std", channels)?,
    );
    let pairs = means.iter().zip(&deviations);
    let loops: Vec<_> = pairs.map(|(&m, &d)| normalizing(dtype, m, d)).collect();
    boxed(move |call: &mut Call<'_>| {
        for (c, each) in loops.iter().enumerate() {
            let (data, out) = (at(&call.inputs[0], axis, c), at(&call.outputs[0], axis, c));
            each.run([&out, &data], call.reqs[0])?;
        }
        Ok(())
    })
}

/// The sizes of a change of size: rows and columns before and after, images and channels.
#[derive(Clone, Copy)]
struct Sizes {
    from: [usize; 2],
    to: [usize; 2],
    images: usize,
    channels: usize,
    how: Interpolation,
}

impl Sizes {
    fn run<T: Element + Sample>(&self, call: &mut Call<'_>) -> Result<()> {
        let req = call.reqs[0];
        if req == Req::Null || call.outputs[0].is_empty() {
            return Ok(());
        }
        if req != Req::Add {
            return self.fill::<T>(&call.inputs[0], &mut call.outputs[0]);
        }
        let mut buffer = vec![T::default(); call.outputs[0].len()];
        let mut result = View::of_slice(&mut buffer, call.outputs[0].shape())?;
        self.fill::<T>(&call.inputs[0], &mut result)?;
        assign(&result, &call.outputs[0], Req::Add)
    }

    fn fill<T: Element + Sample>(&self, data: &View, out: &mut View) -> Result<()> {
        let (source, target) = (Source::<T>::of(data)?, Target::<T>::of(out)?);
        let [before, after] = [self.from, self.to].map(|[a, b]| a * b * self.channels);
        let failure = std::sync::OnceLock::new();
        par::for_ranges(self.images, (GRAIN / after.max(1)).max(1), |range| {
            for i in range {
                // SAFETY: inputs are only read.
                let image = unsafe { source.slice(i * before..(i + 1) * before) };
                // SAFETY: images belong to one task each.
                let out = unsafe { target.slice(i * after..(i + 1) * after) };
                let done = resize(image, self.from, out, self.to, self.channels, self.how);
                if let Err(error) = done {
                    failure.get_or_init(|| error);
                }
            }
        });
        failure.into_inner().map_or(Ok(()), Err)
    }
}

fn prepare_resize(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_image_resize";
    let ([data], [out]) = arity(name, i, o)?;
    let (dtype, n) = (one_dtype(name, &[data, out])?, rank(name, data)?);
    let number = attrs.int("interp")?;
    let Some(how) = Interpolation::from_number(number) else {
        return Err(Error::value(format!(
            "{name}: interp must be from 0 to 5, got {number}"
        )));
    };
    let (a, b) = (&data.shape[n - 3..], &out.shape[n - 3..]);
    let fits = out.shape.len() == n && data.shape[..n - 3] == out.shape[..n - 3] && a[2] == b[2];
    if !fits || (a[0] * a[1] == 0 && b[0] * b[1] > 0) {
        return Err(Error::value(format!(
            "{name}: images of shape {:?} do not become ones of shape {:?}",
            &data.shape[..],
            &out.shape[..]
        )));
    }
    let sizes = Sizes {
        from: [a[0], a[1]],
        to: [b[0], b[1]],
        images: data.shape[..n - 3].iter().product(),
        channels: a[2],
        how,
    };
    match dtype {
        DType::U8 => boxed(move |call: &mut Call<'_>| sizes.run::<u8>(call)),
        DType::F32 => boxed(move |call: &mut Call<'_>| sizes.run::<f32>(call)),
        DType::F64 => boxed(move |call: &mut Call<'_>| sizes.run::<f64>(call)),
        _ => Err(unsupported(
            name,
            dtype,
            &[DType::U8, DType::F32, DType::F64],
        )),
    }
}

fn prepare_flip(name: &str, axis: usize, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let ([data], [out]) = arity(name, i, o)?;
    one_dtype(name, &[data, out])?;
    one_shape(name, &[data, out])?;
    if data.shape.len() != 3 {
        return Err(Error::value(format!(
            "{name}: data must have 3 dimensions, got shape {:?}",
            &data.shape[..]
        )));
    }
    boxed(move |call: &mut Call<'_>| {
        let random = call
            .random
            .ok_or_else(|| Error::internal("a random operator was run without random numbers"))?;
        let data = &call.inputs[0];
        if random.block(0)[0] & 1 == 0 || data.is_empty() {
            return assign(data, &call.outputs[0], call.reqs[0]);
        }
        let shape = Shape::from_slice(data.shape());
        let mut strides = contiguous_strides(&shape);
        let last = (shape[axis] - 1) as isize * strides[axis] * data.dtype().size() as isize;
        strides[axis] = -strides[axis];
        let end = data.ptr().wrapping_offset(last);
        // SAFETY: the same elements, from the last one along the axis to the first.
        let turned = unsafe { View::from_raw(end, data.dtype(), shape, strides) };
        assign(&turned, &call.outputs[0], call.reqs[0])
    })
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("_image_to_tensor", prepare_tensor).strided(),
    Row::new("_image_normalize", prepare_normalize).strided(),
    Row::new("_image_resize", prepare_resize).unknown_cost(),
    Row::new("_image_random_flip_left_right", |_, i, o| {
        prepare_flip("_image_random_flip_left_right", 1, i, o)
    })
    .random(),
    Row::new("_image_random_flip_top_bottom", |_, i, o| {
        prepare_flip("_image_random_flip_top_bottom", 0, i, o)
    })
    .random(),
];
