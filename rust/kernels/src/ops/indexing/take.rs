//! Slices of an axis by their indices.

use crate::api::check::{arity, one_dtype};
use crate::api::prepared::{axis, boxed};
use crate::api::{Attrs, Call, Desc, Kernel, Row};
use crate::blocks::indices::{Groups, Indices, Outside};
use crate::blocks::rows::{Meeting, Rows, collect, gather, gather_at};
use crate::blocks::staged::Staged;
use ferromix_base::{Error, Result};

/// What to take, or where it goes back to.
#[derive(Clone, Copy)]
struct Take {
    rows: Rows,
    axis: usize,
    outside: Outside,
}

impl Take {
    /// Checks that `whole`, with its axis replaced by the shape of the indices, is `taken`.
    fn new(attrs: &Attrs, whole: &Desc, indices: &Desc, taken: &Desc) -> Result<Self> {
        let axis = axis("take", attrs.int("axis")?, whole.shape.len())?;
        let (before, rest) = whole.shape.split_at(axis);
        let (n, after) = (rest[0], &rest[1..]);
        let parts = [before, &indices.shape[..], after];
        if !parts.concat().iter().eq(&taken.shape[..]) {
            return Err(Error::value(format!(
                "take: elements {:?} of {:?} along axis {axis} do not have shape {:?}",
                &indices.shape[..],
                &whole.shape[..],
                &taken.shape[..]
            )));
        }
        let rows = Rows {
            outer: before.iter().product(),
            n,
            inner: after.iter().product(),
        };
        let outside = Outside::from_attrs("take", attrs)?;
        Ok(Take {
            rows,
            axis,
            outside,
        })
    }

    fn places(self, call: &Call<'_>) -> Result<Vec<usize>> {
        let indices = &call.inputs[1];
        let all = 0..indices.len();
        Indices::of(indices)?.places(all, ("take", self.axis), self.rows.n, self.outside)
    }

    fn forward(self, call: &Call<'_>) -> Result<()> {
        let out = &call.outputs[0];
        let Some(mut to) = Staged::new(out, call.reqs[0]) else {
            return Ok(());
        };
        if self.rows.outer == 1 {
            let how = (("take", self.axis), self.outside);
            let indices = Indices::of(&call.inputs[1])?;
            gather_at(&call.inputs[0], &mut to.view, indices, self.rows, how)?;
            return to.finish(out);
        }
        let places = self.places(call)?;
        gather(&call.inputs[0], &mut to.view, &places, self.rows)?;
        to.finish(out)
    }

    fn back(self, call: &mut Call<'_>) -> Result<()> {
        let req = call.reqs[0];
        if req == crate::api::Req::Null || call.outputs[0].is_empty() {
            return Ok(());
        }
        let groups = Groups::of(&self.places(call)?, self.rows.n);
        let to = (&mut call.outputs[0], req);
        collect(&call.inputs[0], to, &groups, self.rows, Meeting::Sum)
    }
}

fn prepare(attrs: &Attrs, inputs: &[Desc], outputs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let ([data, indices], [out]) = arity("take", inputs, outputs)?;
    one_dtype("take", &[data, out])?;
    let take = Take::new(attrs, data, indices, out)?;
    boxed(move |call| take.forward(call))
}

fn prepare_back(attrs: &Attrs, inputs: &[Desc], outputs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let ([grad, indices, data], [out]) = arity("_backward_take", inputs, outputs)?;
    one_dtype("_backward_take", &[grad, data, out])?;
    let take = Take::new(attrs, out, indices, grad)?;
    boxed(move |call| take.back(call))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("take", prepare),
    Row::new("_backward_take", prepare_back),
];
