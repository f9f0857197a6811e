//! Count sketches: the elements of rows, with signs, added up in fewer places that a table gives.

use crate::api::prepared::{boxed, check_count, check_shape};
use crate::api::{Call, Desc, Kernel, Req, Row, View};
use crate::blocks::indices::{Indices, Outside};
use crate::copy::assign;
use crate::linalg::batch::{Sizes, run};
use crate::math::real::{Real, by_real};
use ferromix_base::{Error, Result};

pub(crate) const ROWS: &[Row] = &[
    Row::new("_contrib_count_sketch", |_, i, o| {
        prepare("_contrib_count_sketch", i, o)
    }),
    Row::new("_backward_count_sketch", |_, i, o| {
        prepare("_backward_count_sketch", i, o)
    }),
];

fn prepare(name: &'static str, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    check_count(name, (i, 3), (o, 1))?;
    let back = name == "_backward_count_sketch";
    let (data, out) = if back { (&o[0], &i[0]) } else { (&i[0], &o[0]) };
    let (Some((&d, lead)), Some((&places, same))) =
        (data.shape.split_last(), out.shape.split_last())
    else {
        return Err(Error::value(format!("{name}: data need a dimension")));
    };
    if lead != same {
        return Err(Error::value(format!(
            "{name}: {:?} does not give {:?}",
            i[0].shape, o[0].shape
        )));
    }
    check_shape(name, "h", &i[1], &[1, d])?;
    check_shape(name, "s", &i[2], &[1, d])?;
    let (from, to) = if back { (places, d) } else { (d, places) };
    let sizes = Sizes {
        count: lead.iter().product(),
        inputs: [from],
        outputs: [to],
        work: d.saturating_mul(8),
    };
    by_real!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        if call.reqs[0] == Req::Null || call.outputs[0].is_empty() {
            return Ok(());
        }
        let at = Indices::of(&call.inputs[1])?.places(0..d, (name, 1), places, Outside::Raise)?;
        let mut signs = vec![T::ZERO; d];
        assign(&call.inputs[2], &View::of_slice(&mut signs, &[1, d])?, Req::Write)?;
        run::<T, 1, 1>(call, &sizes, |[from], [to]| {
            let table = at.iter().zip(&signs);
            if back {
                to.iter_mut().zip(table).for_each(|(x, (&at, &s))| *x = s * from[at]);
            } else {
                to.fill(T::ZERO);
                from.iter().zip(table).for_each(|(&x, (&at, &s))| to[at] += s * x);
            }
            Ok(())
        })
    }))
}
