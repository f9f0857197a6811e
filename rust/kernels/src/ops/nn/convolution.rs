//! `Convolution` over one to three spatial axes, with groups, strides, dilation and padding,
//! `Deconvolution`, which goes the other way, and their gradients. What one does forwards the other does
//! backwards, so that both have the same parts.

mod block;

use crate::api::prepared::{check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kept, Kernel, Prepare, Row, View};
use crate::blocks::widened::widened;
use crate::convolve::finish::Finish;
use crate::convolve::geometry::{Geometry, volume};
use crate::convolve::plan;
use crate::convolve::products::paired::Paired;
use crate::convolve::products::{Products, Way, bias_gradient};
use crate::convolve::transforms::Transformed;
use crate::convolve::weight::WeightSums;
use crate::convolve::winograd::Winograd;
use crate::math::real::{Float, by_real};
use ferromix_base::{DType, Result, bf16};
use std::marker::PhantomData;

pub(crate) const ROWS: &[Row] = &[
    Row::new("Convolution", prepare_convolution)
        .unknown_cost()
        .shrinking(),
    Row::new("_convolution_block", block::prepare)
        .unknown_cost()
        .shrinking(),
    Row::new("_backward_Convolution", |a, i, o| {
        widened(
            "_backward_Convolution",
            |a, i, o| prepare_backward(false, a, i, o),
            a,
            i,
            o,
        )
    })
    .unknown_cost(),
    Row::new("Deconvolution", |a, i, o| {
        widened(
            "Deconvolution",
            |a, i, o| prepare_forward(true, a, i, o),
            a,
            i,
            o,
        )
    })
    .unknown_cost(),
    Row::new("_backward_Deconvolution", |a, i, o| {
        widened(
            "_backward_Deconvolution",
            |a, i, o| prepare_backward(true, a, i, o),
            a,
            i,
            o,
        )
    })
    .unknown_cost(),
];

/// The products from the data to the output, or back.
fn products(g: &Geometry, down: bool) -> Products {
    let parts = if down {
        vec![plan::forward(g)]
    } else {
        plan::backward(g)
    };
    let products = Products::new(parts, Winograd::of(g, !down));
    if down { products } else { products.backward(g) }
}

/// The sizes for data, weight and output of either operator.
fn geometry(up: bool, attrs: &Attrs, [data, weight, out]: [&Desc; 3]) -> Result<Geometry> {
    if up {
        Geometry::transposed(attrs, data, weight, out)
    } else {
        Geometry::new(attrs, data, weight, out)
    }
}

/// What is kept of these inputs, in so many bytes.
fn kept(bytes: usize, inputs: Vec<usize>) -> Option<Kept> {
    (bytes > 0).then_some(Kept { inputs, bytes })
}

struct Forward<T, W> {
    way: W,
    bias: bool,
    element: PhantomData<fn() -> T>,
}

/// Checks the arguments of a forward pass; gives the sizes, and whether there is a bias.
fn checked(up: bool, attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<(Geometry, bool)> {
    let name = if up { "Deconvolution" } else { "Convolution" };
    let bias = !attrs.bool("no_bias")?;
    check_args(name, (ins, if bias { 3 } else { 2 }), (outs, 1))?;
    let g = geometry(up, attrs, [&ins[0], &ins[1], &outs[0]])?;
    if bias {
        check_shape(name, "bias", &ins[2], &outs[0].shape[1..2])?;
    }
    Ok((g, bias))
}

fn prepare_convolution(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    if ins.iter().all(|d| d.dtype == DType::BF16) {
        let (g, bias) = checked(false, attrs, ins, outs)?;
        if let Some(way) = Paired::of(&g) {
            let element = PhantomData::<fn() -> bf16>;
            return Ok(Box::new(Forward { way, bias, element }));
        }
    }
    let prepare: Prepare = |a, i, o| prepare_forward(false, a, i, o);
    widened("Convolution", prepare, attrs, ins, outs)
}

fn prepare_forward(
    up: bool,
    attrs: &Attrs,
    ins: &[Desc],
    outs: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let (g, bias) = checked(up, attrs, ins, outs)?;
    let way = products(&g, !up);
    let name = if up { "Deconvolution" } else { "Convolution" };
    by_real!(name, ins[0].dtype, T => {
        let kernel = Forward::<T, Products> { way, bias, element: PhantomData };
        Ok(Box::new(kernel) as Box<dyn Kernel>)
    })
}

impl<T: Float, W: Way<T>> Kernel for Forward<T, W> {
    fn workspace(&self) -> usize {
        self.way.workspace()
    }

    fn kept(&self) -> Option<Kept> {
        kept(self.way.kept(), vec![1])
    }

    fn keep(&self, inputs: &[View], memory: &mut [u8]) -> Result<()> {
        self.way.keep(&inputs[1], None, memory)
    }

    fn choice(&self) -> Option<String> {
        Some(self.way.choice())
    }

    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        self.product(call)
    }
}

impl<T: Float, W: Way<T>> Forward<T, W> {
    fn product(&self, call: &mut Call<'_>) -> Result<()> {
        let Some(finish) = Finish::of(&mut call.outputs[0], call.reqs[0])? else {
            return Ok(());
        };
        let bias = self.bias.then(|| of_channels::<T>(&call.inputs[2]));
        let bias = bias.transpose()?;
        let args = (&call.inputs[0], &call.inputs[1], call.kept);
        self.way
            .run(args, call.workspace, &finish.shifted(bias.as_deref()))
    }
}

/// The numbers of an input that has one for each channel.
///
/// # Errors
/// Another element type, or gaps.
fn of_channels<T: Float>(input: &View) -> Result<Vec<T::Real>> {
    Ok(input.read::<T>()?.iter().map(|x| x.up()).collect())
}

struct Backward<T> {
    data: Products,
    weight: WeightSums,
    /// Whether the output is what the convolution reads.
    up: bool,
    bias: bool,
    /// Batch, channels and elements of a plane of the output.
    planes: [usize; 3],
    element: PhantomData<fn() -> T>,
}

fn prepare_backward(
    up: bool,
    attrs: &Attrs,
    ins: &[Desc],
    outs: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let name = if up {
        "_backward_Deconvolution"
    } else {
        "_backward_Convolution"
    };
    let bias = !attrs.bool("no_bias")?;
    check_args(name, (ins, 3), (outs, if bias { 3 } else { 2 }))?;
    let g = geometry(up, attrs, [&ins[1], &ins[2], &ins[0]])?;
    check_shape(name, "data gradient", &outs[0], &ins[1].shape)?;
    check_shape(name, "weight gradient", &outs[1], &ins[2].shape)?;
    let head = &ins[0].shape;
    if bias {
        check_shape(name, "bias gradient", &outs[2], &head[1..2])?;
    }
    let data = products(&g, up);
    let data = if up { data } else { data.alone(&g) };
    let weight = WeightSums::new(&g);
    let planes = [
        head[0],
        head[1],
        volume(if up { &g.input } else { &g.output }),
    ];
    by_real!(name, ins[0].dtype, T => {
        let kernel = Backward::<T> { data, weight, up, bias, planes, element: PhantomData };
        Ok(Box::new(kernel) as Box<dyn Kernel>)
    })
}

impl<T: Transformed> Kernel for Backward<T> {
    fn workspace(&self) -> usize {
        self.data.workspace::<T>().max(self.weight.workspace::<T>())
    }

    fn choice(&self) -> Option<String> {
        let (data, weight) = (self.data.choice::<T>(), self.weight.choice::<T>());
        Some(format!("data: {data}; weight: {weight}"))
    }

    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        self.gradients(call)
    }
}

impl<T: Transformed> Backward<T> {
    fn gradients(&self, call: &mut Call<'_>) -> Result<()> {
        let [head, data, weight] = [0, 1, 2].map(|i| &call.inputs[i]);
        let (outs, reqs) = (&mut *call.outputs, call.reqs);
        if let Some(finish) = Finish::<T>::of(&mut outs[0], reqs[0])? {
            let args = (head, weight, None);
            self.data.run(args, call.workspace, &finish)?;
        }
        let pair = if self.up { (head, data) } else { (data, head) };
        self.weight
            .gradient::<T>(pair, call.workspace, &mut outs[1], reqs[1])?;
        if self.bias {
            bias_gradient::<T>(self.planes, head, &mut outs[2], reqs[2])?;
        }
        Ok(())
    }
}
