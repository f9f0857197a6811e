//! `softmax`, `softmin` and `log_softmax` along any axis. The elements along the axis, for one or several
//! neighbouring positions, are copied to scratch memory, worked on there, and stored.

mod columns;
mod masked;
mod mixed;
mod rows;

use crate::blockwise::store;
use crate::kernel::Row;
use crate::memory::STREAMED;
use crate::prepared::{axis, boxed, check_count, check_shape};
use crate::raw::{Source, Target};
use crate::real::{Float, Real, by_float};
use crate::sums::blocks;
use crate::vector::multiversion;
use crate::{Attrs, Call, Desc, Kernel, Req, View, par};
use columns::Columns;
use ferromix_base::{DType, Error, Result};
use smallvec::SmallVec;

pub(crate) const ROWS: &[Row] = &[
    Row::new("softmax", |a, i, o| {
        prepare("softmax", Kind::Softmax, a, i, o)
    }),
    Row::new("softmin", |a, i, o| {
        prepare("softmin", Kind::Softmax, a, i, o)
    }),
    Row::new("log_softmax", |a, i, o| {
        prepare("log_softmax", Kind::Log, a, i, o)
    }),
    Row::new("_backward_softmax", |a, i, o| {
        prepare("_backward_softmax", Kind::SoftmaxGrad, a, i, o)
    }),
    Row::new("_backward_log_softmax", |a, i, o| {
        prepare("_backward_log_softmax", Kind::LogGrad, a, i, o)
    }),
];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Softmax,
    Log,
    SoftmaxGrad,
    LogGrad,
}

/// A tensor seen as `[outer, k, inner]`, with the axis of the operator in the middle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) outer: usize,
    pub(crate) k: usize,
    pub(crate) inner: usize,
}

impl Layout {
    pub(crate) fn new(shape: &[usize], axis: usize) -> Self {
        Layout {
            outer: shape[..axis].iter().product(),
            k: shape[axis],
            inner: shape[axis + 1..].iter().product(),
        }
    }
}

/// Positions that are worked on together where the axis is not the last one.
const WIDTH: usize = 64;
/// Elements per task, roughly.
const GRAIN: usize = 16_384;

/// A copied piece of a tensor: `k` rows of `w` neighbouring positions.
struct Tile<R> {
    data: Vec<R>,
    w: usize,
}

multiversion! {
    /// Leaves `(x - max) / t` in `x` and the sums of its exponentials in `sums`; `x` has rows of
    /// `sums.len()` elements.
    fn shift<R: Real>(x: &mut [R], t: R, exponentiate: bool, sums: &mut [R]) {
        let w = sums.len();
        let mut top = [R::LOWEST; WIDTH];
        if w == 1 {
            let parts = x.chunks_exact(32);
            let rest = parts.remainder();
            let mut lanes = [R::LOWEST; 32];
            for part in parts {
                lanes.iter_mut().zip(part).for_each(|(m, &v)| *m = m.at_least(v));
            }
            let top = lanes.iter().chain(rest).fold(R::LOWEST, |m, &v| m.at_least(v));
            let sum = if exponentiate {
                x.iter_mut().for_each(|v| *v = ((*v - top) / t).exp());
                blocks(x.len(), |i| x[i])
            } else {
                x.iter_mut().for_each(|v| *v = (*v - top) / t);
                blocks(x.len(), |i| x[i].exp())
            };
            sums[0] = R::of(sum);
            return;
        }
        sums.fill(R::ZERO);
        for row in x.chunks(w) {
            top.iter_mut().zip(row).for_each(|(m, &v)| *m = m.at_least(v));
        }
        for row in x.chunks_mut(w) {
            row.iter_mut().zip(&top).for_each(|(v, m)| *v = *v - *m);
        }
        if t != R::ONE {
            x.iter_mut().for_each(|v| *v = *v / t);
        }
        if exponentiate {
            x.iter_mut().for_each(|v| *v = v.exp());
        }
        let mut room = [R::ZERO; WIDTH];
        for row in x.chunks(w) {
            if exponentiate {
                sums.iter_mut().zip(row).for_each(|(s, &v)| *s += v);
            } else {
                room.iter_mut().zip(row).for_each(|(r, &v)| *r = v.exp());
                sums.iter_mut().zip(&room).for_each(|(s, &v)| *s += v);
            }
        }
    }

    fn divide<R: Real>(x: &mut [R], by: &[R]) {
        for row in x.chunks_mut(by.len()) {
            row.iter_mut().zip(by).for_each(|(v, &s)| *v = *v / s);
        }
    }

    fn subtract<R: Real>(x: &mut [R], what: &[R]) {
        for row in x.chunks_mut(what.len()) {
            row.iter_mut().zip(what).for_each(|(v, &s)| *v = *v - s);
        }
    }

    /// Turns the gradient `g` with respect to `softmax(x / t) = y` into the one with respect to
    /// `x`; rows of `sums.len()` elements.
    fn softmax_grad<R: Real>(g: &mut [R], y: &[R], t: R, sums: &mut [R]) {
        let w = sums.len();
        if w == 1 {
            let mut lanes = [R::ZERO; 32];
            for (g, y) in g.chunks(32).zip(y.chunks(32)) {
                for ((sum, &g), &y) in lanes.iter_mut().zip(g).zip(y) {
                    *sum += g * y;
                }
            }
            let sum = lanes.into_iter().fold(R::ZERO, |a, b| a + b);
            g.iter_mut().zip(y).for_each(|(g, &y)| *g = y * (*g - sum) / t);
            return;
        }
        sums.fill(R::ZERO);
        for (g, y) in g.chunks(w).zip(y.chunks(w)) {
            for ((sum, &g), &y) in sums.iter_mut().zip(g).zip(y) {
                *sum += g * y;
            }
        }
        for (g, y) in g.chunks_mut(w).zip(y.chunks(w)) {
            for ((g, &y), &sum) in g.iter_mut().zip(y).zip(&*sums) {
                *g = y * (*g - sum) / t;
            }
        }
    }

    fn log_softmax_grad<R: Real>(g: &mut [R], y: &[R], t: R, sums: &mut [R]) {
        let w = sums.len();
        sums.fill(R::ZERO);
        for g in g.chunks(w) {
            sums.iter_mut().zip(g).for_each(|(sum, &g)| *sum += g);
        }
        for (g, y) in g.chunks_mut(w).zip(y.chunks(w)) {
            for ((g, &y), &sum) in g.iter_mut().zip(y).zip(&*sums) {
                *g = (*g - y.exp() * sum) / t;
            }
        }
    }
}

fn work<R: Real>(kind: Kind, t: R, a: &mut Tile<R>, b: &Tile<R>) {
    let mut room = [R::ZERO; WIDTH];
    let sums = &mut room[..a.w];
    match kind {
        Kind::Softmax => {
            shift(&mut a.data, t, true, sums);
            divide(&mut a.data, sums);
        }
        Kind::Log => {
            shift(&mut a.data, t, false, sums);
            sums.iter_mut().for_each(|s| *s = s.ln());
            subtract(&mut a.data, sums);
        }
        Kind::SoftmaxGrad => softmax_grad(&mut a.data, &b.data, t, sums),
        Kind::LogGrad => log_softmax_grad(&mut a.data, &b.data, t, sums),
    }
}

impl<R: Real> Tile<R> {
    fn empty() -> Self {
        Tile {
            data: Vec::new(),
            w: 1,
        }
    }

    /// Copies the positions `at..at + w` of one outer index.
    fn load<T: Float<Real = R>>(
        &mut self,
        from: &Source<T>,
        l: Layout,
        outer: usize,
        (at, w): (usize, usize),
    ) {
        self.w = w;
        self.data.clear();
        self.data.reserve(l.k * w);
        for k in 0..l.k {
            let start = (outer * l.k + k) * l.inner + at;
            // SAFETY: the piece belongs to this task; it is written after it was read.
            let row = unsafe { from.slice(start..start + w) };
            match T::plain(row) {
                Some(row) => self.data.extend_from_slice(row),
                None => self.data.extend(row.iter().map(|x| x.up())),
            }
        }
    }

    fn store<T: Float<Real = R>>(
        &self,
        to: &Target<T>,
        l: Layout,
        outer: usize,
        at: usize,
        req: Req,
    ) {
        for (k, row) in self.data.chunks(self.w).enumerate() {
            let start = (outer * l.k + k) * l.inner + at;
            // SAFETY: the piece belongs to this task.
            store(row, unsafe { to.slice(start..start + self.w) }, req);
        }
    }
}

/// Few positions with all their elements are one run of memory: for [`Tile::load`] in one piece.
fn whole(l: Layout) -> Layout {
    Layout {
        outer: l.outer,
        k: 1,
        inner: l.k * l.inner,
    }
}

/// Runs `kind` on `inputs[0]`, and `inputs[1]` where it is a gradient; where `masked`, the last input has
/// the lengths.
pub(crate) fn run<T: Float>(
    (kind, l, temperature, masked): (Kind, Layout, f64, bool),
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
    (kind, l, t): (Kind, Layout, T::Real),
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
            Some(y) if req != Req::Add && large => rows::past_caches(work, x, y, l.k, t),
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
    (kind, l, t): (Kind, Layout, T::Real),
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

/// Requires a length for each position, as an integer.
fn check_lengths(name: &str, lengths: &[Desc], l: Layout) -> Result<()> {
    for length in lengths {
        let count: usize = length.shape.iter().product();
        if count != l.outer * l.inner || !matches!(length.dtype, DType::I32 | DType::I64) {
            return Err(Error::value(format!(
                "{name}: length must be {} int32 or int64 numbers, got {:?} of {}",
                l.outer * l.inner,
                &length.shape[..],
                length.dtype
            )));
        }
    }
    Ok(())
}

fn prepare(
    name: &'static str,
    kind: Kind,
    attrs: &Attrs,
    ins: &[Desc],
    outs: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let gradient = matches!(kind, Kind::SoftmaxGrad | Kind::LogGrad);
    let masked = attrs.has("use_length") && attrs.bool("use_length")?;
    let (numbers, lengths) = ins.split_at(ins.len().saturating_sub(usize::from(masked)));
    check_count(name, (numbers, if gradient { 2 } else { 1 }), (outs, 1))?;
    let shape = &ins[0].shape;
    check_shape(name, "output", &outs[0], shape)?;
    if gradient {
        check_shape(name, "out", &ins[1], shape)?;
    }
    let temperature = if attrs.has("temperature") {
        attrs.float("temperature")?
    } else {
        1.0
    };
    let layout = if shape.is_empty() {
        Layout {
            outer: 1,
            k: 1,
            inner: 1,
        }
    } else {
        let along = if attrs.has("axis") {
            attrs.int("axis")?
        } else {
            -1
        };
        Layout::new(shape, axis(name, along, shape.len())?)
    };
    check_lengths(name, lengths, layout)?;
    let negative = name == "softmin";
    let reals = numbers.iter().chain(outs);
    if negative || reals.clone().any(|d| d.dtype != ins[0].dtype) {
        for real in reals {
            by_float!(name, real.dtype, _T => Ok(()))?;
        }
        let how = (kind, layout, temperature);
        let kernel = mixed::Mixed::new(how, (masked, negative), ins, &outs[0]);
        return Ok(Box::new(kernel));
    }
    let how = (kind, layout, temperature, masked);
    by_float!(name, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        run::<T>(how, call.inputs, &mut call.outputs[0], call.reqs[0])
    }))
}
