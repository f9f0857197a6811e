//! Elements and slices by indices of several axes, and the way back.

use crate::api::check::{arity, one_dtype};
use crate::api::prepared::{boxed, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row};
use crate::blocks::indices::{Groups, Indices, Outside};
use crate::blocks::rows::{Meeting, Rows, collect, gather};
use crate::blocks::staged::Staged;
use crate::copy::assign;
use crate::iter::convert::with_type;
use ferromix_base::{Error, Result, Shape};

/// Indices of the leading axes of `whole`, one row of them for each axis.
#[derive(Clone)]
struct Nd {
    name: &'static str,
    /// The extents of the axes that are indexed.
    leading: Shape,
    rows: Rows,
}

impl Nd {
    /// Checks that `part` has the shape of the slices of `whole` that the indices choose.
    fn new(name: &'static str, whole: &Desc, indices: &Desc, part: &Desc) -> Result<Self> {
        let fits = indices.shape.split_first().and_then(|(&depth, chosen)| {
            let (leading, slice) = whole.shape.split_at_checked(depth)?;
            let same = [chosen, slice].concat().iter().eq(&part.shape[..]);
            same.then_some((leading, slice))
        });
        let Some((leading, slice)) = fits else {
            return Err(Error::value(format!(
                "{name}: indices of shape {:?} of a tensor of shape {:?} do not give shape {:?}",
                &indices.shape[..],
                &whole.shape[..],
                &part.shape[..]
            )));
        };
        let rows = Rows {
            outer: 1,
            n: leading.iter().product(),
            inner: slice.iter().product(),
        };
        Ok(Nd {
            name,
            leading: leading.into(),
            rows,
        })
    }

    /// The place of each slice.
    fn places(&self, call: &Call<'_>, argument: usize) -> Result<Vec<usize>> {
        let indices = &call.inputs[argument];
        let m: usize = indices.shape()[1..].iter().product();
        let mut places = vec![0; m];
        for (axis, &n) in self.leading.iter().enumerate() {
            let own = axis * m..(axis + 1) * m;
            let what = (self.name, axis);
            let along = Indices::of(indices)?.places(own, what, n, Outside::FromEnd)?;
            let pairs = places.iter_mut().zip(along);
            pairs.for_each(|(place, i)| *place = *place * n + i);
        }
        Ok(places)
    }

    fn gather(&self, call: &Call<'_>) -> Result<()> {
        let out = &call.outputs[0];
        let Some(mut to) = Staged::new(out, call.reqs[0]) else {
            return Ok(());
        };
        let places = self.places(call, 1)?;
        gather(&call.inputs[0], &mut to.view, &places, self.rows)?;
        to.finish(out)
    }

    fn scatter(&self, call: &mut Call<'_>, meeting: Meeting) -> Result<()> {
        let places = self.places(call, 1)?;
        let req = call.reqs[0];
        if req == Req::Null || call.outputs[0].is_empty() {
            return Ok(());
        }
        let groups = Groups::of(&places, self.rows.n);
        let to = (&mut call.outputs[0], req);
        collect(&call.inputs[0], to, &groups, self.rows, meeting)
    }

    /// The first input, with other slices at some places.
    fn set(&self, call: &Call<'_>) -> Result<()> {
        let (lhs, rhs, out) = (&call.inputs[0], &call.inputs[1], &call.outputs[0]);
        let places = self.places(call, 2)?;
        let Some(mut to) = Staged::new(out, call.reqs[0]) else {
            return Ok(());
        };
        assign(lhs, &to.view, Req::Write)?;
        let n = self.rows.inner;
        with_type!(rhs.dtype(), T => {
            let (from, whole) = (rhs.read::<T>()?, to.view.write::<T>()?);
            for (i, place) in places.iter().enumerate() {
                whole[place * n..(place + 1) * n].copy_from_slice(&from[i * n..(i + 1) * n]);
            }
        });
        to.finish(out)
    }
}

fn prepare_gather(_: &Attrs, inputs: &[Desc], outputs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "gather_nd";
    let ([data, indices], [out]) = arity(name, inputs, outputs)?;
    one_dtype(name, &[data, out])?;
    let nd = Nd::new(name, data, indices, out)?;
    boxed(move |call| nd.gather(call))
}

fn prepare_scatter(
    name: &'static str,
    meeting: Meeting,
    inputs: &[Desc],
    outputs: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let ([data, indices], [out]) = arity(name, inputs, outputs)?;
    one_dtype(name, &[data, out])?;
    let nd = Nd::new(name, out, indices, data)?;
    boxed(move |call| nd.scatter(call, meeting))
}

fn prepare_like(_: &Attrs, inputs: &[Desc], outputs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_backward_gather_nd_like";
    let ([_, _, data], [out]) = arity(name, inputs, outputs)?;
    check_shape(name, "gradient", out, &data.shape)?;
    prepare_scatter("gather_nd", Meeting::Sum, &inputs[..2], outputs)
}

fn prepare_set(_: &Attrs, inputs: &[Desc], outputs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_scatter_set_nd";
    let ([lhs, rhs, indices], [out]) = arity(name, inputs, outputs)?;
    one_dtype(name, &[lhs, rhs, out])?;
    check_shape(name, "output", out, &lhs.shape)?;
    let nd = Nd::new(name, out, indices, rhs)?;
    boxed(move |call| nd.set(call))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("gather_nd", prepare_gather),
    Row::new("scatter_nd", |_, i, o| {
        prepare_scatter("scatter_nd", Meeting::Last, i, o)
    }),
    Row::new("_backward_gather_nd", |_, i, o| {
        prepare_scatter("_backward_gather_nd", Meeting::Sum, i, o)
    }),
    Row::new("_backward_gather_nd_like", prepare_like),
    Row::new("_scatter_set_nd", prepare_set),
];
