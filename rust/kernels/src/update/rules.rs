//! The rules of optimizers that several families step by.

use super::{Rule, clipped, sign};
use crate::math::real::Real;
use crate::update::StepArguments;

/// Weight and gradient.
pub(crate) const SGD: StepArguments<2> = StepArguments::plain(&[0]);
/// Weight, gradient, momentum.
pub(crate) const MOMENTUM: StepArguments<3> = StepArguments::plain(&[0, 1]);
/// Weight, gradient, copy of the weight.
pub(crate) const MP_SGD: StepArguments<2> = StepArguments {
    arguments: 3,
    inputs: [2, 1],
    outputs: &[0, 0],
};
/// Weight, gradient, momentum, copy of the weight.
pub(crate) const MP_MOMENTUM: StepArguments<3> = StepArguments {
    arguments: 4,
    inputs: [3, 1, 2],
    outputs: &[0, 1, 0],
};

pub(crate) struct Sgd;

impl Rule<4, 2, 1> for Sgd {
    const RATES: &'static [&'static str] = &["lr", "wd", "rescale_grad", "clip_gradient"];

    #[inline(always)]
    fn step<R: Real>([lr, wd, rescale, clip]: [R; 4], [w, g]: [R; 2]) -> [R; 1] {
        [(R::ONE - lr * wd) * w - lr * clipped(rescale * g, clip)]
    }
}

pub(crate) struct Momentum;

impl Rule<5, 3, 2> for Momentum {
    const RATES: &'static [&'static str] =
        &["lr", "wd", "rescale_grad", "clip_gradient", "momentum"];

    #[inline(always)]
    fn step<R: Real>([lr, wd, rescale, clip, momentum]: [R; 5], [w, g, m]: [R; 3]) -> [R; 2] {
        let m = momentum * m - lr * wd * w - lr * clipped(rescale * g, clip);
        [w + m, m]
    }
}

/// `decay` of the old value and the rest of the new one.
#[inline(always)]
pub(crate) fn blend<R: Real>(decay: R, old: R, new: R) -> R {
    decay * old + (R::ONE - decay) * new
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
pub(crate) const ADAM: StepArguments<4> = StepArguments::plain(&[0, 1, 2]);
/// Weight, gradient, two states, copy of the weight.
pub(crate) const MP_ADAMW: StepArguments<4> = StepArguments {
    arguments: 5,
    inputs: [4, 1, 2, 3],
    outputs: &[0, 1, 2, 0],
};

/// Whether AdamW steps at all where the gradient has this factor.
pub(crate) fn is_fit(rescale: f64) -> bool {
    rescale.is_finite() && rescale != 0.0
}

/// What is divided by in order to correct a mean for its start from 0: 1 - decay^t.
pub(crate) fn correction(decay: f64, t: f64) -> f64 {
    1.0 - decay.powf(t)
}

pub(crate) struct Direction;

impl Rule<8, 4, 3> for Direction {
    const RATES: &'static [&'static str] = &[
        "wd",
        "rescale_grad",
        "clip_gradient",
        "beta1",
        "beta2",
        "epsilon",
        "t",
        "bias_correction",
    ];

    fn prepared(mut rates: [f64; 8]) -> [f64; 8] {
        let (t, correct) = (rates[6], rates[7] != 0.0);
        for (k, decay) in [(6, rates[3]), (7, rates[4])] {
            rates[k] = if correct { correction(decay, t) } else { 1.0 };
        }
        rates
    }

    #[inline(always)]
    fn step<R: Real>(
        [wd, rescale, clip, beta1, beta2, epsilon, part1, part2]: [R; 8],
        [w, g, m, v]: [R; 4],
    ) -> [R; 3] {
        let g = clipped(rescale * g, clip);
        let (m, v) = (blend(beta1, m, g), blend(beta2, v, g * g));
        let out = (m / part1) / ((v / part2).sqrt() + epsilon) + wd * w;
        [out, m, v]
    }
}

/// The factor of a rate for the norms of weight and direction: their quotient, with the weight's
/// norm within bounds that are not negative; 1 where one of them is 0.
pub(crate) fn length([weight, direction]: [f64; 2], [lower, upper]: [f64; 2]) -> f64 {
    let mut weight = weight;
    if lower >= 0.0 {
        weight = weight.max(lower);
    }
    if upper >= 0.0 {
        weight = weight.min(upper);
    }
    if weight == 0.0 || direction == 0.0 {
        1.0
    } else {
        weight / direction
    }
}

/// A step of a given rate in a given direction.
pub(crate) struct Descent;

impl Rule<1, 2, 1> for Descent {
    const RATES: &'static [&'static str] = &[];

    #[inline(always)]
    fn step<R: Real>([rate]: [R; 1], [w, g]: [R; 2]) -> [R; 1] {
        [w - rate * g]
    }
}

pub(crate) struct Adam;

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

pub(crate) struct Ftrl;

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

pub(crate) struct AdaGrad;

impl Rule<4, 3, 2> for AdaGrad {
    const RATES: &'static [&'static str] = &["lr", "rescale_grad", "clip_gradient", "epsilon"];

    #[inline(always)]
    fn step<R: Real>([lr, rescale, clip, epsilon]: [R; 4], [w, g, h]: [R; 3]) -> [R; 2] {
        let g = clipped(rescale * g, clip);
        let h = h + g * g;
        [w - lr * g / (h + epsilon).sqrt(), h]
    }
}
