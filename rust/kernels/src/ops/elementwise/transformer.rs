//! Parts of attention.

use crate::api::check::{NUMBERS, unsupported};
use crate::api::{Attrs, Desc, Kernel, Row};
use crate::elementwise::unary::checked;
use crate::loops::{GRAIN, Loop};
use crate::simd::body::unary;
use ferromix_base::{DType, Result};

/// Integers are divided by the whole part of the root, as in MXNet.
fn prepare(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_div_sqrt_dim";
    let dtype = checked(name, i, o)?;
    let root = (i[0].shape.last().copied().unwrap_or(1) as f64).sqrt();
    let (dtype, body) = match dtype {
        DType::F32 | DType::F16 | DType::BF16 => {
            let root = root as f32;
            (DType::F32, unary(move |x: f32| x / root))
        }
        DType::F64 => (dtype, unary(move |x: f64| x / root)),
        DType::Bool => return Err(unsupported(name, dtype, &NUMBERS)),
        _ => {
            let root = root.floor();
            (DType::F64, unary(move |x: f64| x / root))
        }
    };
    Ok(Box::new(Loop::new([dtype; 2], body, GRAIN)))
}

pub(crate) const ROWS: &[Row] = &[Row::new("_contrib_div_sqrt_dim", prepare).strided()];
