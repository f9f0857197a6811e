//! `SequenceMask`, `SequenceLast` and `SequenceReverse`: sequences of different lengths along one of the
//! first two axes, which number steps and members of a batch.

use crate::api::prepared::{boxed, check_count, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Row, View};
use crate::blocks::indices::Indices;
use crate::blocks::staged::Staged;
use crate::iter::convert::with_type;
use crate::iter::reader::Parts;
use crate::par;
use crate::simd::number::Convert;
use ferromix_base::{Element, Error, Result};

/// Elements per task.
const GRAIN: usize = 32_768;

/// The extents of the data.
#[derive(Clone, Copy)]
struct Steps {
    first: usize,
    second: usize,
    rest: usize,
    /// The axis of the steps, 0 or 1.
    axis: usize,
}

impl Steps {
    fn new(name: &str, attrs: &Attrs, data: &Desc) -> Result<Self> {
        let (axis, shape) = (attrs.int("axis")?, &data.shape[..]);
        let [first, second, rest @ ..] = shape else {
            return Err(Error::value(format!(
                "{name}: data of shape {shape:?} need at least 2 dimensions"
            )));
        };
        if !(0..2).contains(&axis) {
            return Err(Error::value(format!("{name}: axis {axis} is not 0 or 1")));
        }
        Ok(Steps {
            first: *first,
            second: *second,
            rest: rest.iter().product(),
            axis: axis as usize,
        })
    }

    fn time(self) -> usize {
        if self.axis == 0 {
            self.first
        } else {
            self.second
        }
    }

    fn batch(self) -> usize {
        if self.axis == 0 {
            self.second
        } else {
            self.first
        }
    }

    /// The place of a step of a member, in blocks of `rest`.
    fn place(self, step: usize, member: usize) -> usize {
        if self.axis == 0 {
            step * self.second + member
        } else {
            member * self.second + step
        }
    }

    /// Step and member at a place.
    fn at(self, place: usize) -> (usize, usize) {
        let (i, j) = (place / self.second, place % self.second);
        if self.axis == 0 { (i, j) } else { (j, i) }
    }

    /// The lengths, which `find` makes of the numbers.
    fn lengths(
        self,
        given: Option<&View>,
        find: impl Fn(i64) -> Result<usize>,
    ) -> Result<Vec<usize>> {
        let Some(view) = given else {
            return Ok(vec![self.time(); self.batch()]);
        };
        let (mut found, mut wrong) = (Vec::with_capacity(view.len()), None);
        Indices::of(view)?.each(0..view.len(), |_, n| match find(n) {
            Ok(length) => found.push(length),
            Err(error) => wrong = wrong.take().or(Some(error)),
        });
        wrong.map_or(Ok(found), Err)
    }

    /// The lengths, all of which must be from `least` to the number of steps.
    fn exact(self, name: &str, given: Option<&View>, least: usize) -> Result<Vec<usize>> {
        let time = self.time();
        self.lengths(given, |n| match usize::try_from(n) {
            Ok(n) if (least..=time).contains(&n) => Ok(n),
            _ => Err(Error::index(format!(
                "{name}: a sequence length is {n}, expected {least} to {time}"
            ))),
        })
    }
}

type Run = fn(Steps, f64, Option<&View>, &View, &mut View) -> Result<()>;

/// The kernel of `run`, whose inputs are numbers of which `data` is one, then perhaps the lengths.
fn prepare(
    name: &'static str,
    run: Run,
    attrs: &Attrs,
    (ins, outs, data): (&[Desc], &[Desc], &Desc),
) -> Result<Box<dyn Kernel>> {
    let masked = attrs.bool("use_sequence_length")?;
    let numbers = if name.starts_with('_') { 2 } else { 1 };
    check_count(name, (ins, numbers + usize::from(masked)), (outs, 1))?;
    let steps = Steps::new(name, attrs, data)?;
    if masked {
        check_shape(name, "sequence_length", &ins[numbers], &[steps.batch()])?;
    }
    if ins[..numbers].iter().any(|d| d.dtype != outs[0].dtype) {
        return Err(Error::dtype(format!(
            "{name}: data and output must share one dtype"
        )));
    }
    let value = if name == "SequenceMask" {
        attrs.float("value")?
    } else {
        0.0
    };
    boxed(move |call: &mut Call<'_>| {
        let lengths = masked.then(|| &call.inputs[numbers]);
        let Some(mut staged) = Staged::new(&call.outputs[0], call.reqs[0]) else {
            return Ok(());
        };
        run(steps, value, lengths, &call.inputs[0], &mut staged.view)?;
        staged.finish(&call.outputs[0])
    })
}

fn mask(s: Steps, value: f64, lengths: Option<&View>, data: &View, out: &mut View) -> Result<()> {
    let within = |n: i64| Ok(usize::try_from(n).unwrap_or(0).min(s.time()));
    let lengths = s.lengths(lengths, within)?;
    with_type!(data.dtype(), T => {
        mask_as::<T>(s, value.convert::<T>(), &lengths, data.read::<T>()?, out.write::<T>()?);
    });
    Ok(())
}

fn mask_as<T: Element>(s: Steps, value: T, lengths: &[usize], data: &[T], out: &mut [T]) {
    let row = s.second * s.rest;
    let out = Parts::new(out);
    par::for_ranges(s.first, GRAIN / row.max(1), |rows| {
        for i in rows {
            let from = &data[i * row..(i + 1) * row];
            // SAFETY: each row belongs to one task.
            let to = unsafe { out.part(i * row, row) };
            if s.axis == 1 {
                let kept = lengths[i] * s.rest;
                to[..kept].copy_from_slice(&from[..kept]);
                to[kept..].fill(value);
            } else if s.rest == 1 {
                for ((y, &x), &length) in to.iter_mut().zip(from).zip(lengths) {
                    *y = if i < length { x } else { value };
                }
            } else {
                let blocks = to.chunks_exact_mut(s.rest).zip(from.chunks_exact(s.rest));
                for ((y, x), &length) in blocks.zip(lengths) {
                    if i < length {
                        y.copy_from_slice(x);
                    } else {
                        y.fill(value);
                    }
                }
            }
        }
    });
}

/// Fills each block of `out` with the block of `data` that `source` names, or with zeros.
fn blocks(
    rest: usize,
    data: &View,
    out: &mut View,
    source: impl Fn(usize) -> Option<usize> + Sync + Send,
) -> Result<()> {
    with_type!(data.dtype(), T => {
        let (data, out) = (data.read::<T>()?, out.write::<T>()?);
        let count = out.len() / rest.max(1);
        let out = Parts::new(out);
        par::for_ranges(count, GRAIN / rest.max(1), |range| {
            for i in range {
                // SAFETY: each block belongs to one task.
                let to = unsafe { out.part(i * rest, rest) };
                match source(i) {
                    Some(j) => to.copy_from_slice(&data[j * rest..(j + 1) * rest]),
                    None => to.fill(0.0.convert::<T>()),
                }
            }
        });
    });
    Ok(())
}

fn reverse(s: Steps, _: f64, lengths: Option<&View>, data: &View, out: &mut View) -> Result<()> {
    let lengths = s.exact("SequenceReverse", lengths, 0)?;
    blocks(s.rest, data, out, |i| {
        let (step, member) = s.at(i);
        let length = lengths[member];
        Some(if step < length {
            s.place(length - 1 - step, member)
        } else {
            i
        })
    })
}

fn last(s: Steps, _: f64, lengths: Option<&View>, data: &View, out: &mut View) -> Result<()> {
    let lengths = s.exact("SequenceLast", lengths, 1)?;
    if s.time() == 0 {
        return Err(Error::index("SequenceLast: the sequences have no steps"));
    }
    blocks(s.rest, data, out, |i| Some(s.place(lengths[i] - 1, i)))
}

fn back(s: Steps, _: f64, lengths: Option<&View>, head: &View, out: &mut View) -> Result<()> {
    let lengths = s.exact("SequenceLast", lengths, 1)?;
    blocks(s.rest, head, out, |i| {
        let (step, member) = s.at(i);
        (step + 1 == lengths[member]).then_some(member)
    })
}

/// Checks the shape of an output of as many blocks as members.
fn check_last(s: Steps, shape: &[usize], last: &Desc) -> Result<()> {
    let mut expected = vec![s.batch()];
    expected.extend(shape.iter().skip(2));
    check_shape("SequenceLast", "output", last, &expected)
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("SequenceMask", |a, i, o| {
        let data = first(i)?;
        check_shape("SequenceMask", "output", first(o)?, &data.shape)?;
        prepare("SequenceMask", mask, a, (i, o, data))
    }),
    Row::new("SequenceReverse", |a, i, o| {
        let data = first(i)?;
        check_shape("SequenceReverse", "output", first(o)?, &data.shape)?;
        prepare("SequenceReverse", reverse, a, (i, o, data))
    }),
    Row::new("SequenceLast", |a, i, o| {
        let data = first(i)?;
        check_last(Steps::new("SequenceLast", a, data)?, &data.shape, first(o)?)?;
        prepare("SequenceLast", last, a, (i, o, data))
    }),
    Row::new("_backward_SequenceLast", |a, i, o| {
        let data = first(o)?;
        check_last(Steps::new("SequenceLast", a, data)?, &data.shape, first(i)?)?;
        prepare("_backward_SequenceLast", back, a, (i, o, data))
    }),
];

fn first(all: &[Desc]) -> Result<&Desc> {
    all.first()
        .ok_or_else(|| Error::value("sequences: an argument is missing"))
}
