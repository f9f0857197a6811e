//! The outermost numbers of a type in an interval, for results that rounding must not carry out of it.

use ferromix_base::DType;
use half::{bf16, f16};

/// The least and the greatest number of a type that lie in `low <= x < high`: what is rounded to
/// the type afterwards stays in the interval. Where none lies there, twice the one nearest to `low`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds<T> {
    pub least: T,
    pub greatest: T,
}

impl<T: PartialOrd + Copy> Bounds<T> {
    /// `round` goes to the nearest number of the type, `up` and `down` to its neighbours.
    fn new(low: f64, high: f64, round: impl Fn(f64) -> f64, step: Steps, to: fn(f64) -> T) -> Self {
        let (first, last) = (round(low), round(high));
        let least = if first < low { (step.up)(first) } else { first };
        let greatest = if last >= high {
            (step.down)(last)
        } else {
            last
        };
        let (least, greatest) = if least > greatest {
            (first, first)
        } else {
            (least, greatest)
        };
        Bounds {
            least: to(least),
            greatest: to(greatest),
        }
    }

    pub(crate) fn clamp(self, x: T) -> T {
        if x < self.least {
            self.least
        } else if x > self.greatest {
            self.greatest
        } else {
            x
        }
    }
}

/// To the neighbours of a number of a type.
#[derive(Clone, Copy)]
struct Steps {
    up: fn(f64) -> f64,
    down: fn(f64) -> f64,
}

fn half_up(x: f64) -> f64 {
    half_step(x, true)
}

fn half_down(x: f64) -> f64 {
    half_step(x, false)
}

fn half_step(x: f64, up: bool) -> f64 {
    step16(f16::from_f64(x).to_bits(), up, |bits| {
        f16::from_bits(bits).to_f64()
    })
}

fn brain_up(x: f64) -> f64 {
    brain_step(x, true)
}

fn brain_down(x: f64) -> f64 {
    brain_step(x, false)
}

fn brain_step(x: f64, up: bool) -> f64 {
    step16(bf16::from_f64(x).to_bits(), up, |bits| {
        bf16::from_bits(bits).to_f64()
    })
}

/// The next number of a type of sign and magnitude, in 16 bits.
fn step16(bits: u16, up: bool, value: impl Fn(u16) -> f64) -> f64 {
    const SIGN: u16 = 1 << 15;
    value(match (bits & !SIGN, bits & SIGN != 0) {
        (0, _) => 1 | if up { 0 } else { SIGN },
        (_, negative) if negative == up => bits - 1,
        _ => bits + 1,
    })
}

/// Those of `low <= x < high` among the numbers of `dtype` that are computed in single precision.
pub(crate) fn bounds32(low: f64, high: f64, dtype: DType) -> Bounds<f32> {
    let to = |x: f64| x as f32;
    match dtype {
        DType::F16 => {
            let (up, down) = (half_up as _, half_down as _);
            let round = |x| f16::from_f64(x).to_f64();
            Bounds::new(low, high, round, Steps { up, down }, to)
        }
        DType::BF16 => {
            let (up, down) = (brain_up as _, brain_down as _);
            let round = |x| bf16::from_f64(x).to_f64();
            Bounds::new(low, high, round, Steps { up, down }, to)
        }
        _ => {
            let up = |x: f64| f64::from((x as f32).next_up());
            let down = |x: f64| f64::from((x as f32).next_down());
            Bounds::new(low, high, |x| f64::from(x as f32), Steps { up, down }, to)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_the_outermost_numbers_of_the_interval() {
        let cases = [
            (DType::F32, 0.0, 1.0, 0.0, 1.0 - 2f32.powi(-24)),
            (DType::F16, 0.0, 1.0, 0.0, 1.0 - 2f32.powi(-11)),
            (DType::BF16, 0.0, 1.0, 0.0, 1.0 - 2f32.powi(-8)),
            (DType::BF16, -1.0, 0.0, -1.0, -f32::from_bits(1 << 16)),
            // 2.1 lies between 2.099609375 and 2.1015625, 2.9 between 2.8984375 and 2.900390625.
            (DType::F16, 2.1, 2.9, 2.101_562_5, 2.898_437_5),
            // Beyond the largest number of the type.
            (DType::F16, 0.0, 1e9, 0.0, 65504.0),
            // No number of the type lies within, or nothing does.
            (DType::BF16, 2.0001, 2.0002, 2.0, 2.0),
            (DType::F32, 3.0, 3.0, 3.0, 3.0),
        ];
        for (dtype, low, high, least, greatest) in cases {
            let found = bounds32(low, high, dtype);
            assert_eq!(found, Bounds { least, greatest }, "{dtype} {low} {high}");
        }
    }
}
