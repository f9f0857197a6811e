//! Copies of elements that lie apart: along one long axis at a time, straight from one place to the
//! other. Where the fastest axis is short, a longer one is followed instead, in pieces that stay in
//! the cache until the short axis is through.

use crate::loops::{GRAIN, walk};
use crate::vector::versions;
use crate::walk::{Order, Walk};
use crate::{View, par};
use ferromix_base::{DType, Result};

/// Fastest axes shorter than this are not worth a loop of their own.
const SHORT: usize = 8;
/// Elements that are copied along the long axis at a time.
const PIECE: usize = 1024;

/// Extent of an axis and its strides in target and source.
#[derive(Clone, Copy)]
struct Axis {
    extent: usize,
    to: isize,
    from: isize,
}

/// A copy by long axes.
pub(crate) struct Strips {
    outer: Walk<2>,
    long: Axis,
    /// The fastest axis, if another one is followed.
    short: Axis,
    to: *mut u8,
    from: *const u8,
    size: usize,
}

// SAFETY: the addresses of views, which may go to any thread (see `View`).
unsafe impl Sync for Strips {}

impl Strips {
    /// The strips of the copy from `views[1]` to `views[0]`, unless whole rows can be moved.
    pub(crate) fn find(views: [&View; 2]) -> Result<Option<Self>> {
        let walk = walk(views)?;
        let last = walk.dims.len() - 1;
        let [to, from] = walk.strides[last];
        if to == 1 && (0..=1).contains(&from) && (walk.dims[last] >= SHORT || last == 0) {
            return Ok(None);
        }
        let axis = |a: usize| Axis {
            extent: walk.dims[a],
            to: walk.strides[a][0],
            from: walk.strides[a][1],
        };
        let longest = (0..=last).rev().max_by_key(|&a| walk.dims[a].min(PIECE));
        let long = longest.filter(|_| walk.dims[last] < SHORT).unwrap_or(last);
        let none = Axis {
            extent: 1,
            to: 0,
            from: 0,
        };
        let others: Vec<usize> = (0..last).filter(|&a| a != long).collect();
        let dims: Vec<usize> = others.iter().map(|&a| walk.dims[a]).collect();
        let [a, b] =
            [0, 1].map(|j| -> Vec<isize> { others.iter().map(|&a| walk.strides[a][j]).collect() });
        let mut outer = Walk::new(&dims, [&a, &b], Order::Kept);
        outer.offsets = walk.offsets;
        Ok(Some(Strips {
            outer,
            long: axis(long),
            short: if long == last { none } else { axis(last) },
            to: views[0].ptr(),
            from: views[1].ptr(),
            size: DType::size(views[0].dtype()),
        }))
    }

    /// Copies all elements.
    pub(crate) fn run(&self) {
        match self.size {
            1 => self.run_as::<u8>(),
            2 => self.run_as::<u16>(),
            4 => self.run_as::<u32>(),
            _ => self.run_as::<u64>(),
        }
    }

    fn run_as<T: Copy>(&self) {
        let pieces = self.long.extent.div_ceil(PIECE);
        let work = self.long.extent.min(PIECE) * self.short.extent;
        par::for_ranges(
            self.outer.total * pieces,
            (GRAIN / work.max(1)).max(1),
            |range| {
                let mut cursor = self.outer.cursor(range.start / pieces);
                for unit in range {
                    let start = unit % pieces * PIECE;
                    let [to, from] = cursor.place;
                    let n = PIECE.min(self.long.extent - start);
                    for j in 0..self.short.extent as isize {
                        let to = to + start as isize * self.long.to + j * self.short.to;
                        let from = from + start as isize * self.long.from + j * self.short.from;
                        let (to, from) = (
                            self.to.cast::<T>().wrapping_offset(to),
                            self.from.cast::<T>().wrapping_offset(from),
                        );
                        // SAFETY: the axes stay within the views, and pieces are disjoint.
                        unsafe { strip((to, self.long.to), (from, self.long.from), n) };
                    }
                    if unit % pieces == pieces - 1 {
                        cursor.advance_in_row(1);
                    }
                }
            },
        );
    }
}

/// Copies `n` elements between places that are so many elements apart.
///
/// # Safety
/// Both places have `n` elements, and do not overlap.
#[inline]
unsafe fn strip<T: Copy>(to: (*mut T, isize), from: (*const T, isize), n: usize) {
    match (to.1, from.1) {
        (1, 1) => {
            // SAFETY: as the caller vouches.
            unsafe { std::ptr::copy_nonoverlapping(from.0, to.0, n) };
        }
        (1, -1) => fixed::<T, 1, -1>(to.0, from.0, n),
        (1, 2) => fixed::<T, 1, 2>(to.0, from.0, n),
        (2, 1) => fixed::<T, 2, 1>(to.0, from.0, n),
        (1, 0) => {
            // SAFETY: as the caller vouches.
            unsafe { std::slice::from_raw_parts_mut(to.0, n).fill(*from.0) };
        }
        _ => {
            for i in 0..n as isize {
                // SAFETY: as the caller vouches.
                unsafe {
                    let x = from.0.wrapping_offset(i * from.1).read();
                    to.0.wrapping_offset(i * to.1).write(x);
                }
            }
        }
    }
}

versions! {
    /// The same for strides that are known; only `strip` calls it, and vouches for the places.
    fn fixed[T: Copy, const TO: isize, const FROM: isize](
        to: *mut T, from: *const T, n: usize,
    ) [T, TO, FROM] {
        for i in 0..n as isize {
            // SAFETY: as the caller of `strip` vouches.
            unsafe { *to.offset(i * TO) = *from.offset(i * FROM) };
        }
    }
}
