//! `LeakyReLU` with random slopes (`rrelu`): its output, and the slopes, by which gradients are
//! multiplied.

use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::random::Stream;
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row};
use crate::blocks::blockwise::store;
use crate::blocks::raw::{Source, Target};
use crate::draws::standard::{BLOCK, Drawn, Standard};
use crate::math::real::{Float, Real, by_float};
use crate::par;
use ferromix_base::{DType, Error, Result};

const NAME: &str = "LeakyReLU";

pub(crate) const ROWS: &[Row] = &[Row::new("_leaky_random", prepare).random()];

/// Elements of a task: a multiple of [`BLOCK`].
const GRAIN: usize = 1 << 13;

/// Slopes are drawn evenly from an interval, or else its middle.
#[derive(Clone, Copy)]
struct Slopes {
    low: f64,
    high: f64,
    drawn: bool,
}

fn prepare(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    check_args(NAME, (i, 1), (o, 2))?;
    for (what, out) in ["output", "mask"].into_iter().zip(o) {
        check_shape(NAME, what, out, &i[0].shape)?;
    }
    let slopes = Slopes {
        low: attrs.float("lower_bound")?,
        high: attrs.float("upper_bound")?,
        drawn: attrs.bool("__is_train__")?,
    };
    if slopes.low > slopes.high {
        return Err(Error::value(format!(
            "{NAME}: lower_bound {} is above upper_bound {}",
            slopes.low, slopes.high
        )));
    }
    let dtype = i[0].dtype;
    by_float!(NAME, dtype, T => boxed(move |call: &mut Call<'_>| {
        let stream = call
            .random
            .ok_or_else(|| Error::internal("LeakyReLU was run without random numbers"))?;
        run::<T>(slopes, stream, dtype, call)
    }))
}

fn run<T: Float<Real: Drawn>>(
    slopes: Slopes,
    stream: Stream,
    dtype: DType,
    call: &mut Call<'_>,
) -> Result<()> {
    let data = Source::<T>::of(&call.inputs[0])?;
    let wanted = call.outputs.iter_mut().zip(call.reqs);
    let targets: Vec<_> = wanted
        .map(|(out, req)| match req {
            Req::Null => Ok(None),
            _ => Target::<T>::of(out).map(|target| Some((target, *req))),
        })
        .collect::<Result<_>>()?;
    let zero = T::Real::ZERO;
    par::for_ranges(call.inputs[0].len(), GRAIN, |range| {
        let (mut drawn, mut out) = ([zero; BLOCK], [zero; BLOCK]);
        for at in range.clone().step_by(BLOCK) {
            let n = BLOCK.min(range.end - at);
            slopes.fill(stream, at, dtype, &mut drawn, n);
            // SAFETY: inputs are not written while kernels run.
            let data = unsafe { data.slice(at..at + n) };
            for ((out, slope), x) in out.iter_mut().zip(&mut drawn).zip(data) {
                let x = x.up();
                *slope = if x > zero { T::Real::ONE } else { *slope };
                *out = x * *slope;
            }
            for (target, from) in targets.iter().zip([&out, &drawn]) {
                if let Some((target, req)) = target {
                    // SAFETY: the block belongs to this task.
                    store(&from[..n], unsafe { target.slice(at..at + n) }, *req);
                }
            }
        }
    });
    Ok(())
}

impl Slopes {
    fn fill<R: Drawn>(
        self,
        stream: Stream,
        at: usize,
        dtype: DType,
        out: &mut [R; BLOCK],
        n: usize,
    ) {
        let (low, width) = (R::of(self.low), R::of(self.high - self.low));
        if self.drawn {
            Standard::Fraction.fill(stream, at, dtype, out, n);
        } else {
            out.fill(R::of(0.5));
        }
        out.iter_mut().for_each(|u| *u = low + *u * width);
    }
}
