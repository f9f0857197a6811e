//! Memory that somebody else owns, used in place: it never goes to a pool, and its owner is told when
//! the last user is done.

use crate::gpu::Uses;
use crate::{Array, Chunk, Runtime};
use ferromix_base::{
    Context, DType, Error, Result, Shape, Strides, contiguous_strides, element_count,
};
use std::sync::Arc;

/// Foreign memory, and what tells its owner that it is no longer used: dropping `_owner`, on any
/// thread.
pub(crate) struct Foreign {
    pub(crate) address: *mut u8,
    pub(crate) read_only: bool,
    /// On a GPU.
    pub(crate) uses: Arc<Uses>,
    _owner: Box<dyn Send + Sync>,
}

// SAFETY: the address is only handed out, and who uses it asks the engine, as for any memory.
unsafe impl Send for Foreign {}
// SAFETY: as above; nothing in it changes.
unsafe impl Sync for Foreign {}

impl Foreign {
    pub(crate) fn new(address: *mut u8, read_only: bool, owner: Box<dyn Send + Sync>) -> Self {
        Foreign {
            address,
            read_only,
            uses: Arc::default(),
            _owner: owner,
        }
    }
}

/// Elements in foreign memory, as their owner describes them.
pub struct ForeignDesc<'a> {
    /// Of the first element.
    pub address: *mut u8,
    /// The type of the elements.
    pub dtype: DType,
    /// The extents.
    pub shape: &'a [usize],
    /// In elements; `None` for C order without gaps.
    pub strides: Option<&'a [isize]>,
    /// Whether nothing may write there.
    pub read_only: bool,
}

impl Array {
    /// An array in the memory of somebody else, on `context`. `owner` is dropped after the last
    /// operation that uses it, on whatever thread that ends. Where elements share memory, as with a
    /// stride of 0, the array is read-only, as nobody could say what a write would leave there.
    ///
    /// # Safety
    /// The elements must be readable, and unless `read_only` writable, until `owner` is dropped, and
    /// hold values of their type. Nobody else may write to them while operations use them.
    ///
    /// # Errors
    /// An address that is not aligned to the elements, or no address at all; extents or strides with
    /// which the array would not fit into the address space.
    pub unsafe fn foreign(
        runtime: &Arc<Runtime>,
        context: Context,
        desc: &ForeignDesc<'_>,
        owner: Box<dyn Send + Sync>,
    ) -> Result<Self> {
        let (shape, size) = (desc.shape, desc.dtype.size());
        let elements = element_count(shape)?;
        let strides = match desc.strides {
            Some(strides) if strides.len() == shape.len() => Strides::from_slice(strides),
            Some(strides) => {
                return Err(Error::value(format!(
                    "{} strides for {} extents",
                    strides.len(),
                    shape.len()
                )));
            }
            None => contiguous_strides(shape),
        };
        if elements == 0 {
            // Nothing is there to be read, whatever the address.
            return Ok(Array::over(
                Chunk::foreign(
                    runtime,
                    context,
                    0,
                    Foreign::new(std::ptr::dangling_mut::<u64>().cast(), false, owner),
                ),
                0,
                desc.dtype,
                Shape::from_slice(shape),
                contiguous_strides(shape),
            ));
        }
        let address = desc.address as usize;
        if address == 0 || !address.is_multiple_of(size) {
            return Err(Error::value(format!(
                "the address {address:#x} of the memory is not one of {} elements, which must be \
                 aligned to {size} bytes; copy it first",
                desc.dtype
            )));
        }
        let span = crate::array::extent(shape, &strides, size as isize);
        let (low, high) = span
            .filter(|&(low, high)| {
                let fits = |by: isize| address.checked_add_signed(by).is_some();
                fits(low) && fits(high) && high.checked_sub(low).is_some()
            })
            .ok_or_else(|| {
                Error::value(format!(
                    "shape {shape:?} with strides {:?} of {} does not fit into memory",
                    &strides[..],
                    desc.dtype
                ))
            })?;
        let read_only = desc.read_only || overlap(shape, &strides);
        let start = desc.address.wrapping_offset(low);
        let memory = Foreign::new(start, read_only, owner);
        Ok(Array::over(
            Chunk::foreign(runtime, context, (high - low) as usize, memory),
            low.unsigned_abs(),
            desc.dtype,
            Shape::from_slice(shape),
            strides,
        ))
    }
}

/// Whether two of the elements may be in the same place.
fn overlap(shape: &[usize], strides: &[isize]) -> bool {
    let mut axes: Vec<(usize, usize)> = shape
        .iter()
        .zip(strides)
        .filter(|(extent, _)| **extent > 1)
        .map(|(&extent, stride)| (stride.unsigned_abs(), extent))
        .collect();
    axes.sort_unstable();
    // Each step must be longer than all that the shorter ones reach.
    let mut reach = 0_usize;
    axes.into_iter().any(|(stride, extent)| {
        let short = stride <= reach;
        reach = reach.saturating_add(stride.saturating_mul(extent - 1));
        short
    })
}

#[cfg(test)]
mod tests {
    use super::overlap;

    #[test]
    fn elements_that_share_memory_are_found() {
        for (shape, strides, expected) in [
            (&[2, 3][..], &[3, 1][..], false),
            (&[2, 3], &[1, 2], false),
            (&[2, 3], &[-3, -1], false),
            (&[2, 3], &[0, 1], true),
            (&[1, 3], &[0, 1], false),
            (&[4, 3], &[1, 1], true),
            (&[], &[], false),
            (&[3, 2], &[10, 4], false),
        ] {
            assert_eq!(overlap(shape, strides), expected, "{shape:?} {strides:?}");
        }
    }
}
