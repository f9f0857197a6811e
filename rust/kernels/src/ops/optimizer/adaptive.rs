//! Steps of optimizers with a rate for each element, as MXNet 1.9 makes them; inputs and outputs as
//! in `optimizer`. No bound clips where it is negative.
//!
//! With g = clip(`rescale_grad` · grad + wd · w), and in `ftrl_update` and the AdamW steps
//! g = clip(`rescale_grad` · grad):
//! `adam_update`: m' = beta1 m + (1 - beta1) g, v' = beta2 v + (1 - beta2) g²,
//! w' = w - lr m' / (√v' + epsilon);
//! `_adamw_update`: m' and v' as there, w' = w - eta (lr m' / (√v' + epsilon) + wd · w), where
//! `rescale_grad` is an array; nothing changes where it is 0, infinite or NaN;
//! `ftml_update`: v' as there, d' = (1 - beta1^t) / lr · (√(v' / (1 - beta2^t)) + epsilon),
//! z' = beta1 z + (1 - beta1) g - (d' - beta1 d) w, w' = -z' / d';
//! `ftrl_update`: z' = z + g - (√(n + g²) - √n) w / lr, n' = n + g²,
//! w' = (lamda1 sign(z') - z') / ((beta + √n') / lr + wd) where |z'| > lamda1, else 0;
//! `rmsprop_update`: n' = gamma1 n + (1 - gamma1) g², w' = w - lr g / √(n' + epsilon), clipped;
//! `rmspropalex_update`: n' as there, s' = gamma1 s + (1 - gamma1) g,
//! d' = gamma2 d - lr g / √(n' - s'² + epsilon), w' = w + d', clipped;
//! `_sparse_adagrad_update`: g without wd, h' = h + g², w' = w - lr g / √(h' + epsilon);
//! `_contrib_group_adagrad_update`: the same with one h for each row, to which the mean of g² is added.

use crate::api::prepared::{boxed, check_count};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row};
use crate::blocks::raw::{Source, Target};
use crate::copy::assign;
use crate::math::real::{Real, by_real};
use crate::update::rules::{ADAM, AdamW, MP_ADAMW, blend, correction, is_fit};
use crate::update::{Rates, Rule, StepArguments, check_scalars, clipped, scalar, sign};
use ferromix_base::{Error, Result};

struct Adam;

impl Rule<7, 4, 3> for Adam {
    const RATES: &'static [&'static str] = &[
        "lr",
        "wd",
        "rescale_grad",
        "clip_gradient",
        "beta1",
        "beta2",
        "epsilon",
    ];

    #[inline(always)]
    fn step<R: Real>(
        [lr, wd, rescale, clip, beta1, beta2, epsilon]: [R; 7],
        [w, g, m, v]: [R; 4],
    ) -> [R; 3] {
        let g = clipped(rescale * g + wd * w, clip);
        let (m, v) = (blend(beta1, m, g), blend(beta2, v, g * g));
        [w - lr * m / (v.sqrt() + epsilon), m, v]
    }
}

/// AdamW, whose last input is `rescale_grad`.
fn prepare_adamw(
    name: &str,
    layout: StepArguments<4>,
    attrs: &Attrs,
    i: &[Desc],
    o: &[Desc],
) -> Result<Box<dyn Kernel>> {
    layout.check(name, (1, 1), i, o)?;
    check_scalars(name, &i[layout.arguments..])?;
    let known = Rates::<8>::read(name, attrs, AdamW::RATES)?;
    boxed(move |call: &mut Call<'_>| {
        let rescale = scalar(&call.inputs[layout.arguments])?;
        if !is_fit(rescale) {
            return assign(&call.inputs[0], &call.outputs[0], call.reqs[0]);
        }
        let mut rates = known.of(call);
        rates[7] = rescale;
        AdamW::run(&layout, rates, (0, 1), call)
    })
}

struct Ftml;

impl Rule<9, 5, 4> for Ftml {
    const RATES: &'static [&'static str] = &[
        "lr",
        "wd",
        "rescale_grad",
        "clip_grad",
        "beta1",
        "beta2",
        "epsilon",
        "t",
    ];

    fn prepared(mut rates: [f64; 9]) -> [f64; 9] {
        let t = rates[7];
        rates[7] = correction(rates[4], t);
        rates[8] = correction(rates[5], t);
        rates
    }

    #[inline(always)]
    fn step<R: Real>(
        [lr, wd, rescale, clip, beta1, beta2, epsilon, part1, part2]: [R; 9],
        [w, g, d, v, z]: [R; 5],
    ) -> [R; 4] {
        let g = clipped(rescale * g + wd * w, clip);
        let v = blend(beta2, v, g * g);
        let new = part1 / lr * ((v / part2).sqrt() + epsilon);
        let z = blend(beta1, z, g) - (new - beta1 * d) * w;
        [-z / new, new, v, z]
    }
}

struct Ftrl;

impl Rule<6, 4, 3> for Ftrl {
    const RATES: &'static [&'static str] = &[
        "lr",
        "wd",
        "rescale_grad",
        "clip_gradient",
        "lamda1",
        "beta",
    ];

    #[inline(always)]
    fn step<R: Real>([lr, wd, rescale, clip, lamda, beta]: [R; 6], [w, g, z, n]: [R; 4]) -> [R; 3] {
        let g = clipped(rescale * g, clip);
        let new = n + g * g;
        let z = z + g - (new.sqrt() - n.sqrt()) * w / lr;
        let far = (lamda * sign(z) - z) / ((beta + new.sqrt()) / lr + wd);
        // NaN goes the way of what is far.
        let w = if z.abs() <= lamda { R::ZERO } else { far };
        [w, z, new]
    }
}

struct RmsProp;

impl Rule<7, 3, 2> for RmsProp {
    const RATES: &'static [&'static str] = &[
        "lr",
        "wd",
        "rescale_grad",
        "clip_gradient",
        "gamma1",
        "epsilon",
        "clip_weights",
    ];

    #[inline(always)]
    fn step<R: Real>(
        [lr, wd, rescale, clip, gamma, epsilon, bound]: [R; 7],
        [w, g, n]: [R; 3],
    ) -> [R; 2] {
        let g = clipped(rescale * g + wd * w, clip);
        let n = blend(gamma, n, g * g);
        [clipped(w - lr * g / (n + epsilon).sqrt(), bound), n]
    }
}

struct AdaGrad;

impl Rule<4, 3, 2> for AdaGrad {
    const RATES: &'static [&'static str] = &["lr", "rescale_grad", "clip_gradient", "epsilon"];

    #[inline(always)]
    fn step<R: Real>([lr, rescale, clip, epsilon]: [R; 4], [w, g, h]: [R; 3]) -> [R; 2] {
        let g = clipped(rescale * g, clip);
        let h = h + g * g;
        [w - lr * g / (h + epsilon).sqrt(), h]
    }
}

/// AdaGrad with one state for each row, in one pass over the rows.
fn prepare_group_adagrad(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    const NAME: &str = "_contrib_group_adagrad_update";
    check_count(NAME, (i, 3), (o, 2))?;
    let rows = i[0].shape.first().copied().unwrap_or(0);
    let width = i[0].shape.iter().skip(1).product::<usize>();
    let states: usize = i[2].shape.iter().product();
    if i[0] != i[1] || i[0] != o[0] || i[2] != o[1] || states != rows || i[0].dtype != i[2].dtype {
        return Err(Error::value(format!(
            "{NAME}: a state of shape {:?} does not go with a weight of shape {:?}",
            &i[2].shape[..],
            &i[0].shape[..]
        )));
    }
    let rates = Rates::<4>::read(NAME, attrs, AdaGrad::RATES)?;
    by_real!(NAME, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        let [lr, rescale, clip, epsilon] = rates.of(call).map(T::of);
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
        for row in 0..rows {
            let range = row * width..(row + 1) * width;
            // SAFETY: one thread; what is written may be what was read, element for element.
            let (grad, history) = unsafe { (grad.slice(range.clone()), state.slice(row..row + 1)[0]) };
            let squares = grad.iter().map(|&g| clipped(rescale * g, clip));
            let mean = squares.map(|g| g * g).sum::<T>() / T::of(width.max(1) as f64);
            let history = history + mean;
            for (k, &g) in range.zip(grad) {
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

struct RmsPropAlex;

impl Rule<8, 5, 4> for RmsPropAlex {
    const RATES: &'static [&'static str] = &[
        "lr",
        "wd",
        "rescale_grad",
        "clip_gradient",
        "gamma1",
        "epsilon",
        "clip_weights",
        "gamma2",
    ];

    #[inline(always)]
    fn step<R: Real>(
        [lr, wd, rescale, clip, gamma1, epsilon, bound, gamma2]: [R; 8],
        [w, g, n, s, d]: [R; 5],
    ) -> [R; 4] {
        let g = clipped(rescale * g + wd * w, clip);
        let (n, s) = (blend(gamma1, n, g * g), blend(gamma1, s, g));
        let d = gamma2 * d - lr * g / (n - s * s + epsilon).sqrt();
        [clipped(w + d, bound), n, s, d]
    }
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("adam_update", |a, i, o| {
        Adam::prepare("adam_update", ADAM, a, i, o)
    }),
    Row::new("_adamw_update", |a, i, o| {
        prepare_adamw("_adamw_update", ADAM, a, i, o)
    }),
    Row::new("_mp_adamw_update", |a, i, o| {
        prepare_adamw("_mp_adamw_update", MP_ADAMW, a, i, o)
    }),
    Row::new("ftml_update", |a, i, o| {
        Ftml::prepare("ftml_update", StepArguments::plain(&[0, 1, 2, 3]), a, i, o)
    }),
    Row::new("ftrl_update", |a, i, o| {
        Ftrl::prepare("ftrl_update", ADAM, a, i, o)
    }),
    Row::new("_sparse_adagrad_update", |a, i, o| {
        AdaGrad::prepare(
            "_sparse_adagrad_update",
            StepArguments::plain(&[0, 1]),
            a,
            i,
            o,
        )
    }),
    Row::new("_contrib_group_adagrad_update", prepare_group_adagrad),
    Row::new("rmsprop_update", |a, i, o| {
        RmsProp::prepare("rmsprop_update", StepArguments::plain(&[0, 1]), a, i, o)
    }),
    Row::new("rmspropalex_update", |a, i, o| {
        let layout = StepArguments::plain(&[0, 1, 2, 3]);
        RmsPropAlex::prepare("rmspropalex_update", layout, a, i, o)
    }),
];
