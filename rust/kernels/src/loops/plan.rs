//! Plans of elementwise loops: which runs of the operands go to the loop as they lie in memory, which
//! through buffers, and in what order.

use crate::api::{Req, View};
use crate::iter::convert::{converter, mover};
use crate::iter::memory::{Direction, STREAMED, accumulate, finish_stream, stream, transfer};
use crate::iter::walk::{Cursor, Walk};
use crate::loops::{GRAIN, Op, Ptr, walk};
use crate::par;
use crate::simd::body::Run;
use ferromix_base::{DType, Result};
use std::mem::MaybeUninit;

/// Elements of a run that goes through buffers.
const BLOCK: usize = 512;

/// Rows shorter than this are gathered several at a time.
const SHORT_ROW: usize = 64;

/// The same for rows that the loop can take as they are.
const PLAIN_ROW: usize = 8;

/// So many grains make a task of a loop that writes by non-temporal stores: each waits for its stores in the
/// end, and nothing that it reads or wrote is worth a cache's size.
const STREAM_GRAINS: usize = 4;

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

impl Access {
    /// How runs of a walk reach operand `j`.
    fn of<const N: usize>(walk: &Walk<N>, j: usize, by_rows: bool) -> Self {
        let step = walk.inner_strides()[j];
        let constant = walk.strides.iter().all(|s| s[j] == 0);
        if j > 0 && (constant || by_rows && step == 0) {
            Access::Uniform
        } else if walk.flat(j) || by_rows && step == 1 {
            Access::Direct
        } else {
            Access::Gathered
        }
    }
}

/// How a loop reaches operands that lie in memory in a certain way, wherever that is.
pub(crate) struct LoopPlan<const N: usize> {
    walk: Walk<N>,
    dtypes: [DType; N],
    access: [Access; N],
    add: bool,
    /// Whether runs end with rows; else they start with rows.
    by_rows: bool,
    /// Operands that are the same in every run, since they vary within rows only.
    periodic: [bool; N],
    /// Whether the loop may write the output's memory itself.
    direct_out: bool,
    /// Whether runs of the output are written by non-temporal stores.
    stream: bool,
    /// Whether the loop sees to that; else they go by way of a buffer.
    itself: bool,
    /// Longest run.
    longest: usize,
    /// The bytes from each row to the next, where all is one task of rows that go as they lie.
    rows: Option<[isize; N]>,
}

type Buffer = MaybeUninit<[u64; BLOCK]>;

/// Scratch memory for a run as it is in memory, and as the loop wants it.
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

impl<const N: usize> LoopPlan<N> {
    /// How to compute `views[0]` from the others.
    ///
    /// # Errors
    /// Shapes that do not broadcast.
    pub(crate) fn new(op: &Op<'_, N>, views: [&View; N], req: Req) -> Result<Self> {
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
        let access = std::array::from_fn(|j| Access::of(&walk, j, by_rows));
        let direct_out = access[0] == Access::Direct && writes_there;
        let unbuffered = direct_out && (1..N).all(|j| as_is(j) && access[j] != Access::Gathered);
        let size = dtypes[0].size();
        let long = by_rows && inner >= BLOCK && walk.total * size >= STREAMED;
        let stream = unbuffered && long && op.grain == GRAIN;
        let itself = stream && op.body.streams();
        let at_once = by_rows && unbuffered && !stream && walk.total <= op.grain;
        let along = |j: usize| walk.strides[0][j] * dtypes[j].size() as isize;
        Ok(LoopPlan {
            rows: (at_once && walk.dims.len() == 2).then(|| std::array::from_fn(along)),
            dtypes,
            access,
            add,
            by_rows,
            direct_out: direct_out && !stream,
            stream,
            itself,
            longest: match by_rows {
                _ if itself => usize::MAX,
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
    fn grain(&self, op: &Op<'_, N>) -> usize {
        if self.stream {
            STREAM_GRAINS * op.grain
        } else if self.by_rows {
            op.grain
        } else {
            (op.grain / self.longest).max(1) * self.longest
        }
    }

    /// Computes the output of `op` for operands that lie as those of the plan do.
    ///
    /// # Safety
    /// `base` has the addresses of views of such types, shapes and strides, of which as many have the
    /// address of the first.
    pub(crate) unsafe fn run(&self, op: &Op<'_, N>, base: [Ptr; N]) {
        if let Some(steps) = self.rows {
            let runs = std::array::from_fn(|j| {
                let offset = self.walk.offsets[j] * self.dtypes[j].size() as isize;
                Run {
                    ptr: base[j].0.wrapping_offset(offset),
                    uniform: self.access[j] == Access::Uniform,
                }
            });
            let (rows, inner) = (self.walk.dims[0], self.walk.dims[1]);
            // SAFETY: as in `Pass::rows`.
            return unsafe { op.body.run_rows(runs, steps, inner, rows) };
        }
        let pass = Pass {
            plan: self,
            op,
            base,
        };
        par::for_ranges(self.walk.total, self.grain(op), |range| {
            pass.run(range.start, range.end);
        });
    }
}

/// A plan under way.
struct Pass<'a, const N: usize> {
    plan: &'a LoopPlan<N>,
    op: &'a Op<'a, N>,
    base: [Ptr; N],
}

impl<const N: usize> Pass<'_, N> {
    /// Computes the positions from `start` to `end`.
    fn run(&self, start: usize, end: usize) {
        let mut buffers = [const { Buffers::new() }; N];
        let mut cursor = self.plan.walk.cursor(start);
        let mut left = end - start;
        let inner = self.plan.walk.inner();
        let mut runs = [Run {
            ptr: std::ptr::null_mut(),
            uniform: false,
        }; N];
        while left > 0 {
            if self.plan.longest == usize::MAX && !self.plan.itself && left >= 2 * inner {
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
            let mut n = left.min(self.plan.longest);
            if self.plan.by_rows {
                n = n.min(cursor.row_left());
            }
            let first = left == end - start;
            // SAFETY: the walk stays within the views, whose memory `View::from_raw` vouches for;
            // tasks write disjoint positions.
            unsafe { self.block(&cursor, n, first, &mut runs, &mut buffers) };
            left -= n;
            if self.plan.by_rows {
                cursor.advance_in_row(n);
            } else if left > 0 {
                cursor = self.plan.walk.cursor(end - left);
            }
        }
        if self.plan.stream {
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
            if first || self.plan.by_rows || !self.plan.periodic[j] {
                let [raw, ready] = buffers[j].each();
                // SAFETY: the buffers hold BLOCK elements, and `n` is no more where one is used.
                runs[j] = unsafe { self.load(j, cursor, n, raw, ready) };
            }
        }
        let place = self.address(0, cursor);
        if self.plan.itself {
            runs[0].ptr = place;
            // SAFETY: as below.
            return unsafe { self.op.body.run_streamed(*runs, n) };
        }
        let [raw, ready] = buffers[0].each();
        runs[0].ptr = if self.plan.direct_out { place } else { ready };
        let copies = self.plan.stream && self.op.body.is_copy() && !runs[1].uniform;
        let result = if copies { runs[1].ptr } else { ready };
        if !copies {
            // SAFETY: the inputs are loaded; the output is the buffer, or memory of the right type
            // that overlaps no input but as `Body::run` allows (`direct_out`).
            unsafe { self.op.body.run(*runs, n) };
        }
        if self.plan.stream {
            let bytes = n * self.plan.dtypes[0].size();
            let ahead: [_; N] = runs.map(|r| {
                if r.uniform {
                    r.ptr
                } else {
                    r.ptr.wrapping_add(bytes)
                }
            });
            // SAFETY: the results are in the buffer, or the input; the output is memory of their type.
            unsafe { stream(place, result, bytes, &ahead.map(<*mut u8>::cast_const)[1..]) };
        } else if !self.plan.direct_out {
            // SAFETY: as for `load`.
            unsafe { self.store(cursor, n, ready, raw) };
        }
    }

    /// Computes `rows` rows from `cursor` on, `steps` apart, where none goes through buffers.
    ///
    /// # Safety
    /// As [`LoopPlan::block`].
    unsafe fn rows(&self, cursor: &Cursor<'_, N>, rows: usize, steps: [isize; N]) {
        let runs = std::array::from_fn(|j| Run {
            ptr: self.address(j, cursor),
            uniform: self.plan.access[j] == Access::Uniform,
        });
        let bytes = std::array::from_fn(|j| steps[j] * self.plan.dtypes[j].size() as isize);
        // SAFETY: each row is a run of the operands' memory, of the right types; that of the output
        // overlaps no input but as `Body::run` allows (`direct_out`).
        unsafe {
            self.op
                .body
                .run_rows(runs, bytes, self.plan.walk.inner(), rows)
        };
    }

    fn address(&self, j: usize, cursor: &Cursor<'_, N>) -> *mut u8 {
        let bytes = cursor.place[j] * self.plan.dtypes[j].size() as isize;
        self.base[j].0.wrapping_offset(bytes)
    }

    /// The run of operand `j`, in memory or in one of the buffers.
    ///
    /// # Safety
    /// As [`LoopPlan::block`]; the buffers hold `n` elements of 8 bytes where they are needed.
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
            uniform: self.plan.access[j] == Access::Uniform,
        };
        let count = if run.uniform { 1 } else { n };
        if self.plan.access[j] == Access::Gathered {
            // SAFETY: the buffer has room; the walk stays within the view.
            unsafe { self.transfer(j, cursor, n, raw, Direction::Gather) };
            run.ptr = raw;
        }
        if self.plan.dtypes[j] != self.op.types[j] {
            let target = Run {
                ptr: ready,
                uniform: false,
            };
            let source = Run {
                uniform: false,
                ..run
            };
            // SAFETY: `count` elements are readable, and the other buffer has room.
            unsafe {
                converter(self.plan.dtypes[j], self.op.types[j]).run([target, source], count)
            };
            run.ptr = ready;
        }
        run
    }

    /// Brings `n` results from the buffer `ready` to the output.
    ///
    /// # Safety
    /// As [`LoopPlan::block`]; `raw` is another buffer of `n` elements.
    unsafe fn store(&self, cursor: &Cursor<'_, N>, n: usize, ready: *mut u8, raw: *mut u8) {
        let (have, want) = (self.op.types[0], self.plan.dtypes[0]);
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
        let late = self.plan.add && have == DType::F32 && want.is_float();
        // SAFETY: all buffers hold `n` elements of any type; the walk stays within the view.
        unsafe {
            if late {
                self.transfer(0, cursor, n, other.ptr, Direction::Gather);
                converter(want, have).run([old, other], n);
                accumulate(have, result.ptr, old.ptr, n);
            }
            converter(have, want).run([other, result], n);
            if self.plan.add && !late {
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
        let size = self.plan.dtypes[j].size();
        if self.plan.access[j] == Access::Direct {
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
