//! Distributions of counts: Poisson's, and the negative binomial ones, which are Poisson's with a mean
//! that is drawn itself.
//!
//! Small means by inversion, others by the method of Hörmann, "The transformed rejection method for
//! generating Poisson random variables" (1993), whose quick tests run in vector registers.

use crate::draws::attempts::{First, NUMBERS, SECOND, attempt};
use crate::draws::draw::{Draws, Law};
use crate::draws::gamma::Gamma;
use crate::draws::standard::{BLOCK, Drawn, Standard};
use crate::simd::vector::multiversion;
use ferromix_base::DType;
use std::f64::consts::TAU;

/// Means from here on are drawn by rejection.
const LARGE: f64 = 10.0;

/// A Poisson distribution, prepared.
#[derive(Clone, Copy)]
pub(crate) enum Poisson {
    /// One number: 0 of a mean that is not positive, or what is not finite.
    Constant(f64),
    /// A small mean, and the probability of 0.
    Small(f64, f64),
    Large(Large),
}

/// The constants of rejection.
#[derive(Clone, Copy)]
pub(crate) struct Large {
    mean: f64,
    a: f64,
    b: f64,
    /// Below this, and away from the edges, the second number accepts.
    quick: f64,
    /// The logarithm of the inverse of the hat's factor.
    hat: f64,
}

impl Poisson {
    pub(crate) fn of(mean: f64) -> Self {
        if mean <= 0.0 {
            return Poisson::Constant(0.0);
        }
        if !mean.is_finite() {
            return Poisson::Constant(mean);
        }
        if mean < LARGE {
            return Poisson::Small(mean, (-mean).exp());
        }
        let b = 0.931 + 2.53 * mean.sqrt();
        Poisson::Large(Large {
            mean,
            a: -0.059 + 0.02483 * b,
            b,
            quick: 0.9277 - 3.6224 / (b - 2.0),
            hat: (1.1239 + 1.1328 / (b - 3.4)).ln(),
        })
    }

    /// A number from attempts, of which attempt 0 is the first.
    fn one(&self, attempts: impl Fn(u64) -> [f64; NUMBERS]) -> f64 {
        match self {
            Poisson::Constant(x) => *x,
            Poisson::Small(mean, zero) => invert(*mean, *zero, attempts(0)[0]),
            Poisson::Large(large) => large.from(attempts, 0),
        }
    }
}

/// The least number whose probability, with that of all below it, exceeds `u`.
fn invert(mean: f64, zero: f64, u: f64) -> f64 {
    let (mut count, mut p, mut sum) = (0.0, zero, zero);
    // The end is beyond all that double precision tells from 1.
    while u > sum && count < LONGEST as f64 {
        count += 1.0;
        p *= mean / count;
        sum += p;
    }
    count
}

/// Draws that are worth a table.
const MANY: usize = 64;

/// The sums that [`invert`] meets, and where to begin for each of some ranges of numbers.
struct Table {
    sums: [f64; LONGEST + 1],
    starts: [u8; RANGES],
}

/// More counts than any number reaches.
const LONGEST: usize = 100;
const RANGES: usize = 128;

impl Table {
    fn new(mean: f64, zero: f64) -> Self {
        let (mut sums, mut p, mut sum) = ([f64::INFINITY; LONGEST + 1], zero, zero);
        for (i, place) in sums[..LONGEST].iter_mut().enumerate() {
            *place = sum;
            p *= mean / (i + 1) as f64;
            sum += p;
        }
        let mut count = 0;
        let starts = std::array::from_fn(|range| {
            while range as f64 / RANGES as f64 > sums[count] {
                count += 1;
            }
            count as u8
        });
        Table { sums, starts }
    }

    /// What [`invert`] finds.
    fn find(&self, u: f64) -> f64 {
        let mut count = usize::from(self.starts[(u * RANGES as f64) as usize % RANGES]);
        while u > self.sums[count] {
            count += 1;
        }
        count as f64
    }
}

impl Large {
    /// The candidate of an attempt, and its distance from the nearer edge.
    #[inline(always)]
    fn candidate(&self, u: f64) -> (f64, f64) {
        let u = u - 0.5;
        let edge = 0.5 - u.abs();
        let count = ((2.0 * self.a / edge + self.b) * u + self.mean + 0.43).floor();
        (count, edge)
    }

    #[inline(always)]
    fn at_once(&self, edge: f64, v: f64) -> bool {
        (edge >= 0.07) & (v <= self.quick)
    }

    /// What is accepted from attempt `t` on.
    fn from(&self, attempts: impl Fn(u64) -> [f64; NUMBERS], t: u64) -> f64 {
        for t in t..SECOND {
            let [u, v, ..] = attempts(t);
            let (count, edge) = self.candidate(u);
            if self.at_once(edge, v) {
                return count;
            }
            if count < 0.0 || (edge < 0.013 && v > edge) {
                continue;
            }
            let bound = v.ln() + self.hat - (self.a / (edge * edge) + self.b).ln();
            if bound <= ln_probability(self.mean, count) {
                return count;
            }
        }
        self.mean.floor()
    }
}

/// The logarithm of the probability of a count.
fn ln_probability(mean: f64, count: f64) -> f64 {
    if count < 10.0 {
        let factorial: f64 = (1..=count as u32).map(f64::from).product();
        return count * mean.ln() - mean - factorial.ln();
    }
    // Stirling's series, put so that nothing large cancels.
    let (away, inverse) = ((mean - count) / count, 1.0 / count);
    let series = inverse * (1.0 / 12.0 - inverse * inverse / 360.0);
    -count * (away - away.ln_1p()) - 0.5 * (TAU * count).ln() - series
}

impl Law for Poisson {
    const STANDARD: Option<Standard> = None;

    fn new([mean, _]: [f64; 2], _: DType) -> Self {
        Poisson::of(mean)
    }

    const NEEDS: &'static str = "lam must not be negative";

    fn suits([mean, _]: [f64; 2]) -> bool {
        mean >= 0.0
    }

    fn fill<R: Drawn>(&self, draws: &Draws<'_, R>, out: &mut [R]) {
        match self {
            Poisson::Constant(x) => out.fill(R::of(*x)),
            Poisson::Small(mean, zero) => {
                let numbers = &draws.first.numbers[0][draws.skip..];
                let table = (out.len() >= MANY).then(|| Table::new(*mean, *zero));
                for (x, u) in out.iter_mut().zip(numbers) {
                    let count = table
                        .as_ref()
                        .map_or_else(|| invert(*mean, *zero, *u), |t| t.find(*u));
                    *x = R::of(count);
                }
            }
            Poisson::Large(large) => {
                let mut counts = [0.0; BLOCK];
                propose(large, draws.first, draws.skip, &mut counts[..out.len()]);
                for (i, (x, count)) in out.iter_mut().zip(counts).enumerate() {
                    *x = R::of(if count >= 0.0 {
                        count
                    } else {
                        large.from(|t| draws.attempt(i, t), 0)
                    });
                }
            }
        }
    }
}

multiversion! {
    /// Counts of first attempts that are accepted at once, -1 for others.
    fn propose<>(large: &Large, first: &First, skip: usize, counts: &mut [f64]) {
        let [u, v, ..] = &first.numbers;
        for ((count, u), v) in counts.iter_mut().zip(&u[skip..]).zip(&v[skip..]) {
            let (found, edge) = large.candidate(*u);
            *count = if large.at_once(edge, *v) { found } else { -1.0 };
        }
    }
}

/// A mean that has a gamma distribution, or is fixed.
#[derive(Clone, Copy)]
pub(crate) enum Mixture {
    Fixed(f64),
    Drawn(Gamma),
}

impl Mixture {
    fn fill<R: Drawn>(&self, draws: &Draws<'_, R>, out: &mut [R], dtype: DType) {
        match self {
            Mixture::Fixed(mean) => Poisson::new([*mean, 0.0], dtype).fill(draws, out),
            Mixture::Drawn(gamma) => {
                gamma.fill(draws, out);
                for (i, x) in out.iter_mut().enumerate() {
                    let next = |t| attempt::<R>(draws.stream, draws.at + i, SECOND + t);
                    *x = R::of(Poisson::of(x.f64()).one(next));
                }
            }
        }
    }
}

/// The number of failures before `k` successes of probability `p`.
#[derive(Clone, Copy)]
pub(crate) struct NegativeBinomial(Mixture, DType);

impl Law for NegativeBinomial {
    const STANDARD: Option<Standard> = None;

    fn new([k, p]: [f64; 2], dtype: DType) -> Self {
        let odds = if p > 0.0 { (1.0 - p) / p } else { f64::NAN };
        let mean = if k == 0.0 && p > 0.0 {
            Mixture::Fixed(0.0)
        } else {
            Mixture::Drawn(Gamma::new([k, odds], dtype))
        };
        NegativeBinomial(mean, dtype)
    }

    const NEEDS: &'static str = "k must not be negative, and p must be positive";

    fn suits([k, p]: [f64; 2]) -> bool {
        k >= 0.0 && p > 0.0
    }

    fn fill<R: Drawn>(&self, draws: &Draws<'_, R>, out: &mut [R]) {
        self.0.fill(draws, out, self.1);
    }
}

/// The same by its mean and by how much more than the mean the variance is, over its square.
#[derive(Clone, Copy)]
pub(crate) struct GeneralizedNegativeBinomial(Mixture, DType);

impl Law for GeneralizedNegativeBinomial {
    const STANDARD: Option<Standard> = None;

    fn new([mu, alpha]: [f64; 2], dtype: DType) -> Self {
        let mean = if alpha == 0.0 || mu <= 0.0 {
            Mixture::Fixed(mu)
        } else {
            Mixture::Drawn(Gamma::new([1.0 / alpha, alpha * mu], dtype))
        };
        GeneralizedNegativeBinomial(mean, dtype)
    }

    const NEEDS: &'static str = "mu and alpha must not be negative";

    fn suits([mu, alpha]: [f64; 2]) -> bool {
        mu >= 0.0 && alpha >= 0.0
    }

    fn fill<R: Drawn>(&self, draws: &Draws<'_, R>, out: &mut [R]) {
        self.0.fill(draws, out, self.1);
    }
}
