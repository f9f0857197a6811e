//! Memory of arguments as kernels hold it while tasks run in parallel: addresses with lengths, of
//! which each task makes slices that no other task writes.

use crate::api::View;
use ferromix_base::{Element, Result};
use std::ops::Range;

/// Bytes of a line of the cache.
pub(super) const LINE: usize = 64;

/// The elements of a contiguous input.
#[derive(Clone, Copy)]
pub(crate) struct Source<T> {
    ptr: *const T,
    len: usize,
}

/// The elements of a contiguous output, or scratch memory.
#[derive(Clone, Copy)]
pub(crate) struct Target<T> {
    ptr: *mut T,
    len: usize,
}

// SAFETY: addresses of plain data; whoever makes slices of them vouches for the absence of races.
unsafe impl<T: Element> Send for Source<T> {}
// SAFETY: as above.
unsafe impl<T: Element> Sync for Source<T> {}
// SAFETY: as above.
unsafe impl<T: Element> Send for Target<T> {}
// SAFETY: as above.
unsafe impl<T: Element> Sync for Target<T> {}

impl<T: Element> Source<T> {
    /// The elements of `view`.
    ///
    /// # Errors
    /// Another element type, or gaps.
    pub(crate) fn of(view: &View) -> Result<Self> {
        let data = view.read::<T>()?;
        Ok(Source {
            ptr: data.as_ptr(),
            len: data.len(),
        })
    }

    /// Where an element is, or would be: to be fetched, not to be read.
    #[inline(always)]
    pub(crate) fn near(&self, at: usize) -> *const T {
        self.ptr.wrapping_add(at)
    }

    /// The elements of a slice, which the caller keeps borrowed while tasks run.
    pub(crate) fn of_slice(data: &[T]) -> Self {
        Source {
            ptr: data.as_ptr(),
            len: data.len(),
        }
    }

    /// The elements of `range`.
    ///
    /// # Safety
    /// Nobody writes them while the slice lives.
    pub(crate) unsafe fn slice(&self, range: Range<usize>) -> &[T] {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: within the memory of the view; the caller vouches that nobody writes it.
        unsafe { std::slice::from_raw_parts(self.ptr.add(range.start), range.len()) }
    }

    /// The address of an element.
    ///
    /// # Safety
    /// There is such an element.
    pub(crate) unsafe fn at(&self, index: usize) -> *const T {
        debug_assert!(index < self.len);
        // SAFETY: as the caller vouches.
        unsafe { self.ptr.add(index) }
    }

    /// Whether this is the memory of `target`.
    pub(crate) fn is(&self, target: &Target<T>) -> bool {
        self.ptr == target.ptr
    }

    /// Whether `range` shares memory with `other` of `target`.
    pub(crate) fn overlaps(
        &self,
        range: &Range<usize>,
        target: &Target<T>,
        other: &Range<usize>,
    ) -> bool {
        let size = size_of::<T>();
        let (a, b) = (self.ptr.addr(), target.ptr.addr());
        a + range.start * size < b + other.end * size
            && b + other.start * size < a + range.end * size
    }
}

impl<T: Element> Target<T> {
    /// The elements of `view`.
    ///
    /// # Errors
    /// Another element type, or gaps.
    pub(crate) fn of(view: &mut View) -> Result<Self> {
        Ok(Self::of_slice(view.write::<T>()?))
    }

    /// The elements of a slice, which the caller keeps borrowed while tasks run.
    pub(crate) fn of_slice(data: &mut [T]) -> Self {
        Target {
            ptr: data.as_mut_ptr(),
            len: data.len(),
        }
    }

    /// The same elements, to read.
    pub(crate) fn source(&self) -> Source<T> {
        Source {
            ptr: self.ptr,
            len: self.len,
        }
    }

    /// The address of an element.
    ///
    /// # Safety
    /// `index` is within the memory.
    pub(crate) unsafe fn at(&self, index: usize) -> *mut T {
        debug_assert!(index < self.len);
        // SAFETY: within the memory, as the caller vouches.
        unsafe { self.ptr.add(index) }
    }

    /// Has the cache fetch these elements.
    #[inline(always)]
    pub(crate) fn fetch(&self, range: Range<usize>) {
        #[cfg(target_arch = "x86_64")]
        for at in (range.start..range.end.min(self.len)).step_by(LINE / size_of::<T>()) {
            // SAFETY: within the memory; an instruction that every CPU of this kind has.
            unsafe {
                use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                _mm_prefetch::<_MM_HINT_T0>(self.ptr.add(at).cast_const().cast());
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = range;
    }

    /// The elements of `range`, for tasks that read them together.
    ///
    /// # Safety
    /// Nobody writes them while the slice lives.
    pub(crate) unsafe fn read(&self, range: Range<usize>) -> &[T] {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: within the memory of the view; the caller vouches that nobody writes it.
        unsafe { std::slice::from_raw_parts(self.ptr.add(range.start), range.len()) }
    }

    /// Number of elements.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The elements of `range`.
    ///
    /// # Safety
    /// Nobody else reads or writes them while the slice lives.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn slice(&self, range: Range<usize>) -> &mut [T] {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: within the memory of the view; the caller vouches for exclusive access.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.add(range.start), range.len()) }
    }
}

/// Has the second-level cache fetch the lines of `len` numbers from `p` on; what there is not is not fetched.
#[inline(always)]
pub(crate) fn fetch_far<T>(p: *const T, len: usize) {
    fetch_each::<T, true>(p, len);
}

/// As [`fetch_far`], the first-level cache.
#[inline(always)]
pub(crate) fn fetch_lines<T>(p: *const T, len: usize) {
    fetch_each::<T, false>(p, len);
}

/// Has a cache fetch what is lines apart, as many lines as the numbers take: one that is `FAR` or near.
#[inline(always)]
fn fetch_each<T, const FAR: bool>(p: *const T, len: usize) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..len * size_of::<T>()).step_by(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        let p = p.wrapping_byte_add(at).cast();
        // SAFETY: an instruction that every CPU of this kind has, which faults nowhere.
        unsafe {
            if FAR {
                _mm_prefetch::<_MM_HINT_T1>(p);
            } else {
                _mm_prefetch::<_MM_HINT_T0>(p);
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (p, len);
}

/// As [`fetch_lines`], where `p` may be anywhere in a line.
#[inline(always)]
pub(crate) fn fetch_near<T>(p: *const T, len: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let last = (len * size_of::<T>()).saturating_sub(1);
        for at in (0..last).step_by(LINE).chain([last]) {
            // SAFETY: an instruction that every CPU of this kind has, which faults nowhere.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(p.wrapping_byte_add(at).cast()) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (p, len);
}

/// The first `n` elements in memory that [`Scratch`] cut.
///
/// # Errors
/// Less memory, or memory that is not aligned.
pub(crate) fn numbers<T: crate::math::real::Real>(memory: &[u8], n: usize) -> Result<&[T]> {
    let address = memory.as_ptr();
    if memory.len() < n * size_of::<T>() || !address.addr().is_multiple_of(align_of::<T>()) {
        return Err(ferromix_base::Error::internal(format!(
            "kernel needs {n} kept numbers, got {} bytes",
            memory.len()
        )));
    }
    // SAFETY: the length and the alignment were checked, and any bits are a number.
    Ok(unsafe { std::slice::from_raw_parts(address.cast(), n) })
}

/// Cuts scratch memory into arrays, each aligned to 64 bytes.
pub(crate) struct Scratch<'a> {
    rest: &'a mut [u8],
}

/// Bytes that no machine has, a few of which can be added up.
const MOST: usize = 1 << (usize::BITS - 4);

/// Bytes that [`Scratch::take`] uses for `n` elements of `T`.
pub(crate) fn scratch_bytes<T>(n: usize) -> usize {
    n.saturating_mul(size_of::<T>())
        .min(MOST)
        .next_multiple_of(64)
}

impl<'a> Scratch<'a> {
    pub(crate) fn new(workspace: &'a mut [u8]) -> Self {
        Scratch { rest: workspace }
    }

    /// What is left.
    pub(crate) fn rest(self) -> &'a mut [u8] {
        self.rest
    }

    /// The next `n` elements, with arbitrary values.
    ///
    /// # Errors
    /// Less memory than the kernel asked for.
    pub(crate) fn take<T: crate::math::real::Float>(&mut self, n: usize) -> Result<&'a mut [T]> {
        let bytes = scratch_bytes::<T>(n);
        if bytes == 0 {
            return Ok(&mut []);
        }
        let rest = std::mem::take(&mut self.rest);
        if rest.len() < bytes || !rest.as_ptr().addr().is_multiple_of(align_of::<T>()) {
            return Err(ferromix_base::Error::internal(format!(
                "kernel needs {bytes} more bytes of aligned scratch memory, got {}",
                rest.len()
            )));
        }
        let (mine, rest) = rest.split_at_mut(bytes);
        self.rest = rest;
        // SAFETY: aligned, large enough, borrowed exclusively, and any bytes are a float.
        Ok(unsafe { std::slice::from_raw_parts_mut(mine.as_mut_ptr().cast(), n) })
    }
}
