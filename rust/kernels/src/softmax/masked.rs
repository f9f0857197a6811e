//! Softmax of the first elements along the axis, as many as a second tensor says for each position; the
//! others are 0. One position at a time.

use super::Kind;
use super::tile::{Tile, work};
use crate::api::{Req, View};
use crate::blocks::along_axis::AlongAxis;
use crate::blocks::blockwise::store;
use crate::blocks::raw::{Source, Target};
use crate::math::real::{Float, Real};
use crate::par;
use ferromix_base::{DType, Result};

/// How many elements of each position count: at most `k`.
pub(super) fn lengths(view: &View, k: usize) -> Result<Vec<usize>> {
    let within = |n: i64| usize::try_from(n).unwrap_or(0).min(k);
    Ok(if view.dtype() == DType::I32 {
        let given = view.read::<i32>()?;
        given.iter().map(|&n| within(n.into())).collect()
    } else {
        view.read::<i64>()?.iter().map(|&n| within(n)).collect()
    })
}

/// Runs `kind` on the first `lengths[i]` elements of each position `i`.
pub(super) fn run<T: Float>(
    (kind, l, t): (Kind, AlongAxis, T::Real),
    sources: &[Source<T>],
    target: &Target<T>,
    lengths: &[usize],
    req: Req,
) {
    let grain = (super::GRAIN / l.k.max(1)).max(1);
    par::for_ranges(l.outer * l.inner, grain, |range| {
        let (mut a, mut b) = (Tile::empty(), Tile::empty());
        for i in range {
            let (outer, at) = (i / l.inner, i % l.inner);
            let part = AlongAxis { k: lengths[i], ..l };
            let place = |k: usize| (outer * l.k + k) * l.inner + at;
            for (tile, source) in [&mut a, &mut b].into_iter().zip(sources) {
                tile.data.clear();
                for k in 0..part.k {
                    // SAFETY: the position belongs to this task; it is written after it was read.
                    let x = unsafe { source.slice(place(k)..place(k) + 1) };
                    tile.data.push(x[0].up());
                }
            }
            work(kind, t, &mut a, &b);
            a.data.resize(l.k, T::Real::ZERO);
            for (k, y) in a.data.iter().enumerate() {
                // SAFETY: as above.
                let out = unsafe { target.slice(place(k)..place(k) + 1) };
                store(std::slice::from_ref(y), out, req);
            }
        }
    });
}
