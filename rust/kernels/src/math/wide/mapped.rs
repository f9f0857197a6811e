//! Loops that take registers.

use super::avx2::Avx2;
use super::avx512::Avx512;
use super::{Function, Registers};
use crate::simd::body::{Body, Run};
use crate::simd::vector::Level;
use std::marker::PhantomData;

/// A loop over `n` numbers, which writes them to the first address.
pub(super) type Map = unsafe fn(*mut f32, *const f32, usize);

/// The loop of `F`.
struct Mapped<F> {
    plain: Map,
    /// The same by non-temporal stores, for an output that is aligned to cache lines.
    streamed: Map,
    marker: PhantomData<fn() -> F>,
}

/// Boxes the loop of `F` for a CPU that has this level, if it has registers.
pub(super) fn find<F: Function>(level: Level) -> Option<Box<dyn Body<2>>> {
    let [plain, streamed] = loops::<F>(level)?;
    Some(Box::new(Mapped::<F> {
        plain,
        streamed,
        marker: PhantomData,
    }))
}

/// The loop of `F`, and the one by non-temporal stores.
pub(super) fn loops<F: Function>(level: Level) -> Option<[Map; 2]> {
    match level {
        Level::V4 => Some([v4::<F, false>, v4::<F, true>]),
        Level::V3 => Some([v3::<F, false>, v3::<F, true>]),
        Level::Base => None,
    }
}

impl<F: Function> Body<2> for Mapped<F> {
    unsafe fn run(&self, [d, s]: [Run; 2], n: usize) {
        let (d, from) = (d.ptr.cast::<f32>(), s.ptr.cast::<f32>());
        if s.uniform {
            // SAFETY: the caller vouches for `n` elements and for one.
            unsafe { std::slice::from_raw_parts_mut(d, n).fill(F::of(*from)) };
        } else {
            // SAFETY: the caller vouches for the elements, whoever made this for the CPU.
            unsafe { (self.plain)(d, from, n) };
        }
    }

    fn streams(&self) -> bool {
        true
    }

    unsafe fn run_streamed(&self, [d, s]: [Run; 2], n: usize) {
        if s.uniform {
            // SAFETY: as the caller vouches.
            return unsafe { self.run([d, s], n) };
        }
        let (d, s) = (d.ptr.cast::<f32>(), s.ptr.cast::<f32>());
        let head = d.align_offset(LINE).min(n);
        // SAFETY: as in `run`; after the head, the output is aligned.
        unsafe {
            (self.plain)(d, s, head);
            (self.streamed)(d.add(head), s.add(head), n - head);
        }
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;
/// How many numbers ahead of a loop that writes by non-temporal stores its input is fetched.
const AHEAD: usize = 4096;

/// # Safety
/// The CPU has the level; `n` numbers can be read at `s` and written at `d`, which is aligned to a
/// cache line for non-temporal stores.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn v4<F: Function, const PAST: bool>(d: *mut f32, s: *const f32, n: usize) {
    // SAFETY: as the caller vouches.
    unsafe { map::<F, Avx512<4>, Avx512<1>, PAST>(d, s, n) };
}

/// # Safety
/// As [`v4`].
#[target_feature(enable = "avx2,fma")]
unsafe fn v3<F: Function, const PAST: bool>(d: *mut f32, s: *const f32, n: usize) {
    // SAFETY: as the caller vouches.
    unsafe { map::<F, Avx2<2>, Avx2<1>, PAST>(d, s, n) };
}

/// # Safety
/// As [`v4`].
#[inline(always)]
unsafe fn map<F: Function, Many: Registers, One: Registers, const PAST: bool>(
    d: *mut f32,
    s: *const f32,
    n: usize,
) {
    let mut i = 0;
    while n - i >= Many::N {
        if PAST {
            fetch(s.wrapping_add(i + AHEAD), Many::N);
        }
        // SAFETY: as the caller vouches; all are read before the first is written.
        unsafe {
            let y = F::of(Many::load(s.add(i), Many::N));
            if PAST {
                y.stream(d.add(i));
            } else {
                y.store(d.add(i), Many::N);
            }
        }
        i += Many::N;
    }
    while i < n {
        let left = (n - i).min(One::N);
        // SAFETY: as above.
        unsafe { F::of(One::load(s.add(i), left)).store(d.add(i), left) };
        i += left;
    }
}

/// Asks for the cache lines of `n` numbers, wherever they are.
#[inline(always)]
fn fetch(from: *const f32, n: usize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    for at in (0..n).step_by(LINE / size_of::<f32>()) {
        // SAFETY: only a hint, for any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(at).cast()) };
    }
}
