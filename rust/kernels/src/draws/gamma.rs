//! The gamma distribution, by the method of Marsaglia and Tsang, "A simple method for generating gamma
//! variables" (2000): the cube of a shifted normal number, most of which a bound without logarithms
//! accepts. These are found in vector registers, the others one by one.

use crate::draws::attempts::{First, NUMBERS, SECOND, attempt};
use crate::draws::draw::{Draws, Law};
use crate::draws::standard::{BLOCK, Drawn, Standard};
use crate::simd::vector::versions;
use ferromix_base::DType;

/// A gamma distribution, prepared.
#[derive(Clone, Copy)]
pub(crate) struct Gamma {
    /// A third less than the shape, and the deviation that fits it.
    d: f64,
    c: f64,
    scale: f64,
    /// A shape below 1 is one more, with the number multiplied by a power of a fraction.
    power: Option<f64>,
}

impl Law for Gamma {
    const STANDARD: Option<Standard> = None;

    /// Of a shape and a scale. Without a shape above 0 all numbers are NaN.
    fn new([shape, scale]: [f64; 2], _: DType) -> Self {
        let power = (shape < 1.0).then(|| 1.0 / shape);
        let d = if shape > 0.0 { shape } else { f64::NAN } - 1.0 / 3.0;
        let d = if power.is_some() { d + 1.0 } else { d };
        Gamma {
            d,
            c: 1.0 / (9.0 * d).sqrt(),
            scale,
            power,
        }
    }

    const NEEDS: &'static str = "alpha and beta must be positive";

    fn suits([shape, scale]: [f64; 2]) -> bool {
        shape > 0.0 && scale > 0.0
    }

    fn fill<R: Drawn>(&self, draws: &Draws<'_, R>, out: &mut [R]) {
        let mut accepted = [true; BLOCK];
        propose(self, draws.first, draws.skip, out, &mut accepted);
        for (i, x) in out.iter_mut().enumerate() {
            if !accepted[i] {
                *x = self.slow(draws.numbers(i), |t| {
                    attempt::<R>(draws.stream, draws.at + i, t)
                });
            }
        }
        if let Some(power) = self.power {
            raise(R::of(power), draws.first, draws.skip, out);
        }
    }
}

impl Gamma {
    /// A normal number, and what comes of it before it is scaled.
    #[inline(always)]
    fn proposal<R: Drawn>(&self, first: f64, second: f64) -> (R, R) {
        let radius = (R::of(-2.0) * R::of(first).ln()).sqrt();
        let x = radius * (R::of(second) * R::of(std::f64::consts::TAU)).cos();
        let root = R::ONE + R::of(self.c) * x;
        (x, root * root * root)
    }

    #[inline(always)]
    fn scaled<R: Drawn>(&self, cube: R) -> R {
        R::of(self.d) * cube * R::of(self.scale)
    }

    /// Goes on from the first attempt, which the bound did not accept, before the power.
    fn slow<R: Drawn>(&self, first: [f64; NUMBERS], next: impl Fn(u64) -> [f64; NUMBERS]) -> R {
        let mut numbers = first;
        for t in 1..SECOND {
            let (x, cube) = self.proposal::<R>(numbers[0], numbers[1]);
            let (x, y) = (x.f64(), self.c * x.f64());
            // The logarithm of the cube less what its mean is, without cancellation.
            let excess = 3.0 * y.ln_1p() - y * (3.0 + y * (3.0 + y));
            let accepted = numbers[2].ln() < 0.5 * x * x + self.d * excess;
            if (cube > R::ZERO && accepted) || self.d.is_nan() {
                return self.scaled(cube);
            }
            numbers = next(t);
        }
        self.scaled(R::ONE)
    }
}

versions! {
    /// The numbers of the first attempts, and which of them the bound accepts.
    fn propose[R: Drawn](
        gamma: &Gamma, first: &First, skip: usize, out: &mut [R], accepted: &mut [bool; BLOCK],
    ) [R] {
        let [a, b, c, _] = &first.numbers;
        let (a, b, c) = (&a[skip..], &b[skip..], &c[skip..]);
        for (i, (out, ok)) in out.iter_mut().zip(accepted).enumerate().take(a.len()) {
            let (x, cube) = gamma.proposal::<R>(a[i], b[i]);
            let square = x * x;
            *ok = (cube > R::ZERO) & (R::of(c[i]) < R::ONE - R::of(0.0331) * square * square);
            *out = gamma.scaled(cube);
        }
    }
}

versions! {
    /// Multiplies by a power of the fourth numbers.
    fn raise[R: Drawn](power: R, first: &First, skip: usize, out: &mut [R]) [R] {
        for (x, u) in out.iter_mut().zip(&first.numbers[3][skip..]) {
            *x *= (R::of(*u).ln() * power).exp();
        }
    }
}
