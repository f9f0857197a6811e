//! The order in which products go through what a position reads, and weights in that order.

use super::words::Words;
use super::{BLOCK, Geometry, Target, par};
use crate::copy::transpose::transpose;

/// Channels up to which those of planes are a block of so many, where elements make words.
const FEW: usize = 4;
/// Words of weights that a task orders, at least.
const PACKED: usize = 1 << 14;

/// Blocks of channels, places of a window, and channels that are neighbours.
#[derive(Clone, Copy)]
pub(super) struct Order {
    pub(super) channels: usize,
    /// Channels that are neighbours: of the last block, some may be there for the sake of words alone.
    pub(super) block: usize,
    /// Places of a window.
    pub(super) window: usize,
    /// Neighbouring ones of these that are read together.
    pub(super) joined: usize,
    /// Whether all blocks are read at a place before the next one, else all places of a block.
    pub(super) by_places: bool,
}

impl Order {
    /// For data in blocks, or of planes.
    pub(super) fn of<T: Words>(g: &Geometry, blocked: bool) -> Self {
        let few = !blocked && T::IN_WORD > 1 && g.channels <= FEW;
        let [_, high, wide] = g.kernel;
        let joins = few && g.dilate[2] == 1 && wide * FEW <= 2 * BLOCK;
        Order {
            channels: g.channels,
            block: match (blocked, T::IN_WORD) {
                (false, 1) => 1,
                (false, _) if few => FEW,
                _ => BLOCK,
            },
            window: high * wide,
            joined: if joins { wide } else { 1 },
            by_places: false,
        }
    }

    /// Blocks of channels.
    pub(super) fn blocks(&self) -> usize {
        self.channels.div_ceil(self.block)
    }

    /// Elements that a position reads.
    pub(super) fn elements(&self) -> usize {
        self.blocks() * self.window * self.block
    }

    /// Which of the weights of a filter stands at a place; none for a channel that is not.
    fn weight(&self, at: usize) -> Option<usize> {
        let (lane, at) = (at % self.block, at / self.block);
        let (place, block) = match self.by_places {
            true => (at / self.blocks(), at % self.blocks()),
            false => (at % self.window, at / self.window),
        };
        let channel = block * self.block + lane;
        (channel < self.channels).then_some(channel * self.window + place)
    }

    /// Orders the weights of so many filters in panels of a width, by words; numbers times the scale of their filter.
    pub(super) fn pack<T: Words>(
        &self,
        (filters, width): (usize, usize),
        (weights, scale): (&[T], Option<&[f32]>),
        packed: &mut [f32],
    ) {
        let depth = self.elements() / T::IN_WORD;
        let of_filter = self.channels * self.window;
        let places: Vec<_> = (0..self.elements()).map(|at| self.weight(at)).collect();
        // SAFETY: any bits are a number, which is moved, and not computed with where it is a pair.
        let (before, words, _) = unsafe { weights.align_to::<f32>() };
        // Of windows of one place they lie in this order, but by filters.
        let ordered = self.window == 1 && of_filter == self.elements() && before.is_empty();
        let packed = Target::of_slice(packed);
        let grain = (PACKED / (depth * width).max(1)).max(1);
        par::for_ranges(filters.div_ceil(width), grain, |panels| {
            for panel in panels {
                let first = panel * width;
                let n = width.min(filters - first);
                // SAFETY: panels belong to one task each.
                let to = unsafe { packed.slice(first * depth..(first + n) * depth) };
                if ordered {
                    transpose((&words[first * depth..], depth), (depth, n), (&mut *to, n));
                } else {
                    let from = &weights[first * of_filter..];
                    for (places, row) in places.chunks(T::IN_WORD).zip(to.chunks_exact_mut(n)) {
                        for (f, to) in row.iter_mut().enumerate() {
                            let at = |p: usize| from[f * of_filter + p];
                            *to = T::word(|i| places[i].map_or(T::zero(), at));
                        }
                    }
                }
                if let Some(scale) = scale.filter(|_| T::IN_WORD == 1) {
                    for row in to.chunks_exact_mut(n) {
                        let pairs = row.iter_mut().zip(&scale[first..]);
                        pairs.for_each(|(x, &s)| *x *= s);
                    }
                }
            }
        });
    }
}
