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

/// The number of spatial axes.
fn axes(name: &str, data: &Desc) -> Result<usize> {
    let n = data.shape.len().wrapping_sub(2);
    if (1..=3).contains(&n) {
        return Ok(n);
    }
    Err(Error::value(format!(
        "{name}: data must have a batch, a channel and one to three spatial axes, got shape {:?}",
        &data.shape[..]
    )))
}

/// One axis, as its attributes say.
struct Axis {
    input: usize,
    kernel: usize,
    stride: usize,
    dilate: usize,
    pad: usize,
}

impl Axis {
    /// How far the kernel may move.
    fn span(&self, name: &str) -> Result<usize> {
        let &Axis {
            input,
            kernel,
            stride,
            dilate,
            pad,
        } = self;
        let reach = dilate
            .saturating_mul(kernel.saturating_sub(1))
            .saturating_add(1);
        let all = pad.saturating_mul(2).saturating_add(input);
        let positive = [kernel, stride, dilate].iter().all(|&n| n > 0);
        all.checked_sub(reach).filter(|_| positive).ok_or_else(|| {
            Error::value(format!(
                "{name}: a kernel of {kernel} with stride {stride} and dilation {dilate} does not fit an \
                 axis of {input} with padding {pad}"
            ))
        })
    }

    /// Dilation and padding for a kernel that may move by `span`: no larger than what makes a difference. Of taps
    /// that are farther apart than the input and the span, one reads the input at most, and the others stay
    /// outside when they come nearer.
    fn nearest(&self, span: usize) -> (usize, usize) {
        let &Axis {
            input,
            kernel,
            dilate,
            pad,
            ..
        } = self;
        let apart = input.saturating_add(span).saturating_add(1);
        if kernel == 1 {
            return (1, pad);
        }
        if dilate <= apart {
            return (dilate, pad);
        }
        // Taps that stay in front of the input; as there is as much padding behind it, there is one.
        let before = pad.saturating_sub(span).div_ceil(dilate).clamp(1, kernel);
        let reads = before < kernel && before * dilate < pad + input;
        let pad = if reads {
            before * apart + pad - before * dilate
        } else {
            (before - 1) * apart + span + 1
        };
        (apart, pad)
    }
}

pub(crate) fn volume(extents: &[usize; 3]) -> usize {
    extents.iter().fold(1, |n, &x| n.saturating_mul(x))
}

impl Geometry {
    /// The geometry of a convolution for `data`, `weight` and `out`.
    ///
    /// # Errors
    /// Attributes or shapes that do not fit each other.
    pub(crate) fn new(attrs: &Attrs, data: &Desc, weight: &Desc, out: &Desc) -> Result<Self> {
        let n = axes("Convolution", data)?;
        let filters = usize::try_from(attrs.int("num_filter")?).unwrap_or(0);
        let sizes = (filters, attrs.extents("pad", n, 0)?);
        Self::fitting(("Convolution", attrs), sizes, [data, weight, out])
    }

    /// The geometry of the convolution whose reverse takes `data` to `out`: it takes `out` to `data`.
    ///
    /// # Errors
    /// Attributes or shapes that do not fit each other.
    pub(crate) fn transposed(
        attrs: &Attrs,
        data: &Desc,
        weight: &Desc,
        out: &Desc,
    ) -> Result<Self> {
        let name = "Deconvolution";
        let n = axes(name, data)?;
        let [kernel, dilate, stride, target] = [
            ("kernel", 0),
            ("dilate", 1),
            ("stride", 1),
            ("target_shape", 0),
        ]
        .map(|(key, fill)| attrs.extents(key, n, fill));
        let (kernel, dilate, stride, target) = (kernel?, dilate?, stride?, target?);
        let mut pad = attrs.extents("pad", n, 0)?;
        if target.iter().any(|&t| t > 0) && out.shape.len() == n + 2 {
            for (i, pad) in pad.iter_mut().enumerate() {
                let reach = kernel[i].saturating_sub(1).saturating_mul(dilate[i]);
                let all = data.shape[i + 2]
                    .saturating_sub(1)
                    .saturating_mul(stride[i]);
                let all = all.saturating_add(reach).saturating_add(1);
                *pad = all.saturating_sub(out.shape[i + 2]).div_ceil(2);
            }
        }
        let filters = usize::try_from(attrs.int("num_filter")?).unwrap_or(0);
        if out.shape.get(1) != Some(&filters) {
            return Err(Error::value(format!(
                "{name}: output must have num_filter={filters} channels, got {:?}",
                &out.shape[..]
            )));
        }
        Self::fitting((name, attrs), (data.shape[1], pad), [out, weight, data])
    }

    /// The geometry with this padding and so many channels of `out`.
    fn fitting(
        (name, attrs): (&str, &Attrs),
        (filters, mut pad): (usize, Vec<usize>),
        [data, weight, out]: [&Desc; 3],
    ) -> Result<Self> {
        let shape = &data.shape[..];
        let n = axes(name, data)?;
        let kernel = attrs.extents("kernel", n, 0)?;
        let mut stride = attrs.extents("stride", n, 1)?;
        let mut dilate = attrs.extents("dilate", n, 1)?;
        let groups = usize::try_from(attrs.int("num_group")?).unwrap_or(0);
        if groups == 0 || !filters.is_multiple_of(groups) || !shape[1].is_multiple_of(groups) {
            return Err(Error::value(format!(
                "{name}: num_group {groups} must divide the numbers of channels, {} and {filters}",
                shape[1]
            )));
        }
        let mut expected = vec![filters, shape[1] / groups];
        expected.extend(&kernel);
        check_shape(name, "weight", weight, &expected)?;
        let mut output = vec![shape[0], filters];
        for i in 0..n {
            let axis = Axis {
                input: shape[i + 2],
                kernel: kernel[i],
                stride: stride[i],
                dilate: dilate[i],
                pad: pad[i],
            };
            let span = axis.span(name)?;
            output.push(span / stride[i] + 1);
            // Memory and loops go by them.
            stride[i] = stride[i].min(span + 1);
            (dilate[i], pad[i]) = axis.nearest(span);
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
