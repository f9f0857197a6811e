//! Copies of a block of strips: the loops for strips that lie in one way or another.

use super::{Axis, LONG};
use crate::simd::vector::versions;

/// Copies `next.extent` strips of `long.extent` elements.
///
/// # Safety
/// Both places have all these elements, and do not overlap.
#[inline]
pub(super) unsafe fn copy_block<T: Copy>(to: *mut T, from: *const T, long: Axis, next: Axis) {
    // SAFETY: as the caller vouches.
    unsafe {
        match (long.to, long.from) {
            (1, 1) => rows(to, from, long, next),
            (1, 0) => fills(to, from, long, next),
            (1, -1) => fixed::<T, 1, -1>(to, from, long, next),
            (1, 2) if long.extent < LONG => seconds(to, from, long, next),
            (1, 2) => fixed::<T, 1, 2>(to, from, long, next),
            (2, 1) if next.repeats(2) => repeated::<T, 2>(to, from, long),
            (3, 1) if next.repeats(3) => repeated::<T, 3>(to, from, long),
            (4, 1) if next.repeats(4) => repeated::<T, 4>(to, from, long),
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
    /// Every element `TIMES` times.
    ///
    /// # Safety
    /// As [`copy_block`], where the strips are those of a repetition.
    unsafe fn repeated[T: Copy, const TIMES: usize](to: *mut T, from: *const T, long: Axis) [T, TIMES] {
        // SAFETY: as the caller vouches.
        let (to, from) = unsafe {
            (
                std::slice::from_raw_parts_mut(to.cast::<[T; TIMES]>(), long.extent),
                std::slice::from_raw_parts(from, long.extent),
            )
        };
        for (all, x) in to.iter_mut().zip(from) {
            *all = [*x; TIMES];
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
