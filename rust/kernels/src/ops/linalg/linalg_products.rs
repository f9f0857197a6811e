//! Products of matrices of a batch, with their transposes and with triangles, and systems of
//! equations with triangles.

use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row};
use crate::blocks::raw::Target;
use crate::copy::transpose::transpose;
use crate::linalg::batch::{Sizes, each, run};
use crate::linalg::gemm::{Operand, gemm_within};
use crate::linalg::rows_dot::RowsDot;
use crate::linalg::triangle::{Triangle, mirror, solve, square};
use crate::math::real::{Real, by_real};
use ferromix_base::{Element, Error, Result};

pub(crate) const ROWS: &[Row] = &[
    Row::new("_linalg_gemm2", prepare_gemm2).unknown_cost(),
    Row::new("_linalg_syrk", prepare_syrk).unknown_cost(),
    Row::new("_linalg_trmm", |a, i, o| {
        prepare_triangle("_linalg_trmm", a, i, o)
    })
    .unknown_cost(),
    Row::new("_linalg_trsm", |a, i, o| {
        prepare_triangle("_linalg_trsm", a, i, o)
    })
    .unknown_cost(),
];

/// The extents before the last two, multiplied, and the last two.
fn matrices(name: &str, d: &Desc) -> Result<(usize, usize, usize)> {
    match &d.shape[..] {
        [lead @ .., m, n] => Ok((lead.iter().product(), *m, *n)),
        _ => Err(Error::value(format!("{name}: {:?} is no matrix", d.shape))),
    }
}

/// Products of matrices whose rows are `between` matrices apart.
#[derive(Clone, Copy)]
struct Products {
    lead: usize,
    between: usize,
    size: (usize, usize, usize),
    flip: (bool, bool),
    alpha: f64,
}

impl Products {
    fn run<T: RowsDot + Element>(self, call: &mut Call<'_>) -> Result<()> {
        let (m, n, k) = self.size;
        let (a, b, req) = (
            call.inputs[0].read::<T>()?,
            call.inputs[1].read::<T>()?,
            call.reqs[0],
        );
        let target = Target::of_slice(call.outputs[0].write::<T>()?);
        if req == Req::Null || target.len() == 0 {
            return Ok(());
        }
        let beta = if req == Req::Add { T::ONE } else { T::ZERO };
        let side = |data, item: usize, rows: usize, cols: usize, flip| {
            let (rows, cols) = if flip { (cols, rows) } else { (rows, cols) };
            let (i, j) = (item / self.between, item % self.between);
            let width = self.between * cols;
            Operand::new(data, width)
                .from(i * rows, j * cols)
                .flipped(flip)
        };
        let work = m.saturating_mul(n).saturating_mul(k);
        let one = |item: usize| {
            let (a, b) = (
                side(a, item, m, k, self.flip.0),
                side(b, item, k, n, self.flip.1),
            );
            let width = self.between * n;
            let start = item / self.between * m * width + item % self.between * n;
            let alpha = T::of(self.alpha);
            if self.between == 1 {
                // SAFETY: the matrices of a batch do not overlap.
                let c = unsafe { target.slice(start..start + m * n) };
                gemm_within(self.size, alpha, a, b, beta, (c, n));
            } else {
                // SAFETY: one item at a time, as below.
                let c = unsafe { target.slice(start..start + (m - 1) * width + n) };
                gemm_within(self.size, alpha, a, b, beta, (c, width));
            }
            Ok(())
        };
        let items = self.lead * self.between;
        if self.between == 1 {
            return each(items, work, one);
        }
        // Rows of different matrices alternate in memory.
        (0..items).try_for_each(one)
    }
}

fn prepare_gemm2(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_linalg_gemm2";
    check_args(name, (i, 2), (o, 1))?;
    let flip = (attrs.bool("transpose_a")?, attrs.bool("transpose_b")?);
    let rank = i[0].shape.len();
    let axis = attrs.int("axis")?;
    let row = if axis < 0 { axis + rank as i64 } else { axis };
    let misfit = || {
        Error::value(format!(
            "{name}: {:?} and {:?} with rows along axis {axis} do not give {:?}",
            i[0].shape, i[1].shape, o[0].shape
        ))
    };
    let ranks = i[1].shape.len() == rank && o[0].shape.len() == rank;
    if !ranks || row < 0 || row + 1 >= rank as i64 {
        return Err(misfit());
    }
    let row = row as usize;
    let extents = |d: &Desc, flip: bool| {
        let pair = (d.shape[row], d.shape[rank - 1]);
        if flip { (pair.1, pair.0) } else { pair }
    };
    let ((m, k), (terms, n)) = (extents(&i[0], flip.0), extents(&i[1], flip.1));
    let others = |d: &Desc| [&d.shape[..row], &d.shape[row + 1..rank - 1]].map(<[usize]>::to_vec);
    let front = others(&i[0]);
    let same = others(&i[1]) == front && others(&o[0]) == front;
    if !same || k != terms || extents(&o[0], false) != (m, n) {
        return Err(misfit());
    }
    let [lead, between] = front.map(|e| e.iter().product());
    let alpha = attrs.float("alpha")?;
    let products = Products {
        lead,
        between,
        size: (m, n, k),
        flip,
        alpha,
    };
    by_real!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| products.run::<T>(call)))
}

fn prepare_syrk(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_linalg_syrk";
    check_args(name, (i, 1), (o, 1))?;
    let (count, rows, cols) = matrices(name, &i[0])?;
    let flip = attrs.bool("transpose")?;
    let (n, k) = if flip { (cols, rows) } else { (rows, cols) };
    let lead = &i[0].shape[..i[0].shape.len() - 2];
    check_shape(name, "the output", &o[0], &[lead, &[n, n]].concat())?;
    let alpha = attrs.float("alpha")?;
    let sizes = Sizes {
        count,
        inputs: [rows * cols],
        outputs: [n * n],
        work: (n * n).saturating_mul(k),
    };
    by_real!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        run::<T, 1, 1>(call, &sizes, |[a], [out]| {
            let x = Operand::new(a, cols).flipped(flip);
            square((n, k), T::of(alpha), x, T::ZERO, (&mut *out, n));
            mirror(out, n);
            Ok(())
        })
    }))
}

/// A triangle of side `n` and a matrix of `m` columns, or of `m` rows on the right side.
#[derive(Clone, Copy)]
struct Sides {
    n: usize,
    m: usize,
    right: bool,
    flip: bool,
    lower: bool,
    alpha: f64,
}

impl Sides {
    /// The equations, or the product; on the right side both are transposed.
    fn compute<T: RowsDot>(self, solves: bool, a: &[T], b: &[T], out: &mut [T]) {
        let Sides { n, m, .. } = self;
        let t = Triangle::new(Operand::new(a, n), self.lower).flipped(self.flip != self.right);
        let alpha = T::of(self.alpha);
        if !self.right && !solves {
            return multiply(t, (n, m), alpha, b, out);
        }
        if !self.right {
            out.iter_mut().zip(b).for_each(|(o, &x)| *o = x * alpha);
            return solve(t, n, out, (m, m));
        }
        let mut turned = vec![T::ZERO; n * m];
        transpose((b, n), (n, m), (&mut turned, m));
        if solves {
            turned.iter_mut().for_each(|x| *x *= alpha);
            solve(t, n, &mut turned, (m, m));
            return transpose((&turned, m), (m, n), (out, n));
        }
        let mut product = vec![T::ZERO; n * m];
        multiply(t, (n, m), alpha, &turned, &mut product);
        transpose((&product, m), (m, n), (out, n));
    }
}

/// `out = alpha T B`, a block of rows at a time: what is beside the triangle is not multiplied.
fn multiply<T: RowsDot>(
    t: Triangle<'_, T>,
    (n, m): (usize, usize),
    alpha: T,
    b: &[T],
    out: &mut [T],
) {
    let step = (n / 8).next_multiple_of(16).clamp(32, 256);
    let mut block = Vec::new();
    for i in (0..n).step_by(step) {
        let rows = step.min(n - i);
        block.clear();
        for r in i..i + rows {
            for c in i..i + rows {
                let inside = if t.lower { c <= r } else { c >= r };
                block.push(if inside { t.of.at(r, c) } else { T::ZERO });
            }
        }
        let to = &mut out[i * m..][..rows * m];
        let own = Operand::new(&b[i * m..], m);
        gemm_within(
            (rows, m, rows),
            alpha,
            Operand::new(&block, rows),
            own,
            T::ZERO,
            (&mut *to, m),
        );
        let (from, terms) = if t.lower {
            (0, i)
        } else {
            (i + rows, n - i - rows)
        };
        if terms > 0 {
            let beside = t.of.from(i, from);
            let other = Operand::new(&b[from * m..], m);
            gemm_within((rows, m, terms), alpha, beside, other, T::ONE, (to, m));
        }
    }
}

fn prepare_triangle(
    name: &'static str,
    attrs: &Attrs,
    i: &[Desc],
    o: &[Desc],
) -> Result<Box<dyn Kernel>> {
    check_args(name, (i, 2), (o, 1))?;
    let (count, n, other) = matrices(name, &i[0])?;
    let (same, rows, cols) = matrices(name, &i[1])?;
    check_shape(name, "the output", &o[0], &i[1].shape)?;
    let right = attrs.bool("rightside")?;
    let (m, side) = if right { (rows, cols) } else { (cols, rows) };
    if n != other || n != side || count != same {
        return Err(Error::value(format!(
            "{name}: triangles of {:?} do not go with {:?} (rightside={right})",
            i[0].shape, i[1].shape
        )));
    }
    let sides = Sides {
        n,
        m,
        right,
        flip: attrs.bool("transpose")?,
        lower: attrs.bool("lower")?,
        alpha: attrs.float("alpha")?,
    };
    let sizes = Sizes {
        count,
        inputs: [n * n, n * m],
        outputs: [n * m],
        work: (n * n).saturating_mul(m),
    };
    let solves = name == "_linalg_trsm";
    by_real!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        run::<T, 2, 1>(call, &sizes, |[a, b], [out]| {
            sides.compute(solves, a, b, out);
            Ok(())
        })
    }))
}
