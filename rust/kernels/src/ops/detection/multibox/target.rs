//! What a detector is to learn: for each anchor a class, and offsets to the box that it is to become.

use super::numbers;
use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel};
use crate::blocks::raw::Target;
use crate::blocks::staged::Staged;
use crate::boxes::geometry::{Form, Places, at, center, encode};
use crate::boxes::nms::descending;
use crate::boxes::single;
use crate::par;
use ferromix_base::{Error, Result};
use std::sync::OnceLock;

const NAME: &str = "_contrib_MultiBoxTarget";

/// Overlaps up to this are none.
const LEAST: f32 = 1e-6;

#[derive(Clone, Copy)]
struct Targets {
    anchors: usize,
    labels: usize,
    width: usize,
    classes: usize,
    overlap: f32,
    ignored: f32,
    /// Negative anchors for each positive one, where not all others are negative.
    ratio: f32,
    /// The overlap from which on an anchor is not negative.
    limit: f32,
    variances: [f32; 4],
}

/// What an anchor is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Ignored,
    Negative,
    /// The label that it is matched with.
    Positive(usize),
}

impl Targets {
    fn run(self, call: &mut Call<'_>) -> Result<()> {
        let mut inputs = [&[][..]; 3];
        for (input, view) in inputs.iter_mut().zip(call.inputs) {
            *input = view.read::<f32>()?;
        }
        let [anchors, labels, scores] = inputs;
        let mut staged = Staged::all(call);
        let outs = staged.iter_mut().map(Staged::target::<f32>);
        let outs: Vec<Option<Target<f32>>> = outs.collect::<Result<_>>()?;
        let rows = self.labels * self.width;
        let images = call.outputs[2].len() / self.anchors.max(1);
        let places = Places::of((0..self.anchors).map(|i| Form::Corner.place(at(anchors, i))));
        let failure = OnceLock::new();
        par::for_each(images, |image| {
            let labels = &labels[image * rows..(image + 1) * rows];
            let size = self.classes * self.anchors;
            let scores = &scores[image * size..(image + 1) * size];
            let roles = self.roles(&places, labels, scores).unwrap_or_else(|e| {
                failure.get_or_init(|| e);
                Vec::new()
            });
            for (k, out) in outs.iter().enumerate() {
                let n = self.anchors * if k < 2 { 4 } else { 1 };
                let Some(out) = out else { continue };
                // SAFETY: the targets of an image, which one task alone writes.
                let out = unsafe { out.slice(image * n..(image + 1) * n) };
                self.put(k, &roles, anchors, labels, out);
            }
        });
        failure.into_inner().map_or(Ok(()), Err)?;
        Staged::finish_all(staged, call.outputs)
    }

    /// Writes output `k` for an image.
    fn put(&self, k: usize, roles: &[Role], anchors: &[f32], labels: &[f32], out: &mut [f32]) {
        let positive = |role: &Role| match *role {
            Role::Positive(label) => Some(&labels[label * self.width..][..self.width]),
            _ => None,
        };
        if k == 2 {
            for (out, role) in out.iter_mut().zip(roles) {
                *out = match (positive(role), role) {
                    (Some(label), _) => label[0] + 1.0,
                    (None, Role::Ignored) => self.ignored,
                    (None, _) => 0.0,
                };
            }
            return;
        }
        out.fill(0.0);
        for (i, (out, role)) in out.as_chunks_mut().0.iter_mut().zip(roles).enumerate() {
            *out = match positive(role) {
                None => [0.0; 4],
                Some(_) if k == 1 => [1.0; 4],
                Some(label) => {
                    let to = center([label[1], label[2], label[3], label[4]]);
                    let offsets = encode(to, center(at(anchors, i)));
                    std::array::from_fn(|k| offsets[k] / self.variances[k])
                }
            };
        }
    }

    /// How many labels there are: those up to the first one of class -1.
    fn count(&self, labels: &[f32]) -> Result<usize> {
        let mut rows = labels.chunks_exact(self.width);
        let Some(count) = rows.position(|row| row[0] == -1.0) else {
            return Ok(self.labels);
        };
        let last = &labels[count * self.width..][1..5];
        if last.iter().all(|&x| x == -1.0) {
            return Ok(count);
        }
        Err(Error::value(format!(
            "{NAME}: the label of class -1, which ends those of an image, must have -1 for each \
             coordinate, got {last:?}"
        )))
    }

    fn roles(&self, places: &Places<f32>, labels: &[f32], scores: &[f32]) -> Result<Vec<Role>> {
        let n = self.anchors;
        let count = self.count(labels)?;
        let mut roles = vec![Role::Ignored; n];
        if count == 0 {
            return Ok(roles);
        }
        let mut matches = Matches::new(places, labels, self.width, count);
        matches.pair(&mut roles);
        if self.overlap > 0.0 {
            for (role, &(overlap, label)) in roles.iter_mut().zip(&matches.best) {
                if *role == Role::Ignored && overlap > self.overlap {
                    *role = Role::Positive(label);
                }
            }
        }
        let is_positive = |role: &&Role| matches!(role, Role::Positive(_));
        let positives = roles.iter().filter(is_positive).count();
        let free = (0..n).filter(|&i| roles[i] == Role::Ignored);
        if self.ratio <= 0.0 {
            free.collect::<Vec<_>>()
                .into_iter()
                .for_each(|i| roles[i] = Role::Negative);
            return Ok(roles);
        }
        let wanted = (positives as f32 * self.ratio) as usize;
        let wanted = wanted.min(n - positives);
        let far: Vec<usize> = free.filter(|&i| matches.best[i].0 < self.limit).collect();
        if wanted > far.len() {
            return Err(Error::value(format!(
                "{NAME}: {wanted} negative anchors are wanted, but only {} overlap all labels by \
                 less than negative_mining_thresh={}",
                far.len(),
                self.limit
            )));
        }
        // Those first that look least like background.
        let hard: Vec<f32> = far.iter().map(|&i| -self.background(scores, i)).collect();
        for k in descending(&hard).into_iter().take(wanted) {
            roles[far[k]] = Role::Negative;
        }
        Ok(roles)
    }

    /// The probability of the background at an anchor, from the scores of all classes.
    fn background(&self, scores: &[f32], anchor: usize) -> f32 {
        let scores = scores[anchor..].iter().step_by(self.anchors);
        let most = scores.clone().fold(f32::MIN, |most, &x| most.max(x));
        let mut powers = scores.map(|&x| (x - most).exp());
        let first = powers.next().unwrap_or(0.0);
        first / powers.fold(first, |sum, x| sum + x)
    }
}

/// Overlaps of anchors and labels.
struct Matches<'a> {
    places: &'a Places<f32>,
    labels: &'a [f32],
    width: usize,
    count: usize,
    /// For each anchor the largest overlap, and the first label that has it.
    best: Vec<(f32, usize)>,
    /// For each label the largest overlap with a free anchor, and the first one that has it.
    nearest: Vec<(f32, usize)>,
    scratch: Vec<f32>,
}

impl<'a> Matches<'a> {
    fn new(places: &'a Places<f32>, labels: &'a [f32], width: usize, count: usize) -> Self {
        let n = places.len();
        let mut matches = Matches {
            places,
            labels,
            width,
            count,
            best: vec![(-1.0, 0); n],
            nearest: vec![(LEAST, n); count],
            scratch: vec![0.0; n],
        };
        for label in 0..count {
            matches.measure(label);
            for (best, &overlap) in matches.best.iter_mut().zip(&matches.scratch) {
                if overlap > best.0 {
                    *best = (overlap, label);
                }
            }
            matches.look(label, &[]);
        }
        matches
    }

    fn measure(&mut self, label: usize) {
        let row = &self.labels[label * self.width..];
        let place = Form::Corner.place([row[1], row[2], row[3], row[4]]);
        self.places.overlaps(place, &mut self.scratch);
    }

    /// Finds the nearest anchor without a role, from what was measured.
    fn look(&mut self, label: usize, roles: &[Role]) {
        let mut nearest = (LEAST, self.places.len());
        for (i, &overlap) in self.scratch.iter().enumerate() {
            if overlap > nearest.0 && !matches!(roles.get(i), Some(Role::Positive(_))) {
                nearest = (overlap, i);
            }
        }
        self.nearest[label] = nearest;
    }

    /// Gives each label an anchor of its own, the largest overlaps first.
    fn pair(&mut self, roles: &mut [Role]) {
        let mut waiting: Vec<usize> = (0..self.count).collect();
        while !waiting.is_empty() {
            let mut first = 0;
            for k in 1..waiting.len() {
                let (a, b) = (self.nearest[waiting[k]], self.nearest[waiting[first]]);
                if a.0 > b.0 || (a.0 == b.0 && a.1 < b.1) {
                    first = k;
                }
            }
            let label = waiting[first];
            let (_, anchor) = self.nearest[label];
            let Some(role) = roles.get_mut(anchor) else {
                return;
            };
            *role = Role::Positive(label);
            waiting.remove(first);
            for &other in &waiting {
                if self.nearest[other].1 == anchor {
                    self.measure(other);
                    self.look(other, roles);
                }
            }
        }
    }
}

pub(super) fn prepare(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    check_args(NAME, (i, 3), (o, 3))?;
    single(NAME, i)?;
    let (&[images, labels, width], &[_, classes, anchors]) = (&i[1].shape[..], &i[2].shape[..])
    else {
        return Err(Error::value(format!(
            "{NAME}: label and cls_pred have three dimensions"
        )));
    };
    if width < 5 {
        return Err(Error::value(format!(
            "{NAME}: a label is a class and four coordinates at least, got {width} numbers"
        )));
    }
    check_shape(NAME, "anchor", &i[0], &[1, anchors, 4])?;
    check_shape(NAME, "cls_pred", &i[2], &[images, classes, anchors])?;
    let offsets = anchors.saturating_mul(4);
    for (out, shape) in o.iter().zip([offsets, offsets, anchors]) {
        check_shape(NAME, "an output", out, &[images, shape])?;
    }
    let number = |name: &str| -> Result<f32> { Ok(attrs.float(name)? as f32) };
    let run = Targets {
        anchors,
        labels,
        width,
        classes,
        overlap: number("overlap_threshold")?,
        ignored: number("ignore_label")?,
        ratio: number("negative_mining_ratio")?,
        limit: number("negative_mining_thresh")?,
        variances: numbers(NAME, attrs, "variances")?,
    };
    boxed(move |call: &mut Call<'_>| run.run(call))
}
