//! Operators on any number of tensors at once, for training: their squared norms, whether all their
//! elements are finite, and setting them to 0.

use crate::api::check::{FLOATS, unsupported};
use crate::api::prepared::boxed;
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::copy::assign;
use crate::copy::fill::part;
use crate::fold::Fold;
use crate::fold::axes::fold_all;
use crate::fold::sums::Squares;
use crate::simd::number::Number;
use ferromix_base::{DType, Error, Result};

/// Requires floats, and an output of one axis of so many elements.
fn check(name: &str, i: &[Desc], o: &[Desc], elements: usize) -> Result<()> {
    if o.len() != 1 || o[0].shape[..] != [elements] {
        return Err(Error::internal(format!(
            "{name} has one output of shape [{elements}]"
        )));
    }
    match i.iter().chain(o).find(|d| !d.dtype.is_float()) {
        Some(other) => Err(unsupported(name, other.dtype, &FLOATS)),
        None => Ok(()),
    }
}

fn prepare_squares(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    check("multi_sum_sq", i, o, i.len())?;
    boxed(|call: &mut Call<'_>| {
        let out = call.outputs[0].flattened();
        for (k, data) in call.inputs.iter().enumerate() {
            if call.reqs[0] != Req::Null {
                fold_all::<f64, _>(Squares, data, &mut part(&out, k, 1), call.reqs[0])?;
            }
        }
        Ok(())
    })
}

/// Sums zeros: 0 times each element, which is NaN for one that is not finite.
#[derive(Clone, Copy)]
struct Nothing;

impl<C: Number> Fold<C> for Nothing {
    #[inline(always)]
    fn start(self) -> C {
        C::ZERO
    }
    #[inline(always)]
    fn lift(self, x: C) -> C {
        x.times(C::ZERO)
    }
    #[inline(always)]
    fn join(self, a: C, b: C) -> C {
        a.plus(b)
    }
}

fn is_finite(data: &View) -> Result<bool> {
    if data.dtype() == DType::F64 {
        let mut sum = [0.0f64];
        let mut out = View::of_slice(&mut sum, &[1])?;
        fold_all::<f64, _>(Nothing, data, &mut out, Req::Write)?;
        return Ok(sum[0] == 0.0);
    }
    let mut sum = [0.0f32];
    let mut out = View::of_slice(&mut sum, &[1])?;
    fold_all::<f32, _>(Nothing, data, &mut out, Req::Write)?;
    Ok(sum[0] == 0.0)
}

/// 1 where all elements of all inputs are finite, else 0; without `init_output` the output is
/// changed to 0 only, so that several runs can share it.
fn prepare_finite(name: &str, attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    check(name, i, o, 1)?;
    let init = attrs.bool("init_output").map_err(|e| e.within(name))?;
    boxed(move |call: &mut Call<'_>| {
        let mut finite = true;
        for data in call.inputs {
            finite = finite && is_finite(data)?;
        }
        if finite && !init {
            return Ok(());
        }
        let mut found = [f32::from(u8::from(finite))];
        let found = View::of_slice(&mut found, &[1])?;
        assign(&found, &call.outputs[0], call.reqs[0])
    })
}

/// The outputs are the memory of the inputs.
fn prepare_reset(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    if i.len() != o.len() {
        return Err(Error::internal(format!(
            "reset_arrays has an output for each of its {} inputs, got {}",
            i.len(),
            o.len()
        )));
    }
    boxed(|call: &mut Call<'_>| {
        let mut zero = [0.0f32];
        let zero = View::of_slice(&mut zero, &[1])?;
        for (out, &req) in call.outputs.iter().zip(call.reqs) {
            assign(&zero, &out.flattened(), req)?;
        }
        Ok(())
    })
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("multi_sum_sq", prepare_squares),
    Row::new("all_finite", |a, i, o| {
        prepare_finite("all_finite", a, i, o)
    }),
    Row::new("multi_all_finite", |a, i, o| {
        prepare_finite("multi_all_finite", a, i, o)
    }),
    Row::new("reset_arrays", prepare_reset),
];
