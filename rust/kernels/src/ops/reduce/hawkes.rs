//! `hawkesll`: the log likelihood of points in time, of kinds that each excite points of their kind,
//! and its gradient. What remains of the excitement decays exponentially.

use crate::api::prepared::{boxed, check_count, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::blocks::blockwise::{lifted, store};
use crate::math::real::{Float, Real, by_float};
use ferromix_base::{DType, Error, Result};

const NAME: &str = "_contrib_hawkesll";

/// Sequences, kinds, and most points of a sequence.
#[derive(Clone, Copy)]
struct Sizes {
    sequences: usize,
    kinds: usize,
    points: usize,
}

/// All inputs; the rates, the strengths, the decays, the states before, the distances of points, how
/// many points there are, and when the time ends; with the kinds of the points.
struct Given<'a, R> {
    rate: &'a [R],
    strength: &'a [R],
    decay: &'a [R],
    state: &'a [R],
    lags: &'a [R],
    valid: &'a [R],
    end: &'a [R],
    kinds: &'a [i32],
}

/// One kind along a sequence: when its last point was, what excitement was left then, and what both
/// change by with the decay.
#[derive(Clone, Copy)]
struct Trail<R> {
    last: R,
    state: R,
    by_decay: R,
}

/// What a sequence has of a sum, and its derivatives by the rate, the strength and the decay.
#[derive(Clone, Copy)]
struct Part<R> {
    value: R,
    by: [R; 3],
}

impl Sizes {
    fn new(i: &[Desc]) -> Result<Self> {
        let ([sequences, kinds], [_, points]) = (&i[0].shape[..], &i[4].shape[..]) else {
            return Err(Error::value(format!(
                "{NAME}: lda and lags must have 2 dimensions, got {:?} and {:?}",
                &i[0].shape[..],
                &i[4].shape[..]
            )));
        };
        let (n, k, t) = (*sequences, *kinds, *points);
        let names = [
            "lda",
            "alpha",
            "beta",
            "state",
            "lags",
            "marks",
            "valid_length",
            "max_time",
        ];
        let shapes: [&[usize]; 8] = [&[n, k], &[k], &[k], &[n, k], &[n, t], &[n, t], &[n], &[n]];
        for (place, (desc, (name, shape))) in i.iter().zip(names.iter().zip(shapes)).enumerate() {
            check_shape(NAME, name, desc, shape)?;
            let wanted = if place == 5 { DType::I32 } else { i[0].dtype };
            if desc.dtype != wanted {
                return Err(Error::dtype(format!(
                    "{NAME}: {name} must be {wanted}, got {}",
                    desc.dtype
                )));
            }
        }
        Ok(Sizes {
            sequences: n,
            kinds: k,
            points: t,
        })
    }
}

impl<R: Real> Given<'_, R> {
    /// The part of a kind from its last point on for `gap`; the trail is moved to the end of that.
    fn pass(&self, n: usize, kind: usize, kinds: usize, trail: &mut Trail<R>, gap: R) -> Part<R> {
        let (rate, strength, decay) = (
            self.rate[n * kinds + kind],
            self.strength[kind],
            self.decay[kind],
        );
        let left = (-decay * gap).exp();
        let lost = R::ONE - left;
        let by_decay = trail.by_decay * lost + trail.state * gap * left;
        let part = Part {
            value: -(rate * gap + strength * trail.state * lost),
            by: [-gap, -(trail.state * lost), -(strength * by_decay)],
        };
        *trail = Trail {
            last: trail.last + gap,
            state: trail.state * left,
            by_decay: (trail.by_decay - trail.state * gap) * left,
        };
        part
    }

    /// Calls `each` with the kinds of a sequence and their parts, and returns the trails at its end.
    ///
    /// # Errors
    /// A kind that there is not.
    fn walk(
        &self,
        sizes: Sizes,
        n: usize,
        mut each: impl FnMut(usize, Part<R>),
    ) -> Result<Vec<Trail<R>>> {
        let Sizes { kinds, points, .. } = sizes;
        let states = &self.state[n * kinds..(n + 1) * kinds];
        let fresh = |&state: &R| Trail {
            last: R::ZERO,
            state,
            by_decay: R::ZERO,
        };
        let mut trails: Vec<Trail<R>> = states.iter().map(fresh).collect();
        let mut now = R::ZERO;
        // A cast makes 0 of what is less, or no number.
        let valid = (self.valid[n].f64() as usize).min(points);
        for at in n * points..n * points + valid {
            now += self.lags[at];
            let mark = self.kinds[at];
            let kind = usize::try_from(mark).unwrap_or(usize::MAX);
            let Some(trail) = trails.get_mut(kind) else {
                return Err(Error::index(format!(
                    "{NAME}: mark {mark} of sequence {n} is out of bounds for {kinds} kinds"
                )));
            };
            let mut part = self.pass(n, kind, kinds, trail, now - trail.last);
            let (strength, decay) = (self.strength[kind], self.decay[kind]);
            let high = strength * decay * trail.state + self.rate[n * kinds + kind];
            part.value += high.ln();
            let by = [
                R::ONE,
                decay * trail.state,
                strength * (trail.state + decay * trail.by_decay),
            ];
            part.by
                .iter_mut()
                .zip(by)
                .for_each(|(p, by)| *p += by / high);
            trail.state += R::ONE;
            trail.last = now;
            each(kind, part);
        }
        for (kind, trail) in trails.iter_mut().enumerate() {
            let gap = self.end[n] - trail.last;
            each(kind, self.pass(n, kind, kinds, trail, gap));
        }
        Ok(trails)
    }
}

/// Runs `f` with what the inputs have, from one of them on.
fn with_given<T: Float, Q>(
    views: &[View],
    f: impl FnOnce(Given<'_, T::Real>) -> Result<Q>,
) -> Result<Q> {
    let mut scratch = [const { Vec::new() }; 8];
    let mut inputs: [&[T::Real]; 8] = [&[]; 8];
    for (place, (view, scratch)) in views.iter().zip(&mut scratch).enumerate() {
        if place != 5 {
            inputs[place] = lifted(view.read::<T>()?, scratch);
        }
    }
    let [rate, strength, decay, state, lags, _, valid, end] = inputs;
    f(Given {
        rate,
        strength,
        decay,
        state,
        lags,
        valid,
        end,
        kinds: views[5].read::<i32>()?,
    })
}

fn forward<T: Float>(sizes: Sizes, call: &mut Call<'_>) -> Result<()> {
    let mut values = Vec::with_capacity(sizes.sequences);
    let mut states = Vec::with_capacity(sizes.sequences * sizes.kinds);
    with_given::<T, ()>(call.inputs, |given| {
        for n in 0..sizes.sequences {
            let mut sum = T::Real::ZERO;
            let trails = given.walk(sizes, n, |_, part| sum += part.value)?;
            values.push(sum);
            states.extend(trails.iter().map(|trail| trail.state));
        }
        Ok(())
    })?;
    put::<T>(call, &[values, states])
}

/// The gradients of the first output by rates, strengths and decays.
fn backward<T: Float>(sizes: Sizes, call: &mut Call<'_>) -> Result<()> {
    let Sizes {
        sequences, kinds, ..
    } = sizes;
    let room = |n: usize| vec![T::Real::ZERO; n];
    let mut found = [room(sequences * kinds), room(kinds), room(kinds)];
    let mut scratch = Vec::new();
    let g = lifted(call.inputs[0].read::<T>()?, &mut scratch);
    with_given::<T, ()>(&call.inputs[1..], |given| {
        #[allow(clippy::needless_range_loop)] // several arrays go along
        for n in 0..sequences {
            given.walk(sizes, n, |kind, part| {
                let places = [n * kinds + kind, kind, kind];
                for ((found, place), by) in found.iter_mut().zip(places).zip(part.by) {
                    found[place] += g[n] * by;
                }
            })?;
        }
        Ok(())
    })?;
    put::<T>(call, &found)
}

fn put<T: Float>(call: &mut Call<'_>, results: &[Vec<T::Real>]) -> Result<()> {
    for ((out, &req), result) in call.outputs.iter_mut().zip(call.reqs).zip(results) {
        if req != Req::Null {
            store(result, out.write::<T>()?, req);
        }
    }
    Ok(())
}

fn prepare(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    check_count(NAME, (i, 8), (o, 2))?;
    let sizes = Sizes::new(i)?;
    check_shape(NAME, "output", &o[0], &[sizes.sequences])?;
    check_shape(NAME, "out_state", &o[1], &i[3].shape)?;
    by_float!(NAME, i[0].dtype, T => boxed(move |call: &mut Call<'_>| forward::<T>(sizes, call)))
}

fn prepare_back(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    check_count(NAME, (i, 9), (o, 3))?;
    let sizes = Sizes::new(&i[1..])?;
    check_shape(NAME, "out_grad", &i[0], &[sizes.sequences])?;
    for (made, given) in o.iter().zip(&i[1..]) {
        check_shape(NAME, "gradient", made, &given.shape)?;
    }
    if i[0].dtype != i[1].dtype || o.iter().any(|d| d.dtype != i[1].dtype) {
        return Err(Error::dtype(format!(
            "{NAME}: gradients must have the type of lda"
        )));
    }
    by_float!(NAME, i[1].dtype, T => boxed(move |call: &mut Call<'_>| backward::<T>(sizes, call)))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new(NAME, prepare).unknown_cost(),
    Row::new("_backward_contrib_hawkesll", prepare_back).unknown_cost(),
];
