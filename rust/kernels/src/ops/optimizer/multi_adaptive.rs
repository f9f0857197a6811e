//! Steps of AdamW and LAMB for several weights at once, as MXNet 1.9 makes them, with the formulas
//! of `adaptive` and `lamb`; inputs and outputs as in `multi_sgd`. The
//! last input of AdamW is `rescale_grad`. LAMB takes the norms itself: that of the weight, and that
//! of the direction, which is kept in scratch memory.

use crate::api::prepared::boxed;
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::blocks::raw::{Scratch, scratch_bytes};
use crate::copy::assign;
use crate::fold::axes::sum_squares;
use crate::math::real::Real;
use crate::update::rates::attr_rates;
use crate::update::rules::{ADAM, AdamW, MP_ADAMW, is_fit};
use crate::update::rules::{Descent, Direction, length};
use crate::update::{Rates, Rule, StepArguments, check_scalars, scalar};
use ferromix_base::{DType, Result, element_count};

fn prepare_adamw(
    name: &str,
    layout: StepArguments<4>,
    attrs: &Attrs,
    i: &[Desc],
    o: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let count = o.len() / layout.outputs.len();
    let last = count * layout.arguments;
    layout.check(name, (count, 1), i, o)?;
    check_scalars(name, &i[last..])?;
    let [lrs, wds, etas] = attr_rates(name, attrs, ["lrs", "wds", "etas"], count)?;
    let common = Rates::<4>::read(name, attrs, &["clip_gradient", "beta1", "beta2", "epsilon"])?;
    boxed(move |call: &mut Call<'_>| {
        let rescale = scalar(&call.inputs[last])?;
        let [clip, beta1, beta2, epsilon] = common.of(call);
        for k in 0..count {
            if is_fit(rescale) {
                let own = [
                    lrs[k], wds[k], clip, beta1, beta2, epsilon, etas[k], rescale,
                ];
                AdamW::run(&layout, own, (k, count), call)?;
            } else {
                let weight = &call.inputs[k * layout.arguments];
                assign(weight, &call.outputs[k], call.reqs[k])?;
            }
        }
        Ok(())
    })
}

/// The rates that the weights share: of the direction, without decay and step, then of its length.
const COMMON: [&str; 8] = [
    "rescale_grad",
    "clip_gradient",
    "beta1",
    "beta2",
    "epsilon",
    "bias_correction",
    "lower_bound",
    "upper_bound",
];

struct Lamb {
    layout: StepArguments<4>,
    count: usize,
    /// For each weight: learning rates, decays, numbers of steps.
    own: [Vec<f64>; 3],
    /// The rates of all: those of [`COMMON`].
    common: Rates<8>,
    /// The most elements of a weight.
    most: usize,
    wide: bool,
}

impl Kernel for Lamb {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        for nth in 0..self.count {
            if self.wide {
                self.step::<f64>(nth, call)?;
            } else {
                self.step::<f32>(nth, call)?;
            }
        }
        Ok(())
    }

    fn workspace(&self) -> usize {
        if self.wide {
            scratch_bytes::<f64>(self.most)
        } else {
            scratch_bytes::<f32>(self.most)
        }
    }
}

impl Lamb {
    fn step<C: Real>(&self, nth: usize, call: &mut Call<'_>) -> Result<()> {
        let [rescale, clip, beta1, beta2, epsilon, correct, lower, upper] = self.common.of(call);
        let [lr, wd, t] = self.own.each_ref().map(|rates| rates[nth]);
        let weight = &call.inputs[nth * self.layout.arguments];
        let memory = Scratch::new(call.workspace).take::<C>(weight.len())?;
        let direction = View::of_slice(memory, &[weight.len()])?;
        let (inputs, outputs) = self.layout.places(nth, self.count);
        let outputs: Vec<usize> = outputs.collect();
        let states = [outputs[1], outputs[2]];
        let given = inputs.map(|i| call.inputs[i].flattened());
        let [mean, var] = states.map(|k| call.outputs[k].flattened());
        let reqs = [Req::Write, call.reqs[states[0]], call.reqs[states[1]]];
        let mut made = [direction.flattened(), mean, var];
        let rates = [wd, rescale, clip, beta1, beta2, epsilon, t, correct];
        let part = inner(&given, &mut made, &reqs);
        Direction::run(&ADAM, Direction::prepared(rates), (0, 1), &part)?;
        let norms = [sum_squares(weight)?.sqrt(), sum_squares(&direction)?.sqrt()];
        let rate = lr * length(norms, [lower, upper]);
        let targets = outputs.iter().filter(|k| !states.contains(k));
        let (mut made, reqs): (Vec<View>, Vec<Req>) = targets
            .map(|&k| (call.outputs[k].flattened(), call.reqs[k]))
            .unzip();
        let layout = StepArguments {
            arguments: 2,
            inputs: [0, 1],
            outputs: &[0, 0][..made.len()],
        };
        let given = [given[0].flattened(), direction];
        Descent::run(&layout, [rate], (0, 1), &inner(&given, &mut made, &reqs))
    }
}

/// A part of a run.
fn inner<'a>(inputs: &'a [View], outputs: &'a mut [View], reqs: &'a [Req]) -> Call<'a> {
    Call {
        inputs,
        outputs,
        reqs,
        workspace: &mut [],
        scalars: &[],
        random: None,
        kept: None,
    }
}

fn prepare_lamb(
    name: &str,
    layout: StepArguments<4>,
    attrs: &Attrs,
    i: &[Desc],
    o: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let count = o.len() / layout.outputs.len();
    layout.check(name, (count, 0), i, o)?;
    let sizes = i.iter().map(|d| element_count(&d.shape));
    let sizes = sizes.collect::<Result<Vec<_>>>()?;
    let master = i.get(layout.inputs[0]);
    Ok(Box::new(Lamb {
        layout,
        count,
        own: attr_rates(name, attrs, ["learning_rates", "wds", "step_count"], count)?,
        common: Rates::read(name, attrs, &COMMON)?,
        most: sizes.into_iter().max().unwrap_or(0),
        wide: master.is_some_and(|d| d.dtype == DType::F64),
    }))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("_multi_adamw_update", |a, i, o| {
        prepare_adamw("_multi_adamw_update", ADAM, a, i, o)
    }),
    Row::new("_multi_mp_adamw_update", |a, i, o| {
        prepare_adamw("_multi_mp_adamw_update", MP_ADAMW, a, i, o)
    }),
    Row::new("_multi_lamb_update", |a, i, o| {
        prepare_lamb("_multi_lamb_update", ADAM, a, i, o)
    }),
    Row::new("_multi_mp_lamb_update", |a, i, o| {
        prepare_lamb("_multi_mp_lamb_update", MP_ADAMW, a, i, o)
    }),
];
