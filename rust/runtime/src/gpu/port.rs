//! The calls of the driver for one device.

use super::driver::{Address, Driver, Object, call};
use ferromix_base::Result;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// Events that only order, which cost less than those that measure time.
const DISABLE_TIMING: c_uint = 2;
/// Streams that the default stream does not wait for.
const NON_BLOCKING: c_uint = 1;
/// Page-locked memory that is so for all devices.
const PORTABLE: c_uint = 1;
/// Captures that leave other threads, and other calls of this one, alone.
const RELAXED: c_uint = 2;

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

    /// The driver's number of the device.
    pub(crate) fn number(&self) -> c_int {
        self.number
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
