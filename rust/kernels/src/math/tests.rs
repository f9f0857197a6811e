//! Accuracy of the functions against double precision, and for double precision against another
//! implementation, over the whole range of arguments.

use super::{Math, power};

/// Distance of `got` from `want` in units of the last place of `want` as `f32`.
fn ulps(got: f32, want: f64) -> f64 {
    let near = want as f32;
    if got == near || (got.is_nan() && want.is_nan()) {
        return 0.0;
    }
    if got.is_infinite() || near.is_infinite() || got.is_nan() || want.is_nan() {
        return f64::INFINITY;
    }
    let step = f64::from(f32::from_bits(near.abs().to_bits() + 1)) - f64::from(near.abs());
    (f64::from(got) - want).abs() / step
}

/// The worst error over arguments of every sign and magnitude; infinities and NaN among them.
fn worst(got: impl Fn(f32) -> f32, want: impl Fn(f64) -> f64) -> (f64, f32) {
    let specials = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::MAX,
    ];
    let spread = (0..u32::MAX / STEP).map(|i| f32::from_bits(i * STEP));
    let near_one = (0..200_000).map(|i| (i as f32 - 100_000.0) / 16_384.0);
    specials
        .into_iter()
        .chain(spread)
        .chain(near_one)
        .fold((0.0, 0.0), |(most, at), x| {
            let error = ulps(got(x), want(f64::from(x)));
            if error > most { (error, x) } else { (most, at) }
        })
}

const STEP: u32 = 12_289;

macro_rules! within {
    ($($name:ident: $limit:expr, $want:expr;)*) => {$(
        #[test]
        fn $name() {
            let (error, at) = worst(Math::$name, $want);
            assert!(error <= $limit, "{error} ulps at {at:e}");
        }
    )*};
}

within! {
    exp: 1.5, f64::exp;
    exp_m1: 2.0, f64::exp_m1;
    ln: 1.4, f64::ln;
    ln_1p: 1.95, f64::ln_1p;
    log2: 1.75, f64::log2;
    log10: 1.8, f64::log10;
    asin: 0.6, f64::asin;
    acos: 0.6, f64::acos;
    atan: 1.5, f64::atan;
    sinh: 0.6, f64::sinh;
    cosh: 0.6, f64::cosh;
    tanh: 1.35, f64::tanh;
    asinh: 0.6, libm::asinh;
    acosh: 0.6, f64::acosh;
    atanh: 0.6, libm::atanh;
    cbrt: 0.6, f64::cbrt;
    rcbrt: 1.6, |x| 1.0 / x.cbrt();
    erf: 0.6, libm::erf;
    gamma: 0.6, libm::tgamma;
    ln_gamma: 0.6, libm::lgamma;
    sigmoid: 2.0, |x| 1.0 / (1.0 + (-x).exp());
    log_sigmoid: 0.6, |x| x.min(0.0) - (-x.abs()).exp().ln_1p();
    mish: 0.6, |x| if x < -800.0 { 0.0 } else { x * x.exp().ln_1p().tanh() };
}

/// Multiples of a quarter turn, where little is left after the reduction, and huge arguments.
#[test]
fn trigonometry_is_within_its_limits() {
    type Three = [(fn(f32) -> f32, fn(f32) -> f32, fn(f64) -> f64, f64); 3];
    let functions: Three = [
        (Math::sin, Math::far_sin, libm::sin, 1.8),
        (Math::cos, Math::far_cos, libm::cos, 1.9),
        (Math::tan, Math::far_tan, libm::tan, 0.6),
    ];
    for (near, far, want, limit) in functions {
        let got = |x: f32| {
            if x.abs() <= f32::NEAR {
                near(x)
            } else {
                far(x)
            }
        };
        let (error, at) = worst(got, want);
        assert!(error <= limit, "{error} ulps at {at:e}");
        for n in 0..200_000 {
            let x = (f64::from(n) * std::f64::consts::FRAC_PI_4) as f32;
            let error = ulps(got(x), want(f64::from(x)));
            assert!(error <= limit, "{error} ulps at {x:e}");
        }
    }
}

#[test]
fn zeros_keep_their_sign() {
    let odd: [fn(f32) -> f32; 4] = [Math::tanh, Math::ln_1p, Math::atan, Math::sin];
    for f in odd {
        assert_eq!(f(-0.0).to_bits(), (-0.0_f32).to_bits());
        assert_eq!(f(0.0).to_bits(), 0);
    }
}

#[test]
fn logarithms_of_powers_are_exact() {
    for k in -149_i16..128 {
        assert_eq!(Math::log2(f64::from(k).exp2() as f32), f32::from(k));
    }
    for k in 0..=10_u8 {
        assert_eq!(Math::log10(10_f32.powi(k.into())), f32::from(k));
    }
}

#[test]
fn powers_are_within_their_limits() {
    let specials = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        -2.0,
        3.0,
        -3.0,
        1e30,
        -1e30,
        16_777_216.0,
    ];
    let mut numbers: Vec<f32> = specials.to_vec();
    numbers.extend([f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, 1e-45]);
    numbers.extend((0..u32::MAX / 7_340_033).map(|i| f32::from_bits(i * 7_340_033)));
    numbers.extend((0..400).map(|i| i as f32 / 16.0 - 12.0));
    for &x in &numbers {
        for &y in &numbers {
            let want = f64::from(x).powf(f64::from(y));
            let error = ulps(power::pow(x, y), want);
            let modest = want.abs() > 1.0 / 65_536.0 && want.abs() < 65_536.0;
            let limit = if modest { 0.55 } else { 1.5 };
            assert!(error <= limit, "{x:e} ** {y:e}: {error} ulps");
            let error = ulps(Math::hypot(x, y), f64::from(x).hypot(f64::from(y)));
            assert!(error <= 0.6, "hypot({x:e}, {y:e}): {error} ulps");
        }
    }
}

/// Where the logarithm is little and the exponent large, all its bits count.
#[test]
fn powers_of_numbers_near_one_are_within_their_limit() {
    for i in 0..400_000_u32 {
        let x = 0.98 + i as f32 * 1e-7;
        for result in [-125.9, -97.3, 101.7, 125.9] {
            let y = (result / f64::from(x).log2()) as f32;
            let error = ulps(power::pow(x, y), f64::from(x).powf(f64::from(y)));
            assert!(error <= 1.5, "{x:e} ** {y:e}: {error} ulps");
        }
    }
}

#[test]
fn whole_powers_are_exact() {
    for x in 1..=4096_u16 {
        for n in 1..=7_u8 {
            let want = f64::from(x).powi(n.into());
            if f64::from(want as f32) == want {
                assert_eq!(power::pow(x.into(), n.into()), want as f32, "{x} ** {n}");
            }
        }
        let root = power::pow(f32::from(x) * f32::from(x), 0.5);
        assert_eq!(root, f32::from(x));
    }
}

/// Distance in units of the last place of `want`.
fn ulps_64(got: f64, want: f64) -> f64 {
    if got == want || (got.is_nan() && want.is_nan()) {
        return 0.0;
    }
    let step = f64::from_bits(want.abs().to_bits() + 1) - want.abs();
    (got - want).abs() / step
}

/// The logistic function with the roundings of sum and quotient made good.
fn logistic(x: f64) -> f64 {
    let e = libm::exp(-x);
    let sum = 1.0 + e;
    let lost = if e < 1.0 {
        e - (sum - 1.0)
    } else {
        1.0 - (sum - e)
    };
    let y = 1.0 / sum;
    if e > 1e300 {
        libm::exp(x)
    } else {
        y + y * (sum.mul_add(-y, 1.0) - y * lost)
    }
}

#[test]
fn double_precision_is_within_two_units() {
    type Two = (&'static str, fn(f64) -> f64, fn(f64) -> f64, f64);
    let functions: [Two; 9] = [
        ("exp", Math::exp, libm::exp, f64::MAX),
        ("exp_m1", Math::exp_m1, libm::expm1, f64::MAX),
        ("ln", Math::ln, libm::log, f64::MAX),
        ("ln_1p", Math::ln_1p, libm::log1p, f64::MAX),
        ("tanh", Math::tanh, libm::tanh, f64::MAX),
        ("sin", Math::sin, libm::sin, f64::NEAR),
        ("cos", Math::cos, libm::cos, f64::NEAR),
        ("tan", Math::tan, libm::tan, f64::NEAR),
        ("sigmoid", Math::sigmoid, logistic, f64::MAX),
    ];
    let step = (1 << 44) + 12_345;
    for (name, got, want, limit) in functions {
        let spread = (0..u64::MAX / step).map(|i| f64::from_bits(i * step));
        let near_one = (0..100_000).map(|i| f64::from(i) / 4096.0 - 12.0);
        for x in spread
            .chain(near_one)
            .filter(|x| x.is_nan() || x.abs() <= limit)
        {
            let error = ulps_64(got(x), want(x));
            assert!(error <= 2.0, "{name}({x:e}): {error} ulps");
        }
        for x in [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            if limit == f64::MAX || x.is_finite() {
                let (g, w) = (got(x), want(x));
                assert!(
                    g.to_bits() == w.to_bits() || (g.is_nan() && w.is_nan()),
                    "{name}({x})"
                );
            }
        }
    }
}

/// Values of mpmath.
#[test]
fn special_functions_match_multiple_precision() {
    type Row = (fn(f64) -> f64, f64, f64);
    let rows: [Row; 12] = [
        (Math::erf_inv, 0.5, 0.476_936_276_204_469_9),
        (Math::erf_inv, -0.999_999, -3.458_910_737_275_499),
        (Math::erf_inv, 1e-300, 8.862_269_254_527_58e-301),
        (
            Math::erf_inv,
            0.999_999_999_999_999_9,
            5.863_584_748_755_167,
        ),
        (Math::digamma, 1.0, -0.577_215_664_901_532_9),
        (Math::digamma, 0.1, -10.423_754_940_411_076),
        (Math::digamma, -1.5, 0.703_156_640_645_243_2),
        (Math::digamma, 1e10, 23.025_850_929_890_458),
        (Math::trigamma, 1.0, 1.644_934_066_848_226_4),
        (Math::trigamma, 0.1, 101.433_299_150_792_76),
        (Math::trigamma, -1.5, 9.379_246_644_989_124),
        (Math::trigamma, 1e10, 1.000_000_000_05e-10),
    ];
    for (f, x, want) in rows {
        assert!(
            (f(x) - want).abs() <= 4e-15 * want.abs(),
            "at {x:e}: {:e}, not {want:e}",
            f(x)
        );
    }
}
