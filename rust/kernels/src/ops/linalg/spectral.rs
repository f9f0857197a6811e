//! Discrete Fourier transforms of rows, with real and imaginary parts in turn.

use crate::api::prepared::{boxed, check_args};
use crate::api::{Call, Desc, Kernel, Row};
use crate::linalg::batch::{Sizes, run};
use crate::math::real::{Real, by_real};
use ferromix_base::{Error, Result};
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};
use std::sync::Arc;

pub(crate) const ROWS: &[Row] = &[
    Row::new("_contrib_fft", |_, i, o| prepare("_contrib_fft", i, o)).unknown_cost(),
    Row::new("_contrib_ifft", |_, i, o| prepare("_contrib_ifft", i, o)).unknown_cost(),
];

fn prepare(name: &'static str, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    check_args(name, (i, 1), (o, 1))?;
    let back = name == "_contrib_ifft";
    let (real, pairs) = if back { (&o[0], &i[0]) } else { (&i[0], &o[0]) };
    let (Some((&n, lead)), Some((&twice, same))) =
        (real.shape.split_last(), pairs.shape.split_last())
    else {
        return Err(Error::value(format!("{name}: data need a dimension")));
    };
    if lead != same || n.checked_mul(2) != Some(twice) {
        return Err(Error::value(format!(
            "{name}: {:?} does not give {:?}",
            i[0].shape, o[0].shape
        )));
    }
    let (from, to) = if back { (twice, n) } else { (n, twice) };
    let sizes = Sizes {
        count: lead.iter().product(),
        inputs: [from],
        outputs: [to],
        work: n.saturating_mul(64),
    };
    by_real!(name, i[0].dtype, T => {
        let mut planner = FftPlanner::<T>::new();
        let plan: Arc<dyn Fft<T>> = match back {
            _ if n == 0 => planner.plan_fft_forward(1),
            true => planner.plan_fft_inverse(n),
            false => planner.plan_fft_forward(n),
        };
        boxed(move |call: &mut Call<'_>| {
            if n == 0 {
                return Ok(());
            }
            run::<T, 1, 1>(call, &sizes, |[from], [to]| {
                let mut row: Vec<Complex<T>> = if back {
                    from.chunks_exact(2).map(|x| Complex::new(x[0], x[1])).collect()
                } else {
                    from.iter().map(|&x| Complex::new(x, T::ZERO)).collect()
                };
                plan.process(&mut row);
                if back {
                    to.iter_mut().zip(&row).for_each(|(t, x)| *t = x.re);
                } else {
                    for (pair, x) in to.chunks_exact_mut(2).zip(&row) {
                        pair.copy_from_slice(&[x.re, x.im]);
                    }
                }
                Ok(())
            })
        })
    })
}
