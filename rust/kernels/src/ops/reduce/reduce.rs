//! Reductions over axes: sum, mean, prod, max, min, norm, and their way back.
//!
//! `f32` and halves are reduced as `f32`, `f64` as `f64`, integers and bools as `i64`, norms as
//! `f64`; the result is converted to the output's type once.

use crate::api::axes::Axes;
use crate::api::check::{arity, one_dtype};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::copy::assign;
use crate::elementwise::arithmetic::{self, Function};
use crate::fold::Fold;
use crate::fold::axes::{Walks, check_shapes, fold_along, fold_axes, walks};
use crate::fold::sums::{Magnitudes, Max, Min, NanProd, NanSum, Prod, Squares, Sum};
use crate::iter::walk::broadcast_strides;
use crate::loops::Loop;
use crate::simd::number::Number;
use ferromix_base::{DType, Error, Result, Shape, Strides};
use std::sync::OnceLock;

/// Which reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sum,
    Mean,
    Prod,
    NanSum,
    NanProd,
    Max,
    Min,
    Norm1,
    Norm2,
}

struct Reduce {
    kind: Kind,
    axes: Axes,
    /// The walks of the first run, for others on data of the same extents and strides.
    known: OnceLock<(Shape, Strides, Walks)>,
}

impl Kernel for Reduce {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let (data, out, req) = (&call.inputs[0], &mut call.outputs[0], call.reqs[0]);
        if req == Req::Null {
            return Ok(());
        }
        let norm = matches!(self.kind, Kind::Norm1 | Kind::Norm2);
        match data.dtype() {
            _ if norm => self.run_norm(data, out, req),
            DType::F64 => self.run_as::<f64>(data, out, req),
            t if t.is_float() => self.run_as::<f32>(data, out, req),
            _ => self.run_as::<i64>(data, out, req),
        }
    }
}

impl Reduce {
    fn boxed(kind: Kind, axes: Axes) -> Box<dyn Kernel> {
        let known = OnceLock::new();
        Box::new(Reduce { kind, axes, known })
    }

    fn run_as<C: Number>(&self, data: &View, out: &mut View, req: Req) -> Result<()> {
        let mean = self.kind == Kind::Mean && out.dtype() != DType::Bool;
        let count = self.axes.count(data.shape());
        let scale = |x: C| if mean { x.over(C::count(count)) } else { x };
        match self.kind {
            Kind::Prod => self.fold(Prod, |x: C| x, data, out, req),
            Kind::NanSum => self.fold(NanSum, |x: C| x, data, out, req),
            Kind::NanProd => self.fold(NanProd, |x: C| x, data, out, req),
            Kind::Max => self.fold(Max, |x: C| x, data, out, req),
            Kind::Min => self.fold(Min, |x: C| x, data, out, req),
            _ => self.fold(Sum, scale, data, out, req),
        }
    }

    fn run_norm(&self, data: &View, out: &mut View, req: Req) -> Result<()> {
        if self.kind == Kind::Norm1 {
            self.fold(Magnitudes, |x: f64| x, data, out, req)
        } else {
            self.fold(Squares, f64::sqrt, data, out, req)
        }
    }

    fn fold<C: Number, F: Fold<C>>(
        &self,
        f: F,
        last: impl Fn(C) -> C,
        data: &View,
        out: &mut View,
        req: Req,
    ) -> Result<()> {
        let (shape, strides, walks) = self.known.get_or_init(|| {
            let (shape, strides) = (data.shape().into(), data.strides().into());
            (shape, strides, walks(&self.axes, data))
        });
        if data.is_like(shape, strides) {
            return fold_along(walks, f, last, data, out, req);
        }
        fold_axes(&self.axes, f, last, data, out, req)
    }
}

fn prepare(
    name: &str,
    kind: Kind,
    attrs: &Attrs,
    inputs: &[Desc],
    outputs: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let ([data], [out]) = arity(name, inputs, outputs)?;
    let axes = Axes::from_attrs(name, attrs, data.shape.len())?;
    check_shapes(name, &axes, data, out)?;
    let empty = axes.count(&data.shape) == 0 && out.shape.iter().all(|&d| d > 0);
    if empty && matches!(kind, Kind::Max | Kind::Min) {
        return Err(Error::value(format!(
            "{name} of no elements is undefined: data has shape {:?}",
            data.shape
        )));
    }
    Ok(Reduce::boxed(kind, axes))
}

fn prepare_norm(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let kind = match if attrs.has("ord") {
        attrs.int("ord")?
    } else {
        2
    } {
        1 => Kind::Norm1,
        2 => Kind::Norm2,
        ord => {
            return Err(Error::value(format!(
                "norm: attribute 'ord' must be 1 or 2, got {ord}"
            )));
        }
    };
    prepare("norm", kind, attrs, i, o)
}

/// Spreads a gradient over the axes that were reduced.
struct Back {
    axes: Axes,
    /// Divides by the number of elements that became one.
    divide: Option<Loop<3>>,
}

impl Kernel for Back {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let (grad, out) = (&call.inputs[0], &call.outputs[0]);
        let spread = self.spread(grad, out.shape());
        let Some(divide) = &self.divide else {
            return assign(&spread, out, call.reqs[0]);
        };
        let mut count = [self.axes.count(out.shape()) as f64];
        let mut bits = [0u64];
        let mut divisor = View::cell(&mut bits, grad.dtype());
        if grad.dtype() == DType::F16 || grad.dtype() == DType::BF16 {
            let mut count = [count[0] as f32];
            return divide.run(
                [out, &spread, &View::of_slice(&mut count, &[])?],
                call.reqs[0],
            );
        }
        crate::copy(&View::of_slice(&mut count, &[])?, &mut divisor)?;
        divide.run([out, &spread, &divisor], call.reqs[0])
    }
}

impl Back {
    /// `grad` as a tensor of `shape` that repeats along the reduced axes.
    fn spread(&self, grad: &View, shape: &[usize]) -> View {
        let kept = grad.shape().len() == shape.len();
        let mut source = grad.strides().iter();
        let mut strides = Strides::new();
        for (axis, &reduced) in self.axes.reduced.iter().enumerate() {
            let stride = if kept {
                Some(&grad.strides()[axis])
            } else {
                None
            };
            strides.push(match (reduced, stride) {
                (true, _) => 0,
                (false, Some(&s)) => s,
                (false, None) => source.next().copied().unwrap_or(0),
            });
        }
        // SAFETY: repeats elements of `grad`, whose kept axes have the extents of `shape`.
        unsafe { View::from_raw(grad.ptr(), grad.dtype(), shape.into(), strides) }
    }
}

fn prepare_back(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_broadcast_back";
    let ([grad, data], [out]) = arity(name, i, o)?;
    let dtype = one_dtype(name, &[grad, out])?;
    crate::api::check::one_shape(name, &[data, out])?;
    let axes = Axes::from_attrs(name, attrs, data.shape.len())?;
    check_shapes(name, &axes, data, grad)?;
    let mean = attrs.has("mean") && attrs.bool("mean")?;
    let divide = if mean {
        Some(arithmetic::find(name, Function::Div, dtype)?)
    } else {
        None
    };
    Ok(Box::new(Back { axes, divide }))
}

/// Sums what broadcasting repeated.
fn prepare_sum_like(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_sum_like";
    let ([data, like], [out]) = arity(name, i, o)?;
    crate::api::check::one_shape(name, &[like, out])?;
    let strides = ferromix_base::contiguous_strides(&like.shape);
    broadcast_strides(&like.shape, &strides, &data.shape).map_err(|e| e.within(name))?;
    let lead = data.shape.len() - like.shape.len();
    let reduced = (0..data.shape.len())
        .map(|a| a < lead || like.shape[a - lead] == 1 && data.shape[a] != 1)
        .collect();
    let (kind, axes) = (Kind::Sum, Axes { reduced });
    Ok(Reduce::boxed(kind, axes))
}

fn prepare_broadcast(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "broadcast_to";
    if i.is_empty() || o.len() != 1 {
        return Err(Error::internal(format!(
            "{name} takes an input and an output"
        )));
    }
    one_dtype(name, &[&i[0], &o[0]])?;
    let strides = ferromix_base::contiguous_strides(&i[0].shape);
    broadcast_strides(&i[0].shape, &strides, &o[0].shape).map_err(|e| e.within(name))?;
    Ok(Box::new(crate::elementwise::unary::Assign))
}

macro_rules! row {
    ($name:literal, $kind:expr) => {
        Row::new($name, |a, i, o| prepare($name, $kind, a, i, o)).strided()
    };
}

pub(crate) const ROWS: &[Row] = &[
    row!("sum", Kind::Sum),
    row!("mean", Kind::Mean),
    row!("prod", Kind::Prod),
    row!("nansum", Kind::NanSum),
    row!("nanprod", Kind::NanProd),
    row!("max", Kind::Max),
    row!("min", Kind::Min),
    Row::new("norm", prepare_norm).strided(),
    Row::new("_broadcast_back", prepare_back).strided(),
    Row::new("_sum_like", prepare_sum_like).strided(),
    Row::new("broadcast_to", prepare_broadcast).strided(),
];
