//! `Dropout`: zeroes elements at random and scales the others up; the factors are the second
//! output, by which the gradient is multiplied.

use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::random::Stream;
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row};
use crate::blocks::blockwise;
use crate::blocks::blockwise::store;
use crate::blocks::coin::Coin;
use crate::blocks::raw::{Source, Target};
use crate::math::real::{Float, Real, by_float};
use crate::par;
use ferromix_base::{Error, Result, contiguous_strides};

pub(crate) const ROWS: &[Row] = &[Row::new("Dropout", prepare).random()];

/// Elements per task and per block; a multiple of the four words of a random block.
const GRAIN: usize = 16_384;
const BLOCK: usize = 512;

fn prepare(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    check_args("Dropout", (ins, 1), (outs, 2))?;
    let shape = ins[0].shape.clone();
    check_shape("Dropout", "output", &outs[0], &shape)?;
    let p = attrs.float("p")?;
    if !(0.0..=1.0).contains(&p) {
        return Err(Error::value(format!(
            "Dropout: p must be between 0 and 1, got {p}"
        )));
    }
    let active = match attrs.str("mode")? {
        "always" => true,
        "training" => attrs.bool("__is_train__")?,
        other => {
            return Err(Error::value(format!(
                "Dropout: unknown mode '{other}'; known: training, always"
            )));
        }
    };
    let mut shared = shape.to_vec();
    if attrs.has("axes") {
        for &a in attrs.ints("axes")? {
            shared[crate::api::prepared::axis("Dropout", a, shape.len())?] = 1;
        }
    }
    check_shape("Dropout", "mask", &outs[1], &shared)?;
    let spread = (shared[..] != shape[..]).then(|| Spread::new(&shape, &shared));
    let coin = (active && p > 0.0).then(|| Coin::new(p));
    by_float!("Dropout", ins[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        match (&coin, &spread) {
            (None, _) => pass::<T>(call),
            (Some(coin), None) => drop_each::<T>(*coin, call),
            (Some(coin), Some(spread)) => drop_together::<T>(*coin, spread, call),
        }
    }))
}

/// Outside training: the data itself, and factors of one.
fn pass<T: Float>(call: &mut Call<'_>) -> Result<()> {
    let [out, mask] = call.outputs else {
        return Err(Error::internal("Dropout has two outputs"));
    };
    blockwise::map::<T, 1>([&call.inputs[0]], out, call.reqs[0], &|[x], y| {
        y.copy_from_slice(x)
    })?;
    blockwise::map::<T, 0>([], mask, call.reqs[1], &|[], y| y.fill(T::Real::ONE))
}

fn stream(call: &Call<'_>) -> Result<Stream> {
    call.random
        .ok_or_else(|| Error::internal("Dropout was run without random numbers"))
}

/// The views' memory where something is wanted, else nothing.
fn wanted<T: Float>(call: &mut Call<'_>, output: usize) -> Result<Option<Target<T>>> {
    if call.reqs[output] == Req::Null {
        return Ok(None);
    }
    Target::of(&mut call.outputs[output]).map(Some)
}

fn drop_each<T: Float>(coin: Coin, call: &mut Call<'_>) -> Result<()> {
    let stream = stream(call)?;
    let data = Source::<T>::of(&call.inputs[0])?;
    let (out, mask) = (wanted::<T>(call, 0)?, wanted::<T>(call, 1)?);
    let reqs = [call.reqs[0], call.reqs[1]];
    par::for_ranges(call.inputs[0].len(), GRAIN, |range| {
        let mut factors = [T::Real::ZERO; BLOCK];
        let mut results = [T::Real::ZERO; BLOCK];
        for at in range.clone().step_by(BLOCK) {
            let n = BLOCK.min(range.end - at);
            coin.fill(stream, at, &mut factors[..n]);
            if let Some(mask) = mask {
                // SAFETY: the block belongs to this task.
                store(&factors[..n], unsafe { mask.slice(at..at + n) }, reqs[1]);
            }
            if let Some(out) = out {
                // SAFETY: the block belongs to this task, and is read before it is written.
                let data = unsafe { data.slice(at..at + n) };
                for ((r, x), f) in results.iter_mut().zip(data).zip(&factors) {
                    *r = x.up() * *f;
                }
                // SAFETY: as above.
                store(&results[..n], unsafe { out.slice(at..at + n) }, reqs[0]);
            }
        }
    });
    Ok(())
}

/// Where the factor of each element stands when axes share factors.
struct Spread {
    shape: Vec<usize>,
    steps: Vec<usize>,
    factors: usize,
}

impl Spread {
    fn new(shape: &[usize], shared: &[usize]) -> Self {
        let strides = contiguous_strides(shared);
        let steps = shape.iter().zip(shared).zip(&strides);
        Spread {
            shape: shape.to_vec(),
            steps: steps
                .map(|((&d, &s), &step)| if d == s { step as usize } else { 0 })
                .collect(),
            factors: shared.iter().product(),
        }
    }

    fn place(&self, mut element: usize) -> usize {
        let mut at = 0;
        for (&d, &step) in self.shape.iter().zip(&self.steps).rev() {
            at += element % d * step;
            element /= d;
        }
        at
    }
}

fn drop_together<T: Float>(coin: Coin, spread: &Spread, call: &mut Call<'_>) -> Result<()> {
    let stream = stream(call)?;
    let factor = |i: usize| coin.toss::<T::Real>(stream.block(i as u64 / 4)[i % 4]);
    let data = Source::<T>::of(&call.inputs[0])?;
    let reqs = [call.reqs[0], call.reqs[1]];
    if let Some(mask) = wanted::<T>(call, 1)? {
        par::for_ranges(spread.factors, GRAIN, |range| {
            for i in range {
                // SAFETY: the element belongs to this task.
                store(&[factor(i)], unsafe { mask.slice(i..i + 1) }, reqs[1]);
            }
        });
    }
    if let Some(out) = wanted::<T>(call, 0)? {
        par::for_ranges(out.len(), GRAIN, |range| {
            for i in range {
                // SAFETY: the element belongs to this task, and is read before it is written.
                let x = unsafe { data.slice(i..i + 1) }[0].up();
                // SAFETY: as above.
                let out = unsafe { out.slice(i..i + 1) };
                store(&[x * factor(spread.place(i))], out, reqs[0]);
            }
        });
    }
    Ok(())
}
