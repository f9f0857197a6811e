//! Whether two tensors are equal up to a tolerance.

use crate::api::check::{NUMBERS, arity, one_dtype, one_shape, unsupported};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::copy::assign;
use crate::copy::fill::part;
use crate::par;
use crate::update::{BLOCK, load};
use ferromix_base::{DType, Error, Result};
use std::sync::OnceLock;

/// Elements per task.
const GRAIN: usize = 32 * BLOCK;

struct AllClose {
    rtol: f64,
    atol: f64,
    equal_nan: bool,
}

impl AllClose {
    fn close(&self, a: f64, b: f64) -> bool {
        let near = (a - b).abs() <= self.atol + self.rtol * b.abs() && b.is_finite();
        near || a == b || (self.equal_nan && a.is_nan() && b.is_nan())
    }
}

impl Kernel for AllClose {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        if call.reqs[0] == Req::Null {
            return Ok(());
        }
        let [a, b] = [&call.inputs[0], &call.inputs[1]].map(View::flattened);
        let differ = OnceLock::new();
        par::for_ranges(a.len(), GRAIN, |range| {
            let mut buffers = [[0.0; BLOCK]; 2];
            for start in range.clone().step_by(BLOCK) {
                let n = BLOCK.min(range.end - start);
                for (buffer, view) in buffers.iter_mut().zip([&a, &b]) {
                    load(&part(view, start, n), buffer, n);
                }
                let mut pairs = buffers[0][..n].iter().zip(&buffers[1]);
                if !pairs.all(|(&a, &b)| self.close(a, b)) {
                    differ.get_or_init(|| ());
                }
            }
        });
        let mut answer = [u8::from(differ.get().is_none())];
        let answer = View::of_slice(&mut answer, &[])?;
        assign(&answer, &call.outputs[0], call.reqs[0])
    }
}

fn prepare(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_allclose";
    let ([a, b], [out]) = arity(name, i, o)?;
    one_shape(name, &[a, b])?;
    let dtype = one_dtype(name, &[a, b])?;
    if dtype == DType::Bool {
        return Err(unsupported(name, dtype, &NUMBERS));
    }
    if !out.shape.is_empty() {
        return Err(Error::value(format!(
            "{name}: the output must have no dimensions, got {:?}",
            out.shape
        )));
    }
    let number = |key: &str| attrs.float(key).map_err(|e| e.within(name));
    Ok(Box::new(AllClose {
        rtol: number("rtol")?,
        atol: number("atol")?,
        equal_nan: attrs.bool("equal_nan")?,
    }))
}

pub(crate) const ROWS: &[Row] = &[Row::new("_contrib_allclose", prepare)];
