//! The labels of an image with objects: a header, and for each object a class, a box and what else
//! there is; boxes are left, top, right and bottom in parts of the image.

use ferromix_base::{Error, Result};

/// Numbers of an object's class and box.
const LEAST_WIDTH: usize = 5;
/// Numbers of the shortest header: its own length, and that of an object.
const LEAST_HEADER: usize = 2;

/// A part of an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame {
    pub(super) x: f32,
    pub(super) y: f32,
    pub(super) width: f32,
    pub(super) height: f32,
}

impl Frame {
    pub(super) fn area(&self) -> f32 {
        self.width * self.height
    }

    /// The area of what is in both.
    fn common(&self, other: &Frame) -> f32 {
        let along = |low: [f32; 2], length: [f32; 2]| {
            let end = (low[0] + length[0]).min(low[1] + length[1]);
            (end - low[0].max(low[1])).max(0.0)
        };
        along([self.x, other.x], [self.width, other.width])
            * along([self.y, other.y], [self.height, other.height])
    }

    fn holds(&self, x: f32, y: f32) -> bool {
        let inside = |low: f32, length: f32, at: f32| low <= at && at < low + length;
        inside(self.x, self.width, x) && inside(self.y, self.height, y)
    }
}

/// How a part of an image and one of its objects must lie to each other, from the least to the
/// largest value.
#[derive(Clone, Copy, Debug)]
pub struct Overlap {
    /// Of what both have in common, as a part of what they cover together.
    pub both: [f32; 2],
    /// The same as a part of the image's part.
    pub sample: [f32; 2],
    /// The same as a part of the object.
    pub object: [f32; 2],
}

impl Overlap {
    fn allows(&self, frame: &Frame, object: &Frame) -> bool {
        let common = frame.common(object);
        let both = frame.area() + object.area() - common;
        let parts = [
            (self.both, both),
            (self.sample, frame.area()),
            (self.object, object.area()),
        ];
        parts.into_iter().all(|([low, high], of)| {
            // What everything fulfils is not asked, as a quotient may be a little more than 1.
            (low <= 0.0 && high >= 1.0) || (low..=high).contains(&(common / of))
        })
    }

    fn asks(&self) -> bool {
        [self.both, self.sample, self.object]
            .iter()
            .any(|&[low, high]| low > 0.0 || high < 1.0)
    }
}

/// Which objects stay when a part of an image is taken.
#[derive(Clone, Copy, Debug)]
pub enum Emit {
    /// Those whose middle is in it.
    Centre,
    /// Those of which it has more than a part.
    Overlap(f32),
}

/// The objects of an image.
pub(super) struct Boxes {
    header: Vec<f32>,
    objects: Vec<Vec<f32>>,
}

impl Boxes {
    /// Reads labels; objects without area are left out.
    ///
    /// # Errors
    /// Numbers that are no header and objects; the message says which.
    pub(super) fn read(label: &[f32]) -> Result<Self> {
        let count = label.len();
        let wrong = |what: &str| {
            Err(Error::io(format!(
                "its label of {count} numbers {what}; expected the length of the header, that of \
                 an object, the rest of the header, and for each object class, left, top, right, \
                 bottom and the rest"
            )))
        };
        let [header, width, ..] = *label else {
            return wrong("is no label of objects");
        };
        let (header, width) = (header as usize, width as usize);
        if header < LEAST_HEADER || width < LEAST_WIDTH {
            return wrong(&format!(
                "says that its header has {header}, and an object {width} numbers, too few"
            ));
        }
        let objects = count.saturating_sub(header);
        if objects == 0 || objects % width != 0 {
            return wrong(&format!(
                "has {objects} behind a header of {header}, which are no objects of {width}"
            ));
        }
        let (header, objects) = label.split_at(header);
        let mut boxes = Boxes {
            header: header.to_vec(),
            objects: objects.chunks_exact(width).map(<[f32]>::to_vec).collect(),
        };
        boxes.objects.retain(|o| o[3] > o[1] && o[4] > o[2]);
        Ok(boxes)
    }

    /// The labels as they were read.
    pub(super) fn write(&self) -> impl Iterator<Item = f32> + '_ {
        let all = [&self.header].into_iter().chain(&self.objects);
        all.flatten().copied()
    }

    /// How many numbers [`Boxes::write`] gives.
    pub(super) fn len(&self) -> usize {
        self.header.len() + self.objects.iter().map(Vec::len).sum::<usize>()
    }

    /// Left and right change places.
    pub(super) fn mirror(&mut self) {
        for object in &mut self.objects {
            (object[1], object[3]) = (1.0 - object[3], 1.0 - object[1]);
        }
    }

    /// The image becomes what is in the frame, which may be larger.
    pub(super) fn project(&mut self, frame: &Frame) {
        for object in &mut self.objects {
            object[1] = ((object[1] - frame.x) / frame.width).max(0.0);
            object[2] = ((object[2] - frame.y) / frame.height).max(0.0);
            object[3] = ((object[3] - frame.x) / frame.width).min(1.0);
            object[4] = ((object[4] - frame.y) / frame.height).min(1.0);
        }
    }

    /// The image becomes what is in the frame, unless no object lies to it as it must, or none would
    /// stay; whether it does.
    pub(super) fn crop(&mut self, frame: &Frame, overlap: &Overlap, emit: Emit) -> bool {
        if self.objects.is_empty() {
            return true;
        }
        let mut places = self.objects.iter().map(|object| place(object));
        if overlap.asks() && !places.any(|object| overlap.allows(frame, &object)) {
            return false;
        }
        let stays = |object: &[f32]| match emit {
            Emit::Centre => {
                frame.holds((object[1] + object[3]) * 0.5, (object[2] + object[4]) * 0.5)
            }
            Emit::Overlap(least) => {
                let place = place(object);
                frame.common(&place) / place.area() > least
            }
        };
        if !self.objects.iter().any(|object| stays(object)) {
            return false;
        }
        self.objects.retain(|object| stays(object));
        self.project(frame);
        true
    }
}

fn place(object: &[f32]) -> Frame {
    Frame {
        x: object[1],
        y: object[2],
        width: object[3] - object[1],
        height: object[4] - object[2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABEL: [f32; 14] = [
        3.0, 5.0, 9.0, 1.0, 0.1, 0.2, 0.5, 0.6, 2.0, 0.5, 0.5, 0.5, 0.9, 7.0,
    ];

    fn boxes(label: &[f32]) -> Boxes {
        Boxes::read(label).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn objects_without_area_are_left_out() {
        let boxes = boxes(&LABEL[..13]);
        assert_eq!(boxes.write().collect::<Vec<_>>(), LABEL[..8]);
        assert_eq!(boxes.len(), 8);
    }

    #[test]
    fn what_is_no_label_is_an_error_that_says_why() {
        let wrong = [
            (&LABEL[..1], "is no label of objects"),
            (&LABEL[..14], "has 11 behind a header of 3"),
            (&[2.0, 4.0, 0.0, 0.0, 0.0, 1.0][..], "an object 4 numbers"),
            (&[1.0, 5.0, 0.0, 0.0, 0.0, 1.0, 1.0][..], "header has 1,"),
            (&[f32::NAN; 9][..], "header has 0,"),
            (&[1e30, 1e30, 0.0, 0.0, 0.0, 1.0, 1.0][..], "has 0 behind"),
        ];
        for (label, words) in wrong {
            let error = Boxes::read(label).err().map(|e| e.message().to_owned());
            assert!(error.is_some_and(|e| e.contains(words)), "{words}");
        }
    }

    #[test]
    fn overlaps_are_parts_of_the_union_the_sample_and_the_object() {
        let frame = Frame {
            x: 0.25,
            y: 0.0,
            width: 0.5,
            height: 0.5,
        };
        let object = Frame { x: 0.5, ..frame };
        let all = [0.0, 1.0];
        let overlap = |both, sample, object| Overlap {
            both,
            sample,
            object,
        };
        for (asked, allowed) in [
            (overlap(all, all, all), true),
            (overlap([0.33, 0.34], all, all), true),
            (overlap([0.34, 1.0], all, all), false),
            (overlap(all, [0.5, 0.5], all), true),
            (overlap(all, [0.0, 0.4], all), false),
            (overlap(all, all, [0.5, 1.0]), true),
            (overlap(all, all, [0.6, 1.0]), false),
            (overlap([0.3, 1.0], [0.6, 1.0], all), false),
        ] {
            assert_eq!(asked.allows(&frame, &object), allowed, "{asked:?}");
        }
    }
}
