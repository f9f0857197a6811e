//! Tensors from nothing: constants and ranges.

use crate::api::axes::resolve;
use crate::api::check::{arity, leading};
use crate::api::{Attrs, Call, Desc, Kernel, Row, View};
use crate::copy::assign;
use crate::copy::fill::fill;
use crate::loops::GRAIN;
use ferromix_base::{Error, Result};

struct Full {
    value: f64,
}

impl Kernel for Full {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let mut value = [self.value];
        let value = View::of_slice(&mut value, &[])?;
        assign(&value, &call.outputs[0], call.reqs[0])
    }
}

fn prepare_full(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let ([], [_]) = leading("_full", i, o)?;
    let value = attrs.float("value").map_err(|e| e.within("_full"))?;
    Ok(Box::new(Full { value }))
}

/// `start`, `start + step`, ..., each `repeat` times; computed in double precision from the
/// position, so that errors do not add up.
struct Range {
    start: f64,
    step: f64,
    repeat: usize,
}

impl Kernel for Range {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        fill(
            &mut call.outputs[0],
            call.reqs[0],
            GRAIN,
            |at, out: &mut [f64]| {
                for (i, x) in out.iter_mut().enumerate() {
                    *x = self.start + ((at + i) / self.repeat) as f64 * self.step;
                }
            },
        )
    }
}

fn prepare_range(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_arange";
    let ([], [_]) = leading(name, i, o)?;
    let real = |attr: &str| attrs.float(attr).map_err(|e| e.within(name));
    let repeat = if attrs.has("repeat") {
        attrs.int("repeat")?
    } else {
        1
    };
    if repeat < 1 {
        return Err(Error::value(format!(
            "{name}: attribute 'repeat' must be at least 1, got {repeat}"
        )));
    }
    Ok(Box::new(Range {
        start: real("start")?,
        step: real("step")?,
        repeat: repeat as usize,
    }))
}

/// Ones on the `k`-th diagonal of a matrix.
struct Eye {
    columns: usize,
    k: i64,
}

impl Kernel for Eye {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let (out, req) = (&mut call.outputs[0], call.reqs[0]);
        fill(out, req, GRAIN, |at, out: &mut [f64]| {
            for (i, x) in (at..).zip(out) {
                let (row, column) = (i / self.columns, i % self.columns);
                *x = f64::from(u8::from(column as i64 - row as i64 == self.k));
            }
        })
    }
}

fn prepare_eye(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_eye";
    let ([], [out]) = arity(name, i, o)?;
    let &[_, columns] = &out.shape[..] else {
        return Err(Error::value(format!(
            "{name}: the output must be a matrix, got {:?}",
            out.shape
        )));
    };
    let k = attrs.int("k").map_err(|e| e.within(name))?;
    Ok(Box::new(Eye { columns, k }))
}

/// For every element of a tensor, some of its indices.
struct Indices {
    /// For each index that is wanted, the stride and the extent of its axis.
    axes: Vec<(usize, usize)>,
}

impl Kernel for Indices {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let (out, req) = (&mut call.outputs[0], call.reqs[0]);
        fill(out, req, GRAIN, |at, out: &mut [i64]| {
            for (i, x) in (at..).zip(out) {
                let (stride, extent) = self.axes[i % self.axes.len()];
                *x = (i / self.axes.len() / stride % extent) as i64;
            }
        })
    }
}

fn prepare_indices(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_index_array";
    let ([data], [_]) = arity(name, i, o)?;
    let shape = &data.shape;
    let stride = |a: usize| (shape[a + 1..].iter().product(), shape[a]);
    let axes = if attrs.has("axes") {
        let given = attrs.ints("axes")?.iter();
        let axes: Result<Vec<usize>> = given.map(|&a| resolve(name, a, shape.len())).collect();
        axes?
    } else {
        (0..shape.len()).collect()
    };
    Ok(Box::new(Indices {
        axes: axes.into_iter().map(stride).collect(),
    }))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("_full", prepare_full).strided(),
    Row::new("_arange", prepare_range),
    Row::new("_eye", prepare_eye),
    Row::new("_contrib_index_array", prepare_indices),
];
