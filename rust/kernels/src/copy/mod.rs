//! Copies between views of any strides and element types.

pub(crate) mod fill;
pub(crate) mod strips;
pub(crate) mod transpose;

use crate::api::{Req, View};
use crate::copy::strips::Strips;
use crate::copy::transpose::Tiles;
use crate::iter::convert::converter;
use crate::iter::memory::STREAMED;
use crate::loops::{GRAIN, Op, map, walk};
use crate::simd::body::Run;
use ferromix_base::Result;

/// Copies `src`, which broadcasts to the shape of `dst`, changing the element type if they differ:
/// reals are truncated towards zero to integers, everything but zero becomes true. The memory of
/// the two must not overlap, unless they are the same view.
///
/// # Errors
/// A shape that does not broadcast.
///
/// ```
/// # use ferromix_kernels::{View, copy};
/// let (mut a, mut b) = ([1.5f32, -2.5], [0i32; 4]);
/// let src = View::of_slice(&mut a, &[2])?;
/// copy(&src, &mut View::of_slice(&mut b, &[2, 2])?)?;
/// assert_eq!(b, [1, -2, 1, -2]);
/// # Ok::<(), ferromix_base::Error>(())
/// ```
pub fn copy(src: &View, dst: &mut View) -> Result<()> {
    assign(src, dst, Req::Write)
}

/// Elements of rows that are worth a run each.
const LONG: usize = 64;

/// How elements get from one view to another of the same type, wherever the two are.
pub(crate) enum Route {
    Tiles(Tiles),
    Strips(Strips),
    /// So many bytes as they are.
    Whole(usize),
    /// In runs without gaps, which [`map`] splits over threads and writes by non-temporal stores.
    Runs,
}

impl Route {
    /// The route to `views[0]` from `views[1]`, which have elements of one type.
    ///
    /// # Errors
    /// A shape that does not broadcast.
    pub(crate) fn find(views: [&View; 2]) -> Result<Self> {
        let walk = walk(views)?;
        let size = views[0].dtype().size();
        if let Some(tiles) = Tiles::find(&walk, size) {
            return Ok(Route::Tiles(tiles));
        }
        let last = walk.strides.len() - 1;
        let bytes = walk.total * size;
        Ok(match walk.strides[last] {
            [1, 1] if last == 0 && bytes <= GRAIN && walk.offsets == [0; 2] => Route::Whole(bytes),
            [1, 0 | 1] if last == 0 || bytes >= STREAMED && walk.inner() >= LONG => Route::Runs,
            _ => Route::Strips(Strips::new(&walk, size)),
        })
    }

    /// Copies all elements; false, and nothing done, for [`Route::Runs`].
    ///
    /// # Safety
    /// These are the addresses of views that lie as those of the route do and do not overlap.
    pub(crate) unsafe fn run(&self, to: *mut u8, from: *const u8) -> bool {
        match self {
            // SAFETY: as the caller vouches.
            Route::Tiles(tiles) => unsafe { tiles.run(to, from) },
            // SAFETY: as above.
            Route::Strips(strips) => unsafe { strips.run(to, from) },
            // SAFETY: as above.
            Route::Whole(bytes) => unsafe { std::ptr::copy_nonoverlapping(from, to, *bytes) },
            Route::Runs => return false,
        }
        true
    }
}

/// [`copy`] as the request says.
pub(crate) fn assign(src: &View, dst: &View, req: Req) -> Result<()> {
    let overwrite = matches!(req, Req::Write | Req::Inplace);
    if req == Req::Null || dst.is_empty() {
        return Ok(());
    }
    let alike = src.dtype() == dst.dtype();
    if alike && overwrite {
        let same = src.ptr() == dst.ptr() && src.strides() == dst.strides();
        if same && src.shape() == dst.shape() {
            return Ok(());
        }
        // SAFETY: the route is that of these views, which do not overlap.
        if unsafe { Route::find([dst, src])?.run(dst.ptr(), src.ptr()) } {
            return Ok(());
        }
    }
    let types = [dst.dtype(), src.dtype()];
    let body = converter(src.dtype(), dst.dtype());
    let gapless = src.is_contiguous() && dst.is_contiguous() && src.shape() == dst.shape();
    if overwrite && gapless && !alike && dst.len() <= GRAIN {
        let ends = [dst, src].map(|view| Run {
            ptr: view.ptr(),
            uniform: false,
        });
        // SAFETY: both have so many elements of these types, and do not overlap.
        unsafe { body.run(ends, dst.len()) };
        return Ok(());
    }
    map(
        &Op {
            types,
            body,
            grain: GRAIN,
        },
        [dst, src],
        req,
        None,
    )
}
