//! Copies between views of any strides and element types.

use crate::convert::converter;
use crate::loops::{GRAIN, Op, map};
use crate::strips::Strips;
use crate::transpose::Tiles;
use crate::{Req, View};
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
        if let Some(tiles) = Tiles::find([dst, src])? {
            tiles.run();
            return Ok(());
        }
        if let Some(strips) = Strips::find([dst, src])? {
            strips.run();
            return Ok(());
        }
    }
    let types = [dst.dtype(), src.dtype()];
    let body = converter(src.dtype(), dst.dtype());
    map(
        &Op {
            types,
            body,
            grain: GRAIN,
        },
        [dst, src],
        req,
    )
}
