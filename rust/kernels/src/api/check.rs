//! Checks that preparing a kernel shares: how many arguments, of which types and shapes.

use crate::api::Desc;
use ferromix_base::{DType, Error, Result};

/// The inputs and outputs of an operator as fixed numbers of descriptions.
///
/// # Errors
/// Another number of either.
pub(crate) fn arity<'a, const I: usize, const O: usize>(
    name: &str,
    inputs: &'a [Desc],
    outputs: &'a [Desc],
) -> Result<([&'a Desc; I], [&'a Desc; O])> {
    if inputs.len() != I || outputs.len() != O {
        return Err(Error::internal(format!(
            "{name} takes {I} inputs and {O} outputs, got {} and {}",
            inputs.len(),
            outputs.len()
        )));
    }
    Ok((
        std::array::from_fn(|i| &inputs[i]),
        std::array::from_fn(|i| &outputs[i]),
    ))
}

/// As [`arity`], but more inputs may follow, which give shapes and types alone.
///
/// # Errors
/// Too few inputs, or another number of outputs.
pub(crate) fn leading<'a, const I: usize, const O: usize>(
    name: &str,
    inputs: &'a [Desc],
    outputs: &'a [Desc],
) -> Result<([&'a Desc; I], [&'a Desc; O])> {
    arity(name, &inputs[..inputs.len().min(I)], outputs)
}

/// Requires all arguments to have one element type.
///
/// # Errors
/// A type error that names the types.
pub(crate) fn one_dtype(name: &str, args: &[&Desc]) -> Result<DType> {
    let dtype = args[0].dtype;
    if args.iter().any(|d| d.dtype != dtype) {
        let got: Vec<&str> = args.iter().map(|d| d.dtype.name()).collect();
        return Err(Error::dtype(format!(
            "{name} needs one dtype for all arguments, got {}; use Cast first",
            got.join(", ")
        )));
    }
    Ok(dtype)
}

/// Requires all arguments to have one shape.
///
/// # Errors
/// A value error that names the shapes.
pub(crate) fn one_shape(name: &str, args: &[&Desc]) -> Result<()> {
    if args.iter().any(|d| d.shape != args[0].shape) {
        let got: Vec<String> = args.iter().map(|d| format!("{:?}", d.shape)).collect();
        return Err(Error::value(format!(
            "{name} needs arguments of one shape, got {}",
            got.join(", ")
        )));
    }
    Ok(())
}

/// A type error for an operator that does not take `dtype`.
pub(crate) fn unsupported(name: &str, dtype: DType, supported: &[DType]) -> Error {
    let names: Vec<&str> = supported.iter().map(|d| d.name()).collect();
    Error::dtype(format!(
        "{name} does not support {dtype}; supported: {}",
        names.join(", ")
    ))
}

/// The floats.
pub(crate) const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];

/// All types that have arithmetic.
pub(crate) const NUMBERS: [DType; 8] = [
    DType::F32,
    DType::F64,
    DType::F16,
    DType::BF16,
    DType::U8,
    DType::I8,
    DType::I32,
    DType::I64,
];
