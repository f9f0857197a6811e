//! `Pooling` over windows of one to three spatial axes, and its gradient. A window is reduced
//! first across rows, into one row as wide as the input, then along that row: both loops run over
//! neighbouring elements.
//!
//! As in MXNet 1.9: NaN loses every comparison, a window that lies in the padding altogether gives
//! the least finite number (`max`) or zero, and the gradient of a maximum goes to the first
//! element that has it.

mod geometry;

use crate::blockwise::{lifted, store};
use crate::kernel::Row;
use crate::prepared::{boxed, check_args, check_shape};
use crate::raw::{Source, Target};
use crate::real::{Float, Real, by_float};
use crate::vector::multiversion;
use crate::{Attrs, Call, Desc, Kernel, Req, par};
use ferromix_base::Result;
use geometry::{Kind, Pool};

pub(crate) const ROWS: &[Row] = &[
    Row::new("Pooling", prepare_forward).heavy(),
    Row::new("_backward_Pooling", prepare_backward).heavy(),
    Row::new("_backward_backward_Pooling", prepare_pick).heavy(),
];

/// How two elements of a window become one.
trait Fold {
    fn start<R: Real>() -> R;
    fn fold<R: Real>(a: R, b: R) -> R;
}
struct Larger;
struct Plus;
impl Fold for Larger {
    #[inline(always)]
    fn start<R: Real>() -> R {
        R::LOWEST
    }
    #[inline(always)]
    fn fold<R: Real>(a: R, b: R) -> R {
        a.at_least(b)
    }
}
impl Fold for Plus {
    #[inline(always)]
    fn start<R: Real>() -> R {
        R::ZERO
    }
    #[inline(always)]
    fn fold<R: Real>(a: R, b: R) -> R {
        a + b
    }
}

multiversion! {
    /// Reduces every window of a plane; `row` has the width of the input.
    fn reduce_plane<R: Real, F: Fold>(pool: &Pool, x: &[R], row: &mut [R], out: &mut [R], f: &F) {
        let _ = f;
        let [deep, high, wide] = pool.axes;
        for (line, out) in out.chunks_exact_mut(wide.output).enumerate() {
            let (d, h) = (line / high.output, line % high.output);
            let _ = deep;
            row.fill(F::start());
            for start in pool.rows(d, h) {
                for (a, &b) in row.iter_mut().zip(&x[start..start + wide.input]) {
                    *a = F::fold(*a, b);
                }
            }
            out.fill(F::start());
            for tap in 0..wide.kernel {
                let (windows, first) = wide.reach(tap);
                if windows.is_empty() {
                    continue;
                }
                let (out, row) = (&mut out[windows], &row[first..]);
                if wide.stride == 1 {
                    for (a, &b) in out.iter_mut().zip(row) {
                        *a = F::fold(*a, b);
                    }
                } else if wide.stride == 2 {
                    for (a, b) in out.iter_mut().zip(row.chunks(2)) {
                        *a = F::fold(*a, b[0]);
                    }
                } else {
                    for (a, &b) in out.iter_mut().zip(row.iter().step_by(wide.stride)) {
                        *a = F::fold(*a, b);
                    }
                }
            }
        }
    }

    /// Adds each window's share of the gradient to the window; `row` has the width of the input.
    fn spread_plane<R: Real>(pool: &Pool, g: &[R], row: &mut [R], dx: &mut [R]) {
        let [_, high, wide] = pool.axes;
        for (line, g) in g.chunks_exact(wide.output).enumerate() {
            let (d, h) = (line / high.output, line % high.output);
            row.fill(R::ZERO);
            for (w, &g) in g.iter().enumerate() {
                let part = g * pool.share(d, h, w);
                row[wide.window(w)].iter_mut().for_each(|a| *a += part);
            }
            for start in pool.rows(d, h) {
                for (a, &b) in dx[start..start + wide.input].iter_mut().zip(&*row) {
                    *a += b;
                }
            }
        }
    }

    /// Takes from `g`, which lies as the input does, what stands where each maximum is.
    fn pick_plane<R: Real>(pool: &Pool, g: &[R], x: &[R], y: &[R], out: &mut [R]) {
        let [_, high, wide] = pool.axes;
        let lines = out.chunks_exact_mut(wide.output).zip(y.chunks_exact(wide.output));
        for (line, (out, y)) in lines.enumerate() {
            let (d, h) = (line / high.output, line % high.output);
            for (w, (out, &y)) in out.iter_mut().zip(y).enumerate() {
                let columns = wide.window(w);
                *out = R::ZERO;
                for start in pool.rows(d, h) {
                    let window = start + columns.start..start + columns.end;
                    if let Some(i) = x[window.clone()].iter().position(|&x| x == y) {
                        *out = g[window.start + i];
                        break;
                    }
                }
            }
        }
    }

    /// Adds the gradient of each maximum to the first element that has it.
    fn route_plane<R: Real>(pool: &Pool, g: &[R], x: &[R], y: &[R], dx: &mut [R]) {
        let [_, high, wide] = pool.axes;
        for (line, (g, y)) in g.chunks_exact(wide.output).zip(y.chunks_exact(wide.output)).enumerate() {
            let (d, h) = (line / high.output, line % high.output);
            for (w, (&g, &y)) in g.iter().zip(y).enumerate() {
                let columns = wide.window(w);
                for start in pool.rows(d, h) {
                    let window = start + columns.start..start + columns.end;
                    if let Some(i) = x[window.clone()].iter().position(|&x| x == y) {
                        dx[window.start + i] += g;
                        break;
                    }
                }
            }
        }
    }
}

fn prepare_forward(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    check_args("Pooling", (ins, 1), (outs, 1))?;
    let pool = Pool::new(attrs, &ins[0], &outs[0])?;
    by_float!("Pooling", ins[0].dtype, T => boxed(move |call: &mut Call<'_>| forward::<T>(&pool, call)))
}

fn forward<T: Float>(pool: &Pool, call: &mut Call<'_>) -> Result<()> {
    let req = call.reqs[0];
    let (n_in, n_out) = (pool.input_plane(), pool.output_plane());
    if req == Req::Null || n_out == 0 {
        return Ok(());
    }
    let data = Source::<T>::of(&call.inputs[0])?;
    let target = Target::<T>::of(&mut call.outputs[0])?;
    par::for_ranges(pool.planes, pool.grain(), |planes| {
        let mut row = vec![T::Real::ZERO; pool.axes[2].input];
        let mut result = vec![T::Real::ZERO; n_out];
        let mut room = Vec::new();
        for plane in planes {
            // SAFETY: inputs are only read.
            let x = unsafe { data.slice(plane * n_in..(plane + 1) * n_in) };
            let x = lifted(x, &mut room);
            if pool.kind == Kind::Max {
                reduce_plane(pool, x, &mut row, &mut result, &Larger);
            } else {
                reduce_plane(pool, x, &mut row, &mut result, &Plus);
            }
            if pool.kind == Kind::Avg {
                average(pool, &mut result);
            }
            // SAFETY: planes belong to one task each.
            let out = unsafe { target.slice(plane * n_out..(plane + 1) * n_out) };
            store(&result, out, req);
        }
    });
    Ok(())
}

fn average<T: Real>(pool: &Pool, sums: &mut [T]) {
    let [_, high, wide] = pool.axes;
    for (line, row) in sums.chunks_exact_mut(wide.output).enumerate() {
        for (w, x) in row.iter_mut().enumerate() {
            *x *= pool.share(line / high.output, line % high.output, w);
        }
    }
}

fn prepare_backward(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_backward_Pooling";
    check_args(name, (ins, 3), (outs, 1))?;
    let pool = Pool::new(attrs, &ins[1], &ins[2])?;
    check_shape(name, "gradient of the output", &ins[0], &ins[2].shape)?;
    check_shape(name, "data gradient", &outs[0], &ins[1].shape)?;
    by_float!(name, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| backward::<T>(&pool, call)))
}

fn backward<T: Float>(pool: &Pool, call: &mut Call<'_>) -> Result<()> {
    let req = call.reqs[0];
    let (n_in, n_out) = (pool.input_plane(), pool.output_plane());
    if req == Req::Null || n_in == 0 {
        return Ok(());
    }
    let [g, x, y] = [
        Source::<T>::of(&call.inputs[0])?,
        Source::<T>::of(&call.inputs[1])?,
        Source::<T>::of(&call.inputs[2])?,
    ];
    let target = Target::<T>::of(&mut call.outputs[0])?;
    par::for_ranges(pool.planes, pool.grain(), |planes| {
        let mut row = vec![T::Real::ZERO; pool.axes[2].input];
        let (mut rooms, mut sums) = ([const { Vec::new() }; 3], Vec::new());
        for plane in planes {
            let (ins, outs) = (
                plane * n_in..(plane + 1) * n_in,
                plane * n_out..(plane + 1) * n_out,
            );
            // SAFETY: planes belong to one task each.
            let target = unsafe { target.slice(ins.clone()) };
            // SAFETY: inputs are only read.
            let (g, x, y) = unsafe { (g.slice(outs.clone()), x.slice(ins), y.slice(outs)) };
            let [g_room, x_room, y_room] = &mut rooms;
            let (g, x, y) = (lifted(g, g_room), lifted(x, x_room), lifted(y, y_room));
            let mut add = |dx: &mut [T::Real]| match pool.kind {
                Kind::Max => route_plane(pool, g, x, y, dx),
                Kind::Avg | Kind::Sum => spread_plane(pool, g, &mut row, dx),
            };
            if let Some(dx) = T::plain_mut(target) {
                if req != Req::Add {
                    dx.fill(T::Real::ZERO);
                }
                add(dx);
            } else {
                sums.clear();
                sums.resize(n_in, T::Real::ZERO);
                add(&mut sums);
                store(&sums, target, req);
            }
        }
    });
    Ok(())
}

fn prepare_pick(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_backward_backward_Pooling";
    check_args(name, (ins, 3), (outs, 1))?;
    let pool = Pool::new(attrs, &ins[1], &ins[2])?;
    check_shape(
        name,
        "gradient of the data gradient",
        &ins[0],
        &ins[1].shape,
    )?;
    check_shape(name, "output", &outs[0], &ins[2].shape)?;
    by_float!(name, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| pick::<T>(&pool, call)))
}

fn pick<T: Float>(pool: &Pool, call: &mut Call<'_>) -> Result<()> {
    let req = call.reqs[0];
    let (n_in, n_out) = (pool.input_plane(), pool.output_plane());
    if req == Req::Null || n_out == 0 {
        return Ok(());
    }
    let [g, x, y] = [
        Source::<T>::of(&call.inputs[0])?,
        Source::<T>::of(&call.inputs[1])?,
        Source::<T>::of(&call.inputs[2])?,
    ];
    let target = Target::<T>::of(&mut call.outputs[0])?;
    par::for_ranges(pool.planes, pool.grain(), |planes| {
        let mut result = vec![T::Real::ZERO; n_out];
        let mut rooms = [const { Vec::new() }; 3];
        for plane in planes {
            let (ins, outs) = (
                plane * n_in..(plane + 1) * n_in,
                plane * n_out..(plane + 1) * n_out,
            );
            // SAFETY: inputs are only read.
            let (g, x, y) = unsafe { (g.slice(ins.clone()), x.slice(ins), y.slice(outs.clone())) };
            let [g_room, x_room, y_room] = &mut rooms;
            let (g, x, y) = (lifted(g, g_room), lifted(x, x_room), lifted(y, y_room));
            pick_plane(pool, g, x, y, &mut result);
            // SAFETY: planes belong to one task each.
            store(&result, unsafe { target.slice(outs) }, req);
        }
    });
    Ok(())
}
