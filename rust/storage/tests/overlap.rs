//! Random use from several threads: live blocks never overlap, and the accounts balance.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use ferromix_base::Context;
use ferromix_storage::{Config, Handle, HostBackend, Pool, bucket_size};
use proptest::prelude::*;
use std::sync::Mutex;

#[derive(Clone, Debug)]
enum Step {
    /// Allocates this many bytes and fills them.
    Alloc(usize),
    /// Checks and frees one of the blocks the threads share.
    Free(usize),
    /// Checks one of them and hands it back to the system.
    Discard(usize),
    Trim,
}

/// A block and the byte that fills it.
struct Filled(Handle, u8);

impl Filled {
    fn new(handle: Handle, byte: u8) -> Filled {
        // SAFETY: the handle owns `size` bytes.
        unsafe { handle.as_ptr().write_bytes(byte, handle.size()) };
        Filled(handle, byte)
    }

    fn checked(self) -> Handle {
        // SAFETY: the handle owns `size` bytes, which `new` has written.
        let bytes = unsafe { std::slice::from_raw_parts(self.0.as_ptr(), self.0.size()) };
        assert!(
            bytes.iter().all(|&byte| byte == self.1),
            "another block wrote here"
        );
        self.0
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let size = prop_oneof![
        6 => 1usize..5000,
        2 => Just(64usize),
        1 => 5000usize..200_000,
        1 => (1usize << 20)..(3 << 20),
    ];
    let step = prop_oneof![
        10 => size.prop_map(Step::Alloc),
        9 => any::<usize>().prop_map(Step::Free),
        1 => any::<usize>().prop_map(Step::Discard),
        1 => Just(Step::Trim),
    ];
    proptest::collection::vec(step, 1..150)
}

fn run(pool: &Pool, shared: &Mutex<Vec<Filled>>, steps: &[Step], thread: u8) {
    let take = |place: usize| {
        let mut shared = shared.lock().unwrap();
        let len = shared.len();
        (len > 0).then(|| shared.swap_remove(place % len))
    };
    for (number, step) in steps.iter().enumerate() {
        match *step {
            Step::Alloc(size) => {
                let byte = thread.wrapping_mul(101).wrapping_add(number as u8);
                let filled = Filled::new(pool.alloc(size).unwrap(), byte);
                shared.lock().unwrap().push(filled);
            }
            Step::Free(place) => take(place).into_iter().for_each(|f| pool.free(f.checked())),
            Step::Discard(place) => {
                take(place)
                    .into_iter()
                    .for_each(|f| pool.direct_free(f.checked()));
            }
            Step::Trim => pool.release_all(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn live_blocks_never_overlap(programs in proptest::collection::vec(steps(), 1..4),
                                 thread_cache in prop_oneof![Just(0), Just(10_000), Just(8 << 20)]) {
        let config = Config { thread_cache, ..Config::default() };
        let pool = Pool::new(Context::cpu(), HostBackend, config);
        let shared = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for (thread, steps) in programs.iter().enumerate() {
                let (pool, shared) = (&pool, &shared);
                scope.spawn(move || run(pool, shared, steps, thread as u8));
            }
        });
        let live = shared.into_inner().unwrap();
        let buckets: usize = live.iter().map(|f| bucket_size(f.0.size()).unwrap()).sum();
        let sizes: usize = live.iter().map(|f| f.0.size()).sum();
        let allocs = programs.iter().flatten().filter(|step| matches!(step, Step::Alloc(_))).count();
        let stats = pool.stats();
        prop_assert_eq!((stats.in_use, stats.waste), (buckets, buckets - sizes));
        prop_assert_eq!(stats.hits + stats.misses, allocs as u64);
        prop_assert!(stats.peak_reserved >= stats.in_use + stats.cached);
        live.into_iter().for_each(|filled| pool.free(filled.checked()));
        prop_assert_eq!(pool.stats().in_use, 0);
    }
}
