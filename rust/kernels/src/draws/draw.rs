//! The driver of operators that draw a number for each element: with parameters that are attributes,
//! or from tensors of them, of which each makes as many numbers as fit.

use crate::api::check::{FLOATS, leading, unsupported};
use crate::api::random::Stream;
use crate::api::{Attrs, Call, Desc, Kernel, View};
use crate::copy::{assign, fill::fill};
use crate::draws::attempts::{First, NUMBERS, attempt};
use crate::draws::standard::{BLOCK, Drawn, Standard};
use crate::math::bounds::{Bounds, bounds32};
use ferromix_base::{DType, Error, Result};

/// Elements of a task: a multiple of [`BLOCK`].
const GRAIN: usize = 1 << 13;

/// A distribution with its parameters.
pub(crate) trait Law: Copy + Send + Sync + 'static {
    /// What it makes its numbers of; attempts where there is none.
    const STANDARD: Option<Standard>;
    /// That of such parameters (the second one is 0 where there is none), for numbers of a type.
    fn new(params: [f64; 2], dtype: DType) -> Self;
    /// What attributes must be.
    const NEEDS: &'static str;
    /// Whether they are.
    fn suits(params: [f64; 2]) -> bool;
    /// Sets at most [`BLOCK`] elements.
    fn fill<R: Drawn>(&self, draws: &Draws<'_, R>, out: &mut [R]);
}

/// What the numbers of some elements are made of.
pub(crate) struct Draws<'a, R> {
    pub stream: Stream,
    /// The number of the first element.
    pub at: usize,
    /// Where it is in a block.
    pub skip: usize,
    /// The block: filled if [`Law::STANDARD`] is there, or else the first attempts.
    pub standard: &'a [R; BLOCK],
    pub first: &'a First,
}

impl<R: Drawn> Draws<'_, R> {
    /// The numbers of the first attempt at element `i`.
    pub(crate) fn numbers(&self, i: usize) -> [f64; NUMBERS] {
        self.first.of(self.skip + i)
    }

    /// Those of any attempt.
    pub(crate) fn attempt(&self, i: usize, t: u64) -> [f64; NUMBERS] {
        match t {
            0 => self.numbers(i),
            _ => attempt::<R>(self.stream, self.at + i, t),
        }
    }
}

/// Numbers of the laws of consecutive rows, each of `per` elements.
struct Draw<L> {
    law: Option<L>,
    per: usize,
    dtype: DType,
}

impl<L: Law> Kernel for Draw<L> {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let random = call
            .random
            .ok_or_else(|| Error::internal("a random operator was run without random numbers"))?;
        let params = match self.law {
            Some(_) => Vec::new(),
            None => call.inputs.iter().map(numbers).collect::<Result<_>>()?,
        };
        let out = &mut call.outputs[0];
        match self.dtype {
            DType::F64 => fill(out, call.reqs[0], GRAIN, |at, out: &mut [f64]| {
                self.set(random, &params, at, out);
            }),
            _ => fill(out, call.reqs[0], GRAIN, |at, out: &mut [f32]| {
                self.set(random, &params, at, out);
            }),
        }
    }
}

/// The elements of a tensor in double precision.
fn numbers(view: &View) -> Result<Vec<f64>> {
    let mut found = vec![0.0; view.len()];
    let shape = view.shape().to_vec();
    assign(
        view,
        &View::of_slice(&mut found, &shape)?,
        crate::api::Req::Write,
    )?;
    Ok(found)
}

impl<L: Law> Draw<L> {
    fn set<R: Drawn>(&self, stream: Stream, params: &[Vec<f64>], at: usize, out: &mut [R]) {
        let (mut standard, mut first) = ([R::ZERO; BLOCK], First::new());
        for (i, out) in out.chunks_mut(BLOCK).enumerate() {
            let start = at + i * BLOCK;
            match L::STANDARD {
                Some(kind) => kind.fill(stream, start, self.dtype, &mut standard, out.len()),
                None => first.fill::<R>(stream, start, out.len()),
            }
            let mut done = 0;
            while done < out.len() {
                let at = start + done;
                let n = (self.per - at % self.per).min(out.len() - done);
                let law = self.law.unwrap_or_else(|| {
                    let of = |k: usize| params.get(k).map_or(0.0, |p| p[at / self.per]);
                    L::new([of(0), of(1)], self.dtype)
                });
                let draws = Draws {
                    stream,
                    at,
                    skip: done,
                    standard: &standard,
                    first: &first,
                };
                law.fill(&draws, &mut out[done..done + n]);
                done += n;
            }
        }
    }
}

/// Prepares an operator whose parameters are the attributes `names`; inputs give shape and type alone.
///
/// # Errors
/// Other arguments, or parameters that are no such law's.
pub(crate) fn prepare_fixed<L: Law>(
    name: &str,
    names: &[&str],
    attrs: &Attrs,
    i: &[Desc],
    o: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let ([], [out]) = leading(name, i, o)?;
    check_type(name, out.dtype)?;
    let mut params = [0.0; 2];
    for (param, key) in params.iter_mut().zip(names) {
        *param = attrs.float(key).map_err(|e| e.within(name))?;
    }
    if !L::suits(params) {
        let got: Vec<String> = names
            .iter()
            .zip(params)
            .map(|(n, p)| format!("{n}={p}"))
            .collect();
        return Err(Error::value(format!(
            "{name}: {}, got {}",
            L::NEEDS,
            got.join(", ")
        )));
    }
    Ok(Box::new(Draw {
        law: Some(L::new(params, out.dtype)),
        per: usize::MAX,
        dtype: out.dtype,
    }))
}

/// Prepares an operator whose parameters are its inputs, of one shape; the output has more axes.
///
/// # Errors
/// Other arguments.
pub(crate) fn prepare_rows<L: Law>(
    name: &str,
    count: usize,
    i: &[Desc],
    o: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let [out] = o else {
        return Err(Error::internal(format!("{name} has one output")));
    };
    if i.len() != count || i.iter().any(|d| !out.shape.starts_with(&d.shape)) {
        let got: Vec<String> = i.iter().map(|d| format!("{:?}", d.shape)).collect();
        return Err(Error::value(format!(
            "{name}: {count} parameters must have the leading extents of the output {:?}, got {}",
            out.shape,
            got.join(", ")
        )));
    }
    crate::api::check::one_shape(name, &i.iter().collect::<Vec<_>>())?;
    check_type(name, out.dtype)?;
    let own = &out.shape[i[0].shape.len()..];
    Ok(Box::new(Draw::<L> {
        law: None,
        per: own.iter().product::<usize>().max(1),
        dtype: out.dtype,
    }))
}

fn check_type(name: &str, dtype: DType) -> Result<()> {
    if dtype.is_float() {
        return Ok(());
    }
    Err(unsupported(name, dtype, &FLOATS))
}

/// Even in an interval, its upper end excluded.
#[derive(Clone, Copy)]
pub(crate) struct Uniform {
    low: f64,
    high: f64,
    /// Rounding may leave the interval.
    bounds: Bounds<f64>,
}

impl Law for Uniform {
    const STANDARD: Option<Standard> = Some(Standard::Fraction);

    fn new([low, high]: [f64; 2], dtype: DType) -> Self {
        let (least, greatest) = if low > high || (low - high).is_nan() {
            // From tensors come ends in any order, and what is none.
            (f64::NEG_INFINITY, f64::INFINITY)
        } else if dtype == DType::F64 {
            (low, high.next_down().max(low))
        } else {
            let bounds = bounds32(low, high, dtype);
            (f64::from(bounds.least), f64::from(bounds.greatest))
        };
        Uniform {
            low,
            high,
            bounds: Bounds { least, greatest },
        }
    }

    const NEEDS: &'static str = "low must not be above high";

    fn suits([low, high]: [f64; 2]) -> bool {
        low <= high || (low - high).is_nan()
    }

    fn fill<R: Drawn>(&self, draws: &Draws<'_, R>, out: &mut [R]) {
        let (low, width) = (R::of(self.low), R::of(self.high) - R::of(self.low));
        let bounds = Bounds {
            least: R::of(self.bounds.least),
            greatest: R::of(self.bounds.greatest),
        };
        for (x, u) in out.iter_mut().zip(&draws.standard[draws.skip..]) {
            *x = bounds.clamp(low + *u * width);
        }
    }
}

/// Of a mean and a deviation.
#[derive(Clone, Copy)]
pub(crate) struct Normal {
    mean: f64,
    deviation: f64,
}

impl Law for Normal {
    const STANDARD: Option<Standard> = Some(Standard::Normal);

    fn new([mean, deviation]: [f64; 2], _: DType) -> Self {
        Normal { mean, deviation }
    }

    const NEEDS: &'static str = "scale must not be negative";

    fn suits([_, deviation]: [f64; 2]) -> bool {
        deviation >= 0.0 || deviation.is_nan()
    }

    fn fill<R: Drawn>(&self, draws: &Draws<'_, R>, out: &mut [R]) {
        let (mean, deviation) = (R::of(self.mean), R::of(self.deviation));
        for (x, z) in out.iter_mut().zip(&draws.standard[draws.skip..]) {
            *x = mean + *z * deviation;
        }
    }
}

/// Of a rate.
#[derive(Clone, Copy)]
pub(crate) struct Exponential {
    rate: f64,
}

impl Law for Exponential {
    const STANDARD: Option<Standard> = Some(Standard::Exponential);

    fn new([rate, _]: [f64; 2], _: DType) -> Self {
        Exponential { rate }
    }

    const NEEDS: &'static str = "lam must be positive";

    fn suits([rate, _]: [f64; 2]) -> bool {
        rate > 0.0
    }

    fn fill<R: Drawn>(&self, draws: &Draws<'_, R>, out: &mut [R]) {
        let rate = R::of(self.rate);
        for (x, e) in out.iter_mut().zip(&draws.standard[draws.skip..]) {
            *x = *e / rate;
        }
    }
}
