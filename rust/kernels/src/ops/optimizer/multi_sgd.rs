//! Steps of gradient descent for several weights at once, as MXNet 1.9 makes them. Inputs are those
//! of `optimizer`'s rows for one weight after another; outputs are all new weights, and
//! then the states, weight by weight. Rates are tuples of attributes, or the last two inputs
//! (`preloaded_...`).

use crate::api::prepared::boxed;
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::copy::assign;
use crate::update::rates::attr_rates;
use crate::update::rules::{MOMENTUM, MP_MOMENTUM, MP_SGD, Momentum, SGD, Sgd};
use crate::update::{Rates, Rule, StepArguments};
use ferromix_base::{Error, Result};

/// The learning rates and decays of a run.
fn input_rates(inputs: &[View]) -> Result<[Vec<f64>; 2]> {
    let read = |view: &View| {
        let mut found = vec![0.0; view.len()];
        let target = View::of_slice(&mut found, &[view.len()])?;
        assign(&view.flattened(), &target, Req::Write)?;
        Ok(found)
    };
    Ok([read(&inputs[0])?, read(&inputs[1])?])
}

fn check_rates(name: &str, count: usize, inputs: &[Desc]) -> Result<()> {
    for input in inputs {
        if input.shape[..] != [count] || !input.dtype.is_float() {
            return Err(Error::value(format!(
                "{name} needs a rate for each of {count} weights, got {} of shape {:?}",
                input.dtype,
                &input.shape[..]
            )));
        }
    }
    Ok(())
}

/// Steps whose first two rates differ between the weights.
fn prepare<T: Rule<N, I, O>, const N: usize, const I: usize, const O: usize>(
    _: T,
    (name, layout): (&'static str, StepArguments<I>),
    attrs: &Attrs,
    i: &[Desc],
    o: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let count = o.len() / layout.outputs.len();
    let preloaded = name.starts_with("preloaded_");
    let given = count * layout.arguments;
    layout.check(name, (count, if preloaded { 2 } else { 0 }), i, o)?;
    let common = Rates::<N>::read(name, attrs, &T::RATES[2..])?;
    let known = if preloaded {
        check_rates(name, count, &i[given..])?;
        None
    } else {
        Some(attr_rates(name, attrs, ["lrs", "wds"], count)?)
    };
    boxed(move |call: &mut Call<'_>| {
        let common = common.of(call);
        let loaded;
        let [lrs, wds] = match &known {
            Some(rates) => rates,
            None => {
                loaded = input_rates(&call.inputs[given..])?;
                &loaded
            }
        };
        for nth in 0..count {
            let mut rates = [0.0; N];
            rates[..2].copy_from_slice(&[lrs[nth], wds[nth]]);
            rates[2..].copy_from_slice(&common[..N - 2]);
            T::run(&layout, rates, (nth, count), call)?;
        }
        Ok(())
    })
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("multi_sgd_update", |a, i, o| {
        prepare(Sgd, ("multi_sgd_update", SGD), a, i, o)
    }),
    Row::new("multi_sgd_mom_update", |a, i, o| {
        prepare(Momentum, ("multi_sgd_mom_update", MOMENTUM), a, i, o)
    }),
    Row::new("multi_mp_sgd_update", |a, i, o| {
        prepare(Sgd, ("multi_mp_sgd_update", MP_SGD), a, i, o)
    }),
    Row::new("multi_mp_sgd_mom_update", |a, i, o| {
        prepare(Momentum, ("multi_mp_sgd_mom_update", MP_MOMENTUM), a, i, o)
    }),
    Row::new("preloaded_multi_sgd_update", |a, i, o| {
        prepare(Sgd, ("preloaded_multi_sgd_update", SGD), a, i, o)
    }),
    Row::new("preloaded_multi_sgd_mom_update", |a, i, o| {
        prepare(
            Momentum,
            ("preloaded_multi_sgd_mom_update", MOMENTUM),
            a,
            i,
            o,
        )
    }),
    Row::new("preloaded_multi_mp_sgd_update", |a, i, o| {
        prepare(Sgd, ("preloaded_multi_mp_sgd_update", MP_SGD), a, i, o)
    }),
    Row::new("preloaded_multi_mp_sgd_mom_update", |a, i, o| {
        let what = ("preloaded_multi_mp_sgd_mom_update", MP_MOMENTUM);
        prepare(Momentum, what, a, i, o)
    }),
];
