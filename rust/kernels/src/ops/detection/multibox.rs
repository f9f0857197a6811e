//! Anchors over an image, and the boxes that a detector finds from them. All in single precision, as in
//! MXNet.

mod target;

use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Row};
use crate::blocks::raw::Target;
use crate::blocks::staged::Staged;
use crate::boxes::geometry::{Form, Place, at, center, decode};
use crate::boxes::nms::{Rule, descending, suppress};
use crate::boxes::single;
use crate::par;
use crate::simd::vector::multiversion;
use ferromix_base::{Error, Result, element_count};

/// Anchors of a task.
const GRAIN: usize = 2048;

/// The attribute `name` as `N` numbers in single precision.
///
/// # Errors
/// Another number of them.
fn numbers<const N: usize>(operator: &str, attrs: &Attrs, name: &str) -> Result<[f32; N]> {
    let given: Vec<f32> = attrs.floats(name)?.iter().map(|&x| x as f32).collect();
    <[f32; N]>::try_from(given)
        .map_err(|_| Error::value(format!("{operator}: attribute '{name}' must be {N} floats")))
}

/// The anchors of a layer of `rows` by `columns`.
struct Prior {
    rows: usize,
    columns: usize,
    /// Half of width and height of the anchors around each place.
    halves: Vec<[f32; 2]>,
    /// Down and to the right.
    steps: [f32; 2],
    offsets: [f32; 2],
    clip: bool,
}

impl Prior {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let Some(mut staged) = Staged::new(&call.outputs[0], call.reqs[0]) else {
            return Ok(());
        };
        let mut rows = staged.view.write::<f32>()?.chunks_exact_mut(4);
        for place in 0..self.rows * self.columns {
            let middle =
                |at: usize, axis: usize| (at as f32 + self.offsets[axis]) * self.steps[axis];
            let y = middle(place / self.columns, 0);
            let x = middle(place % self.columns, 1);
            for (&[w, h], row) in self.halves.iter().zip(&mut rows) {
                row.copy_from_slice(&[x - w, y - h, x + w, y + h]);
                if self.clip {
                    row.iter_mut().for_each(|x| *x = x.clamp(0.0, 1.0));
                }
            }
        }
        staged.finish(&call.outputs[0])
    }
}

fn prepare_prior(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_MultiBoxPrior";
    check_args(name, (i, 1), (o, 1))?;
    single(name, i)?;
    let &[_, _, rows, columns] = &i[0].shape[..] else {
        return Err(Error::value(format!("{name}: data have four dimensions")));
    };
    let list = |attr: &str| -> Result<Vec<f32>> {
        Ok(attrs.floats(attr)?.iter().map(|&x| x as f32).collect())
    };
    let (sizes, ratios) = (list("sizes")?, list("ratios")?);
    let (Some(&size), Some(&ratio)) = (sizes.first(), ratios.first()) else {
        return Err(Error::value(format!(
            "{name}: there is a size and a ratio at least"
        )));
    };
    let half = |size: f32, ratio: f32| {
        let root = ratio.sqrt();
        let wide = size * rows as f32 / columns as f32 * root / 2.0;
        [wide, size / root / 2.0]
    };
    let by_size = sizes.iter().map(|&size| half(size, ratio));
    let by_ratio = ratios[1..].iter().map(|&ratio| half(size, ratio));
    let [down, right] = numbers(name, attrs, "steps")?;
    let run = Prior {
        rows,
        columns,
        halves: by_size.chain(by_ratio).collect(),
        steps: if down <= 0.0 || right <= 0.0 {
            [1.0 / rows as f32, 1.0 / columns as f32]
        } else {
            [down, right]
        },
        offsets: numbers(name, attrs, "offsets")?,
        clip: attrs.bool("clip")?,
    };
    if Some(element_count(&o[0].shape)?)
        != element_count(&[rows, columns, run.halves.len(), 4]).ok()
    {
        return Err(Error::value(format!(
            "{name}: {} anchors around each place do not fill {:?}",
            run.halves.len(),
            &o[0].shape[..]
        )));
    }
    boxed(move |call: &mut Call<'_>| run.run(call))
}

/// Classes, boxes and scores of what was detected.
#[derive(Clone, Copy)]
struct Detection {
    classes: usize,
    anchors: usize,
    clip: bool,
    threshold: f32,
    /// Boxes that overlap by so much exclude each other; nothing is done outside of (0, 1].
    overlap: f32,
    force: bool,
    variances: [f32; 4],
    topk: usize,
}

impl Detection {
    fn run(self, call: &mut Call<'_>) -> Result<()> {
        let Some(mut staged) = Staged::new(&call.outputs[0], call.reqs[0]) else {
            return Ok(());
        };
        let mut inputs = [&[][..]; 3];
        for (input, view) in inputs.iter_mut().zip(call.inputs) {
            *input = view.read::<f32>()?;
        }
        let [scores, offsets, anchors] = inputs;
        let target = Target::<f32>::of(&mut staged.view)?;
        let (n, all) = (self.anchors, self.anchors * self.classes);
        par::for_each(target.len() / (n * 6), |image| {
            // SAFETY: the rows of an image, which one task alone writes.
            let out = unsafe { target.slice(image * n * 6..(image + 1) * n * 6) };
            let scores = &scores[image * all..(image + 1) * all];
            let offsets = &offsets[image * n * 4..(image + 1) * n * 4];
            self.image(scores, offsets, anchors, out);
        });
        staged.finish(&call.outputs[0])
    }

    fn image(self, scores: &[f32], offsets: &[f32], anchors: &[f32], out: &mut [f32]) {
        let n = self.anchors;
        let (mut best, mut classes) = (vec![-1.0_f32; n], vec![0_i32; n]);
        let found = (Target::of_slice(&mut best), Target::of_slice(&mut classes));
        par::for_ranges(n, GRAIN, |range| {
            // SAFETY: the anchors of this task alone.
            let best = unsafe { found.0.slice(range.clone()) };
            // SAFETY: as above.
            let classes = unsafe { found.1.slice(range.clone()) };
            for (class, line) in scores.chunks_exact(n).enumerate().skip(1) {
                better(&line[range.clone()], class as i32, best, classes);
            }
        });
        let found = |i: &usize| classes[*i] > 0 && best[*i] >= self.threshold;
        let found: Vec<usize> = (0..n).filter(found).collect();
        let (rows, rest) = out.split_at_mut(6 * found.len());
        rest.fill(-1.0);
        let target = Target::of_slice(rows);
        par::for_ranges(found.len(), GRAIN, |range| {
            // SAFETY: the rows of this task alone.
            let rows = unsafe { target.slice(6 * range.start..6 * range.end) };
            for (row, &i) in rows.as_chunks_mut().0.iter_mut().zip(&found[range]) {
                let scaled = std::array::from_fn(|k| offsets[4 * i + k] * self.variances[k]);
                let mut place = decode(scaled, center(at(anchors, i)), None);
                if self.clip {
                    place = place.map(|x| x.clamp(0.0, 1.0));
                }
                let [left, top, right, bottom] = place;
                let class = (classes[i] - 1) as f32;
                *row = [class, best[i], left, top, right, bottom];
            }
        });
        if self.overlap > 0.0 && self.overlap <= 1.0 {
            self.suppress(rows.as_chunks_mut().0);
        }
    }

    /// Puts the best ones first, in order, and takes the class of all that give way.
    fn suppress(self, rows: &mut [[f32; 6]]) {
        let scores: Vec<f32> = rows.iter().map(|row| row[1]).collect();
        let order = descending(&scores);
        let some = order.len().min(self.topk);
        let sorted: Vec<[f32; 6]> = order[..some].iter().map(|&i| rows[i]).collect();
        rows[..some].copy_from_slice(&sorted);
        // Those behind are what was there before, as in MXNet.
        rows[some..].iter_mut().for_each(|row| row[0] = -1.0);
        let place = |row: &[f32; 6]| Form::Corner.place([row[2], row[3], row[4], row[5]]);
        let places: Vec<Place<f32>> = sorted.iter().map(place).collect();
        let rule = Rule {
            most: self.overlap.next_down(),
            pixel: 0.0,
            enough: usize::MAX,
        };
        let class = |i: usize| sorted[i][0] as i64;
        let flags = suppress(rule, &places, if self.force { None } else { Some(&class) });
        for (row, stays) in rows.iter_mut().zip(flags) {
            if !stays {
                row[0] = -1.0;
            }
        }
    }
}

multiversion! {
    /// Notes where the scores of a class are higher than those before.
    fn better<>(scores: &[f32], class: i32, best: &mut [f32], classes: &mut [i32]) {
        let n = best.len();
        let (scores, classes) = (&scores[..n], &mut classes[..n]);
        for i in 0..n {
            let more = scores[i] > best[i];
            best[i] = if more { scores[i] } else { best[i] };
            classes[i] = if more { class } else { classes[i] };
        }
    }
}

fn prepare_detection(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_MultiBoxDetection";
    check_args(name, (i, 3), (o, 1))?;
    single(name, i)?;
    let &[images, classes, anchors] = &i[0].shape[..] else {
        return Err(Error::value(format!(
            "{name}: cls_prob has three dimensions"
        )));
    };
    let offsets = anchors.saturating_mul(4);
    check_shape(name, "loc_pred", &i[1], &[images, offsets])?;
    check_shape(name, "anchor", &i[2], &[1, anchors, 4])?;
    check_shape(name, "the output", &o[0], &[images, anchors, 6])?;
    let topk = attrs.int("nms_topk")?;
    let run = Detection {
        classes,
        anchors,
        clip: attrs.bool("clip")?,
        threshold: attrs.float("threshold")? as f32,
        overlap: attrs.float("nms_threshold")? as f32,
        force: attrs.bool("force_suppress")?,
        variances: numbers(name, attrs, "variances")?,
        topk: if topk > 0 { topk as usize } else { usize::MAX },
    };
    boxed(move |call: &mut Call<'_>| run.run(call))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("_contrib_MultiBoxPrior", prepare_prior).unknown_cost(),
    Row::new("_contrib_MultiBoxTarget", target::prepare).unknown_cost(),
    Row::new("_contrib_MultiBoxDetection", prepare_detection).unknown_cost(),
];
