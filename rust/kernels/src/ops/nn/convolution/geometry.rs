//! Sizes of a convolution, filled up to three spatial axes.

use crate::api::prepared::check_shape;
use crate::api::{Attrs, Desc};
use ferromix_base::{Error, Result};

/// Everything that follows from attributes and shapes. Fewer than three spatial axes are filled up
/// in front with axes of one element.
#[derive(Clone, Debug)]
pub(crate) struct Geometry {
    pub(crate) batch: usize,
    pub(crate) groups: usize,
    /// Input channels of one group.
    pub(crate) channels: usize,
    /// Filters of one group.
    pub(crate) filters: usize,
    pub(crate) input: [usize; 3],
    pub(crate) output: [usize; 3],
    pub(crate) kernel: [usize; 3],
    pub(crate) stride: [usize; 3],
    pub(crate) dilate: [usize; 3],
    pub(crate) pad: [usize; 3],
}

fn three(values: &[usize], fill: usize) -> [usize; 3] {
    let mut all = [fill; 3];
    all[3 - values.len()..].copy_from_slice(values);
    all
}

pub(crate) fn volume(extents: &[usize; 3]) -> usize {
    extents.iter().product()
}

impl Geometry {
    /// The geometry for `data`, `weight` and `out`.
    ///
    /// # Errors
    /// Attributes or shapes that do not fit each other.
    pub(crate) fn new(attrs: &Attrs, data: &Desc, weight: &Desc, out: &Desc) -> Result<Self> {
        let name = "Convolution";
        let shape = &data.shape[..];
        let n = shape.len().wrapping_sub(2);
        if !(1..=3).contains(&n) {
            return Err(Error::value(format!(
                "{name}: data must have a batch, a channel and one to three spatial axes, got \
                 shape {shape:?}"
            )));
        }
        let kernel = attrs.extents("kernel", n, 0)?;
        let stride = attrs.extents("stride", n, 1)?;
        let dilate = attrs.extents("dilate", n, 1)?;
        let pad = attrs.extents("pad", n, 0)?;
        let filters = usize::try_from(attrs.int("num_filter")?).unwrap_or(0);
        let groups = usize::try_from(attrs.int("num_group")?).unwrap_or(0);
        if groups == 0
            || filters == 0
            || !filters.is_multiple_of(groups)
            || !shape[1].is_multiple_of(groups)
        {
            return Err(Error::value(format!(
                "{name}: num_group {groups} must divide the {} input channels and num_filter \
                 {filters}",
                shape[1]
            )));
        }
        let mut expected = vec![filters, shape[1] / groups];
        expected.extend(&kernel);
        check_shape(name, "weight", weight, &expected)?;
        let mut output = vec![shape[0], filters];
        for i in 0..n {
            let reach = dilate[i] * kernel[i].saturating_sub(1) + 1;
            let span = (shape[i + 2] + 2 * pad[i]).checked_sub(reach);
            let (Some(span), true) = (span, kernel[i] * stride[i] * dilate[i] > 0) else {
                return Err(Error::value(format!(
                    "{name}: a kernel of {} with stride {} and dilation {} does not fit an axis of \
                     {} with padding {}",
                    kernel[i],
                    stride[i],
                    dilate[i],
                    shape[i + 2],
                    pad[i]
                )));
            };
            output.push(span / stride[i] + 1);
        }
        check_shape(name, "output", out, &output)?;
        Ok(Geometry {
            batch: shape[0],
            groups,
            channels: shape[1] / groups,
            filters: filters / groups,
            input: three(&shape[2..], 1),
            output: three(&output[2..], 1),
            kernel: three(&kernel, 1),
            stride: three(&stride, 1),
            dilate: three(&dilate, 1),
            pad: three(&pad, 0),
        })
    }

    /// The positions of the kernel's taps, last axis fastest.
    pub(crate) fn positions(&self) -> impl Iterator<Item = [usize; 3]> + use<> {
        let [a, b, c] = self.kernel;
        (0..a).flat_map(move |i| (0..b).flat_map(move |j| (0..c).map(move |k| [i, j, k])))
    }

    /// Weights of one filter.
    pub(crate) fn depth(&self) -> usize {
        self.channels * volume(&self.kernel)
    }

    /// Whether every output element reads the one input element at its own place.
    pub(crate) fn pointwise(&self) -> bool {
        self.kernel == [1; 3] && self.stride == [1; 3] && self.pad == [0; 3]
    }
}
