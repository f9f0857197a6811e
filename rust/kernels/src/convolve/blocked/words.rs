//! Elements of which images in blocks are. They are multiplied by words of 32 bits: numbers of single precision, or
//! pairs of bfloat16.

use super::depthwise::Row;
use super::tile::{Tiles, pair_tiles, tiles};
use super::{BLOCK, Blocked, depthwise};
use crate::convolve::apply::summed::Summed;
use crate::convolve::geometry::Geometry;
use crate::convolve::products::paired::SHARE;
use crate::convolve::winograd::Winograd;
use crate::linalg::amx;
use crate::linalg::pairs::{PAIR, pair};
use ferromix_base::bf16;
use std::borrow::Cow;
use std::ops::Range;

/// The time of a multiplication where each word that is read meets one vector of filters, as there are no more, in
/// that of one of minimal filtering.
const NARROW: f64 = 1.5;

/// An element whose sums are single.
pub(crate) trait Words: Summed<Real = f32> + Default {
    /// Elements of a word.
    const IN_WORD: usize;

    /// The word of these elements.
    fn word(element: impl Fn(usize) -> Self) -> f32;

    /// These as numbers.
    fn wide(elements: &[Self]) -> Cow<'_, [f32]>;

    /// As [`tiles`].
    fn tiles(step: usize, inner: usize, blocks: usize) -> Option<Tiles<Self>>;

    /// Whether products of words go by the matrix unit.
    fn has_unit() -> bool;

    /// Minimal filtering, where it takes less time.
    fn winograd(g: &Geometry) -> Option<Winograd>;

    /// Computes a row of a convolution of each channel by itself.
    ///
    /// # Safety
    /// What the row names can be read and written, and nobody else uses what it writes meanwhile; there are tiles.
    unsafe fn row(of: &Blocked<Self>, row: &Row<Self>, whole: &Range<usize>);
}

impl Words for f32 {
    const IN_WORD: usize = 1;
    fn word(element: impl Fn(usize) -> f32) -> f32 {
        element(0)
    }
    fn wide(elements: &[f32]) -> Cow<'_, [f32]> {
        Cow::Borrowed(elements)
    }
    fn tiles(step: usize, inner: usize, blocks: usize) -> Option<Tiles<f32>> {
        tiles(step, inner, blocks)
    }
    fn has_unit() -> bool {
        false
    }
    fn winograd(g: &Geometry) -> Option<Winograd> {
        let [narrow, wide] = [1, 2].map(|blocks| tiles(BLOCK, BLOCK, blocks).map(|t| t.width));
        let part = if g.filters == BLOCK && narrow < wide {
            NARROW
        } else {
            1.0
        };
        Winograd::instead_of(g, false, part)
    }
    unsafe fn row(of: &Blocked<f32>, row: &Row<f32>, whole: &Range<usize>) {
        // SAFETY: as the caller vouches.
        unsafe { depthwise::row(of, row, whole) }
    }
}

impl Words for bf16 {
    const IN_WORD: usize = PAIR;
    fn word(element: impl Fn(usize) -> bf16) -> f32 {
        pair(element(0), element(1))
    }
    fn wide(elements: &[bf16]) -> Cow<'_, [f32]> {
        elements.iter().map(|x| x.to_f32()).collect()
    }
    fn tiles(step: usize, inner: usize, blocks: usize) -> Option<Tiles<bf16>> {
        pair_tiles(step, inner, blocks)
    }
    fn has_unit() -> bool {
        amx::there()
    }
    fn winograd(g: &Geometry) -> Option<Winograd> {
        match Self::has_unit() {
            true => None,
            false => Winograd::instead_of(g, false, SHARE),
        }
    }
    unsafe fn row(of: &Blocked<bf16>, row: &Row<bf16>, whole: &Range<usize>) {
        // SAFETY: as the caller vouches.
        unsafe { depthwise::half_row(of, row, whole) }
    }
}
