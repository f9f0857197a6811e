//! What operators run: products with the weights, sums of their gradients, and those of the bias. Each
//! brings its scratch memory.

mod by_weight;
mod images;
pub(crate) mod paired;
mod pairs;

use super::apply::{Apply, Arguments};
use super::direct::Direct;
use super::finish::{Addend, Finish};
use super::geometry::{Geometry, volume};
use super::plan;
use super::planes;
use super::transforms::Transformed;
use super::windows::Windows;
use super::windows::spread::Spread;
use super::winograd::Winograd;
use super::winograd::weights::Weights;
use crate::api::{Req, View};
use crate::blocks::blockwise;
use crate::blocks::raw::{Scratch, Source, Target, numbers, scratch_bytes};
use crate::blocks::sums;
use crate::math::real::Float;
use crate::par;
use ferromix_base::Result;
use images::Images;
use std::sync::OnceLock;

/// What people read of the ways that are no one product.
pub(super) const WINOGRAD: &str = "minimal filtering F(4x4, 3x3)";
const PLANEWISE: &str = "plane by plane";

fn bytes<T, const N: usize>(sizes: [usize; N]) -> usize {
    sizes.map(scratch_bytes::<T>).iter().sum()
}

/// A way from data and weights to sums, and what becomes of these.
pub(crate) trait Way<T: Float>: Send + Sync {
    /// Bytes of scratch memory.
    fn workspace(&self) -> usize;
    /// The way that was chosen, for people.
    fn choice(&self) -> String;
    /// Bytes of weights in the order in which sums take them; none where that is not kept.
    fn kept(&self) -> usize;
    /// Fills memory of so many bytes from the weights, those of each filter times its scale where that is how
    /// the scale is applied.
    ///
    /// # Errors
    /// As [`Way::run`].
    fn keep(&self, weights: &View, scale: Option<&[T::Real]>, memory: &mut [u8]) -> Result<()>;
    /// Takes the sums of products of data with the weights to where they belong. What was [kept](Way::keep) of
    /// these, if anything, saves time.
    ///
    /// # Errors
    /// Arguments of other element types, or with gaps.
    fn run(
        &self,
        args: (&View, &View, Option<&[u8]>),
        workspace: &mut [u8],
        finish: &Finish<'_, T>,
    ) -> Result<()>;
}

impl<T: Transformed> Way<T> for Products {
    fn workspace(&self) -> usize {
        Products::workspace::<T>(self)
    }
    fn choice(&self) -> String {
        Products::choice::<T>(self)
    }
    fn kept(&self) -> usize {
        Products::kept::<T>(self)
    }
    fn keep(&self, weights: &View, scale: Option<&[T]>, memory: &mut [u8]) -> Result<()> {
        Products::keep(self, weights, scale, memory)
    }
    fn run(
        &self,
        args: (&View, &View, Option<&[u8]>),
        workspace: &mut [u8],
        finish: &Finish<'_, T>,
    ) -> Result<()> {
        Products::run(self, args, workspace, finish)
    }
}

/// Products that fill one tensor from another and the weights; all read the same field.
pub(crate) struct Products {
    pub(crate) parts: Vec<Apply>,
    /// Another way to the same, of single precision.
    pub(crate) winograd: Option<Winograd>,
    /// Another way to gradients of the data of planes.
    spread: Option<Spread>,
    /// Another way to gradients of the data of planes that windows reach far beyond.
    images: Option<Images>,
    /// Channels, and positions of each, where none of them fills some.
    gaps: Option<[usize; 2]>,
    /// How planes are read where they lie, if they are. Known when first needed: it takes memory.
    windows: OnceLock<Option<Windows>>,
}

impl Products {
    pub(crate) fn new(parts: Vec<Apply>, winograd: Option<Winograd>) -> Self {
        Products {
            parts,
            winograd,
            spread: None,
            images: None,
            gaps: None,
            windows: OnceLock::new(),
        }
    }

    /// The same, which are a gradient of the data of a convolution.
    pub(crate) fn backward(self, g: &Geometry) -> Self {
        let sizes = [g.groups * g.channels, volume(&g.input)];
        let gaps = plan::leaves_gaps(g).then_some(sizes);
        let spread = if gaps.is_some() { None } else { Spread::of(g) };
        Products {
            spread,
            gaps,
            ..self
        }
    }

    /// The same, of which nothing else becomes and no weights are kept.
    pub(crate) fn alone(self, g: &Geometry) -> Self {
        let images = if self.gaps.is_some() {
            None
        } else {
            Images::of(g, &self.parts)
        };
        Products { images, ..self }
    }

    /// How planes are filled all at once, where nothing else becomes of the sums.
    fn spread<T: Transformed>(&self, finish: &Finish<'_, T>) -> Option<&Spread> {
        let alone = finish.is_plain() && finish.scale.is_none() && finish.req != Req::Add;
        self.spread.as_ref().filter(|_| alone)
    }

    /// By minimal filtering. Weights that are wanted once are transformed where they are.
    fn run_winograd<T: Transformed>(
        winograd: &Winograd,
        (data, weights, kept): (&[T], &[T], Option<&[T]>),
        [field, room, threads]: [&mut [T]; 3],
        finish: &Finish<'_, T>,
    ) {
        let weights = match kept {
            Some(kept) => Weights::Packed(kept),
            None if winograd.wants_weights_once() => {
                Weights::Lying(weights, finish.scale, Target::of_slice(room))
            }
            None => {
                winograd.pack(weights, finish.scale, room);
                Weights::Packed(room)
            }
        };
        winograd.run((data, weights), (field, threads), finish);
    }

    /// How planes are read where they lie; nothing where they are copied. What is added to the target after
    /// another act than the sum's is left to the copies.
    fn windows<T: Transformed>(&self, finish: &Finish<'_, T>) -> Option<(&Apply, &Windows)> {
        let summed = matches!(finish.addend, Addend::Nothing) && !finish.relu;
        let [part] = &self.parts[..] else {
            return None;
        };
        if finish.req == Req::Add && !summed {
            return None;
        }
        let make = || Windows::of(part, T::plane_loops().lanes);
        self.windows.get_or_init(make).as_ref().map(|w| (part, w))
    }

    /// Scratch numbers: field, weights, threads.
    fn scratch<T: Transformed>(&self) -> [usize; 3] {
        if let Some(winograd) = self.winograd::<T>() {
            return winograd.scratch::<T>();
        }
        if let Some(images) = &self.images {
            return images.scratch();
        }
        let most = |f: &dyn Fn(&Apply) -> usize| self.parts.iter().map(f).max().unwrap_or(0);
        if self.planewise() {
            return [0, 0, most(&Apply::plane_scratch::<T>) * par::threads()];
        }
        [
            most(&|a| a.field.scratch()),
            most(&Apply::packed::<T>),
            most(&|a| a.per_thread::<T>()) * par::threads(),
        ]
    }

    /// Winograd's way, whose error is that of single precision.
    fn winograd<T>(&self) -> Option<&Winograd> {
        self.winograd.as_ref().filter(|_| size_of::<T>() == 4)
    }

    /// Whether all read a plane for each plane that they fill.
    fn planewise(&self) -> bool {
        self.parts.iter().all(Apply::planewise)
    }

    /// Scratch numbers that a run takes: pieces of weights where these are wanted once, as those that are kept
    /// have memory of their own.
    fn rooms<T: Transformed>(&self) -> [usize; 3] {
        let [field, weights, threads] = self.scratch::<T>();
        match self.winograd::<T>() {
            Some(w) if w.wants_weights_once() => [field, w.pieces(), threads],
            _ => [field, weights, threads],
        }
    }

    /// Bytes of scratch memory.
    pub(crate) fn workspace<T: Transformed>(&self) -> usize {
        bytes::<T, _>(self.rooms::<T>())
    }

    /// The way that was chosen, for people.
    pub(crate) fn choice<T: Transformed>(&self) -> String {
        if self.winograd::<T>().is_some() {
            return WINOGRAD.into();
        }
        if let Some(images) = &self.images {
            return images.choice();
        }
        if self.planewise() {
            return PLANEWISE.into();
        }
        let one = |part: &Apply| part.choice::<T>();
        match &self.parts[..] {
            [] => "nothing to compute".into(),
            [part] => one(part),
            [first, ..] => format!("{}, in {} phases", one(first), self.parts.len()),
        }
    }

    /// Bytes of weights in the order in which sums take them; none where each part has its own, or where
    /// they are taken as they lie.
    pub(crate) fn kept<T: Transformed>(&self) -> usize {
        match &self.parts[..] {
            [_] => scratch_bytes::<T>(self.scratch::<T>()[1]),
            _ => 0,
        }
    }

    /// Fills memory of so many bytes from the weights, those of each filter times its scale.
    ///
    /// # Errors
    /// As [`Products::run`].
    pub(crate) fn keep<T: Transformed>(
        &self,
        weights: &View,
        scale: Option<&[T]>,
        memory: &mut [u8],
    ) -> Result<()> {
        let packed = Scratch::new(memory).take(self.scratch::<T>()[1])?;
        if let [part] = &self.parts[..] {
            self.pack(part, weights.read()?, scale, packed);
        }
        Ok(())
    }

    fn pack<T: Transformed>(
        &self,
        part: &Apply,
        weights: &[T],
        scale: Option<&[T]>,
        packed: &mut [T],
    ) {
        match self.winograd::<T>() {
            Some(winograd) => winograd.pack(weights, scale, packed),
            None => part.pack(weights, scale, &mut packed[..part.packed::<T>()]),
        }
    }

    /// Takes the sums of products of `data` with the weights to where they belong. What was
    /// [kept](Products::keep) of these, if anything, saves time.
    ///
    /// # Errors
    /// Arguments of other element types, or with gaps.
    pub(crate) fn run<T: Transformed>(
        &self,
        (data, weights, kept): (&View, &View, Option<&[u8]>),
        workspace: &mut [u8],
        finish: &Finish<'_, T>,
    ) -> Result<()> {
        let filled;
        let finish = match &self.gaps {
            Some(grid) => {
                filled = finish.of_nothing(*grid);
                &filled
            }
            None => finish,
        };
        let Some(first) = self.parts.first() else {
            return Ok(());
        };
        let sizes = self.rooms::<T>();
        let mut scratch = Scratch::new(workspace);
        let field = scratch.take(sizes[0])?;
        let room = scratch.take(sizes[1])?;
        let threads = scratch.take(sizes[2])?;
        let weights = weights.read::<T>()?;
        let packed = self.scratch::<T>()[1];
        let kept = kept.map(|kept| numbers(kept, packed)).transpose()?;
        if let Some(winograd) = self.winograd::<T>() {
            let args = (data.read::<T>()?, weights, kept);
            Self::run_winograd(winograd, args, [field, room, threads], finish);
            return Ok(());
        }
        if let Some(images) = &self.images {
            images.run((data.read()?, weights), [field, room, threads], finish);
            return Ok(());
        }
        if let Some(spread) = self.spread(finish) {
            let head = data.read::<T>()?;
            let (all, written) = (0..head.len(), 0..finish.target.len());
            if !Source::of_slice(head).overlaps(&all, &finish.target, &written) {
                let pair = (head, weights);
                planes::run_spread((spread, first.groups), pair, finish.target);
                return Ok(());
            }
        }
        if let Some(product) = self.planewise().then(|| self.windows(finish)).flatten() {
            planes::run_windows(product, (Source::of(data)?, weights), threads, finish);
            return Ok(());
        }
        if self.planewise() {
            planes::run(&self.parts, (Source::of(data)?, weights), threads, finish);
            return Ok(());
        }
        let source = first.field.fill(data.read::<T>()?, field);
        // Kernels that step over positions leave phases of zeros.
        let plain = finish.is_plain();
        if plain && finish.req != Req::Add && self.parts.iter().any(|p| p.taps.is_empty()) {
            finish.clear();
        }
        for product in self.parts.iter().filter(|p| !(plain && p.taps.is_empty())) {
            let packed = kept.unwrap_or_else(|| {
                product.pack(weights, finish.scale, &mut room[..product.packed::<T>()]);
                room
            });
            let args = Arguments {
                source,
                packed,
                finish,
                loops: T::loops().tiles,
                threads,
            };
            match product.is_turned::<T>() {
                true => product.run_turned(args),
                false => product.run(args),
            }
        }
        Ok(())
    }
}

/// Sums the gradient of the bias: `head` has a batch, channels, and so many elements of each.
///
/// # Errors
/// Arguments of other element types, or with gaps.
pub(crate) fn bias_gradient<T: Direct>(
    [batch, filters, plane]: [usize; 3],
    head: &View,
    out: &mut View,
    req: Req,
) -> Result<()> {
    if req == Req::Null {
        return Ok(());
    }
    let head = head.read::<T>()?;
    let target = Target::<T>::of(out)?;
    let grain = (65_536 / (batch * plane).max(1)).max(1);
    par::for_ranges(filters, grain, |range| {
        for f in range {
            let row = |n: usize| &head[(n * filters + f) * plane..][..plane];
            let total: f64 = (0..batch).map(|n| sums::sum(row(n))).sum();
            // SAFETY: filters belong to one task each.
            blockwise::store(&[T::of(total)], unsafe { target.slice(f..f + 1) }, req);
        }
    });
    Ok(())
}
