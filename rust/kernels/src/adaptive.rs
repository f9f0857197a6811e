//! Steps of optimizers with a rate for each element, as MXNet 1.9 makes them; inputs and outputs as
//! in [`crate::optimizer`]. No bound clips where it is negative.
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
//! d' = gamma2 d - lr g / √(n' - s'² + epsilon), w' = w + d', clipped.

use crate::Attrs;
use crate::copy::assign;
use crate::kernel::{Call, Desc, Kernel, Row};
use crate::prepared::boxed;
use crate::real::Real;
use crate::update::{Layout, Rates, Rule, check_scalars, clipped, scalar, sign};
use ferromix_base::Result;

/// `decay` of the old value and the rest of the new one.
#[inline(always)]
pub(crate) fn blend<R: Real>(decay: R, old: R, new: R) -> R {
    decay * old + (R::ONE - decay) * new
}

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

pub(crate) struct AdamW;

impl Rule<8, 4, 3> for AdamW {
    /// `rescale_grad` follows when the step is made.
    const RATES: &'static [&'static str] = &[
        "lr",
        "wd",
        "clip_gradient",
        "beta1",
        "beta2",
        "epsilon",
        "eta",
    ];

    #[inline(always)]
    fn step<R: Real>(
        [lr, wd, clip, beta1, beta2, epsilon, eta, rescale]: [R; 8],
        [w, g, m, v]: [R; 4],
    ) -> [R; 3] {
        let g = clipped(rescale * g, clip);
        let (m, v) = (blend(beta1, m, g), blend(beta2, v, g * g));
        [w - eta * (lr * m / (v.sqrt() + epsilon) + wd * w), m, v]
    }
}

/// Weight, gradient and two states.
pub(crate) const ADAM: Layout<4> = Layout::plain(&[0, 1, 2]);
/// Weight, gradient, two states, copy of the weight.
pub(crate) const MP_ADAMW: Layout<4> = Layout {
    arguments: 5,
    inputs: [4, 1, 2, 3],
    outputs: &[0, 1, 2, 0],
};

/// Whether AdamW steps at all where the gradient has this factor.
pub(crate) fn is_fit(rescale: f64) -> bool {
    rescale.is_finite() && rescale != 0.0
}

/// AdamW, whose last input is `rescale_grad`.
fn prepare_adamw(
    name: &str,
    layout: Layout<4>,
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

/// What is divided by in order to correct a mean for its start from 0: 1 - decay^t.
pub(crate) fn correction(decay: f64, t: f64) -> f64 {
    1.0 - decay.powf(t)
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
        Ftml::prepare("ftml_update", Layout::plain(&[0, 1, 2, 3]), a, i, o)
    }),
    Row::new("ftrl_update", |a, i, o| {
        Ftrl::prepare("ftrl_update", ADAM, a, i, o)
    }),
    Row::new("rmsprop_update", |a, i, o| {
        RmsProp::prepare("rmsprop_update", Layout::plain(&[0, 1]), a, i, o)
    }),
    Row::new("rmspropalex_update", |a, i, o| {
        let layout = Layout::plain(&[0, 1, 2, 3]);
        RmsPropAlex::prepare("rmspropalex_update", layout, a, i, o)
    }),
];
