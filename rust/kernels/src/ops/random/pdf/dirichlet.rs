//! The distribution of Dirichlet: points whose coordinates are probabilities.

use super::densities::{ln_gamma, weighted_ln};
use super::{BLOCK, GRAIN, read, sources, targets, write};
use crate::api::check::{arity, one_dtype};
use crate::api::prepared::{boxed, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req};
use crate::blocks::raw::Target;
use crate::math::Math;
use crate::math::real::{Float, by_float};
use crate::par;
use ferromix_base::{Error, Result};

pub(super) const NAME: &str = "_random_pdf_dirichlet";
pub(super) const BACK: &str = "_backward_pdf_dirichlet";

/// Points of as many coordinates as there are classes; each row of parameters has `per` of them.
#[derive(Clone, Copy)]
struct Points {
    classes: usize,
    per: usize,
    is_log: bool,
}

impl Points {
    fn new(name: &str, attrs: &Attrs, sample: &Desc, alpha: &Desc) -> Result<Self> {
        let (Some((classes, leading)), Some((own, rows))) =
            (sample.shape.split_last(), alpha.shape.split_last())
        else {
            return Err(Error::value(format!(
                "{name}: sample and alpha must have an axis of classes"
            )));
        };
        if !leading.starts_with(rows) || classes != own {
            check_shape(name, "alpha", alpha, &sample.shape)?;
        }
        Ok(Points {
            classes: *classes,
            per: leading[rows.len()..].iter().product(),
            is_log: attrs.bool("is_log").map_err(|e| e.within(name))?,
        })
    }

    /// The density of a point.
    fn density(self, x: &[f64], alpha: &[f64], top: f64) -> f64 {
        let terms = x.iter().zip(alpha).map(|(x, a)| weighted_ln(a - 1.0, *x));
        let log = terms.sum::<f64>() + top;
        if self.is_log { log } else { log.exp() }
    }

    /// What the parameters of a row contribute to the logarithm.
    fn top(alpha: &[f64]) -> f64 {
        let gammas = alpha.iter().map(|a| ln_gamma(*a)).sum::<f64>();
        ln_gamma(alpha.iter().sum::<f64>()) - gammas
    }

    fn forward<T: Float>(self, call: &mut Call<'_>) -> Result<()> {
        let (inputs, req) = (sources::<T>(call)?, call.reqs[0]);
        let [Some(target)] = &targets::<T>(call)?[..] else {
            return Ok(());
        };
        let n = self.classes;
        par::for_ranges(target.len(), (GRAIN / n.max(1)).max(1), |range| {
            let (mut x, mut alpha) = (vec![0.0; n], vec![0.0; n]);
            let (mut last, mut top) = (usize::MAX, 0.0);
            for at in range {
                let row = at / self.per;
                if row != last {
                    read(&inputs[1], row * n..(row + 1) * n, &mut alpha);
                    (last, top) = (row, Self::top(&alpha));
                }
                let x = read(&inputs[0], at * n..(at + 1) * n, &mut x);
                write(target, at, &[self.density(x, &alpha, top)], req);
            }
        });
        Ok(())
    }

    fn backward<T: Float>(self, call: &mut Call<'_>) -> Result<()> {
        let (inputs, reqs, n) = (sources::<T>(call)?, call.reqs, self.classes);
        let rows = call.inputs[2].len().checked_div(n).unwrap_or(0);
        let targets = targets::<T>(call)?;
        par::for_ranges(rows, (GRAIN / (n * self.per).max(1)).max(1), |range| {
            let [mut x, mut alpha, mut slopes, mut sums] = std::array::from_fn(|_| vec![0.0; n]);
            let mut own = vec![0.0; n];
            for row in range {
                let alpha = read(&inputs[2], row * n..(row + 1) * n, &mut alpha);
                let top = Self::top(alpha);
                let total = Math::digamma(alpha.iter().sum::<f64>());
                for (own, a) in own.iter_mut().zip(alpha) {
                    *own = total - Math::digamma(*a);
                }
                sums.fill(0.0);
                for at in row * self.per..(row + 1) * self.per {
                    let mut g = [0.0];
                    read(&inputs[0], at..at + 1, &mut g);
                    let x = read(&inputs[1], at * n..(at + 1) * n, &mut x);
                    let g = if self.is_log {
                        g[0]
                    } else {
                        g[0] * self.density(x, alpha, top)
                    };
                    for i in 0..n {
                        slopes[i] = g * (alpha[i] - 1.0) / x[i];
                        sums[i] += g * (Math::ln(x[i]) + own[i]);
                    }
                    put(&targets[0], at * n, &slopes, reqs[0]);
                }
                put(&targets[1], row * n, &sums, reqs[1]);
            }
        });
        Ok(())
    }
}

/// Writes any number of elements, where they are wanted.
fn put<T: Float>(target: &Option<Target<T>>, start: usize, from: &[f64], req: Req) {
    if let Some(target) = target {
        for (i, part) in from.chunks(BLOCK).enumerate() {
            write(target, start + i * BLOCK, part, req);
        }
    }
}

pub(super) fn prepare(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let ([sample, alpha], [out]) = arity(NAME, i, o)?;
    one_dtype(NAME, &[sample, alpha, out])?;
    let points = Points::new(NAME, attrs, sample, alpha)?;
    check_shape(NAME, "output", out, &sample.shape[..sample.shape.len() - 1])?;
    by_float!(NAME, out.dtype, T => boxed(move |call: &mut Call<'_>| points.forward::<T>(call)))
}

pub(super) fn prepare_back(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let ([grad, sample, alpha], [to_sample, to_alpha]) = arity(BACK, i, o)?;
    one_dtype(BACK, &[grad, sample, alpha, to_sample, to_alpha])?;
    let points = Points::new(BACK, attrs, sample, alpha)?;
    check_shape(
        BACK,
        "out_grad",
        grad,
        &sample.shape[..sample.shape.len() - 1],
    )?;
    check_shape(BACK, "sample_grad", to_sample, &sample.shape)?;
    check_shape(BACK, "alpha_grad", to_alpha, &alpha.shape)?;
    by_float!(BACK, grad.dtype, T => boxed(move |call: &mut Call<'_>| {
        points.backward::<T>(call)
    }))
}
