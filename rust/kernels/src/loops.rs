//! Elementwise loops over strided, broadcast and differently typed operands: the one place that
//! follows strides through memory.
//!
//! An operator brings a loop over gapless runs ([`Body`]); here operands are walked in an order
//! that suits the memory of the output, runs are handed over as they are where they have no gaps
//! and the right type, and go through small buffers otherwise. Work is split over threads by fixed
//! sizes. An output may be the very memory of an input ([`Req::Inplace`]): every element is read
//! before the run that it belongs to is written, by the thread that writes it.

use crate::body::{Body, Run};
use crate::convert::{converter, mover};
use crate::walk::{Cursor, Order, Walk, broadcast_strides};
use crate::{Req, View, par};
use ferromix_base::{DType, Element, Result, Strides};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Elements of a run that goes through buffers.
const BLOCK: usize = 512;

/// Rows shorter than this are gathered several at a time.
const SHORT_ROW: usize = 64;

/// Elements of a task of a cheap operator, such as an addition.
pub(crate) const GRAIN: usize = 1 << 16;

/// Elements of a task of a dear operator, such as a logarithm.
pub(crate) const DEAR_GRAIN: usize = 1 << 13;

/// A loop with the types that it wants.
pub(crate) struct Op<'a, const N: usize> {
    /// The element types of the runs; operands of other types are converted.
    pub(crate) types: [DType; N],
    /// The loop.
    pub(crate) body: &'a dyn Body<N>,
    /// Elements of one task.
    pub(crate) grain: usize,
}

/// Computes `views[0]` from the other views, which broadcast to its shape.
///
/// # Errors
/// Shapes that do not broadcast.
pub(crate) fn map<const N: usize>(op: &Op<'_, N>, views: [&View; N], req: Req) -> Result<()> {
    if req == Req::Null || views[0].is_empty() {
        return Ok(());
    }
    let plan = Plan::new(op, views, req)?;
    par::for_ranges(plan.walk.total, op.grain, |range| {
        plan.run(range.start, range.end)
    });
    Ok(())
}

/// How a run of an operand reaches the loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// As it lies in memory.
    Direct,
    /// As one element that stands for all.
    Uniform,
    /// Collected in a buffer.
    Gathered,
}

struct Plan<'a, const N: usize> {
    op: &'a Op<'a, N>,
    walk: Walk<N>,
    base: [Ptr; N],
    dtypes: [DType; N],
    access: [Access; N],
    add: bool,
    /// Whether runs end with rows.
    by_rows: bool,
    /// Whether the loop may write the output's memory itself.
    direct_out: bool,
    /// Longest run.
    longest: usize,
}

#[derive(Clone, Copy)]
struct Ptr(*mut u8);

// SAFETY: the address of a view, which may go to any thread (see `View`).
unsafe impl Send for Ptr {}
// SAFETY: as for Send.
unsafe impl Sync for Ptr {}

type Buffer = MaybeUninit<[u64; BLOCK]>;

impl<'a, const N: usize> Plan<'a, N> {
    fn new(op: &'a Op<'a, N>, views: [&View; N], req: Req) -> Result<Self> {
        let walk = walk(views)?;
        let by_rows = walk.dims.len() == 1 || walk.inner() >= SHORT_ROW;
        let step = walk.inner_strides();
        let dtypes = views.map(View::dtype);
        let access = std::array::from_fn(|j| {
            let constant = walk.strides.iter().all(|s| s[j] == 0);
            if j > 0 && (constant || by_rows && step[j] == 0) {
                Access::Uniform
            } else if walk.flat(j) || by_rows && step[j] == 1 {
                Access::Direct
            } else {
                Access::Gathered
            }
        });
        let shared = (1..N).any(|j| views[j].ptr() == views[0].ptr());
        let unlike = (1..N).any(|j| op.types[j] != op.types[0]);
        let add = req == Req::Add;
        let as_is = |j: usize| dtypes[j] == op.types[j];
        let direct_out =
            access[0] == Access::Direct && as_is(0) && !add && !(shared && (N > 2 || unlike));
        let unbuffered = direct_out && (1..N).all(|j| as_is(j) && access[j] != Access::Gathered);
        Ok(Plan {
            op,
            base: views.map(|v| Ptr(v.ptr())),
            dtypes,
            access,
            add,
            by_rows,
            direct_out,
            longest: if unbuffered { usize::MAX } else { BLOCK },
            walk,
        })
    }

    /// Computes the positions from `start` to `end`.
    fn run(&self, start: usize, end: usize) {
        let mut cursor = self.walk.cursor(start);
        let mut left = end - start;
        while left > 0 {
            let mut n = left.min(self.longest);
            if self.by_rows {
                n = n.min(cursor.row_left());
            }
            // SAFETY: the walk stays within the views, whose memory `View::from_raw` vouches for;
            // tasks write disjoint positions.
            unsafe { self.block(&cursor, n) };
            if self.by_rows {
                cursor.advance_in_row(n);
            } else {
                cursor.advance(n);
            }
            left -= n;
        }
    }

    /// Computes `n` positions from `cursor` on, all in one row where the plan goes by rows.
    ///
    /// # Safety
    /// The positions are within the walk, and no other thread has them.
    unsafe fn block(&self, cursor: &Cursor<'_, N>, n: usize) {
        let mut raw: [Buffer; N] = [const { MaybeUninit::uninit() }; N];
        let mut ready: [Buffer; N] = [const { MaybeUninit::uninit() }; N];
        let mut runs = [Run {
            ptr: std::ptr::null_mut(),
            uniform: false,
        }; N];
        for j in 1..N {
            let (raw, ready) = (raw[j].as_mut_ptr().cast(), ready[j].as_mut_ptr().cast());
            // SAFETY: the buffers hold BLOCK elements, and `n` is no more where one is used.
            runs[j] = unsafe { self.load(j, cursor, n, raw, ready) };
        }
        let place = self.address(0, cursor);
        runs[0].ptr = if self.direct_out {
            place
        } else {
            ready[0].as_mut_ptr().cast()
        };
        // SAFETY: the inputs are loaded; the output is the buffer, or memory of the right type
        // that overlaps no input but as `Body::run` allows (`direct_out`).
        unsafe { self.op.body.run(runs, n) };
        if !self.direct_out {
            let old = raw[0].as_mut_ptr().cast();
            // SAFETY: as for `load`.
            unsafe { self.store(cursor, n, runs[0].ptr, old) };
        }
    }

    fn address(&self, j: usize, cursor: &Cursor<'_, N>) -> *mut u8 {
        let bytes = cursor.place[j] * self.dtypes[j].size() as isize;
        self.base[j].0.wrapping_offset(bytes)
    }

    /// The run of operand `j`, in memory or in one of the buffers.
    ///
    /// # Safety
    /// As [`Plan::block`]; the buffers hold `n` elements of 8 bytes where they are needed.
    unsafe fn load(
        &self,
        j: usize,
        cursor: &Cursor<'_, N>,
        n: usize,
        raw: *mut u8,
        ready: *mut u8,
    ) -> Run {
        let mut run = Run {
            ptr: self.address(j, cursor),
            uniform: self.access[j] == Access::Uniform,
        };
        let count = if run.uniform { 1 } else { n };
        if self.access[j] == Access::Gathered {
            // SAFETY: the buffer has room; the walk stays within the view.
            unsafe { self.transfer(j, cursor, n, raw, Direction::Gather) };
            run.ptr = raw;
        }
        if self.dtypes[j] != self.op.types[j] {
            let target = Run {
                ptr: ready,
                uniform: false,
            };
            let source = Run {
                uniform: false,
                ..run
            };
            // SAFETY: `count` elements are readable, and the other buffer has room.
            unsafe { converter(self.dtypes[j], self.op.types[j]).run([target, source], count) };
            run.ptr = ready;
        }
        run
    }

    /// Brings `n` results from the buffer `ready` to the output.
    ///
    /// # Safety
    /// As [`Plan::block`]; `raw` is another buffer of `n` elements.
    unsafe fn store(&self, cursor: &Cursor<'_, N>, n: usize, ready: *mut u8, raw: *mut u8) {
        let (have, want) = (self.op.types[0], self.dtypes[0]);
        let [result, other] = [ready, raw].map(|ptr| Run {
            ptr,
            uniform: false,
        });
        let mut old: Buffer = MaybeUninit::uninit();
        let old = Run {
            ptr: old.as_mut_ptr().cast(),
            uniform: false,
        };
        // Sums of halves are rounded once; other results are of the output's type before they are
        // added.
        let late = self.add && have == DType::F32 && want.is_float();
        // SAFETY: all buffers hold `n` elements of any type; the walk stays within the view.
        unsafe {
            if late {
                self.transfer(0, cursor, n, other.ptr, Direction::Gather);
                converter(want, have).run([old, other], n);
                accumulate(have, result.ptr, old.ptr, n);
            }
            converter(have, want).run([other, result], n);
            if self.add && !late {
                self.transfer(0, cursor, n, old.ptr, Direction::Gather);
                accumulate(want, other.ptr, old.ptr, n);
            }
            self.transfer(0, cursor, n, other.ptr, Direction::Scatter);
        }
    }

    /// Copies `n` elements of operand `j` from the walk to `buffer`, or back.
    ///
    /// # Safety
    /// The positions are within the walk; the buffer holds `n` elements.
    unsafe fn transfer(
        &self,
        j: usize,
        cursor: &Cursor<'_, N>,
        n: usize,
        buffer: *mut u8,
        direction: Direction,
    ) {
        let size = self.dtypes[j].size();
        if self.access[j] == Access::Direct {
            let place = Run {
                ptr: self.address(j, cursor),
                uniform: false,
            };
            let buffer = Run {
                ptr: buffer,
                uniform: false,
            };
            // SAFETY: a direct run has no gaps; the caller vouches for the buffer.
            return unsafe { mover(size).run(direction.order(place, buffer), n) };
        }
        // SAFETY: as the caller vouches.
        unsafe { transfer(self.base[j].0, size, j, cursor, n, buffer, direction) }
    }
}

/// Copies `n` elements of `size` bytes of operand `j`, whose address is `base`, from the walk to
/// `buffer`, or back.
///
/// # Safety
/// The positions from `cursor` on lie within the operand; the buffer holds `n` elements.
unsafe fn transfer<const N: usize>(
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

/// The walk over the shape of `views[0]` that the other views broadcast to.
pub(crate) fn walk<const N: usize>(views: [&View; N]) -> Result<Walk<N>> {
    let shape = views[0].shape();
    let plain = views
        .iter()
        .all(|v| v.shape() == shape && v.is_contiguous());
    if plain {
        let total = views[0].len();
        return Ok(Walk::new(&[total], [&[1]; N], Order::Kept));
    }
    let mut strides: [Strides; N] = std::array::from_fn(|_| Strides::new());
    for (s, v) in strides.iter_mut().zip(views) {
        *s = broadcast_strides(v.shape(), v.strides(), shape)?;
    }
    Ok(Walk::new(
        shape,
        strides.each_ref().map(|s| &s[..]),
        Order::Free,
    ))
}

#[derive(Clone, Copy)]
enum Direction {
    Gather,
    Scatter,
}

impl Direction {
    fn order(self, place: Run, buffer: Run) -> [Run; 2] {
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
    for i in 0..n as isize {
        // SAFETY: as the caller vouches.
        unsafe {
            target
                .wrapping_offset(i * to.1)
                .write(source.wrapping_offset(i * from.1).read())
        };
    }
}

/// Reads an input of any strides and type as runs of C.
pub(crate) struct Reader<'a, C> {
    view: &'a View,
    _type: PhantomData<C>,
}

/// Room for the run that a [`Reader`] collects.
pub(crate) struct Room {
    raw: MaybeUninit<[u64; Room::LEN]>,
    ready: MaybeUninit<[u64; Room::LEN]>,
}

impl Room {
    /// Longest run.
    pub(crate) const LEN: usize = 1024;

    /// Empty room.
    pub(crate) const fn new() -> Self {
        Room {
            raw: MaybeUninit::uninit(),
            ready: MaybeUninit::uninit(),
        }
    }
}

impl<'a, C: Element> Reader<'a, C> {
    /// A reader of `view`.
    pub(crate) fn new(view: &'a View) -> Self {
        Reader {
            view,
            _type: PhantomData,
        }
    }

    /// The `n` elements from position `start` of `walk` on, `offset` elements further; in place
    /// where they lie without gaps and are of type C, else in `room` (then at most [`Room::LEN`]).
    ///
    /// # Safety
    /// The elements lie within the view.
    pub(crate) unsafe fn read<'b>(
        &'b self,
        offset: isize,
        walk: &Walk<1>,
        start: usize,
        n: usize,
        room: &'b mut Room,
    ) -> &'b [C] {
        let (dtype, want) = (self.view.dtype(), C::DTYPE);
        let size = dtype.size();
        let base = self.view.ptr().wrapping_offset(offset * size as isize);
        let cursor = walk.cursor(start);
        let mut source = base.wrapping_offset(cursor.place[0] * size as isize);
        if cursor.row_strides()[0] != 1 || cursor.row_left() < n {
            debug_assert!(n <= Room::LEN);
            let raw = room.raw.as_mut_ptr().cast();
            // SAFETY: as the caller vouches.
            unsafe { transfer(base, size, 0, &cursor, n, raw, Direction::Gather) };
            source = raw;
        }
        if dtype != want {
            debug_assert!(n <= Room::LEN);
            let ready = room.ready.as_mut_ptr().cast();
            let runs = [ready, source].map(|ptr| Run {
                ptr,
                uniform: false,
            });
            // SAFETY: `n` elements are readable, and the buffer has room.
            unsafe { converter(dtype, want).run(runs, n) };
            source = ready;
        }
        // SAFETY: `n` elements of type C, in the input or in `room`.
        unsafe { std::slice::from_raw_parts(source.cast(), n) }
    }
}

/// A slice whose parts different threads write.
pub(crate) struct Parts<'a, T> {
    ptr: *mut T,
    len: usize,
    _slice: PhantomData<&'a mut [T]>,
}

// SAFETY: hands out disjoint parts only (see `part`), which threads may own if T allows.
unsafe impl<T: Send> Sync for Parts<'_, T> {}

impl<'a, T> Parts<'a, T> {
    /// The parts of `slice`.
    pub(crate) fn new(slice: &'a mut [T]) -> Self {
        Parts {
            ptr: slice.as_mut_ptr(),
            len: slice.len(),
            _slice: PhantomData,
        }
    }

    /// The elements from `start` on, `n` of them.
    ///
    /// # Safety
    /// No part that is alive overlaps this one.
    ///
    /// # Panics
    /// Outside the slice.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn part(&self, start: usize, n: usize) -> &mut [T] {
        assert!(start <= self.len && n <= self.len - start);
        // SAFETY: within the slice; the caller vouches that no other part overlaps.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.add(start), n) }
    }
}

/// Adds `n` elements at `other` to those at `sum`.
///
/// # Safety
/// Both hold `n` elements of `dtype` and do not overlap.
unsafe fn accumulate(dtype: DType, sum: *mut u8, other: *mut u8, n: usize) {
    use crate::number::Number;
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
