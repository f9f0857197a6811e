//! An operator prepared for shapes and types.

use crate::Array;
use crate::gpu::Recipe;
use ferromix_base::{Error, Result};
use ferromix_kernels::{self as kernels, Attrs, Desc, Kept, Kernel, Row};
use std::sync::Arc;

/// What computes an operator.
pub(crate) enum Work {
    /// A kernel of the CPU, for arrays there or, by way of copies, on a GPU.
    Kernel(&'static Row, Box<dyn Kernel>),
    /// Launches on a GPU.
    Launches(Recipe),
}

/// What computes one operator for a set of attributes, shapes and element types.
pub struct Prepared {
    pub(crate) operator: Arc<str>,
    pub(crate) work: Work,
    inputs: Vec<Desc>,
    outputs: Vec<Desc>,
    /// The dynamic attributes of runs that bring none.
    pub(crate) scalars: Vec<f64>,
}

impl Prepared {
    /// How long a run on so many elements takes; see [`Row::work`].
    pub(crate) fn work(&self, elements: usize) -> Option<usize> {
        let Work::Kernel(row, _) = &self.work else {
            return None;
        };
        let first = self.outputs.iter().chain(&self.inputs).next();
        first.and_then(|desc| row.work(elements, desc.dtype))
    }

    /// Whether inputs and outputs may have any strides.
    pub(crate) fn is_strided(&self) -> bool {
        match &self.work {
            Work::Kernel(row, _) => row.strided,
            Work::Launches(recipe) => recipe.strided,
        }
    }

    /// Whether a smaller output may begin where the first input does.
    pub(crate) fn is_shrinking(&self) -> bool {
        matches!(&self.work, Work::Kernel(row, _) if row.shrinking)
    }

    /// Whether a run takes random numbers, though it may draw none.
    pub fn is_random(&self) -> bool {
        match &self.work {
            Work::Kernel(row, _) => row.random,
            Work::Launches(recipe) => recipe.random,
        }
    }

    /// Whether a run draws some of them, as far as is known.
    pub(crate) fn draws(&self) -> bool {
        match &self.work {
            Work::Kernel(row, _) => row.random,
            Work::Launches(recipe) => recipe.draws,
        }
    }

    /// Bytes of scratch memory of the host that a run on the CPU needs.
    pub(crate) fn workspace(&self) -> usize {
        match &self.work {
            Work::Kernel(_, kernel) => kernel.workspace(),
            Work::Launches(_) => 0,
        }
    }

    /// What runs on the CPU begin with that may be kept.
    pub(crate) fn kept(&self) -> Option<Kept> {
        match &self.work {
            Work::Kernel(_, kernel) => kernel.kept(),
            Work::Launches(_) => None,
        }
    }

    /// The way that the kernel of the CPU chose, for people, where there are several.
    pub(crate) fn choice(&self) -> Option<String> {
        match &self.work {
            Work::Kernel(_, kernel) => kernel.choice(),
            Work::Launches(_) => None,
        }
    }

    /// What launches `recipe` for the operator that users know as `operator`; `scalars` are the dynamic
    /// attributes of runs that bring none.
    pub fn on_gpu(
        operator: &str,
        recipe: Recipe,
        inputs: Vec<Desc>,
        outputs: Vec<Desc>,
        scalars: Vec<f64>,
    ) -> Arc<Self> {
        Arc::new(Prepared {
            operator: operator.into(),
            work: Work::Launches(recipe),
            inputs,
            outputs,
            scalars,
        })
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
        let row = Self::row(operator, row)?;
        Self::by_row(operator, row, attrs, inputs, outputs)
    }

    /// The kernel `row` for the operator `operator`. The search is long beside what a kernel's
    /// preparation takes.
    ///
    /// # Errors
    /// A kernel that does not exist.
    pub fn row(operator: &str, row: &str) -> Result<&'static Row> {
        kernels::find(row).ok_or_else(|| {
            Error::internal(format!("operator {operator}: there is no kernel '{row}'"))
        })
    }

    /// [`Prepared::new`] for a kernel that was found before.
    ///
    /// # Errors
    /// As there.
    pub fn by_row(
        operator: &str,
        row: &'static Row,
        attrs: &Attrs,
        inputs: Vec<Desc>,
        outputs: Vec<Desc>,
    ) -> Result<Arc<Self>> {
        let kernel = (row.prepare)(attrs, &inputs, &outputs)
            .map_err(|e| e.within(format_args!("operator {operator}")))?;
        Ok(Arc::new(Prepared {
            operator: operator.into(),
            work: Work::Kernel(row, kernel),
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
