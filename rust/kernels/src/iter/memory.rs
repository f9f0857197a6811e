//! Elements on their way between strided memory and buffers.

use crate::iter::walk::Cursor;
use crate::simd::body::Run;
use crate::simd::number::Number;
use crate::simd::vector::{Level, level};
use ferromix_base::DType;

/// Which way elements go.
#[derive(Clone, Copy)]
pub(crate) enum Direction {
    /// From the walk to the buffer.
    Gather,
    /// From the buffer to the walk.
    Scatter,
}

impl Direction {
    /// The runs as a loop of two operands takes them.
    pub(crate) fn order(self, place: Run, buffer: Run) -> [Run; 2] {
        match self {
            Direction::Gather => [buffer, place],
            Direction::Scatter => [place, buffer],
        }
    }

    /// # Safety
    /// `place` has `n` elements of `size` bytes, `stride` elements apart; `buffer` has `n`.
    unsafe fn copy(self, size: usize, place: *mut u8, stride: isize, buffer: *mut u8, n: usize) {
        let (from, to) = match self {
            Direction::Gather => ((place, stride), (buffer, 1)),
            Direction::Scatter => ((buffer, 1), (place, stride)),
        };
        // SAFETY: as the caller vouches.
        unsafe {
            match size {
                1 => copy_strided::<u8>(from, to, n),
                2 => copy_strided::<u16>(from, to, n),
                4 => copy_strided::<u32>(from, to, n),
                _ => copy_strided::<u64>(from, to, n),
            }
        }
    }
}

/// # Safety
/// Both places have `n` elements of T at their stride.
#[inline(always)]
unsafe fn copy_strided<T: Copy>(from: (*mut u8, isize), to: (*mut u8, isize), n: usize) {
    let (source, target) = (from.0.cast::<T>(), to.0.cast::<T>());
    if from.1 == 1 && to.1 == 1 {
        // SAFETY: as the caller vouches; a buffer overlaps no tensor.
        return unsafe { std::ptr::copy_nonoverlapping(source, target, n) };
    }
    for i in 0..n as isize {
        // SAFETY: as the caller vouches.
        unsafe {
            target
                .wrapping_offset(i * to.1)
                .write(source.wrapping_offset(i * from.1).read())
        };
    }
}

/// Copies `n` elements of `size` bytes of operand `j`, whose address is `base`, from the walk to
/// `buffer`, or back.
///
/// # Safety
/// The positions from `cursor` on lie within the operand; the buffer holds `n` elements.
pub(crate) unsafe fn transfer<const N: usize>(
    base: *mut u8,
    size: usize,
    j: usize,
    cursor: &Cursor<'_, N>,
    n: usize,
    mut buffer: *mut u8,
    direction: Direction,
) {
    let stride = cursor.row_strides()[j];
    let mut cursor = cursor.clone();
    let mut left = n;
    while left > 0 {
        let run = left.min(cursor.row_left());
        let place = base.wrapping_offset(cursor.place[j] * size as isize);
        // SAFETY: `run` elements lie in this row, `stride` apart.
        unsafe { direction.copy(size, place, stride, buffer, run) };
        buffer = buffer.wrapping_add(run * size);
        cursor.advance_in_row(run);
        left -= run;
    }
}

/// Bytes from which on an output is written by non-temporal stores: it would not stay in the caches, where it would not stay: lines that are written
/// whole need not be read first.
pub(crate) const STREAMED: usize = 16 << 20;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Copies `bytes` from `from` to `to`, by non-temporal stores where this CPU has stores for that.
/// [`finish_stream`] is to follow, on this thread, before others read it. Meanwhile fetches as much from
/// each address of `ahead`, since by itself the processor stops fetching ahead while there are no loads.
///
/// # Safety
/// Both have so many bytes, which do not overlap.
pub(crate) unsafe fn stream(to: *mut u8, from: *const u8, bytes: usize, ahead: &[*const u8]) {
    let head = to.align_offset(LINE).min(bytes);
    let body = (bytes - head) / LINE * LINE;
    // SAFETY: as the caller vouches; from `head` on the lines are aligned, and `level` found the stores.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, head);
        let (line, source) = (to.add(head), from.add(head));
        match level() {
            #[cfg(target_arch = "x86_64")]
            Level::V4 => stream_v4(line, source, body, ahead),
            #[cfg(target_arch = "x86_64")]
            Level::V3 => stream_v3(line, source, body, ahead),
            Level::Base => {
                let _ = ahead;
                std::ptr::copy_nonoverlapping(source, line, body);
            }
        }
        let done = head + body;
        std::ptr::copy_nonoverlapping(from.add(done), to.add(done), bytes - done);
    }
}

macro_rules! streams {
    ($($name:ident: $features:literal, $size:literal, $load:ident, $store:ident;)*) => {$(
        /// Whole aligned lines, by registers; stores of less than a register would not save the reading.
        ///
        /// # Safety
        /// As for [`stream`].
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        unsafe fn $name(to: *mut u8, from: *const u8, bytes: usize, ahead: &[*const u8]) {
            use std::arch::x86_64::{$load, $store, _MM_HINT_T0, _mm_prefetch};
            for line in (0..bytes).step_by(LINE) {
                for start in ahead {
                    _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(line).cast());
                }
                for at in (line..line + LINE).step_by($size) {
                    // SAFETY: as the caller vouches.
                    unsafe { $store(to.add(at).cast(), $load(from.add(at).cast())) };
                }
            }
        }
    )*};
}
streams! {
    stream_v4: "avx512f", 64, _mm512_loadu_ps, _mm512_stream_ps;
    stream_v3: "avx2", 32, _mm256_loadu_ps, _mm256_stream_ps;
}

/// Orders what [`stream`] wrote before what this thread writes from now on.
pub(crate) fn finish_stream() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is always there.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Adds `n` elements at `other` to those at `sum`.
///
/// # Safety
/// Both hold `n` elements of `dtype` and do not overlap.
pub(crate) unsafe fn accumulate(dtype: DType, sum: *mut u8, other: *mut u8, n: usize) {
    /// # Safety
    /// As for the outer function, with T.
    unsafe fn go<T: Copy>(sum: *mut u8, other: *mut u8, n: usize, plus: impl Fn(T, T) -> T) {
        // SAFETY: as the caller vouches.
        let (sum, other) = unsafe {
            (
                std::slice::from_raw_parts_mut(sum.cast::<T>(), n),
                std::slice::from_raw_parts(other.cast::<T>(), n),
            )
        };
        for (s, x) in sum.iter_mut().zip(other) {
            *s = plus(*s, *x);
        }
    }
    // SAFETY: as the caller vouches.
    unsafe {
        match dtype {
            DType::F32 => go::<f32>(sum, other, n, Number::plus),
            DType::F64 => go::<f64>(sum, other, n, Number::plus),
            DType::I32 => go::<i32>(sum, other, n, Number::plus),
            DType::I64 => go::<i64>(sum, other, n, Number::plus),
            DType::U8 | DType::I8 => go::<u8>(sum, other, n, Number::plus),
            DType::Bool => go::<bool>(sum, other, n, |a, b| a | b),
            DType::F16 => go::<ferromix_base::f16>(sum, other, n, |a, b| a + b),
            DType::BF16 => go::<ferromix_base::bf16>(sum, other, n, |a, b| a + b),
        }
    }
}
