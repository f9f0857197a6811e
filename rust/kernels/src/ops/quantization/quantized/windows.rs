//! Windows over images, of one to three axes.

use crate::api::{Attrs, Desc};
use ferromix_base::{Error, Result};
use std::ops::Range;

/// Windows over up to three axes, each from front to back; fewer axes have ones in front.
#[derive(Clone, Copy)]
pub(super) struct Windows {
    pub(super) from: [usize; 3],
    pub(super) to: [usize; 3],
    pub(super) kernel: [usize; 3],
    pub(super) stride: [usize; 3],
    pub(super) dilate: [usize; 3],
    pub(super) pad: [usize; 3],
}

impl Windows {
    /// Reads the attributes for data and results.
    ///
    /// # Errors
    /// Other ranks than one, two or three spatial axes.
    pub(super) fn of(
        name: &str,
        attrs: &Attrs,
        data: &Desc,
        out: &Desc,
        global: bool,
    ) -> Result<Self> {
        let rank = data.shape.len().saturating_sub(2);
        if !(1..=3).contains(&rank) || out.shape.len() != rank + 2 {
            return Err(Error::value(format!(
                "{name}: data of shape {:?} have no one, two or three spatial axes",
                &data.shape[..]
            )));
        }
        let spread = |given: &[usize], fill: usize| {
            let mut all = [fill; 3];
            all[3 - rank..].copy_from_slice(given);
            all
        };
        let read = |attr: &str, fill: usize| -> Result<[usize; 3]> {
            if global || !attrs.has(attr) {
                return Ok([fill; 3]);
            }
            Ok(spread(&attrs.extents(attr, rank, fill)?, fill))
        };
        let from = spread(&data.shape[2..], 1);
        Ok(Windows {
            from,
            to: spread(&out.shape[2..], 1),
            kernel: if global { from } else { read("kernel", 1)? },
            stride: read("stride", 1)?,
            dilate: if attrs.has("dilate") {
                read("dilate", 1)?
            } else {
                [1; 3]
            },
            pad: read("pad", 0)?,
        })
    }

    pub(super) fn places(self) -> usize {
        self.to.iter().product()
    }

    /// Where tap `k` of the window at `place` is along an axis; only of one that is inside.
    pub(super) fn place(&self, axis: usize, place: usize, k: usize) -> usize {
        place * self.stride[axis] + k * self.dilate[axis] - self.pad[axis]
    }

    /// The taps of the window at `place` that are inside along an axis.
    pub(super) fn taps(&self, axis: usize, place: usize) -> Range<usize> {
        let (first, step) = (
            place.saturating_mul(self.stride[axis]),
            self.dilate[axis].max(1),
        );
        let outside = self.pad[axis].saturating_sub(first).div_ceil(step);
        let room = self.from[axis]
            .saturating_add(self.pad[axis])
            .saturating_sub(first);
        let end = room.div_ceil(step).min(self.kernel[axis]);
        outside.min(end)..end
    }

    /// The windows along an axis of which tap `k` is inside.
    pub(super) fn inside(&self, axis: usize, k: usize) -> Range<usize> {
        let (first, step) = (
            k.saturating_mul(self.dilate[axis]),
            self.stride[axis].max(1),
        );
        let outside = self.pad[axis].saturating_sub(first).div_ceil(step);
        let room = self.from[axis]
            .saturating_add(self.pad[axis])
            .saturating_sub(first);
        let end = room.div_ceil(step).min(self.to[axis]);
        outside.min(end)..end
    }

    /// Calls `each` with the number of an element of the window at `place`, and with where in the image
    /// it is, if it is.
    pub(super) fn visit(self, place: usize, mut each: impl FnMut(usize, Option<usize>)) {
        let [_, rows, columns] = self.to;
        let at = [
            place / columns / rows,
            place / columns % rows,
            place % columns,
        ];
        let along = |axis: usize, k: usize| {
            let at = (at[axis] * self.stride[axis]).checked_add(k * self.dilate[axis])?;
            at.checked_sub(self.pad[axis])
                .filter(|&x| x < self.from[axis])
        };
        let mut number = 0;
        for i in 0..self.kernel[0] {
            for j in 0..self.kernel[1] {
                for k in 0..self.kernel[2] {
                    let found = [along(0, i), along(1, j), along(2, k)];
                    let found = match found {
                        [Some(a), Some(b), Some(c)] => {
                            Some((a * self.from[1] + b) * self.from[2] + c)
                        }
                        _ => None,
                    };
                    each(number, found);
                    number += 1;
                }
            }
        }
    }
}
