//! `_convolution_block`: a convolution with what follows it in inference, in one pass over its output:
//! normalisation by running statistics, the sum with another tensor, and `relu`. The scale of the
//! normalisation goes into the weights, which are packed for each run anyway.

use super::{kept, products};
use crate::api::prepared::{check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kept, Kernel, View};
use crate::blocks::raw::Source;
use crate::convolve::finish::{Addend, Finish};
use crate::convolve::geometry::Geometry;
use crate::convolve::products::Products;
use crate::convolve::transforms::Transformed;
use crate::math::real::by_real;
use crate::par;
use ferromix_base::Result;
use std::marker::PhantomData;

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

    /// Where the first input of the normalisation is, and where that which is added.
    fn places(self) -> [usize; 2] {
        let norm = 2 + usize::from(self.bias);
        [norm, norm + if self.norm.is_some() { 4 } else { 0 }]
    }
}

struct Block<T> {
    products: Products,
    parts: Parts,
    element: PhantomData<fn() -> T>,
}

pub(super) fn prepare(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_convolution_block";
    let parts = Parts::new(attrs)?;
    let [norm, added] = parts.places();
    check_args(name, (ins, added + usize::from(parts.added)), (outs, 1))?;
    let g = Geometry::new(attrs, &ins[0], &ins[1], &outs[0])?;
    for of_channels in &ins[2..added] {
        check_shape(name, "channel argument", of_channels, &outs[0].shape[1..2])?;
    }
    if parts.added {
        check_shape(name, "addend", &ins[added], &outs[0].shape)?;
    }
    debug_assert!(norm <= added);
    let products = products(&g, true);
    by_real!(name, ins[0].dtype, T => {
        Ok(Box::new(Block::<T> { products, parts, element: PhantomData }) as Box<dyn Kernel>)
    })
}

impl<T: Transformed> Kernel for Block<T> {
    fn workspace(&self) -> usize {
        self.products.workspace::<T>()
    }

    fn kept(&self) -> Option<Kept> {
        let mut inputs = vec![1];
        if self.parts.norm.is_some() {
            let [first, after] = self.parts.places();
            inputs.extend([first, after - 1]);
        }
        kept(self.products.kept::<T>(), inputs)
    }

    fn keep(&self, inputs: &[View], memory: &mut [u8]) -> Result<()> {
        let (scale, _) = self.by_channel(inputs)?;
        par::install(|| self.products.keep(&inputs[1], scale.as_deref(), memory))
    }

    fn choice(&self) -> Option<String> {
        Some(self.products.choice::<T>())
    }

    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        if self.products.small() {
            self.product(call)
        } else {
            par::install(|| self.product(call))
        }
    }
}

impl<T: Transformed> Block<T> {
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
        self.products.run(args, call.workspace, &finish)
    }

    /// What the weights of each filter are multiplied by, and what is added to its sums.
    #[allow(clippy::type_complexity)]
    fn by_channel(&self, inputs: &[View]) -> Result<(Option<Vec<T>>, Option<Vec<T>>)> {
        let Parts { bias, norm, .. } = self.parts;
        let bias = bias.then(|| inputs[2].read::<T>()).transpose()?;
        let Some((eps, fixed)) = norm else {
            return Ok((None, bias.map(<[T]>::to_vec)));
        };
        let first = self.parts.places()[0];
        let read = |i: usize| inputs[first + i].read::<T>();
        let (gamma, beta, mean, var) = (read(0)?, read(1)?, read(2)?, read(3)?);
        let scale = |c: usize| {
            let gamma = if fixed { 1.0 } else { gamma[c].f64() };
            gamma / (var[c].f64() + eps).sqrt()
        };
        let shift = |c: usize| {
            let bias = bias.map_or(0.0, |b| b[c].f64());
            T::of(beta[c].f64() + (bias - mean[c].f64()) * scale(c))
        };
        let channels = 0..gamma.len();
        let scales = channels.clone().map(|c| T::of(scale(c))).collect();
        Ok((Some(scales), Some(channels.map(shift).collect())))
    }
}
