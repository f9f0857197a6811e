//! The range that loses least when numbers with a given histogram are put into few bins.

use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Row};
use crate::blocks::staged::Staged;
use crate::par;
use ferromix_base::{DType, Error, Result};

const NAME: &str = "_contrib_calibrate_entropy";

/// What a bin without a number is given, so that its logarithm is finite.
const LITTLE: f32 = 1e-4;

/// A distribution without zeros; nothing where too few bins have a number.
fn smooth(counts: &mut [f32]) -> Option<()> {
    let empty = counts.iter().filter(|&&x| x == 0.0).count();
    let full = counts.len() - empty;
    if full == 0 {
        return None;
    }
    let less = LITTLE * empty as f32 / full as f32;
    if less >= 1.0 {
        return None;
    }
    for x in counts {
        *x += if *x == 0.0 { LITTLE } else { -less };
    }
    Some(())
}

/// The sum of `p * log(p / q)` of two histograms, as distributions.
fn divergence(p: &[f32], q: &[f32]) -> f32 {
    let (all_p, all_q): (f32, f32) = (p.iter().sum(), q.iter().sum());
    let terms = p.iter().zip(q).map(|(&p, &q)| {
        let (p, q) = (p / all_p, q / all_q);
        if p > 0.0 && q > 0.0 {
            p * (p / q).ln()
        } else {
            0.0
        }
    });
    terms.sum()
}

/// What is lost with the middle `part` of `counts` in `bins`, and what is beyond in its ends.
fn loss(counts: &[f32], part: std::ops::Range<usize>, bins: usize) -> f32 {
    let middle = &counts[part.clone()];
    let mut p = middle.to_vec();
    p[0] += counts[..part.start].iter().sum::<f32>();
    p[middle.len() - 1] += counts[part.end..].iter().sum::<f32>();
    let merged = middle.len() / bins;
    let mut q = vec![0.0; middle.len()];
    for bin in 0..bins {
        let end = if bin + 1 == bins {
            middle.len()
        } else {
            (bin + 1) * merged
        };
        let range = bin * merged..end;
        let full = p[range.clone()].iter().filter(|&&x| x != 0.0).count();
        let each = middle[range.clone()].iter().sum::<f32>() / full as f32;
        for (q, p) in q[range.clone()].iter_mut().zip(&p[range]) {
            *q = if *p == 0.0 { 0.0 } else { each };
        }
    }
    match (smooth(&mut p), smooth(&mut q)) {
        (Some(()), Some(())) => divergence(&p, &q),
        _ => f32::INFINITY,
    }
}

fn run(bins: usize, call: &mut Call<'_>) -> Result<()> {
    let (counts, edges) = (call.inputs[0].read::<f32>()?, call.inputs[1].read::<f32>()?);
    let (middle, half) = (counts.len() / 2, bins / 2);
    let mut losses = vec![0.0; (middle + 1).saturating_sub(half)];
    let target = crate::blocks::raw::Target::of_slice(&mut losses);
    par::for_each(target.len(), |k| {
        let reach = half + k;
        let end = (middle + reach + 1).min(counts.len());
        // SAFETY: a number of this task alone.
        unsafe { *target.at(k) = loss(counts, middle - reach..end, bins) };
    });
    let best = (0..losses.len()).fold(0, |best, k| if losses[k] < losses[best] { k } else { best });
    let end = (middle + half + best + 1).min(counts.len());
    let mut staged = Staged::all(call);
    for (staged, x) in staged.iter_mut().zip([edges[end], losses[best]]) {
        if let Some(staged) = staged {
            staged.view.write::<f32>()?.fill(x);
        }
    }
    Staged::finish_all(staged, call.outputs)
}

fn prepare(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    check_args(NAME, (i, 2), (o, 2))?;
    let bins = usize::try_from(attrs.int("num_quantized_bins")?).unwrap_or(0);
    let &[n] = &i[0].shape[..] else {
        return Err(Error::value(format!("{NAME}: hist has one dimension")));
    };
    check_shape(NAME, "hist_edges", &i[1], &[n.saturating_add(1)])?;
    for out in o {
        check_shape(NAME, "an output", out, &[1])?;
    }
    if i[0].dtype != DType::F32 {
        return Err(crate::math::real::unsupported(NAME, i[0].dtype, "float32"));
    }
    if bins == 0 || n < bins {
        return Err(Error::value(format!(
            "{NAME}: a histogram of {n} bins cannot be put into num_quantized_bins={bins}"
        )));
    }
    boxed(move |call: &mut Call<'_>| run(bins, call))
}

pub(crate) const ROWS: &[Row] = &[Row::new(NAME, prepare).unknown_cost()];
