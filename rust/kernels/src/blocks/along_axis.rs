//! One axis of a tensor, with what is before and behind it.

/// A tensor seen as `[outer, k, inner]`, with the axis of the operator in the middle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AlongAxis {
    pub(crate) outer: usize,
    pub(crate) k: usize,
    pub(crate) inner: usize,
}

impl AlongAxis {
    pub(crate) fn new(shape: &[usize], axis: usize) -> Self {
        AlongAxis {
            outer: shape[..axis].iter().product(),
            k: shape[axis],
            inner: shape[axis + 1..].iter().product(),
        }
    }
}
