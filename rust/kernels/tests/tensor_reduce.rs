//! Reductions, their way back, and argmax and argmin, against an index-by-index reference.

#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

mod tensor_support;
use ferromix_base::DType;
use ferromix_kernels::{Attrs, Req, Value};
use tensor_support::*;

const REDUCED: [(&[usize], &[i64]); 28] = [
    (&[], &[]),
    (&[1], &[0]),
    (&[5], &[]),
    (&[0], &[0]),
    (&[0, 3], &[0]),
    (&[0, 3], &[1]),
    (&[3, 4], &[0]),
    (&[3, 4], &[-1]),
    (&[3, 1, 4], &[1]),
    (&[2, 3, 4], &[0, 2]),
    (&[2, 3, 4], &[1]),
    (&[2, 3, 4, 5], &[2, 0]),
    (&[2, 3, 4, 5], &[1, 3]),
    (&[40, 33], &[0]),
    (&[40, 33], &[1]),
    (&[700, 3], &[0]),
    (&[3, 700], &[1]),
    (&[3, 2500], &[0]),
    (&[4, 6, 7, 7], &[0, 2, 3]),
    (&[64, 70], &[0]),
    (&[131, 600], &[0]),
    (&[5000], &[0]),
    (&[300, 20, 20], &[0]),
    (&[300, 20, 20], &[1, 2]),
    (&[270, 500], &[0]),
    (&[100_000], &[]),
    // Rows of several whole blocks, more than a task has.
    (&[70, 2048], &[1]),
    (&[23, 3072], &[1]),
];

/// Where each input position goes, and the shape of the output with extents of 1.
fn targets(shape: &[usize], axes: &[i64]) -> (Vec<usize>, Vec<usize>) {
    let ndim = shape.len() as i64;
    let gone = |a: usize| axes.is_empty() || axes.iter().any(|&x| (x + ndim) % ndim == a as i64);
    let kept: Vec<usize> = (0..shape.len())
        .map(|a| if gone(a) { 1 } else { shape[a] })
        .collect();
    let count: usize = shape.iter().product();
    let target = |mut i: usize| {
        let (mut place, mut step) = (0, 1);
        for a in (0..shape.len()).rev() {
            if !gone(a) {
                place += i % shape[a] * step;
                step *= shape[a];
            }
            i /= shape[a];
        }
        place
    };
    ((0..count).map(target).collect(), kept)
}

fn attrs(axes: &[i64], keep: bool) -> Attrs {
    let axis = match axes {
        [] => Value::None,
        [one] => Value::Int(*one),
        more => Value::Ints(more.to_vec()),
    };
    Attrs::from([("axis", axis), ("keepdims", Value::Bool(keep))])
}

fn squeezed(kept: &[usize], shape: &[usize], axes: &[i64]) -> Vec<usize> {
    let ndim = shape.len() as i64;
    let gone = |a: usize| axes.is_empty() || axes.iter().any(|&x| (x + ndim) % ndim == a as i64);
    (0..kept.len())
        .filter(|&a| !gone(a))
        .map(|a| kept[a])
        .collect()
}

/// Reduces the values that go to one place; also the sum of magnitudes, for tolerances.
fn reference(name: &str, dtype: DType, x: &[f64]) -> (f64, f64) {
    let scale: f64 = x.iter().map(|x| x.abs()).sum();
    let n = x.len() as f64;
    let sum = |x: &mut dyn Iterator<Item = f64>| {
        // Kahan's summation, so that the reference is exact to the last digit.
        let (mut sum, mut lost) = (0.0, 0.0);
        x.for_each(|x| {
            let y = x - lost;
            let next: f64 = sum + y;
            lost = (next - sum) - y;
            sum = next;
        });
        sum
    };
    let whole = |x: f64| if dtype.is_float() { x } else { x.trunc() };
    match name {
        "sum" => (sum(&mut x.iter().copied()), scale),
        "mean" if dtype == DType::Bool => (sum(&mut x.iter().copied()), scale),
        "mean" if n == 0.0 && !dtype.is_float() => (0.0, 0.0),
        "mean" => (whole(sum(&mut x.iter().copied()) / n), scale / n),
        "prod" => (x.iter().product(), 0.0),
        "max" => (x.iter().copied().fold(f64::NEG_INFINITY, f64::max), 0.0),
        "min" => (x.iter().copied().fold(f64::INFINITY, f64::min), 0.0),
        "norm1" => (sum(&mut x.iter().map(|x| x.abs())), scale),
        "norm2" => (whole(sum(&mut x.iter().map(|x| x * x)).sqrt()), 0.0),
        _ => unreachable!(),
    }
}

#[test]
fn every_reduction_type_layout_and_request() {
    let mut rng = Rng(31);
    for name in ["sum", "mean", "prod", "max", "min", "norm1", "norm2"] {
        for (case, (shape, axes)) in REDUCED.into_iter().enumerate() {
            for dtype in DType::ALL {
                let size: usize = shape.iter().product();
                if size > 20_000 && ![DType::F32, DType::I32, DType::BF16].contains(&dtype) {
                    continue;
                }
                check(name, case, shape, axes, dtype, &mut rng);
            }
        }
    }
}

fn check(name: &str, case: usize, shape: &[usize], axes: &[i64], dtype: DType, rng: &mut Rng) {
    let (target, kept) = targets(shape, axes);
    let keep = rng.below(2) == 0;
    let out_shape = if keep {
        kept.clone()
    } else {
        squeezed(&kept, shape, axes)
    };
    let mut data = random(dtype, shape, LAYOUTS[rng.below(4)], rng);
    if name == "prod" {
        // Factors whose product stays in range and is exact in every type.
        data = Tensor::of(dtype, shape, LAYOUTS[rng.below(4)], |_| {
            [1.0f64, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0][rng.below(7)].min(if dtype == DType::Bool {
                1.0
            } else {
                2.0
            })
        });
        if data.values().iter().filter(|x| **x == 2.0).count() > 12 {
            data = Tensor::of(dtype, shape, Layout::Plain, |_| 1.0);
        }
    }
    let mut out = random(dtype, &out_shape, LAYOUTS[rng.below(4)], rng);
    let old = out.values();
    let req = [Req::Write, Req::Add, Req::Write, Req::Null][rng.below(4)];
    let mut a = attrs(axes, keep);
    if let Some(ord) = name.strip_prefix("norm") {
        let mut rows = vec![("ord".to_owned(), Value::Int(ord.parse().unwrap()))];
        rows.push(("axis".to_owned(), a.get("axis").unwrap().clone()));
        a = Attrs::new(rows);
    }
    let op = name.trim_end_matches(['1', '2']);
    let result = run(op, &a, &mut [&mut data], &mut out, req);
    let mut groups = vec![Vec::new(); old.len()];
    target
        .iter()
        .enumerate()
        .for_each(|(i, &t)| groups[t].push(data.get(i)));
    if (op == "max" || op == "min") && groups.iter().any(Vec::is_empty) {
        assert!(result.unwrap_err().to_string().contains("no elements"));
        return;
    }
    result.unwrap();
    for (i, group) in groups.iter().enumerate() {
        let (want, scale) = reference(name, dtype, group);
        let want = after(req, dtype, old[i], rounded(dtype, want));
        let room = scale + if req == Req::Add { old[i].abs() } else { 0.0 };
        let what = format!("case {case} {name} {req:?} of {} at {i}", group.len());
        let units = if dtype.is_float() { 2.0 } else { 0.0 };
        assert_close(dtype, out.get(i), want, units, room, &what);
    }
}

#[test]
fn exclude_empty_axes_and_misfits() {
    let mut a = Tensor::of(DType::F32, &[2, 3, 4], Layout::Plain, |i| i as f64);
    let mut out = Tensor::zeros(DType::F32, &[3], Layout::Plain);
    let exclude = Attrs::from([("axis", Value::Int(1)), ("exclude", Value::Bool(true))]);
    run("sum", &exclude, &mut [&mut a], &mut out, Req::Write).unwrap();
    assert_eq!(out.values(), [60.0, 92.0, 124.0]);
    let mut all = Tensor::zeros(DType::F32, &[1], Layout::Plain);
    let empty = Attrs::from([
        ("axis", Value::Ints(vec![])),
        ("exclude", Value::Bool(true)),
    ]);
    run("sum", &empty, &mut [&mut a], &mut all, Req::Write).unwrap();
    assert_eq!(all.values(), [276.0]);
    for axis in [vec![1, 1], vec![3], vec![-4]] {
        let twice = Attrs::from([("axis", Value::Ints(axis))]);
        assert!(run("sum", &twice, &mut [&mut a], &mut out, Req::Write).is_err());
    }
    let last = Attrs::from([("axis", Value::Int(2))]);
    let e = run("sum", &last, &mut [&mut a], &mut out, Req::Write)
        .unwrap_err()
        .to_string();
    assert!(e.contains("[2, 3, 4]") && e.contains("[3]"), "{e}");
}

#[test]
fn nan_spreads_and_large_sums_stay_accurate() {
    for axis in [0, 1] {
        for (name, place) in [("max", 7), ("min", 1030), ("sum", 2047)] {
            let mut a = Tensor::of(DType::F32, &[2048, 2], Layout::Plain, |i| {
                if i / 2 == place { f64::NAN } else { i as f64 }
            });
            let shape = [if axis == 0 { 2usize } else { 2048 }];
            let mut out = Tensor::zeros(DType::F32, &shape, Layout::Plain);
            run(
                name,
                &attrs(&[axis], false),
                &mut [&mut a],
                &mut out,
                Req::Write,
            )
            .unwrap();
            for i in 0..shape[0] {
                assert_eq!(out.get(i).is_nan(), axis == 0 || i == place, "{name}");
            }
        }
    }
    // 0.1 as f32 a million times; one running f32 sum would be wrong in the third digit.
    let (n, x) = (1_000_000, f64::from(0.1f32));
    for shape in [[n, 1], [1, n], [n / 4, 4]] {
        let mut a = Tensor::of(DType::F32, &shape, Layout::Plain, |_| x);
        let mut out = Tensor::zeros(DType::F32, &[1], Layout::Plain);
        run(
            "sum",
            &attrs(&[], false),
            &mut [&mut a],
            &mut out,
            Req::Write,
        )
        .unwrap();
        assert!((out.get(0) / (n as f64 * x) - 1.0).abs() < 1e-6);
    }
    let mut a = Tensor::of(DType::F16, &[60_000], Layout::Plain, |_| 1.0);
    let mut out = Tensor::zeros(DType::F16, &[1], Layout::Plain);
    run(
        "sum",
        &attrs(&[], false),
        &mut [&mut a],
        &mut out,
        Req::Write,
    )
    .unwrap();
    assert_eq!(out.get(0), 60_000.0);
    let mut a = Tensor::plain(DType::F32, &[2], &[3e30, -4e30]);
    let mut out = Tensor::zeros(DType::F32, &[1], Layout::Plain);
    run(
        "norm",
        &attrs(&[], false),
        &mut [&mut a],
        &mut out,
        Req::Write,
    )
    .unwrap();
    assert!((out.get(0) / 5e30 - 1.0).abs() < 1e-6);
}

#[test]
fn argmax_and_argmin_find_the_first_extreme() {
    let mut rng = Rng(8);
    for (shape, axes) in REDUCED {
        for dtype in DType::ALL {
            let size: usize = shape.iter().product();
            if axes.len() > 1 || size > 20_000 || dtype == DType::Bool {
                continue;
            }
            let (target, kept) = targets(shape, axes);
            let mut data = Tensor::of(dtype, shape, LAYOUTS[rng.below(4)], |_| {
                let x = rng.below(9) as f64;
                if dtype.is_float() && x == 7.0 && rng.below(100) == 0 {
                    f64::NAN
                } else {
                    x
                }
            });
            for (name, sign) in [("argmax", 1.0), ("argmin", -1.0)] {
                let mut out = Tensor::of(DType::F32, &kept, Layout::Plain, |_| 5.0);
                let result = run(
                    name,
                    &attrs(axes, true),
                    &mut [&mut data],
                    &mut out,
                    Req::Add,
                );
                let mut groups = vec![Vec::new(); out.len()];
                target
                    .iter()
                    .enumerate()
                    .for_each(|(i, &t)| groups[t].push(sign * data.get(i)));
                if groups.iter().any(Vec::is_empty) {
                    assert!(result.unwrap_err().to_string().contains(name));
                    continue;
                }
                result.unwrap();
                for (i, group) in groups.iter().enumerate() {
                    let nan = group.iter().position(|x| x.is_nan());
                    let largest = group.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    let first = group.iter().position(|&x| x == largest);
                    let want = nan.or(first).unwrap() as f64;
                    assert_eq!(
                        out.get(i),
                        5.0 + want,
                        "{name} {dtype} {shape:?} {axes:?} at {i}"
                    );
                }
            }
        }
    }
}

#[test]
fn gradients_spread_back() {
    let mut rng = Rng(17);
    for (shape, axes) in REDUCED {
        for dtype in [DType::F32, DType::F64, DType::BF16, DType::I32] {
            for round in 0..3 {
                let (target, kept) = targets(shape, axes);
                let keep = round == 0;
                let small = if keep {
                    kept
                } else {
                    squeezed(&kept, shape, axes)
                };
                let mut grad = random(dtype, &small, LAYOUTS[rng.below(4)], &mut rng);
                let mut data = Tensor::zeros(dtype, shape, Layout::Plain);
                let mut out = random(dtype, shape, LAYOUTS[rng.below(4)], &mut rng);
                let (old, mean) = (out.values(), round == 2);
                let req = [Req::Write, Req::Add, Req::Write][round];
                let mut rows = vec![("mean".to_owned(), Value::Bool(mean))];
                rows.push((
                    "axis".to_owned(),
                    attrs(axes, keep).get("axis").unwrap().clone(),
                ));
                let a = Attrs::new(rows);
                run(
                    "_broadcast_back",
                    &a,
                    &mut [&mut grad, &mut data],
                    &mut out,
                    req,
                )
                .unwrap();
                let count = target.len() as f64 / grad.len().max(1) as f64;
                for (i, &t) in target.iter().enumerate() {
                    let share = grad.get(t) / if mean { count } else { 1.0 };
                    let share = if dtype == DType::I32 {
                        share.trunc()
                    } else {
                        share
                    };
                    let want = after(req, dtype, old[i], share);
                    assert_close(dtype, out.get(i), want, 1.0, 0.0, "spread");
                }
            }
        }
    }
}

#[test]
fn sums_like_undo_broadcasting() {
    let cases: [(&[usize], &[usize]); 7] = [
        (&[2, 3, 4], &[4]),
        (&[2, 3, 4], &[3, 1]),
        (&[2, 3, 4], &[2, 1, 4]),
        (&[2, 3, 4], &[]),
        (&[2, 3, 4], &[2, 3, 4]),
        (&[2, 3, 4], &[1, 1, 1]),
        (&[600, 5, 30], &[5, 1]),
    ];
    let mut rng = Rng(4);
    for (shape, like) in cases {
        let mut data = Tensor::of(DType::F32, shape, LAYOUTS[rng.below(4)], |_| {
            rng.below(5) as f64
        });
        let mut other = Tensor::zeros(DType::F32, like, Layout::Plain);
        let mut out = Tensor::zeros(DType::F32, like, Layout::Plain);
        let inputs = &mut [&mut data, &mut other];
        run("_sum_like", &Attrs::default(), inputs, &mut out, Req::Write).unwrap();
        let place = Tensor::of(DType::F32, like, Layout::Plain, |i| i as f64);
        let mut want = vec![0.0; out.len()];
        for i in 0..data.len() {
            want[place.broadcast_get(shape, i) as usize] += data.get(i);
        }
        assert_eq!(out.values(), want);
    }
}
