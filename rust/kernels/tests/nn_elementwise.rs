//! Activations, LeakyReLU and its relatives, and Dropout.

mod nn_support;

use ferromix_base::DType;
use ferromix_kernels::{Attrs, Req, Value};
use nn_support::*;

fn activation(kind: &str, x: f64) -> f64 {
    match kind {
        "relu" => x.max(0.0),
        "sigmoid" => 1.0 / (1.0 + (-x).exp()),
        "tanh" => x.tanh(),
        "softrelu" => x.exp().ln_1p(),
        _ => x / (1.0 + x.abs()),
    }
}

const KINDS: [&str; 5] = ["relu", "sigmoid", "tanh", "softrelu", "softsign"];

#[test]
fn activations_agree_with_their_formulas() {
    for shape in [vec![], vec![0], vec![3, 5], vec![40_003]] {
        for kind in KINDS {
            let attrs = Attrs::from([("act_type", word(kind))]);
            let x = Tensor::noise(&shape, 1);
            let y = x.map(|x| activation(kind, x));
            check_all("Activation", &attrs, &[x], &[y], &FLOATS, &[(0, 0)]);
        }
    }
}

#[test]
fn activation_gradients_agree_with_finite_differences() {
    for kind in KINDS {
        let attrs = Attrs::from([("act_type", word(kind))]);
        let x = Tensor::noise(&[3, 7], 1).map(|x| x + 1e-3);
        let head = Tensor::noise(&[3, 7], 2);
        let forward = |x: &[Tensor]| run("Activation", &attrs, x, &[&[3, 7]]).remove(0);
        let y = forward(std::slice::from_ref(&x));
        // The gradient of softsign is computed from the input.
        let known = if kind == "softsign" { x.clone() } else { y };
        let inputs = [head.clone(), known];
        let d = run("_backward_Activation", &attrs, &inputs, &[&[3, 7]]).remove(0);
        check_gradient(forward, &[x], &head, &[(0, &d)], kind);
        check_all(
            "_backward_Activation",
            &attrs,
            &inputs,
            &[d],
            &REALS,
            &[(0, 0), (0, 1)],
        );
    }
}

#[test]
fn extreme_values_stay_sane() {
    let x = Tensor::of(&[5], &[-1e30, -30.0, 25.0, 1e30, f64::NAN]);
    let get = |kind: &str, dtype| {
        let attrs = Attrs::from([("act_type", word(kind))]);
        let setup = Setup {
            dtype,
            ..Setup::write(1)
        };
        run_with(
            &setup,
            "Activation",
            &attrs,
            std::slice::from_ref(&x),
            std::slice::from_ref(&x),
        )
        .remove(0)
        .data
    };
    for dtype in REALS {
        for kind in KINDS {
            let y = get(kind, dtype);
            assert!(
                y[..4].iter().all(|v| v.is_finite()) && y[4].is_nan(),
                "{kind} {y:?}"
            );
        }
        assert_eq!(get("softrelu", dtype)[2], 25.0);
        assert_eq!(get("sigmoid", dtype)[3], 1.0);
        assert_eq!(get("tanh", dtype)[..1], [-1.0]);
    }
}

fn leaky(kind: &str, slope: f64) -> Attrs {
    Attrs::from([("act_type", word(kind)), ("slope", Value::Float(slope))])
}

#[test]
fn leaky_units_agree_with_their_formulas() {
    let x = Tensor::noise(&[5, 301], 1);
    let (alpha, lambda) = (1.673_263_242_354_377_2, 1.050_700_987_355_480_5);
    for (kind, f) in [
        (
            "leaky",
            Box::new(|x: f64| if x > 0.0 { x } else { 0.3 * x }) as Box<dyn Fn(f64) -> f64>,
        ),
        (
            "elu",
            Box::new(|x: f64| if x > 0.0 { x } else { 0.3 * x.exp_m1() }),
        ),
        (
            "selu",
            Box::new(move |x: f64| lambda * if x > 0.0 { x } else { alpha * x.exp_m1() }),
        ),
    ] {
        check_all(
            "LeakyReLU",
            &leaky(kind, 0.3),
            std::slice::from_ref(&x),
            &[x.map(f)],
            &FLOATS,
            &[(0, 0)],
        );
    }
    // Values that MXNet 1.9.1 prints.
    let x = Tensor::of(&[4], &[-30.0, -1.0, 1.0, 25.0]);
    let y = Tensor::of(
        &[4],
        &[0.0, -0.158_655_253_931_457, 0.841_344_746_068_543, 25.0],
    );
    check_all(
        "LeakyReLU",
        &leaky("gelu", 0.25),
        &[x],
        &[y],
        &FLOATS,
        &[(0, 0)],
    );
}

#[test]
fn learned_slopes_follow_the_channels() {
    for (shape, slopes) in [
        (vec![2, 3, 4], 3),
        (vec![2, 3, 4], 1),
        (vec![4, 3], 3),
        (vec![5], 5),
        (vec![2, 3, 700], 3),
        (vec![0, 3, 2], 3),
        (vec![2, 1], 1),
    ] {
        let (x, g) = (Tensor::noise(&shape, 1), Tensor::noise(&[slopes], 2));
        let head = Tensor::noise(&shape, 3);
        let axis = usize::from(shape.len() > 1);
        let inner: usize = shape[axis + 1..].iter().product();
        let slope = |i: usize| if slopes == 1 { 0 } else { i / inner % slopes };
        let (mut y, mut dx) = (x.clone(), head.clone());
        let mut dg = Tensor::filled(&[slopes], 0.0);
        for i in (0..x.data.len()).filter(|&i| x.data[i] <= 0.0) {
            y.data[i] *= g.data[slope(i)];
            dx.data[i] *= g.data[slope(i)];
            dg.data[slope(i)] += head.data[i] * x.data[i];
        }
        let attrs = leaky("prelu", 0.25);
        check_all(
            "LeakyReLU",
            &attrs,
            &[x.clone(), g.clone()],
            &[y],
            &FLOATS,
            &[(0, 0)],
        );
        let dtypes = if x.data.len() > 1000 {
            &REALS[..]
        } else {
            &FLOATS
        };
        check_all(
            "_backward_LeakyReLU",
            &attrs,
            &[head, x, g],
            &[dx, dg],
            dtypes,
            &[(0, 0), (0, 1)],
        );
    }
}

#[test]
fn leaky_gradients_agree_with_finite_differences() {
    for kind in ["leaky", "elu", "selu", "gelu", "prelu"] {
        let attrs = leaky(kind, 0.3);
        let mut inputs = vec![Tensor::noise(&[3, 4, 5], 1).map(|x| x + 1e-3)];
        if kind == "prelu" {
            inputs.push(Tensor::noise(&[4], 2));
        }
        let head = Tensor::noise(&[3, 4, 5], 3);
        let forward = |x: &[Tensor]| run("LeakyReLU", &attrs, x, &[&[3, 4, 5]]).remove(0);
        let mut back = vec![head.clone()];
        back.extend(inputs.clone());
        let shapes: Vec<&[usize]> = inputs.iter().map(|t| &t.shape[..]).collect();
        let got = run("_backward_LeakyReLU", &attrs, &back, &shapes);
        let gradients: Vec<_> = got.iter().enumerate().collect();
        check_gradient(forward, &inputs, &head, &gradients, kind);
        check_all(
            "_backward_LeakyReLU",
            &attrs,
            &back,
            &got,
            &REALS,
            &[(0, 0)],
        );
    }
}

fn dropout(p: f64, mode: &str, axes: &[usize], train: bool) -> Attrs {
    Attrs::from([
        ("p", Value::Float(p)),
        ("mode", word(mode)),
        ("axes", ints(axes)),
        ("__is_train__", Value::Bool(train)),
    ])
}

#[test]
fn dropout_scales_what_it_keeps() {
    let shape = [100, 400];
    let x = Tensor::noise(&shape, 1).map(|x| x + 3.0);
    for (p, factor) in [(0.5, 2.0), (0.25, 4.0 / 3.0), (0.0, 1.0), (1.0, 0.0)] {
        let got = run(
            "Dropout",
            &dropout(p, "training", &[], true),
            std::slice::from_ref(&x),
            &[&shape, &shape],
        );
        let kept = got[1].data.iter().filter(|&&m| m != 0.0).count() as f64 / 40_000.0;
        assert!((kept - (1.0 - p)).abs() < 0.01, "{p} {kept}");
        for i in 0..x.data.len() {
            assert!(got[1].data[i] == 0.0 || (got[1].data[i] - factor).abs() < 1e-15);
            assert_eq!(got[0].data[i], x.data[i] * got[1].data[i]);
        }
        let attrs = dropout(p, "training", &[], true);
        check_all(
            "Dropout",
            &attrs,
            std::slice::from_ref(&x),
            &got,
            &FLOATS,
            &[(0, 0)],
        );
    }
}

#[test]
fn dropout_passes_everything_outside_training() {
    let x = Tensor::noise(&[6, 7], 1);
    let ones = Tensor::filled(&[6, 7], 1.0);
    check_all(
        "Dropout",
        &dropout(0.5, "training", &[], false),
        std::slice::from_ref(&x),
        &[x.clone(), ones],
        &FLOATS,
        &[(0, 0)],
    );
    let got = run(
        "Dropout",
        &dropout(0.5, "always", &[], false),
        &[x],
        &[&[6, 7], &[6, 7]],
    );
    assert!(got[1].data.contains(&0.0) && got[1].data.contains(&2.0));
}

#[test]
fn axes_share_their_factors() {
    let x = Tensor::noise(&[6, 5, 4], 1).map(|x| x + 3.0);
    let attrs = dropout(0.5, "training", &[0, 2], true);
    let got = run(
        "Dropout",
        &attrs,
        std::slice::from_ref(&x),
        &[&[6, 5, 4], &[1, 5, 1]],
    );
    for i in 0..x.data.len() {
        assert_eq!(got[0].data[i], x.data[i] * got[1].data[i / 4 % 5]);
    }
    check_all("Dropout", &attrs, &[x], &got, &FLOATS, &[(0, 0)]);
}

#[test]
fn bits_do_not_depend_on_threads() {
    let x = Tensor::noise(&[7, 40_000], 1);
    let head = Tensor::noise(&[7, 40_000], 2);
    for kind in KINDS {
        let attrs = Attrs::from([("act_type", word(kind))]);
        check_threads(
            DType::F32,
            "Activation",
            &attrs,
            std::slice::from_ref(&x),
            &[&x.shape],
        );
        check_threads(
            DType::F32,
            "_backward_Activation",
            &attrs,
            &[head.clone(), x.clone()],
            &[&x.shape],
        );
    }
    let slopes = Tensor::noise(&[40_000], 3);
    check_threads(
        DType::F32,
        "_backward_LeakyReLU",
        &leaky("prelu", 0.1),
        &[head, x.clone(), slopes],
        &[&x.shape, &[40_000]],
    );
    check_threads(
        DType::F32,
        "Dropout",
        &dropout(0.3, "training", &[], true),
        std::slice::from_ref(&x),
        &[&x.shape, &x.shape],
    );
}

#[test]
fn nothing_is_written_without_a_request() {
    let x = Tensor::noise(&[8], 1);
    let setup = Setup {
        reqs: vec![Req::Null],
        ..Setup::write(1)
    };
    let attrs = Attrs::from([("act_type", word("relu"))]);
    let got = run_with(
        &setup,
        "Activation",
        &attrs,
        std::slice::from_ref(&x),
        std::slice::from_ref(&x),
    );
    assert_eq!(got[0], x);
}
