//! Outputs that are computed from the positions of their elements alone.

use crate::api::{Req, View};
use crate::copy::assign;
use crate::iter::reader::Parts;
use crate::par;
use ferromix_base::{Element, Result, Shape, Strides};

/// Elements that are made at a time where they need another type or are added.
const BLOCK: usize = 512;

/// Sets the elements of the contiguous `out` to what `make` gives for consecutive positions: it
/// gets the first position and the elements to set. Ranges start at multiples of `grain`, itself a
/// multiple of 512, or of 512 within them.
///
/// # Errors
/// An output with gaps.
pub(crate) fn fill<C: Element + Default>(
    out: &mut View,
    req: Req,
    grain: usize,
    make: impl Fn(usize, &mut [C]) + Sync + Send,
) -> Result<()> {
    if req == Req::Null {
        return Ok(());
    }
    if out.dtype() == C::DTYPE && req != Req::Add {
        let out = out.write::<C>()?;
        let n = out.len();
        let parts = Parts::new(out);
        par::for_ranges(n, grain, |range| {
            // SAFETY: tasks have disjoint ranges.
            make(range.start, unsafe { parts.part(range.start, range.len()) });
        });
        return Ok(());
    }
    let flat = out.flattened();
    let failure = std::sync::OnceLock::new();
    par::for_ranges(flat.len(), grain, |range| {
        for start in range.clone().step_by(BLOCK) {
            let mut block = [C::default(); BLOCK];
            let n = BLOCK.min(range.end - start);
            make(start, &mut block[..n]);
            let target = part(&flat, start, n);
            let result = View::of_slice(&mut block[..n], &[n]);
            if let Err(e) = result.and_then(|v| assign(&v, &target, req)) {
                failure.get_or_init(|| e);
            }
        }
    });
    failure.into_inner().map_or(Ok(()), Err)
}

/// The elements from `start` on, `n` of them, of a view of one axis.
pub(crate) fn part(view: &View, start: usize, n: usize) -> View {
    let ptr = view.ptr().wrapping_add(start * view.dtype().size());
    let (shape, strides) = (Shape::from_slice(&[n]), Strides::from_slice(&[1]));
    // SAFETY: a range of the view's elements; tasks have disjoint ranges.
    unsafe { View::from_raw(ptr, view.dtype(), shape, strides) }
}
