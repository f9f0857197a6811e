//! What a memory pool is asked to do, for measuring: the pool and `malloc` on the same work.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each program includes this module and uses a part of it"
)]
#![allow(clippy::unwrap_used, reason = "a failure here is a failed run")]

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use ferromix_base::Context;
use ferromix_storage::{Config, Handle, HostBackend, Pool};

/// Whoever hands out memory.
pub trait Allocator: Sync {
    /// A piece of memory.
    type Block: Send;
    fn take(&self, size: usize) -> Self::Block;
    fn give(&self, block: Self::Block);
    fn address(block: &Self::Block) -> *mut u8;
}

/// A pool with the settings that it has by itself.
pub fn pool() -> Pool {
    Pool::new(Context::cpu(), HostBackend, Config::default())
}

impl Allocator for Pool {
    type Block = Handle;

    fn take(&self, size: usize) -> Handle {
        self.alloc(black_box(size)).unwrap()
    }

    fn give(&self, block: Handle) {
        self.free(block);
    }

    fn address(block: &Handle) -> *mut u8 {
        block.as_ptr()
    }
}

/// A pool that gives every block back to the system.
pub struct Fresh(pub Pool);

impl Allocator for Fresh {
    type Block = Handle;

    fn take(&self, size: usize) -> Handle {
        self.0.take(size)
    }

    fn give(&self, block: Handle) {
        self.0.direct_free(block);
    }

    fn address(block: &Handle) -> *mut u8 {
        block.as_ptr()
    }
}

/// The `malloc` of this process: glibc's, or that of a preloaded library.
pub struct Malloc;

/// What `malloc` returned.
pub struct Memory(*mut libc::c_void);

// SAFETY: memory from malloc belongs to no thread.
unsafe impl Send for Memory {}

impl Allocator for Malloc {
    type Block = Memory;

    fn take(&self, size: usize) -> Memory {
        // SAFETY: any size may be asked for.
        let memory = black_box(unsafe { libc::malloc(black_box(size)) });
        assert!(!memory.is_null());
        Memory(memory)
    }

    fn give(&self, block: Memory) {
        // SAFETY: it came from malloc, and is given back once, since the block is consumed.
        unsafe { libc::free(block.0) };
    }

    fn address(block: &Memory) -> *mut u8 {
        block.0.cast()
    }
}

/// Takes a block and gives it back.
fn pair<A: Allocator>(allocator: &A, size: usize) {
    let block = allocator.take(size);
    black_box(A::address(&block));
    allocator.give(block);
}

/// Takes a block and gives it back, so many times.
pub fn reuse<A: Allocator>(allocator: &A, size: usize, times: u64) -> Duration {
    let begin = Instant::now();
    (0..times).for_each(|_| pair(allocator, size));
    begin.elapsed()
}

/// `work(thread)` on two threads at once: the time from when both are there to when both are done.
fn two_threads(work: impl Fn(u64) + Sync) -> Duration {
    let (ready, work) = (Barrier::new(2), &work);
    let one = |thread: u64| {
        ready.wait();
        let begin = Instant::now();
        work(thread);
        begin.elapsed()
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| one(1));
        one(0).max(other.join().unwrap())
    })
}

/// [`reuse`] on two threads at once.
pub fn fight<A: Allocator>(allocator: &A, size: usize, times: u64) -> Duration {
    two_threads(|_| (0..times).for_each(|_| pair(allocator, size)))
}

/// Two threads with sixteen places each for a block. A step looks at a random place, takes a block
/// for it if it is empty, and else gives the block back; two steps count as one time.
pub fn at_random<A: Allocator>(allocator: &A, size: usize, times: u64) -> Duration {
    two_threads(|thread| {
        let mut state = 0x9e37_79b9_7f4a_7c15 ^ (thread + 1);
        let mut places: [Option<A::Block>; 16] = std::array::from_fn(|_| None);
        for _ in 0..2 * times {
            // xorshift64
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let place = &mut places[(state >> 60) as usize];
            match place.take() {
                Some(block) => allocator.give(block),
                None => *place = Some(allocator.take(size)),
            }
        }
        places.into_iter().flatten().for_each(|b| allocator.give(b));
    })
}

/// What comes next, without ever sleeping: waking a thread costs more than what is measured.
fn next<T>(queue: &Receiver<T>) -> Option<T> {
    loop {
        match queue.try_recv() {
            Ok(item) => return Some(item),
            Err(TryRecvError::Empty) => std::thread::yield_now(),
            Err(TryRecvError::Disconnected) => return None,
        }
    }
}

/// One thread takes blocks, another gives them back. They pass sixteen at a time, so that this
/// measures the allocator more than the queue between them.
pub fn hand_over<A: Allocator>(allocator: &A, size: usize, times: u64) -> Duration {
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let (full, filled) = sync_channel::<Vec<A::Block>>(4);
        let (empty, emptied) = sync_channel::<Vec<A::Block>>(4);
        (0..4).for_each(|_| empty.send(Vec::with_capacity(16)).unwrap());
        scope.spawn(move || {
            while let Some(mut batch) = next(&filled) {
                batch.drain(..).for_each(|block| allocator.give(block));
                // The producer may have ended.
                let _ = empty.send(batch);
            }
        });
        for _ in 0..times.div_ceil(16) {
            let mut batch = next(&emptied).unwrap();
            batch.extend((0..16).map(|_| allocator.take(size)));
            full.send(batch).unwrap();
        }
    });
    begin.elapsed()
}

/// Writes to each page of a block.
fn touch<A: Allocator>(block: &A::Block, size: usize) {
    for page in (0..size).step_by(4096) {
        // SAFETY: within the block, of which this is the only user.
        unsafe { A::address(block).add(page).write_volatile(1) };
    }
}

/// Takes a block, writes to each of its pages, gives it back.
pub fn touched<A: Allocator>(allocator: &A, size: usize, times: u64) -> Duration {
    let begin = Instant::now();
    for _ in 0..times {
        let block = allocator.take(size);
        touch::<A>(&block, size);
        allocator.give(block);
    }
    begin.elapsed()
}

/// What a step of training does: takes 24 blocks of up to `largest` bytes, writes to each of their
/// pages, gives all back.
pub fn step<A: Allocator>(allocator: &A, largest: usize, times: u64) -> Duration {
    let sizes = [64, 4 << 10, 300 << 10, 2 << 20, 9 << 20, largest].repeat(4);
    let begin = Instant::now();
    for _ in 0..times {
        let blocks = sizes.iter().map(|&size| {
            let block = allocator.take(size);
            touch::<A>(&block, size);
            block
        });
        let blocks: Vec<_> = blocks.collect();
        blocks.into_iter().for_each(|block| allocator.give(block));
    }
    begin.elapsed()
}
