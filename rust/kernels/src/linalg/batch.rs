//! The same work on every matrix of a batch.

use crate::api::{Call, Req};
use crate::blocks::blockwise::store;
use crate::blocks::raw::{Source, Target};
use crate::math::real::Real;
use crate::par;
use ferromix_base::{Error, Result};
use std::sync::Mutex;

/// Multiplications of a matrix that are worth splitting it over threads.
const LARGE: usize = 1 << 21;

/// Runs `body` on `0..count`: one after the other where each is large, else many at once.
///
/// # Errors
/// That of the first that fails.
pub(crate) fn each(
    count: usize,
    work: usize,
    body: impl Fn(usize) -> Result<()> + Sync + Send,
) -> Result<()> {
    if count == 1 || work >= LARGE {
        return (0..count).try_for_each(body);
    }
    let failed: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    par::for_ranges(count, LARGE / work.max(1) / 16, |range| {
        for i in range {
            let Err(error) = body(i) else { continue };
            let mut first = failed
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            if first.as_ref().is_none_or(|(at, _)| i < *at) {
                *first = Some((i, error));
            }
        }
    });
    let first = failed
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    first.map_or(Ok(()), |(_, error)| Err(error))
}

/// Numbers of elements of one matrix of each input and output.
pub(crate) struct Sizes<const I: usize, const O: usize> {
    pub(crate) count: usize,
    pub(crate) inputs: [usize; I],
    pub(crate) outputs: [usize; O],
    /// Multiplications, roughly.
    pub(crate) work: usize,
}

/// Runs `body` on the matrices of a call; outputs hold arbitrary values before, and go where the
/// requests say.
///
/// # Errors
/// Other element types, or what `body` says of the first matrix that it refuses.
pub(crate) fn run<T: Real, const I: usize, const O: usize>(
    call: &mut Call<'_>,
    sizes: &Sizes<I, O>,
    body: impl Fn([&[T]; I], [&mut [T]; O]) -> Result<()> + Sync + Send,
) -> Result<()> {
    let (mut sources, mut targets) = (Vec::with_capacity(I), Vec::with_capacity(O));
    for input in &call.inputs[..I] {
        sources.push(Source::<T>::of(input)?);
    }
    for output in call.outputs.iter_mut() {
        targets.push(Target::<T>::of(output)?);
    }
    let reqs = call.reqs;
    if reqs.iter().all(|r| *r == Req::Null) {
        return Ok(());
    }
    each(sizes.count, sizes.work, |item| {
        let part = |n: usize| item * n..(item + 1) * n;
        // SAFETY: nobody writes inputs meanwhile.
        let inputs = std::array::from_fn(|k| unsafe { sources[k].slice(part(sizes.inputs[k])) });
        let mut scratch: [Vec<T>; O] = std::array::from_fn(|_| Vec::new());
        let mut spare = scratch.iter_mut();
        let outputs = std::array::from_fn(|k| {
            let n = sizes.outputs[k];
            match (reqs[k], spare.next()) {
                (Req::Add | Req::Null, Some(own)) => {
                    own.resize(n, T::ZERO);
                    own.as_mut_slice()
                }
                // SAFETY: each matrix belongs to one task.
                _ => unsafe { targets[k].slice(part(n)) },
            }
        });
        body(inputs, outputs)?;
        for (k, own) in scratch
            .iter()
            .enumerate()
            .filter(|(k, _)| reqs[*k] == Req::Add)
        {
            // SAFETY: as above.
            store(own, unsafe { targets[k].slice(part(own.len())) }, Req::Add);
        }
        Ok(())
    })
}
