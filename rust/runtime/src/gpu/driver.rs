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
/// Events that only order, which cost less than those that measure time.
const DISABLE_TIMING: c_uint = 2;
/// Page-locked memory that is so for all devices.
const PORTABLE: c_uint = 1;
/// Captures that leave other threads, and other calls of this one, alone.
const RELAXED: c_uint = 2;
/// Streams that the default stream does not wait for.
const NON_BLOCKING: c_uint = 1;

/// Declares the table: the field, the symbol, and its arguments.
macro_rules! symbols {
    ($($field:ident = $symbol:literal ($($arg:ty),*);)*) => {
        struct Table { $($field: unsafe extern "C" fn($($arg),*) -> c_int,)* }

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
struct Library(*mut c_void);

impl Library {
    fn open(path: &Path) -> Result<Self> {
        let text = path.to_string_lossy().into_owned();
        let name = CString::new(text.as_str())
            .map_err(|_| Error::value(format!("'{text}' is no path of a library")))?;
        // SAFETY: a library that the user has named; what it runs when it is loaded is its own.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(Error::device(format!(
                "the driver of GPUs, '{text}', cannot be loaded: {}",
                dl_error()
            )));
        }
        Ok(Library(handle))
    }

    fn find(&self, symbol: &str) -> Option<*mut c_void> {
        let name = CString::new(symbol).ok()?;
        // SAFETY: the handle stays open.
        let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!found.is_null()).then_some(found)
    }

    fn symbol(&self, symbol: &str) -> Result<*mut c_void> {
        self.find(symbol).ok_or_else(|| {
            Error::device(format!(
                "the driver of GPUs has no function '{symbol}'; it is too old: Ferromix needs one for \
                 CUDA 11.2 or newer"
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
    table: Table,
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
        let library = Library::open(path)?;
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

/// One device, whose calls need its context on the thread.
///
/// SAFETY of all calls here: places for results are this function's own; streams, events and contexts are
/// the driver's, and never destroyed; addresses and lengths are those of live blocks, as the callers, the
/// functions of this module's parent, see to.
pub(crate) struct Port {
    driver: std::sync::Arc<Driver>,
    number: c_int,
    context: Object,
}

// SAFETY: a context of the driver may be used from any thread.
unsafe impl Send for Port {}
// SAFETY: as above.
unsafe impl Sync for Port {}

impl Port {
    pub(crate) fn open(driver: &std::sync::Arc<Driver>, id: u16) -> Result<Self> {
        let (mut number, mut context) = (0, std::ptr::null_mut());
        call!(
            &**driver,
            get,
            "cuDeviceGet",
            &raw mut number,
            c_int::from(id)
        )?;
        call!(
            &**driver,
            retain,
            "cuDevicePrimaryCtxRetain",
            &raw mut context,
            number
        )?;
        Ok(Port {
            driver: driver.clone(),
            number,
            context,
        })
    }

    pub(crate) fn driver(&self) -> &Driver {
        &self.driver
    }

    /// Makes the device this thread's.
    pub(crate) fn enter(&self) -> Result<()> {
        call!(self.driver(), set_current, "cuCtxSetCurrent", self.context)
    }

    pub(crate) fn name(&self) -> Result<String> {
        let mut text = [0 as c_char; 256];
        call!(
            self.driver(),
            name,
            "cuDeviceGetName",
            text.as_mut_ptr(),
            255,
            self.number
        )?;
        // SAFETY: the last byte is zero still.
        let text = unsafe { CStr::from_ptr(text.as_ptr()) };
        Ok(text.to_string_lossy().into_owned())
    }

    /// An attribute, by CUDA's number.
    pub(crate) fn attribute(&self, which: c_int) -> Result<i32> {
        let mut value = 0;
        call!(
            self.driver(),
            attribute,
            "cuDeviceGetAttribute",
            &raw mut value,
            which,
            self.number
        )?;
        Ok(value)
    }

    /// CUDA's version that the driver is for: 12040 is 12.4.
    pub(crate) fn version(&self) -> Result<i32> {
        let mut version = 0;
        call!(
            self.driver(),
            version,
            "cuDriverGetVersion",
            &raw mut version
        )?;
        Ok(version)
    }

    /// Bytes that are free, and all.
    pub(crate) fn memory_info(&self) -> Result<(usize, usize)> {
        let (mut free, mut total) = (0, 0);
        call!(
            self.driver(),
            memory_info,
            "cuMemGetInfo",
            &raw mut free,
            &raw mut total
        )?;
        Ok((free, total))
    }

    pub(crate) fn alloc(&self, size: usize) -> Result<Address> {
        let mut address = 0;
        call!(self.driver(), alloc, "cuMemAlloc", &raw mut address, size)?;
        Ok(address)
    }

    /// Has the driver know page-locked memory of the host, which it then copies from and to directly.
    pub(crate) fn register(&self, start: *mut u8, size: usize) -> Result<()> {
        let (driver, start) = (self.driver(), start.cast());
        call!(
            driver,
            host_register,
            "cuMemHostRegister",
            start,
            size,
            PORTABLE
        )
    }

    /// Undoes [`register`](Port::register).
    pub(crate) fn unregister(&self, start: *mut u8) -> Result<()> {
        let (driver, start) = (self.driver(), start.cast());
        call!(driver, host_unregister, "cuMemHostUnregister", start)
    }

    pub(crate) fn free(&self, address: Address) -> Result<()> {
        call!(self.driver(), free, "cuMemFree", address)
    }

    /// Waits for everything.
    pub(crate) fn synchronize(&self) -> Result<()> {
        call!(self.driver(), synchronize, "cuCtxSynchronize")
    }

    pub(crate) fn new_stream(&self) -> Result<Object> {
        let mut stream = std::ptr::null_mut();
        call!(
            self.driver(),
            stream_create,
            "cuStreamCreate",
            &raw mut stream,
            NON_BLOCKING
        )?;
        Ok(stream)
    }

    pub(crate) fn new_event(&self) -> Result<Object> {
        let mut event = std::ptr::null_mut();
        call!(
            self.driver(),
            event_create,
            "cuEventCreate",
            &raw mut event,
            DISABLE_TIMING
        )?;
        Ok(event)
    }

    pub(crate) fn record(&self, event: Object, stream: Object) -> Result<()> {
        call!(self.driver(), event_record, "cuEventRecord", event, stream)
    }

    /// Has a stream wait for an event of any device.
    pub(crate) fn wait_on(&self, stream: Object, event: Object) -> Result<()> {
        call!(
            self.driver(),
            stream_wait,
            "cuStreamWaitEvent",
            stream,
            event,
            0
        )
    }

    /// Waits for an event.
    pub(crate) fn wait_for(&self, event: Object) -> Result<()> {
        call!(
            self.driver(),
            event_synchronize,
            "cuEventSynchronize",
            event
        )
    }

    pub(crate) fn copy_in(&self, to: Address, from: &[u8], stream: Object) -> Result<()> {
        let (driver, bytes) = (self.driver(), from.len());
        let from = from.as_ptr().cast();
        call!(
            driver,
            copy_in,
            "cuMemcpyHtoDAsync",
            to,
            from,
            bytes,
            stream
        )
    }

    /// The bytes are there when the stream has come so far.
    pub(crate) fn copy_out(
        &self,
        to: *mut u8,
        from: Address,
        bytes: usize,
        stream: Object,
    ) -> Result<()> {
        let (driver, to) = (self.driver(), to.cast());
        call!(
            driver,
            copy_out,
            "cuMemcpyDtoHAsync",
            to,
            from,
            bytes,
            stream
        )
    }

    pub(crate) fn copy_within(
        &self,
        to: Address,
        from: Address,
        bytes: usize,
        stream: Object,
    ) -> Result<()> {
        call!(
            self.driver(),
            copy_within,
            "cuMemcpyDtoDAsync",
            to,
            from,
            bytes,
            stream
        )
    }

    /// From another device's memory to this one's.
    pub(crate) fn copy_from(
        &self,
        to: Address,
        other: &Port,
        from: Address,
        bytes: usize,
        stream: Object,
    ) -> Result<()> {
        let (mine, theirs) = (self.context, other.context);
        call!(
            self.driver(),
            copy_peer,
            "cuMemcpyPeerAsync",
            to,
            mine,
            from,
            theirs,
            bytes,
            stream
        )
    }

    /// What `work` enqueues on the stream, as a graph that can be launched, instead of running it. `None`
    /// where the driver cannot capture it.
    pub(crate) fn capture(
        &self,
        stream: Object,
        work: impl FnOnce() -> Result<()>,
    ) -> Option<Object> {
        let driver = self.driver();
        call!(
            driver,
            begin_capture,
            "cuStreamBeginCapture",
            stream,
            RELAXED
        )
        .ok()?;
        let worked = work();
        let (mut graph, mut exec) = (std::ptr::null_mut(), std::ptr::null_mut());
        let ended = call!(
            driver,
            end_capture,
            "cuStreamEndCapture",
            stream,
            &raw mut graph
        );
        if graph.is_null() {
            return None;
        }
        let made = worked.and(ended).and_then(|()| {
            let place = &raw mut exec;
            call!(
                driver,
                instantiate,
                "cuGraphInstantiateWithFlags",
                place,
                graph,
                0
            )
        });
        // What was made of it lives on.
        let _ = call!(driver, graph_destroy, "cuGraphDestroy", graph);
        made.ok().map(|()| exec)
    }

    pub(crate) fn launch_graph(&self, graph: Object, stream: Object) -> Result<()> {
        call!(self.driver(), exec_launch, "cuGraphLaunch", graph, stream)
    }

    /// After the last launch; the driver waits for those that run.
    pub(crate) fn destroy_graph(&self, graph: Object) {
        // What fails here is a device that is broken.
        let _ = call!(self.driver(), exec_destroy, "cuGraphExecDestroy", graph);
    }

    /// Launches a kernel; `args` are addresses of its arguments, copied within the call.
    pub(crate) fn launch(
        &self,
        function: Object,
        (grid, block, shared): ([u32; 3], [u32; 3], u32),
        args: &mut [*mut c_void],
        stream: Object,
    ) -> Result<()> {
        call!(
            self.driver(),
            launch,
            "cuLaunchKernel",
            function,
            grid[0],
            grid[1],
            grid[2],
            block[0],
            block[1],
            block[2],
            shared,
            stream,
            args.as_mut_ptr(),
            std::ptr::null_mut()
        )
    }
}
