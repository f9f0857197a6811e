//! Scratch memory of one run of a kernel, taken from the pool and given back at the end.

use crate::Runtime;
use ferromix_base::{DType, Result, Shape, contiguous_strides};
use ferromix_kernels::View;
use ferromix_storage::Handle;

const ALIGN: usize = 64;

/// A block that is cut into aligned pieces and given back when it is dropped.
pub(crate) struct Scratch<'a> {
    runtime: &'a Runtime,
    handle: Option<Handle>,
    used: usize,
    size: usize,
}

/// Bytes that a piece of `size` bytes takes in a scratch block.
pub(crate) fn padded(size: usize) -> usize {
    size.next_multiple_of(ALIGN)
}

impl<'a> Scratch<'a> {
    /// A block of `size` bytes, the sum of what its pieces take.
    pub(crate) fn new(runtime: &'a Runtime, size: usize) -> Result<Self> {
        let handle = if size == 0 {
            None
        } else {
            Some(runtime.pool().alloc(size)?)
        };
        Ok(Scratch {
            runtime,
            handle,
            used: 0,
            size,
        })
    }

    fn cut(&mut self, bytes: usize) -> *mut u8 {
        let start = self.used;
        self.used += padded(bytes);
        assert!(self.used <= self.size, "scratch memory overrun");
        self.handle
            .as_ref()
            .map_or(std::ptr::null_mut(), |h| h.as_ptr().wrapping_add(start))
    }

    /// The next piece as a contiguous view.
    pub(crate) fn view(&mut self, dtype: DType, shape: &Shape) -> View {
        let bytes = shape.iter().product::<usize>() * dtype.size();
        let (ptr, strides) = (self.cut(bytes), contiguous_strides(shape));
        // SAFETY: the piece is `bytes` long, aligned, nobody else's, and lives as long as self,
        // which outlives the run that the view is made for.
        unsafe { View::from_raw(ptr, dtype, shape.clone(), strides) }
    }

    /// The next piece as bytes.
    pub(crate) fn bytes(&mut self, size: usize) -> &'a mut [u8] {
        if size == 0 {
            return &mut [];
        }
        let ptr = self.cut(size);
        // SAFETY: the piece is `size` bytes long and nobody else's; the run that uses it ends
        // before self is dropped (`Bound::run` keeps both in one frame). Any byte is a valid u8.
        unsafe { std::slice::from_raw_parts_mut(ptr, size) }
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            self.runtime.pool().free(handle);
        }
    }
}
