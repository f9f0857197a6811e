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

use crate::api::prepared::boxed;
use crate::api::{Attrs, Call, Desc, Kernel, Row};
use crate::copy::assign;
use crate::math::real::Real;
use crate::update::group::prepare_group_adagrad;
use crate::update::rules::{ADAM, AdaGrad, Adam, AdamW, Ftrl, MP_ADAMW, blend, correction, is_fit};
use crate::update::{Rates, Rule, StepArguments, check_scalars, clipped, scalar};
use ferromix_base::Result;

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
    Row::new("_contrib_group_adagrad_update", |a, i, o| {
        prepare_group_adagrad("_contrib_group_adagrad_update", a, i, o)
    }),
    Row::new("rmsprop_update", |a, i, o| {
        RmsProp::prepare("rmsprop_update", StepArguments::plain(&[0, 1]), a, i, o)
    }),
    Row::new("rmspropalex_update", |a, i, o| {
        let layout = StepArguments::plain(&[0, 1, 2, 3]);
        RmsPropAlex::prepare("rmspropalex_update", layout, a, i, o)
    }),
];
