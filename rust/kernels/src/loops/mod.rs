//! Elementwise loops over strided, broadcast and differently typed operands: the one place that
//! follows strides through memory.
//!
//! An operator brings a loop over gapless runs ([`Body`]); here operands are walked in an order
//! that suits the memory of the output, runs are handed over as they are where they have no gaps
//! and the right type, and go through small buffers otherwise. Work is split over threads by fixed
//! sizes. An output may be the very memory of an input ([`Req::Inplace`]): every element is read
//! before the run that it belongs to is written, by the thread that writes it.

pub(crate) mod plan;

use crate::api::{Req, View};
use crate::iter::memory::STREAMED;
use crate::iter::walk::{Order, Walk, broadcast_strides};
use crate::loops::plan::LoopPlan;
use crate::par;
use crate::simd::body::{Body, Run};
use ferromix_base::{DType, Result, Shape, Strides};
use std::sync::OnceLock;

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

/// A loop as a kernel has it, with the plan of its first run.
pub(crate) struct Loop<const N: usize> {
    types: [DType; N],
    body: Box<dyn Body<N>>,
    grain: usize,
    cache: PlanCache<N>,
}

impl<const N: usize> Loop<N> {
    /// A loop over elements of these types; `grain` is the number in a task.
    pub(crate) fn new(types: [DType; N], body: Box<dyn Body<N>>, grain: usize) -> Self {
        Loop {
            types,
            body,
            grain,
            cache: PlanCache::default(),
        }
    }

    /// Computes `views[0]` from the others.
    ///
    /// # Errors
    /// Shapes that do not broadcast.
    pub(crate) fn run(&self, views: [&View; N], req: Req) -> Result<()> {
        let op = Op {
            types: self.types,
            body: &*self.body,
            grain: self.grain,
        };
        map(&op, views, req, Some(&self.cache))
    }
}

/// The plan of a first run, for others whose operands lie alike: making one takes longer than many a
/// loop.
pub(crate) struct PlanCache<const N: usize>(OnceLock<(Operands<N>, LoopPlan<N>)>);

impl<const N: usize> Default for PlanCache<N> {
    fn default() -> Self {
        PlanCache(OnceLock::new())
    }
}

/// All that a plan depends on.
struct Operands<const N: usize> {
    dtypes: [DType; N],
    shapes: [Shape; N],
    strides: [Strides; N],
    /// Which operands have the address of the output.
    shared: [bool; N],
    add: bool,
}

impl<const N: usize> PlanCache<N> {
    /// The plan, if it is one for these operands.
    fn known(&self, views: [&View; N], req: Req) -> Option<&LoopPlan<N>> {
        let (layout, plan) = self.0.get()?;
        layout.fits(views, req).then_some(plan)
    }

    /// Keeps the plan for these operands, if it is the first.
    fn keep(&self, views: [&View; N], req: Req, plan: LoopPlan<N>) {
        self.0.get_or_init(|| (Operands::of(views, req), plan));
    }
}

impl<const N: usize> Operands<N> {
    fn of(views: [&View; N], req: Req) -> Self {
        Operands {
            dtypes: views.map(View::dtype),
            shapes: views.map(|v| Shape::from_slice(v.shape())),
            strides: views.map(|v| Strides::from_slice(v.strides())),
            shared: views.map(|v| v.ptr() == views[0].ptr()),
            add: req == Req::Add,
        }
    }

    fn fits(&self, views: [&View; N], req: Req) -> bool {
        let alike = |j: usize| {
            let v = views[j];
            v.is_like(&self.shapes[j], &self.strides[j])
                && v.dtype() == self.dtypes[j]
                && (v.ptr() == views[0].ptr()) == self.shared[j]
        };
        (req == Req::Add) == self.add && (0..N).all(alike)
    }
}

/// Computes `views[0]` from the other views, which broadcast to its shape.
///
/// # Errors
/// Shapes that do not broadcast.
pub(crate) fn map<const N: usize>(
    op: &Op<'_, N>,
    views: [&View; N],
    req: Req,
    cache: Option<&PlanCache<N>>,
) -> Result<()> {
    if req == Req::Null || views[0].is_empty() {
        return Ok(());
    }
    if let Some(plan) = cache.and_then(|cache| cache.known(views, req)) {
        // SAFETY: the plan is for operands that lie as these views do, which are valid.
        unsafe { plan.run(op, views.map(|v| Ptr(v.ptr()))) };
        return Ok(());
    }
    // Large outputs are written by non-temporal stores, which the plan sees to.
    let large = views[0].len() * views[0].dtype().size() >= STREAMED;
    if req != Req::Add && !large && map_as_is(op, &views) {
        return Ok(());
    }
    let plan = LoopPlan::new(op, views, req)?;
    // SAFETY: as above.
    unsafe { plan.run(op, views.map(|v| Ptr(v.ptr()))) };
    if let Some(cache) = cache {
        cache.keep(views, req, plan);
    }
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

/// The address of an operand.
#[derive(Clone, Copy)]
pub(crate) struct Ptr(pub(crate) *mut u8);

// SAFETY: the address of a view, which may go to any thread (see `View`).
unsafe impl Send for Ptr {}
// SAFETY: as for Send.
unsafe impl Sync for Ptr {}

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
