//! A strided view of memory that somebody else owns. All access to tensor memory by kernels goes
//! through here.

use ferromix_base::{
    DType, Element, Error, Result, Shape, Strides, contiguous_strides, is_contiguous,
};

/// Elements of one type at an address, with extents and strides.
///
/// Whoever makes a view ([`View::from_raw`]) vouches that the memory stays valid and that no one
/// writes what somebody else reads meanwhile. A kernel reads inputs, and writes outputs, only.
#[derive(Debug)]
pub struct View {
    ptr: *mut u8,
    dtype: DType,
    shape: Shape,
    strides: Strides,
}

impl Clone for View {
    fn clone(&self) -> Self {
        // As slices, which are copied whole; `SmallVec::clone` goes element by element.
        View {
            ptr: self.ptr,
            dtype: self.dtype,
            shape: Shape::from_slice(&self.shape),
            strides: Strides::from_slice(&self.strides),
        }
    }
}

// SAFETY: a view is an address with a description; `from_raw` obliges its caller to keep the
// memory valid and free of races for as long as the view is used, on whatever thread.
unsafe impl Send for View {}
// SAFETY: as for Send.
unsafe impl Sync for View {}

impl View {
    /// A view of memory at `ptr`.
    ///
    /// # Safety
    /// Every element that `shape` and `strides` reach from `ptr` must be valid and aligned memory
    /// of `dtype` (initialised, where it is read) while the view is in use; no other thread may
    /// write it meanwhile, nor read it while this view is written. An output may overlap an input
    /// only as [`crate::api::Req::Inplace`] says.
    pub unsafe fn from_raw(ptr: *mut u8, dtype: DType, shape: Shape, strides: Strides) -> Self {
        debug_assert_eq!(shape.len(), strides.len());
        View {
            ptr,
            dtype,
            shape,
            strides,
        }
    }

    /// Makes this a view of other memory, with the same extents and strides.
    ///
    /// # Safety
    /// As for [`from_raw`](View::from_raw).
    pub unsafe fn move_to(&mut self, ptr: *mut u8) {
        self.ptr = ptr;
    }

    /// A contiguous view of a slice that the kernel may also write.
    pub fn of_slice<T: Element>(data: &mut [T], shape: &[usize]) -> Result<Self> {
        if ferromix_base::element_count(shape)? != data.len() {
            return Err(Error::value(format!(
                "{} elements do not fill shape {shape:?}",
                data.len()
            )));
        }
        let ptr = data.as_mut_ptr().cast();
        Ok(View {
            ptr,
            dtype: T::DTYPE,
            shape: shape.into(),
            strides: contiguous_strides(shape),
        })
    }

    /// A 0-d tensor in `bits`.
    pub(crate) fn cell(bits: &mut [u64; 1], dtype: DType) -> View {
        View {
            ptr: bits.as_mut_ptr().cast(),
            dtype,
            shape: Shape::new(),
            strides: Strides::new(),
        }
    }

    /// A contiguous view as one axis.
    pub(crate) fn flattened(&self) -> View {
        View {
            ptr: self.ptr,
            dtype: self.dtype,
            shape: Shape::from_slice(&[self.len()]),
            strides: Strides::from_slice(&[1]),
        }
    }

    /// The address of the first element.
    pub fn ptr(&self) -> *mut u8 {
        self.ptr
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The extents.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The strides, in elements.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// Whether these are the extents and strides. (There are few: a loop is quicker than a call that
    /// compares memory.)
    pub(crate) fn is_like(&self, shape: &[usize], strides: &[isize]) -> bool {
        self.shape.iter().eq(shape) && self.strides.iter().eq(strides)
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the elements lie in C order without gaps.
    pub fn is_contiguous(&self) -> bool {
        is_contiguous(&self.shape, &self.strides)
    }

    /// The elements of a contiguous input.
    ///
    /// # Errors
    /// Another element type, or gaps.
    pub fn read<T: Element>(&self) -> Result<&[T]> {
        self.check::<T>()?;
        if self.is_empty() {
            return Ok(&[]);
        }
        // SAFETY: `from_raw` vouches for the memory; `check` for type and contiguity.
        Ok(unsafe { std::slice::from_raw_parts(self.ptr.cast(), self.len()) })
    }

    /// The elements of a contiguous output. Not for an output that shares the memory of an input
    /// which is read at the same time: such kernels work on pointers.
    ///
    /// # Errors
    /// Another element type, or gaps.
    pub fn write<T: Element>(&mut self) -> Result<&mut [T]> {
        self.check::<T>()?;
        if self.is_empty() {
            return Ok(&mut []);
        }
        // SAFETY: `from_raw` vouches for the memory and for exclusive access to outputs; `check`
        // for type and contiguity.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.ptr.cast(), self.len()) })
    }

    fn check<T: Element>(&self) -> Result<()> {
        if self.dtype != T::DTYPE {
            return Err(Error::dtype(format!(
                "kernel expects {}, got {}",
                T::DTYPE,
                self.dtype
            )));
        }
        if !self.is_contiguous() {
            return Err(Error::internal("kernel expects contiguous memory"));
        }
        Ok(())
    }
}
