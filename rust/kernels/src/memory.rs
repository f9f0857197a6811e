//! Elements on their way between strided memory and buffers.

use crate::body::Run;
use crate::number::Number;
use crate::walk::Cursor;
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
