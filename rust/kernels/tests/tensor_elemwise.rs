//! Functions of one tensor and conversions, against an index-by-index reference in `f64`.

#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

mod tensor_support;
use ferromix_base::DType;
use ferromix_kernels::{Attrs, Req, copy};
use tensor_support::*;

const NAMES: [&str; 24] = [
    "negative",
    "abs",
    "sign",
    "square",
    "relu",
    "logical_not",
    "exp",
    "log",
    "log1p",
    "expm1",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "sigmoid",
    "tanh",
    "softsign",
    "sin",
    "cos",
    "erf",
    "floor",
    "ceil",
    "trunc",
    "round",
    "rint",
];

/// Abramowitz and Stegun 7.1.6, a series whose terms have one sign, and for large arguments 7.1.14,
/// a continued fraction of the complement.
fn erf(x: f64) -> f64 {
    let root = std::f64::consts::PI.sqrt();
    if x.abs() > 1.0 {
        let y = x.abs();
        let fraction = (1..2000).rev().fold(y, |f, n| y + f64::from(n) / 2.0 / f);
        return x.signum() * (1.0 - (-y * y).exp() / (fraction * root));
    }
    let (mut sum, mut term) = (0.0, x);
    for n in 0..100 {
        sum += term;
        term *= 2.0 * x * x / (2.0 * f64::from(n) + 3.0);
    }
    sum * 2.0 / root * (-x * x).exp()
}

fn reference(name: &str, x: f64) -> f64 {
    let flag = |b: bool| f64::from(u8::from(b));
    match name {
        "negative" => -x,
        "abs" => x.abs(),
        "sign" => flag(x > 0.0) - flag(x < 0.0),
        "square" => x * x,
        "relu" => {
            if x > 0.0 || x.is_nan() {
                x
            } else {
                0.0
            }
        }
        "logical_not" => flag(x == 0.0),
        "exp" => x.exp(),
        "log" => x.ln(),
        "log1p" => x.ln_1p(),
        "expm1" => x.exp_m1(),
        "sqrt" => x.sqrt(),
        "rsqrt" => 1.0 / x.sqrt(),
        "reciprocal" => 1.0 / x,
        "sigmoid" => 1.0 / (1.0 + (-x).exp()),
        "tanh" => x.tanh(),
        "softsign" => x / (1.0 + x.abs()),
        "sin" => x.sin(),
        "cos" => x.cos(),
        "erf" => erf(x),
        "floor" => x.floor(),
        "ceil" => x.ceil(),
        "trunc" => x.trunc(),
        "round" => x.round(),
        "rint" => {
            if x - x.floor() <= x.ceil() - x {
                x.floor()
            } else {
                x.ceil()
            }
        }
        _ => unreachable!(),
    }
}

/// Functions within two units of the last place of f64, in which integers are computed, too: the
/// integer that such a value is cut to may be the next one.
const APPROXIMATE: [&str; 8] = [
    "exp", "log", "log1p", "expm1", "sigmoid", "tanh", "sin", "cos",
];

/// Truncation as MXNet does it: what does not fit is the least 32 (64) bit integer.
fn to_type(dtype: DType, x: f64) -> f64 {
    if dtype.is_float() || dtype == DType::Bool {
        return x;
    }
    let limit = if dtype == DType::I64 {
        2f64.powi(63)
    } else {
        2147483648.0
    };
    if x.trunc() >= -limit && x < limit {
        x.trunc()
    } else {
        -limit
    }
}

#[test]
fn every_function_of_every_type_layout_and_request() {
    let mut rng = Rng(21);
    for name in NAMES {
        for dtype in DType::ALL {
            for round in 0..8 {
                let shape = SHAPES[rng.below(SHAPES.len())];
                let layout = LAYOUTS[rng.below(4)];
                let mut a = random(dtype, shape, layout, &mut rng);
                let mut out = random(dtype, shape, LAYOUTS[rng.below(4)], &mut rng);
                let (x, old) = (a.values(), out.values());
                let req = [Req::Write, Req::Inplace, Req::Add, Req::Null][round % 4];
                let none = Attrs::default();
                let shared = req == Req::Inplace;
                let result = if shared {
                    let (view, mut target) = (a.view(), a.view());
                    let outputs = std::slice::from_mut(&mut target);
                    run_views(name, &none, &[view], outputs, &[req], None)
                } else {
                    run(name, &none, &mut [&mut a], &mut out, req)
                };
                if dtype == DType::Bool && name != "logical_not" {
                    assert!(result.unwrap_err().to_string().contains(name));
                    continue;
                }
                result.unwrap();
                for i in 0..x.len() {
                    let result = to_type(dtype, reference(name, x[i]));
                    let want = after(req, dtype, old[i], result);
                    let got = if shared { a.get(i) } else { out.get(i) };
                    let scale = if req == Req::Add { old[i].abs() } else { 1e-30 };
                    let units = [-2.0, 2.0].map(|units| 1.0 + units * f64::EPSILON);
                    let ends = units.map(|unit| {
                        let result = to_type(dtype, reference(name, x[i]) * unit);
                        after(req, dtype, old[i], result)
                    });
                    let within = ends[0].min(ends[1]) <= got && got <= ends[0].max(ends[1]);
                    if within && APPROXIMATE.contains(&name) {
                        continue;
                    }
                    assert_close(
                        dtype,
                        got,
                        want,
                        4.0,
                        scale,
                        &format!("{name} {req:?} of {}", x[i]),
                    );
                }
            }
        }
    }
}

/// Arguments so large that sines of them take another way, between others, apart and in place.
#[test]
fn rare_arguments_among_others() {
    let large = [3e5, -7e8, 1e30, f64::INFINITY, f64::NAN];
    let value = |i: usize| match i % 97 {
        5 => large[i / 97 % large.len()],
        _ => (i as f64 - 350.0) / 16.0,
    };
    for dtype in [DType::F32, DType::F64] {
        for name in ["sin", "cos"] {
            for (n, shared) in [(700, false), (700, true), (1, false), (1, true)] {
                let first = if n == 1 { 5 } else { 0 };
                let mut a = Tensor::of(dtype, &[n], Layout::Plain, |i| value(i + first));
                let mut out = Tensor::zeros(dtype, &[n], Layout::Plain);
                let x = a.values();
                let (source, target) = (a.view(), if shared { a.view() } else { out.view() });
                let req = if shared { Req::Inplace } else { Req::Write };
                run_views(
                    name,
                    &Attrs::default(),
                    &[source],
                    &mut [target],
                    &[req],
                    None,
                )
                .unwrap();
                let got = if shared { a.values() } else { out.values() };
                for (x, got) in x.into_iter().zip(got) {
                    let what = format!("{name}({x:e})");
                    assert_close(dtype, got, reference(name, x), 4.0, 1e-30, &what);
                }
            }
        }
    }
}

#[test]
fn special_values_follow_mxnet() {
    let (n, inf) = (f64::NAN, f64::INFINITY);
    let x = [
        n, inf, -inf, 2.5, -2.5, 0.5, 1.5, -0.5, -1.5, -0.0, 0.49999997,
    ];
    let cases: [(&str, [f64; 11]); 4] = [
        (
            "sign",
            [0.0, 1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 0.0, 1.0],
        ),
        (
            "round",
            [n, inf, -inf, 3.0, -3.0, 1.0, 2.0, -1.0, -2.0, -0.0, 0.0],
        ),
        (
            "rint",
            [n, inf, -inf, 2.0, -3.0, 0.0, 1.0, -1.0, -2.0, -0.0, 0.0],
        ),
        (
            "relu",
            [
                n,
                inf,
                0.0,
                2.5,
                0.0,
                0.5,
                1.5,
                0.0,
                0.0,
                0.0,
                f64::from(0.49999997f32),
            ],
        ),
    ];
    for (name, want) in cases {
        let mut a = Tensor::plain(DType::F32, &[11], &x);
        let mut out = Tensor::zeros(DType::F32, &[11], Layout::Plain);
        run(name, &Attrs::default(), &mut [&mut a], &mut out, Req::Write).unwrap();
        for (got, want) in out.values().iter().zip(want) {
            assert!(
                *got == want || got.is_nan() && want.is_nan(),
                "{name}: {got} {want}"
            );
        }
    }
}

#[test]
fn clip_bounds_each_type() {
    let mut rng = Rng(2);
    for dtype in DType::ALL {
        let attrs = Attrs::from([("a_min", number(-2.5)), ("a_max", number(3.5))]);
        let mut a = random(dtype, &[300], Layout::Stepped, &mut rng);
        let mut out = Tensor::zeros(dtype, &[300], Layout::Plain);
        let result = run("clip", &attrs, &mut [&mut a], &mut out, Req::Write);
        if dtype == DType::Bool {
            assert!(result.is_err());
            continue;
        }
        result.unwrap();
        for i in 0..300 {
            let x = a.get(i);
            assert_close(dtype, out.get(i), x.clamp(-2.5, 3.5), 0.0, 0.0, "clip");
        }
    }
    let attrs = Attrs::from([("a_min", number(-1.0)), ("a_max", number(1.0))]);
    let mut a = Tensor::plain(DType::F32, &[2], &[f64::NAN, f64::INFINITY]);
    let mut out = Tensor::zeros(DType::F32, &[2], Layout::Plain);
    run("clip", &attrs, &mut [&mut a], &mut out, Req::Write).unwrap();
    assert!(out.get(0).is_nan() && out.get(1) == 1.0);
}

#[test]
fn cast_between_all_types_layouts_and_requests() {
    let mut rng = Rng(9);
    for from in DType::ALL {
        for to in DType::ALL {
            for round in 0..4 {
                let shape = SHAPES[rng.below(SHAPES.len())];
                let mut a = random(from, shape, LAYOUTS[rng.below(4)], &mut rng);
                let mut out = random(to, shape, LAYOUTS[rng.below(4)], &mut rng);
                let old = out.values();
                let req = [Req::Write, Req::Add][round % 2];
                run("Cast", &Attrs::default(), &mut [&mut a], &mut out, req).unwrap();
                for (i, &old) in old.iter().enumerate() {
                    let result = rounded(to, to_type(to, a.get(i)));
                    let want = after(req, to, old, result);
                    let units = if req == Req::Add { 1.0 } else { 0.0 };
                    assert_close(
                        to,
                        out.get(i),
                        want,
                        units,
                        0.0,
                        &format!("{from} {}", a.get(i)),
                    );
                }
            }
        }
    }
}

#[test]
fn casts_outside_the_range_follow_mxnet() {
    let (n, inf) = (f64::NAN, f64::INFINITY);
    let x = [n, inf, -inf, 300.0, -1.0, 1e20, 3.99, -2.5];
    let low = -2147483648.0;
    let cases: [(DType, [f64; 8]); 4] = [
        (DType::I32, [low, low, low, 300.0, -1.0, low, 3.0, -2.0]),
        (DType::U8, [0.0, 0.0, 0.0, 44.0, 255.0, 0.0, 3.0, 254.0]),
        (DType::I8, [0.0, 0.0, 0.0, 44.0, -1.0, 0.0, 3.0, -2.0]),
        (DType::Bool, [1.0; 8]),
    ];
    for from in [DType::F32, DType::F64] {
        for (to, want) in cases {
            let mut a = Tensor::plain(from, &[8], &x);
            let mut out = Tensor::zeros(to, &[8], Layout::Plain);
            copy(&a.view(), &mut out.view()).unwrap();
            assert_eq!(out.values(), want, "{from} to {to}");
        }
    }
    let mut a = Tensor::plain(DType::F64, &[3], &[65519.9, 65520.0, 1e-8]);
    let mut out = Tensor::zeros(DType::F16, &[3], Layout::Plain);
    copy(&a.view(), &mut out.view()).unwrap();
    assert_eq!(out.values(), [65504.0, inf, 0.0]);
}

#[test]
fn copies_broadcast_and_may_stay_in_place() {
    let mut rng = Rng(77);
    for dtype in DType::ALL {
        let mut a = random(dtype, &[3, 1], Layout::Flipped, &mut rng);
        let mut out = Tensor::zeros(dtype, &[2, 3, 4], Layout::Transposed);
        run(
            "broadcast_to",
            &Attrs::default(),
            &mut [&mut a],
            &mut out,
            Req::Write,
        )
        .unwrap();
        for i in 0..24 {
            assert_eq!(out.get(i), a.get(i / 4 % 3));
        }
        let (x, before) = (out.view(), out.values());
        let views = &mut [out.view()];
        run_views(
            "_copy",
            &Attrs::default(),
            &[x],
            views,
            &[Req::Inplace],
            None,
        )
        .unwrap();
        assert_eq!(out.values(), before);
    }
}

#[test]
fn cast_in_place_of_equal_width() {
    let mut a = Tensor::of(DType::F32, &[5000], Layout::Plain, |i| i as f64 - 2500.5);
    let source = a.view();
    // SAFETY: the same memory as 32-bit integers.
    let target = unsafe {
        ferromix_kernels::View::from_raw(
            source.ptr(),
            DType::I32,
            source.shape().into(),
            source.strides().into(),
        )
    };
    let views = &mut [target.clone()];
    run_views(
        "Cast",
        &Attrs::default(),
        &[source],
        views,
        &[Req::Inplace],
        None,
    )
    .unwrap();
    let got = target.read::<i32>().unwrap();
    assert!(
        got.iter()
            .enumerate()
            .all(|(i, &x)| x == (i as f64 - 2500.5) as i32)
    );
}
