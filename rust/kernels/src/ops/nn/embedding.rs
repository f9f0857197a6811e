//! `Embedding`: rows of a table by their numbers, which are cut to those that there are.

use crate::api::prepared::{boxed, check_count};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::blocks::blockwise::store;
use crate::blocks::indices::{Indices, Outside};
use crate::blocks::raw::Target;
use crate::blocks::rows::{Rows, gather_at};
use crate::blocks::staged::Staged;
use crate::copy::assign;
use crate::math::real::{Float, Real, by_float};
use crate::par;
use ferromix_base::{Error, Result};

pub(crate) const ROWS: &[Row] = &[
    Row::new("Embedding", prepare_forward),
    Row::new("_backward_Embedding", prepare_backward),
];

/// Elements per task, roughly.
const GRAIN: usize = 1 << 15;

/// The numbers of rows, within those that there are.
fn numbers(data: &View, rows: usize) -> Result<Vec<usize>> {
    let mut whole = vec![0i64; data.len()];
    assign(data, &View::of_slice(&mut whole, data.shape())?, Req::Write)?;
    let most = rows.saturating_sub(1) as i64;
    Ok(whole.iter().map(|&n| n.clamp(0, most) as usize).collect())
}

fn check(name: &str, table: &Desc, ids: &Desc, values: &Desc) -> Result<(usize, usize)> {
    let count: usize = ids.shape.iter().product();
    let [rows, width] = table.shape[..] else {
        return Err(Error::value(format!("{name}: the weight must be a matrix")));
    };
    if values.shape.iter().product::<usize>() != count * width || values.dtype != table.dtype {
        return Err(Error::value(format!(
            "{name}: {count} rows of {width} elements are not {:?}",
            &values.shape[..]
        )));
    }
    if rows == 0 && count > 0 {
        return Err(Error::value(format!("{name}: the weight has no rows")));
    }
    Ok((rows, width))
}

fn prepare_forward(_: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    const NAME: &str = "Embedding";
    check_count(NAME, (ins, 2), (outs, 1))?;
    let (rows, width) = check(NAME, &ins[1], &ins[0], &outs[0])?;
    let rows = Rows {
        outer: 1,
        n: rows,
        inner: width,
    };
    boxed(move |call: &mut Call<'_>| {
        let out = &call.outputs[0];
        let Some(mut to) = Staged::new(out, call.reqs[0]) else {
            return Ok(());
        };
        let indices = Indices::of(&call.inputs[0])?;
        let how = ((NAME, 0), Outside::Clip);
        gather_at(&call.inputs[1], &mut to.view, indices, rows, how)?;
        to.finish(out)
    })
}

fn prepare_backward(_: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    const NAME: &str = "_backward_Embedding";
    check_count(NAME, (ins, 2), (outs, 1))?;
    let (rows, width) = check(NAME, &outs[0], &ins[1], &ins[0])?;
    by_float!(NAME, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        let req = call.reqs[0];
        if req == Req::Null {
            return Ok(());
        }
        let ids = numbers(&call.inputs[1], rows)?;
        let grads = call.inputs[0].read::<T>()?;
        let out = call.outputs[0].write::<T>()?;
        if req != Req::Add && let Some(sums) = T::plain_mut(out) {
            sums.fill(<T as Float>::Real::ZERO);
            add_rows(grads, &ids, width, sums);
            return Ok(());
        }
        let mut sums = vec![<T as Float>::Real::ZERO; rows * width];
        add_rows(grads, &ids, width, &mut sums);
        store(&sums, out, req);
        Ok(())
    }))
}

/// Adds each row to that of `sums` which its number says.
fn add_rows<T: Float>(grads: &[T], ids: &[usize], width: usize, sums: &mut [T::Real]) {
    let target = Target::of_slice(sums);
    let grain = (GRAIN / ids.len().max(1)).max(16);
    par::for_ranges(width, grain, |part| {
        for (k, &id) in ids.iter().enumerate() {
            // SAFETY: tasks have different columns.
            let to = unsafe { target.slice(id * width + part.start..id * width + part.end) };
            for (sum, x) in to.iter_mut().zip(&grads[k * width..][part.clone()]) {
                *sum += x.up();
            }
        }
    });
}
