//! Running sums along an axis. One line, or some neighbouring ones, are summed in order by one task.

use crate::api::check::leading;
use crate::api::prepared::{axis, boxed};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::blocks::along_axis::AlongAxis;
use crate::copy::assign;
use crate::copy::fill::part;
use crate::par;
use crate::simd::number::Number;
use crate::update::{BLOCK, load};
use ferromix_base::{DType, Error, Result};

/// Elements per task, roughly.
const GRAIN: usize = 16_384;

/// The sums from the front, or from the back.
#[derive(Clone, Copy)]
struct Scan {
    layout: AlongAxis,
    back: bool,
}

impl Scan {
    /// The `i`-th of `n` steps along the axis.
    fn step(self, i: usize, n: usize) -> usize {
        if self.back { n - 1 - i } else { i }
    }

    /// The sums of one row, a block at a time.
    fn row<C: Number + Default>(self, row: usize, data: &View, out: &View, req: Req) -> Result<()> {
        let k = self.layout.k;
        let blocks = k.div_ceil(BLOCK);
        let mut scratch = [C::default(); BLOCK];
        let mut sum = C::ZERO;
        for block in 0..blocks {
            let start = self.step(block, blocks) * BLOCK;
            let n = BLOCK.min(k - start);
            load(&part(data, row * k + start, n), &mut scratch, n);
            for i in 0..n {
                let x = &mut scratch[self.step(i, n)];
                sum = sum.plus(*x);
                *x = sum;
            }
            let sums = View::of_slice(&mut scratch[..n], &[n])?;
            assign(&sums, &part(out, row * k + start, n), req)?;
        }
        Ok(())
    }

    /// The sums of the `n` neighbouring lines from position `at` on.
    fn lines<C: Number + Default>(
        self,
        (outer, at, n): (usize, usize, usize),
        data: &View,
        out: &View,
        req: Req,
    ) -> Result<()> {
        let AlongAxis { k, inner, .. } = self.layout;
        let mut scratch = [C::default(); BLOCK];
        let mut sums = [C::ZERO; BLOCK];
        for i in 0..k {
            let start = (outer * k + self.step(i, k)) * inner + at;
            load(&part(data, start, n), &mut scratch, n);
            let pairs = sums[..n].iter_mut().zip(&scratch);
            pairs.for_each(|(sum, x)| *sum = sum.plus(*x));
            let sums = View::of_slice(&mut sums[..n], &[n])?;
            assign(&sums, &part(out, start, n), req)?;
        }
        Ok(())
    }

    fn run<C: Number + Default>(self, call: &mut Call<'_>) -> Result<()> {
        let (data, out) = (call.inputs[0].flattened(), call.outputs[0].flattened());
        let (AlongAxis { outer, k, inner }, req) = (self.layout, call.reqs[0]);
        if req == Req::Null || out.is_empty() {
            return Ok(());
        }
        let pieces = inner.div_ceil(BLOCK);
        let failure = std::sync::OnceLock::new();
        let grain = GRAIN / (k * inner.min(BLOCK));
        par::for_ranges(outer * pieces, grain, |tasks| {
            for task in tasks {
                let at = task % pieces * BLOCK;
                let result = if inner == 1 {
                    self.row::<C>(task, &data, &out, req)
                } else {
                    let place = (task / pieces, at, BLOCK.min(inner - at));
                    self.lines::<C>(place, &data, &out, req)
                };
                if let Err(e) = result {
                    failure.get_or_init(|| e);
                }
            }
        });
        failure.into_inner().map_or(Ok(()), Err)
    }
}

fn prepare(back: bool, attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "cumsum";
    let ([from], [to]) = leading(name, i, o)?;
    let data = if back { to } else { from };
    if ferromix_base::element_count(&from.shape)? != ferromix_base::element_count(&to.shape)? {
        return Err(Error::value(format!(
            "{name}: the sums of {:?} do not have shape {:?}",
            from.shape, to.shape
        )));
    }
    let layout = if attrs.has("axis") {
        let along = axis(name, attrs.int("axis")?, data.shape.len())?;
        AlongAxis::new(&data.shape, along)
    } else {
        AlongAxis::new(&[data.shape.iter().product()], 0)
    };
    let scan = Scan { layout, back };
    // The type of the sums: on the way back that of what is summed, too.
    match if back { from.dtype } else { to.dtype } {
        DType::F32 | DType::F16 | DType::BF16 => boxed(move |call| scan.run::<f32>(call)),
        DType::F64 => boxed(move |call| scan.run::<f64>(call)),
        _ => boxed(move |call| scan.run::<i64>(call)),
    }
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("cumsum", |a, i, o| prepare(false, a, i, o)),
    Row::new("_backward_cumsum", |a, i, o| prepare(true, a, i, o)),
];
