//! Copies between views of any strides and element types; transpositions go in tiles of one cache
//! line by one cache line.

use crate::convert::converter;
use crate::loops::{GRAIN, Op, map, walk};
use crate::walk::{Order, Walk};
use crate::{Req, View, par};
use ferromix_base::{DType, Result};

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

/// A copy whose fastest axis is another one in the source than in the target.
struct Tiles {
    /// All other axes.
    outer: Walk<2>,
    /// Extent of the axis along which the target has no gaps, and the source's stride there.
    across: (usize, isize),
    /// Extent of the axis along which the source has no gaps, and the target's stride there.
    along: (usize, isize),
    to: *mut u8,
    from: *const u8,
    size: usize,
}

// SAFETY: the addresses of views, which may go to any thread (see `View`).
unsafe impl Sync for Tiles {}

impl Tiles {
    /// The tiles of the copy from `views[1]` to `views[0]`, if it is a transposition.
    fn find(views: [&View; 2]) -> Result<Option<Self>> {
        let walk = walk(views)?;
        let last = walk.dims.len() - 1;
        let [to_step, from_step] = walk.strides[last];
        let along = walk.strides.iter().position(|s| s[1] == 1);
        let Some(along) = along.filter(|&a| a != last && to_step == 1 && from_step != 0) else {
            return Ok(None);
        };
        if walk.dims[along] < 4 || walk.dims[last] < 4 {
            return Ok(None);
        }
        let others: Vec<usize> = (0..last).filter(|&a| a != along).collect();
        let dims: Vec<usize> = others.iter().map(|&a| walk.dims[a]).collect();
        let steps = [0, 1].map(|j| {
            let steps: Vec<isize> = others.iter().map(|&a| walk.strides[a][j]).collect();
            steps
        });
        let mut outer = Walk::new(&dims, [&steps[0], &steps[1]], Order::Kept);
        outer.offsets = walk.offsets;
        Ok(Some(Tiles {
            outer,
            across: (walk.dims[last], from_step),
            along: (walk.dims[along], walk.strides[along][0]),
            to: views[0].ptr(),
            from: views[1].ptr(),
            size: DType::size(views[0].dtype()),
        }))
    }

    fn run(&self) {
        match self.size {
            1 => self.run_as::<u8, 64>(),
            2 => self.run_as::<u16, 32>(),
            4 => self.run_as::<u32, 16>(),
            _ => self.run_as::<u64, 8>(),
        }
    }

    /// Copies elements that are as large as T, in tiles of SIDE by SIDE.
    fn run_as<T: Copy + Default, const SIDE: usize>(&self) {
        let bands = self.along.0.div_ceil(SIDE);
        let grain = (GRAIN / (SIDE * self.across.0)).max(1);
        par::for_ranges(self.outer.total * bands, grain, |range| {
            for unit in range {
                let place = self.outer.cursor(unit / bands).place;
                let start = unit % bands * SIDE;
                let to = self.to.cast::<T>().wrapping_offset(place[0]);
                let from = self.from.cast::<T>().wrapping_offset(place[1]);
                // SAFETY: the walk and the two axes stay within the views; bands are disjoint.
                unsafe { self.band::<T, SIDE>(to, from, start) };
            }
        });
    }

    /// Copies SIDE places, or those left, along `along` from `start` on, all across.
    ///
    /// # Safety
    /// `to` and `from` are places of the views with the two axes to run along; elements are as
    /// large as T.
    unsafe fn band<T: Copy + Default, const SIDE: usize>(
        &self,
        to: *mut T,
        from: *const T,
        start: usize,
    ) {
        let (across, from_step) = self.across;
        let (along, to_step) = self.along;
        let height = SIDE.min(along - start);
        let to = to.wrapping_offset(start as isize * to_step);
        let from = from.wrapping_add(start);
        let mut tile = [[T::default(); SIDE]; SIDE];
        for column in (0..across).step_by(SIDE) {
            let width = SIDE.min(across - column);
            let source = from.wrapping_offset(column as isize * from_step);
            let target = to.wrapping_add(column);
            if width == SIDE && height == SIDE {
                for (i, row) in tile.iter_mut().enumerate() {
                    // SAFETY: SIDE elements without gaps at each of SIDE places.
                    *row = unsafe {
                        source
                            .wrapping_offset(i as isize * from_step)
                            .cast::<[T; SIDE]>()
                            .read_unaligned()
                    };
                }
                #[allow(clippy::needless_range_loop)] // `r` is the place in every row of the tile.
                for r in 0..SIDE {
                    let line: [T; SIDE] = std::array::from_fn(|i| tile[i][r]);
                    let place = target.wrapping_offset(r as isize * to_step);
                    // SAFETY: as above.
                    unsafe { place.cast::<[T; SIDE]>().write_unaligned(line) };
                }
                continue;
            }
            for r in 0..height as isize {
                for i in 0..width as isize {
                    // SAFETY: within the band.
                    unsafe {
                        let x = source.wrapping_offset(i * from_step + r).read();
                        target.wrapping_offset(r * to_step + i).write(x);
                    }
                }
            }
        }
    }
}
