//! `_core.Array`: what an NDArray holds.

use crate::callback::push;
use crate::engine::wait_to_write;
use crate::index;
use crate::support::convert::{dtype, place, runtime};
use crate::support::errors::{push_to_py, to_py};
use crate::support::site;
use crate::support::wait::wait;
use crate::tape::{self, Slot};
use ferromix_base::DeviceType;
use ferromix_runtime as rt;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A strided view of memory that the engine orders.
#[pyclass(frozen, weakref, module = "ferromix._core")]
pub(crate) struct Array(pub(crate) rt::Array, pub(crate) Slot);

impl From<rt::Array> for Array {
    fn from(array: rt::Array) -> Self {
        Array(array, Slot::default())
    }
}

impl Array {
    /// The same elements, from the same origin.
    pub(crate) fn twin(&self) -> Self {
        Array(self.0.clone(), self.1.twin())
    }
}

impl AsRef<rt::Array> for Array {
    fn as_ref(&self) -> &rt::Array {
        &self.0
    }
}

fn out_of_range(what: &str) -> PyErr {
    PyValueError::new_err(format!("{what} out of range"))
}

#[pymethods]
impl Array {
    /// An array whose memory is taken at first use and holds arbitrary values.
    #[new]
    #[pyo3(signature = (shape, dtype, dev_type=1, dev_id=0))]
    fn new(
        py: Python<'_>,
        shape: Vec<usize>,
        dtype: &str,
        dev_type: i32,
        dev_id: u16,
    ) -> PyResult<Self> {
        let (runtime, dtype) = (runtime()?, self::dtype(dtype)?);
        let context = place(dev_type, dev_id)?;
        let array = rt::Array::on(runtime, context, &shape, dtype).map_err(to_py)?;
        if context.device_type == DeviceType::CpuPinned {
            crate::storage::warn_unless_locked(py, &array)?;
        }
        Ok(Array::from(array))
    }

    /// Maps shared memory that another process sent, as elements of `dtype`, and closes the
    /// descriptor.
    #[staticmethod]
    fn from_shared(fd: i32, dtype: &str) -> PyResult<Self> {
        crate::storage::received(fd, self::dtype(dtype)?).map(Array::from)
    }

    /// Waits for the array, and gives a descriptor by which other processes map its memory; it
    /// stays open as long as the memory is in use here.
    fn share(&self, py: Python<'_>) -> PyResult<i32> {
        self.wait_to_read(py)?;
        crate::storage::share(&self.0)
    }

    /// The extents.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.shape())
    }

    /// The name of the element type.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.0.dtype().name()
    }

    /// The strides, in elements.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.strides())
    }

    /// Device type and number, as MXNet numbers them.
    #[getter]
    fn context(&self) -> (i32, u16) {
        let context = self.0.chunk().context();
        (context.device_type as i32, context.device_id)
    }

    /// A number that arrays which share memory share.
    #[getter]
    fn chunk(&self) -> usize {
        self.0.chunk().id()
    }

    /// Elements from the start of the memory to the first one.
    #[getter]
    fn offset(&self) -> usize {
        self.0.byte_offset() / self.0.dtype().size()
    }

    /// Number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.0.len()
    }

    /// Bytes of the elements.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.len() * self.0.dtype().size()
    }

    /// Whether the elements lie in C order without gaps.
    #[getter]
    fn contiguous(&self) -> bool {
        self.0.is_contiguous()
    }

    /// Number of completed writes to the memory.
    #[getter]
    fn version(&self) -> PyResult<u64> {
        let chunk = self.0.chunk();
        chunk
            .runtime()
            .engine()
            .version(chunk.var())
            .map_err(push_to_py)
    }

    /// Whether the memory may be written; that of another owner may be for reading only.
    #[getter]
    fn writable(&self) -> bool {
        !self.0.chunk().is_read_only()
    }

    /// A view of the same memory, `offset` elements after this array's first one.
    fn view(&self, offset: isize, shape: Vec<usize>, strides: Vec<isize>) -> PyResult<Self> {
        self.0
            .strided(offset, &shape, &strides)
            .map(Array::from)
            .map_err(to_py)
    }

    /// The view that a basic index selects, of shape `(1,)` for a single element; None for another
    /// index.
    fn index(&self, key: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        Ok(index::basic(&self.0, key)?.map(Array::from))
    }

    /// A view with other extents, or None where it would take a copy.
    fn reshape(&self, shape: Vec<usize>) -> Option<Self> {
        self.0.reshape(&shape).map(Array::from)
    }

    /// The start of the memory as elements of another type and shape.
    fn cast_view(&self, dtype: &str, shape: Vec<usize>) -> PyResult<Self> {
        self.0
            .cast_view(self::dtype(dtype)?, &shape)
            .map(Array::from)
            .map_err(to_py)
    }

    /// Pushes a copy of `src` into this array; casts and broadcasts.
    fn copy_from(&self, py: Python<'_>, src: &Array) -> PyResult<()> {
        let site = site::current(py);
        tape::require_unrecorded(self, "_copyto")?;
        self.0.chunk().note_write();
        push(py, || rt::copy(&src.0, &self.0, site))
    }

    /// Waits for the array, then copies its bytes, in C order, into `buffer`.
    fn read_into(&self, py: Python<'_>, buffer: PyBuffer<u8>) -> PyResult<()> {
        if buffer.readonly() || !buffer.is_c_contiguous() {
            return Err(PyBufferError::new_err(
                "the buffer must be writable and C-contiguous",
            ));
        }
        let len = buffer.len_bytes();
        let out: &mut [u8] = if len == 0 {
            &mut []
        } else {
            // SAFETY: the buffer is held until after the call, C-contiguous, writable and `len`
            // bytes long.
            unsafe { std::slice::from_raw_parts_mut(buffer.buf_ptr().cast(), len) }
        };
        self.read(py, out)
    }

    /// Copies the bytes of `buffer`, elements in C order, into the array.
    fn write_from(&self, py: Python<'_>, buffer: PyBuffer<u8>) -> PyResult<()> {
        if !buffer.is_c_contiguous() {
            return Err(PyBufferError::new_err("the buffer must be C-contiguous"));
        }
        let len = buffer.len_bytes();
        let bytes: &[u8] = if len == 0 {
            &[]
        } else {
            // SAFETY: the buffer is held until after the call, C-contiguous and `len` bytes long.
            unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast::<u8>(), len) }
        };
        let site = site::current(py);
        tape::require_unrecorded(self, "_copyto")?;
        self.0.chunk().note_write();
        push(py, || rt::write_from(&self.0, bytes, site))
    }

    /// Makes the array a variable of the tape, apart from what gave it; gradients go to
    /// `gradient` as `request` says.
    fn mark(&self, gradient: Option<&Array>, request: u8) {
        tape::mark(self, gradient, request);
    }

    /// The array that gradients go to, or None.
    #[getter]
    fn gradient(&self) -> Option<Self> {
        tape::gradient(self)
    }

    /// Whether the array is a variable or a result on the tape.
    #[getter]
    fn is_recorded(&self) -> bool {
        self.1.live().is_some()
    }

    /// Raises where the array is part of what this thread records, as `operator` would write it.
    fn require_unrecorded(&self, operator: &str) -> PyResult<()> {
        tape::require_unrecorded(self, operator)
    }

    /// The address of the first element. The memory lives as long as the array, and is there to be used
    /// by the function of an operation that has it.
    fn address(&self) -> PyResult<usize> {
        Ok(self.0.address().map_err(to_py)?.addr())
    }

    /// Whether the function that this thread runs as an operation has the array, to read and to write.
    #[getter]
    fn held(&self) -> (bool, bool) {
        let chunk = self.0.chunk();
        let (runtime, var) = (chunk.runtime(), chunk.var());
        (
            rt::held::may_read(runtime, var),
            rt::held::may_write(runtime, var),
        )
    }

    /// Whether some element lies in the memory of `other`'s.
    fn overlaps(&self, other: &Array) -> bool {
        self.0.overlaps(&other.0)
    }

    /// Attaches an object that lives as long as the memory, for arrays that stand for something else.
    fn attach(&self, object: Py<PyAny>) -> PyResult<()> {
        if self.0.chunk().attach(Box::new(object)) {
            return Ok(());
        }
        Err(PyValueError::new_err("the array has an object already"))
    }

    /// The object that was attached, or None.
    #[getter]
    fn attached(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let object = self.0.chunk().attached()?.downcast_ref::<Py<PyAny>>()?;
        Some(object.clone_ref(py))
    }

    /// The same memory, off the tape.
    fn detach(&self) -> Self {
        Array::from(self.0.clone())
    }

    /// Waits until all writes pushed before are done.
    fn wait_to_read(&self, py: Python<'_>) -> PyResult<()> {
        if rt::is_quiet(&self.0) {
            return Ok(());
        }
        wait(py, |policy| rt::wait_to_read_with(&self.0, policy))
    }

    /// Waits until everything pushed before that uses the memory is done.
    fn wait_to_write(&self, py: Python<'_>) -> PyResult<()> {
        wait_to_write(py, runtime()?, self.0.chunk().var())?;
        match self.0.chunk().context().is_host() {
            true => Ok(()),
            false => wait(py, |_| {
                let runtime = self.0.chunk().runtime();
                runtime.wait_for_gpus().map_err(rt::ReadError::Device)
            }),
        }
    }

    /// Waits for the array and gives its only element as a Python number.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.0.len() != 1 {
            return Err(out_of_range(
                "item() of an array that does not hold exactly one element",
            ));
        }
        let mut bytes = [0u8; 8];
        self.read(py, &mut bytes[..self.0.dtype().size()])?;
        scalar(py, self.0.dtype(), bytes)
    }
}

impl Array {
    /// Waits, if need be, and copies the elements. Few bytes are not worth letting the interpreter
    /// go.
    fn read(&self, py: Python<'_>, out: &mut [u8]) -> PyResult<()> {
        if out.len() <= SMALL_READ && rt::read_if_quiet(&self.0, out).map_err(to_py)? {
            return Ok(());
        }
        wait(py, |policy| rt::read_into_with(&self.0, out, policy))
    }
}

/// Bytes that are copied with the interpreter held.
const SMALL_READ: usize = 1 << 16;

/// The Python number in the first bytes.
fn scalar(py: Python<'_>, dtype: ferromix_base::DType, b: [u8; 8]) -> PyResult<Bound<'_, PyAny>> {
    use ferromix_base::DType as D;
    let (two, four) = ([b[0], b[1]], [b[0], b[1], b[2], b[3]]);
    Ok(match dtype {
        D::F32 => f64::from(f32::from_ne_bytes(four))
            .into_pyobject(py)?
            .into_any(),
        D::F64 => f64::from_ne_bytes(b).into_pyobject(py)?.into_any(),
        D::F16 => half::f16::from_ne_bytes(two)
            .to_f64()
            .into_pyobject(py)?
            .into_any(),
        D::BF16 => half::bf16::from_ne_bytes(two)
            .to_f64()
            .into_pyobject(py)?
            .into_any(),
        D::U8 => b[0].into_pyobject(py)?.into_any(),
        D::I8 => b[0].cast_signed().into_pyobject(py)?.into_any(),
        D::I32 => i32::from_ne_bytes(four).into_pyobject(py)?.into_any(),
        D::I64 => i64::from_ne_bytes(b).into_pyobject(py)?.into_any(),
        D::Bool => (b[0] != 0).into_pyobject(py)?.to_owned().into_any(),
    })
}
