//! AdaGrad with one state for each row.

use super::rows::{keep_others, listed};
use super::rules::AdaGrad;
use super::{Rates, Rule, clipped};
use crate::api::prepared::{boxed, check_count};
use crate::api::{Attrs, Call, Desc, Kernel, Req};
use crate::blocks::raw::{Source, Target};
use crate::math::real::{Real, by_real};
use crate::sparse::rows::{check_parts, misfit, width_of};
use ferromix_base::Result;

/// A step in one pass over the rows: of a row_sparse gradient, whose rows are numbered by two more
/// inputs, or all of them.
///
/// # Errors
/// Arguments that do not go together, and attributes that [`Rates::read`] refuses.
pub(crate) fn prepare_group_adagrad(
    name: &'static str,
    attrs: &Attrs,
    i: &[Desc],
    o: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let sparse = i.len() == 5;
    check_count(name, (i, if sparse { 5 } else { 3 }), (o, 2))?;
    let height = i[0].shape.first().copied().unwrap_or(0);
    let width = width_of(&i[0]);
    let states: usize = i[2].shape.iter().product();
    let mut fits = i[0] == o[0] && i[2] == o[1] && states == height;
    fits = fits && i[1].dtype == i[0].dtype && i[2].dtype == i[0].dtype;
    fits = fits && i[1].shape.get(1..) == i[0].shape.get(1..);
    if !fits || (!sparse && i[0] != i[1]) {
        return Err(misfit(name, i, o));
    }
    if sparse {
        check_parts(name, &[&i[1..2], &i[3..]].concat(), i, o)?;
    }
    let rates = Rates::<4>::read(name, attrs, AdaGrad::RATES)?;
    by_real!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        let [lr, rescale, clip, epsilon] = rates.of(call).map(T::of);
        let numbers = sparse.then(|| (&call.inputs[3], &call.inputs[4]));
        let rows = listed(name, numbers, height)?;
        if sparse {
            keep_others(name, call)?;
        }
        let view = |k: usize| Source::<T>::of(&call.inputs[k]);
        let (weight, grad, state) = (view(0)?, view(1)?, view(2)?);
        let reqs = [call.reqs[0], call.reqs[1]];
        let mut targets = [None; 2];
        for ((target, view), req) in targets.iter_mut().zip(&mut *call.outputs).zip(reqs) {
            if req != Req::Null {
                *target = Some(Target::<T>::of(view)?);
            }
        }
        let put = |number: usize, place: usize, value: T| {
            if let Some(target) = targets[number] {
                // SAFETY: one thread; an element is written after it was read.
                let out = unsafe { &mut target.slice(place..place + 1)[0] };
                *out = if reqs[number] == Req::Add { *out + value } else { value };
            }
        };
        for (k, row) in rows.enumerate() {
            let own = k * width..(k + 1) * width;
            // SAFETY: one thread; what is written may be what was read, element for element.
            let (grad, history) = unsafe { (grad.slice(own), state.slice(row..row + 1)[0]) };
            let squares = grad.iter().map(|&g| clipped(rescale * g, clip));
            let mean = squares.map(|g| g * g).sum::<T>() / T::of(width.max(1) as f64);
            let history = history + mean;
            for (k, &g) in (row * width..).zip(grad) {
                // SAFETY: as above.
                let w = unsafe { weight.slice(k..k + 1)[0] };
                let step = lr * clipped(rescale * g, clip) / (history + epsilon).sqrt();
                put(0, k, w - step);
            }
            put(1, row, history);
        }
        Ok(())
    }))
}
