//! Non-maximum suppression of boxes that come with scores and classes, and its gradient.

use crate::api::prepared::{boxed, check_args, check_count, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Row};
use crate::blocks::blockwise::lifted;
use crate::blocks::staged::Staged;
use crate::boxes::geometry::{Form, Place};
use crate::boxes::nms::{Rule, descending, suppress};
use crate::math::real::{Float, Real, by_float};
use crate::par;
use ferromix_base::{DType, Error, Result};

/// What is done with the boxes of an image, of `width` numbers each.
#[derive(Clone, Copy)]
struct Suppression {
    boxes: usize,
    width: usize,
    overlap: f64,
    valid: f64,
    /// How many of the best ones take part; `None` where nothing is done at all.
    topk: Option<usize>,
    coords: usize,
    score: usize,
    class: Option<usize>,
    background: f64,
    force: bool,
    forms: (Form, Form),
}

impl Suppression {
    fn run<T: Float>(self, call: &mut Call<'_>) -> Result<()> {
        let mut scratch = Vec::new();
        let data = lifted(call.inputs[0].read::<T>()?, &mut scratch);
        let mut staged = Staged::all(call);
        let target = Staged::target::<T>(&mut staged[0])?;
        let record = Staged::target::<i64>(&mut staged[1])?;
        let size = self.boxes * self.width;
        par::for_each(data.len() / size.max(1), |image| {
            let data = &data[image * size..(image + 1) * size];
            let kept = self.kept(data);
            if let Some(record) = record {
                // SAFETY: the places of an image, which one task alone writes.
                let out = unsafe { record.slice(image * self.boxes..(image + 1) * self.boxes) };
                out.fill(-1);
                let from = kept.iter().map(|&i| i as i64);
                out.iter_mut().zip(from).for_each(|(o, x)| *o = x);
            }
            if let Some(target) = target {
                // SAFETY: the boxes of an image, which one task alone writes.
                let out = unsafe { target.slice(image * size..(image + 1) * size) };
                let (some, rest) = out.split_at_mut(kept.len() * self.width);
                for (row, i) in some.chunks_exact_mut(self.width).zip(kept) {
                    self.put(&data[i * self.width..(i + 1) * self.width], row);
                }
                rest.fill(T::down(-T::Real::ONE));
            }
        });
        Staged::finish_all(staged, call.outputs)
    }

    /// The boxes that stay, in order.
    fn kept<R: Real>(self, data: &[R]) -> Vec<usize> {
        let Some(topk) = self.topk else {
            return (0..self.boxes).collect();
        };
        let row = |i: usize| &data[i * self.width..(i + 1) * self.width];
        let valid = |i: &usize| {
            let row = row(*i);
            let behind = |class: usize| row[class].f64() == self.background;
            row[self.score] > R::of(self.valid) && !self.class.is_some_and(behind)
        };
        let some: Vec<usize> = (0..self.boxes).filter(valid).collect();
        let scores: Vec<R> = some.iter().map(|&i| row(i)[self.score]).collect();
        let order: Vec<usize> = descending(&scores).iter().map(|&k| some[k]).collect();
        let order = &order[..order.len().min(topk)];
        let places: Vec<Place<R>> = order
            .iter()
            .map(|&i| self.forms.0.place(self.coords(row(i))))
            .collect();
        let rule = Rule {
            most: R::of(self.overlap),
            pixel: R::ZERO,
            enough: usize::MAX,
        };
        let class = self.class.filter(|_| !self.force);
        let by_class = class.map(|c| move |k: usize| row(order[k])[c].f64() as i64);
        let by_class = by_class
            .as_ref()
            .map(|f| f as &(dyn Fn(usize) -> i64 + Sync));
        let flags = suppress(rule, &places, by_class);
        let stays = order.iter().zip(flags).filter(|(_, stays)| *stays);
        stays.map(|(&i, _)| i).collect()
    }

    fn coords<R: Real>(self, row: &[R]) -> [R; 4] {
        std::array::from_fn(|k| row[self.coords + k])
    }

    /// Writes a box that stays, in the form that is wanted. MXNet leaves those alone that begin with a
    /// negative number, as what it fills up with does.
    fn put<T: Float>(self, from: &[T::Real], to: &mut [T]) {
        to.iter_mut().zip(from).for_each(|(o, &x)| *o = T::down(x));
        let given = self.coords(from);
        if self.topk.is_none() || self.forms.0 == self.forms.1 || given[0] < T::Real::ZERO {
            return;
        }
        let found = match self.forms.1 {
            Form::Corner => Form::Center.corners(given),
            Form::Center => {
                let [left, top, right, bottom] = given;
                let two = T::Real::of(2.0);
                let middle = |x: T::Real, y: T::Real| (x + y) / two;
                [
                    middle(left, right),
                    middle(top, bottom),
                    right - left,
                    bottom - top,
                ]
            }
        };
        let to = &mut to[self.coords..self.coords + 4];
        to.iter_mut().zip(found).for_each(|(o, x)| *o = T::down(x));
    }
}

const NAME: &str = "_contrib_box_nms";

fn prepare(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    check_count(NAME, (i, 1), (o, 2))?;
    let [batch @ .., boxes, width] = &i[0].shape[..] else {
        return Err(Error::value(format!(
            "{NAME}: data of shape {:?} are no rows of boxes",
            &i[0].shape[..]
        )));
    };
    check_shape(NAME, "the output", &o[0], &i[0].shape)?;
    let places: Vec<usize> = batch.iter().chain([boxes, &1]).copied().collect();
    check_shape(NAME, "the record", &o[1], &places)?;
    if o[0].dtype != i[0].dtype || o[1].dtype != DType::I64 {
        return Err(Error::dtype(format!(
            "{NAME}: outputs are {} and int64, got {} and {}",
            i[0].dtype, o[0].dtype, o[1].dtype
        )));
    }
    let place = |attr: &str, last: usize| -> Result<usize> {
        let given = attrs.int(attr)?;
        usize::try_from(given)
            .ok()
            .filter(|place| place.checked_add(last).is_some_and(|end| end < *width))
            .ok_or_else(|| {
                Error::value(format!(
                    "{NAME}: {attr}={given} does not fit rows of {width} numbers"
                ))
            })
    };
    let class = attrs.int("id_index")? >= 0;
    let class = class.then(|| place("id_index", 0)).transpose()?;
    let (topk, background) = (attrs.int("topk")?, attrs.int("background_id")?);
    let run = Suppression {
        boxes: *boxes,
        width: *width,
        overlap: attrs.float("overlap_thresh")?,
        valid: attrs.float("valid_thresh")?,
        topk: match topk {
            0 => None,
            1.. => Some(topk as usize),
            _ => Some(usize::MAX),
        },
        coords: place("coord_start", 3)?,
        score: place("score_index", 0)?,
        class,
        background: background as f64,
        force: attrs.bool("force_suppress")?,
        forms: (
            Form::from_attrs(NAME, attrs, "in_format")?,
            Form::from_attrs(NAME, attrs, "out_format")?,
        ),
    };
    by_float!(NAME, i[0].dtype, T => boxed(move |call: &mut Call<'_>| run.run::<T>(call)))
}

/// Puts each row back where it came from.
fn back<T: Float>(call: &mut Call<'_>, boxes: usize, width: usize) -> Result<()> {
    let Some(mut staged) = Staged::new(&call.outputs[0], call.reqs[0]) else {
        return Ok(());
    };
    let (grads, record) = (call.inputs[0].read::<T>()?, call.inputs[1].read::<i64>()?);
    let out = staged.view.write::<T>()?;
    out.fill(T::down(T::Real::ZERO));
    for (i, place) in record.iter().enumerate() {
        let Some(place) = usize::try_from(*place).ok().filter(|p| *p < boxes) else {
            continue;
        };
        let to = (i / boxes * boxes + place) * width;
        out[to..to + width].copy_from_slice(&grads[i * width..(i + 1) * width]);
    }
    staged.finish(&call.outputs[0])
}

fn prepare_back(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_backward_contrib_box_nms";
    check_count(name, (i, 2), (o, 1))?;
    check_args(name, (&i[..1], 1), (o, 1))?;
    check_shape(name, "the output", &o[0], &i[0].shape)?;
    let &[ref batch @ .., boxes, width] = &i[0].shape[..] else {
        return Err(Error::value(format!("{name}: gradients are rows of boxes")));
    };
    let places: Vec<usize> = batch.iter().copied().chain([boxes, 1]).collect();
    check_shape(name, "the record", &i[1], &places)?;
    by_float!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        back::<T>(call, boxes, width)
    }))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new(NAME, prepare).unknown_cost(),
    Row::new("_backward_contrib_box_nms", prepare_back),
];
