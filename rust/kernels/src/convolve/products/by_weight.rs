//! The gradient of weights: its ways, and their scratch memory.

use super::{PLANEWISE, WINOGRAD, bytes};
use crate::api::{Req, View};
use crate::blocks::raw::Scratch;
use crate::convolve::direct::Direct;
use crate::convolve::transforms::Transformed;
use crate::convolve::weight::WeightSums;
use crate::convolve::winograd::sums::WinogradSums;
use crate::par;
use ferromix_base::Result;

impl WeightSums {
    /// Scratch numbers: field, partial sums, threads.
    fn scratch<T: Direct>(&self) -> [usize; 3] {
        if self.apply.planewise() {
            return [0, 0, self.apply.plane_scratch::<T>() * par::threads()];
        }
        [
            self.apply.field.scratch(),
            self.partials::<T>(),
            self.per_thread::<T>() * par::threads(),
        ]
    }

    /// Winograd's way, whose error is that of single precision.
    fn winograd<T>(&self) -> Option<&WinogradSums> {
        self.winograd.as_ref().filter(|_| size_of::<T>() == 4)
    }

    /// The way that was chosen, for people.
    pub(crate) fn choice<T: Transformed>(&self) -> String {
        if self.winograd::<T>().is_some() {
            return WINOGRAD.into();
        }
        if self.apply.planewise() {
            return PLANEWISE.into();
        }
        let [taps, rows] = [self.apply.taps.len(), self.apply.rows];
        format!("product of {taps} by {rows}, gathered")
    }

    /// Bytes of scratch memory.
    pub(crate) fn workspace<T: Transformed>(&self) -> usize {
        match self.winograd::<T>() {
            Some(winograd) => bytes::<T, _>(winograd.scratch::<T>()),
            None => bytes::<T, _>(self.scratch::<T>()),
        }
    }

    /// Sums the gradient of the weights from what the convolution reads and the gradient of what it
    /// gives.
    ///
    /// # Errors
    /// Arguments of other element types, or with gaps.
    pub(crate) fn gradient<T: Transformed>(
        &self,
        (data, head): (&View, &View),
        workspace: &mut [u8],
        out: &mut View,
        req: Req,
    ) -> Result<()> {
        if req == Req::Null {
            return Ok(());
        }
        let mut scratch = Scratch::new(workspace);
        if let Some(winograd) = self.winograd::<T>() {
            let [a, b, c, d, e, f] = winograd.scratch::<T>().map(|n| scratch.take(n));
            let room = [a?, b?, c?, d?, e?, f?];
            let (pair, out) = ((data.read::<T>()?, head.read::<T>()?), out.write::<T>()?);
            winograd.run(pair, room, (out, req));
            return Ok(());
        }
        let sizes = self.scratch::<T>();
        let field = scratch.take(sizes[0])?;
        let partials = scratch.take(sizes[1])?;
        let threads = scratch.take(sizes[2])?;
        let (data, head, out) = (data.read::<T>()?, head.read::<T>()?, out.write::<T>()?);
        if self.apply.planewise() {
            self.apply.plane_gradient((data, head), threads, out, req);
            return Ok(());
        }
        let source = self.apply.field.fill(data, field);
        self.run((source, head), partials, threads, out, req);
        Ok(())
    }
}
