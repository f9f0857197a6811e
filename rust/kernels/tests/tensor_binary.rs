//! Functions of two tensors, and of a tensor and a scalar, against an index-by-index reference in
//! `f64`.

#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

mod tensor_support;
use ferromix_base::DType;
use ferromix_kernels::{Attrs, Req};
use tensor_support::*;

const NAMES: [&str; 17] = [
    "add",
    "sub",
    "mul",
    "div",
    "mod",
    "power",
    "maximum",
    "minimum",
    "equal",
    "not_equal",
    "greater",
    "greater_equal",
    "lesser",
    "lesser_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
];

fn logical(name: &str) -> bool {
    !["add", "sub", "mul", "div", "mod", "power"].contains(&name)
}

/// Python's remainder, zero for a zero divisor.
fn modulo(a: f64, b: f64) -> f64 {
    let r = if b == 0.0 { 0.0 } else { a % b };
    if r != 0.0 && (r < 0.0) != (b < 0.0) {
        r + b
    } else {
        r
    }
}

fn reference(name: &str, dtype: DType, a: f64, b: f64) -> f64 {
    let flag = |b: bool| f64::from(u8::from(b));
    let integer = !dtype.is_float();
    match name {
        "add" => a + b,
        "sub" => a - b,
        "mul" => a * b,
        "div" if integer && b == 0.0 => 0.0,
        "div" if integer => (a / b).trunc(),
        "div" => a / b,
        "mod" => modulo(a, b),
        "power" if dtype == DType::F64 => a.powf(b),
        "power" if !integer => f64::from((a as f32).powf(b as f32)),
        "power" => {
            let p = a.powf(b);
            let fits = if dtype == DType::I64 {
                p.abs() < 9.2e18
            } else {
                p.abs() < 2.1e9
            };
            if fits {
                p
            } else {
                [-(2f64.powi(63)), -(2f64.powi(31))][usize::from(dtype != DType::I64)]
            }
        }
        "maximum" => {
            if a.is_nan() || a > b {
                a
            } else {
                b
            }
        }
        "minimum" => {
            if a.is_nan() || a < b {
                a
            } else {
                b
            }
        }
        "equal" => flag(a == b),
        "not_equal" => flag(a != b),
        "greater" => flag(a > b),
        "greater_equal" => flag(a >= b),
        "lesser" => flag(a < b),
        "lesser_equal" => flag(a <= b),
        "logical_and" => flag(a != 0.0 && b != 0.0),
        "logical_or" => flag(a != 0.0 || b != 0.0),
        "logical_xor" => flag((a != 0.0) != (b != 0.0)),
        _ => unreachable!(),
    }
}

/// Slack for what the reference itself rounds: remainders near a multiple.
fn check(name: &str, dtype: DType, got: f64, want: f64, what: &str) {
    let units = if name == "power" { 4.0 } else { 1.0 };
    assert_close(
        dtype,
        got,
        want,
        units,
        if name == "mod" { 4.0 } else { 0.0 },
        what,
    );
}

#[test]
fn every_function_of_every_type() {
    let mut rng = Rng(7);
    for name in NAMES {
        for dtype in DType::ALL {
            let mut a = random(dtype, &[3, 50], Layout::Plain, &mut rng);
            let mut b = random(dtype, &[3, 50], Layout::Plain, &mut rng);
            if dtype != DType::Bool {
                b.set(3, a.get(3));
                b.set(4, 0.0);
                a.set(5, 0.0);
            }
            let mut out = Tensor::zeros(dtype, &[3, 50], Layout::Plain);
            let op = format!("broadcast_{name}");
            let result = run(
                &op,
                &Attrs::default(),
                &mut [&mut a, &mut b],
                &mut out,
                Req::Write,
            );
            if dtype == DType::Bool && !logical(name) {
                let e = result.unwrap_err().to_string();
                assert!(
                    e.contains(&op) && e.contains("bool") && e.contains("float32"),
                    "{e}"
                );
                continue;
            }
            result.unwrap();
            for i in 0..out.len() {
                let (x, y) = (a.get(i), b.get(i));
                check(
                    name,
                    dtype,
                    out.get(i),
                    reference(name, dtype, x, y),
                    &format!("{name} {x} {y}"),
                );
            }
        }
    }
}

#[test]
fn nan_and_infinity_follow_mxnet() {
    let (n, i) = (f64::NAN, f64::INFINITY);
    let a = [5.5, -5.5, 5.5, -5.5, i, 5.0, -5.0, 0.0, 1.0, n, 3.0];
    let b = [2.0, 2.0, -2.0, -2.0, 2.0, i, i, -2.0, n, 1.0, 0.0];
    let run2 = |name: &str| {
        let (mut x, mut y) = (
            Tensor::plain(DType::F32, &[11], &a),
            Tensor::plain(DType::F32, &[11], &b),
        );
        let mut out = Tensor::zeros(DType::F32, &[11], Layout::Plain);
        run(
            name,
            &Attrs::default(),
            &mut [&mut x, &mut y],
            &mut out,
            Req::Write,
        )
        .unwrap();
        out.values()
            .iter()
            .map(|x| if x.is_nan() { 99.0 } else { *x })
            .collect::<Vec<_>>()
    };
    // As MXNet 1.9.1 answers (99 for NaN).
    assert_eq!(
        run2("broadcast_mod"),
        [1.5, 0.5, -0.5, -1.5, 99.0, 5.0, i, 0.0, 99.0, 99.0, 0.0]
    );
    assert_eq!(run2("broadcast_maximum")[8..10], [99.0, 99.0]);
    assert_eq!(run2("broadcast_minimum")[8..10], [99.0, 99.0]);
    assert_eq!(run2("broadcast_not_equal")[8..10], [1.0, 1.0]);
    assert_eq!(run2("broadcast_logical_and")[8..10], [1.0, 1.0]);
}

/// (output shape, left shape, right shape)
const PAIRS: [(&[usize], &[usize], &[usize]); 12] = [
    (&[2, 3, 4], &[2, 3, 4], &[4]),
    (&[2, 3, 4], &[3, 1], &[2, 1, 4]),
    (&[2, 3, 4], &[], &[2, 3, 4]),
    (&[2, 3, 4], &[1], &[1, 1, 1]),
    (&[2, 0, 4], &[1, 4], &[2, 0, 1]),
    (&[70, 3], &[3], &[70, 1]),
    (&[5, 600], &[5, 1], &[600]),
    (&[5, 600], &[5, 600], &[1, 600]),
    (&[3, 5, 7, 2], &[5, 1, 2], &[3, 1, 7, 1]),
    (&[300, 300], &[300, 300], &[300, 1]),
    (&[90000, 2], &[90000, 2], &[2]),
    (&[], &[], &[]),
];

#[test]
fn broadcasting_layouts_and_requests() {
    let mut rng = Rng(11);
    for (case, (shape, left, right)) in PAIRS.into_iter().enumerate() {
        let big = shape.iter().product::<usize>() > 50_000;
        let dtypes: &[DType] = if big {
            &[DType::F32, DType::F16]
        } else {
            &DType::ALL
        };
        for &dtype in dtypes {
            let name = if dtype == DType::Bool {
                "maximum"
            } else {
                "sub"
            };
            for round in 0..if big { 3 } else { 12 } {
                let pick = |rng: &mut Rng| LAYOUTS[rng.below(4)];
                let repeated = Layout::Repeated;
                let layout = if round == 0 { repeated } else { pick(&mut rng) };
                let mut a = random(dtype, left, layout, &mut rng);
                let mut b = random(dtype, right, pick(&mut rng), &mut rng);
                let req = [Req::Write, Req::Add, Req::Null, Req::Inplace][round % 4];
                let mut out = random(dtype, shape, pick(&mut rng), &mut rng);
                let old = out.values();
                let op = format!("broadcast_{name}");
                run(&op, &Attrs::default(), &mut [&mut a, &mut b], &mut out, req).unwrap();
                for (i, &old) in old.iter().enumerate() {
                    let (x, y) = (a.broadcast_get(shape, i), b.broadcast_get(shape, i));
                    let want = after(req, dtype, old, reference(name, dtype, x, y));
                    let what = format!("case {case} round {round} at {i}");
                    assert_close(dtype, out.get(i), want, 1.0, 8.0, &what);
                }
            }
        }
    }
}

#[test]
fn outputs_may_be_an_input() {
    let mut rng = Rng(5);
    for dtype in [DType::F32, DType::I8, DType::BF16, DType::I64] {
        for layout in LAYOUTS {
            for (mine, scalar) in [(0, false), (1, false), (0, true), (2, false)] {
                let shape = [40usize, 90];
                let mut a = random(dtype, &shape, layout, &mut rng);
                let other: &[usize] = if scalar { &[1, 1] } else { &shape };
                let mut b = random(dtype, other, Layout::Transposed, &mut rng);
                let (x, y) = (a.values(), b.clone());
                let (mut out, share) = (a.view(), a.view());
                let inputs = match mine {
                    0 => [share, b.view()],
                    1 => [b.view(), share],
                    _ => [share.clone(), share],
                };
                let outputs = std::slice::from_mut(&mut out);
                run_views(
                    "broadcast_sub",
                    &Attrs::default(),
                    &inputs,
                    outputs,
                    &[Req::Inplace],
                    None,
                )
                .unwrap();
                for (i, &x) in x.iter().enumerate() {
                    let other = y.broadcast_get(&shape, i);
                    let want = [x - other, other - x, 0.0][mine];
                    assert_close(dtype, a.get(i), want, 1.0, 0.0, "in place");
                }
            }
        }
    }
}

#[test]
fn scalars_take_the_type_of_the_tensor() {
    let sides = [
        ("_plus_scalar", "add", false),
        ("_minus_scalar", "sub", false),
        ("_rminus_scalar", "sub", true),
        ("_mul_scalar", "mul", false),
        ("_div_scalar", "div", false),
        ("_rdiv_scalar", "div", true),
        ("_mod_scalar", "mod", false),
        ("_rmod_scalar", "mod", true),
        ("_power_scalar", "power", false),
        ("_rpower_scalar", "power", true),
        ("_maximum_scalar", "maximum", false),
        ("_minimum_scalar", "minimum", false),
        ("_equal_scalar", "equal", false),
        ("_not_equal_scalar", "not_equal", false),
        ("_greater_scalar", "greater", false),
        ("_greater_equal_scalar", "greater_equal", false),
        ("_lesser_scalar", "lesser", false),
        ("_lesser_equal_scalar", "lesser_equal", false),
    ];
    let mut rng = Rng(3);
    for (op, name, reversed) in sides {
        for scalar in [2.5, -2.0, 0.0, 0.1, 2.0, 300.0] {
            for dtype in DType::ALL {
                if dtype == DType::Bool {
                    continue;
                }
                let attrs = Attrs::from([("scalar", number(scalar))]);
                let req = if scalar == 0.1 { Req::Add } else { Req::Write };
                let mut a = random(dtype, &[7, 9], Layout::Transposed, &mut rng);
                let mut out = random(dtype, &[7, 9], Layout::Plain, &mut rng);
                let old = out.values();
                run(op, &attrs, &mut [&mut a], &mut out, req).unwrap();
                let s = rounded(dtype, scalar);
                for (i, &old) in old.iter().enumerate() {
                    let x = a.get(i);
                    let (l, r) = if reversed { (s, x) } else { (x, s) };
                    let want = after(req, dtype, old, reference(name, dtype, l, r));
                    let scale = if req == Req::Add {
                        old.abs() + reference(name, dtype, l, r).abs()
                    } else {
                        0.0
                    };
                    if req == Req::Add {
                        assert_close(dtype, out.get(i), want, 2.0, scale, op);
                    } else {
                        check(name, dtype, out.get(i), want, &format!("{op} {l} {r}"));
                    }
                }
            }
        }
    }
}

#[test]
fn bools_meet_scalars_as_integers() {
    let attrs = Attrs::from([("scalar", number(2.5))]);
    let mut a = Tensor::plain(DType::Bool, &[3], &[1.0, 0.0, 1.0]);
    let mut out = Tensor::zeros(DType::I64, &[3], Layout::Plain);
    run("_plus_scalar", &attrs, &mut [&mut a], &mut out, Req::Write).unwrap();
    assert_eq!(out.values(), [3.0, 2.0, 3.0]);
}

#[test]
fn misfits_are_errors_that_say_so() {
    let mut a = Tensor::zeros(DType::F32, &[2, 3], Layout::Plain);
    let mut b = Tensor::zeros(DType::I32, &[2, 3], Layout::Plain);
    let mut out = Tensor::zeros(DType::F32, &[2, 3], Layout::Plain);
    let none = Attrs::default();
    let e = run(
        "broadcast_add",
        &none,
        &mut [&mut a, &mut b],
        &mut out,
        Req::Write,
    )
    .unwrap_err();
    assert!(
        e.to_string().contains("broadcast_add") && e.to_string().contains("int32"),
        "{e}"
    );
    let mut c = Tensor::zeros(DType::F32, &[4], Layout::Plain);
    let e = run(
        "broadcast_add",
        &none,
        &mut [&mut a, &mut c],
        &mut out,
        Req::Write,
    )
    .unwrap_err();
    assert!(
        e.to_string().contains("rhs") && e.to_string().contains("[4]"),
        "{e}"
    );
    let e = run("_plus_scalar", &none, &mut [&mut a], &mut out, Req::Write).unwrap_err();
    assert!(
        e.to_string().contains("_plus_scalar") && e.to_string().contains("scalar"),
        "{e}"
    );
}
