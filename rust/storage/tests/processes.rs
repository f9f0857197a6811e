//! Page-locked and shared memory with real processes: limits, crashes, blocks that change hands. A child is this very
//! test program, which finds its part in the environment.
#![cfg(all(target_os = "linux", not(loom)))]
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use ferromix_base::{Context, DeviceType, ErrorKind};
use ferromix_storage::{
    Config, Handle, HostBackend, PinnedBackend, PinnedIfAllowed, Pool, SharedBackend, SharedBlock,
};
use std::io::{BufRead, BufReader};
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::process::{Child, ChildStdout, Command, Stdio};

const MIB: usize = 1 << 20;

fn shared() -> Pool {
    let context = Context {
        device_type: DeviceType::CpuShared,
        device_id: 0,
    };
    Pool::new(context, SharedBackend, Config::default())
}

fn pinned() -> Pool {
    let context = Context {
        device_type: DeviceType::CpuPinned,
        device_id: 0,
    };
    Pool::new(context, PinnedBackend, Config::default())
}

fn filled(pool: &Pool, size: usize, byte: u8) -> (Handle, NonZeroU64) {
    let block = pool.alloc(size).unwrap();
    // SAFETY: the block has `size` bytes, and nobody else writes them.
    unsafe { block.as_ptr().write_bytes(byte, size) };
    let id = block.shared_id().unwrap();
    (block, id)
}

fn bytes(block: &SharedBlock) -> &[u8] {
    // SAFETY: the block has its size, and nobody writes while a test reads.
    unsafe { std::slice::from_raw_parts(block.as_ptr(), block.size()) }
}

/// A child that plays `part` and talks by lines that begin with `says:`.
struct Player(Child, BufReader<ChildStdout>);

impl Player {
    fn new(part: &str, argument: impl ToString) -> Player {
        Player::with_input(part, argument, Stdio::null())
    }

    fn with_input(part: &str, argument: impl ToString, input: Stdio) -> Player {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_part_of_another_test", "--nocapture"])
            .env("FERROMIX_TEST_PART", part)
            .env("FERROMIX_TEST_ARGUMENT", argument.to_string())
            .stdin(input)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Player(child, output)
    }

    fn hears(&mut self) -> String {
        for line in (&mut self.1).lines() {
            if let Some((_, said)) = line.unwrap().split_once("says:") {
                return said.to_owned();
            }
        }
        panic!("the child ended without a word")
    }

    /// Ends it as a crash would: by signal 9.
    fn kill(self) {}
}

impl Drop for Player {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn wait_for_ever() -> ! {
    loop {
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
}

/// No test by itself: what the children of the others do.
#[test]
fn a_part_of_another_test() {
    let Ok(part) = std::env::var("FERROMIX_TEST_PART") else {
        return;
    };
    let argument: u64 = std::env::var("FERROMIX_TEST_ARGUMENT")
        .unwrap()
        .parse()
        .unwrap();
    match part.as_str() {
        "owner" => {
            let pool = shared();
            let (_block, id) = filled(&pool, argument as usize, 42);
            println!("\nsays:{id}");
            wait_for_ever();
        }
        "reader" => {
            let block = SharedBlock::open(NonZeroU64::new(argument).unwrap()).unwrap();
            println!("\nsays:{}", bytes(&block)[block.size() - 1]);
            wait_for_ever();
        }
        "heir" => {
            let descriptor = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
            let block = SharedBlock::from_fd(descriptor).unwrap();
            assert_eq!(block.size() as u64, argument);
            println!("\nsays:{}", bytes(&block)[99]);
            wait_for_ever();
        }
        "locker" => {
            limit(libc::RLIMIT_MEMLOCK, argument);
            // SAFETY: plain calls; a root process gives up the right to ignore the limit.
            unsafe { assert!(libc::geteuid() != 0 || libc::setuid(65534) == 0) };
            println!("\nsays:{}", pinned().alloc(4 * MIB).unwrap_err());
            let backend = PinnedIfAllowed::default();
            let pool = Pool::new(Context::cpu(), backend.clone(), Config::default());
            let small = pool.alloc(4096).unwrap();
            assert_eq!(backend.refusal(), None);
            let large = pool.alloc(4 * MIB).unwrap();
            println!("\nsays:{}", backend.refusal().unwrap());
            pool.free(small);
            pool.free(large);
        }
        "opener" => {
            limit(libc::RLIMIT_NOFILE, argument);
            let pool = shared();
            let error = (0..=argument).find_map(|_| pool.alloc(1).err());
            println!("\nsays:{}", error.unwrap());
        }
        _ => panic!("no such part: {part}"),
    }
}

fn limit(what: libc::__rlimit_resource_t, most: u64) {
    let limit = libc::rlimit {
        rlim_cur: most,
        rlim_max: most,
    };
    // SAFETY: reads the struct it is given.
    assert_eq!(unsafe { libc::setrlimit(what, &limit) }, 0);
}

fn names_in_shm() -> Vec<std::ffi::OsString> {
    let list = std::fs::read_dir("/dev/shm").into_iter().flatten();
    list.map(|entry| entry.unwrap().file_name()).collect()
}

#[test]
fn a_block_outlives_an_owner_that_was_killed_and_leaves_no_name() {
    let mut owner = Player::new("owner", 5 * MIB);
    let id: NonZeroU64 = owner.hears().parse().unwrap();
    let block = SharedBlock::open(id).unwrap();
    assert_eq!((block.size(), block.shared_id()), (5 * MIB, id));
    owner.kill();
    assert!(bytes(&block).iter().all(|&byte| byte == 42));
    let left = names_in_shm();
    assert!(
        !left
            .iter()
            .any(|name| name.to_string_lossy().contains("ferromix")),
        "{left:?}"
    );
    let error = SharedBlock::open(id).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(
        error.to_string().contains("as long as its handle"),
        "{error}"
    );
}

#[test]
fn a_block_that_is_being_read_is_not_handed_out_again() {
    let pool = shared();
    for size in [100, 3 * MIB] {
        let (block, id) = filled(&pool, size, 7);
        let mut reader = Player::new("reader", id);
        reader.hears();
        pool.free(block);
        let view = SharedBlock::open(id).unwrap();
        let (block, second) = filled(&pool, size, 8);
        assert_ne!(second, id);
        assert!(bytes(&view).iter().take(size).all(|&byte| byte == 7));
        assert!(SharedBlock::open(id).is_err(), "the owner let go of it");
        drop(view);
        reader.kill();
        // A reader that crashed does not count.
        let mut reader = Player::new("reader", second);
        reader.hears();
        pool.free(block);
        reader.kill();
        let (block, third) = filled(&pool, size, 9);
        assert_eq!(third, second);
        pool.free(block);
    }
    let stats = pool.stats();
    assert_eq!((stats.misses, stats.hits, stats.released), (4, 2, 2));
}

#[test]
fn nonsense_is_no_block() {
    let pid = u64::from(std::process::id()) << 42;
    for id in [1, u64::MAX, pid, pid | 1 << 22, pid | 900_000 << 22] {
        let error = SharedBlock::open(NonZeroU64::new(id).unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    }
    assert!(
        shared()
            .alloc(1 << 46)
            .unwrap_err()
            .to_string()
            .contains("more than there are")
    );
}

#[test]
fn a_descriptor_keeps_a_block_whatever_its_handle_does() {
    let pool = shared();
    let (block, id) = filled(&pool, 2 * MIB, 5);
    let descriptor = block.share().unwrap();
    pool.free(block);
    let (other, second) = filled(&pool, 2 * MIB, 6);
    assert_ne!(second, id, "the block is on its way to somebody");
    let mut heir = Player::with_input("heir", 2 * MIB, descriptor.into());
    assert_eq!(heir.hears(), "5");
    pool.free(other);
}

#[test]
fn a_block_that_was_received_can_be_passed_on() {
    let pool = shared();
    let (block, _) = filled(&pool, 100, 5);
    let view = SharedBlock::from_fd(block.share().unwrap()).unwrap();
    pool.free(block);
    let mut heir = Player::with_input("heir", 4096, view.share().unwrap().into());
    let by_id = SharedBlock::open(view.shared_id()).unwrap();
    drop(view);
    // SAFETY: the block is larger, and the child has read it or will read it.
    assert_eq!(unsafe { by_id.as_ptr().read() }, 5);
    assert_eq!(heir.hears(), "5");
}

#[test]
fn a_descriptor_of_something_else_is_refused() {
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    let error = SharedBlock::from_fd(file.into()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("is no shared memory"), "{error}");
    let host = Pool::new(Context::cpu(), HostBackend, Config::default());
    let block = host.alloc(100).unwrap();
    let error = block.share().unwrap_err();
    assert!(
        error.to_string().contains("cpu(0) cannot be shared"),
        "{error}"
    );
    host.free(block);
}

#[test]
fn too_few_descriptors_are_an_error_with_advice() {
    let error = Player::new("opener", 40).hears();
    assert!(
        error.contains("RLIMIT_NOFILE") && error.contains("cpu_shared(0)"),
        "{error}"
    );
}

fn locked_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmLck:"))
        .unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<usize>()
        .unwrap()
        * 1024
}

#[test]
fn pinned_memory_is_locked_until_it_is_released() {
    let pool = pinned();
    let blocks = [1, 5000, MIB].map(|size| pool.alloc(size).unwrap());
    // A power of two of pages each, but for the second: two pages.
    let expected = 4096 + 8192 + MIB;
    assert_eq!(locked_bytes(), expected);
    for block in blocks {
        assert_eq!(block.as_ptr() as usize % 4096, 0);
        pool.free(block);
    }
    assert_eq!(locked_bytes(), expected, "kept blocks stay locked");
    pool.release_all();
    assert_eq!(locked_bytes(), 0);
}

#[test]
fn a_limit_on_locked_memory_is_an_error_with_advice() {
    let mut locker = Player::new("locker", 65536);
    let (error, refusal) = (locker.hears(), locker.hears());
    for part in ["RLIMIT_MEMLOCK", "65536", "ulimit -l"] {
        assert!(error.contains(part), "{part} not in: {error}");
        assert!(refusal.contains(part), "{part} not in: {refusal}");
    }
    assert!(error.contains("cpu_pinned(0)"), "{error}");
}
