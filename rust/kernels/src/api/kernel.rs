//! The contract between kernels and whoever runs them, and the table of all kernels.

use crate::api::Attrs;
use crate::api::View;
use crate::api::random::Stream;
use ferromix_base::{DType, Result, Shape};

/// Shape and element type of one argument.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Desc {
    /// The extents.
    pub shape: Shape,
    /// The element type.
    pub dtype: DType,
}

impl Desc {
    /// A description from its parts.
    pub fn new(shape: &[usize], dtype: DType) -> Self {
        Desc {
            shape: shape.into(),
            dtype,
        }
    }
}

/// What a kernel does with an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Req {
    /// Nothing; the view may be empty and must not be touched.
    Null,
    /// Overwrite.
    Write,
    /// Overwrite; the output may be the very memory of an input that the operator's card names
    /// as its in-place partner (same address, shape, strides).
    Inplace,
    /// Add to what is there.
    Add,
}

/// One run of a kernel.
pub struct Call<'a> {
    /// The inputs.
    pub inputs: &'a [View],
    /// The outputs.
    pub outputs: &'a mut [View],
    /// What to do with each output.
    pub reqs: &'a [Req],
    /// Scratch memory of the size that [`Kernel::workspace`] asked for, aligned to 64 bytes, with
    /// arbitrary contents.
    pub workspace: &'a mut [u8],
    /// The dynamic attributes of this run, for [`Scalar::of`](crate::api::Scalar::of).
    pub scalars: &'a [f64],
    /// The random numbers of this run; some where [`Row::random`].
    pub random: Option<Stream>,
    /// What [`Kernel::keep`] made of the inputs that [`Kept`] names, as they are now.
    pub kept: Option<&'a [u8]>,
}

/// Of what a kernel makes something that is worth keeping for as long as they do not change, such as
/// weights in another order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Places of inputs.
    pub inputs: Vec<usize>,
    /// Bytes of memory for what is made of them.
    pub bytes: usize,
}

/// An operator prepared for fixed attributes, shapes and element types.
pub trait Kernel: Send + Sync {
    /// Computes the outputs from the inputs.
    ///
    /// # Errors
    /// Values that the operator cannot take; shapes and types were checked when it was prepared.
    fn run(&self, call: &mut Call<'_>) -> Result<()>;

    /// Bytes of scratch memory that a run needs.
    fn workspace(&self) -> usize {
        0
    }

    /// What of the inputs alone runs begin with, if anything, for those who run it often on the same.
    fn kept(&self) -> Option<Kept> {
        None
    }

    /// Does what [`Kernel::kept`] tells of; `memory` is as large, aligned to 64 bytes, and has arbitrary
    /// contents.
    ///
    /// # Errors
    /// As [`Kernel::run`].
    fn keep(&self, inputs: &[View], memory: &mut [u8]) -> Result<()> {
        let _ = (inputs, memory);
        Ok(())
    }

    /// For people: the way that was chosen where there are several.
    fn choice(&self) -> Option<String> {
        None
    }
}

/// Prepares a kernel for the inputs and outputs described.
pub type Prepare = fn(&Attrs, &[Desc], &[Desc]) -> Result<Box<dyn Kernel>>;

/// One kernel of the table.
#[derive(Clone, Copy)]
pub struct Row {
    /// The name of the operator.
    pub name: &'static str,
    /// Makes the kernel.
    pub prepare: Prepare,
    /// Whether inputs and outputs may have any strides; otherwise the caller hands over
    /// C-contiguous ones.
    pub strided: bool,
    /// Whether a run needs random numbers.
    pub random: bool,
    /// Whether each element of the one output depends on the elements at its place of the inputs alone,
    /// where all have one shape; such rows can be parts of a chain.
    pub pointwise: bool,
    /// Whether an output of at most half the size may begin where the first input does.
    pub shrinking: bool,
    /// How long a run takes per element of its arguments, in about the time of an exponential;
    /// `None` where the number of elements does not tell.
    pub cost: Option<usize>,
}

impl Row {
    /// A row for a kernel that takes contiguous arguments.
    pub const fn new(name: &'static str, prepare: Prepare) -> Self {
        Row {
            name,
            prepare,
            strided: false,
            random: false,
            pointwise: false,
            shrinking: false,
            cost: Some(1),
        }
    }

    /// The row of a kernel that goes element by element.
    #[must_use]
    pub const fn pointwise(self) -> Self {
        Row {
            pointwise: true,
            ..self
        }
    }

    /// The row of a kernel whose smaller output may lie over the first input.
    #[must_use]
    pub const fn shrinking(self) -> Self {
        Row {
            shrinking: true,
            ..self
        }
    }

    /// The row of a kernel that takes any strides.
    #[must_use]
    pub const fn strided(self) -> Self {
        Row {
            strided: true,
            ..self
        }
    }

    /// The row of a kernel that draws random numbers.
    #[must_use]
    pub const fn random(self) -> Self {
        Row {
            random: true,
            cost: Some(16),
            ..self
        }
    }

    /// The row of a kernel that takes about as long as so many exponentials.
    #[must_use]
    pub const fn cost(self, cost: usize) -> Self {
        Row {
            cost: Some(cost),
            ..self
        }
    }

    /// The row of a kernel whose work grows faster than its arguments, or by an attribute.
    #[must_use]
    pub const fn unknown_cost(self) -> Self {
        Row { cost: None, ..self }
    }

    /// How long a run on arguments of so many elements of a type together takes, as a number of
    /// exponentials in single precision; nothing if that cannot be told.
    pub fn work(&self, elements: usize, dtype: DType) -> Option<usize> {
        let each = if dtype == DType::F64 { DOUBLE } else { 1 };
        self.cost.map(|cost| elements.saturating_mul(cost * each))
    }
}

/// Exponentials in single precision that take the time of one in double precision.
const DOUBLE: usize = 8;

/// Exponentials that take some 100 microseconds, and most other functions less: handing a run over to
/// another thread, and waiting for that, costs half of this where the thread sleeps.
pub const SMALL_WORK: usize = 1 << 20;
