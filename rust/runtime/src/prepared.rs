//! An operator prepared for shapes and types.

use crate::Array;
use ferromix_base::{Error, Result};
use ferromix_kernels::{self as kernels, Attrs, Desc, Kernel, Row};
use std::sync::Arc;

/// A kernel for one operator, set of attributes, shapes and element types.
pub struct Prepared {
    pub(crate) operator: Arc<str>,
    pub(crate) row: &'static Row,
    pub(crate) kernel: Box<dyn Kernel>,
    inputs: Vec<Desc>,
    outputs: Vec<Desc>,
    /// The dynamic attributes of runs that bring none.
    pub(crate) scalars: Vec<f64>,
}

impl Prepared {
    /// How long a run on so many elements takes; see [`Row::work`].
    pub(crate) fn work(&self, elements: usize) -> Option<usize> {
        let first = self.outputs.iter().chain(&self.inputs).next();
        first.and_then(|desc| self.row.work(elements, desc.dtype))
    }

    /// Prepares the kernel `row` for the operator that users know as `operator`.
    ///
    /// # Errors
    /// A kernel that does not exist, or that cannot take these attributes, shapes or types.
    pub fn new(
        operator: &str,
        row: &str,
        attrs: &Attrs,
        inputs: Vec<Desc>,
        outputs: Vec<Desc>,
    ) -> Result<Arc<Self>> {
        let row = kernels::find(row).ok_or_else(|| {
            Error::internal(format!("operator {operator}: there is no kernel '{row}'"))
        })?;
        let kernel = (row.prepare)(attrs, &inputs, &outputs)
            .map_err(|e| e.within(format_args!("operator {operator}")))?;
        Ok(Arc::new(Prepared {
            operator: operator.into(),
            row,
            kernel,
            inputs,
            outputs,
            scalars: attrs.scalars(),
        }))
    }

    /// The name of the operator.
    pub fn operator(&self) -> &str {
        &self.operator
    }

    /// Shapes and types of the inputs.
    pub fn inputs(&self) -> &[Desc] {
        &self.inputs
    }

    /// Shapes and types of the outputs.
    pub fn outputs(&self) -> &[Desc] {
        &self.outputs
    }

    pub(crate) fn check<'a>(
        &self,
        what: &str,
        expected: &[Desc],
        got: impl ExactSizeIterator<Item = Option<&'a Array>>,
    ) -> Result<()> {
        check(&self.operator, what, expected, got)
    }
}

/// Sees that the arrays for an operator are those that it was prepared for; `what` they are.
///
/// # Errors
/// Another number of arrays, or one of another shape or type.
pub fn check<'a>(
    operator: &str,
    what: &str,
    expected: &[Desc],
    got: impl ExactSizeIterator<Item = Option<&'a Array>>,
) -> Result<()> {
    if expected.len() != got.len() {
        return Err(Error::value(format!(
            "operator {}: expects {} {what}s, got {}",
            operator,
            expected.len(),
            got.len()
        )));
    }
    for (i, (e, g)) in expected.iter().zip(got).enumerate() {
        let Some(g) = g else { continue };
        if g.shape() != &e.shape[..] || g.dtype() != e.dtype {
            return Err(Error::value(format!(
                "operator {}: {what} {i} must be {} {:?}, got {} {:?}",
                operator,
                e.dtype,
                &e.shape[..],
                g.dtype(),
                g.shape()
            )));
        }
    }
    Ok(())
}
