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
mod side_by_side;

use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::blocks::planes;
use crate::linalg::tile::Tiled;
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

fn forward<T: Float<Real: Tiled>>(pool: &Pool, call: &mut Call<'_>) -> Result<()> {
    let (n_in, n_out) = (pool.input_plane(), pool.output_plane());
    let data = [(&call.inputs[0], n_in)];
    let result = (&mut call.outputs[0], n_out);
    let border = if pool.kind == Kind::Max {
        T::LEAST
    } else {
        T::Real::ZERO
    };
    let planes = side_by_side::planes(pool);
    planes::each::<T, 1, _>(&planes, data, result, call.reqs[0], || {
        let mut row = vec![border; pool.axes[2].reached().unwrap_or_default()];
        let mut powers = Vec::new();
        let mut lines = in_blocks::Lines::default();
        move |[x]: [&[T::Real]; 1], out: &mut [T::Real]| match pool.kind {
            Kind::Max if out.len() == n_out * side_by_side::LANES => {
                side_by_side::maxima(pool, x, out, T::LEAST, &mut lines);
            }
            Kind::Max => {
                for (i, out) in out.chunks_exact_mut(n_out).enumerate() {
                    let x = &x[i * n_in..][..n_in];
                    reduce(pool, x, &mut row, out, (T::LEAST, &Larger));
                }
            }
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

fn backward<T: Float<Real: Tiled>>(pool: &Pool, call: &mut Call<'_>) -> Result<()> {
    let (n_in, n_out) = (pool.input_plane(), pool.output_plane());
    let inputs = [
        (&call.inputs[0], n_out),
        (&call.inputs[1], n_in),
        (&call.inputs[2], n_out),
    ];
    let result = (&mut call.outputs[0], n_in);
    if pool.kind == Kind::Max {
        return backward_maxima::<T>(pool, inputs, result, call.reqs[0]);
    }
    planes::each::<T, 3, _>(&pool.planes, inputs, result, call.reqs[0], || {
        let mut row = vec![T::Real::ZERO; pool.axes[2].input];
        let mut parts = Vec::new();
        move |[g, x, y]: [&[T::Real]; 3], dx: &mut [T::Real]| {
            dx.fill(T::Real::ZERO);
            if matches!(pool.kind, Kind::Avg | Kind::Sum) {
                return spread_plane(pool, g, &mut row, dx);
            }
            let cubes = pool.kind == Kind::Cubes;
            parts.clear();
            parts.extend(g.iter().zip(y).map(|(&g, &y)| norm_part(cubes, g, y)));
            spread_plane(pool, &parts, &mut row, dx);
            let along = |x: T::Real| if cubes { x * x } else { x };
            dx.iter_mut().zip(x).for_each(|(d, &x)| *d *= along(x));
        }
    })
}

fn backward_maxima<T: Float<Real: Tiled>>(
    pool: &Pool,
    inputs: [(&View, usize); 3],
    result: (&mut View, usize),
    req: Req,
) -> Result<()> {
    let (n_in, n_out) = (pool.input_plane(), pool.output_plane());
    let (planes, way) = (side_by_side::planes(pool), route::way::<T::Real>(pool));
    planes::each::<T, 3, _>(&planes, inputs, result, req, || {
        let mut room = way.map(|_| Room::new(pool));
        move |args: [&[T::Real]; 3], dx: &mut [T::Real]| {
            if dx.len() == n_in * side_by_side::LANES {
                return side_by_side::route(pool, args, dx);
            }
            for (i, dx) in dx.chunks_exact_mut(n_in).enumerate() {
                let [g, y] = [args[0], args[2]].map(|a| &a[i * n_out..][..n_out]);
                let x = &args[1][i * n_in..][..n_in];
                match (way, &mut room) {
                    (Some(way), Some(room)) => way(pool, g, x, y, dx, room),
                    _ => {
                        dx.fill(T::Real::ZERO);
                        route_plane(pool, g, x, y, dx);
                    }
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
