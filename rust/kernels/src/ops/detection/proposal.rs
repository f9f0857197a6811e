//! Regions in which there may be an object, from scores and offsets of anchors at each place of a map.
//! All in single precision, as in MXNet.

use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Row};
use crate::blocks::raw::Target;
use crate::blocks::staged::Staged;
use crate::boxes::geometry::Place;
use crate::boxes::nms::{Rule, descending, suppress};
use crate::boxes::single;
use crate::par;
use ferromix_base::{Error, Result};

struct Proposal {
    rows: usize,
    columns: usize,
    stride: f32,
    /// The anchors at the first place.
    anchors: Vec<[f32; 4]>,
    /// The best ones that take part, and how many are wanted.
    before: usize,
    after: usize,
    overlap: f32,
    least: f32,
    /// Whether the offsets are differences of corners.
    corners: bool,
}

/// The anchors around the first place: for each ratio of height to width, of each scale.
fn anchors(stride: f32, ratios: &[f64], scales: &[f64]) -> Vec<[f32; 4]> {
    let middle = 0.5 * (stride - 1.0);
    let mut found = Vec::with_capacity(ratios.len() * scales.len());
    for ratio in ratios.iter().map(|&x| x as f32) {
        let area = (stride * stride / ratio).floor();
        for scale in scales.iter().map(|&x| x as f32) {
            let width = (area.sqrt() + 0.5).floor() * scale;
            let height = (width / scale * ratio + 0.5).floor() * scale;
            let (w, h) = (0.5 * (width - 1.0), 0.5 * (height - 1.0));
            found.push([middle - w, middle - h, middle + w, middle + h]);
        }
    }
    found
}

impl Proposal {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let mut inputs = [&[][..]; 3];
        for (input, view) in inputs.iter_mut().zip(call.inputs) {
            *input = view.read::<f32>()?;
        }
        let [scores, offsets, infos] = inputs;
        let mut staged = Staged::all(call);
        let outs = staged.iter_mut().map(Staged::target::<f32>);
        let outs: Vec<Option<Target<f32>>> = outs.collect::<Result<_>>()?;
        let places = self.rows * self.columns * self.anchors.len();
        par::for_each(infos.len() / 3, |image| {
            let scores = &scores[2 * image * places..2 * (image + 1) * places];
            let offsets = &offsets[4 * image * places..4 * (image + 1) * places];
            let info = &infos[3 * image..3 * image + 3];
            let found = self.image(&scores[places..], offsets, info);
            for (k, out) in outs.iter().enumerate() {
                let Some(out) = out else { continue };
                let width = [5, 1][k];
                let range = image * self.after * width..(image + 1) * self.after * width;
                // SAFETY: the rows of an image, which one task alone writes.
                let out = unsafe { out.slice(range) };
                // Where there are too few, they come again.
                for (row, (place, score)) in out.chunks_exact_mut(width).zip(found.iter().cycle()) {
                    let [left, top, right, bottom] = place.corners;
                    let numbers = [image as f32, left, top, right, bottom];
                    row.copy_from_slice(if k == 0 {
                        &numbers
                    } else {
                        std::slice::from_ref(score)
                    });
                }
            }
        });
        Staged::finish_all(staged, call.outputs)
    }

    /// The regions that stay, the best first.
    fn image(&self, scores: &[f32], offsets: &[f32], info: &[f32]) -> Vec<(Place<f32>, f32)> {
        let [rows, columns, kinds] = [self.rows, self.columns, self.anchors.len()];
        let cells = rows * columns;
        let (mut places, mut marks) = (Vec::new(), Vec::new());
        let inside = |extent: f32| (extent / self.stride) as i64;
        for place in 0..cells * kinds {
            let (cell, kind) = (place / kinds, place % kinds);
            let (row, column) = (cell / columns, cell % columns);
            let offset = std::array::from_fn(|k| offsets[(kind * 4 + k) * cells + cell]);
            let shift = [column as f32 * self.stride, row as f32 * self.stride];
            let anchor: [f32; 4] = std::array::from_fn(|k| self.anchors[kind][k] + shift[k % 2]);
            let mut corners = self.moved(anchor, offset);
            for (k, x) in corners.iter_mut().enumerate() {
                *x = x.min(info[1 - k % 2] - 1.0).max(0.0);
            }
            let mut score = scores[kind * cells + cell];
            if row as i64 >= inside(info[0]) || column as i64 >= inside(info[1]) {
                score = -1.0;
            }
            let least = self.least * info[2];
            let extent = |k: usize| corners[k + 2] - corners[k] + 1.0;
            if extent(0) < least || extent(1) < least {
                for (x, sign) in corners.iter_mut().zip([-1.0, -1.0, 1.0, 1.0]) {
                    *x += sign * (least / 2.0);
                }
                score = -1.0;
            }
            places.push(corners);
            marks.push(score);
        }
        let mut order = descending(&marks);
        order.truncate(self.before);
        let sorted: Vec<Place<f32>> = order.iter().map(|&i| pixels(places[i])).collect();
        let rule = Rule {
            most: self.overlap,
            pixel: 1.0,
            enough: self.after,
        };
        let flags = suppress(rule, &sorted, None);
        let all = sorted.into_iter().zip(order).zip(flags);
        let kept = all.filter(|(_, stays)| *stays);
        kept.map(|((place, i), _)| (place, marks[i])).collect()
    }

    /// Where offsets move an anchor to, whose extents count both ends.
    fn moved(&self, anchor: [f32; 4], offset: [f32; 4]) -> [f32; 4] {
        if self.corners {
            return std::array::from_fn(|k| anchor[k] + offset[k]);
        }
        let along = |k: usize| {
            let extent = anchor[k + 2] - anchor[k] + 1.0;
            let middle = offset[k] * extent + (anchor[k] + 0.5 * (extent - 1.0));
            let half = 0.5 * (offset[k + 2].exp() * extent - 1.0);
            (middle - half, middle + half)
        };
        let ((left, right), (top, bottom)) = (along(0), along(1));
        [left, top, right, bottom]
    }
}

/// A box whose area counts pixels, those of both ends among them.
fn pixels(corners: [f32; 4]) -> Place<f32> {
    let side = |k: usize| corners[k + 2] - corners[k] + 1.0;
    Place {
        corners,
        area: side(0) * side(1),
    }
}

fn prepare(name: &str, attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    check_args(name, (i, 3), (o, o.len().clamp(1, 2)))?;
    single(name, i)?;
    let &[images, _, rows, columns] = &i[0].shape[..] else {
        return Err(Error::value(format!(
            "{name}: cls_prob has four dimensions"
        )));
    };
    let (ratios, scales) = (attrs.floats("ratios")?, attrs.floats("scales")?);
    let stride = attrs.int("feature_stride")? as f32;
    let kinds = ratios.len() * scales.len();
    check_shape(name, "cls_prob", &i[0], &[images, 2 * kinds, rows, columns])?;
    check_shape(
        name,
        "bbox_pred",
        &i[1],
        &[images, 4 * kinds, rows, columns],
    )?;
    check_shape(name, "im_info", &i[2], &[images, 3])?;
    let after = usize::try_from(attrs.int("rpn_post_nms_top_n")?).unwrap_or(0);
    for (out, width) in o.iter().zip([5, 1]) {
        check_shape(
            name,
            "an output",
            out,
            &[images.saturating_mul(after), width],
        )?;
    }
    let run = Proposal {
        rows,
        columns,
        stride,
        anchors: anchors(stride, &ratios, &scales),
        before: match attrs.int("rpn_pre_nms_top_n")? {
            most @ 1.. => most as usize,
            _ => usize::MAX,
        },
        after,
        overlap: attrs.float("threshold")? as f32,
        least: attrs.int("rpn_min_size")? as f32,
        corners: attrs.bool("iou_loss")?,
    };
    if rows * columns * kinds == 0 && after > 0 {
        return Err(Error::value(format!(
            "{name}: cls_prob of shape {:?} has no place for an anchor",
            &i[0].shape[..]
        )));
    }
    boxed(move |call: &mut Call<'_>| run.run(call))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("_contrib_Proposal", |a, i, o| {
        prepare("_contrib_Proposal", a, i, o)
    })
    .unknown_cost(),
    Row::new("_contrib_MultiProposal", |a, i, o| {
        prepare("_contrib_MultiProposal", a, i, o)
    })
    .unknown_cost(),
];
