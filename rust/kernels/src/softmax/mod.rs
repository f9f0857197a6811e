//! Softmax along any axis, its logarithm and the gradients of both, for the operators that are made of
//! them. The elements along the axis, for one or several neighbouring positions, are copied to scratch
//! memory, worked on there, and stored; the commonest cases go straight from the input to the output.

mod columns;
mod masked;
mod mixed;
mod rows;
mod tile;

use crate::api::{Req, View};
use crate::blocks::along_axis::AlongAxis;
use crate::blocks::blockwise::store;
use crate::blocks::raw::{Source, Target};
use crate::iter::memory::STREAMED;
use crate::math::real::{Float, Real};
use crate::par;
use columns::Columns;
use ferromix_base::Result;
use smallvec::SmallVec;
use tile::{Tile, work};

pub(crate) use mixed::Mixed;

/// What is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Softmax,
    Log,
    SoftmaxGrad,
    LogGrad,
}

/// Positions that are worked on together where the axis is not the last one.
const WIDTH: usize = 64;
/// Elements per task, roughly.
const GRAIN: usize = 16_384;

/// Few positions with all their elements are one run of memory: for [`Tile::load`] in one piece.
fn whole(l: AlongAxis) -> AlongAxis {
    AlongAxis {
        outer: l.outer,
        k: 1,
        inner: l.k * l.inner,
    }
}

/// Runs `kind` on `inputs[0]`, and `inputs[1]` where it is a gradient; where `masked`, the last input has
/// the lengths.
pub(crate) fn run<T: Float>(
    (kind, l, temperature, masked): (Kind, AlongAxis, f64, bool),
    inputs: &[View],
    output: &mut View,
    req: Req,
) -> Result<()> {
    if req == Req::Null || output.is_empty() {
        return Ok(());
    }
    let (inputs, lengths) = inputs.split_at(inputs.len() - usize::from(masked));
    let mut sources = SmallVec::<[_; 2]>::new();
    for view in inputs {
        sources.push(Source::<T>::of(view)?);
    }
    let target = Target::<T>::of(output)?;
    let t = T::Real::of(temperature);
    if let [lengths] = lengths {
        let lengths = masked::lengths(lengths, l.k)?;
        masked::run((kind, l, t), &sources, &target, &lengths, req);
        return Ok(());
    }
    let forward = matches!(kind, Kind::Softmax | Kind::Log);
    if forward && l.inner == 1 && T::plain(&[]).is_some() {
        whole_rows((kind, l, t), &sources[0], &target, req);
        return Ok(());
    }
    let pieces = l.inner.div_ceil(WIDTH);
    let grain = GRAIN / (l.k * l.inner.min(WIDTH)).max(1);
    par::for_ranges(l.outer * pieces, grain.max(1), |range| {
        let (mut a, mut b) = (Tile::empty(), Tile::empty());
        for i in range {
            let (outer, at) = (i / pieces, i % pieces * WIDTH);
            let span = (at, WIDTH.min(l.inner - at));
            if forward && some_columns((kind, l, t), &sources[0], &target, (outer, span), req) {
                continue;
            }
            let (shape, span) = if pieces == 1 {
                (whole(l), (0, l.k * l.inner))
            } else {
                (l, span)
            };
            a.load(&sources[0], shape, outer, span);
            if let Some(second) = sources.get(1) {
                b.load(second, shape, outer, span);
            }
            if pieces == 1 {
                (a.w, b.w) = (l.inner, l.inner);
            }
            work(kind, t, &mut a, &b);
            a.w = span.1;
            a.store(&target, shape, outer, span.0, req);
        }
    });
    Ok(())
}

/// Runs a forward pass along the last axis, straight from the input to the output unless they are the
/// same memory, for types that are computed as they are.
fn whole_rows<T: Float>(
    (kind, l, t): (Kind, AlongAxis, T::Real),
    from: &Source<T>,
    to: &Target<T>,
    req: Req,
) {
    let work = match kind {
        Kind::Log => rows::log_softmax,
        _ => rows::softmax,
    };
    let large = l.outer * l.k * size_of::<T>() >= STREAMED && l.k <= rows::GROUP;
    par::for_ranges(l.outer, (GRAIN / l.k).max(1), |range| {
        let range = range.start * l.k..range.end * l.k;
        // SAFETY: only read here, before the output is touched.
        let mut x = unsafe { from.slice(range.clone()) };
        let kept;
        if from.overlaps(&range, to, &range) {
            kept = x.to_vec();
            x = &kept;
        }
        // SAFETY: tasks have disjoint rows, and `x` is other memory.
        let out = unsafe { to.slice(range) };
        let Some(x) = T::plain(x) else { return };
        match T::plain_mut(out) {
            Some(y) if req != Req::Add && large => rows::streamed(work, x, y, l.k, t),
            Some(y) if req != Req::Add => work(x, y, l.k, t),
            _ => {
                let mut results = vec![T::Real::ZERO; x.len()];
                work(x, &mut results, l.k, t);
                store(&results, out, req);
            }
        }
    });
}

/// Runs a forward pass along another axis for some neighbouring positions of one outer index; false, and
/// nothing done, where input and output are the same memory, results are added, or the type is not
/// computed as it is.
fn some_columns<T: Float>(
    (kind, l, t): (Kind, AlongAxis, T::Real),
    from: &Source<T>,
    to: &Target<T>,
    (outer, (at, count)): (usize, (usize, usize)),
    req: Req,
) -> bool {
    let start = outer * l.k * l.inner + at;
    let range = start..start + (l.k - 1) * l.inner + count;
    if req == Req::Add || T::plain(&[]).is_none() || from.overlaps(&range, to, &range) {
        return false;
    }
    let columns = Columns {
        // SAFETY: only read here; types that are computed as they are have one address for both.
        input: unsafe { from.slice(range) }.as_ptr().cast(),
        // SAFETY: within the output, which is as large as the input.
        output: unsafe { to.at(start) }.cast(),
        count,
        rows: l.k,
        step: l.inner,
    };
    match kind {
        Kind::Log => columns::softmax::<_, true>(columns, t),
        _ => columns::softmax::<_, false>(columns, t),
    }
    true
}
