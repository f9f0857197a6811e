//! Operators that move elements without changing them: transposition, reshaping, joining, cutting.

use crate::axes::resolve;
use crate::check::{arity, leading, one_dtype};
use crate::copy::assign;
use crate::kernel::{Call, Desc, Kernel, Req, Row};
use crate::{Attrs, View};
use ferromix_base::{Error, Result};

struct Transpose {
    axes: Vec<usize>,
}

impl Kernel for Transpose {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let data = &call.inputs[0];
        let shape = self.axes.iter().map(|&a| data.shape()[a]).collect();
        let strides = self.axes.iter().map(|&a| data.strides()[a]).collect();
        // SAFETY: the elements of `data` with their axes in another order.
        let view = unsafe { View::from_raw(data.ptr(), data.dtype(), shape, strides) };
        assign(&view, &call.outputs[0], call.reqs[0])
    }
}

fn prepare_transpose(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "transpose";
    let ([data], [out]) = arity(name, i, o)?;
    one_dtype(name, &[data, out])?;
    let ndim = data.shape.len();
    let given = if attrs.has("axes") {
        attrs.ints("axes")?
    } else {
        &[]
    };
    let mut axes = Vec::new();
    for &axis in given {
        axes.push(resolve(name, axis, ndim)?);
    }
    if given.is_empty() {
        axes = (0..ndim).rev().collect();
    }
    let mut sorted = axes.clone();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..ndim) {
        return Err(Error::value(format!(
            "{name}: axes {given:?} must name each of the {ndim} axes once"
        )));
    }
    if !axes
        .iter()
        .map(|&a| data.shape[a])
        .eq(out.shape.iter().copied())
    {
        return Err(Error::value(format!(
            "{name}: axes {axes:?} of shape {:?} do not give {:?}",
            data.shape, out.shape
        )));
    }
    Ok(Box::new(Transpose { axes }))
}

/// The same elements under another shape; takes contiguous memory.
struct Reshape;

impl Kernel for Reshape {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let [data, out] = [&call.inputs[0], &call.outputs[0]].map(flattened);
        assign(&data, &out, call.reqs[0])
    }
}

/// A contiguous view as one axis.
pub(crate) fn flattened(view: &View) -> View {
    let shape = ferromix_base::Shape::from_slice(&[view.len()]);
    let strides = ferromix_base::Strides::from_slice(&[1]);
    // SAFETY: the same elements, which the caller's row asks to be contiguous.
    unsafe { View::from_raw(view.ptr(), view.dtype(), shape, strides) }
}

fn prepare_reshape(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let ([data], [out]) = leading("_reshape", i, o)?;
    one_dtype("_reshape", &[data, out])?;
    let [from, to] = [data, out].map(|d| ferromix_base::element_count(&d.shape));
    if from? != to? {
        return Err(Error::value(format!(
            "_reshape: {:?} and {:?} have different numbers of elements",
            data.shape, out.shape
        )));
    }
    Ok(Box::new(Reshape))
}

/// The positions from `start` to `start + n` along `axis`.
fn cut(view: &View, axis: usize, start: usize, n: usize) -> View {
    let mut shape = ferromix_base::Shape::from_slice(view.shape());
    shape[axis] = n;
    let step = view.strides()[axis] * view.dtype().size() as isize;
    let ptr = view.ptr().wrapping_offset(start as isize * step);
    // SAFETY: a part of `view`: prepare has checked that the range lies within the axis.
    unsafe { View::from_raw(ptr, view.dtype(), shape, view.strides().into()) }
}

/// Joins tensors along an axis, or takes them apart.
struct Join {
    axis: usize,
    apart: bool,
}

impl Kernel for Join {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let mut start = 0;
        let parts = if self.apart {
            call.outputs.len()
        } else {
            call.inputs.len()
        };
        for i in 0..parts {
            let part = if self.apart {
                &call.outputs[i]
            } else {
                &call.inputs[i]
            };
            let n = part.shape()[self.axis];
            if self.apart && call.reqs[i] != Req::Null {
                assign(
                    &cut(&call.inputs[0], self.axis, start, n),
                    part,
                    call.reqs[i],
                )?;
            } else if !self.apart && call.reqs[0] != Req::Null {
                assign(
                    part,
                    &cut(&call.outputs[0], self.axis, start, n),
                    call.reqs[0],
                )?;
            }
            start += n;
        }
        Ok(())
    }
}

fn prepare_join(
    name: &str,
    apart: bool,
    attrs: &Attrs,
    parts: &[Desc],
    whole: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let [whole] = whole else {
        return Err(Error::internal(format!("{name} needs one joined tensor")));
    };
    let ndim = whole.shape.len();
    let axis = if attrs.has("dim") {
        attrs.int("dim")?
    } else {
        1
    };
    let axis = resolve(name, axis, ndim)?;
    let mut total = 0;
    for part in parts {
        one_dtype(name, &[part, whole])?;
        let mut shape = part.shape.clone();
        if shape.len() == ndim {
            total += std::mem::replace(&mut shape[axis], whole.shape[axis]);
        }
        if shape != whole.shape {
            return Err(Error::value(format!(
                "{name}: a part of shape {:?} does not fit {:?} along axis {axis}",
                part.shape, whole.shape
            )));
        }
    }
    if total != whole.shape[axis] {
        return Err(Error::value(format!(
            "{name}: the parts add up to {total} along axis {axis}, not to {}",
            whole.shape[axis]
        )));
    }
    Ok(Box::new(Join { axis, apart }))
}

/// Inputs after the first give the shapes of the parts, which the outputs have too.
fn prepare_apart(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    prepare_join("_backward_Concat", true, attrs, o, &i[..i.len().min(1)])
}

/// A range of an axis, or the gradient of one.
struct Slice {
    axis: usize,
    begin: usize,
    back: bool,
}

impl Kernel for Slice {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let (data, out, req) = (&call.inputs[0], &call.outputs[0], call.reqs[0]);
        if !self.back {
            let n = out.shape()[self.axis];
            return assign(&cut(data, self.axis, self.begin, n), out, req);
        }
        let n = data.shape()[self.axis];
        if matches!(req, Req::Write | Req::Inplace) {
            let mut zero = [0u64];
            assign(&crate::scalar::cell(&mut zero, out.dtype()), out, req)?;
        }
        if req == Req::Null {
            return Ok(());
        }
        assign(data, &cut(out, self.axis, self.begin, n), req)
    }
}

fn prepare_slice(
    name: &str,
    back: bool,
    attrs: &Attrs,
    whole: &Desc,
    part: &Desc,
) -> Result<Box<dyn Kernel>> {
    one_dtype(name, &[whole, part])?;
    let axis = resolve(name, attrs.int("axis")?, whole.shape.len())?;
    let extent = whole.shape[axis];
    let place = |at: i64| if at < 0 { at + extent as i64 } else { at };
    let begin = if attrs.has("begin") {
        place(attrs.int("begin")?)
    } else {
        0
    };
    let end = if attrs.has("end") {
        place(attrs.int("end")?)
    } else {
        extent as i64
    };
    if begin < 0 || end < begin || end > extent as i64 {
        return Err(Error::value(format!(
            "{name}: the range from {begin} to {end} is not within axis {axis} of {extent}"
        )));
    }
    let mut shape = whole.shape.clone();
    shape[axis] = (end - begin) as usize;
    if shape != part.shape {
        return Err(Error::value(format!(
            "{name}: the range has shape {shape:?}, not {:?}",
            part.shape
        )));
    }
    let begin = begin as usize;
    Ok(Box::new(Slice { axis, begin, back }))
}

fn prepare_slice_axis(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let ([data], [out]) = arity("slice_axis", i, o)?;
    prepare_slice("slice_axis", false, attrs, data, out)
}

fn prepare_slice_back(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let ([grad], [out]) = leading("_backward_slice_axis", i, o)?;
    prepare_slice("_backward_slice_axis", true, attrs, out, grad)
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("transpose", prepare_transpose).strided(),
    Row::new("_reshape", prepare_reshape),
    Row::new("Concat", |a, i, o| prepare_join("Concat", false, a, i, o)).strided(),
    Row::new("_backward_Concat", prepare_apart).strided(),
    Row::new("slice_axis", prepare_slice_axis).strided(),
    Row::new("_backward_slice_axis", prepare_slice_back).strided(),
];
