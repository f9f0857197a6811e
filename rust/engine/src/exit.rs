//! Engines that are finished when the process ends.

use std::time::Duration;

use crate::engine::Engine;
use crate::failure::WaitError;
use crate::grow_only::GrowOnly;
use crate::sync::AcqRel;
use crate::sync::plain::AtomicUsize;

static DUE: GrowOnly<(&'static Engine, Duration)> = GrowOnly::new();
static REGISTERED: AtomicUsize = AtomicUsize::new(0);

/// Has the engine finished at the end of the process.
pub(crate) fn enlist(engine: &'static Engine, limit: Duration) {
    unsafe extern "C" {
        fn atexit(f: extern "C" fn()) -> std::ffi::c_int;
    }
    DUE.push((engine, limit));
    if REGISTERED.swap(1, AcqRel) == 0 {
        // SAFETY: the signature is C's, and the function is there for good.
        let _ = unsafe { atexit(finish) };
    }
}

/// The thread that ends the process may have lost its thread-locals: another one waits.
extern "C" fn finish() {
    on_a_thread(finish_engines);
}

fn finish_engines() {
    for (engine, limit) in DUE.iter() {
        // It may be stopped, and keep what was pushed.
        engine.start();
        match engine.wait_for_all_timeout(*limit) {
            // The child of a fork has nothing to finish.
            Ok(()) | Err(WaitError::Forked) => {}
            Err(WaitError::GivenUp) => {
                let unfinished = engine.core().unfinished(false);
                eprintln!("ferromix-engine: at the end of the process: {unfinished}");
            }
            Err(error) => eprintln!("ferromix-engine: at the end of the process: {error}"),
        }
    }
}

/// Runs `work` to its end, by the system's own calls: older versions of the standard library panic
/// if a thread without thread-locals starts another one.
#[cfg(unix)]
fn on_a_thread(work: fn()) {
    use std::ffi::{c_int, c_void};
    use std::ptr;

    type Start = extern "C" fn(*mut c_void) -> *mut c_void;
    unsafe extern "C" {
        // A `pthread_t` is a number or a pointer, of a pointer's size.
        fn pthread_create(
            thread: *mut usize,
            attributes: *const c_void,
            start: Start,
            argument: *mut c_void,
        ) -> c_int;
        fn pthread_join(thread: usize, result: *mut *mut c_void) -> c_int;
    }
    extern "C" fn start(work: *mut c_void) -> *mut c_void {
        // SAFETY: the function below, which waits until this one has ended.
        let work = unsafe { *work.cast::<fn()>() };
        // What panics has said so.
        let _ = std::panic::catch_unwind(work);
        ptr::null_mut()
    }

    let (mut thread, mut work) = (0, work);
    // SAFETY: the signatures are POSIX's; `thread` and `work` outlive the thread, which is joined.
    unsafe {
        if pthread_create(&mut thread, ptr::null(), start, (&raw mut work).cast()) == 0 {
            let _ = pthread_join(thread, ptr::null_mut());
        }
    }
}

#[cfg(not(unix))]
fn on_a_thread(work: fn()) {
    if let Ok(thread) = std::thread::Builder::new().spawn(work) {
        let _ = thread.join();
    }
}
