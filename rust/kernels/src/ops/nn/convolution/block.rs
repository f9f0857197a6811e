//! `_convolution_block`: a convolution with what follows it in inference, in one pass over its output:
//! normalisation by running statistics, the sum with another tensor, and `relu`. The scale of the
//! normalisation goes into the weights, which are packed for each run anyway.

use super::{kept, of_channels, products};
use crate::api::prepared::{check_args, check_count, check_shape};
use crate::api::{Attrs, Call, Desc, Kept, Kernel, View};
use crate::blocks::raw::Source;
use crate::blocks::widened::widened_mixed;
use crate::convolve::blocked::Blocked;
use crate::convolve::finish::{Addend, Finish};
use crate::convolve::geometry::Geometry;
use crate::convolve::products::paired::Paired;
use crate::convolve::products::{Products, Way};
use crate::math::real::{Float, Real, by_real};
use ferromix_base::{DType, Error, Result, bf16};
use std::marker::PhantomData;

const NAME: &str = "_convolution_block";
/// The attribute that says whose channels lie in blocks: 1 for the result's, 2 for those of the data, too.
const BLOCKS: &str = "blocks";

/// What follows the convolution, and so which inputs there are.
#[derive(Clone, Copy)]
struct Parts {
    bias: bool,
    /// `eps`, and whether gamma counts as 1.
    norm: Option<(f64, bool)>,
    added: bool,
    relu: bool,
}

impl Parts {
    fn new(attrs: &Attrs) -> Result<Self> {
        let norm = if attrs.bool("norm")? {
            Some((attrs.float("eps")?, attrs.bool("fix_gamma")?))
        } else {
            None
        };
        Ok(Parts {
            bias: !attrs.bool("no_bias")?,
            norm,
            added: attrs.bool("added")?,
            relu: attrs.bool("relu")?,
        })
    }

    /// Whether all arguments are bfloat16, but those of the normalisation, which are single.
    fn are_halves(self, ins: &[Desc], outs: &[Desc]) -> bool {
        let [norm, added] = self.places();
        let fits = |(i, d): (usize, &Desc)| {
            let single = self.norm.is_some() && (norm..added).contains(&i);
            d.dtype == if single { DType::F32 } else { DType::BF16 }
        };
        ins.iter().enumerate().all(fits) && outs.iter().all(|d| d.dtype == DType::BF16)
    }

    /// Where the first input of the normalisation is, and where that which is added.
    fn places(self) -> [usize; 2] {
        let norm = 2 + usize::from(self.bias);
        [norm, norm + if self.norm.is_some() { 4 } else { 0 }]
    }
}

struct Block<T, W> {
    way: W,
    parts: Parts,
    element: PhantomData<fn() -> T>,
}

impl<T: Float, W: Way<T> + 'static> Block<T, W> {
    fn boxed(way: W, parts: Parts) -> Box<dyn Kernel> {
        Box::new(Block {
            way,
            parts,
            element: PhantomData::<fn() -> T>,
        })
    }
}

pub(super) fn prepare(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    if attrs.has(BLOCKS) {
        return prepare_blocked(attrs.int(BLOCKS)? == 2, attrs, ins, outs);
    }
    let parts = Parts::new(attrs)?;
    if parts.are_halves(ins, outs)
        && let Some(way) = Paired::of(&checked(parts, attrs, ins, outs)?)
    {
        return Ok(Block::<bf16, _>::boxed(way, parts));
    }
    widened_mixed(prepare_numbers, attrs, ins, outs)
}

/// Checks the shapes of the arguments; gives the sizes.
fn checked(parts: Parts, attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Geometry> {
    let added = parts.places()[1];
    check_count(NAME, (ins, added + usize::from(parts.added)), (outs, 1))?;
    let g = Geometry::new(attrs, &ins[0], &ins[1], &outs[0])?;
    for of_channels in &ins[2..added] {
        check_shape(NAME, "channel argument", of_channels, &outs[0].shape[1..2])?;
    }
    if parts.added {
        check_shape(NAME, "addend", &ins[added], &outs[0].shape)?;
    }
    Ok(g)
}

fn prepare_numbers(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let parts = Parts::new(attrs)?;
    let g = checked(parts, attrs, ins, outs)?;
    check_args(NAME, (ins, ins.len()), (outs, 1))?;
    let way = products(&g, true);
    by_real!(NAME, ins[0].dtype, T => {
        Ok(Block::<T, Products>::boxed(way, parts))
    })
}

/// A block whose result has its channels in [blocks](crate::convolve::blocked), and its data where `data` says so.
fn prepare_blocked(
    data: bool,
    attrs: &Attrs,
    ins: &[Desc],
    outs: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let parts = Parts::new(attrs)?;
    let g = checked(parts, attrs, ins, outs)?;
    let way = if parts.are_halves(ins, outs) {
        Blocked::of(&g, data).map(|way| Block::<bf16, _>::boxed(way, parts))
    } else {
        check_args(NAME, (ins, ins.len()), (outs, 1))?;
        let way = Blocked::of(&g, data).filter(|_| outs[0].dtype == DType::F32);
        way.map(|way| Block::<f32, _>::boxed(way, parts))
    };
    way.ok_or_else(|| Error::internal(format!("{NAME}: no way to channels in blocks")))
}

impl<T: Float, W: Way<T>> Kernel for Block<T, W> {
    fn workspace(&self) -> usize {
        self.way.workspace()
    }

    fn kept(&self) -> Option<Kept> {
        let mut inputs = vec![1];
        if self.parts.norm.is_some() {
            let [first, after] = self.parts.places();
            inputs.extend([first, after - 1]);
        }
        kept(self.way.kept(), inputs)
    }

    fn keep(&self, inputs: &[View], memory: &mut [u8]) -> Result<()> {
        let scale = self.scales(inputs)?;
        self.way.keep(&inputs[1], scale.as_deref(), memory)
    }

    fn choice(&self) -> Option<String> {
        Some(self.way.choice())
    }

    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        self.product(call)
    }
}

/// What a normalisation by running statistics multiplies a channel by; `fixed` gammas are 1.
fn scale_of<R: Real>(gamma: R, var: R, eps: f64, fixed: bool) -> f64 {
    let gamma = if fixed { 1.0 } else { gamma.f64() };
    gamma / (var.f64() + eps).sqrt()
}

impl<T: Float, W: Way<T>> Block<T, W> {
    fn product(&self, call: &mut Call<'_>) -> Result<()> {
        let Some(finish) = Finish::<T>::of(&mut call.outputs[0], call.reqs[0])? else {
            return Ok(());
        };
        let mut addend = Addend::Nothing;
        if self.parts.added {
            let other = Source::of(&call.inputs[self.parts.places()[1]])?;
            addend = if other.is(&finish.target) {
                Addend::Held
            } else {
                Addend::Of(other)
            };
        }
        let (scale, shift) = self.by_channel(call.inputs)?;
        let finish = Finish {
            scale: scale.as_deref(),
            shift: shift.as_deref(),
            addend,
            relu: self.parts.relu,
            ..finish
        };
        let args = (&call.inputs[0], &call.inputs[1], call.kept);
        self.way.run(args, call.workspace, &finish)
    }

    /// What the weights of each filter are multiplied by; of the inputs only those that [`Kernel::kept`] names
    /// are read.
    fn scales(&self, inputs: &[View]) -> Result<Option<Vec<T::Real>>> {
        let Some((eps, fixed)) = self.parts.norm else {
            return Ok(None);
        };
        let [first, after] = self.parts.places();
        let (gamma, var) = (
            inputs[first].read::<T::Real>()?,
            inputs[after - 1].read::<T::Real>()?,
        );
        let scales = gamma.iter().zip(var);
        let scale = |(&gamma, &var): (_, _)| T::Real::of(scale_of(gamma, var, eps, fixed));
        Ok(Some(scales.map(scale).collect()))
    }

    /// These, and what is added to the sums of each filter.
    #[allow(clippy::type_complexity)]
    fn by_channel(&self, inputs: &[View]) -> Result<(Option<Vec<T::Real>>, Option<Vec<T::Real>>)> {
        let Parts { bias, norm, .. } = self.parts;
        let bias = bias.then(|| of_channels::<T>(&inputs[2])).transpose()?;
        let Some((eps, fixed)) = norm else {
            return Ok((None, bias));
        };
        let first = self.parts.places()[0];
        let read = |i: usize| inputs[first + i].read::<T::Real>();
        let (gamma, beta, mean, var) = (read(0)?, read(1)?, read(2)?, read(3)?);
        let shift = |c: usize| {
            let scale = scale_of(gamma[c], var[c], eps, fixed);
            let bias = bias.as_ref().map_or(0.0, |b| b[c].f64());
            T::Real::of(beta[c].f64() + (bias - mean[c].f64()) * scale)
        };
        let shifts = (0..gamma.len()).map(shift).collect();
        Ok((self.scales(inputs)?, Some(shifts)))
    }
}
