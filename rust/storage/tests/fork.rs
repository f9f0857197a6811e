//! Shared memory and `fork`. One test, since a fork concerns all that the process has.
#![cfg(all(target_os = "linux", not(loom)))]
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use ferromix_base::{Context, DeviceType};
use ferromix_storage::{Config, Handle, Pool, SharedBackend, SharedBlock};
use std::io::{Read, Write};
use std::num::NonZeroU64;
use std::os::unix::net::UnixStream;

const MIB: usize = 1 << 20;

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

fn succeeded(child: libc::pid_t) {
    let mut status = -1;
    // SAFETY: waits for a child of this process.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
}

fn a_forked_child_takes_no_kept_block_of_its_parent(pool: &Pool) {
    for size in [100, 2 * MIB] {
        let (block, id) = filled(pool, size, 7);
        pool.free(block);
        // SAFETY: the child uses only this pool, whose locks nobody holds, and leaves at once.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let (_, other) = filled(pool, size, 9);
            let seen = SharedBlock::open(other).is_ok_and(|block| bytes(&block)[0] == 9);
            // SAFETY: ends the child without running anything of the parent's.
            unsafe { libc::_exit(i32::from(other == id || !seen)) };
        }
        succeeded(child);
        let block = pool.alloc(size).unwrap();
        assert_eq!(block.shared_id(), Some(id));
        // SAFETY: the block has `size` bytes, written above.
        let kept = unsafe { std::slice::from_raw_parts(block.as_ptr(), size) };
        assert!(kept.iter().all(|&byte| byte == 7));
        pool.free(block);
    }
}

/// The child goes on with a block that the parent gives up, and the parent gets another one.
fn a_block_in_use_during_a_fork_is_never_handed_out_again(pool: &Pool) {
    let size = 2 * MIB;
    let (block, id) = filled(pool, size, 7);
    let (mut parent_says, mut to_child) = UnixStream::pair().unwrap();
    // SAFETY: the child uses only this pool, whose locks nobody holds, and leaves at once.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let told = parent_says.read_exact(&mut [0]).is_ok();
        // SAFETY: the block has `size` bytes, which nobody writes any more.
        let mine = unsafe { std::slice::from_raw_parts(block.as_ptr(), size) };
        let intact = mine.iter().all(|&byte| byte == 7);
        pool.free(block);
        let gone = pool.stats().cached == 0;
        // SAFETY: ends the child without running anything of the parent's.
        unsafe { libc::_exit(i32::from(!(told && intact && gone))) };
    }
    let before = pool.stats().released;
    pool.free(block);
    assert_eq!(pool.stats().released, before + 1, "not kept");
    let (other, second) = filled(pool, size, 9);
    assert_ne!(second, id);
    to_child.write_all(&[1]).unwrap();
    succeeded(child);
    pool.free(other);
    let again = pool.alloc(size).unwrap();
    assert_eq!(again.shared_id(), Some(second), "the fork is over");
    pool.free(again);
}

#[test]
fn forks_leave_parent_and_child_their_blocks() {
    let context = Context {
        device_type: DeviceType::CpuShared,
        device_id: 0,
    };
    let pool = Pool::new(context, SharedBackend, Config::default());
    a_forked_child_takes_no_kept_block_of_its_parent(&pool);
    pool.release_all();
    a_block_in_use_during_a_fork_is_never_handed_out_again(&pool);
}
