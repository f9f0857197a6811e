//! `FullyConnected`: `out = data weight^T + bias`, on rows of `data`, and its gradients.

mod paired;

use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kept, Kernel, Req, Row, View};
use crate::blocks::raw::{Scratch, numbers, scratch_bytes};
use crate::blocks::sums;
use crate::blocks::widened::widened;
use crate::linalg::gemm::{Operand, affine, gemm, packed_size};
use crate::linalg::packed::{self, Right};
use crate::linalg::rows_dot::RowsDot;
use crate::math::real::{Real, by_real};
use ferromix_base::{Error, Result};
use std::marker::PhantomData;

pub(crate) const ROWS: &[Row] = &[
    Row::new("FullyConnected", |a, i, o| {
        match paired::prepare(a, i, o)? {
            Some(kernel) => Ok(kernel),
            None => widened("FullyConnected", prepare_forward, a, i, o),
        }
    })
    .unknown_cost(),
    Row::new("_backward_FullyConnected", |a, i, o| {
        widened("_backward_FullyConnected", prepare_backward, a, i, o)
    })
    .unknown_cost(),
];

/// Sizes of the product.
#[derive(Clone, Copy)]
struct Sizes {
    rows: usize,
    width: usize,
    hidden: usize,
    bias: bool,
}

impl Sizes {
    /// Sizes for data and weight; `out` must have the rows of `data` and `num_hidden` columns.
    fn new(attrs: &Attrs, data: &Desc, weight: &Desc, out: &Desc) -> Result<Self> {
        let name = "FullyConnected";
        let hidden = usize::try_from(attrs.int("num_hidden")?).unwrap_or(0);
        let shape = &data.shape[..];
        if shape.is_empty() || hidden == 0 {
            return Err(Error::value(format!(
                "{name}: needs data of at least one dimension and num_hidden > 0, got shape \
                 {shape:?} and num_hidden {hidden}"
            )));
        }
        let cut = if attrs.bool("flatten")? {
            1
        } else {
            shape.len() - 1
        };
        let rows = shape[..cut].iter().product();
        let width = shape[cut..].iter().product();
        check_shape(name, "weight", weight, &[hidden, width])?;
        let expected = rows * hidden;
        if out.shape.iter().product::<usize>() != expected {
            return Err(Error::value(format!(
                "{name}: output of shape {:?} does not hold {rows} rows of {hidden}",
                &out.shape[..]
            )));
        }
        let bias = !attrs.bool("no_bias")?;
        Ok(Sizes {
            rows,
            width,
            hidden,
            bias,
        })
    }

    /// Rows, columns and depth of the product.
    fn product(&self) -> (usize, usize, usize) {
        (self.rows, self.hidden, self.width)
    }
}

/// Checks the arguments of a forward pass; gives the sizes.
fn checked(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Sizes> {
    let name = "FullyConnected";
    let n = if attrs.bool("no_bias")? { 2 } else { 3 };
    check_args(name, (ins, n), (outs, 1))?;
    let sizes = Sizes::new(attrs, &ins[0], &ins[1], &outs[0])?;
    if sizes.bias {
        check_shape(name, "bias", &ins[2], &[sizes.hidden])?;
    }
    Ok(sizes)
}

fn prepare_forward(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let sizes = checked(attrs, ins, outs)?;
    by_real!("FullyConnected", ins[0].dtype, T => {
        Ok(Box::new(Forward::<T> { sizes, element: PhantomData }) as Box<dyn Kernel>)
    })
}

struct Forward<T> {
    sizes: Sizes,
    element: PhantomData<fn() -> T>,
}

impl<T: RowsDot> Forward<T> {
    fn size(&self) -> (usize, usize, usize) {
        self.sizes.product()
    }

    /// The weight as the product's second matrix.
    fn right<'a>(&self, weight: &'a View) -> Result<Operand<'a, T>> {
        Ok(Operand::new(weight.read::<T>()?, self.sizes.width).transposed())
    }
}

impl<T: RowsDot> Kernel for Forward<T> {
    fn kept(&self) -> Option<Kept> {
        let bytes = scratch_bytes::<T>(packed_size::<T>(self.size()));
        (bytes > 0).then(|| Kept {
            inputs: vec![1],
            bytes,
        })
    }

    fn keep(&self, inputs: &[View], memory: &mut [u8]) -> Result<()> {
        let packed = Scratch::new(memory).take(packed_size::<T>(self.size()))?;
        let size = (self.sizes.hidden, self.sizes.width);
        packed::pack(T::tiles_for(size.0), size, self.right(&inputs[1])?, packed);
        Ok(())
    }

    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let (s, req) = (self.sizes, call.reqs[0]);
        if req == Req::Null {
            return Ok(());
        }
        let data = Operand::new(call.inputs[0].read::<T>()?, s.width);
        let count = packed_size::<T>(self.size());
        let right = Right {
            lies: self.right(&call.inputs[1])?,
            packed: call.kept.map(|kept| numbers(kept, count)).transpose()?,
        };
        let bias = s.bias.then(|| call.inputs[2].read::<T>()).transpose()?;
        let out = call.outputs[0].write::<T>()?;
        affine(self.size(), data, right, bias, req == Req::Add, out);
        Ok(())
    }
}

fn prepare_backward(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_backward_FullyConnected";
    let n_outs = if attrs.bool("no_bias")? { 2 } else { 3 };
    check_args(name, (ins, 3), (outs, n_outs))?;
    let sizes = Sizes::new(attrs, &ins[1], &ins[2], &ins[0])?;
    check_shape(name, "data gradient", &outs[0], &ins[1].shape)?;
    check_shape(name, "weight gradient", &outs[1], &ins[2].shape)?;
    if sizes.bias {
        check_shape(name, "bias gradient", &outs[2], &[sizes.hidden])?;
    }
    by_real!(name, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| backward::<T>(sizes, call)))
}

fn backward<T: RowsDot>(s: Sizes, call: &mut Call<'_>) -> Result<()> {
    let head = call.inputs[0].read::<T>()?;
    let data = Operand::new(call.inputs[1].read::<T>()?, s.width);
    let weight = Operand::new(call.inputs[2].read::<T>()?, s.width);
    let grad = Operand::new(head, s.hidden);
    if let Some(beta) = wanted::<T>(call.reqs[0]) {
        let out = call.outputs[0].write::<T>()?;
        gemm((s.rows, s.width, s.hidden), T::ONE, grad, weight, beta, out);
    }
    if let Some(beta) = wanted::<T>(call.reqs[1]) {
        let out = call.outputs[1].write::<T>()?;
        gemm(
            (s.hidden, s.width, s.rows),
            T::ONE,
            grad.transposed(),
            data,
            beta,
            out,
        );
    }
    if s.bias && call.reqs[2] != Req::Null {
        sums::columns(head, s.hidden, call.outputs[2].write::<T>()?, call.reqs[2]);
    }
    Ok(())
}

/// The factor of the old value, or nothing where no result is wanted.
fn wanted<T: Real>(req: Req) -> Option<T> {
    match req {
        Req::Null => None,
        Req::Add => Some(T::ONE),
        Req::Write | Req::Inplace => Some(T::ZERO),
    }
}
