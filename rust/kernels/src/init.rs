//! Tensors from nothing: constants and ranges.

use crate::check::{arity, leading};
use crate::copy::assign;
use crate::fill::fill;
use crate::kernel::{Call, Desc, Kernel, Row};
use crate::loops::GRAIN;
use crate::{Attrs, View};
use ferromix_base::{Error, Result};

struct Full {
    value: f64,
}

impl Kernel for Full {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let mut value = [self.value];
        let value = View::of_slice(&mut value, &[])?;
        assign(&value, &call.outputs[0], call.reqs[0])
    }
}

fn prepare_full(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let ([], [_]) = leading("_full", i, o)?;
    let value = attrs.float("value").map_err(|e| e.within("_full"))?;
    Ok(Box::new(Full { value }))
}

/// `start`, `start + step`, ..., each `repeat` times; computed in double precision from the
/// position, so that errors do not add up.
struct Range {
    start: f64,
    step: f64,
    repeat: usize,
}

impl Kernel for Range {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        fill(
            &mut call.outputs[0],
            call.reqs[0],
            GRAIN,
            |at, out: &mut [f64]| {
                for (i, x) in out.iter_mut().enumerate() {
                    *x = self.start + ((at + i) / self.repeat) as f64 * self.step;
                }
            },
        )
    }
}

fn prepare_range(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_arange";
    let ([], [_]) = arity(name, i, o)?;
    let real = |attr: &str| attrs.float(attr).map_err(|e| e.within(name));
    let repeat = if attrs.has("repeat") {
        attrs.int("repeat")?
    } else {
        1
    };
    if repeat < 1 {
        return Err(Error::value(format!(
            "{name}: attribute 'repeat' must be at least 1, got {repeat}"
        )));
    }
    Ok(Box::new(Range {
        start: real("start")?,
        step: real("step")?,
        repeat: repeat as usize,
    }))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("_full", prepare_full).strided(),
    Row::new("_arange", prepare_range),
];
