//! Elements along an axis, an index for each line, and the way back.

use crate::api::check::{arity, one_dtype};
use crate::api::prepared::{axis, boxed, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row};
use crate::blocks::along_axis::AlongAxis;
use crate::blocks::indices::{Indices, Outside};
use crate::blocks::staged::Staged;
use crate::copy::assign;
use crate::iter::convert::with_type;
use crate::iter::reader::Parts;
use crate::par;
use ferromix_base::{Element, Error, Result, element_count};

/// Elements per task.
const GRAIN: usize = 16_384;

/// Lines of `lines.k` elements, and how many of each are chosen.
#[derive(Clone, Copy)]
struct Pick {
    lines: AlongAxis,
    chosen: usize,
    outside: Outside,
}

impl Pick {
    /// `whole` holds the lines along the attribute `axis`, or is one line where that is none;
    /// `indices` and `part` hold what is chosen.
    fn new(name: &str, attrs: &Attrs, whole: &Desc, indices: &Desc, part: &Desc) -> Result<Self> {
        let shape = &whole.shape;
        let along = match attrs.get("axis") {
            None => shape.len().checked_sub(1),
            Some(crate::api::Value::Int(given)) => Some(axis(name, *given, shape.len())?),
            Some(_) => None,
        };
        let lines = match along {
            Some(along) => AlongAxis::new(shape, along),
            None => AlongAxis::new(&[element_count(shape)?], 0),
        };
        let (count, n) = (element_count(&indices.shape)?, lines.outer * lines.inner);
        let chosen = count.checked_div(n).unwrap_or(0);
        if element_count(&part.shape)? != count
            || chosen * n != count
            || (lines.k == 0 && count > 0)
        {
            return Err(Error::value(format!(
                "{name}: indices of shape {:?} do not choose elements of shape {:?} from {:?}",
                &indices.shape[..],
                &part.shape[..],
                &shape[..]
            )));
        }
        let outside = if attrs.has("mode") {
            Outside::from_attrs(name, attrs)?
        } else {
            Outside::Clip
        };
        Ok(Pick {
            lines,
            chosen,
            outside,
        })
    }

    fn forward(self, call: &Call<'_>) -> Result<()> {
        let out = &call.outputs[0];
        let Some(mut to) = Staged::new(out, call.reqs[0]) else {
            return Ok(());
        };
        let (data, indices) = (&call.inputs[0], Indices::of(&call.inputs[1])?);
        with_type!(data.dtype(), T => self.gather::<T>(data.read()?, indices, to.view.write()?));
        to.finish(out)
    }

    fn gather<T: Element>(self, data: &[T], indices: Indices<'_>, out: &mut [T]) {
        let AlongAxis { k, inner, .. } = self.lines;
        let block = self.chosen * inner;
        let n = out.len();
        let out = Parts::new(out);
        par::for_ranges(n, GRAIN, |range| {
            // SAFETY: tasks have disjoint ranges.
            let own = unsafe { out.part(range.start, range.len()) };
            if block == 1 {
                return indices.each(range.clone(), |at, index| {
                    if let Some(place) = self.outside.place(index, k) {
                        own[at - range.start] = data[at * k + place];
                    }
                });
            }
            indices.each(range.clone(), |at, index| {
                if let Some(place) = self.outside.place(index, k) {
                    own[at - range.start] = data[(at / block * k + place) * inner + at % inner];
                }
            });
        });
    }

    fn back(self, call: &Call<'_>) -> Result<()> {
        let out = &call.outputs[0];
        let Some(mut to) = Staged::new(out, call.reqs[0]) else {
            return Ok(());
        };
        let (grad, indices) = (&call.inputs[0], Indices::of(&call.inputs[1])?);
        with_type!(grad.dtype(), T => self.scatter::<T>(grad.read()?, indices, to.view.write()?));
        to.finish(out)
    }

    /// Sets the chosen elements of `out` and clears the others.
    fn scatter<T: Element + Default>(self, from: &[T], indices: Indices<'_>, out: &mut [T]) {
        let AlongAxis { outer, k, inner } = self.lines;
        let block = self.chosen * inner;
        let out = Parts::new(out);
        par::for_ranges(outer, GRAIN / (k * inner), |range| {
            // SAFETY: tasks have disjoint ranges.
            let own = unsafe { out.part(range.start * k * inner, range.len() * k * inner) };
            own.fill(T::default());
            let first = range.start * k;
            indices.each(range.start * block..range.end * block, |at, index| {
                if let Some(place) = self.outside.place(index, k) {
                    own[(at / block * k - first + place) * inner + at % inner] = from[at];
                }
            });
        });
    }
}

fn prepare(
    name: &'static str,
    attrs: &Attrs,
    inputs: &[Desc],
    outputs: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let ([data, indices], [out]) = arity(name, inputs, outputs)?;
    one_dtype(name, &[data, out])?;
    let pick = Pick::new(name, attrs, data, indices, out)?;
    boxed(move |call| pick.forward(call))
}

fn prepare_back(
    name: &'static str,
    attrs: &Attrs,
    inputs: &[Desc],
    outputs: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let ([grad, indices, data], [out]) = arity(name, inputs, outputs)?;
    one_dtype(name, &[grad, data, out])?;
    check_shape(name, "gradient", out, &data.shape)?;
    let pick = Pick::new(name, attrs, out, indices, grad)?;
    boxed(move |call| pick.back(call))
}

/// A matrix with another element in each row, where the index is one of the row's.
fn fill(call: &Call<'_>) -> Result<()> {
    let (lhs, values, out) = (&call.inputs[0], &call.inputs[1], &call.outputs[0]);
    let Some(mut to) = Staged::new(out, call.reqs[0]) else {
        return Ok(());
    };
    assign(lhs, &to.view, Req::Write)?;
    let (indices, columns) = (Indices::of(&call.inputs[2])?, out.shape()[1]);
    with_type!(values.dtype(), T => {
        let (values, all) = (values.read::<T>()?, to.view.write::<T>()?);
        indices.each(0..values.len(), |row, index| {
            if let Some(column) = Outside::Raise.place(index, columns) {
                all[row * columns + column] = values[row];
            }
        });
    });
    to.finish(out)
}

fn prepare_fill(_: &Attrs, inputs: &[Desc], outputs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "fill_element_0index";
    let ([lhs, values, indices], [out]) = arity(name, inputs, outputs)?;
    one_dtype(name, &[lhs, values, out])?;
    let [rows, _] = lhs.shape[..] else {
        return Err(Error::value(format!(
            "{name}: 'lhs' must be a matrix, got shape {:?}",
            &lhs.shape[..]
        )));
    };
    check_shape(name, "output", out, &lhs.shape)?;
    check_shape(name, "'mhs'", values, &[rows])?;
    check_shape(name, "'rhs'", indices, &[rows])?;
    boxed(|call| fill(call))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("pick", |a, i, o| prepare("pick", a, i, o)),
    Row::new("_backward_pick", |a, i, o| {
        prepare_back("_backward_pick", a, i, o)
    }),
    Row::new("batch_take", |a, i, o| prepare("batch_take", a, i, o)),
    Row::new("_backward_batch_take", |a, i, o| {
        prepare_back("_backward_batch_take", a, i, o)
    }),
    Row::new("fill_element_0index", prepare_fill),
];
