//! `dot`: the product over the last axis of the left operand and the first axis of the right one.
//! With `transpose_a` (`transpose_b`) it is the first (last) axis instead; the other axes keep
//! their order. `batch_dot`: the same for each matrix of a batch. Halves are multiplied as `f32`
//! and rounded once.

use crate::api::prepared::check_args;
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::blocks::raw::Target;
use crate::copy::assign;
use crate::linalg::gemm::{Operand, gemm};
use crate::linalg::halves;
use crate::linalg::rows_dot::RowsDot;
use crate::math::real::unsupported;
use crate::par;
use ferromix_base::{DType, Element, Error, Result, bf16, element_count};

pub(crate) const ROWS: &[Row] = &[
    Row::new("dot", prepare_dot).unknown_cost(),
    Row::new("batch_dot", prepare_batch).unknown_cost(),
];

/// Extents of the kept axes and of the contracted one.
fn split(shape: &[usize], contract_first: bool) -> (usize, usize) {
    match (shape, contract_first) {
        ([], _) => (1, 1),
        ([first, rest @ ..], true) => (rest.iter().product(), *first),
        ([rest @ .., last], false) => (rest.iter().product(), *last),
    }
}

/// Products of `count` pairs of matrices that follow each other in memory.
struct Products {
    count: usize,
    size: (usize, usize, usize),
    flip: (bool, bool),
}

/// Multiplications of a matrix of a batch that are worth splitting the matrix over threads.
const LARGE: usize = 1 << 22;

impl Kernel for Products {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let (inputs, out, req) = (call.inputs, &mut call.outputs[0], call.reqs[0]);
        match out.dtype() {
            _ if req == Req::Null => Ok(()),
            DType::F32 => self.multiply::<f32>([inputs[0].read()?, inputs[1].read()?], out, req),
            DType::F64 => self.multiply::<f64>([inputs[0].read()?, inputs[1].read()?], out, req),
            DType::BF16 if self.takes_pairs() => {
                self.pairs([inputs[0].read()?, inputs[1].read()?], out, req)
            }
            _ => self.halves(call),
        }
    }
}

impl Products {
    fn halves(&self, call: &mut Call<'_>) -> Result<()> {
        let mut wide = Vec::new();
        for input in call.inputs {
            wide.push(widened(input)?);
        }
        let (out, req) = (&call.outputs[0], call.reqs[0]);
        let mut sums = vec![0f32; out.len()];
        let mut result = View::of_slice(&mut sums, out.shape())?;
        self.multiply([&wide[0], &wide[1]], &mut result, Req::Write)?;
        assign(&result, out, req)
    }

    fn multiply<T: RowsDot + Element>(
        &self,
        pair: [&[T]; 2],
        out: &mut View,
        req: Req,
    ) -> Result<()> {
        let beta = if req == Req::Add { T::ONE } else { T::ZERO };
        self.each(pair, out, |[a, b], c| {
            gemm(self.size, T::ONE, a, b, beta, c)
        })
    }

    /// Whether the product goes by pairs of bfloat16.
    fn takes_pairs(&self) -> bool {
        let [a, b] = self.operands([&[], &[]]);
        halves::takes(self.size, a, b)
    }

    fn pairs(&self, pair: [&[bf16]; 2], out: &mut View, req: Req) -> Result<()> {
        self.each(pair, out, |[a, b], c| {
            let done = halves::product(self.size, a, (b, None), None, (c, req));
            debug_assert!(done);
        })
    }

    /// Two matrices of these elements.
    fn operands<'a, T>(&self, [a, b]: [&'a [T]; 2]) -> [Operand<'a, T>; 2] {
        let (m, n, k) = self.size;
        let a = Operand::new(a, if self.flip.0 { m } else { k });
        let b = Operand::new(b, if self.flip.1 { k } else { n });
        [a.flipped(self.flip.0), b.flipped(self.flip.1)]
    }

    /// Has `one` multiply each pair of matrices.
    fn each<T: Element>(
        &self,
        [a, b]: [&[T]; 2],
        out: &mut View,
        one: impl Fn([Operand<'_, T>; 2], &mut [T]) + Sync + Send,
    ) -> Result<()> {
        let (m, n, k) = self.size;
        let target = Target::of_slice(out.write::<T>()?);
        let one = |i: usize| {
            let pair = [&a[i * m * k..][..m * k], &b[i * k * n..][..k * n]];
            // SAFETY: the matrices of a batch do not overlap.
            let c = unsafe { target.slice(i * m * n..(i + 1) * m * n) };
            one(self.operands(pair), c);
        };
        let work = (m * n).saturating_mul(k);
        if self.count == 1 || work >= LARGE {
            (0..self.count).for_each(one);
        } else {
            par::for_ranges(self.count, LARGE / work.max(1) / 8, |range| {
                range.for_each(one)
            });
        }
        Ok(())
    }
}

/// The elements of a contiguous input of halves as `f32`.
fn widened(input: &View) -> Result<Vec<f32>> {
    let mut wide = vec![0f32; input.len()];
    assign(
        input,
        &View::of_slice(&mut wide, input.shape())?,
        Req::Write,
    )?;
    Ok(wide)
}

fn prepare(name: &str, kernel: Products, ins: &[Desc]) -> Result<Box<dyn Kernel>> {
    if !ins[0].dtype.is_float() {
        let known = "float32, float64, float16, bfloat16";
        return Err(unsupported(name, ins[0].dtype, known));
    }
    Ok(Box::new(kernel))
}

fn flags(attrs: &Attrs) -> Result<(bool, bool)> {
    Ok((attrs.bool("transpose_a")?, attrs.bool("transpose_b")?))
}

fn misfit(name: &str, ins: &[Desc], outs: &[Desc], (ta, tb): (bool, bool)) -> Error {
    Error::value(format!(
        "{name}: shapes {:?} and {:?} (transpose_a={ta}, transpose_b={tb}) do not give output \
         shape {:?}",
        &ins[0].shape[..],
        &ins[1].shape[..],
        &outs[0].shape[..]
    ))
}

fn prepare_dot(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    check_args("dot", (ins, 2), (outs, 1))?;
    let flip = flags(attrs)?;
    let (m, k) = split(&ins[0].shape, flip.0);
    let (n, contracted) = split(&ins[1].shape, !flip.1);
    if k != contracted || element_count(&outs[0].shape)? != m * n {
        return Err(misfit("dot", ins, outs, flip));
    }
    let (count, size) = (1, (m, n, k));
    prepare("dot", Products { count, size, flip }, ins)
}

fn prepare_batch(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "batch_dot";
    check_args(name, (ins, 2), (outs, 1))?;
    let flip = flags(attrs)?;
    let error = || misfit(name, ins, outs, flip);
    let ([lead @ .., a, b], [other @ .., c, d]) = (&ins[0].shape[..], &ins[1].shape[..]) else {
        return Err(error());
    };
    let (m, k) = if flip.0 { (*b, *a) } else { (*a, *b) };
    let (contracted, n) = if flip.1 { (*d, *c) } else { (*c, *d) };
    let fits = outs[0].shape[..] == [lead, &[m, n]].concat();
    if lead != other || k != contracted || !fits {
        return Err(error());
    }
    let (count, size) = (lead.iter().product(), (m, n, k));
    prepare(name, Products { count, size, flip }, ins)
}
