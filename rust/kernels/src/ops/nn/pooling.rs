//! `Pooling` over windows of one to three spatial axes, and its gradient. A window is reduced
//! first across rows, into one row as wide as the input, then along that row: both loops run over
//! neighbouring elements.
//!
//! As in MXNet 1.9: NaN loses every comparison, a window that lies in the padding altogether gives
//! the least finite number (`max`) or zero, and the gradient of a maximum goes to the first
//! element that has it.

mod geometry;
mod in_blocks;
mod reduce;
mod route;

use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Row};
use crate::blocks::planes;
use crate::math::Math;
use crate::math::real::{Float, Real, by_float};
use crate::simd::vector::multiversion;
use ferromix_base::Result;
use geometry::{Kind, Pool};
use reduce::{Larger, Plus, reduce};
use route::Room;

pub(crate) const ROWS: &[Row] = &[
    Row::new("Pooling", prepare_forward)
        .unknown_cost()
        .shrinking(),
    Row::new("_backward_Pooling", prepare_backward).unknown_cost(),
    Row::new("_backward_backward_Pooling", prepare_pick).unknown_cost(),
];

multiversion! {
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
    if attrs.has("blocks") {
        return in_blocks::prepare(pool, &ins[0]);
    }
    by_float!("Pooling", ins[0].dtype, T => boxed(move |call: &mut Call<'_>| forward::<T>(&pool, call)))
}

fn forward<T: Float>(pool: &Pool, call: &mut Call<'_>) -> Result<()> {
    let data = [(&call.inputs[0], pool.input_plane())];
    let result = (&mut call.outputs[0], pool.output_plane());
    let border = if pool.kind == Kind::Max {
        T::LEAST
    } else {
        T::Real::ZERO
    };
    planes::each::<T, 1, _>(&pool.planes, data, result, call.reqs[0], || {
        let mut row = vec![border; pool.axes[2].reached()];
        let mut powers = Vec::new();
        move |[x]: [&[T::Real]; 1], out: &mut [T::Real]| match pool.kind {
            Kind::Max => reduce(pool, x, &mut row, out, (T::LEAST, &Larger)),
            Kind::Sum => reduce(pool, x, &mut row, out, (T::LEAST, &Plus)),
            Kind::Avg => {
                reduce(pool, x, &mut row, out, (T::LEAST, &Plus));
                average(pool, out);
            }
            Kind::Squares | Kind::Cubes => {
                powers.clear();
                let cubes = pool.kind == Kind::Cubes;
                powers.extend(x.iter().map(|&x| if cubes { x * x * x } else { x * x }));
                reduce(pool, &powers, &mut row, out, (T::LEAST, &Plus));
                let root = |y: T::Real| if cubes { y.cbrt() } else { y.sqrt() };
                out.iter_mut().for_each(|y| *y = root(*y));
            }
        }
    })
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
    let (n_in, n_out) = (pool.input_plane(), pool.output_plane());
    let inputs = [
        (&call.inputs[0], n_out),
        (&call.inputs[1], n_in),
        (&call.inputs[2], n_out),
    ];
    let result = (&mut call.outputs[0], n_in);
    if let (Kind::Max, Some(route)) = (pool.kind, route::way::<T::Real>(pool)) {
        return planes::each::<T, 3, _>(&pool.planes, inputs, result, call.reqs[0], || {
            let mut room = Room::new(pool);
            move |[g, x, y]: [&[T::Real]; 3], dx: &mut [T::Real]| {
                route(pool, g, x, y, dx, &mut room)
            }
        });
    }
    planes::each::<T, 3, _>(&pool.planes, inputs, result, call.reqs[0], || {
        let mut row = vec![T::Real::ZERO; pool.axes[2].input];
        let mut parts = Vec::new();
        move |[g, x, y]: [&[T::Real]; 3], dx: &mut [T::Real]| {
            dx.fill(T::Real::ZERO);
            match pool.kind {
                Kind::Max => route_plane(pool, g, x, y, dx),
                Kind::Avg | Kind::Sum => spread_plane(pool, g, &mut row, dx),
                Kind::Squares | Kind::Cubes => {
                    let cubes = pool.kind == Kind::Cubes;
                    parts.clear();
                    parts.extend(g.iter().zip(y).map(|(&g, &y)| norm_part(cubes, g, y)));
                    spread_plane(pool, &parts, &mut row, dx);
                    let along = |x: T::Real| if cubes { x * x } else { x };
                    dx.iter_mut().zip(x).for_each(|(d, &x)| *d *= along(x));
                }
            }
        }
    })
}

/// What the gradient of a root of a sum of powers has in common for all elements of a window; at 0 it
/// is 0.
fn norm_part<R: Real>(cubes: bool, g: R, y: R) -> R {
    if y == R::ZERO {
        R::ZERO
    } else if cubes {
        g / y / y
    } else {
        g / y
    }
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
    let (n_in, n_out) = (pool.input_plane(), pool.output_plane());
    let inputs = [
        (&call.inputs[0], n_in),
        (&call.inputs[1], n_in),
        (&call.inputs[2], n_out),
    ];
    let result = (&mut call.outputs[0], n_out);
    planes::each::<T, 3, _>(&pool.planes, inputs, result, call.reqs[0], || {
        |[g, x, y]: [&[T::Real]; 3], out: &mut [T::Real]| pick_plane(pool, g, x, y, out)
    })
}
