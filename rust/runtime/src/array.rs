//! A strided view of a chunk: what an NDArray is underneath.

use crate::{Chunk, Runtime};
use ferromix_base::{
    Context, DType, Error, Result, Shape, Strides, contiguous_strides, element_count, is_contiguous,
};
use ferromix_kernels::{Desc, View};
use std::sync::Arc;

/// Elements of one type in a chunk, with extents, strides and an offset. Views of one chunk share
/// its memory and its engine variable.
pub struct Array {
    chunk: Chunk,
    /// Bytes from the start of the chunk to the first element.
    offset: usize,
    dtype: DType,
    shape: Shape,
    strides: Strides,
}

impl AsRef<Array> for Array {
    fn as_ref(&self) -> &Array {
        self
    }
}

impl Clone for Array {
    fn clone(&self) -> Self {
        // As slices, which are copied whole; `SmallVec::clone` goes element by element.
        Array {
            chunk: self.chunk.clone(),
            shape: Shape::from_slice(&self.shape),
            strides: Strides::from_slice(&self.strides),
            ..*self
        }
    }
}

impl Array {
    /// A new contiguous array; its memory is taken at first use and holds arbitrary values.
    ///
    /// # Errors
    /// A shape with too many elements.
    pub fn new(runtime: &Arc<Runtime>, shape: &[usize], dtype: DType) -> Result<Self> {
        Array::on(runtime, Context::cpu(), shape, dtype)
    }

    /// Like [`new`](Array::new), in the memory of `context`.
    ///
    /// # Errors
    /// A shape with too many elements.
    pub fn on(
        runtime: &Arc<Runtime>,
        context: Context,
        shape: &[usize],
        dtype: DType,
    ) -> Result<Self> {
        let bytes = byte_count(shape, dtype)?;
        Ok(Array {
            chunk: Chunk::on(runtime, context, bytes),
            offset: 0,
            dtype,
            shape: Shape::from_slice(shape),
            strides: contiguous_strides(shape),
        })
    }

    /// All of a chunk, as bytes.
    pub fn bytes_of(chunk: Chunk) -> Self {
        let shape = [chunk.size()];
        Array {
            chunk,
            offset: 0,
            dtype: DType::U8,
            shape: shape.as_slice().into(),
            strides: contiguous_strides(&shape),
        }
    }

    /// Elements of a chunk. The caller sees to it that they are inside.
    pub(crate) fn over(
        chunk: Chunk,
        offset: usize,
        dtype: DType,
        shape: Shape,
        strides: Strides,
    ) -> Self {
        Array {
            chunk,
            offset,
            dtype,
            shape,
            strides,
        }
    }

    /// The chunk.
    pub fn chunk(&self) -> &Chunk {
        &self.chunk
    }

    /// Bytes from the start of the chunk to the first element.
    pub fn byte_offset(&self) -> usize {
        self.offset
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

    /// Shape and element type.
    pub fn desc(&self) -> Desc {
        Desc {
            shape: Shape::from_slice(&self.shape),
            dtype: self.dtype,
        }
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

    /// The address of the first element, taking memory where there is none.
    ///
    /// # Errors
    /// Memory that cannot be had.
    pub fn address(&self) -> Result<*mut u8> {
        Ok(self.chunk.address()?.wrapping_add(self.offset))
    }

    /// Whether `view` has this type, and these extents and strides.
    pub(crate) fn is_like(&self, view: &View) -> bool {
        self.dtype == view.dtype()
            && self.shape[..] == *view.shape()
            && self.strides[..] == *view.strides()
    }

    /// The address of the first element for somebody outside, taking memory where there is none. Who
    /// uses it must keep a clone of the array, and wait for what the engine has in flight.
    ///
    /// # Errors
    /// Memory that cannot be had.
    pub fn data(&self) -> Result<*mut u8> {
        let context = self.chunk.context();
        if !context.is_host() {
            return Err(Error::value(format!(
                "the CPU does not reach the memory of {context}; copy the array first, by \
                 as_in_context(cpu())"
            )));
        }
        self.address()
    }

    /// Whether the array may be written.
    ///
    /// # Errors
    /// An array in foreign memory that is read-only; `operator` is who would write.
    pub fn require_writable(&self, operator: impl std::fmt::Display) -> Result<()> {
        if !self.chunk.is_read_only() {
            return Ok(());
        }
        Err(Error::value(format!(
            "operator {operator}: cannot write into an array of shape {:?}, whose memory its owner \
             gave for reading only; copy it first",
            self.shape
        )))
    }

    /// The kernel's view of the elements, taking memory where there is none.
    ///
    /// # Errors
    /// Memory that cannot be had.
    pub fn view(&self) -> Result<View> {
        let address = self.address()?;
        // SAFETY: every constructor checks that offset, shape and strides stay inside the chunk,
        // whose memory lives until the last operation pushed on its variable is done; the engine
        // orders those operations.
        Ok(unsafe {
            View::from_raw(
                address,
                self.dtype,
                Shape::from_slice(&self.shape),
                Strides::from_slice(&self.strides),
            )
        })
    }

    /// A view of the same memory: `offset` elements after this array's first one, any extents and
    /// strides.
    ///
    /// # Errors
    /// A view that would leave the chunk.
    pub fn strided(&self, offset: isize, shape: &[usize], strides: &[isize]) -> Result<Self> {
        let outside = || {
            Error::value(format!(
                "a view of shape {shape:?}, strides {strides:?} at offset {offset} leaves the \
                 memory of an array of shape {:?}",
                self.shape
            ))
        };
        if shape.len() != strides.len() {
            return Err(outside());
        }
        let size = self.dtype.size() as isize;
        let start = offset
            .checked_mul(size)
            .and_then(|o| o.checked_add(self.offset as isize))
            .ok_or_else(outside)?;
        let view = Array {
            chunk: self.chunk.clone(),
            offset: start.max(0) as usize,
            dtype: self.dtype,
            shape: Shape::from_slice(shape),
            strides: strides.into(),
        };
        if element_count(shape)? == 0 {
            return Ok(Array { offset: 0, ..view });
        }
        let (low, high) = extent(shape, strides, size).ok_or_else(outside)?;
        let low = start.checked_add(low).ok_or_else(outside)?;
        let high = start.checked_add(high).ok_or_else(outside)?;
        if low < 0 || high > self.chunk.size() as isize {
            return Err(outside());
        }
        Ok(view)
    }

    /// A view with other extents of as many elements, or `None` where the elements do not lie in
    /// C order, so that it takes a copy.
    pub fn reshape(&self, shape: &[usize]) -> Option<Self> {
        let fits = self.is_contiguous() && element_count(shape).ok() == Some(self.len());
        fits.then(|| Array {
            shape: Shape::from_slice(shape),
            strides: contiguous_strides(shape),
            ..self.clone()
        })
    }

    /// The start of the chunk's memory as contiguous elements of another type and shape.
    ///
    /// # Errors
    /// A shape that does not fit into the chunk.
    pub fn cast_view(&self, dtype: DType, shape: &[usize]) -> Result<Self> {
        let bytes = byte_count(shape, dtype)?;
        if bytes > self.chunk.size() {
            return Err(Error::value(format!(
                "{bytes} bytes of {dtype}{shape:?} do not fit into {} bytes",
                self.chunk.size()
            )));
        }
        let (shape, strides) = (shape.into(), contiguous_strides(shape));
        Ok(Array {
            chunk: self.chunk.clone(),
            offset: 0,
            dtype,
            shape,
            strides,
        })
    }

    /// Whether both are the same elements in the same order.
    pub fn same_view(&self, other: &Array) -> bool {
        self.chunk.id() == other.chunk.id()
            && self.offset == other.offset
            && self.dtype == other.dtype
            && self.shape == other.shape
            && self.strides == other.strides
    }

    /// Whether this is the beginning of `other`, and at most half of it, both without gaps.
    pub fn begins(&self, other: &Array) -> bool {
        self.chunk.id() == other.chunk.id()
            && self.offset == other.offset
            && self.dtype == other.dtype
            && self.is_contiguous()
            && other.is_contiguous()
            && 2 * self.len() <= other.len()
    }

    /// Whether the memory that both span has bytes in common.
    pub fn overlaps(&self, other: &Array) -> bool {
        if self.chunk.id() != other.chunk.id() || self.is_empty() || other.is_empty() {
            return false;
        }
        let ((a, b), (c, d)) = (self.span(), other.span());
        a < d && c < b
    }

    /// First byte and the byte after the last, from the start of the chunk.
    fn span(&self) -> (isize, isize) {
        let start = self.offset as isize;
        let size = self.dtype.size() as isize;
        extent(&self.shape, &self.strides, size)
            .map_or((0, isize::MAX), |(low, high)| (start + low, start + high))
    }
}

/// Bytes of a contiguous array.
///
/// # Errors
/// More than an address can tell apart.
pub fn byte_count(shape: &[usize], dtype: DType) -> Result<usize> {
    element_count(shape)?
        .checked_mul(dtype.size())
        .filter(|&n| n <= isize::MAX as usize)
        .ok_or_else(|| Error::value(format!("shape {shape:?} of {dtype} holds too many bytes")))
}

/// Lowest byte and the byte after the highest that a non-empty view reaches, from its first
/// element; `None` on overflow.
pub(crate) fn extent(shape: &[usize], strides: &[isize], size: isize) -> Option<(isize, isize)> {
    let (mut low, mut high) = (0isize, size);
    for (&d, &s) in shape.iter().zip(strides) {
        let reach = isize::try_from(d)
            .ok()?
            .checked_sub(1)?
            .checked_mul(s)?
            .checked_mul(size)?;
        if reach < 0 {
            low = low.checked_add(reach)?;
        } else {
            high = high.checked_add(reach)?;
        }
    }
    Some((low, high))
}
