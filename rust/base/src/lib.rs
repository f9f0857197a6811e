#![doc = include_str!("../README.md")]

mod context;
mod dtype;
mod error;
mod storage_type;

pub use context::{Context, DeviceType};
pub use dtype::{DType, Element};
pub use error::{Error, ErrorKind, Result};
pub use half::{bf16, f16};
pub use storage_type::StorageType;

/// The extents of a tensor; inline up to six dimensions.
pub type Shape = smallvec::SmallVec<[usize; 6]>;

/// The distance between neighbours along each axis, in elements.
pub type Strides = smallvec::SmallVec<[isize; 6]>;

/// Number of elements of a tensor of `shape`; 1 for a 0-d tensor.
///
/// # Errors
/// [`ErrorKind::Value`] where the product does not fit.
pub fn element_count(shape: &[usize]) -> Result<usize> {
    shape
        .iter()
        .try_fold(1usize, |n, &d| n.checked_mul(d))
        .filter(|&n| n <= isize::MAX as usize)
        .ok_or_else(|| Error::value(format!("shape {shape:?} holds too many elements")))
}

/// Strides of a C-contiguous tensor of `shape`, in elements.
///
/// ```
/// assert_eq!(ferromix_base::contiguous_strides(&[2, 3, 4])[..], [12, 4, 1]);
/// ```
pub fn contiguous_strides(shape: &[usize]) -> Strides {
    let mut strides: Strides = smallvec::smallvec![1; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i] * shape[i].max(1) as isize;
    }
    strides
}

/// Whether `strides` lay a tensor of `shape` out in C order without gaps.
pub fn is_contiguous(shape: &[usize], strides: &[isize]) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let mut expected = 1isize;
    for (&d, &s) in shape.iter().zip(strides).rev() {
        if d != 1 && s != expected {
            return false;
        }
        expected *= d as isize;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_strides_cover_edge_shapes() {
        assert_eq!(element_count(&[]).unwrap(), 1);
        assert_eq!(element_count(&[3, 0]).unwrap(), 0);
        assert!(element_count(&[usize::MAX, 3]).is_err());
        assert_eq!(contiguous_strides(&[])[..], []);
        assert!(is_contiguous(&[2, 3], &[3, 1]));
        assert!(is_contiguous(&[1, 3], &[99, 1]));
        assert!(!is_contiguous(&[3, 2], &[1, 3]));
        assert!(is_contiguous(&[0, 2], &[7, 7]));
    }
}
