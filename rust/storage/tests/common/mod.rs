//! What the tests of the pool share.
#![allow(dead_code, reason = "no test program uses all of it")]

use ferromix_base::{Context, Result};
use ferromix_storage::{Backend, Config, HostBackend, Pool, RawBlock};
use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

pub(crate) const MIB: usize = 1 << 20;

/// A pool of host memory with the settings that one gets.
pub(crate) fn pool() -> Pool {
    Pool::new(Context::cpu(), HostBackend, Config::default())
}

/// One that takes at most `limit` bytes.
pub(crate) fn limited(limit: usize) -> Pool {
    Pool::new(
        Context::cpu(),
        HostBackend,
        Config {
            limit: Some(limit),
            ..Config::default()
        },
    )
}

/// The host backend with a register of what is live, and a number for each block.
#[derive(Clone, Default)]
pub(crate) struct Audited {
    pub(crate) live: Arc<Mutex<HashMap<usize, usize>>>,
    pub(crate) count: Arc<AtomicUsize>,
}

// SAFETY: blocks are those of `HostBackend`.
unsafe impl Backend for Audited {
    fn alloc(&self, size: usize, align: usize) -> Result<RawBlock> {
        let block = HostBackend.alloc(size, align)?;
        assert!(
            self.live
                .lock()
                .unwrap()
                .insert(block.ptr.as_ptr() as usize, size)
                .is_none()
        );
        let number = self.count.fetch_add(1, Ordering::Relaxed) as u64 + 1;
        Ok(RawBlock {
            shared_id: NonZeroU64::new(number),
            ..block
        })
    }

    unsafe fn free(&self, block: RawBlock, size: usize) {
        let known = self
            .live
            .lock()
            .unwrap()
            .remove(&(block.ptr.as_ptr() as usize));
        assert_eq!(known, Some(size), "freed as it was allocated, once");
        // SAFETY: the block is one of `HostBackend`, with its size.
        unsafe { HostBackend.free(block, size) };
    }
}

/// Asks again and again, for a second.
pub(crate) fn wait_for(mut done: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if done() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("not done after a second");
}

/// Runs `first` on a thread that then idles, its caches alive, while `then` runs here.
pub(crate) fn beside_idle<R>(first: impl FnOnce() + Send, then: impl FnOnce() -> R) -> R {
    let (done, wait) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            first();
            done.wait();
            wait.wait();
        });
        done.wait();
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(then));
        wait.wait();
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
