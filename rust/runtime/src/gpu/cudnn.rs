//! Convolutions by the vendor's library: cuDNN, loaded at run time like the driver, or what stands in for it in
//! the tests. The algorithm of each problem is chosen once, among those that give the same bits at each run.

use super::cudnn_plan::{Descriptors, Problem, Way};
use super::driver::{Library, Object};
use super::port::Port;
use super::recipe::{Arg, Filling};
use ferromix_base::{DType, Error, Result};
use ferromix_kernels::Req;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// `cudnnConvolutionFwdAlgoPerf_t`, and those of the gradients, which are like it.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Rated {
    pub(super) algorithm: c_int,
    pub(super) status: c_int,
    pub(super) milliseconds: f32,
    pub(super) memory: usize,
    pub(super) deterministic: c_int,
    pub(super) math: c_int,
    pub(super) reserved: [c_int; 3],
}

type Make = unsafe extern "C" fn(*mut Object) -> c_int;
type Drop1 = unsafe extern "C" fn(Object) -> c_int;
type SetInt = unsafe extern "C" fn(Object, c_int) -> c_int;
type SetStream = unsafe extern "C" fn(Object, Object) -> c_int;
type SetTensor = unsafe extern "C" fn(Object, c_int, c_int, *const c_int, *const c_int) -> c_int;
type SetFilter = unsafe extern "C" fn(Object, c_int, c_int, c_int, *const c_int) -> c_int;
#[rustfmt::skip]
type SetConvolution = unsafe extern "C" fn(
    Object, c_int, *const c_int, *const c_int, *const c_int, c_int, c_int,
) -> c_int;
#[rustfmt::skip]
type Rate = unsafe extern "C" fn(
    Object, Object, Object, Object, Object, c_int, *mut c_int, *mut Rated,
) -> c_int;
type Measure =
    unsafe extern "C" fn(Object, Object, Object, Object, Object, c_int, *mut usize) -> c_int;
#[rustfmt::skip]
type Run = unsafe extern "C" fn(
    Object, *const c_void, Object, *const c_void, Object, *const c_void, Object, c_int, *mut c_void, usize,
    *const c_void, Object, *mut c_void,
) -> c_int;

/// Declares the table: the field, its type and the symbol.
macro_rules! functions {
    ($($field:ident: $kind:ty = $symbol:literal;)*) => {
        pub(super) struct Table { $(pub(super) $field: $kind,)* }

        impl Table {
            fn of(library: &Library) -> Option<Self> {
                Some(Table { $($field: {
                    let found = library.find($symbol)?;
                    // SAFETY: the symbol is a function of cuDNN with these arguments, as its documentation
                    // gives them since version 8.
                    unsafe { std::mem::transmute::<*mut c_void, $kind>(found) }
                },)* })
            }
        }
    };
}

functions! {
    create: Make = "cudnnCreate";
    set_stream: SetStream = "cudnnSetStream";
    new_tensor: Make = "cudnnCreateTensorDescriptor";
    set_tensor: SetTensor = "cudnnSetTensorNdDescriptor";
    drop_tensor: Drop1 = "cudnnDestroyTensorDescriptor";
    new_filter: Make = "cudnnCreateFilterDescriptor";
    set_filter: SetFilter = "cudnnSetFilterNdDescriptor";
    drop_filter: Drop1 = "cudnnDestroyFilterDescriptor";
    new_convolution: Make = "cudnnCreateConvolutionDescriptor";
    set_convolution: SetConvolution = "cudnnSetConvolutionNdDescriptor";
    set_groups: SetInt = "cudnnSetConvolutionGroupCount";
    set_math: SetInt = "cudnnSetConvolutionMathType";
    drop_convolution: Drop1 = "cudnnDestroyConvolutionDescriptor";
    rate_forward: Rate = "cudnnGetConvolutionForwardAlgorithm_v7";
    rate_data: Rate = "cudnnGetConvolutionBackwardDataAlgorithm_v7";
    rate_weight: Rate = "cudnnGetConvolutionBackwardFilterAlgorithm_v7";
    time_forward: Rate = "cudnnFindConvolutionForwardAlgorithm";
    time_data: Rate = "cudnnFindConvolutionBackwardDataAlgorithm";
    time_weight: Rate = "cudnnFindConvolutionBackwardFilterAlgorithm";
    size_forward: Measure = "cudnnGetConvolutionForwardWorkspaceSize";
    size_data: Measure = "cudnnGetConvolutionBackwardDataWorkspaceSize";
    size_weight: Measure = "cudnnGetConvolutionBackwardFilterWorkspaceSize";
    forward: Run = "cudnnConvolutionForward";
    data: Run = "cudnnConvolutionBackwardData";
    weight: Run = "cudnnConvolutionBackwardFilter";
}

/// The library, with a handle for each device that has used it.
pub(crate) struct Convolutions {
    pub(super) table: Table,
    /// Whether float32 may be rounded to tf32, and whether few products may stand for many (Winograd).
    pub(super) may: (bool, bool),
    /// A handle serves one thread at a time; so does this lock.
    handles: Mutex<HashMap<c_int, Handle>>,
}

struct Handle(Object);

// SAFETY: a handle may be used by any thread, one at a time, as the lock around it sees to.
unsafe impl Send for Handle {}

impl Convolutions {
    /// Loads the library at `path`; `may` is whether it may round float32 to tf32, and use Winograd's way.
    pub(crate) fn load(path: &Path, may: (bool, bool)) -> Result<Self> {
        let library = Library::open(path, "the library of convolutions")?;
        let table = Table::of(&library).ok_or_else(|| {
            Error::device(format!(
                "'{}' lacks functions that cuDNN has since version 8",
                path.display()
            ))
        })?;
        Ok(Convolutions {
            table,
            may,
            handles: Mutex::new(HashMap::new()),
        })
    }

    /// Calls `work` with the handle of a device, whose context is the thread's.
    pub(super) fn with_handle<R>(
        &self,
        port: &Port,
        work: impl FnOnce(Object) -> Result<R>,
    ) -> Result<R> {
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = handles.get(&port.number()) {
            return work(handle.0);
        }
        let mut made = std::ptr::null_mut();
        // SAFETY: a place for the result.
        check("cudnnCreate", unsafe { (self.table.create)(&raw mut made) })?;
        handles.insert(port.number(), Handle(made));
        work(made)
    }
}

/// An error where the library gave another status than success.
pub(super) fn check(call: &str, status: c_int) -> Result<()> {
    if status == 0 {
        return Ok(());
    }
    Err(Error::device(format!(
        "{call}: cuDNN's status {status}; FERROMIX_GPU_CUDNN=0 does without this library"
    )))
}

/// What the library does of one problem, and how.
pub struct ConvolutionPlan {
    pub(super) library: Arc<Convolutions>,
    pub(super) problem: Problem,
    pub(super) descriptors: Descriptors,
    pub(super) algorithm: c_int,
    /// Bytes of temporary memory that it takes.
    pub workspace: usize,
}

impl std::fmt::Debug for ConvolutionPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} by algorithm {}", self.problem, self.algorithm)
    }
}

/// A convolution, or a gradient of one, by the library.
#[derive(Clone, Debug)]
pub struct Convolution {
    /// How.
    pub plan: Arc<ConvolutionPlan>,
    /// Data and weights; for a gradient that of the output, and weights or data.
    pub operands: [Arg; 2],
    /// Where the result goes.
    pub out: Arg,
    /// The output whose request counts.
    pub req: usize,
    /// Whether the result is added to what is there, whatever the request.
    pub adds: bool,
}

impl Convolution {
    /// Enqueues it.
    pub(crate) fn enqueue(&self, port: &Port, stream: Object, filling: &Filling<'_>) -> Result<()> {
        let req = filling.reqs[self.req];
        if req == Req::Null {
            return Ok(());
        }
        let (plan, library) = (&*self.plan, &*self.plan.library);
        let workspace = std::ptr::with_exposed_provenance_mut(filling.address(&Arg::Temporary(0)));
        let [first, second] = self
            .operands
            .each_ref()
            .map(|arg| std::ptr::with_exposed_provenance::<c_void>(filling.address(arg)));
        let out = std::ptr::with_exposed_provenance_mut(filling.address(&self.out));
        let beta = f32::from(u8::from(self.adds || req == Req::Add));
        let (single, double) = ([1.0, beta], [1.0, f64::from(beta)]);
        let scale = |i: usize| -> *const c_void {
            match plan.problem.dtype {
                DType::F64 => (&raw const double[i]).cast(),
                _ => (&raw const single[i]).cast(),
            }
        };
        let (way, [x, w, y, c]) = (plan.problem.way, plan.descriptors.raw());
        let (table, algorithm, size) = (&library.table, plan.algorithm, plan.workspace);
        library.with_handle(port, |handle| {
            // SAFETY: the handle is this thread's now; the stream is the device's, and nobody else has the
            // workspace; addresses are those of live blocks of the shapes that the plan was made for, and the
            // scales live until the return.
            #[rustfmt::skip]
            let status = unsafe {
                check("cudnnSetStream", (table.set_stream)(handle, stream))?;
                match way {
                    Way::Forward => (table.forward)(
                        handle, scale(0), x, first, w, second, c, algorithm, workspace, size, scale(1), y, out,
                    ),
                    Way::Data => (table.data)(
                        handle, scale(0), w, second, y, first, c, algorithm, workspace, size, scale(1), x, out,
                    ),
                    Way::Weight => (table.weight)(
                        handle, scale(0), x, second, y, first, c, algorithm, workspace, size, scale(1), w, out,
                    ),
                }
            };
            check("a convolution", status)
        })
    }
}
