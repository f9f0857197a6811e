//! Small parts that kernels of neural networks share: a kernel made of a closure, and checks of
//! what an operator was given.

use crate::api::Call;
use crate::api::Desc;
use crate::api::Kernel;
use ferromix_base::{Error, Result};

/// A kernel that is one closure and needs no scratch memory.
pub(crate) struct Run<F>(pub(crate) F);

impl<F: Fn(&mut Call<'_>) -> Result<()> + Send + Sync> Kernel for Run<F> {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        (self.0)(call)
    }
}

/// Boxes a closure as a kernel.
pub(crate) fn boxed<F>(f: F) -> Result<Box<dyn Kernel>>
where
    F: Fn(&mut Call<'_>) -> Result<()> + Send + Sync + 'static,
{
    Ok(Box::new(Run(f)))
}

/// Checks the numbers of inputs and outputs.
///
/// # Errors
/// Other numbers.
pub(crate) fn check_count(
    operator: &str,
    (inputs, n_inputs): (&[Desc], usize),
    (outputs, n_outputs): (&[Desc], usize),
) -> Result<()> {
    if inputs.len() == n_inputs && outputs.len() == n_outputs {
        return Ok(());
    }
    Err(Error::value(format!(
        "{operator}: expected {n_inputs} inputs and {n_outputs} outputs, got {} and {}",
        inputs.len(),
        outputs.len()
    )))
}

/// Checks the numbers of inputs and outputs, and that all share the first input's element type.
///
/// # Errors
/// Other numbers, or mixed element types.
pub(crate) fn check_args(
    operator: &str,
    inputs: (&[Desc], usize),
    outputs: (&[Desc], usize),
) -> Result<()> {
    check_count(operator, inputs, outputs)?;
    let (inputs, outputs) = (inputs.0, outputs.0);
    let dtype = inputs[0].dtype;
    match inputs.iter().chain(outputs).find(|d| d.dtype != dtype) {
        None => Ok(()),
        Some(odd) => Err(Error::dtype(format!(
            "{operator}: arguments must share one dtype, got {dtype} and {}; cast one of them",
            odd.dtype
        ))),
    }
}

/// Checks the shape of one argument.
///
/// # Errors
/// Another shape than `expected`.
pub(crate) fn check_shape(
    operator: &str,
    what: &str,
    got: &Desc,
    expected: &[usize],
) -> Result<()> {
    if got.shape[..] == *expected {
        return Ok(());
    }
    Err(Error::value(format!(
        "{operator}: {what} must have shape {expected:?}, got {:?}",
        &got.shape[..]
    )))
}

/// An axis counted from either end, as one from the front.
///
/// # Errors
/// An axis that does not exist.
pub(crate) fn axis(operator: &str, axis: i64, ndim: usize) -> Result<usize> {
    let front = if axis < 0 { axis + ndim as i64 } else { axis };
    if (0..ndim as i64).contains(&front) {
        Ok(front as usize)
    } else {
        Err(Error::value(format!(
            "{operator}: axis {axis} does not exist; the input has {ndim} dimensions"
        )))
    }
}
