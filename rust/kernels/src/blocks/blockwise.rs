//! Element by element work on contiguous arguments of any float type. The work itself sees short
//! slices of `f32` or `f64`; conversion of halves, every request and outputs that are the very
//! memory of an input are taken care of here.

use crate::api::{Req, View};
use crate::blocks::raw::{Source, Target};
use crate::math::real::{Float, Real};
use crate::par;
use ferromix_base::Result;

/// Elements per block: small enough for the first-level cache.
const BLOCK: usize = 512;
/// Elements per task.
const GRAIN: usize = 32_768;

/// Work on `N` inputs and one output, all of one length.
pub(crate) type Body<'a, R, const N: usize> = &'a (dyn Fn([&[R]; N], &mut [R]) + Sync);

/// Runs `body` over whole arguments, in parallel.
///
/// # Errors
/// Arguments of other element types, or with gaps.
pub(crate) fn map<T: Float, const N: usize>(
    inputs: [&View; N],
    output: &mut View,
    req: Req,
    body: Body<'_, T::Real, N>,
) -> Result<()> {
    if req == Req::Null {
        return Ok(());
    }
    let mut sources = Vec::with_capacity(N);
    for view in inputs {
        sources.push(Source::<T>::of(view)?);
    }
    let target = Target::of(output)?;
    par::for_ranges(target.len(), GRAIN, |range| {
        let inputs = std::array::from_fn(|j| (sources[j], range.start));
        let mut buffers = Buffers::new();
        // SAFETY: the ranges of tasks are disjoint.
        unsafe {
            run(
                &mut buffers,
                inputs,
                (target, range.start),
                range.len(),
                req,
                body,
            )
        };
    });
    Ok(())
}

/// Scratch memory for blocks that must be converted, or moved out of the way of the output; one per task.
pub(crate) struct Buffers<R, const N: usize> {
    copies: [[R; BLOCK]; N],
    results: [R; BLOCK],
}

impl<R: Real, const N: usize> Buffers<R, N> {
    pub(crate) fn new() -> Self {
        Buffers {
            copies: [[R::ZERO; BLOCK]; N],
            results: [R::ZERO; BLOCK],
        }
    }
}

/// Runs `body` over `len` elements from the given starts.
///
/// # Safety
/// Nobody else uses these elements of the output meanwhile, or writes those of the inputs. The
/// output may be an input, element for element.
pub(crate) unsafe fn run<T: Float, const N: usize>(
    buffers: &mut Buffers<T::Real, N>,
    inputs: [(Source<T>, usize); N],
    (target, start): (Target<T>, usize),
    len: usize,
    req: Req,
    body: Body<'_, T::Real, N>,
) {
    let Buffers { copies, results } = buffers;
    for at in (0..len).step_by(BLOCK) {
        let n = BLOCK.min(len - at);
        let place = start + at..start + at + n;
        let ranges: [_; N] = std::array::from_fn(|j| inputs[j].1 + at..inputs[j].1 + at + n);
        for ((source, range), copy) in inputs.iter().zip(&ranges).zip(&mut *copies) {
            // SAFETY: only read here, before the output is touched.
            let raw = unsafe { source.0.slice(range.clone()) };
            if T::plain(raw).is_none() || source.0.overlaps(range, &target, &place) {
                T::lift(raw, &mut copy[..n]);
            }
        }
        let args: [&[T::Real]; N] = std::array::from_fn(|j| {
            if inputs[j].0.overlaps(&ranges[j], &target, &place) {
                return &copies[j][..n];
            }
            // SAFETY: apart from the output; nobody writes it, as the caller vouches.
            let raw = unsafe { inputs[j].0.slice(ranges[j].clone()) };
            T::plain(raw).unwrap_or(&copies[j][..n])
        });
        // SAFETY: `args` do not overlap it; nobody else uses it, as the caller vouches.
        let out = unsafe { target.slice(place) };
        if req != Req::Add
            && let Some(plain) = T::plain_mut(out)
        {
            body(args, plain);
        } else {
            body(args, &mut results[..n]);
            store(&results[..n], out, req);
        }
    }
}

/// Puts results where `req` says.
pub(crate) fn store<T: Float>(from: &[T::Real], to: &mut [T], req: Req) {
    match req {
        Req::Null => {}
        Req::Write | Req::Inplace => T::lower(from, to),
        Req::Add => {
            for (o, &x) in to.iter_mut().zip(from) {
                *o = T::down(o.up() + x);
            }
        }
    }
}

/// The numbers to compute with: the memory itself, or `scratch` with what it holds.
pub(crate) fn lifted<'a, T: Float>(from: &'a [T], scratch: &'a mut Vec<T::Real>) -> &'a [T::Real] {
    match T::plain(from) {
        Some(plain) => plain,
        None => {
            scratch.resize(from.len(), T::Real::ZERO);
            T::lift(from, scratch);
            scratch
        }
    }
}

/// Has `fill` set every element of an output, as numbers to compute with, and keeps what `req` says.
///
/// # Errors
/// Another element type, gaps, or what `fill` says.
pub(crate) fn settle<T: Float>(
    out: &mut View,
    req: Req,
    fill: impl FnOnce(&mut [T::Real]) -> Result<()>,
) -> Result<()> {
    if req == Req::Null || out.is_empty() {
        return Ok(());
    }
    let out = out.write::<T>()?;
    if req != Req::Add
        && let Some(plain) = T::plain_mut(out)
    {
        return fill(plain);
    }
    let mut results = vec![T::Real::ZERO; out.len()];
    fill(&mut results)?;
    store(&results, out, req);
    Ok(())
}
