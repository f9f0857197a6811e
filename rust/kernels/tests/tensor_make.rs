//! Constants, ranges, random tensors and optimizers.

#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

mod tensor_support;
use ferromix_base::DType;
use ferromix_kernels::random::Stream;
use ferromix_kernels::{Attrs, Req, Value, View};
use tensor_support::*;

#[test]
fn constants_and_ranges() {
    for dtype in DType::ALL {
        for layout in LAYOUTS {
            let mut out = Tensor::zeros(dtype, &[3, 4], layout);
            let attrs = Attrs::from([("value", number(2.7))]);
            run("_full", &attrs, &mut [], &mut out, Req::Write).unwrap();
            run("_full", &attrs, &mut [], &mut out, Req::Add).unwrap();
            let want = [2.0 * rounded(dtype, 2.7), 1.0][usize::from(dtype == DType::Bool)];
            assert_eq!(out.values(), [want; 12]);
        }
        if dtype == DType::Bool {
            continue;
        }
        let mut out = Tensor::zeros(dtype, &[8], Layout::Plain);
        let attrs = Attrs::from([
            ("start", number(0.0)),
            ("step", number(1.5)),
            ("repeat", Value::Int(2)),
        ]);
        run("_arange", &attrs, &mut [], &mut out, Req::Write).unwrap();
        let want: Vec<f64> = (0..8)
            .map(|i| rounded(dtype, f64::from(i / 2) * 1.5))
            .collect();
        assert_eq!(out.values(), want);
        run("_arange", &attrs, &mut [], &mut out, Req::Add).unwrap();
        assert_eq!(
            out.values(),
            want.iter().map(|x| 2.0 * x).collect::<Vec<_>>()
        );
    }
    let mut long = Tensor::zeros(DType::I32, &[200_000], Layout::Plain);
    let attrs = Attrs::from([
        ("start", number(-5.0)),
        ("step", number(3.0)),
        ("repeat", Value::Int(1)),
    ]);
    run("_arange", &attrs, &mut [], &mut long, Req::Write).unwrap();
    assert!((0..200_000).all(|i| long.get(i) == 3.0 * i as f64 - 5.0));
}

fn draw(name: &str, dtype: DType, n: usize, a: f64, b: f64, number_of_run: u64) -> Tensor {
    let names = if name == "_random_uniform" {
        ["low", "high"]
    } else {
        ["loc", "scale"]
    };
    let attrs = Attrs::from([(names[0], number(a)), (names[1], number(b))]);
    let mut out = Tensor::zeros(dtype, &[n], Layout::Plain);
    let stream = Stream {
        seed: 42,
        number: number_of_run,
    };
    run_views(
        name,
        &attrs,
        &[],
        &mut [out.view()],
        &[Req::Write],
        Some(stream),
    )
    .unwrap();
    out
}

fn moments(x: &[f64]) -> (f64, f64) {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    (
        mean,
        (x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n).sqrt(),
    )
}

#[test]
fn uniform_numbers_follow_the_documented_layout() {
    let stream = Stream {
        seed: 42,
        number: 3,
    };
    let x = draw("_random_uniform", DType::F32, 10_000, 0.0, 1.0, 3);
    let y = draw("_random_uniform", DType::F64, 10_000, 0.0, 1.0, 3);
    for i in 0..10_000 {
        let word = stream.block(i as u64 / 4)[i % 4];
        assert_eq!(x.get(i), f64::from(word >> 8) / f64::from(1 << 24));
        let block = stream.block(i as u64 / 2);
        let (high, low) = (block[2 * (i % 2)], block[2 * (i % 2) + 1]);
        let bits = (u64::from(high) << 21) + u64::from(low >> 11);
        assert_eq!(y.get(i), bits as f64 * 2f64.powi(-53));
    }
    let again = draw("_random_uniform", DType::F32, 5_000, 0.0, 1.0, 3);
    assert_eq!(again.values()[..], x.values()[..5_000]);
    let other = draw("_random_uniform", DType::F32, 5_000, 0.0, 1.0, 4);
    assert_ne!(again.values(), other.values());
}

#[test]
fn random_numbers_have_their_range_and_moments() {
    let n = 100_000;
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        let x = draw("_random_uniform", dtype, n, -2.0, 6.0, 0).values();
        assert!(x.iter().all(|&x| (-2.0..6.0).contains(&x)), "{dtype}");
        let (mean, deviation) = moments(&x);
        assert!((mean - 2.0).abs() < 0.03 && (deviation - 8.0 / 12f64.sqrt()).abs() < 0.03);
        let x = draw("_random_normal", dtype, n, 3.0, 2.0, 0).values();
        let (mean, deviation) = moments(&x);
        assert!(
            (mean - 3.0).abs() < 0.03 && (deviation - 2.0).abs() < 0.03,
            "{mean} {deviation}"
        );
        let far = x.iter().filter(|&x| (x - 3.0).abs() > 4.0).count() as f64 / n as f64;
        assert!((far - 0.0455).abs() < 0.004, "{dtype} {far}");
        // Neighbours, which share a pair, are uncorrelated.
        let product = x
            .chunks(2)
            .map(|p| (p[0] - 3.0) * (p[1] - 3.0))
            .sum::<f64>()
            / n as f64;
        assert!(product.abs() < 0.05);
    }
}

#[test]
fn bounds_that_make_no_sense_are_errors() {
    let stream = Some(Stream { seed: 1, number: 1 });
    let mut out = Tensor::zeros(DType::F32, &[4], Layout::Plain);
    let attrs = Attrs::from([("low", number(2.0)), ("high", number(1.0))]);
    assert!(
        run_views(
            "_random_uniform",
            &attrs,
            &[],
            &mut [out.view()],
            &[Req::Write],
            stream
        )
        .is_err()
    );
    let mut out = Tensor::zeros(DType::I32, &[4], Layout::Plain);
    let attrs = Attrs::from([("loc", number(0.0)), ("scale", number(1.0))]);
    let e = run_views(
        "_random_normal",
        &attrs,
        &[],
        &mut [out.view()],
        &[Req::Write],
        stream,
    )
    .unwrap_err();
    assert!(e.to_string().contains("int32") && e.to_string().contains("float32"));
}

/// (operator, momentum or beta1, clip) with what MXNet documents, in `f64`.
fn reference(op: &str, clip: f64, [w, g, m, v]: [f64; 4]) -> [f64; 3] {
    let (lr, wd, rescale, beta1, beta2, epsilon) = (0.1, 0.05, 0.7, 0.9, 0.99, 1e-3);
    let clipped = |x: f64| if clip >= 0.0 { x.clamp(-clip, clip) } else { x };
    match op {
        "sgd_update" => [w - lr * (clipped(rescale * g) + wd * w), m, v],
        "sgd_mom_update" => {
            let m = beta1 * m - lr * (clipped(rescale * g) + wd * w);
            [w + m, m, v]
        }
        _ => {
            let g = clipped(rescale * g + wd * w);
            let m = beta1 * m + (1.0 - beta1) * g;
            let v = beta2 * v + (1.0 - beta2) * g * g;
            [w - lr * m / (v.sqrt() + epsilon), m, v]
        }
    }
}

fn attrs(clip: Value) -> Attrs {
    Attrs::from([
        ("lr", number(0.1)),
        ("wd", number(0.05)),
        ("rescale_grad", number(0.7)),
        ("clip_gradient", clip),
        ("momentum", number(0.9)),
        ("beta1", number(0.9)),
        ("beta2", number(0.99)),
        ("epsilon", number(1e-3)),
    ])
}

#[test]
fn optimizers_follow_their_formulas_in_place_and_apart() {
    let mut rng = Rng(6);
    for op in ["sgd_update", "sgd_mom_update", "adam_update"] {
        let states = ["sgd_update", "sgd_mom_update", "adam_update"]
            .iter()
            .position(|o| *o == op)
            .unwrap();
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            for (clip, value) in [
                (-1.0, Value::None),
                (-1.0, number(-1.0)),
                (0.0, number(0.0)),
                (1.0, number(1.0)),
            ] {
                for (n, apart) in [(0, false), (1, true), (1000, false), (70_000, true)] {
                    let mut t: Vec<Tensor> = (0..states + 2)
                        .map(|_| random(dtype, &[n], Layout::Plain, &mut rng))
                        .collect();
                    if states == 2 {
                        t[3] = Tensor::of(dtype, &[n], Layout::Plain, |_| 0.5 + rng.unit());
                    }
                    let given: Vec<Vec<f64>> = t.iter().map(Tensor::values).collect();
                    let mut fresh = Tensor::zeros(dtype, &[n], Layout::Plain);
                    let inputs: Vec<View> = t.iter_mut().map(Tensor::view).collect();
                    let mut outputs = vec![if apart {
                        fresh.view()
                    } else {
                        inputs[0].clone()
                    }];
                    outputs.extend(inputs[2..].iter().cloned());
                    let mut reqs = vec![Req::Inplace; states + 1];
                    reqs[0] = if apart { Req::Write } else { Req::Inplace };
                    run_views(
                        op,
                        &attrs(value.clone()),
                        &inputs,
                        &mut outputs,
                        &reqs,
                        None,
                    )
                    .unwrap();
                    for i in 0..n {
                        let x = std::array::from_fn(|j| given.get(j).map_or(0.0, |g| g[i]));
                        let want = reference(op, clip, x);
                        let w = if apart { fresh.get(i) } else { t[0].get(i) };
                        assert_close(dtype, w, want[0], 4.0, 4.0, op);
                        for s in 0..states {
                            assert_close(dtype, t[2 + s].get(i), want[1 + s], 4.0, 1.0, op);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn optimizers_honour_null_and_refuse_integers() {
    let mut t: Vec<Tensor> = (0..3)
        .map(|i| Tensor::of(DType::F32, &[5], Layout::Plain, |_| f64::from(i) + 1.0))
        .collect();
    let inputs: Vec<View> = t.iter_mut().map(Tensor::view).collect();
    let mut outputs = [inputs[0].clone(), inputs[2].clone()];
    let reqs = [Req::Add, Req::Null];
    run_views(
        "sgd_mom_update",
        &attrs(Value::None),
        &inputs,
        &mut outputs,
        &reqs,
        None,
    )
    .unwrap();
    let want = 1.0 + reference("sgd_mom_update", -1.0, [1.0, 2.0, 3.0, 0.0])[0];
    assert!((t[0].get(0) - want).abs() < 1e-6);
    assert_eq!(t[2].values(), [3.0; 5]);
    let mut a = Tensor::zeros(DType::I32, &[2], Layout::Plain);
    let mut b = a.clone();
    let mut out = a.clone();
    let e = run(
        "sgd_update",
        &attrs(Value::None),
        &mut [&mut a, &mut b],
        &mut out,
        Req::Write,
    )
    .unwrap_err();
    assert!(e.to_string().contains("sgd_update") && e.to_string().contains("int32"));
}
