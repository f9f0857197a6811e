//! `CTCLoss`: what the labels of a sequence cost, summed over all their alignments with its steps, and
//! the gradient, both from one pass there and one back. Probabilities of paths are kept as logarithms
//! in double precision.

use crate::api::prepared::{boxed, check_count, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::blocks::blockwise::store;
use crate::blocks::indices::Indices;
use crate::blocks::raw::{Source, Target};
use crate::blocks::sums::sums_of;
use crate::blocks::widened::widened_mixed;
use crate::math::Math;
use crate::math::real::{Real, by_real};
use crate::par;
use crate::simd::vector::multiversion;
use ferromix_base::{Error, Result};

const NAME: &str = "CTCLoss";

pub(crate) const ROWS: &[Row] =
    &[Row::new(NAME, |a, i, o| widened_mixed(prepare, a, i, o)).unknown_cost()];

/// The logarithm of what has no path; far from overflow when others are added.
const NO_PATH: f64 = -1e30;

#[derive(Clone, Copy)]
struct Ctc {
    steps: usize,
    batch: usize,
    classes: usize,
    /// The most labels of a sequence.
    labels: usize,
    blank: usize,
    /// Where the lengths are among the inputs.
    data_lengths: Option<usize>,
    label_lengths: Option<usize>,
    /// What ends the labels where no lengths are given.
    padding: i64,
}

fn prepare(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let by_data = attrs.bool("use_data_lengths")?;
    let by_label = attrs.bool("use_label_lengths")?;
    let count = 2 + usize::from(by_data) + usize::from(by_label);
    check_count(NAME, (ins, count), (outs, 2))?;
    let (&[steps, batch, classes], &[rows, labels]) = (&ins[0].shape[..], &ins[1].shape[..]) else {
        return Err(Error::value(format!(
            "{NAME}: data must have 3 dimensions and labels 2, got shapes {:?} and {:?}",
            &ins[0].shape[..],
            &ins[1].shape[..]
        )));
    };
    if rows != batch || labels > steps || classes == 0 {
        return Err(Error::value(format!(
            "{NAME}: labels of shape {:?} do not fit data of shape {:?}",
            &ins[1].shape[..],
            &ins[0].shape[..]
        )));
    }
    for d in &ins[2..] {
        check_shape(NAME, "lengths", d, &[batch])?;
    }
    check_shape(NAME, "output", &outs[0], &[batch])?;
    check_shape(NAME, "gradient", &outs[1], &ins[0].shape)?;
    if outs.iter().any(|d| d.dtype != ins[0].dtype) {
        return Err(Error::dtype(format!(
            "{NAME}: data and output must share one dtype"
        )));
    }
    let first = attrs.str("blank_label")? == "first";
    let ctc = Ctc {
        steps,
        batch,
        classes,
        labels,
        blank: if first { 0 } else { classes - 1 },
        data_lengths: by_data.then_some(2),
        label_lengths: by_label.then_some(count - 1),
        padding: if first { 0 } else { -1 },
    };
    by_real!(NAME, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| run::<T>(ctc, call)))
}

/// The numbers of an argument, with fractions cut.
fn whole(view: &View) -> Result<Vec<i64>> {
    let mut found = Vec::with_capacity(view.len());
    Indices::of(view)?.each(0..view.len(), |_, n| found.push(n));
    Ok(found)
}

/// The numbers of an argument, which must be at most `most`; `most` where there is none.
fn lengths(view: Option<&View>, batch: usize, most: usize, what: &str) -> Result<Vec<usize>> {
    let Some(view) = view else {
        return Ok(vec![most; batch]);
    };
    let each = whole(view)?.into_iter().map(|n| match usize::try_from(n) {
        Ok(n) if n <= most => Ok(n),
        _ => Err(Error::index(format!(
            "{NAME}: {what} has a length of {n}, expected 0 to {most}"
        ))),
    });
    each.collect()
}

impl Ctc {
    /// The labels of each sequence.
    fn read(&self, inputs: &[View]) -> Result<Vec<Vec<usize>>> {
        let numbers = whole(&inputs[1])?;
        let given = self.label_lengths.map(|i| &inputs[i]);
        let counts = lengths(given, self.batch, self.labels, "label_lengths")?;
        let mut found = Vec::with_capacity(self.batch);
        for (b, &count) in counts.iter().enumerate() {
            let mut row = &numbers[b * self.labels..][..count];
            if given.is_none() {
                let end = row.iter().position(|&n| n == self.padding);
                row = &row[..end.unwrap_or(count)];
            }
            let labels = row.iter().map(|&n| match usize::try_from(n) {
                Ok(n) if n < self.classes => Ok(n),
                _ => Err(Error::index(format!(
                    "{NAME}: label {n} of sequence {b} is out of bounds for {} classes",
                    self.classes
                ))),
            });
            found.push(labels.collect::<Result<_>>()?);
        }
        Ok(found)
    }

    /// Where the numbers of a step of a sequence begin.
    fn row(&self, step: usize, b: usize) -> std::ops::Range<usize> {
        let start = (step * self.batch + b) * self.classes;
        start..start + self.classes
    }
}

multiversion! {
    /// The logarithm of the sum of exponentials.
    fn log_sum<R: Real>(x: &[R]) -> f64 {
        let top = x.iter().fold(R::LOWEST, |top, &x| top.at_least(x));
        top.f64() + sums_of([x], |[x]| [(x - top).exp()])[0].ln()
    }

    /// The exponentials of numbers less another.
    fn exponentials<R: Real>(x: &[R], less: R, y: &mut [R]) {
        y.iter_mut().zip(x).for_each(|(y, &x)| *y = (x - less).exp());
    }
}

multiversion! {
    /// One step of all paths: each stays, or comes from the state before, or from the one before that
    /// where `skip` is 0. `last` begins with two states that have no path.
    fn advance<R: Real>(last: &[R], skip: &[R], gain: &[R], next: &mut [R]) {
        let n = next.len();
        let (stay, one, two) = (&last[2..n + 2], &last[1..=n], &last[..n]);
        let (skip, gain) = (&skip[..n], &gain[..n]);
        for i in 0..n {
            let two = two[i] + skip[i];
            let top = R::of(NO_PATH).at_least(stay[i]).at_least(one[i]).at_least(two);
            let sum = (stay[i] - top).exp() + (one[i] - top).exp() + (two - top).exp();
            next[i] = top + sum.ln() + gain[i];
        }
    }
}

/// The logarithms of the probabilities of reaching each state at each step, for `gains` of a row for
/// each step and states between which lie `labels`.
fn reach(gains: &[f64], labels: &[usize]) -> Vec<f64> {
    let states = 2 * labels.len() + 1;
    let mut skip = vec![NO_PATH; states];
    for (i, pair) in labels.windows(2).enumerate() {
        if pair[0] != pair[1] {
            skip[2 * i + 3] = 0.0;
        }
    }
    let mut found = vec![0.0; gains.len()];
    // Before the first step, a path stands in front of the first state, and may skip it.
    let mut last = vec![NO_PATH; states + 2];
    last[1] = 0.0;
    for (i, (gain, next)) in gains
        .chunks(states)
        .zip(found.chunks_mut(states))
        .enumerate()
    {
        if i == 0 && states > 1 {
            skip[1] = 0.0;
        }
        advance(&last, &skip, gain, next);
        last[2..].copy_from_slice(next);
        if i == 0 {
            last[1] = NO_PATH;
            if states > 1 {
                skip[1] = NO_PATH;
            }
        }
    }
    found
}

/// Whether so many steps can hold the labels: equal neighbours need a blank between them.
fn possible(labels: &[usize], steps: usize) -> bool {
    let repeats = labels.windows(2).filter(|pair| pair[0] == pair[1]).count();
    labels.len() + repeats <= steps
}

fn run<T: Real>(ctc: Ctc, call: &mut Call<'_>) -> Result<()> {
    let data = Source::<T>::of(&call.inputs[0])?;
    let labels = ctc.read(call.inputs)?;
    let given = ctc.data_lengths.map(|i| &call.inputs[i]);
    let steps = lengths(given, ctc.batch, ctc.steps, "data_lengths")?;
    let [losses, gradients] = call.outputs else {
        return Err(Error::internal("two outputs"));
    };
    let reqs = call.reqs;
    let losses = if reqs[0] == Req::Null {
        None
    } else {
        Some(Target::<T>::of(losses)?)
    };
    let gradients = if reqs[1] == Req::Null {
        None
    } else {
        Some(Target::<T>::of(gradients)?)
    };
    par::for_each(ctc.batch, |b| {
        let sequence = Sequence {
            ctc,
            data,
            b,
            labels: &labels[b],
            steps: steps[b],
        };
        let loss = sequence.run(gradients, reqs[1]);
        if let Some(losses) = losses {
            // SAFETY: the sequence belongs to this task.
            store(&[T::of(loss)], unsafe { losses.slice(b..b + 1) }, reqs[0]);
        }
    });
    Ok(())
}

/// One sequence of the batch.
struct Sequence<'a, T> {
    ctc: Ctc,
    data: Source<T>,
    b: usize,
    labels: &'a [usize],
    steps: usize,
}

impl<T: Real> Sequence<'_, T> {
    fn row(&self, step: usize) -> &[T] {
        // SAFETY: nobody writes the data.
        unsafe { self.data.slice(self.ctc.row(step, self.b)) }
    }

    /// The class of a state: blanks are around all labels.
    fn class(&self, state: usize) -> usize {
        if state.is_multiple_of(2) {
            self.ctc.blank
        } else {
            self.labels[state / 2]
        }
    }

    /// The loss; the gradient goes to `target`.
    fn run(&self, target: Option<Target<T>>, req: Req) -> f64 {
        if !possible(self.labels, self.steps) {
            self.clear(target, req, 0);
            return 0.0;
        }
        let states = 2 * self.labels.len() + 1;
        let sums: Vec<f64> = (0..self.steps).map(|t| log_sum(self.row(t))).collect();
        let mut gains = Vec::with_capacity(self.steps * states);
        for (t, sum) in sums.iter().enumerate() {
            let row = self.row(t);
            gains.extend((0..states).map(|s| row[self.class(s)].f64() - sum));
        }
        let mut paths = reach(&gains, self.labels);
        let ends = &paths[paths.len().saturating_sub(states)..];
        let total = match ends {
            [.., a, b] => a.max(*b) + Math::ln_1p(Math::exp(a.min(*b) - a.max(*b))),
            [only] => *only,
            [] => 0.0,
        };
        if let Some(target) = target {
            gains.reverse();
            let turned: Vec<usize> = self.labels.iter().rev().copied().collect();
            let mut back = reach(&gains, &turned);
            gains.reverse();
            back.reverse();
            for ((path, back), gain) in paths.iter_mut().zip(&back).zip(&gains) {
                *path += back - gain - total;
            }
            self.differentiate(&paths, &sums, (target, req));
            self.clear(Some(target), req, self.steps);
        }
        -total
    }

    /// Probabilities less the shares of the paths, whose logarithms are `shares`.
    fn differentiate(&self, shares: &[f64], sums: &[f64], (target, req): (Target<T>, Req)) {
        let states = 2 * self.labels.len() + 1;
        let mut results = vec![T::ZERO; self.ctc.classes];
        for ((t, &sum), shares) in sums.iter().enumerate().zip(shares.chunks(states)) {
            exponentials(self.row(t), T::of(sum), &mut results);
            for (s, &share) in shares.iter().enumerate() {
                results[self.class(s)] += T::of(-Math::exp(share));
            }
            // SAFETY: the sequence belongs to this task.
            let out = unsafe { target.slice(self.ctc.row(t, self.b)) };
            store(&results, out, req);
        }
    }

    /// No gradient from a step on.
    fn clear(&self, target: Option<Target<T>>, req: Req, from: usize) {
        let Some(target) = target else { return };
        let zeros = vec![T::ZERO; self.ctc.classes];
        for t in from..self.ctc.steps {
            // SAFETY: the sequence belongs to this task.
            store(
                &zeros,
                unsafe { target.slice(self.ctc.row(t, self.b)) },
                req,
            );
        }
    }
}
