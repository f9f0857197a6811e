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
use crate::memory::{Direction, STREAMED, accumulate, finish_stream, stream, transfer};
use crate::walk::{Cursor, Order, Walk, broadcast_strides};
use crate::{Req, View, par};
use ferromix_base::{DType, Result, Strides};
use std::mem::MaybeUninit;

/// Elements of a run that goes through buffers.
const BLOCK: usize = 512;

/// Rows shorter than this are gathered several at a time.
const SHORT_ROW: usize = 64;

/// The same for rows that the loop can take as they are.
const PLAIN_ROW: usize = 8;

/// Elements of a task of a cheap operator, such as an addition.
pub(crate) const GRAIN: usize = 1 << 16;

/// Elements of a task of an operator that takes longer than its memory does, such as an exponential.
pub(crate) const FAIR_GRAIN: usize = 1 << 15;

/// Elements of a task of a dear operator, such as a gamma function.
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
    // Large outputs go past the caches, which the plan sees to.
    let large = views[0].len() * views[0].dtype().size() >= STREAMED;
    if req != Req::Add && !large && map_as_is(op, &views) {
        return Ok(());
    }
    let plan = Plan::new(op, views, req)?;
    par::for_ranges(plan.walk.total, plan.grain(), |range| {
        plan.run(range.start, range.end);
    });
    Ok(())
}

/// [`map`] where the loop takes every operand as it lies in memory, without gaps or as a single
/// element; false, and nothing done, where it does not. Most operands are so, and where they are
/// small, planning takes much longer than the loop.
fn map_as_is<const N: usize>(op: &Op<'_, N>, views: &[&View; N]) -> bool {
    let out = views[0];
    let mut operands = [(Ptr(out.ptr()), 0); N];
    for (j, view) in views.iter().enumerate() {
        let whole = view.shape() == out.shape() && view.is_contiguous();
        let single = !whole && view.shape().len() <= out.shape().len() && view.len() == 1;
        // The memory of the output, which the loop of `Body::run` may not always share.
        let shared = j > 0 && view.ptr() == out.ptr();
        let typed = view.dtype() == op.types[j];
        let apart = !shared || (N == 2 && whole && op.types[j] == op.types[0]);
        if !(typed && apart && (whole || single && j > 0)) {
            return false;
        }
        let step = if whole { view.dtype().size() } else { 0 };
        operands[j] = (Ptr(view.ptr()), step);
    }
    par::for_ranges(out.len(), op.grain, |range| {
        let runs = operands.map(|(base, step)| Run {
            ptr: base.0.wrapping_add(range.start * step),
            uniform: step == 0,
        });
        // SAFETY: the views have so many elements, of the types that the loop wants, or one that
        // stands for all; `View::from_raw` vouches for the memory, and tasks write disjoint parts.
        unsafe { op.body.run(runs, range.len()) };
    });
    true
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
    /// Whether runs end with rows; else they start with rows.
    by_rows: bool,
    /// Operands that are the same in every run, since they vary within rows only.
    periodic: [bool; N],
    /// Whether the loop may write the output's memory itself.
    direct_out: bool,
    /// Whether runs of the output go past the caches, by way of a buffer.
    stream: bool,
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

/// Room for a run as it is in memory, and as the loop wants it.
struct Buffers {
    raw: Buffer,
    ready: Buffer,
}

impl Buffers {
    const fn new() -> Self {
        Buffers {
            raw: MaybeUninit::uninit(),
            ready: MaybeUninit::uninit(),
        }
    }

    fn each(&mut self) -> [*mut u8; 2] {
        [self.raw.as_mut_ptr().cast(), self.ready.as_mut_ptr().cast()]
    }
}

impl<'a, const N: usize> Plan<'a, N> {
    fn new(op: &'a Op<'a, N>, views: [&View; N], req: Req) -> Result<Self> {
        let walk = walk(views)?;
        let inner = walk.inner();
        let above = &walk.strides[..walk.dims.len() - 1];
        let periodic = std::array::from_fn(|j| j > 0 && above.iter().all(|s| s[j] == 0));
        let evenly = (0..N).all(|j| periodic[j] || walk.flat(j));
        let (step, dtypes) = (walk.inner_strides(), views.map(View::dtype));
        let shared = (1..N).any(|j| views[j].ptr() == views[0].ptr());
        let unlike = (1..N).any(|j| op.types[j] != op.types[0]);
        let as_is = |j: usize| dtypes[j] == op.types[j];
        let add = req == Req::Add;
        let writes_there = as_is(0) && !add && !(shared && (N > 2 || unlike));
        let plain = |j: usize| as_is(j) && (step[j] == 1 || j > 0 && step[j] == 0);
        let short = if writes_there && (0..N).all(plain) {
            inner < PLAIN_ROW
        } else {
            inner < SHORT_ROW || evenly && inner <= BLOCK / 2
        };
        let by_rows = walk.dims.len() == 1 || !short;
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
        let direct_out = access[0] == Access::Direct && writes_there;
        let unbuffered = direct_out && (1..N).all(|j| as_is(j) && access[j] != Access::Gathered);
        let size = dtypes[0].size();
        let long = by_rows && inner >= BLOCK && walk.total * size >= STREAMED;
        let stream = unbuffered && long && op.grain == GRAIN;
        Ok(Plan {
            op,
            base: views.map(|v| Ptr(v.ptr())),
            dtypes,
            access,
            add,
            by_rows,
            direct_out: direct_out && !stream,
            stream,
            longest: match by_rows {
                _ if stream => size_of::<Buffer>() / size,
                true if unbuffered => usize::MAX,
                true => BLOCK,
                false => BLOCK / inner * inner,
            },
            periodic,
            walk,
        })
    }

    /// Elements of a task; runs start with rows in all of them.
    fn grain(&self) -> usize {
        if self.by_rows {
            self.op.grain
        } else {
            (self.op.grain / self.longest).max(1) * self.longest
        }
    }

    /// Computes the positions from `start` to `end`.
    fn run(&self, start: usize, end: usize) {
        let mut buffers = [const { Buffers::new() }; N];
        let mut cursor = self.walk.cursor(start);
        let mut left = end - start;
        let inner = self.walk.inner();
        let mut runs = [Run {
            ptr: std::ptr::null_mut(),
            uniform: false,
        }; N];
        while left > 0 {
            if self.longest == usize::MAX && left >= 2 * inner {
                let (rows, steps) = cursor.rows();
                let rows = rows.min(left / inner);
                if rows > 1 {
                    // SAFETY: as below.
                    unsafe { self.rows(&cursor, rows, steps) };
                    cursor.advance_rows(rows);
                    left -= rows * inner;
                    continue;
                }
            }
            let mut n = left.min(self.longest);
            if self.by_rows {
                n = n.min(cursor.row_left());
            }
            let first = left == end - start;
            // SAFETY: the walk stays within the views, whose memory `View::from_raw` vouches for;
            // tasks write disjoint positions.
            unsafe { self.block(&cursor, n, first, &mut runs, &mut buffers) };
            left -= n;
            if self.by_rows {
                cursor.advance_in_row(n);
            } else if left > 0 {
                cursor = self.walk.cursor(end - left);
            }
        }
        if self.stream {
            finish_stream();
        }
    }

    /// Computes `n` positions from `cursor` on, all in one row where the plan goes by rows. Inputs
    /// that are the same in every run are loaded for the first one only.
    ///
    /// # Safety
    /// The positions are within the walk, and no other thread has them.
    unsafe fn block(
        &self,
        cursor: &Cursor<'_, N>,
        n: usize,
        first: bool,
        runs: &mut [Run; N],
        buffers: &mut [Buffers; N],
    ) {
        for j in 1..N {
            if first || self.by_rows || !self.periodic[j] {
                let [raw, ready] = buffers[j].each();
                // SAFETY: the buffers hold BLOCK elements, and `n` is no more where one is used.
                runs[j] = unsafe { self.load(j, cursor, n, raw, ready) };
            }
        }
        let place = self.address(0, cursor);
        let [raw, ready] = buffers[0].each();
        runs[0].ptr = if self.direct_out { place } else { ready };
        let copies = self.stream && self.op.body.is_copy() && !runs[1].uniform;
        let result = if copies { runs[1].ptr } else { ready };
        if !copies {
            // SAFETY: the inputs are loaded; the output is the buffer, or memory of the right type
            // that overlaps no input but as `Body::run` allows (`direct_out`).
            unsafe { self.op.body.run(*runs, n) };
        }
        if self.stream {
            let bytes = n * self.dtypes[0].size();
            let ahead: [_; N] = runs.map(|r| {
                if r.uniform {
                    r.ptr
                } else {
                    r.ptr.wrapping_add(bytes)
                }
            });
            // SAFETY: the results are in the buffer, or the input; the output is memory of their type.
            unsafe { stream(place, result, bytes, &ahead.map(<*mut u8>::cast_const)[1..]) };
        } else if !self.direct_out {
            // SAFETY: as for `load`.
            unsafe { self.store(cursor, n, ready, raw) };
        }
    }

    /// Computes `rows` rows from `cursor` on, `steps` apart, where none goes through buffers.
    ///
    /// # Safety
    /// As [`Plan::block`].
    unsafe fn rows(&self, cursor: &Cursor<'_, N>, rows: usize, steps: [isize; N]) {
        let runs = std::array::from_fn(|j| Run {
            ptr: self.address(j, cursor),
            uniform: self.access[j] == Access::Uniform,
        });
        let bytes = std::array::from_fn(|j| steps[j] * self.dtypes[j].size() as isize);
        // SAFETY: each row is a run of the operands' memory, of the right types; that of the output
        // overlaps no input but as `Body::run` allows (`direct_out`).
        unsafe { self.op.body.run_rows(runs, bytes, self.walk.inner(), rows) };
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
