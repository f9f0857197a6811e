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

use crate::api::prepared::boxed;
use crate::api::{Attrs, Call, Desc, Kernel, Row};
use crate::math::real::Real;
use crate::update::rules::ADAM;
use crate::update::rules::{Descent, Direction, length};
use crate::update::{Rates, Rule, StepArguments, check_scalars, scalar};
use ferromix_base::Result;

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
const MP_DIRECTION: StepArguments<4> = StepArguments {
    arguments: 5,
    inputs: [4, 1, 2, 3],
    outputs: &[0, 1, 2],
};
/// Weight, direction, two norms.
const DESCENT: StepArguments<2> = StepArguments {
    arguments: 4,
    inputs: [0, 1],
    outputs: &[0],
};
/// Weight, direction, two norms, copy of the weight.
const MP_DESCENT: StepArguments<2> = StepArguments {
    arguments: 5,
    inputs: [4, 1],
    outputs: &[0, 0],
};

fn prepare_descent(
    name: &str,
    layout: StepArguments<2>,
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
        Lars::prepare("multi_lars", StepArguments::plain(&[0]), a, i, o)
    }),
];
