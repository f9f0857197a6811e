//! `index_copy`: a tensor with other slices at some indices of its first axis.

use crate::api::prepared::{boxed, check_count, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row};
use crate::blocks::indices::{Indices, Outside};
use crate::blocks::staged::Staged;
use crate::copy::assign;
use crate::iter::convert::with_type;
use ferromix_base::{Error, Result, element_count};

const NAME: &str = "_contrib_index_copy";

fn prepare(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    check_count(NAME, (i, 3), (o, 1))?;
    if i[2].dtype != i[0].dtype || o[0].dtype != i[0].dtype {
        return Err(Error::dtype(format!(
            "{NAME}: old and new slices must have one type, got {} and {}; cast one of them",
            i[0].dtype, i[2].dtype
        )));
    }
    let Some((&n, rest)) = i[0].shape.split_first() else {
        return Err(Error::value(format!(
            "{NAME}: old_tensor needs a dimension"
        )));
    };
    check_shape(NAME, "output", &o[0], &i[0].shape)?;
    let count = i[1].shape.first().copied().unwrap_or(0);
    check_shape(NAME, "index_vector", &i[1], &[count])?;
    check_shape(NAME, "new_tensor", &i[2], &[&[count], rest].concat())?;
    // What cannot be counted has no elements.
    let inner = element_count(rest).unwrap_or(0);
    boxed(move |call: &mut Call<'_>| run((n, inner), call))
}

fn run((n, inner): (usize, usize), call: &mut Call<'_>) -> Result<()> {
    let indices = Indices::of(&call.inputs[1])?;
    let places = indices.places(0..indices.len(), (NAME, 0), n, Outside::Raise)?;
    let Some(mut staged) = Staged::new(&call.outputs[0], call.reqs[0]) else {
        return Ok(());
    };
    assign(&call.inputs[0], &staged.view, Req::Write)?;
    let slices = &call.inputs[2];
    with_type!(slices.dtype(), T => {
        let (slices, out) = (slices.read::<T>()?, staged.view.write::<T>()?);
        // One after the other, so that the last one stays.
        for (slice, place) in slices.chunks_exact(inner.max(1)).zip(places) {
            out[place * inner..(place + 1) * inner].copy_from_slice(slice);
        }
    });
    staged.finish(&call.outputs[0])
}

pub(crate) const ROWS: &[Row] = &[Row::new(NAME, prepare)];
