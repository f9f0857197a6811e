//! Convolutions of images whose channels lie in blocks: [`BLOCK`] channels of a position are neighbours, then come
//! the positions of a plane, then the blocks. What a tile multiplies is read where it lies, whole lines of the
//! cache at a time, nothing is turned, and no vector is cut by the end of a row. Graphs have results between
//! convolutions lie so.

mod depthwise;
mod order;
mod pieces;
mod products;
mod tile;
pub(crate) mod words;

use super::field::Field;
use super::finish::{Addend, Finish};
use super::geometry::Geometry;
use super::products::{WINOGRAD, Way};
use super::winograd::Winograd;
use super::winograd::weights::Weights;
use crate::api::{Req, View};
use crate::blocks::raw::{Scratch, Source, Target, numbers, scratch_bytes};
use crate::par;
use ferromix_base::{DType, Error, Result, bf16};
use products::Products;
use tile::End;
use words::Words;

/// Channels of a block.
pub(crate) const BLOCK: usize = 16;

/// The channels that lie side by side in blocks where convolutions of these elements have such a way on this CPU,
/// else 0.
pub fn channel_block(dtype: DType) -> usize {
    let there = match dtype {
        DType::F32 => f32::tiles(BLOCK, BLOCK, 2).is_some(),
        DType::BF16 => bf16::tiles(BLOCK / 2, BLOCK / 2, 2).is_some(),
        _ => false,
    };
    if there { BLOCK } else { 0 }
}

/// A convolution to a result in blocks.
pub(crate) struct Blocked<T: Words> {
    g: Geometry,
    kind: Kind<T>,
}

/// How it goes.
enum Kind<T: Words> {
    /// Each channel by itself.
    Depthwise,
    Products(Box<Products<T>>),
    Winograd(Winograd),
}

impl<T: Words> Blocked<T> {
    /// Of data in blocks, or of planes; nothing where this is not open.
    pub(crate) fn of(g: &Geometry, data: bool) -> Option<Self> {
        let flat = [g.input[0], g.output[0], g.kernel[0]] == [1; 3] && g.pad[0] == 0;
        let channels = g.groups * g.channels;
        let whole = |n: usize| n > 0 && n.is_multiple_of(BLOCK);
        if !flat
            || channels == 0
            || channel_block(T::DTYPE) == 0
            || !whole(g.groups * g.filters)
            || data && !whole(channels)
        {
            return None;
        }
        let kind = match (g.groups, g.channels, g.filters) {
            (1, ..) => match T::winograd(g) {
                Some(winograd) => Kind::Winograd(winograd.in_blocks(data)),
                None => Kind::Products(Box::new(Products::of(g, data)?)),
            },
            (_, 1, 1) if data => Kind::Depthwise,
            _ => return None,
        };
        let g = g.clone();
        Some(Blocked { g, kind })
    }

    /// Scratch elements of the field, and numbers of weights and of threads.
    fn scratch(&self) -> [usize; 3] {
        match &self.kind {
            Kind::Depthwise => [0, self.g.groups * self.g.depth(), 0],
            Kind::Products(products) => products.scratch(),
            Kind::Winograd(winograd) => winograd.scratch::<f32>(),
        }
    }

    /// Whether the weights of each filter are multiplied by its scale, as numbers are; else its sums are, as weights
    /// of fewer bits would be rounded.
    fn scales_weights(&self) -> bool {
        T::IN_WORD == 1 || !matches!(self.kind, Kind::Products(_))
    }

    fn pack(&self, weights: &[T], scale: Option<&[f32]>, packed: &mut [f32]) {
        match &self.kind {
            Kind::Depthwise => {
                let taps = self.g.depth();
                for (i, to) in packed.iter_mut().enumerate() {
                    let (row, lane) = (i / BLOCK, i % BLOCK);
                    let channel = row / taps * BLOCK + lane;
                    let weight = weights[channel * taps + row % taps].up();
                    *to = weight * scale.map_or(1.0, |s| s[channel]);
                }
            }
            Kind::Products(p) => p.order.pack(p.panels(), (weights, scale), packed),
            Kind::Winograd(winograd) => winograd.pack(&T::wide(weights), scale, packed),
        }
    }

    /// What becomes of sums from a filter on, which go to that place.
    fn end(&self, finish: &Finish<'_, T>, filter: usize, at: usize) -> End<T> {
        let from =
            |of: Option<&[f32]>| of.map_or(std::ptr::null(), |numbers| numbers[filter..].as_ptr());
        End {
            factor: from(finish.factor),
            shift: from(finish.shift),
            addend: match finish.addend {
                Addend::Nothing => std::ptr::null(),
                Addend::Held => finish.target.source().near(at),
                Addend::Of(other) => other.near(at),
            },
            relu: finish.relu,
        }
    }
}

impl<T: Words> Way<T> for Blocked<T> {
    fn workspace(&self) -> usize {
        let [field, packed, threads] = self.scratch();
        scratch_bytes::<T>(field) + scratch_bytes::<f32>(packed) + scratch_bytes::<f32>(threads)
    }

    fn choice(&self) -> String {
        let how = match &self.kind {
            Kind::Depthwise => "plane by plane".into(),
            Kind::Products(products) => products.choice(),
            Kind::Winograd(_) => WINOGRAD.into(),
        };
        format!("{how}, channels in blocks")
    }

    fn kept(&self) -> usize {
        scratch_bytes::<f32>(self.scratch()[1])
    }

    fn keep(&self, weights: &View, scale: Option<&[f32]>, memory: &mut [u8]) -> Result<()> {
        let packed = Scratch::new(memory).take(self.scratch()[1])?;
        self.pack(weights.read()?, scale, packed);
        Ok(())
    }

    fn run(
        &self,
        (data, weights, kept): (&View, &View, Option<&[u8]>),
        workspace: &mut [u8],
        finish: &Finish<'_, T>,
    ) -> Result<()> {
        if finish.req == Req::Add || finish.factor.is_some() {
            return Err(Error::internal(
                "results in blocks are written, not added to",
            ));
        }
        let sizes = self.scratch();
        let mut scratch = Scratch::new(workspace);
        let field = scratch.take::<T>(sizes[0])?;
        let room = scratch.take(sizes[1])?;
        let threads = scratch.take(sizes[2])?;
        let packed = match kept {
            Some(kept) => numbers(kept, sizes[1])?,
            None => {
                self.pack(weights.read()?, finish.scale, room);
                room
            }
        };
        let factor = finish.scale.filter(|_| !self.scales_weights());
        let finish = &Finish { factor, ..*finish };
        match &self.kind {
            Kind::Depthwise => self.run_depthwise((Source::of(data)?, packed), finish),
            Kind::Products(products) => {
                let source = products.fill_field(data.read()?, field);
                self.run_products(products, (source, packed), threads, finish);
            }
            Kind::Winograd(winograd) => {
                let args = (data.read::<T>()?, Weights::Packed(packed));
                winograd.run(args, (field, threads), finish);
            }
        }
        Ok(())
    }
}
