//! Copies of elements that lie apart: along one long axis at a time, straight from one place to the
//! other. Where the fastest axis is short, a longer one is followed instead, in pieces that stay in
//! the cache until the short axis is through.

use crate::loops::{GRAIN, Ptr};
use crate::par;
use crate::vector::versions;
use crate::walk::{Order, Walk};
use smallvec::SmallVec;

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
        let strips = next.extent.min((GRAIN / piece.max(1)).max(SHORT));
        let whole = (piece, strips) == (long.extent, next.extent);
        Strips {
            at_once: whole && outer.dims.len() == 1 && walk.total <= GRAIN,
            outer,
            long,
            next,
            block: (piece, strips),
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
                unsafe { copy_block(to, from, long, next) };
                if block == blocks - 1 {
                    cursor.advance_in_row(1);
                }
            }
        });
    }
}

/// Copies `next.extent` strips of `long.extent` elements.
///
/// # Safety
/// Both places have all these elements, and do not overlap.
#[inline]
unsafe fn copy_block<T: Copy>(to: *mut T, from: *const T, long: Axis, next: Axis) {
    // SAFETY: as the caller vouches.
    unsafe {
        match (long.to, long.from) {
            (1, 1) => rows(to, from, long, next),
            (1, 0) => fills(to, from, long, next),
            (1, -1) => fixed::<T, 1, -1>(to, from, long, next),
            (1, 2) if long.extent < LONG => seconds(to, from, long, next),
            (1, 2) => fixed::<T, 1, 2>(to, from, long, next),
            (2, 1) => fixed::<T, 2, 1>(to, from, long, next),
            _ => any(to, from, long, next),
        }
    }
}

/// Strips without gaps.
///
/// # Safety
/// As [`copy_block`], with strides 1 along strips.
unsafe fn rows<T: Copy>(to: *mut T, from: *const T, long: Axis, next: Axis) {
    let size = size_of::<T>() as isize;
    let (to, from, n) = (to.cast(), from.cast(), long.extent * size_of::<T>());
    let next = Axis {
        extent: next.extent,
        to: next.to * size,
        from: next.from * size,
    };
    // SAFETY: as the caller vouches.
    unsafe {
        match n {
            16 => pieces::<16>(to, from, next),
            32 => pieces::<32>(to, from, next),
            64 => pieces::<64>(to, from, next),
            128 => pieces::<128>(to, from, next),
            _ => {
                for j in 0..next.extent as isize {
                    let (to, from) = (
                        to.wrapping_offset(j * next.to),
                        from.wrapping_offset(j * next.from),
                    );
                    copy_bytes(to, from, n);
                }
            }
        }
    }
}

versions! {
    /// Strips of so many bytes, of which a register or a few take all.
    ///
    /// # Safety
    /// As [`copy_block`]; `next` is in bytes.
    unsafe fn pieces[const BYTES: usize](to: *mut u8, from: *const u8, next: Axis) [BYTES] {
        for j in 0..next.extent as isize {
            let (to, from) = (to.wrapping_offset(j * next.to), from.wrapping_offset(j * next.from));
            // SAFETY: as the caller vouches.
            unsafe {
                let x = from.cast::<[u8; BYTES]>().read_unaligned();
                to.cast::<[u8; BYTES]>().write_unaligned(x);
            }
        }
    }
}

/// Bytes of a register that every processor here has.
const REGISTER: usize = 16;

/// A copy that is quicker than a call where there is little to copy.
///
/// # Safety
/// Both have so many bytes, which do not overlap.
#[inline(always)]
unsafe fn copy_bytes(to: *mut u8, from: *const u8, n: usize) {
    if !(REGISTER..=8 * REGISTER).contains(&n) {
        // SAFETY: as the caller vouches.
        return unsafe { std::ptr::copy_nonoverlapping(from, to, n) };
    }
    let copy = |at: usize| {
        // SAFETY: as the caller vouches; a register's bytes from `at` on are within `n`.
        unsafe {
            let x = from.add(at).cast::<[u8; REGISTER]>().read_unaligned();
            to.add(at).cast::<[u8; REGISTER]>().write_unaligned(x);
        }
    };
    (0..n - REGISTER).step_by(REGISTER).for_each(copy);
    // Ends with the end, over what is there already.
    copy(n - REGISTER);
}

versions! {
    /// Strips of every second element.
    ///
    /// # Safety
    /// As [`copy_block`], with strides 1 and 2 along strips.
    unsafe fn seconds[T: Copy](to: *mut T, from: *const T, long: Axis, next: Axis) [T] {
        for j in 0..next.extent as isize {
            let (to, from) = (to.wrapping_offset(j * next.to), from.wrapping_offset(j * next.from));
            let mut i = 0;
            while i + 8 <= long.extent {
                // SAFETY: as the caller vouches; the last of these eight is the last that is read.
                unsafe {
                    let a = from.add(2 * i).cast::<[T; 8]>().read_unaligned();
                    let b = from.add(2 * i + 7).cast::<[T; 8]>().read_unaligned();
                    let x = [a[0], a[2], a[4], a[6], b[1], b[3], b[5], b[7]];
                    to.add(i).cast::<[T; 8]>().write_unaligned(x);
                }
                i += 8;
            }
            for i in i..long.extent {
                // SAFETY: as the caller vouches.
                unsafe { *to.add(i) = *from.add(2 * i) };
            }
        }
    }
}

versions! {
    /// Strips of one element each.
    ///
    /// # Safety
    /// As [`copy_block`], with strides 1 and 0 along strips.
    unsafe fn fills[T: Copy](to: *mut T, from: *const T, long: Axis, next: Axis) [T] {
        for j in 0..next.extent as isize {
            // SAFETY: as the caller vouches.
            let (strip, x) = unsafe {
                let strip = to.wrapping_offset(j * next.to);
                (std::slice::from_raw_parts_mut(strip, long.extent), *from.wrapping_offset(j * next.from))
            };
            for place in strip {
                *place = x;
            }
        }
    }
}

versions! {
    /// Strips along which the strides are known.
    ///
    /// # Safety
    /// As [`copy_block`].
    unsafe fn fixed[T: Copy, const TO: isize, const FROM: isize](
        to: *mut T, from: *const T, long: Axis, next: Axis,
    ) [T, TO, FROM] {
        for j in 0..next.extent as isize {
            let (to, from) = (to.wrapping_offset(j * next.to), from.wrapping_offset(j * next.from));
            for i in 0..long.extent as isize {
                // SAFETY: as the caller vouches.
                unsafe { *to.offset(i * TO) = *from.offset(i * FROM) };
            }
        }
    }
}

/// Strips with any strides.
///
/// # Safety
/// As [`copy_block`].
unsafe fn any<T: Copy>(to: *mut T, from: *const T, long: Axis, next: Axis) {
    for j in 0..next.extent as isize {
        let (to, from) = (
            to.wrapping_offset(j * next.to),
            from.wrapping_offset(j * next.from),
        );
        for i in 0..long.extent as isize {
            // SAFETY: as the caller vouches.
            unsafe {
                let x = from.wrapping_offset(i * long.from).read();
                to.wrapping_offset(i * long.to).write(x);
            }
        }
    }
}
