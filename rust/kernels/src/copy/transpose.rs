//! Transpositions, in tiles of one cache line by one cache line, so that every line that is read or
//! written is used whole at once.

#[cfg(target_arch = "x86_64")]
mod wide;
#[cfg(target_arch = "x86_64")]
mod words;

use crate::iter::walk::{Order, Walk};
use crate::loops::{GRAIN, Ptr};
use crate::par;
use smallvec::SmallVec;

/// The two axes of a transposition.
struct Sheet {
    /// Extent of the axis along which the target has no gaps, and the source's stride there.
    across: (usize, isize),
    /// Extent of the axis along which the source has no gaps, and the target's stride there.
    along: (usize, isize),
    /// Whether all is so large that non-temporal stores pay.
    #[cfg(target_arch = "x86_64")]
    large: bool,
}

/// A copy whose fastest axis is another one in the source than in the target.
pub(crate) struct Tiles {
    /// All other axes.
    outer: Walk<2>,
    sheet: Sheet,
    size: usize,
}

/// Rows and columns of the tiles of a matrix.
const SIDE: usize = 8;
/// Rows and columns of the tiles at edges.
const SMALL: usize = 4;

impl Tiles {
    /// The tiles of a walk with the target first, if that is a transposition; elements have so many
    /// bytes.
    pub(crate) fn find(walk: &Walk<2>, size: usize) -> Option<Self> {
        let last = walk.dims.len() - 1;
        let [to_step, from_step] = walk.strides[last];
        let along = walk.strides.iter().position(|s| s[1] == 1);
        let along = along.filter(|&a| a != last && to_step == 1 && from_step != 0)?;
        if walk.dims[along] < SMALL || walk.dims[last] < SMALL {
            return None;
        }
        let others = (0..last).filter(|&a| a != along);
        let dims: SmallVec<[usize; 6]> = others.clone().map(|a| walk.dims[a]).collect();
        let steps = [0, 1].map(|j| -> SmallVec<[isize; 6]> {
            others.clone().map(|a| walk.strides[a][j]).collect()
        });
        let mut outer = Walk::new(&dims, [&steps[0], &steps[1]], Order::Kept);
        outer.offsets = walk.offsets;
        Some(Tiles {
            outer,
            sheet: Sheet {
                across: (walk.dims[last], from_step),
                along: (walk.dims[along], walk.strides[along][0]),
                #[cfg(target_arch = "x86_64")]
                large: walk.total * size >= crate::iter::memory::STREAMED,
            },
            size,
        })
    }

    /// Copies all elements.
    ///
    /// # Safety
    /// `to` and `from` are the addresses of views that lie as the walk says and do not overlap.
    pub(crate) unsafe fn run(&self, to: *mut u8, from: *const u8) {
        let ends = [Ptr(to), Ptr(from.cast_mut())];
        #[cfg(target_arch = "x86_64")]
        if self.size == 4 && crate::simd::vector::level() != crate::simd::vector::Level::Base {
            // SAFETY: as the caller vouches; `level` found the features.
            return self.bands(
                if self.sheet.large { 2 } else { 1 } * words::SIDE,
                |place, start| unsafe {
                    let [to, from] =
                        [0, 1].map(|j| ends[j].0.cast::<u32>().wrapping_offset(place[j]));
                    words::band(&self.sheet, to, from, start);
                },
            );
        }
        // SAFETY: as the caller vouches; elements of a size are moved by their bits.
        unsafe {
            match self.size {
                1 => self.run_as::<u8, 64>(ends),
                2 => self.run_as::<u16, 32>(ends),
                4 => self.run_as::<u32, 16>(ends),
                _ => self.run_as::<u64, 8>(ends),
            }
        }
    }

    /// Runs `band` for each place of the outer axes and every `height`-th start along `along`, in
    /// parallel.
    fn bands(&self, height: usize, band: impl Fn([isize; 2], usize) + Sync + Send) {
        let bands = self.sheet.along.0.div_ceil(height);
        let grain = (GRAIN / (height * self.sheet.across.0)).max(1);
        par::for_ranges(self.outer.total * bands, grain, |range| {
            let mut cursor = self.outer.cursor(range.start / bands);
            // Divisions take longer than a small tile.
            let mut at = if bands == 1 { 0 } else { range.start % bands };
            for _ in range {
                band(cursor.place, at * height);
                at += 1;
                if at == bands {
                    at = 0;
                    cursor.advance_in_row(1);
                }
            }
        });
    }

    /// Copies elements that are as large as T, in tiles of SIDE by SIDE.
    ///
    /// # Safety
    /// As [`Tiles::run`], from the second address to the first.
    unsafe fn run_as<T: Copy + Default, const SIDE: usize>(&self, ends: [Ptr; 2]) {
        self.bands(SIDE, |place, start| {
            let [to, from] = [0, 1].map(|j| ends[j].0.cast::<T>().wrapping_offset(place[j]));
            // SAFETY: the walk and the two axes stay within the views; bands are disjoint.
            unsafe { self.sheet.band::<T, SIDE>(to, from, start) };
        });
    }
}

/// Transposes a matrix on this thread: `to[k * to_step + j] = from[j * from_step + k]` for all `k` below
/// `height` and `j` below `width`.
///
/// # Panics
/// Slices that are too short, which is a fault of the caller.
pub(crate) fn transpose<T: Copy + Default>(
    (from, from_step): (&[T], usize),
    (height, width): (usize, usize),
    (to, to_step): (&mut [T], usize),
) {
    if height == 0 || width == 0 {
        return;
    }
    assert!(from.len() >= (width - 1) * from_step + height);
    assert!(to_step >= width && to.len() >= (height - 1) * to_step + width);
    #[cfg(target_arch = "x86_64")]
    if size_of::<T>() == 4 && crate::simd::vector::level() == crate::simd::vector::Level::V4 {
        let to = (to.as_mut_ptr().cast(), to_step as isize);
        let from = (from.as_ptr().cast(), from_step as isize);
        // SAFETY: as below.
        return unsafe { wide::matrix(to, from, (height, width)) };
    }
    let sheet = Sheet {
        across: (width, from_step as isize),
        along: (height, to_step as isize),
        #[cfg(target_arch = "x86_64")]
        large: false,
    };
    #[cfg(target_arch = "x86_64")]
    if size_of::<T>() == 4 && crate::simd::vector::level() != crate::simd::vector::Level::Base {
        for start in (0..height).step_by(words::SIDE) {
            // SAFETY: both slices hold what was asserted; `level` found the features, and elements of a
            // size are moved by their bits.
            unsafe { words::band(&sheet, to.as_mut_ptr().cast(), from.as_ptr().cast(), start) };
        }
        return;
    }
    for start in (0..height).step_by(SIDE) {
        // SAFETY: both slices hold what was asserted.
        unsafe { sheet.band::<T, SIDE>(to.as_mut_ptr(), from.as_ptr(), start) };
    }
}

impl Sheet {
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
        for column in (0..across).step_by(SIDE) {
            let width = SIDE.min(across - column);
            let source = from.wrapping_offset(column as isize * from_step);
            let target = to.wrapping_add(column);
            if width == SIDE && height == SIDE {
                // SAFETY: SIDE elements without gaps at each of SIDE places, here and there.
                unsafe { tile::<T, SIDE>((target, to_step), (source, from_step)) };
                continue;
            }
            let ends = ((target, to_step), (source, from_step));
            // SAFETY: within the band.
            unsafe { edge(ends, (height, width), |to, from| tile::<T, SMALL>(to, from)) };
        }
    }
}

/// An address and how far it is to the next row there.
type Place<P> = (P, isize);

/// Transposes what is not a whole tile, in small ones and then one by one.
///
/// # Safety
/// As [`tile`], for so many places of the target and so many of the source; `small` transposes SMALL by
/// SMALL elements.
#[inline(always)]
unsafe fn edge<T: Copy + Default>(
    (to, from): (Place<*mut T>, Place<*const T>),
    (height, width): (usize, usize),
    small: impl Fn(Place<*mut T>, Place<*const T>),
) {
    let ends = |r: usize, i: usize| {
        let target = to.0.wrapping_offset(r as isize * to.1).wrapping_add(i);
        let source = from.0.wrapping_offset(i as isize * from.1).wrapping_add(r);
        (target, source)
    };
    let [whole_height, whole_width] = [height, width].map(|n| n / SMALL * SMALL);
    for r in (0..whole_height).step_by(SMALL) {
        for i in (0..whole_width).step_by(SMALL) {
            let (target, source) = ends(r, i);
            small((target, to.1), (source, from.1));
        }
    }
    for r in 0..height {
        for i in if r < whole_height { whole_width } else { 0 }..width {
            let (target, source) = ends(r, i);
            // SAFETY: as the caller vouches.
            unsafe { target.write(source.read()) };
        }
    }
}

/// Transposes a tile of SIDE by SIDE between places and their steps.
///
/// # Safety
/// SIDE elements without gaps lie at each of SIDE places on either side, a step apart.
#[inline(always)]
unsafe fn tile<T: Copy + Default, const SIDE: usize>(to: Place<*mut T>, from: Place<*const T>) {
    // Lines that are a power of two apart push each other out of the cache: each is read once.
    let mut rows = [[T::default(); SIDE]; SIDE];
    for (i, row) in rows.iter_mut().enumerate() {
        let place = from.0.wrapping_offset(i as isize * from.1);
        // SAFETY: as the caller vouches.
        *row = unsafe { place.cast::<[T; SIDE]>().read_unaligned() };
    }
    for r in 0..SIDE {
        let line: [T; SIDE] = rows.map(|row| row[r]);
        let place = to.0.wrapping_offset(r as isize * to.1);
        // SAFETY: as the caller vouches.
        unsafe { place.cast::<[T; SIDE]>().write_unaligned(line) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_of_any_size_are_transposed_and_nothing_else_is_written() {
        for height in [0, 1, 3, 4, 7, 8, 16, 31, 40] {
            for width in [0, 1, 2, 4, 5, 12, 16, 33] {
                let (from_step, to_step) = (height + 3, width + 2);
                let from: Vec<u32> = (0..(width * from_step) as u32).collect();
                let mut to = vec![u32::MAX; height * to_step];
                transpose((&from, from_step), (height, width), (&mut to, to_step));
                let wide: Vec<u64> = from.iter().map(|&x| u64::from(x)).collect();
                let mut second = vec![u64::MAX; height * to_step];
                transpose((&wide, from_step), (height, width), (&mut second, to_step));
                for (at, (&x, &y)) in to.iter().zip(&second).enumerate() {
                    let (k, j) = (at / to_step, at % to_step);
                    let inside = j < width;
                    let want = if inside {
                        from[j * from_step + k]
                    } else {
                        u32::MAX
                    };
                    assert_eq!(x, want);
                    assert_eq!(y, if inside { u64::from(want) } else { u64::MAX });
                }
            }
        }
    }
}
