//! Convolutions of bfloat16 where the CPU multiplies [pairs](crate::linalg::pairs): by products of these,
//! or by minimal filtering in single precision where that takes less time.

use crate::api::View;
use crate::blocks::raw::{Scratch, numbers, scratch_bytes};
use crate::convolve::apply::{Apply, Arguments};
use crate::convolve::direct::TileLoops;
use crate::convolve::finish::Finish;
use crate::convolve::geometry::Geometry;
use crate::convolve::plan;
use crate::convolve::products::pairs::tile_loops;
use crate::convolve::products::{WINOGRAD, Way};
use crate::convolve::winograd::Winograd;
use crate::convolve::winograd::weights::Weights;
use crate::par;
use ferromix_base::{Result, bf16};

/// A convolution whose sums are single, of elements that have half the bits.
pub(crate) struct Paired {
    part: Apply,
    loops: TileLoops<bf16>,
    /// Another way to the same, whose products are single.
    winograd: Option<Winograd>,
}

/// The time of a multiplication in pairs, as a part of that of one of minimal filtering: half of one in single
/// precision, and what gathering takes, which that way does not have.
pub(in crate::convolve) const SHARE: f64 = 0.75;

impl Paired {
    /// Where this CPU multiplies pairs, and channels are not in groups.
    pub(crate) fn of(g: &Geometry) -> Option<Self> {
        let loops = tile_loops().filter(|_| g.groups == 1 && g.depth() > 0)?;
        Some(Paired {
            part: plan::forward(g),
            loops,
            winograd: Winograd::instead_of(g, false, SHARE),
        })
    }

    /// Scratch elements of the field, and numbers of weights and threads.
    fn scratch(&self) -> [usize; 3] {
        if let Some(winograd) = &self.winograd {
            return winograd.scratch::<f32>();
        }
        let part = &self.part;
        [
            part.field.scratch(),
            part.packed::<bf16>(),
            part.per_thread::<bf16>() * par::threads(),
        ]
    }
}

impl Paired {
    fn pack(&self, weights: &[bf16], scale: Option<&[f32]>, packed: &mut [f32]) {
        match &self.winograd {
            Some(winograd) => {
                let wide: Vec<f32> = weights.iter().map(|w| w.to_f32()).collect();
                winograd.pack(&wide, scale, packed);
            }
            None => self.part.pack_pairs(weights, packed),
        }
    }
}

impl Way<bf16> for Paired {
    fn workspace(&self) -> usize {
        let [field, packed, threads] = self.scratch();
        scratch_bytes::<bf16>(field) + scratch_bytes::<f32>(packed) + scratch_bytes::<f32>(threads)
    }

    fn choice(&self) -> String {
        match self.winograd {
            Some(_) => WINOGRAD.into(),
            None => self.part.choice::<bf16>(),
        }
    }

    fn kept(&self) -> usize {
        scratch_bytes::<f32>(self.scratch()[1])
    }

    fn keep(&self, weights: &View, scale: Option<&[f32]>, memory: &mut [u8]) -> Result<()> {
        let packed = Scratch::new(memory).take(self.scratch()[1])?;
        self.pack(weights.read()?, scale, packed);
        Ok(())
    }

    /// But by Winograd, weights stay as they are: it is the sums that are multiplied by their filter's scale.
    fn run(
        &self,
        (data, weights, kept): (&View, &View, Option<&[u8]>),
        workspace: &mut [u8],
        finish: &Finish<'_, bf16>,
    ) -> Result<()> {
        let sizes = self.scratch();
        let mut scratch = Scratch::new(workspace);
        let field = scratch.take::<bf16>(sizes[0])?;
        let room = scratch.take(sizes[1])?;
        let threads = scratch.take(sizes[2])?;
        let (data, weights) = (data.read::<bf16>()?, weights.read::<bf16>()?);
        let packed = match kept {
            Some(kept) => numbers(kept, sizes[1])?,
            None => {
                self.pack(weights, finish.scale, room);
                room
            }
        };
        if let Some(winograd) = &self.winograd {
            let args = (data, Weights::Packed(packed));
            winograd.run(args, (field, threads), finish);
            return Ok(());
        }
        let source = self.part.field.fill(data, field);
        let finish = Finish {
            scale: None,
            factor: finish.scale,
            ..*finish
        };
        self.part.run(Arguments {
            source,
            packed,
            finish: &finish,
            loops: self.loops,
            threads,
        });
        Ok(())
    }
}
