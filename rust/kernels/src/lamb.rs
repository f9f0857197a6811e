//! The steps of LAMB and LARS, as MXNet 1.9 makes them, whose rates depend on the norms of weight
//! and gradient.
//!
//! With g = clip(`rescale_grad` · grad), where a negative bound clips nothing:
//! `lamb_update_phase1`: m' = beta1 m + (1 - beta1) g, v' = beta2 v + (1 - beta2) g²,
//! out = a m' / (√(b v') + epsilon) + wd · w, where a = 1 / (1 - beta1^t) and b likewise with
//! `bias_correction`, else 1;
//! `lamb_update_phase2`: w' = w - lr · r1 / r2 · g, with r1 within its bounds, and without the
//! quotient where r1 or r2 is 0;
//! `multi_lars`: out = lr · eta · |w| / (|g| + wd · |w| + eps) for `rescale_grad` · |g| as |g|, and
//! lr where one of the norms is 0.

use crate::Attrs;
use crate::adaptive::{ADAM, blend, correction};
use crate::kernel::{Call, Desc, Kernel, Row};
use crate::prepared::boxed;
use crate::real::Real;
use crate::update::{Layout, Rates, Rule, check_scalars, clipped, scalar};
use ferromix_base::Result;

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

/// `multi_lars` of the learning rates, squared norms, and decays.
struct Lars;

impl Rule<3, 4, 1> for Lars {
    const RATES: &'static [&'static str] = &["eta", "eps", "rescale_grad"];

    #[inline(always)]
    fn step<R: Real>([eta, eps, rescale]: [R; 3], [lr, w, g, wd]: [R; 4]) -> [R; 1] {
        let (w, g) = (w.sqrt(), g.sqrt());
        let scaled = lr * (eta * w / (g * rescale + wd * w + eps));
        let both = w > R::ZERO && g > R::ZERO;
        [if both { scaled } else { lr }]
    }
}

/// Weight, gradient, two states, copy of the weight.
const MP_DIRECTION: Layout<4> = Layout {
    arguments: 5,
    inputs: [4, 1, 2, 3],
    outputs: &[0, 1, 2],
};
/// Weight, direction, two norms.
const DESCENT: Layout<2> = Layout {
    arguments: 4,
    inputs: [0, 1],
    outputs: &[0],
};
/// Weight, direction, two norms, copy of the weight.
const MP_DESCENT: Layout<2> = Layout {
    arguments: 5,
    inputs: [4, 1],
    outputs: &[0, 0],
};

fn prepare_descent(
    name: &str,
    layout: Layout<2>,
    attrs: &Attrs,
    i: &[Desc],
    o: &[Desc],
) -> Result<Box<dyn Kernel>> {
    layout.check(name, (1, 0), i, o)?;
    check_scalars(name, &i[2..4])?;
    let rates = Rates::<3>::read(name, attrs, &["lr", "lower_bound", "upper_bound"])?;
    boxed(move |call: &mut Call<'_>| {
        let [lr, lower, upper] = rates.of(call);
        let norms = [scalar(&call.inputs[2])?, scalar(&call.inputs[3])?];
        let rate = lr * length(norms, [lower, upper]);
        Descent::run(&layout, [rate], (0, 1), call)
    })
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("lamb_update_phase1", |a, i, o| {
        Direction::prepare("lamb_update_phase1", ADAM, a, i, o)
    }),
    Row::new("mp_lamb_update_phase1", |a, i, o| {
        Direction::prepare("mp_lamb_update_phase1", MP_DIRECTION, a, i, o)
    }),
    Row::new("lamb_update_phase2", |a, i, o| {
        prepare_descent("lamb_update_phase2", DESCENT, a, i, o)
    }),
    Row::new("mp_lamb_update_phase2", |a, i, o| {
        prepare_descent("mp_lamb_update_phase2", MP_DESCENT, a, i, o)
    }),
    Row::new("multi_lars", |a, i, o| {
        Lars::prepare("multi_lars", Layout::plain(&[0]), a, i, o)
    }),
];
