//! What cuDNN is asked to do: the problem in its words, and its choice among its algorithms.

use super::cudnn::{ConvolutionPlan, Convolutions, Rated, check};
use super::driver::Object;
use super::port::Port;
use ferromix_base::{DType, Error, Result, contiguous_strides};
use std::ffi::c_int;
use std::sync::Arc;

/// `CUDNN_CROSS_CORRELATION`.
const CORRELATION: c_int = 1;
/// `CUDNN_TENSOR_NCHW`.
const PLANES: c_int = 0;
/// `CUDNN_DEFAULT_MATH`, `CUDNN_TENSOR_OP_MATH` and `CUDNN_FMA_MATH`.
const ANY: c_int = 0;
const TENSOR_CORES: c_int = 1;
const MULTIPLY_ADD: c_int = 3;
/// Algorithms that there are at most.
const MOST: usize = 16;

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The output.
    Forward,
    /// The gradient of the data.
    Data,
    /// The gradient of the weights.
    Weight,
}

impl Way {
    /// The algorithms by fast Fourier transforms, whose errors grow with the extents of the data.
    fn by_transforms(self) -> &'static [c_int] {
        match self {
            Way::Forward => &[4, 5],
            Way::Data => &[2, 3],
            Way::Weight => &[2, 6],
        }
    }

    /// The algorithms with fewer products (Winograd).
    fn by_few_products(self) -> &'static [c_int] {
        match self {
            Way::Forward => &[6, 7],
            Way::Data | Way::Weight => &[4, 5],
        }
    }
}

/// A convolution over two or three axes; arrays have no gaps.
#[derive(Clone, Debug)]
pub struct Problem {
    /// What is computed of it.
    pub way: Way,
    /// The type of all arrays.
    pub dtype: DType,
    /// Shapes of data, weights and output.
    pub shapes: [Vec<usize>; 3],
    /// Stride, dilation and padding along each axis.
    pub steps: [Vec<usize>; 3],
    /// Groups of channels.
    pub groups: usize,
    /// Whether the library times its algorithms, on memory of its own, rather than guess.
    pub timed: bool,
}

impl Problem {
    /// The library's numbers of the type of arrays, and of that of sums.
    fn types(&self) -> Result<(c_int, c_int)> {
        match self.dtype {
            DType::F32 => Ok((0, 0)),
            DType::F64 => Ok((1, 1)),
            DType::F16 => Ok((2, 0)),
            DType::BF16 => Ok((9, 0)),
            other => Err(Error::internal(format!("a convolution of {other}"))),
        }
    }

    fn math(&self, tf32: bool) -> c_int {
        match self.dtype {
            DType::F16 | DType::BF16 => TENSOR_CORES,
            DType::F32 if !tf32 => MULTIPLY_ADD,
            _ => ANY,
        }
    }
}

/// Numbers as the library takes them.
fn ints(values: &[usize]) -> Result<Vec<c_int>> {
    let int = |&n: &usize| c_int::try_from(n).map_err(|_| Error::value(format!("extent {n}")));
    values.iter().map(int).collect()
}

/// Data, weights, output and the convolution, as the library knows them.
pub(super) struct Descriptors {
    library: Arc<Convolutions>,
    raw: [Object; 4],
}

// SAFETY: descriptors are only read once they are made, and may be destroyed by any thread.
unsafe impl Send for Descriptors {}
// SAFETY: as above.
unsafe impl Sync for Descriptors {}

impl Descriptors {
    pub(super) fn raw(&self) -> [Object; 4] {
        self.raw
    }

    fn new(library: &Arc<Convolutions>) -> Result<Self> {
        let null = std::ptr::null_mut();
        let mut made = Descriptors {
            library: library.clone(),
            raw: [null; 4],
        };
        let table = &library.table;
        let makers = [
            table.new_tensor,
            table.new_filter,
            table.new_tensor,
            table.new_convolution,
        ];
        for (place, make) in made.raw.iter_mut().zip(makers) {
            // SAFETY: a place for the result.
            check("a descriptor of cuDNN", unsafe { make(place) })?;
        }
        Ok(made)
    }

    fn fill(&self, problem: &Problem, math: c_int) -> Result<()> {
        let (table, [x, w, y, c]) = (&self.library.table, self.raw);
        let (kind, sums) = problem.types()?;
        for (of, shape) in [(x, &problem.shapes[0]), (y, &problem.shapes[2])] {
            let strides = contiguous_strides(shape);
            let strides: Vec<usize> = strides.iter().map(|s| s.unsigned_abs()).collect();
            let (dims, strides) = (ints(shape)?, ints(&strides)?);
            let rank = dims.len() as c_int;
            // SAFETY: as many numbers as the rank says, copied within the call.
            check("cudnnSetTensorNdDescriptor", unsafe {
                (table.set_tensor)(of, kind, rank, dims.as_ptr(), strides.as_ptr())
            })?;
        }
        let dims = ints(&problem.shapes[1])?;
        // SAFETY: as above.
        check("cudnnSetFilterNdDescriptor", unsafe {
            (table.set_filter)(w, kind, PLANES, dims.len() as c_int, dims.as_ptr())
        })?;
        let [stride, dilate, pad] = problem.steps.each_ref().map(|steps| ints(steps));
        let (stride, dilate, pad) = (stride?, dilate?, pad?);
        let (axes, groups) = (pad.len() as c_int, ints(&[problem.groups])?[0]);
        let (pad, stride, dilate) = (pad.as_ptr(), stride.as_ptr(), dilate.as_ptr());
        // SAFETY: as above.
        unsafe {
            let made = (table.set_convolution)(c, axes, pad, stride, dilate, CORRELATION, sums);
            check("cudnnSetConvolutionNdDescriptor", made)?;
            check(
                "cudnnSetConvolutionGroupCount",
                (table.set_groups)(c, groups),
            )?;
            check("cudnnSetConvolutionMathType", (table.set_math)(c, math))
        }
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        let table = &self.library.table;
        let droppers = [
            table.drop_tensor,
            table.drop_filter,
            table.drop_tensor,
            table.drop_convolution,
        ];
        for (raw, drop) in self.raw.iter().zip(droppers) {
            if !raw.is_null() {
                // SAFETY: made by this struct, and used by nobody any more.
                unsafe { drop(*raw) };
            }
        }
    }
}

impl ConvolutionPlan {
    /// The library's way to do what is asked for, with so many bytes of temporary memory at most; `None`
    /// where it has none.
    ///
    /// # Errors
    /// A library that does not start.
    pub(crate) fn new(
        library: &Arc<Convolutions>,
        port: &Port,
        problem: Problem,
        room: usize,
    ) -> Result<Option<Self>> {
        port.enter()?;
        let descriptors = Descriptors::new(library)?;
        if descriptors
            .fill(&problem, problem.math(library.may.0))
            .is_err()
        {
            return Ok(None); // a shape that the library does not take
        }
        library.with_handle(port, |handle| {
            let Some(best) = chosen(library, handle, &problem, &descriptors, room) else {
                return Ok(None);
            };
            // SAFETY: a descriptor that is this function's own still.
            check("cudnnSetConvolutionMathType", unsafe {
                (library.table.set_math)(descriptors.raw[3], best.math)
            })?;
            let workspace = workspace(library, handle, problem.way, &descriptors, best.algorithm);
            Ok(workspace
                .filter(|&bytes| bytes <= room)
                .map(|workspace| ConvolutionPlan {
                    library: library.clone(),
                    problem,
                    descriptors,
                    algorithm: best.algorithm,
                    workspace,
                }))
        })
    }
}

/// The fastest algorithm that may be used, with the math that it is to use.
fn chosen(
    library: &Convolutions,
    handle: Object,
    problem: &Problem,
    descriptors: &Descriptors,
    room: usize,
) -> Option<Rated> {
    let (way, math) = (problem.way, problem.math(library.may.0));
    let fits = |found: &&Rated| {
        found.status == 0
            && found.deterministic == 1
            && found.memory <= room
            && !way.by_transforms().contains(&found.algorithm)
            && (library.may.1 || !way.by_few_products().contains(&found.algorithm))
    };
    let timed = match problem.timed {
        true => rated(library, handle, problem, descriptors, true),
        false => Vec::new(),
    };
    // Where there was no memory to try them in.
    let guessed = match timed.iter().any(|found| fits(&found)) {
        true => Vec::new(),
        false => rated(library, handle, problem, descriptors, false),
    };
    let fitting = || timed.iter().chain(&guessed).filter(fits);
    if math != MULTIPLY_ADD {
        return fitting().next().copied();
    }
    // What was rated with float32 rounded to tf32 says little of what does not round.
    let exact = fitting().find(|found| found.math == math);
    let best = exact.or_else(|| fitting().next())?;
    Some(Rated { math, ..*best })
}

/// Bytes of temporary memory that an algorithm takes; `None` where it cannot do it.
fn workspace(
    library: &Convolutions,
    handle: Object,
    way: Way,
    descriptors: &Descriptors,
    algorithm: c_int,
) -> Option<usize> {
    let (table, [x, w, y, c]) = (&library.table, descriptors.raw());
    let (measure, [first, second, third]) = match way {
        Way::Forward => (table.size_forward, [x, w, y]),
        Way::Data => (table.size_data, [w, y, x]),
        Way::Weight => (table.size_weight, [x, y, w]),
    };
    let mut bytes = 0;
    // SAFETY: descriptors that are filled, and a place for the result.
    let status = unsafe { measure(handle, first, second, c, third, algorithm, &raw mut bytes) };
    (status == 0).then_some(bytes)
}

/// The library's algorithms, the one that is the fastest, or that it takes for it, first; none where it
/// refuses.
fn rated(
    library: &Convolutions,
    handle: Object,
    problem: &Problem,
    descriptors: &Descriptors,
    timed: bool,
) -> Vec<Rated> {
    let (table, [x, w, y, c]) = (&library.table, descriptors.raw());
    let (guess, time, [first, second, third]) = match problem.way {
        Way::Forward => (table.rate_forward, table.time_forward, [x, w, y]),
        Way::Data => (table.rate_data, table.time_data, [w, y, x]),
        Way::Weight => (table.rate_weight, table.time_weight, [x, y, w]),
    };
    let rate = if timed { time } else { guess };
    let mut found = vec![Rated::default(); MOST];
    let mut count = 0;
    let most = MOST as c_int;
    // The result stands behind the convolution in all three.
    let (at, list) = (&raw mut count, found.as_mut_ptr());
    // SAFETY: descriptors that are filled, and places for so many results.
    let status = unsafe { rate(handle, first, second, c, third, most, at, list) };
    found.truncate(if status == 0 {
        count.max(0) as usize
    } else {
        0
    });
    found
}
