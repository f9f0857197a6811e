//! Inputs read as runs of one type, and outputs written in parts by several threads, for kernels
//! that have an order of their own.

use crate::api::View;
use crate::iter::convert::converter;
use crate::iter::memory::{Direction, transfer};
use crate::iter::walk::Walk;
use crate::simd::body::Run;
use ferromix_base::Element;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Reads an input of any strides and type as runs of C.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a, C> {
    view: &'a View,
    _type: PhantomData<C>,
}

/// Scratch memory for the run that a [`Reader`] collects.
pub(crate) struct ReadBuffer {
    raw: MaybeUninit<[u64; ReadBuffer::LEN]>,
    ready: MaybeUninit<[u64; ReadBuffer::LEN]>,
}

impl ReadBuffer {
    /// Longest run.
    pub(crate) const LEN: usize = 1024;

    /// An empty one.
    pub(crate) const fn new() -> Self {
        ReadBuffer {
            raw: MaybeUninit::uninit(),
            ready: MaybeUninit::uninit(),
        }
    }
}

impl<'a, C: Element> Reader<'a, C> {
    /// A reader of `view`.
    pub(crate) fn new(view: &'a View) -> Self {
        Reader {
            view,
            _type: PhantomData,
        }
    }

    /// The first element, where the elements are of type T.
    pub(crate) fn plain<T: Element>(&self) -> Option<*const T> {
        (self.view.dtype() == T::DTYPE).then_some(self.view.ptr().cast())
    }

    /// The `n` elements from position `start` of `walk` on, `offset` elements further; in place
    /// where they lie without gaps and are of type C, else in `buffer` (then at most [`ReadBuffer::LEN`]).
    ///
    /// # Safety
    /// The elements lie within the view.
    pub(crate) unsafe fn read<'b>(
        &'b self,
        offset: isize,
        walk: &Walk<1>,
        start: usize,
        n: usize,
        buffer: &'b mut ReadBuffer,
    ) -> &'b [C] {
        let (dtype, want) = (self.view.dtype(), C::DTYPE);
        if dtype == want && walk.dims.len() == 1 && walk.strides[0] == [1] {
            let place = offset + walk.offsets[0] + start as isize;
            let ptr = self
                .view
                .ptr()
                .wrapping_offset(place * dtype.size() as isize);
            // SAFETY: `n` elements of type C without gaps, as the caller vouches.
            return unsafe { std::slice::from_raw_parts(ptr.cast(), n) };
        }
        let size = dtype.size();
        let base = self.view.ptr().wrapping_offset(offset * size as isize);
        let cursor = walk.cursor(start);
        let mut source = base.wrapping_offset(cursor.place[0] * size as isize);
        if cursor.row_strides()[0] != 1 || cursor.row_left() < n {
            debug_assert!(n <= ReadBuffer::LEN);
            let raw = buffer.raw.as_mut_ptr().cast();
            // SAFETY: as the caller vouches.
            unsafe { transfer(base, size, 0, &cursor, n, raw, Direction::Gather) };
            source = raw;
        }
        if dtype != want {
            debug_assert!(n <= ReadBuffer::LEN);
            let ready = buffer.ready.as_mut_ptr().cast();
            let runs = [ready, source].map(|ptr| Run {
                ptr,
                uniform: false,
            });
            // SAFETY: `n` elements are readable, and the buffer has room.
            unsafe { converter(dtype, want).run(runs, n) };
            source = ready;
        }
        // SAFETY: `n` elements of type C, in the input or in `buffer`.
        unsafe { std::slice::from_raw_parts(source.cast(), n) }
    }
}

/// A slice whose parts different threads write.
pub(crate) struct Parts<'a, T> {
    ptr: *mut T,
    len: usize,
    _slice: PhantomData<&'a mut [T]>,
}

// SAFETY: hands out disjoint parts only (see `part`), which threads may own if T allows.
unsafe impl<T: Send> Sync for Parts<'_, T> {}

impl<'a, T> Parts<'a, T> {
    /// The parts of `slice`.
    pub(crate) fn new(slice: &'a mut [T]) -> Self {
        Parts {
            ptr: slice.as_mut_ptr(),
            len: slice.len(),
            _slice: PhantomData,
        }
    }

    /// The elements from `start` on, `n` of them.
    ///
    /// # Safety
    /// No part that is alive overlaps this one.
    ///
    /// # Panics
    /// Outside the slice.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn part(&self, start: usize, n: usize) -> &mut [T] {
        assert!(start <= self.len && n <= self.len - start);
        // SAFETY: within the slice; the caller vouches that no other part overlaps.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.add(start), n) }
    }
}
