//! The products of attention with many heads, on projections that lie side by side: position, image,
//! head, then query, key and value. Each matrix of a head is multiplied where it lies.

use crate::api::prepared::{check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row};
use crate::blocks::blockwise::{lifted, store};
use crate::blocks::raw::Target;
use crate::linalg::gemm::{Operand, gemm_into};
use crate::linalg::rows_dot::RowsDot;
use crate::math::real::{Float, Real, by_float};
use crate::par;
use ferromix_base::{Error, Result};
use std::marker::PhantomData;

/// Multiplications that are worth a task.
const TASK: usize = 1 << 19;

/// A matrix for each head of each image, in one argument.
#[derive(Clone, Copy, Debug)]
struct Matrices {
    /// Which input or output.
    argument: usize,
    rows: usize,
    columns: usize,
    /// The distance of rows, and the places of matrices: one after the other from a first one on.
    width: usize,
    first: usize,
    step: usize,
}

/// One product for each head of each image: `C = scale * A B`.
#[derive(Clone, Copy, Debug)]
struct Product {
    a: (Matrices, bool),
    b: (Matrices, bool),
    c: Matrices,
    scale: f64,
}

impl Product {
    fn size(&self) -> (usize, usize, usize) {
        let depth = if self.a.1 {
            self.a.0.rows
        } else {
            self.a.0.columns
        };
        (self.c.rows, self.c.columns, depth)
    }
}

struct Interleaved<T> {
    batch: usize,
    products: Vec<Product>,
    element: PhantomData<fn() -> T>,
}

impl<T: Float> Interleaved<T>
where
    T::Real: RowsDot,
{
    fn multiply(&self, p: &Product, inputs: &[&[T::Real]], out: Target<T::Real>) {
        let (m, n, k) = p.size();
        if k == 0 {
            return;
        }
        let work = m.saturating_mul(n).saturating_mul(k).max(1);
        let operand = |(which, flip): (Matrices, bool), i: usize| {
            let from = &inputs[which.argument][which.first + i * which.step..];
            Operand::new(from, which.width).flipped(flip)
        };
        let one = |i: usize| {
            let start = p.c.first + i * p.c.step;
            let (scale, zero) = (T::Real::of(p.scale), T::Real::ZERO);
            let (a, b) = (operand(p.a, i), operand(p.b, i));
            // SAFETY: the matrices of different heads and images have no element in common.
            unsafe { gemm_into((m, n, k), scale, a, b, zero, (out, start, p.c.width)) };
        };
        par::for_ranges(self.batch, TASK / work, |range| range.for_each(one));
    }
}

impl<T: Float> Kernel for Interleaved<T>
where
    T::Real: RowsDot,
{
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let mut scratch = [const { Vec::new() }; 3];
        let mut inputs = Vec::with_capacity(3);
        for (view, scratch) in call.inputs.iter().zip(&mut scratch) {
            inputs.push(lifted(view.read::<T>()?, scratch));
        }
        for (place, (out, &req)) in call.outputs.iter_mut().zip(call.reqs).enumerate() {
            if req == Req::Null || out.is_empty() {
                continue;
            }
            let products = || self.products.iter().filter(|p| p.c.argument == place);
            let run = |results: &mut [T::Real]| {
                let filled: usize = products()
                    .map(|p| p.c.rows * p.c.columns * self.batch)
                    .sum();
                if filled < results.len() || products().any(|p| p.size().2 == 0) {
                    results.fill(T::Real::ZERO);
                }
                let target = Target::of_slice(results);
                products().for_each(|p| self.multiply(p, &inputs, target));
            };
            let out = out.write::<T>()?;
            match T::plain_mut(out) {
                Some(out) if req != Req::Add => run(out),
                _ => {
                    let mut results = vec![T::Real::ZERO; out.len()];
                    run(&mut results);
                    store(&results, out, req);
                }
            }
        }
        Ok(())
    }
}

/// Which product: of queries and keys or of weights and values, which lie with the queries or not.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    values: bool,
    own: bool,
}

/// Extents that arguments share.
struct Heads {
    batch: usize,
    heads: usize,
    depth: usize,
}

impl Heads {
    /// Reads what a projection says of `parts` matrices in each head.
    fn new(kind: Kind, attrs: &Attrs, shape: &[usize], parts: usize) -> Result<Self> {
        let heads = usize::try_from(attrs.int("heads")?).unwrap_or(0);
        let share = heads.checked_mul(parts).filter(|n| *n > 0);
        match (shape, share) {
            ([_, batch, wide], Some(share))
                if wide.is_multiple_of(share) && batch.checked_mul(heads).is_some() =>
            {
                Ok(Heads {
                    batch: *batch,
                    heads,
                    depth: wide / share,
                })
            }
            _ => Err(Error::value(format!(
                "{}: projections of shape {shape:?} must have 3 dimensions, the last one a multiple \
                 of {parts} times heads={heads}",
                kind.name
            ))),
        }
    }

    /// The matrices of a part of a projection.
    fn part(&self, argument: usize, rows: usize, (part, parts): (usize, usize)) -> Matrices {
        let step = parts * self.depth;
        Matrices {
            argument,
            rows,
            columns: self.depth,
            width: (self.batch * self.heads).saturating_mul(step),
            first: part * self.depth,
            step,
        }
    }

    fn projection(&self, rows: usize, parts: usize) -> [usize; 3] {
        [rows, self.batch, self.heads * parts * self.depth]
    }

    fn weights(&self, argument: usize, rows: usize, columns: usize) -> Matrices {
        Matrices {
            argument,
            rows,
            columns,
            width: columns,
            first: 0,
            step: rows.saturating_mul(columns),
        }
    }
}

/// The products, and the shapes that the inputs of the operator and its output must have.
type Plan = (Vec<Product>, Vec<Vec<usize>>, usize);

/// Of queries and keys. `from` are the shapes of the operator's inputs.
fn scores(kind: Kind, attrs: &Attrs, from: &[&[usize]], back: bool) -> Result<Plan> {
    let first = usize::from(back);
    let parts = if kind.own { 3 } else { 1 };
    let h = Heads::new(kind, attrs, from[0], parts)?;
    let keys = from[from.len() - 1].first().copied().unwrap_or(0);
    let (m, n) = (from[0][0], keys);
    let place = |argument: usize| argument * usize::from(!kind.own);
    let query = |shift: usize| h.part(shift, m, (0, parts));
    let key = |shift: usize| {
        let part = if kind.own { (1, 3) } else { (0, 2) };
        h.part(shift + place(1), n, part)
    };
    let weights = h.weights(0, m, n);
    let scale = 1.0 / (h.depth as f64).sqrt();
    let product = |a, b, c| Product { a, b, c, scale };
    let products = if back {
        vec![
            product((weights, false), (key(first), false), query(0)),
            product((weights, true), (query(first), false), key(0)),
        ]
    } else {
        vec![product((query(0), false), (key(0), true), weights)]
    };
    let mut shapes = vec![h.projection(m, parts).to_vec()];
    if !kind.own {
        shapes.push(h.projection(n, 2).to_vec());
    }
    shapes.push(vec![h.batch * h.heads, m, n]);
    Ok((products, shapes, h.batch * h.heads))
}

/// Of weights and values.
fn values(kind: Kind, attrs: &Attrs, from: &[&[usize]], back: bool) -> Result<Plan> {
    let first = usize::from(back);
    let parts = if kind.own { 3 } else { 2 };
    let h = Heads::new(kind, attrs, from[0], parts)?;
    let (n, m) = (from[0][0], from[1].get(1).copied().unwrap_or(0));
    let value = |shift: usize| h.part(shift, n, (parts - 1, parts));
    let weights = |argument: usize| h.weights(argument, m, n);
    let result = h.part(0, m, (0, 1));
    let product = |a, b, c| Product {
        a,
        b,
        c,
        scale: 1.0,
    };
    let products = if back {
        vec![
            product((weights(2), true), (result, false), value(0)),
            product((result, false), (value(first), true), weights(1)),
        ]
    } else {
        vec![product((weights(1), false), (value(0), false), result)]
    };
    let shapes = vec![
        h.projection(n, parts).to_vec(),
        vec![h.batch * h.heads, m, n],
        h.projection(m, 1).to_vec(),
    ];
    Ok((products, shapes, h.batch * h.heads))
}

fn prepare(
    kind: Kind,
    back: bool,
    attrs: &Attrs,
    i: &[Desc],
    o: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let inputs = if kind.own && !kind.values { 1 } else { 2 };
    let first = usize::from(back);
    check_args(
        kind.name,
        (i, inputs + first),
        (o, if back { inputs } else { 1 }),
    )?;
    let from: Vec<&[usize]> = i[first..].iter().map(|d| &d.shape[..]).collect();
    let plan = if kind.values { values } else { scores };
    let (products, shapes, batch) = plan(kind, attrs, &from, back)?;
    let result = if back { &i[0] } else { &o[0] };
    for (desc, shape) in i[first..].iter().chain([result]).zip(&shapes) {
        check_shape(kind.name, "argument", desc, shape)?;
    }
    if back {
        for (made, given) in o.iter().zip(&i[1..]) {
            check_shape(kind.name, "gradient", made, &given.shape)?;
        }
    }
    by_float!(kind.name, i[0].dtype, T => {
        let kernel = Interleaved::<T> { batch, products, element: PhantomData };
        Ok(Box::new(kernel) as Box<dyn Kernel>)
    })
}

/// The rows of an operator and of its gradient.
macro_rules! rows {
    ($($name:literal $back:literal $values:literal $own:literal,)*) => {
        &[$(
            Row::new($name, |a, i, o| {
                prepare(Kind { name: $name, values: $values, own: $own }, false, a, i, o)
            }).unknown_cost(),
            Row::new($back, |a, i, o| {
                prepare(Kind { name: $name, values: $values, own: $own }, true, a, i, o)
            }).unknown_cost(),
        )*]
    };
}

pub(crate) const ROWS: &[Row] = rows! {
    "_contrib_interleaved_matmul_selfatt_qk" "_backward_interleaved_matmul_selfatt_qk" false true,
    "_contrib_interleaved_matmul_selfatt_valatt" "_backward_interleaved_matmul_selfatt_valatt" true true,
    "_contrib_interleaved_matmul_encdec_qk" "_backward_interleaved_matmul_encdec_qk" false false,
    "_contrib_interleaved_matmul_encdec_valatt" "_backward_interleaved_matmul_encdec_valatt" true false,
};
