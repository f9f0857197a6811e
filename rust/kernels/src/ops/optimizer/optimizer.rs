//! Steps of gradient descent, as MXNet 1.9 makes them. The new weight is output 0; states are
//! inputs after weight and gradient, and outputs after the weight, in the same memory. The rows
//! `mp_...` have a weight of any type, and in float32 states and a copy of the weight, from which
//! they compute.
//!
//! With g = clip(`rescale_grad` · grad), where a negative bound clips nothing:
//! `sgd_update`: w' = (1 - lr · wd) w - lr g;
//! `sgd_mom_update`: m' = momentum · m - lr · wd · w - lr g, w' = w + m';
//! `nag_mom_update`: w' = w + momentum (momentum · m - lr (g + wd · w)) - lr (g + wd · w),
//! m' = momentum · m - lr (g + wd · w');
//! `signsgd_update`: w' = (1 - lr · wd) w - lr sign(grad);
//! `signum_update`: m' = momentum · m - (1 - momentum) (g + wd · w),
//! w' = (1 - lr · `wd_lh`) w + lr sign(m').

use crate::api::Row;
use crate::math::real::Real;
use crate::update::rules::{MOMENTUM, MP_MOMENTUM, MP_SGD, Momentum, SGD, Sgd};
use crate::update::{Rule, clipped, sign};

struct Nag;

impl Rule<5, 3, 2> for Nag {
    const RATES: &'static [&'static str] = Momentum::RATES;

    #[inline(always)]
    fn step<R: Real>([lr, wd, rescale, clip, momentum]: [R; 5], [w, g, m]: [R; 3]) -> [R; 2] {
        let step = lr * clipped(rescale * g, clip);
        let (kept, decay) = (momentum * m, lr * wd);
        let new = w + momentum * (kept - decay * w - step) - (decay * w + step);
        [new, kept - decay * new - step]
    }
}

struct SignSgd;

impl Rule<2, 2, 1> for SignSgd {
    const RATES: &'static [&'static str] = &["lr", "wd"];

    #[inline(always)]
    fn step<R: Real>([lr, wd]: [R; 2], [w, g]: [R; 2]) -> [R; 1] {
        [(R::ONE - lr * wd) * w - lr * sign(g)]
    }
}

struct Signum;

impl Rule<6, 3, 2> for Signum {
    const RATES: &'static [&'static str] = &[
        "lr",
        "wd",
        "rescale_grad",
        "clip_gradient",
        "momentum",
        "wd_lh",
    ];

    #[inline(always)]
    fn step<R: Real>(
        [lr, wd, rescale, clip, momentum, wd_lh]: [R; 6],
        [w, g, m]: [R; 3],
    ) -> [R; 2] {
        let rest = R::ONE - momentum;
        let m = momentum * m - rest * wd * w - rest * clipped(rescale * g, clip);
        [(R::ONE - lr * wd_lh) * w + lr * sign(m), m]
    }
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("sgd_update", |a, i, o| {
        Sgd::prepare("sgd_update", SGD, a, i, o)
    }),
    Row::new("mp_sgd_update", |a, i, o| {
        Sgd::prepare("mp_sgd_update", MP_SGD, a, i, o)
    }),
    Row::new("sgd_mom_update", |a, i, o| {
        Momentum::prepare("sgd_mom_update", MOMENTUM, a, i, o)
    }),
    Row::new("mp_sgd_mom_update", |a, i, o| {
        Momentum::prepare("mp_sgd_mom_update", MP_MOMENTUM, a, i, o)
    }),
    Row::new("nag_mom_update", |a, i, o| {
        Nag::prepare("nag_mom_update", MOMENTUM, a, i, o)
    }),
    Row::new("mp_nag_mom_update", |a, i, o| {
        Nag::prepare("mp_nag_mom_update", MP_MOMENTUM, a, i, o)
    }),
    Row::new("signsgd_update", |a, i, o| {
        SignSgd::prepare("signsgd_update", SGD, a, i, o)
    }),
    Row::new("signum_update", |a, i, o| {
        Signum::prepare("signum_update", MOMENTUM, a, i, o)
    }),
];
