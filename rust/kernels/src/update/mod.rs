//! Functions of several tensors to several, element by element, in place: steps of optimizers.

pub(crate) mod group;
pub(crate) mod rates;
pub(crate) mod rows;
pub(crate) mod rules;

use crate::api::check::{FLOATS, one_shape, unsupported};
use crate::api::prepared::boxed;
use crate::api::{Attrs, Call, Desc, Kernel, Req, Scalar, View};
use crate::copy::assign;
use crate::copy::fill::part;
use crate::iter::convert::converter;
use crate::loops::GRAIN;
use crate::math::real::Real;
use crate::par;
use crate::simd::body::Run;
use crate::simd::vector::versions;
use ferromix_base::{DType, Element, Error, Result};

/// Elements that are computed at a time.
pub(crate) const BLOCK: usize = 512;

/// What a step computes for each element: from `N` rates and `I` numbers, `O` numbers.
pub(crate) trait Rule<const N: usize, const I: usize, const O: usize>:
    Send + Sync + 'static
{
    /// The attributes that are the first rates; the others are not known before the run.
    const RATES: &'static [&'static str];

    /// The rates as the step wants them, from attributes that say them in another way.
    fn prepared(rates: [f64; N]) -> [f64; N] {
        rates
    }

    /// The step, in the type of the computation.
    fn step<R: Real>(rates: [R; N], x: [R; I]) -> [R; O];

    /// Runs the step `nth` of the `of` that an operator makes.
    ///
    /// # Errors
    /// None that checked arguments meet.
    fn run(
        layout: &StepArguments<I>,
        rates: [f64; N],
        (nth, of): (usize, usize),
        call: &Call<'_>,
    ) -> Result<()> {
        let (inputs, outputs) = layout.places(nth, of);
        let inputs = inputs.map(|i| call.inputs[i].flattened());
        let target = |(k, &result): (usize, &usize)| Target {
            view: call.outputs[k].flattened(),
            req: call.reqs[k],
            result,
        };
        let targets: Vec<Target> = outputs.zip(layout.outputs).map(target).collect();
        if inputs[0].dtype() == DType::F64 {
            update(&inputs, &targets, |x| Self::step(rates, x))
        } else {
            let rates = rates.map(|r| r as f32);
            update(&inputs, &targets, |x| Self::step(rates, x))
        }
    }

    /// An operator that is one step.
    ///
    /// # Errors
    /// Arguments that [`StepArguments::check`] refuses, and attributes that [`Rates::read`] refuses.
    fn prepare(
        name: &str,
        layout: StepArguments<I>,
        attrs: &Attrs,
        i: &[Desc],
        o: &[Desc],
    ) -> Result<Box<dyn Kernel>> {
        layout.check(name, (1, 0), i, o)?;
        let rates = Rates::read(name, attrs, Self::RATES)?;
        boxed(move |call: &mut Call<'_>| {
            Self::run(&layout, Self::prepared(rates.of(call)), (0, 1), call)
        })
    }
}

/// Where the rates of a step are. Which of them come with each run is the choice of the operator's
/// card, where [`Param`s are dynamic](Scalar).
#[derive(Clone, Copy)]
pub(crate) struct Rates<const N: usize> {
    sources: [Scalar; N],
    bounds: [bool; N],
}

impl<const N: usize> Rates<N> {
    /// The rates of these attributes, and 0 for the rest; a bound (`clip_...`) that is negative or
    /// absent is infinite.
    ///
    /// # Errors
    /// A missing attribute, or one that is no number.
    pub(crate) fn read(name: &str, attrs: &Attrs, from: &[&str]) -> Result<Self> {
        let mut rates = Rates {
            sources: [Scalar::fixed(0.0); N],
            bounds: [false; N],
        };
        for (k, attr) in from.iter().enumerate() {
            rates.bounds[k] = attr.starts_with("clip_");
            rates.sources[k] = if rates.bounds[k] && !attrs.has(attr) {
                Scalar::fixed(-1.0)
            } else {
                attrs.scalar(attr).map_err(|e| e.within(name))?
            };
        }
        Ok(rates)
    }

    /// Those of a run.
    pub(crate) fn of(&self, call: &Call<'_>) -> [f64; N] {
        std::array::from_fn(|k| {
            let rate = self.sources[k].of(call.scalars);
            if self.bounds[k] && rate < 0.0 {
                f64::INFINITY
            } else {
                rate
            }
        })
    }
}

/// The element of an input that has one.
///
/// # Errors
/// None that inputs of one element meet.
pub(crate) fn scalar(view: &View) -> Result<f64> {
    let mut found = [0.0];
    assign(
        &view.flattened(),
        &View::of_slice(&mut found, &[1])?,
        Req::Write,
    )?;
    Ok(found[0])
}

/// Requires inputs to have one element.
///
/// # Errors
/// One that has another number of elements.
pub(crate) fn check_scalars(name: &str, inputs: &[Desc]) -> Result<()> {
    for input in inputs {
        let n: usize = input.shape.iter().product();
        if n != 1 {
            return Err(Error::value(format!(
                "{name} needs one element where it was given an array of shape {:?}",
                &input.shape[..]
            )));
        }
    }
    Ok(())
}

/// `x` cut at `bound`, on both sides; NaN stays.
#[inline(always)]
pub(crate) fn clipped<R: Real>(x: R, bound: R) -> R {
    if x > bound {
        bound
    } else if x < -bound {
        -bound
    } else {
        x
    }
}

/// 1, -1, or 0 for zero and NaN.
#[inline(always)]
pub(crate) fn sign<R: Real>(x: R) -> R {
    if x > R::ZERO {
        R::ONE
    } else if x < R::ZERO {
        -R::ONE
    } else {
        R::ZERO
    }
}

/// Where the tensors of a step are among the arguments of its operator.
#[derive(Clone, Copy)]
pub(crate) struct StepArguments<const I: usize> {
    /// How many inputs a step has, those included that the rule does not see.
    pub(crate) arguments: usize,
    /// The inputs in the order of the rule; the first decides in which type is computed.
    pub(crate) inputs: [usize; I],
    /// The results of the rule that the outputs take.
    pub(crate) outputs: &'static [usize],
}

impl<const I: usize> StepArguments<I> {
    /// A layout whose inputs and outputs are those of the rule.
    pub(crate) const fn plain(outputs: &'static [usize]) -> Self {
        let mut inputs = [0; I];
        let mut i = 0;
        while i < I {
            inputs[i] = i;
            i += 1;
        }
        StepArguments {
            arguments: I,
            inputs,
            outputs,
        }
    }

    /// The places of the inputs and outputs of the step `nth` of `of`: the inputs of steps follow
    /// each other; of the outputs the first one of each step comes first, then the others.
    pub(crate) fn places(
        &self,
        nth: usize,
        of: usize,
    ) -> ([usize; I], impl Iterator<Item = usize>) {
        let inputs = self.inputs.map(|i| nth * self.arguments + i);
        let states = self.outputs.len() - 1;
        let first = of + nth * states;
        (inputs, std::iter::once(nth).chain(first..first + states))
    }

    /// Checks the arguments of `of` steps, which `more` inputs follow.
    ///
    /// # Errors
    /// Wrong numbers of arguments, shapes of a step that differ, or types that are no floats.
    pub(crate) fn check(
        &self,
        name: &str,
        (of, more): (usize, usize),
        i: &[Desc],
        o: &[Desc],
    ) -> Result<()> {
        let wanted = (of * self.arguments + more, of * self.outputs.len());
        if (i.len(), o.len()) != wanted {
            return Err(Error::internal(format!(
                "{name} takes {} inputs and {} outputs, got {} and {}",
                wanted.0,
                wanted.1,
                i.len(),
                o.len()
            )));
        }
        for nth in 0..of {
            let (inputs, outputs) = self.places(nth, of);
            let mut args: Vec<&Desc> = inputs.iter().map(|&k| &i[k]).collect();
            args.extend(outputs.map(|k| &o[k]));
            one_shape(name, &args)?;
            if let Some(other) = args.iter().find(|d| !d.dtype.is_float()) {
                return Err(unsupported(name, other.dtype, &FLOATS));
            }
        }
        Ok(())
    }
}

/// An output of a step, and the result of the rule that it takes.
struct Target {
    view: View,
    req: Req,
    result: usize,
}

versions! {
    fn compute[C: Element, const I: usize, const O: usize, F: Fn([C; I]) -> [C; O]](
        inputs: &[[C; BLOCK]; I], outputs: &mut [[C; BLOCK]; O], f: &F,
    ) [C, I, O, F] {
        for i in 0..BLOCK {
            let results = f(std::array::from_fn(|j| inputs[j][i]));
            for j in 0..O {
                outputs[j][i] = results[j];
            }
        }
    }
}

/// Computes the targets, all contiguous and of the inputs' shape. They may be the memory of inputs.
fn update<C: Real, const I: usize, const O: usize>(
    inputs: &[View; I],
    targets: &[Target],
    f: impl Fn([C; I]) -> [C; O] + Sync,
) -> Result<()> {
    let failure = std::sync::OnceLock::new();
    par::for_ranges(inputs[0].len(), GRAIN, |range| {
        let mut given = [[C::default(); BLOCK]; I];
        let mut made = [[C::default(); BLOCK]; O];
        for start in range.clone().step_by(BLOCK) {
            let n = BLOCK.min(range.end - start);
            for (block, view) in given.iter_mut().zip(inputs) {
                load(&part(view, start, n), block, n);
            }
            compute(&given, &mut made, &f);
            for target in targets {
                let view = part(&target.view, start, n);
                if let Err(e) = store(&mut made[target.result], &view, n, target.req) {
                    failure.get_or_init(|| e);
                }
            }
        }
    });
    failure.into_inner().map_or(Ok(()), Err)
}

/// Writes or adds the first `n` elements of a block to a view without gaps.
fn store<C: Element>(block: &mut [C; BLOCK], view: &View, n: usize, req: Req) -> Result<()> {
    match req {
        Req::Null => Ok(()),
        Req::Add => assign(&View::of_slice(&mut block[..n], &[n])?, view, req),
        Req::Write | Req::Inplace => {
            let runs = [view.ptr(), block.as_mut_ptr().cast()].map(|ptr| Run {
                ptr,
                uniform: false,
            });
            // SAFETY: `n` elements, at most BLOCK, to a view of as many without gaps.
            unsafe { converter(C::DTYPE, view.dtype()).run(runs, n) };
            Ok(())
        }
    }
}

/// The `n` elements of a view without gaps, as another type.
pub(crate) fn load<C: Element>(view: &View, block: &mut [C; BLOCK], n: usize) {
    let runs = [block.as_mut_ptr().cast(), view.ptr()].map(|ptr| Run {
        ptr,
        uniform: false,
    });
    // SAFETY: `n` elements, at most BLOCK, of the view without gaps, and room for them.
    unsafe { converter(view.dtype(), C::DTYPE).run(runs, n) };
}
