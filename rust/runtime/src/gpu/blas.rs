//! Products of matrices by the vendor's library: cuBLAS, loaded at run time like the driver, or what stands
//! in for it in the tests.

use super::driver::{Library, Object};
use super::port::Port;
use super::recipe::{Arg, Filling};
use ferromix_base::{DType, Error, Result};
use ferromix_kernels::Req;
use std::collections::HashMap;
use std::ffi::{c_int, c_longlong, c_void};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// `CUBLAS_OP_N` and `CUBLAS_OP_T`.
const OPERATIONS: [c_int; 2] = [0, 1];
/// `CUBLAS_GEMM_DEFAULT`.
const ANY_ALGORITHM: c_int = -1;
/// Sums of this precision, and no shorter type within.
const COMPUTE_32F: c_int = 68;
/// The same with factors of float32 rounded to tf32, where a device has tensor cores for that.
const COMPUTE_32F_TF32: c_int = 77;
const COMPUTE_64F: c_int = 70;
/// `CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION`: parts of a sum of halves are added in float32, too.
const FULL_SUMS: c_int = 16;

type Create = unsafe extern "C" fn(*mut Object) -> c_int;
type SetMath = unsafe extern "C" fn(Object, c_int) -> c_int;
type SetStream = unsafe extern "C" fn(Object, Object) -> c_int;
type SetWorkspace = unsafe extern "C" fn(Object, *mut c_void, usize) -> c_int;
#[rustfmt::skip]
type Gemm = unsafe extern "C" fn(
    Object, c_int, c_int, c_int, c_int, c_int, *const c_void,
    *const c_void, c_int, c_int, c_longlong, *const c_void, c_int, c_int, c_longlong, *const c_void,
    *mut c_void, c_int, c_int, c_longlong, c_int, c_int, c_int,
) -> c_int;

/// The library, with a handle for each device that has used it.
pub(crate) struct Blas {
    create: Create,
    set_math: SetMath,
    set_stream: SetStream,
    set_workspace: SetWorkspace,
    gemm: Gemm,
    /// How float32 is multiplied.
    single: c_int,
    /// A handle serves one thread at a time; so does this lock.
    handles: Mutex<HashMap<c_int, Handle>>,
}

struct Handle(Object);

// SAFETY: a handle may be used by any thread, one at a time, as the lock around it sees to.
unsafe impl Send for Handle {}

impl Blas {
    /// Calls `work` with the handle of a device, whose context is the thread's.
    fn with_handle(&self, port: &Port, work: impl FnOnce(Object) -> Result<()>) -> Result<()> {
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = handles.get(&port.number()) {
            return work(handle.0);
        }
        let mut made = std::ptr::null_mut();
        // SAFETY: a place for the result.
        check("cublasCreate", unsafe { (self.create)(&raw mut made) })?;
        // SAFETY: the handle that was made.
        check("cublasSetMathMode", unsafe {
            (self.set_math)(made, FULL_SUMS)
        })?;
        handles.insert(port.number(), Handle(made));
        work(made)
    }

    /// Loads the library at `path`; with `tf32`, it may round float32 to that.
    pub(crate) fn load(path: &Path, tf32: bool) -> Result<Self> {
        let library = Library::open(path, "the library of matrix products")?;
        let find = |symbol: &str| {
            library.find(symbol).ok_or_else(|| {
                Error::device(format!(
                    "'{}' has no function '{symbol}': Ferromix needs cuBLAS 11 or newer",
                    path.display()
                ))
            })
        };
        // SAFETY: functions of cuBLAS with these arguments, as its documentation gives them since 11.0.
        unsafe {
            Ok(Blas {
                create: std::mem::transmute::<*mut c_void, Create>(find("cublasCreate_v2")?),
                set_math: std::mem::transmute::<*mut c_void, SetMath>(find("cublasSetMathMode")?),
                set_stream: std::mem::transmute::<*mut c_void, SetStream>(find(
                    "cublasSetStream_v2",
                )?),
                set_workspace: std::mem::transmute::<*mut c_void, SetWorkspace>(find(
                    "cublasSetWorkspace_v2",
                )?),
                gemm: std::mem::transmute::<*mut c_void, Gemm>(find("cublasGemmStridedBatchedEx")?),
                single: if tf32 { COMPUTE_32F_TF32 } else { COMPUTE_32F },
                handles: Mutex::new(HashMap::new()),
            })
        }
    }
}

/// An error where the library gave another status than success.
fn check(call: &str, status: c_int) -> Result<()> {
    let name = match status {
        0 => return Ok(()),
        1 => "NOT_INITIALIZED",
        3 => "ALLOC_FAILED",
        7 => "INVALID_VALUE",
        8 => "ARCH_MISMATCH",
        11 => "MAPPING_ERROR",
        13 => "EXECUTION_FAILED",
        14 => "INTERNAL_ERROR",
        15 => "NOT_SUPPORTED",
        _ => "unknown",
    };
    Err(Error::device(format!(
        "{call}: CUBLAS_STATUS_{name} ({status}); FERROMIX_GPU_BLAS=0 does without this library"
    )))
}

/// Products of a batch of pairs of matrices, which lie one after another without gaps, or are the same in all pairs.
#[derive(Clone, Debug)]
pub struct Product {
    /// Where the first factors start.
    pub factors: [Arg; 2],
    /// Whether memory holds the columns of a factor one after another, not its rows.
    pub flips: [bool; 2],
    /// Where the first product goes.
    pub out: Arg,
    /// The output whose request counts; where there is none, products are written.
    pub req: Option<usize>,
    /// The type of all.
    pub dtype: DType,
    /// How many pairs.
    pub batch: usize,
    /// Rows and columns of a product, and how many terms an element sums.
    pub extents: [usize; 3],
    /// Whether the products are added to what is there, whatever the request.
    pub adds: bool,
    /// Bytes at the start of the temporary memory that the library may use.
    pub workspace: usize,
    /// Whether a factor is the same in all pairs.
    pub shared: [bool; 2],
}

/// An extent as the library takes it.
fn int(value: usize) -> Result<c_int> {
    c_int::try_from(value)
        .map_err(|_| Error::value(format!("a product of matrices of extent {value}")))
}

impl Product {
    /// Enqueues it.
    pub(crate) fn enqueue(
        &self,
        blas: &Blas,
        port: &Port,
        stream: Object,
        filling: &Filling<'_>,
    ) -> Result<()> {
        let req = self.req.map_or(Req::Write, |output| filling.reqs[output]);
        if req == Req::Null || self.batch == 0 || self.extents[..2].contains(&0) {
            return Ok(());
        }
        let workspace = std::ptr::with_exposed_provenance_mut(filling.address(&Arg::Temporary(0)));
        blas.with_handle(port, |handle| {
            // SAFETY: the handle is this thread's now; the stream is the device's, and nobody else has the
            // workspace: products on several streams, or in a graph, must not share one.
            unsafe {
                check("cublasSetStream", (blas.set_stream)(handle, stream))?;
                let given = (blas.set_workspace)(handle, workspace, self.workspace);
                check("cublasSetWorkspace", given)?;
            }
            self.multiply(blas, handle, filling, self.adds || req == Req::Add)
        })
    }

    /// The library has columns one after another. To it memory of ours holds the transposed product, whose
    /// factors are the transposed ones in the other order.
    fn multiply(
        &self,
        blas: &Blas,
        handle: Object,
        filling: &Filling<'_>,
        adds: bool,
    ) -> Result<()> {
        let [m, n, depth] = self.extents;
        let [left, right] = self
            .factors
            .each_ref()
            .map(|arg| std::ptr::with_exposed_provenance::<c_void>(filling.address(arg)));
        let out = std::ptr::with_exposed_provenance_mut(filling.address(&self.out));
        let widths = [
            int(if self.flips[0] { m } else { depth }.max(1))?,
            int(if self.flips[1] { depth } else { n }.max(1))?,
        ];
        let [flip_left, flip_right] = self.flips.map(|flip| OPERATIONS[usize::from(flip)]);
        let (code, compute) = match self.dtype {
            DType::F32 => (0, blas.single),
            DType::F64 => (1, COMPUTE_64F),
            DType::F16 => (2, COMPUTE_32F),
            DType::BF16 => (14, COMPUTE_32F),
            other => return Err(Error::internal(format!("a product of matrices of {other}"))),
        };
        let beta = f32::from(u8::from(adds));
        let (single, double) = ([1.0, beta], [1.0, f64::from(beta)]);
        let scale = |i: usize| -> *const c_void {
            match self.dtype {
                DType::F64 => (&raw const double[i]).cast(),
                _ => (&raw const single[i]).cast(),
            }
        };
        let (rows, columns, terms) = (int(n)?, int(m)?, int(depth)?);
        let step = |x: usize, y: usize| (x * y) as c_longlong;
        let [left_step, right_step] = [
            if self.shared[0] { 0 } else { step(m, depth) },
            if self.shared[1] { 0 } else { step(depth, n) },
        ];
        #[rustfmt::skip]
        // SAFETY: addresses are those of live blocks of the shapes that the operator was prepared for; the
        // scales live until the return.
        let status = unsafe {
            (blas.gemm)(
                handle, flip_right, flip_left, rows, columns, terms, scale(0),
                right, code, widths[1], right_step, left, code, widths[0], left_step, scale(1),
                out, code, rows, step(m, n), int(self.batch)?, compute, ANY_ALGORITHM,
            )
        };
        check("cublasGemmStridedBatchedEx", status)
    }
}
