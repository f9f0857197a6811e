//! `_sample_multinomial`: classes by their probabilities, and what their logarithms hand back.

use crate::api::check::arity;
use crate::api::prepared::boxed;
use crate::api::random::Stream;
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::blocks::indices::{Indices, Outside};
use crate::blocks::raw::{Source, Target};
use crate::copy::assign;
use crate::draws::standard::fraction64;
use crate::draws::words::fill_words;
use crate::math::Math;
use crate::math::real::{Float, Real, by_float};
use crate::par;
use ferromix_base::{DType, Error, Result};
use std::ops::Range;
use std::sync::OnceLock;

const NAME: &str = "_sample_multinomial";
const BACK: &str = "_backward_sample_multinomial";

pub(crate) const ROWS: &[Row] = &[
    Row::new(NAME, prepare).random().unknown_cost(),
    Row::new(BACK, prepare_back).unknown_cost(),
];

/// About how much a task does, in steps of a sum; a draw takes some 16.
const WORK: usize = 1 << 15;
/// Draws whose words are made together.
const BLOCK: usize = 256;

/// Rows of probabilities, and how many draws each of them makes.
#[derive(Clone, Copy)]
struct Geometry {
    classes: usize,
    per: usize,
}

impl Geometry {
    fn new(name: &str, data: &Desc, out: &Desc) -> Result<Self> {
        let Some((&classes, leading)) = data.shape.split_last() else {
            return Err(Error::value(format!(
                "{name}: data must have an axis of classes, got 0-d"
            )));
        };
        let rows: usize = leading.iter().product();
        let draws: usize = out.shape.iter().product();
        if (draws > 0 && classes == 0) || draws.checked_rem(rows).unwrap_or(draws) != 0 {
            return Err(Error::value(format!(
                "{name}: data {:?} cannot make draws of shape {:?}",
                data.shape, out.shape
            )));
        }
        let per = draws.checked_div(rows).unwrap_or(0);
        Ok(Geometry { classes, per })
    }

    /// Draws of a task: of some rows, or a part of one where that is worth its sums.
    fn grain(self) -> usize {
        let long = self.classes.max(WORK / 16);
        if self.per > long {
            return long;
        }
        let row = self.classes + 16 * self.per;
        self.per.max(1) * (WORK / row.max(1)).max(1)
    }
}

fn prepare(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let [data] = i else {
        return Err(Error::internal(format!("{NAME} has one input")));
    };
    let (out, logarithms) = match o {
        [out] => (out, None),
        [out, logarithms] => (out, Some(logarithms)),
        _ => return Err(Error::internal(format!("{NAME} has one output or two"))),
    };
    if logarithms.is_some() != attrs.bool("get_prob").map_err(|e| e.within(NAME))? {
        return Err(Error::internal(format!("{NAME}: get_prob makes an output")));
    }
    if logarithms.is_some_and(|l| l.shape != out.shape || l.dtype != data.dtype) {
        return Err(Error::value(format!(
            "{NAME}: logarithms have the shape of the draws and the type of the data"
        )));
    }
    let geometry = Geometry::new(NAME, data, out)?;
    let most = if out.dtype == DType::U8 {
        256
    } else {
        i32::MAX as usize
    };
    if geometry.classes > most {
        return Err(Error::value(format!(
            "{NAME}: {} classes do not fit into {}; set dtype",
            geometry.classes, out.dtype
        )));
    }
    by_float!(NAME, data.dtype, T => boxed(move |call: &mut Call<'_>| run::<T>(geometry, call)))
}

fn run<T: Float>(geometry: Geometry, call: &mut Call<'_>) -> Result<()> {
    let stream = call
        .random
        .ok_or_else(|| Error::internal("a random operator was run without random numbers"))?;
    let data = Source::<T>::of(&call.inputs[0])?;
    let draws = call.outputs.iter().map(|o| o.len()).max().unwrap_or(0);
    let mut found = vec![0_i32; draws];
    let target = Target::of_slice(&mut found);
    let failure = OnceLock::new();
    par::for_ranges(draws, geometry.grain(), |range| {
        // SAFETY: tasks have disjoint ranges.
        let out = unsafe { target.slice(range.clone()) };
        if let Err(e) = classes(geometry, stream, data, range, out) {
            failure.get_or_init(|| e);
        }
    });
    if let Some(e) = failure.into_inner() {
        return Err(e);
    }
    if let ([_, out], [_, req]) = (&mut *call.outputs, call.reqs)
        && *req != Req::Null
    {
        let data = call.inputs[0].read::<T>()?;
        let probability = |(i, &class): (usize, &i32)| {
            data[i / geometry.per * geometry.classes + class as usize].up()
        };
        let logarithm = |draw| Math::ln(probability(draw));
        let mut logarithms: Vec<T::Real> = found.iter().enumerate().map(logarithm).collect();
        let shape = out.shape().to_vec();
        assign(&View::of_slice(&mut logarithms, &shape)?, out, *req)?;
    }
    if call.reqs[0] == Req::Null {
        return Ok(());
    }
    let shape = call.outputs[0].shape().to_vec();
    assign(
        &View::of_slice(&mut found, &shape)?,
        &call.outputs[0],
        call.reqs[0],
    )
}

/// The classes of some draws, each the first whose sum of probabilities exceeds a fraction of all.
fn classes<T: Float>(
    geometry: Geometry,
    stream: Stream,
    data: Source<T>,
    range: Range<usize>,
    out: &mut [i32],
) -> Result<()> {
    let mut sums = vec![0.0; geometry.classes];
    let mut words = [0; 2 * BLOCK];
    let mut row = None;
    let mut last = 0;
    for (i, x) in out.iter_mut().enumerate() {
        let draw = range.start + i;
        if draw.is_multiple_of(BLOCK) || i == 0 {
            fill_words(stream, (draw / BLOCK * (BLOCK / 2)) as u64, &mut words);
        }
        if row != Some(draw / geometry.per) {
            let at = draw / geometry.per * geometry.classes;
            // SAFETY: inputs are not written while kernels run.
            let data = unsafe { data.slice(at..at + geometry.classes) };
            last = add_up(data, &mut sums, draw / geometry.per)?;
            row = Some(draw / geometry.per);
        }
        let place = draw % BLOCK * 2;
        let u = fraction64(words[place], words[place + 1]) * sums[geometry.classes - 1];
        *x = sums.partition_point(|&sum| sum <= u).min(last) as i32;
    }
    Ok(())
}

/// Sets `sums` to those of the probabilities up to each class, and returns the last class that is
/// possible.
fn add_up<T: Float>(data: &[T], sums: &mut [f64], row: usize) -> Result<usize> {
    let (mut sum, mut least) = (0.0, 0.0);
    for (total, p) in sums.iter_mut().zip(data) {
        let p = p.up().f64();
        sum += p;
        *total = sum;
        least = if p < least { p } else { least };
    }
    if sum > 0.0 && sum < f64::INFINITY && least == 0.0 {
        return Ok(sums.partition_point(|&total| total < sum));
    }
    Err(Error::value(format!(
        "row {row} of data holds no probabilities: they must not be negative and have a \
         positive, finite sum, got a sum of {sum} and a least one of {least}"
    )))
}

fn prepare_back(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let ([grad, data, draws], [out]) = arity(BACK, i, o)?;
    if grad.shape != draws.shape || out.shape != data.shape {
        return Err(Error::value(format!(
            "{BACK}: gradients {:?} of draws {:?} cannot go to data {:?}",
            grad.shape, draws.shape, data.shape
        )));
    }
    let geometry = Geometry::new(BACK, data, draws)?;
    by_float!(BACK, data.dtype, T => boxed(move |call: &mut Call<'_>| hand_back::<T>(geometry, call)))
}

/// The gradient of each logarithm goes to its class, over the probability.
fn hand_back<T: Float>(geometry: Geometry, call: &mut Call<'_>) -> Result<()> {
    let [grad, data, draws] = call.inputs else {
        return Err(Error::internal(format!("{BACK} has three inputs")));
    };
    if call.reqs[0] == Req::Null {
        return Ok(());
    }
    let (grad, data) = (grad.read::<T>()?, data.read::<T>()?);
    let mut sums = vec![T::Real::ZERO; data.len()];
    let mut outside = None;
    Indices::of(draws)?.each(0..grad.len(), |i, class| {
        match Outside::Raise.place(class, geometry.classes) {
            Some(class) => {
                let place = i / geometry.per * geometry.classes + class;
                sums[place] += grad[i].up() / data[place].up();
            }
            None => outside = Some(class),
        }
    });
    if let Some(class) = outside {
        return Err(Error::value(format!(
            "there is no class {class}, only {}",
            geometry.classes
        )));
    }
    let shape = call.outputs[0].shape().to_vec();
    assign(
        &View::of_slice(&mut sums, &shape)?,
        &call.outputs[0],
        call.reqs[0],
    )
}
