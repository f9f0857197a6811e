//! Element types that products are made of and give: numbers, and elements that are multiplied in pairs.

use crate::blocks::raw::Target;
use crate::convolve::apply::Apply;
use crate::convolve::direct::{Direct, Taps};
use crate::convolve::field::Run;
use crate::convolve::out::Out;
use crate::convolve::transforms::{self, Transformed};
use crate::convolve::winograd::channels::turn_halves;
use crate::copy::transpose::transpose;
use crate::linalg::pairs::PAIR;
use crate::math::real::Float;
use ferromix_base::bf16;
use std::ops::Range;

/// [`Apply::direct`], of a type.
pub(in crate::convolve) type InPlace<T> = unsafe fn(
    &Apply,
    (&[T], &[Taps<'_>]),
    &[<T as Float>::Real],
    &mut Vec<Run>,
    &Out<'_, T>,
    Target<<T as Float>::Real>,
);

/// Elements whose products are added up in [`Float::Real`].
pub(crate) trait Summed: Float<Real: Direct> {
    /// Taps that make one step of a product.
    const TOGETHER: usize;

    /// How vectors are read where they lie, if there is a way.
    fn in_place() -> Option<InPlace<Self>>;

    /// Gathers what taps read at the positions of `runs`, for some panels.
    fn gather(
        apply: &Apply,
        from: (&[Self], &[usize]),
        runs: &[Run],
        panels: Range<usize>,
        gathered: &mut [Self::Real],
    );

    /// A matrix of `size.1` rows of `size.0` neighbours, `from.1` apart, by columns.
    fn turn(from: (&[Self], usize), size: (usize, usize), to: &mut [Self]);

    /// As [`Transforms::input`](super::transforms::Transforms::input).
    ///
    /// # Safety
    /// As there.
    unsafe fn transform(channels: usize, from: (&[Self], usize), to: (*mut Self::Real, usize));
}

macro_rules! numbers {
    ($($t:ty),*) => {$(
        impl Summed for $t {
            const TOGETHER: usize = 1;
            fn in_place() -> Option<InPlace<$t>> {
                Some(Apply::direct::<$t>)
            }
            fn gather(
                apply: &Apply,
                from: (&[$t], &[usize]),
                runs: &[Run],
                panels: Range<usize>,
                gathered: &mut [$t],
            ) {
                apply.gather_panels(from, runs, panels, gathered);
            }
            fn turn(from: (&[$t], usize), size: (usize, usize), to: &mut [$t]) {
                transpose(from, size, (to, size.1));
            }
            unsafe fn transform(channels: usize, from: (&[$t], usize), to: (*mut $t, usize)) {
                // SAFETY: as the caller vouches.
                unsafe { <$t>::transforms().input(channels, from, to) };
            }
        }
    )*};
}
numbers!(f32, f64);

impl Summed for bf16 {
    const TOGETHER: usize = PAIR;
    fn in_place() -> Option<InPlace<bf16>> {
        None
    }
    fn gather(
        apply: &Apply,
        from: (&[bf16], &[usize]),
        runs: &[Run],
        panels: Range<usize>,
        gathered: &mut [f32],
    ) {
        apply.gather_pairs(from, runs, panels, gathered);
    }
    fn turn(from: (&[bf16], usize), size: (usize, usize), to: &mut [bf16]) {
        turn_halves(from, size, to);
    }
    unsafe fn transform(channels: usize, from: (&[bf16], usize), to: (*mut f32, usize)) {
        // SAFETY: as the caller vouches.
        unsafe { transforms::half_input(channels, from, to) };
    }
}
