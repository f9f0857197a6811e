//! Copies of elements that lie apart: along one long axis at a time, straight from one place to the
//! other. Where the fastest axis is short, a longer one is followed instead, in pieces that stay in
//! the cache until the short axis is through.

mod block;
mod streamed;

use crate::iter::memory::{STREAMED, finish_stream};
use crate::iter::walk::{Order, Walk};
use crate::loops::{GRAIN, Ptr};
use crate::par;
use block::copy_block;
use smallvec::SmallVec;
use streamed::Streamed;

/// Fastest axes shorter than this are not worth a loop of their own.
const SHORT: usize = 8;
/// Strips of at least so many elements are worth a loop that is unrolled for long ones.
const LONG: usize = 128;
/// Elements that are copied along another axis at a time.
const PIECE: usize = 1024;

/// Extent of an axis and its strides in target and source.
#[derive(Clone, Copy)]
struct Axis {
    extent: usize,
    to: isize,
    from: isize,
}

impl Axis {
    /// Whether strips that follow each other along it repeat elements so many times.
    fn repeats(self, times: usize) -> bool {
        (self.extent, self.to, self.from) == (times, 1, 0)
    }
}

/// A copy by long axes.
pub(crate) struct Strips {
    /// The other axes.
    outer: Walk<2>,
    long: Axis,
    /// Along which strips follow each other: the fastest axis, if another one is the long one.
    next: Axis,
    /// Elements of a strip, and strips, that are copied together.
    block: (usize, usize),
    /// Whether there is but one block for each step along one other axis, and all is one task.
    at_once: bool,
    /// How blocks are stored non-temporally, if they are.
    streamed: Option<Streamed>,
    size: usize,
}

impl Strips {
    /// The strips of a walk with the target first, whose elements have so many bytes.
    pub(crate) fn new(walk: &Walk<2>, size: usize) -> Self {
        let last = walk.dims.len() - 1;
        let axis = |a: usize| Axis {
            extent: walk.dims[a],
            to: walk.strides[a][0],
            from: walk.strides[a][1],
        };
        let longest = (0..=last).rev().max_by_key(|&a| walk.dims[a].min(PIECE));
        let long = longest.filter(|_| walk.dims[last] < SHORT).unwrap_or(last);
        let next = if long == last {
            last.checked_sub(1)
        } else {
            Some(last)
        };
        let none = Axis {
            extent: 1,
            to: 0,
            from: 0,
        };
        let others = (0..=last).filter(|&a| a != long && Some(a) != next);
        let others: SmallVec<[Axis; 6]> = others.map(axis).collect();
        let dims: SmallVec<[usize; 6]> = others.iter().map(|a| a.extent).collect();
        let to: SmallVec<[isize; 6]> = others.iter().map(|a| a.to).collect();
        let from: SmallVec<[isize; 6]> = others.iter().map(|a| a.from).collect();
        let mut outer = Walk::new(&dims, [&to, &from], Order::Kept);
        outer.offsets = walk.offsets;
        let (long, next) = (axis(long), next.map_or(none, axis));
        let most = if next.extent < SHORT { PIECE } else { GRAIN };
        let piece = long.extent.min(most);
        let streamed = Streamed::find(long, next).filter(|_| walk.total * size >= STREAMED);
        let strips = next.extent.min((GRAIN / piece.max(1)).max(SHORT));
        let whole = (piece, strips) == (long.extent, next.extent);
        Strips {
            at_once: whole && outer.dims.len() == 1 && walk.total <= GRAIN,
            outer,
            long,
            next,
            block: (piece, strips),
            streamed,
            size,
        }
    }

    /// Copies all elements.
    ///
    /// # Safety
    /// `to` and `from` are the addresses of views that lie as the walk says and do not overlap.
    pub(crate) unsafe fn run(&self, to: *mut u8, from: *const u8) {
        let ends = [Ptr(to), Ptr(from.cast_mut())];
        // SAFETY: as the caller vouches; elements of a size are moved by their bits.
        unsafe {
            match self.size {
                1 => self.run_as::<u8>(ends),
                2 => self.run_as::<u16>(ends),
                4 => self.run_as::<u32>(ends),
                _ => self.run_as::<u64>(ends),
            }
        }
    }

    /// # Safety
    /// As [`Strips::run`], from the second address to the first; elements are as large as T.
    unsafe fn run_as<T: Copy>(&self, ends: [Ptr; 2]) {
        if self.at_once {
            let (extent, [to, from]) = (self.outer.dims[0] as isize, self.outer.strides[0]);
            for i in 0..extent {
                let place = |end: usize, step| self.outer.offsets[end] + i * step;
                let to = ends[0].0.cast::<T>().wrapping_offset(place(0, to));
                let from = ends[1].0.cast::<T>().wrapping_offset(place(1, from));
                // SAFETY: as below.
                unsafe { copy_block(to, from, self.long, self.next) };
            }
            return;
        }
        let (piece, strips) = self.block;
        let pieces = self.long.extent.div_ceil(piece);
        let blocks = pieces * self.next.extent.div_ceil(strips);
        let grain = (GRAIN / (piece * strips)).max(1);
        par::for_ranges(self.outer.total * blocks, grain, |range| {
            let mut cursor = self.outer.cursor(range.start / blocks);
            for unit in range {
                // Divisions take longer than a short strip.
                let block = if blocks == 1 { 0 } else { unit % blocks };
                let (start, strip) = match block {
                    0 => (0, 0),
                    _ => (block % pieces * piece, block / pieces * strips),
                };
                let place = |at: isize, along: isize, over: isize| {
                    at + start as isize * along + strip as isize * over
                };
                let [to, from] = cursor.place;
                let to = place(to, self.long.to, self.next.to);
                let from = place(from, self.long.from, self.next.from);
                let (long, next) = (self.long, self.next);
                let long = Axis {
                    extent: piece.min(long.extent - start),
                    ..long
                };
                let next = Axis {
                    extent: strips.min(next.extent - strip),
                    ..next
                };
                let to = ends[0].0.cast::<T>().wrapping_offset(to);
                let from = ends[1].0.cast::<T>().wrapping_offset(from);
                // SAFETY: the axes stay within the views, and blocks are disjoint.
                unsafe {
                    match self.streamed {
                        Some(streamed) => streamed.copy(to, from, long, next),
                        None => copy_block(to, from, long, next),
                    }
                }
                if block == blocks - 1 {
                    cursor.advance_in_row(1);
                }
            }
            if self.streamed.is_some() {
                finish_stream();
            }
        });
    }
}
