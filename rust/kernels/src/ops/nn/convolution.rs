//! `Convolution` over one to three spatial axes, with groups, strides, dilation and padding, and
//! its gradients.

mod apply;
mod direct;
mod field;
mod gather;
mod geometry;
mod plan;
mod weight;

use crate::api::prepared::{check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row};
use crate::blocks::blockwise;
use crate::blocks::raw::{Scratch, Target, scratch_bytes};
use crate::blocks::sums;
use crate::blocks::widened::widened;
use crate::math::real::by_real;
use crate::par;
use apply::{Apply, Arguments};
use direct::Direct;
use ferromix_base::Result;
use geometry::{Geometry, volume};
use std::marker::PhantomData;
use weight::WeightSums;

pub(crate) const ROWS: &[Row] = &[
    Row::new("Convolution", |a, i, o| {
        widened("Convolution", prepare_forward, a, i, o)
    })
    .unknown_cost(),
    Row::new("_backward_Convolution", |a, i, o| {
        widened("_backward_Convolution", prepare_backward, a, i, o)
    })
    .unknown_cost(),
];

struct Forward<T> {
    apply: Apply,
    bias: bool,
    element: PhantomData<fn() -> T>,
}

fn prepare_forward(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "Convolution";
    let bias = !attrs.bool("no_bias")?;
    check_args(name, (ins, if bias { 3 } else { 2 }), (outs, 1))?;
    let g = Geometry::new(attrs, &ins[0], &ins[1], &outs[0])?;
    if bias {
        check_shape(name, "bias", &ins[2], &[g.groups * g.filters])?;
    }
    let apply = plan::forward(&g);
    by_real!(name, ins[0].dtype, T => {
        Ok(Box::new(Forward::<T> { apply, bias, element: PhantomData }) as Box<dyn Kernel>)
    })
}

impl<T: Direct> Kernel for Forward<T> {
    fn workspace(&self) -> usize {
        let a = &self.apply;
        scratch_bytes::<T>(a.field.scratch())
            + scratch_bytes::<T>(a.packed())
            + scratch_bytes::<T>(a.per_thread::<T>() * par::threads())
    }

    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let a = &self.apply;
        if call.reqs[0] == Req::Null || a.grid.len() == 0 {
            return Ok(());
        }
        if a.small() {
            self.product(call)
        } else {
            par::install(|| self.product(call))
        }
    }
}

impl<T: Direct> Forward<T> {
    fn product(&self, call: &mut Call<'_>) -> Result<()> {
        let a = &self.apply;
        let mut scratch = Scratch::new(call.workspace);
        let border = scratch.take(a.field.scratch())?;
        let source = a.field.fill(call.inputs[0].read::<T>()?, border);
        let bias = if self.bias {
            Some(call.inputs[2].read::<T>()?)
        } else {
            None
        };
        a.run(Arguments {
            source,
            weights: call.inputs[1].read::<T>()?,
            bias,
            target: Target::of(&mut call.outputs[0])?,
            req: call.reqs[0],
            packed: scratch.take(a.packed())?,
            threads: scratch.take(a.per_thread::<T>() * par::threads())?,
        });
        Ok(())
    }
}

struct Backward<T> {
    /// Products of the gradient of the data; all read the same field.
    data: Vec<Apply>,
    weight: WeightSums,
    bias: bool,
    planes: [usize; 3],
    element: PhantomData<fn() -> T>,
}

fn prepare_backward(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_backward_Convolution";
    let bias = !attrs.bool("no_bias")?;
    check_args(name, (ins, 3), (outs, if bias { 3 } else { 2 }))?;
    let g = Geometry::new(attrs, &ins[1], &ins[2], &ins[0])?;
    check_shape(name, "data gradient", &outs[0], &ins[1].shape)?;
    check_shape(name, "weight gradient", &outs[1], &ins[2].shape)?;
    if bias {
        check_shape(name, "bias gradient", &outs[2], &[g.groups * g.filters])?;
    }
    let data = plan::backward(&g);
    let weight = WeightSums::new(plan::forward(&g));
    let planes = [g.batch, g.groups * g.filters, volume(&g.output)];
    by_real!(name, ins[0].dtype, T => {
        let kernel = Backward::<T> { data, weight, bias, planes, element: PhantomData };
        Ok(Box::new(kernel) as Box<dyn Kernel>)
    })
}

impl<T: Direct> Backward<T> {
    /// Scratch numbers of the gradient of the data: field, weights, threads.
    fn data_scratch(&self) -> [usize; 3] {
        let most = |f: &dyn Fn(&Apply) -> usize| self.data.iter().map(f).max().unwrap_or(0);
        [
            most(&|a| a.field.scratch()),
            most(&Apply::packed),
            most(&|a| a.per_thread::<T>()) * par::threads(),
        ]
    }

    /// Scratch numbers of the gradient of the weights: field, partial sums, threads.
    fn weight_scratch(&self) -> [usize; 3] {
        [
            self.weight.apply.field.scratch(),
            self.weight.partials::<T>(),
            self.weight.per_thread::<T>() * par::threads(),
        ]
    }

    fn data_gradient(&self, call: &mut Call<'_>) -> Result<()> {
        let sizes = self.data_scratch();
        let mut scratch = Scratch::new(call.workspace);
        let field = scratch.take(sizes[0])?;
        let packed = scratch.take(sizes[1])?;
        let threads = scratch.take(sizes[2])?;
        let Some(first) = self.data.first() else {
            return Ok(());
        };
        let source = first.field.fill(call.inputs[0].read::<T>()?, field);
        let target = Target::of(&mut call.outputs[0])?;
        for phase in &self.data {
            phase.run(Arguments {
                source,
                weights: call.inputs[2].read::<T>()?,
                bias: None,
                target,
                req: call.reqs[0],
                packed: &mut packed[..phase.packed()],
                threads,
            });
        }
        Ok(())
    }

    fn weight_gradient(&self, call: &mut Call<'_>) -> Result<()> {
        let sizes = self.weight_scratch();
        let mut scratch = Scratch::new(call.workspace);
        let field = scratch.take(sizes[0])?;
        let partials = scratch.take(sizes[1])?;
        let threads = scratch.take(sizes[2])?;
        let source = self
            .weight
            .apply
            .field
            .fill(call.inputs[1].read::<T>()?, field);
        let head = call.inputs[0].read::<T>()?;
        let out = call.outputs[1].write::<T>()?;
        self.weight
            .run((source, head), partials, threads, out, call.reqs[1]);
        Ok(())
    }

    fn bias_gradient(&self, call: &mut Call<'_>) -> Result<()> {
        let head = call.inputs[0].read::<T>()?;
        let target = Target::<T>::of(&mut call.outputs[2])?;
        let [batch, filters, plane] = self.planes;
        let req = call.reqs[2];
        let grain = (65_536 / (batch * plane).max(1)).max(1);
        par::for_ranges(filters, grain, |range| {
            for f in range {
                let row = |n: usize| &head[(n * filters + f) * plane..][..plane];
                let total: f64 = (0..batch).map(|n| sums::sum(row(n))).sum();
                // SAFETY: filters belong to one task each.
                blockwise::store(&[T::of(total)], unsafe { target.slice(f..f + 1) }, req);
            }
        });
        Ok(())
    }
}

impl<T: Direct> Kernel for Backward<T> {
    fn workspace(&self) -> usize {
        let bytes = |sizes: [usize; 3]| sizes.map(scratch_bytes::<T>).iter().sum::<usize>();
        bytes(self.data_scratch()).max(bytes(self.weight_scratch()))
    }

    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        if self.weight.apply.small() {
            self.gradients(call)
        } else {
            par::install(|| self.gradients(call))
        }
    }
}

impl<T: Direct> Backward<T> {
    fn gradients(&self, call: &mut Call<'_>) -> Result<()> {
        if call.reqs[0] != Req::Null {
            self.data_gradient(call)?;
        }
        if call.reqs[1] != Req::Null {
            self.weight_gradient(call)?;
        }
        if self.bias && call.reqs[2] != Req::Null {
            self.bias_gradient(call)?;
        }
        Ok(())
    }
}
