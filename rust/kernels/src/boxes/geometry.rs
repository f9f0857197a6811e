//! A box as its corners or as its center, areas, overlaps, and offsets of one box from another.

use crate::api::Attrs;
use crate::math::real::Real;
use ferromix_base::{Error, Result};

/// What the four numbers of a box are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Left, top, right, bottom.
    Corner,
    /// The middle, width, height.
    Center,
}

impl Form {
    /// Reads an attribute.
    ///
    /// # Errors
    /// A word that is none of the two.
    pub(crate) fn from_attrs(name: &str, attrs: &Attrs, attr: &str) -> Result<Self> {
        match attrs.str(attr)? {
            "corner" => Ok(Form::Corner),
            "center" => Ok(Form::Center),
            other => Err(Error::value(format!(
                "{name}: {attr} must be 'corner' or 'center', got '{other}'"
            ))),
        }
    }

    /// The corners of a box.
    #[inline(always)]
    pub(crate) fn corners<R: Real>(self, x: [R; 4]) -> [R; 4] {
        match self {
            Form::Corner => x,
            Form::Center => {
                let (w, h) = (x[2] / R::of(2.0), x[3] / R::of(2.0));
                [x[0] - w, x[1] - h, x[0] + w, x[1] + h]
            }
        }
    }

    /// The box with what its overlaps are made of.
    #[inline(always)]
    pub(crate) fn place<R: Real>(self, x: [R; 4]) -> Place<R> {
        let area = match self {
            Form::Corner => (x[2] - x[0]) * (x[3] - x[1]),
            Form::Center => x[2] * x[3],
        };
        Place {
            corners: self.corners(x),
            area,
        }
    }
}

/// The middle and the extents of a box that is given by its corners.
#[inline(always)]
pub(crate) fn center<R: Real>(x: [R; 4]) -> [R; 4] {
    let (w, h) = (x[2] - x[0], x[3] - x[1]);
    let half = R::of(0.5);
    [x[0] + w * half, x[1] + h * half, w, h]
}

/// The four numbers at `i`.
#[inline(always)]
pub(crate) fn at<R: Copy>(boxes: &[R], i: usize) -> [R; 4] {
    std::array::from_fn(|k| boxes[4 * i + k])
}

/// A box with its area.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<R> {
    pub(crate) corners: [R; 4],
    pub(crate) area: R,
}

/// Where four offsets move a box, given by its middle and extents, to: the middle by parts of the
/// extents, the extents by an exponential, at most by `most` where that is given.
#[inline(always)]
pub(crate) fn decode<R: Real>(offsets: [R; 4], anchor: [R; 4], most: Option<R>) -> [R; 4] {
    let [x, y, w, h] = anchor;
    let (middle_x, middle_y) = (offsets[0] * w + x, offsets[1] * h + y);
    let grown = |offset: R, extent: R| {
        let offset = match most {
            Some(most) if offset > most => most,
            _ => offset,
        };
        offset.exp() * extent * R::of(0.5)
    };
    let (w, h) = (grown(offsets[2], w), grown(offsets[3], h));
    [middle_x - w, middle_y - h, middle_x + w, middle_y + h]
}

/// The offsets that [`decode`] takes from one box to another, both given by middle and extents.
#[inline(always)]
pub(crate) fn encode<R: Real>(to: [R; 4], from: [R; 4]) -> [R; 4] {
    [
        (to[0] - from[0]) / from[2],
        (to[1] - from[1]) / from[3],
        (to[2] / from[2]).ln(),
        (to[3] / from[3]).ln(),
    ]
}

/// Many boxes, each coordinate by itself, as vector instructions take them.
pub(crate) struct Places<R> {
    /// Left, top, right, bottom, area.
    parts: [Vec<R>; 5],
}

impl<R: Real> Places<R> {
    /// Those of `all`.
    pub(crate) fn of(all: impl Iterator<Item = Place<R>>) -> Self {
        let mut places = Places {
            parts: Default::default(),
        };
        all.for_each(|place| places.push(place));
        places
    }

    pub(crate) fn push(&mut self, place: Place<R>) {
        let [left, top, right, bottom] = place.corners;
        let row = [left, top, right, bottom, place.area];
        for (part, x) in self.parts.iter_mut().zip(row) {
            part.push(x);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.parts[0].len()
    }

    /// The overlap of each with `one`.
    pub(crate) fn overlaps(&self, one: Place<R>, out: &mut [R]) {
        overlaps(&self.parts, one, out);
    }

    /// Whether one of them overlaps `one` by more than `most`, where extents count `pixel` more than
    /// the difference of the corners.
    pub(crate) fn cover(&self, one: Place<R>, pixel: R, most: R) -> bool {
        covered(&self.parts, one, pixel, most)
    }
}

/// Intersection over union; 0 where there is no union.
#[inline(always)]
pub(crate) fn overlap<R: Real>(a: Place<R>, b: Place<R>, pixel: R) -> R {
    let least = |x: R, y: R| if y < x { y } else { x };
    let most = |x: R, y: R| if y > x { y } else { x };
    let side = |k: usize| {
        let side = least(a.corners[k + 2], b.corners[k + 2]) - most(a.corners[k], b.corners[k]);
        most(side + pixel, R::ZERO)
    };
    let shared = side(0) * side(1);
    let union = a.area + b.area - shared;
    if union <= R::ZERO {
        R::ZERO
    } else {
        shared / union
    }
}

/// Boxes that are compared at a time.
const LANES: usize = 16;

#[inline(always)]
fn pick<R: Real>(parts: [&[R]; 5], i: usize) -> Place<R> {
    Place {
        corners: [parts[0][i], parts[1][i], parts[2][i], parts[3][i]],
        area: parts[4][i],
    }
}

crate::simd::vector::multiversion! {
    fn overlaps<R: Real>(parts: &[Vec<R>; 5], one: Place<R>, out: &mut [R]) {
        let n = out.len();
        let parts: [&[R]; 5] = std::array::from_fn(|k| &parts[k][..n]);
        for (i, out) in out.iter_mut().enumerate() {
            *out = overlap(pick(parts, i), one, R::ZERO);
        }
    }

    fn covered<R: Real>(parts: &[Vec<R>; 5], one: Place<R>, pixel: R, most: R) -> bool {
        let n = parts[0].len();
        let whole = n / LANES * LANES;
        for start in (0..whole).step_by(LANES) {
            let block: [&[R]; 5] = std::array::from_fn(|k| &parts[k][start..start + LANES]);
            let mut found = [false; LANES];
            for (i, found) in found.iter_mut().enumerate() {
                *found = overlap(pick(block, i), one, pixel) > most;
            }
            if found.contains(&true) {
                return true;
            }
        }
        let all: [&[R]; 5] = std::array::from_fn(|k| &parts[k][..]);
        (whole..n).any(|i| overlap(pick(all, i), one, pixel) > most)
    }
}
