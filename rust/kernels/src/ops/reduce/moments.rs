//! `moments`: mean and variance over axes, in two passes, so that no digits cancel.

use crate::api::axes::Axes;
use crate::api::check::{arity, one_dtype};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::copy::assign;
use crate::elementwise::arithmetic::{self, Function};
use crate::fold::axes::{check_shapes, fold_axes};
use crate::fold::sums::{Squares, Sum};
use crate::loops::Loop;
use crate::simd::number::Number;
use ferromix_base::{DType, Error, Result, contiguous_strides, element_count};

struct Moments {
    axes: Axes,
    /// Subtracts in the type in which sums are computed.
    subtract: Loop<3>,
    wide: DType,
    elements: usize,
}

impl Kernel for Moments {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        match self.wide {
            DType::F64 => self.apply::<f64>(call),
            DType::F32 => self.apply::<f32>(call),
            _ => self.apply::<i64>(call),
        }
    }

    fn workspace(&self) -> usize {
        self.elements * self.wide.size()
    }
}

impl Moments {
    fn apply<C: Number>(&self, call: &mut Call<'_>) -> Result<()> {
        let data = &call.inputs[0];
        let count = C::count(self.axes.count(data.shape()));
        let shape = self.axes.kept(data.shape());
        let mut means = vec![C::ZERO; shape.iter().product()];
        let mut means = View::of_slice(&mut means, &shape)?;
        let share = |x: C| x.over(count);
        fold_axes(&self.axes, Sum, share, data, &mut means, Req::Write)?;
        let [mean, var] = call.outputs else {
            return Err(Error::internal("moments has two outputs"));
        };
        if call.reqs[1] != Req::Null {
            let distances = self.scratch(call.workspace, data)?;
            self.subtract.run([&distances, data, &means], Req::Write)?;
            fold_axes(&self.axes, Squares, share, &distances, var, call.reqs[1])?;
        }
        assign(&reshaped(&means, mean), mean, call.reqs[0])
    }

    /// The scratch memory as a tensor of the shape of the data.
    fn scratch(&self, workspace: &mut [u8], data: &View) -> Result<View> {
        if workspace.len() < self.workspace() {
            return Err(Error::internal("moments lacks scratch memory"));
        }
        let strides = contiguous_strides(data.shape());
        // SAFETY: large enough, aligned to 64 bytes, and borrowed exclusively during the run.
        Ok(unsafe {
            View::from_raw(
                workspace.as_mut_ptr(),
                self.wide,
                data.shape().into(),
                strides,
            )
        })
    }
}

/// The contiguous `view` in the shape of `like`, which differs in axes of extent 1.
fn reshaped(view: &View, like: &View) -> View {
    let shape = like.shape();
    // SAFETY: the same elements, as prepare has checked.
    unsafe {
        View::from_raw(
            view.ptr(),
            view.dtype(),
            shape.into(),
            contiguous_strides(shape),
        )
    }
}

fn prepare(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "moments";
    let ([data], [mean, var]) = arity(name, i, o)?;
    let dtype = one_dtype(name, &[data, mean, var])?;
    let axes = Axes::from_attr(name, attrs, "axes", data.shape.len())?;
    check_shapes(name, &axes, data, mean)?;
    check_shapes(name, &axes, data, var)?;
    let wide = match dtype {
        DType::F64 => DType::F64,
        t if t.is_float() => DType::F32,
        _ => DType::I64,
    };
    Ok(Box::new(Moments {
        axes,
        subtract: arithmetic::find(name, Function::Sub, wide)?,
        wide,
        elements: element_count(&data.shape)?,
    }))
}

pub(crate) const ROWS: &[Row] = &[Row::new("moments", prepare).strided()];
