//! Blocks of strips that are written by non-temporal stores, piece by piece through a buffer.

use super::Axis;
use super::block::copy_block;
use crate::iter::memory::stream;
use std::mem::MaybeUninit;

/// Bytes of the buffer, which stay in the first-level cache.
const ROOM: usize = 8 << 10;

/// Which elements of a block lie side by side in the target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Streamed {
    /// Those of a strip.
    Strip,
    /// All: strips repeat the elements of the source.
    Block,
}

impl Streamed {
    /// How strips along `long`, which follow each other along `next`, can be stored non-temporally; not where
    /// the source is read with larger steps, which takes so long that the writing does not matter.
    pub(super) fn find(long: Axis, next: Axis) -> Option<Self> {
        match (long.to, long.from) {
            (1, -1 | 2) => Some(Streamed::Strip),
            (times, 1) if times > 1 && next.repeats(times as usize) => Some(Streamed::Block),
            _ => None,
        }
    }

    /// [`copy_block`] by non-temporal stores; [`finish_stream`](crate::iter::memory::finish_stream) is to follow.
    ///
    /// # Safety
    /// As there, with axes that this was found for, or shorter ones.
    pub(super) unsafe fn copy<T: Copy>(self, to: *mut T, from: *const T, long: Axis, next: Axis) {
        let one = Axis { extent: 1, ..next };
        match self {
            // SAFETY: as the caller vouches.
            Streamed::Block => unsafe { pieces(to, from, long, next) },
            Streamed::Strip => (0..next.extent as isize).for_each(|j| {
                let to = to.wrapping_offset(j * next.to);
                let from = from.wrapping_offset(j * next.from);
                // SAFETY: as above.
                unsafe { pieces(to, from, long, one) };
            }),
        }
    }
}

/// Copies strips of which each position has its elements side by side in the target.
///
/// # Safety
/// As [`copy_block`].
unsafe fn pieces<T: Copy>(to: *mut T, from: *const T, long: Axis, next: Axis) {
    let mut buffer = MaybeUninit::<[u64; ROOM / 8]>::uninit();
    let buffer = buffer.as_mut_ptr().cast::<T>();
    let most = ROOM / size_of::<T>() / next.extent;
    for start in (0..long.extent).step_by(most) {
        let extent = most.min(long.extent - start);
        let to = to.wrapping_offset(start as isize * long.to);
        let from = from.wrapping_offset(start as isize * long.from);
        let bytes = extent * next.extent * size_of::<T>();
        // What the next piece reads.
        let reach = extent as isize * long.from;
        let first = from.wrapping_offset(reach.min(2 * reach));
        let second = first.cast::<u8>().wrapping_add(bytes);
        let ahead = [first.cast(), second];
        let ahead = &ahead[..if long.from == 2 { 2 } else { 1 }];
        // SAFETY: as the caller vouches; the buffer has room for a piece, whose elements lie side by
        // side there as in the target.
        unsafe {
            copy_block(buffer, from, Axis { extent, ..long }, next);
            stream(to.cast(), buffer.cast(), bytes, ahead);
        }
    }
}
