//! Values put into ranges of indices of a tensor.

use crate::api::axes::resolve;
use crate::api::check::{arity, one_dtype, one_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::copy::assign;
use ferromix_base::{Error, Result, Shape, Strides, contiguous_strides};

/// A range of indices along one axis.
#[derive(Clone, Copy)]
struct Range {
    first: usize,
    step: isize,
    count: usize,
}

impl Range {
    /// Python's `begin:end:step` on an axis of `n`.
    fn new(begin: i64, end: i64, step: i64, n: usize) -> Self {
        let n = n as i64;
        let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
        let place = |index: i64| {
            let front = if index < 0 {
                index.saturating_add(n)
            } else {
                index
            };
            front.clamp(low, high)
        };
        let (begin, end) = (place(begin), place(end));
        let count = ((end - begin) as f64 / step as f64).ceil().max(0.0) as usize;
        Range {
            first: begin.max(0) as usize,
            step: step as isize,
            count,
        }
    }
}

/// Puts the second input, or a number, into the ranges.
struct Assign {
    ranges: Vec<Range>,
    scalar: Option<f64>,
}

impl Assign {
    /// The ranges of a tensor, as a view.
    fn part(&self, whole: &View) -> View {
        let pairs = || self.ranges.iter().zip(whole.strides());
        let start: isize = pairs().map(|(r, &s)| r.first as isize * s).sum();
        let shape: Shape = self.ranges.iter().map(|r| r.count).collect();
        let strides: Strides = pairs().map(|(r, &s)| r.step * s).collect();
        let bytes = start * whole.dtype().size() as isize;
        let ptr = whole.ptr().wrapping_offset(bytes);
        // SAFETY: some of the elements of `whole`, as its range along each axis lies within it; or
        // none, where a range is empty.
        unsafe { View::from_raw(ptr, whole.dtype(), shape, strides) }
    }

    /// Puts the values into `part`.
    fn put(&self, call: &Call<'_>, part: &View, req: Req) -> Result<()> {
        match self.scalar {
            None => assign(&call.inputs[1], part, req),
            Some(number) => assign(&View::of_slice(&mut [number], &[])?, part, req),
        }
    }
}

impl Kernel for Assign {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let (data, out, req) = (&call.inputs[0], &call.outputs[0], call.reqs[0]);
        if req == Req::Null || out.is_empty() {
            return Ok(());
        }
        let part = self.part(out);
        if part.is_empty() || req != Req::Add {
            assign(data, out, req)?;
            return self.put(call, &part, Req::Write);
        }
        // What is there must not get the data added, too.
        let mut scratch = vec![0u64; (part.len() * part.dtype().size()).div_ceil(8)];
        let shape = Shape::from_slice(part.shape());
        let strides = contiguous_strides(&shape);
        // SAFETY: scratch for as many elements, aligned for any of them, and this function's own.
        let kept =
            unsafe { View::from_raw(scratch.as_mut_ptr().cast(), part.dtype(), shape, strides) };
        assign(&part, &kept, Req::Write)?;
        assign(data, out, Req::Add)?;
        assign(&kept, &part, Req::Write)?;
        self.put(call, &part, Req::Add)
    }
}

fn ranges(name: &str, attrs: &Attrs, shape: &[usize]) -> Result<Vec<Range>> {
    let [begin, end, step] = ["begin", "end", "step"].map(|a| attrs.ints(a));
    let (begin, end, step) = (begin?, end?, step?);
    if begin.len() != end.len() || begin.len() != step.len() || step.contains(&0) {
        return Err(Error::value(format!(
            "{name}: begin={begin:?}, end={end:?} and step={step:?} are no ranges"
        )));
    }
    if let Some(last) = begin.len().checked_sub(1) {
        resolve(name, last as i64, shape.len())?;
    }
    let along = |(a, &n): (usize, &usize)| match begin.get(a) {
        Some(&b) => Range::new(b, end[a], step[a], n),
        None => Range::new(0, n as i64, 1, n),
    };
    Ok(shape.iter().enumerate().map(along).collect())
}

fn prepare_tensor(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_slice_assign";
    let ([data, values], [out]) = arity(name, i, o)?;
    one_shape(name, &[data, out])?;
    one_dtype(name, &[data, values, out])?;
    let ranges = ranges(name, attrs, &data.shape)?;
    if !ranges
        .iter()
        .map(|r| r.count)
        .eq(values.shape.iter().copied())
    {
        return Err(Error::value(format!(
            "{name}: the values must have the shape of the ranges, got {:?}",
            values.shape
        )));
    }
    Ok(Box::new(Assign {
        ranges,
        scalar: None,
    }))
}

fn prepare_scalar(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_slice_assign_scalar";
    let ([data], [out]) = arity(name, i, o)?;
    one_shape(name, &[data, out])?;
    one_dtype(name, &[data, out])?;
    Ok(Box::new(Assign {
        ranges: ranges(name, attrs, &data.shape)?,
        scalar: Some(attrs.float("scalar").map_err(|e| e.within(name))?),
    }))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("_slice_assign", prepare_tensor).strided(),
    Row::new("_slice_assign_scalar", prepare_scalar).strided(),
];
