//! Engines that are finished when the process ends.

use std::time::Duration;

use crate::api::engine::Engine;
use crate::base::grow_only::GrowOnly;
use crate::base::sync::AcqRel;
use crate::base::sync::plain::AtomicUsize;
use crate::types::failure::WaitError;

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
    #[cfg(all(unix, not(any(loom, shuttle))))]
    if let Ok(thread) = crate::base::native::NativeThread::start(finish_engines) {
        thread.join();
    }
    #[cfg(not(all(unix, not(any(loom, shuttle)))))]
    if let Ok(thread) = std::thread::Builder::new().spawn(finish_engines) {
        let _ = thread.join();
    }
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
