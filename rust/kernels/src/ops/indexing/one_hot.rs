//! Indices as rows in which one element differs from the others.

use crate::api::check::arity;
use crate::api::prepared::boxed;
use crate::api::{Attrs, Desc, Kernel, Row};
use crate::blocks::indices::Indices;
use crate::blocks::staged::Staged;
use crate::iter::convert::with_type;
use crate::iter::reader::Parts;
use crate::par;
use crate::simd::number::From3;
use ferromix_base::{Error, Result};

/// Elements per task.
const GRAIN: usize = 32_768;

fn fill<T: From3>(indices: Indices<'_>, out: &mut [T], depth: usize, on: f64, off: f64) {
    let (on, off) = (T::from_f64(on), T::from_f64(off));
    let rows = out.len() / depth;
    let out = Parts::new(out);
    par::for_ranges(rows, GRAIN / depth, |range| {
        // SAFETY: tasks have disjoint ranges.
        let own = unsafe { out.part(range.start * depth, range.len() * depth) };
        own.fill(off);
        indices.each(range.clone(), |row, index| {
            if let Some(place) = usize::try_from(index).ok().filter(|i| *i < depth) {
                own[(row - range.start) * depth + place] = on;
            }
        });
    });
}

fn prepare(attrs: &Attrs, inputs: &[Desc], outputs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "one_hot";
    let ([indices], [out]) = arity(name, inputs, outputs)?;
    let depth = usize::try_from(attrs.int("depth")?).unwrap_or(0);
    if ![&indices.shape[..], &[depth]]
        .concat()
        .iter()
        .eq(&out.shape[..])
    {
        return Err(Error::value(format!(
            "{name}: indices of shape {:?} and depth {depth} do not give shape {:?}",
            &indices.shape[..],
            &out.shape[..]
        )));
    }
    let (on, off) = (attrs.float("on_value")?, attrs.float("off_value")?);
    boxed(move |call| {
        let out = &call.outputs[0];
        let Some(mut to) = Staged::new(out, call.reqs[0]) else {
            return Ok(());
        };
        let indices = Indices::of(&call.inputs[0])?;
        with_type!(out.dtype(), T => fill::<T>(indices, to.view.write::<T>()?, depth, on, off));
        to.finish(out)
    })
}

pub(crate) const ROWS: &[Row] = &[Row::new("one_hot", prepare)];
