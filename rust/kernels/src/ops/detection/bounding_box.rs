//! Overlaps of boxes, offsets from anchors to boxes and back, and the matching of rows with columns.

use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row};
use crate::blocks::blockwise::{lifted, store};
use crate::blocks::raw::Target;
use crate::blocks::staged::Staged;
use crate::boxes::geometry::{Form, Places, at, center, decode, encode};
use crate::boxes::nms::descending;
use crate::math::real::{Float, Real, by_float};
use crate::par;
use ferromix_base::{Error, Result, element_count};
use std::sync::OnceLock;

/// Overlaps, or boxes, of a task.
const GRAIN: usize = 8192;

fn refused(name: &str, what: &str, desc: &Desc) -> Error {
    Error::value(format!("{name}: {what}, got {:?}", &desc.shape[..]))
}

/// The number of boxes of four numbers each.
fn boxes(name: &str, desc: &Desc) -> Result<usize> {
    match desc.shape.split_last() {
        Some((&4, rest)) => element_count(rest),
        _ => Err(refused(name, "the last axis of boxes has 4 numbers", desc)),
    }
}

fn iou<T: Float>(form: Form, call: &mut Call<'_>) -> Result<()> {
    let Some(mut staged) = Staged::new(&call.outputs[0], call.reqs[0]) else {
        return Ok(());
    };
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let lhs = lifted(call.inputs[0].read::<T>()?, &mut left);
    let rhs = lifted(call.inputs[1].read::<T>()?, &mut right);
    let m = rhs.len() / 4;
    let places = Places::of((0..m).map(|j| form.place(at(rhs, j))));
    let target = Target::<T>::of(&mut staged.view)?;
    par::for_ranges(lhs.len() / 4, GRAIN / m.max(1), |rows| {
        let mut line = vec![T::Real::ZERO; m];
        for i in rows {
            places.overlaps(form.place(at(lhs, i)), &mut line);
            // SAFETY: a row of this task alone.
            let out = unsafe { target.slice(i * m..(i + 1) * m) };
            store(&line, out, Req::Write);
        }
    });
    staged.finish(&call.outputs[0])
}

fn prepare_iou(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_box_iou";
    check_args(name, (i, 2), (o, 1))?;
    let form = Form::from_attrs(name, attrs, "format")?;
    let pairs = boxes(name, &i[0])?.checked_mul(boxes(name, &i[1])?);
    if pairs != Some(element_count(&o[0].shape)?) {
        return Err(refused(name, "there is an overlap for each pair", &o[0]));
    }
    by_float!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| iou::<T>(form, call)))
}

/// Which box each anchor is to become: batches, anchors and boxes.
#[derive(Clone, Copy)]
struct Encode {
    anchors: usize,
    refs: usize,
}

const ENCODE: &str = "_contrib_box_encode";

impl Encode {
    fn run<T: Float>(self, call: &mut Call<'_>) -> Result<()> {
        let mut scratch: [Vec<T::Real>; 6] = std::array::from_fn(|_| Vec::new());
        let mut given: [&[T::Real]; 6] = [&[]; 6];
        for ((given, scratch), view) in given.iter_mut().zip(&mut scratch).zip(call.inputs) {
            *given = lifted(view.read::<T>()?, scratch);
        }
        let mut staged = Staged::all(call);
        let outs = staged.iter_mut().map(Staged::target::<T>);
        let outs: Vec<_> = outs.collect::<Result<_>>()?;
        let failure = OnceLock::new();
        par::for_ranges(given[0].len(), GRAIN, |range| {
            for i in range {
                let rows = self.one(given, i).unwrap_or_else(|e| {
                    failure.get_or_init(|| e);
                    [[T::Real::ZERO; 4]; 2]
                });
                for (out, row) in outs.iter().zip(rows) {
                    if let Some(out) = out {
                        // SAFETY: the numbers of an anchor, which one task alone writes.
                        let out = unsafe { out.slice(4 * i..4 * i + 4) };
                        out.iter_mut().zip(row).for_each(|(o, x)| *o = T::down(x));
                    }
                }
            }
        });
        if let Some(e) = failure.into_inner() {
            return Err(e);
        }
        Staged::finish_all(staged, call.outputs)
    }

    /// Offsets and mask of anchor `i` of all batches.
    fn one<R: Real>(self, given: [&[R]; 6], i: usize) -> Result<[[R; 4]; 2]> {
        let [samples, matches, anchors, refs, means, stds] = given;
        let chosen = samples[i] > R::of(0.5);
        if !chosen {
            return Ok([[R::ZERO; 4]; 2]);
        }
        let found = matches[i].f64();
        let most = self.refs as f64;
        if !(found > -1.0 && found < most) {
            return Err(Error::index(format!(
                "{ENCODE}: match {found} of a sample is no index of {most} boxes"
            )));
        }
        let to = center(at(refs, i / self.anchors * self.refs + found as usize));
        let offsets = encode(to, center(at(anchors, i)));
        let scaled = std::array::from_fn(|k| (offsets[k] - means[k]) / stds[k]);
        Ok([scaled, [R::ONE; 4]])
    }
}

fn prepare_encode(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    check_args(ENCODE, (i, 6), (o, 2))?;
    let (&[b, n], &[_, m, 4]) = (&i[0].shape[..], &i[3].shape[..]) else {
        return Err(refused(ENCODE, "refs have the shape (b, m, 4)", &i[3]));
    };
    for (k, what, shape) in [
        (1, "matches", &[b, n][..]),
        (2, "anchors", &[b, n, 4]),
        (3, "refs", &[b, m, 4]),
        (4, "means", &[4]),
        (5, "stds", &[4]),
    ] {
        check_shape(ENCODE, what, &i[k], shape)?;
    }
    for out in o {
        check_shape(ENCODE, "an output", out, &[b, n, 4])?;
    }
    let run = Encode {
        anchors: n,
        refs: m,
    };
    by_float!(ENCODE, i[0].dtype, T => boxed(move |call: &mut Call<'_>| run.run::<T>(call)))
}

#[derive(Clone, Copy)]
struct Decode {
    form: Form,
    anchors: usize,
    stds: [f64; 4],
    clip: f64,
}

impl Decode {
    fn run<T: Float>(self, call: &mut Call<'_>) -> Result<()> {
        let Some(mut staged) = Staged::new(&call.outputs[0], call.reqs[0]) else {
            return Ok(());
        };
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let data = lifted(call.inputs[0].read::<T>()?, &mut left);
        let anchors = lifted(call.inputs[1].read::<T>()?, &mut right);
        let target = Target::<T>::of(&mut staged.view)?;
        let most = (self.clip > 0.0).then(|| T::Real::of(self.clip));
        let stds = self.stds.map(T::Real::of);
        par::for_ranges(data.len() / 4, GRAIN, |range| {
            for i in range {
                let given = at(anchors, i % self.anchors);
                let anchor = match self.form {
                    Form::Center => given,
                    Form::Corner => center(given),
                };
                let offsets = at(data, i);
                let scaled = std::array::from_fn(|k| offsets[k] * stds[k]);
                let row = decode(scaled, anchor, most);
                // SAFETY: the numbers of an anchor, which one task alone writes.
                let out = unsafe { target.slice(4 * i..4 * i + 4) };
                out.iter_mut().zip(row).for_each(|(o, x)| *o = T::down(x));
            }
        });
        staged.finish(&call.outputs[0])
    }
}

fn prepare_decode(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_box_decode";
    check_args(name, (i, 2), (o, 1))?;
    let &[_, n, 4] = &i[0].shape[..] else {
        return Err(refused(name, "data have the shape (b, n, 4)", &i[0]));
    };
    check_shape(name, "anchors", &i[1], &[1, n, 4])?;
    check_shape(name, "the output", &o[0], &i[0].shape)?;
    let mut stds = [0.0; 4];
    for (k, std) in stds.iter_mut().enumerate() {
        *std = attrs.float(&format!("std{k}"))?;
    }
    let run = Decode {
        form: Form::from_attrs(name, attrs, "format")?,
        anchors: n,
        stds,
        clip: attrs.float("clip")?,
    };
    by_float!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| run.run::<T>(call)))
}

/// Which row goes with which column, the best pairs first.
#[derive(Clone, Copy)]
struct Matching {
    rows: usize,
    columns: usize,
    ascending: bool,
    threshold: f64,
    /// Pairs after which no more are made.
    most: usize,
}

impl Matching {
    fn run<T: Float>(self, call: &mut Call<'_>) -> Result<()> {
        let mut scratch = Vec::new();
        let scores = lifted(call.inputs[0].read::<T>()?, &mut scratch);
        let mut staged = Staged::all(call);
        let outs = staged.iter_mut().map(Staged::target::<T>);
        let outs: Vec<_> = outs.collect::<Result<_>>()?;
        let pairs = self.rows * self.columns;
        let images = scores.len() / pairs.max(1);
        par::for_each(images, |image| {
            let found = self.pairs(&scores[image * pairs..(image + 1) * pairs]);
            for (out, found) in outs.iter().zip(&found) {
                if let Some(out) = out {
                    // SAFETY: the matches of an image, which one task alone writes.
                    let out = unsafe { out.slice(image * found.len()..(image + 1) * found.len()) };
                    let real = |x: &Option<usize>| x.map_or(-1.0, |x| x as f64);
                    let numbers = found.iter().map(|x| T::down(T::Real::of(real(x))));
                    out.iter_mut().zip(numbers).for_each(|(o, x)| *o = x);
                }
            }
        });
        if pairs == 0 {
            // Nobody has a partner.
            for staged in staged.iter_mut().flatten() {
                staged.view.write::<T>()?.fill(T::down(-T::Real::ONE));
            }
        }
        Staged::finish_all(staged, call.outputs)
    }

    /// The column of each row, and the row of each column.
    fn pairs<R: Real>(self, scores: &[R]) -> [Vec<Option<usize>>; 2] {
        let order = if self.ascending {
            descending(&scores.iter().map(|&x| -x).collect::<Vec<_>>())
        } else {
            descending(scores)
        };
        let threshold = R::of(self.threshold);
        let (mut rows, mut columns) = (vec![None; self.rows], vec![None; self.columns]);
        let mut made = 0;
        for place in order {
            let (row, column) = (place / self.columns, place % self.columns);
            if rows[row].is_some() || columns[column].is_some() {
                continue;
            }
            let good = if self.ascending {
                scores[place] < threshold
            } else {
                scores[place] > threshold
            };
            if !good || made == self.most {
                break;
            }
            rows[row] = Some(column);
            columns[column] = Some(row);
            made += 1;
        }
        [rows, columns]
    }
}

fn prepare_matching(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_bipartite_matching";
    check_args(name, (i, 1), (o, 2))?;
    let [batch @ .., rows, columns] = &i[0].shape[..] else {
        return Err(refused(name, "data have two dimensions or more", &i[0]));
    };
    for (out, extent) in o.iter().zip([rows, columns]) {
        let shape: Vec<usize> = batch.iter().chain([extent]).copied().collect();
        check_shape(name, "an output", out, &shape)?;
    }
    let topk = attrs.int("topk")?;
    let run = Matching {
        rows: *rows,
        columns: *columns,
        ascending: attrs.bool("is_ascend")?,
        threshold: attrs.float("threshold")?,
        // One more than asked for, as MXNet.
        most: if topk > 0 {
            topk as usize + 1
        } else {
            usize::MAX
        },
    };
    by_float!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| run.run::<T>(call)))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("_contrib_box_iou", prepare_iou).unknown_cost(),
    Row::new("_contrib_box_encode", prepare_encode).cost(8),
    Row::new("_contrib_box_decode", prepare_decode).cost(2),
    Row::new("_contrib_bipartite_matching", prepare_matching).unknown_cost(),
];
