//! The driver of GPUs: the functions of CUDA's driver library that Ferromix calls, found in a library at
//! run time. Any library with these symbols does, such as the one that stands in for CUDA in the tests.

use ferromix_base::{Error, Result};
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::Path;

/// An opaque object of the driver's: a context, a stream, an event, a function.
pub(crate) type Object = *mut c_void;
/// An address on a device.
pub(crate) type Address = u64;

const OUT_OF_MEMORY: c_int = 2;
const NO_DEVICE: c_int = 100;

/// Declares the table: the field, the symbol, and its arguments.
macro_rules! symbols {
    ($($field:ident = $symbol:literal ($($arg:ty),*);)*) => {
        pub(super) struct Table { $(pub(super) $field: unsafe extern "C" fn($($arg),*) -> c_int,)* }

        impl Table {
            fn of(library: &Library) -> Result<Self> {
                Ok(Table { $($field: {
                    let found = library.symbol($symbol)?;
                    // SAFETY: the symbol is a function of CUDA's driver API with these arguments,
                    // as its documentation gives them, in every version since 11.
                    unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) -> c_int>(found) }
                },)* })
            }
        }
    };
}

symbols! {
    init = "cuInit" (c_uint);
    count = "cuDeviceGetCount" (*mut c_int);
    version = "cuDriverGetVersion" (*mut c_int);
    get = "cuDeviceGet" (*mut c_int, c_int);
    name = "cuDeviceGetName" (*mut c_char, c_int, c_int);
    attribute = "cuDeviceGetAttribute" (*mut c_int, c_int, c_int);
    retain = "cuDevicePrimaryCtxRetain" (*mut Object, c_int);
    set_current = "cuCtxSetCurrent" (Object);
    synchronize = "cuCtxSynchronize" ();
    memory_info = "cuMemGetInfo_v2" (*mut usize, *mut usize);
    alloc = "cuMemAlloc_v2" (*mut Address, usize);
    free = "cuMemFree_v2" (Address);
    copy_in = "cuMemcpyHtoDAsync_v2" (Address, *const c_void, usize, Object);
    copy_out = "cuMemcpyDtoHAsync_v2" (*mut c_void, Address, usize, Object);
    copy_within = "cuMemcpyDtoDAsync_v2" (Address, Address, usize, Object);
    copy_peer = "cuMemcpyPeerAsync" (Address, Object, Address, Object, usize, Object);
    stream_create = "cuStreamCreate" (*mut Object, c_uint);
    stream_wait = "cuStreamWaitEvent" (Object, Object, c_uint);
    event_create = "cuEventCreate" (*mut Object, c_uint);
    event_record = "cuEventRecord" (Object, Object);
    event_synchronize = "cuEventSynchronize" (Object);
    launch = "cuLaunchKernel" (Object, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Object,
        *mut *mut c_void, *mut *mut c_void);
    begin_capture = "cuStreamBeginCapture_v2" (Object, c_uint);
    end_capture = "cuStreamEndCapture" (Object, *mut Object);
    instantiate = "cuGraphInstantiateWithFlags" (*mut Object, Object, u64);
    graph_destroy = "cuGraphDestroy" (Object);
    exec_launch = "cuGraphLaunch" (Object, Object);
    exec_destroy = "cuGraphExecDestroy" (Object);
    host_register = "cuMemHostRegister_v2" (*mut c_void, usize, c_uint);
    host_unregister = "cuMemHostUnregister" (*mut c_void);
    pointer = "cuPointerGetAttribute" (*mut c_void, c_int, Address);
    stream_synchronize = "cuStreamSynchronize" (Object);
    error_name = "cuGetErrorName" (c_int, *mut *const c_char);
    error_string = "cuGetErrorString" (c_int, *mut *const c_char);
}

/// Says what the next launch of the thread reads and writes: pairs of first byte and the byte after.
type Declare = unsafe extern "C" fn(*const u64, usize, *const u64, usize);

/// Says that the host uses some bytes, from the first to before the last.
type Touch = unsafe extern "C" fn(u64, u64);

/// A library, open for as long as the process lives.
pub(super) struct Library(*mut c_void);

impl Library {
    /// Opens the library at `path`, which errors call `what`.
    pub(super) fn open(path: &Path, what: &str) -> Result<Self> {
        let text = path.to_string_lossy().into_owned();
        let name = CString::new(text.as_str())
            .map_err(|_| Error::value(format!("'{text}' is no path of a library")))?;
        // SAFETY: a library that the user has named; what it runs when it is loaded is its own.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(Error::device(format!(
                "{what}, '{text}', cannot be loaded: {}",
                dl_error()
            )));
        }
        Ok(Library(handle))
    }

    pub(super) fn find(&self, symbol: &str) -> Option<*mut c_void> {
        let name = CString::new(symbol).ok()?;
        // SAFETY: the handle stays open.
        let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!found.is_null()).then_some(found)
    }

    fn symbol(&self, symbol: &str) -> Result<*mut c_void> {
        self.find(symbol).ok_or_else(|| {
            Error::device(format!(
                "the driver of GPUs has no function '{symbol}'; it is too old: Ferromix needs one for \
                 CUDA 11.4 or newer"
            ))
        })
    }
}

fn dl_error() -> String {
    // SAFETY: gives null or a text that lives until the thread's next such call.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            return "for no reason that it gives".into();
        }
        CStr::from_ptr(text).to_string_lossy().into_owned()
    }
}

/// The driver.
pub(crate) struct Driver {
    pub(super) table: Table,
    declare: Option<Declare>,
    touch: Option<Touch>,
    devices: usize,
}

// SAFETY: functions alone; the driver may be called from any thread.
unsafe impl Send for Driver {}
// SAFETY: as above.
unsafe impl Sync for Driver {}

impl Driver {
    /// Loads and starts the library at `path`.
    pub(crate) fn load(path: &Path) -> Result<Self> {
        let library = Library::open(path, "the driver of GPUs")?;
        let table = Table::of(&library)?;
        let declare = library.find("fm_host_declare").map(|found| {
            // SAFETY: only the stand-in of the tests has a function of this name.
            unsafe { std::mem::transmute::<*mut c_void, Declare>(found) }
        });
        let touch = library.find("fm_host_touch").map(|found| {
            // SAFETY: as above.
            unsafe { std::mem::transmute::<*mut c_void, Touch>(found) }
        });
        let mut driver = Driver {
            table,
            declare,
            touch,
            devices: 0,
        };
        // SAFETY: the driver's own functions, with places for their results.
        unsafe {
            match (driver.table.init)(0) {
                NO_DEVICE => return Ok(driver),
                code => driver.check("cuInit", code)?,
            }
            let mut count = 0;
            let code = (driver.table.count)(&raw mut count);
            driver.check("cuDeviceGetCount", code)?;
            driver.devices = count.max(0) as usize;
        }
        Ok(driver)
    }

    /// How many devices there are.
    pub(crate) fn devices(&self) -> usize {
        self.devices
    }

    /// An error where the driver gave another code than success.
    pub(crate) fn check(&self, call: &str, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        let text = |find: unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int| {
            let mut text = std::ptr::null();
            // SAFETY: a place for the result, which is a text that stays, or null.
            unsafe {
                find(code, &raw mut text);
                (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
            }
        };
        let name = text(self.table.error_name).unwrap_or_else(|| format!("error {code}"));
        let meaning = text(self.table.error_string).unwrap_or_else(|| "unknown".into());
        let message = format!("{call}: {name}: {meaning}");
        Err(if code == OUT_OF_MEMORY {
            Error::memory(message)
        } else {
            Error::device(message)
        })
    }

    /// The host is about to use bytes that a device copies from or to, and has waited for that.
    pub(crate) fn touch(&self, bytes: &[u8]) {
        if let Some(touch) = self.touch {
            let range = bytes.as_ptr_range();
            // SAFETY: numbers alone.
            unsafe { touch(range.start.addr() as u64, range.end.addr() as u64) };
        }
    }

    /// What this thread's next launch reads and writes.
    pub(crate) fn declare(&self, reads: &[[u64; 2]], writes: &[[u64; 2]]) {
        if let Some(declare) = self.declare {
            // SAFETY: as many pairs as there are, copied within the call.
            unsafe {
                declare(
                    reads.as_ptr().cast(),
                    reads.len(),
                    writes.as_ptr().cast(),
                    writes.len(),
                );
            }
        }
    }
}

/// CUDA's number of the attribute of an address that says which device it is on.
const ORDINAL: c_int = 9;

/// Calls a function of the table and checks what it gives.
macro_rules! call {
    ($driver:expr, $field:ident, $symbol:literal $(, $arg:expr)*) => {{
        let driver = $driver;
        // SAFETY: see the function around.
        let code = unsafe { (driver.table.$field)($($arg),*) };
        driver.check($symbol, code)
    }};
}
pub(super) use call;

impl Driver {
    /// The device of an address, after a wait for what a stream of somebody else's has to do.
    pub(crate) fn device_of(&self, address: Address, stream: Option<usize>) -> Result<i32> {
        if let Some(stream) = stream {
            let raw = std::ptr::with_exposed_provenance_mut(stream);
            call!(self, stream_synchronize, "cuStreamSynchronize", raw)?;
        }
        let mut number: c_int = 0;
        let place = (&raw mut number).cast();
        call!(
            self,
            pointer,
            "cuPointerGetAttribute",
            place,
            ORDINAL,
            address
        )?;
        Ok(number)
    }
}
