//! Weights for minimal filtering: transformed once for all, in panels; or, where one task has all tiles, piece by
//! piece where they are multiplied, so that the four numbers that each becomes do not go through memory.

use super::{VECTOR, Winograd, apart};
use crate::blocks::raw::Target;
use crate::convolve::transforms::{POINTS, Transformed};
use crate::copy::transpose::transpose;
use crate::par;
use std::ops::Range;

/// Channels whose weights are transformed together: they come from as many places as there are filters in a panel,
/// and go to 36 matrices, far apart, some lines at a time.
const TOGETHER: usize = 16;
/// Channels of a piece.
pub(super) const PIECE: usize = 64;

/// The weights of a channel, by places of the window, for the filters of a panel.
type Taps<T> = [[T; 2 * VECTOR]; 9];

/// What tiles are multiplied by.
#[derive(Clone, Copy)]
pub(crate) enum Weights<'a, T> {
    /// As [`Winograd::pack`] gives them.
    Packed(&'a [T]),
    /// Those of the convolution, what those of each filter are multiplied by, and memory for
    /// [`Winograd::pieces`].
    Lying(&'a [T], Option<&'a [T]>, Target<T>),
}

/// Transformed weights of some channels, in panels of filters for each of the 36 products.
pub(super) struct Panels<'a, T> {
    pub(super) data: &'a [T],
    /// From a product to the next.
    pub(super) apart: usize,
    /// The filter of the first panel.
    pub(super) filter: usize,
    /// Channels that a panel has room for.
    pub(super) room: usize,
    /// The first channel, and their number.
    pub(super) channels: (usize, usize),
}

impl<T> Panels<'_, T> {
    /// The panel that begins with a filter.
    pub(super) fn at(&self, point: usize, filter: usize, width: usize) -> &[T] {
        let start = point * self.apart + (filter - self.filter) * self.room;
        &self.data[start..][..self.channels.1 * width]
    }
}

impl Winograd {
    /// Whether one task has all tiles of its filters, so that their weights are wanted once.
    pub(crate) fn wants_weights_once(&self) -> bool {
        self.tiles() <= self.held()
    }

    /// Numbers of a piece for each thread.
    pub(crate) fn pieces(&self) -> usize {
        POINTS * self.piece_apart() * par::threads()
    }

    /// Transforms the weights, those of each filter times its scale, to 36 matrices, in panels of the
    /// tiles' width.
    pub(crate) fn pack<T: Transformed>(
        &self,
        weights: &[T],
        scale: Option<&[T]>,
        packed: &mut [T],
    ) {
        let (width, c) = (self.tiles_of::<T>().width, self.channels);
        let packed = Target::of_slice(packed);
        let apart = apart(self.filters * c);
        par::for_ranges(self.filters / width * c, TOGETHER, |range| {
            let mut room = vec![T::ZERO; POINTS * TOGETHER * width];
            let mut start = range.start;
            while start < range.end {
                let (panel, channel) = (start / c, start % c);
                let end = range.end.min(start + TOGETHER).min((panel + 1) * c);
                let channels = channel..channel + end - start;
                let from = ((weights, scale), panel * width);
                // SAFETY: the room has these places of each matrix.
                unsafe { self.transform(from, channels, (room.as_mut_ptr(), TOGETHER * width)) };
                let len = (end - start) * width;
                for (point, from) in room.chunks_exact(TOGETHER * width).enumerate() {
                    let at = point * apart + start * width;
                    // SAFETY: the places of a channel of a panel belong to one task.
                    unsafe { packed.slice(at..at + len) }.copy_from_slice(&from[..len]);
                }
                start = end;
            }
        });
    }

    /// Transforms the weights of a piece, for some filters.
    pub(super) fn piece<'a, T: Transformed>(
        &self,
        weights: (&[T], Option<&[T]>),
        filters: &Range<usize>,
        channels: Range<usize>,
        room: &'a mut [T],
    ) -> Panels<'a, T> {
        let (width, apart) = (self.tiles_of::<T>().width, self.piece_apart());
        assert!(filters.len() <= self.block() && room.len() >= POINTS * apart);
        for filter in filters.clone().step_by(width) {
            for first in channels.clone().step_by(TOGETHER) {
                let some = first..channels.end.min(first + TOGETHER);
                let at = (filter - filters.start) * PIECE + (first - channels.start) * width;
                let to = (room[at..].as_mut_ptr(), apart);
                // SAFETY: the room has these places of each matrix.
                unsafe { self.transform((weights, filter), some, to) };
            }
        }
        Panels {
            data: room,
            apart,
            filter: filters.start,
            room: PIECE,
            channels: (channels.start, channels.len()),
        }
    }

    /// Distance between the matrices of a piece.
    pub(super) fn piece_apart(&self) -> usize {
        apart(PIECE * self.block())
    }

    /// Transforms the weights of some channels, [`TOGETHER`] at most, for the filters of a panel: a line of each
    /// matrix for each channel, where the matrices are so far apart.
    ///
    /// # Safety
    /// The lines can be written, and nobody else uses them meanwhile.
    unsafe fn transform<T: Transformed>(
        &self,
        ((weights, scale), filter): ((&[T], Option<&[T]>), usize),
        channels: Range<usize>,
        (to, apart): (*mut T, usize),
    ) {
        let (transforms, width) = (T::transforms(), self.tiles_of::<T>().width);
        let mut room: [Taps<T>; TOGETHER] = [[[T::ZERO; 2 * VECTOR]; 9]; TOGETHER];
        let taps = &mut room[..channels.len()];
        self.turn(weights, (filter, width), channels.start, taps);
        if let Some(scale) = scale {
            let scale = &scale[filter..filter + width];
            for line in taps.as_flattened_mut() {
                line.iter_mut().zip(scale).for_each(|(x, &s)| *x *= s);
            }
        }
        for (i, taps) in taps.iter().enumerate() {
            // SAFETY: as the caller vouches.
            unsafe { transforms.weights(width, taps, (to.add(i * width), apart)) };
        }
    }

    /// Puts weights of neighbouring filters side by side, for channels from one on.
    fn turn<T: Transformed>(
        &self,
        weights: &[T],
        (filter, width): (usize, usize),
        channel: usize,
        taps: &mut [Taps<T>],
    ) {
        if !self.back {
            let (row, count) = (9 * self.channels, taps.len());
            let from = &weights[filter * row + channel * 9..];
            let to = taps.as_flattened_mut().as_flattened_mut();
            return transpose((from, row), (9 * count, width), (to, 2 * VECTOR));
        }
        for (taps, channel) in taps.iter_mut().zip(channel..) {
            let from = &weights[(channel * self.filters + filter) * 9..];
            let to = taps.as_flattened_mut();
            transpose((from, 9), (9, width), (to, 2 * VECTOR));
            taps.reverse();
        }
    }
}
