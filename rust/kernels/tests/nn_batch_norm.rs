//! `BatchNorm` against its formulas, in every mode.

mod nn_support;

use ferromix_base::DType;
use ferromix_kernels::{Attrs, Value};
use nn_support::*;

const EPS: f64 = 1e-3;
const MOMENTUM: f64 = 0.75;

fn attrs(fix_gamma: bool, global: bool, train: bool, axis: i64) -> Attrs {
    Attrs::from([
        ("eps", Value::Float(EPS)),
        ("momentum", Value::Float(MOMENTUM)),
        ("fix_gamma", Value::Bool(fix_gamma)),
        ("use_global_stats", Value::Bool(global)),
        ("axis", Value::Int(axis)),
        ("output_mean_var", Value::Bool(true)),
        ("__is_train__", Value::Bool(train)),
    ])
}

/// Outputs of the forward pass by the formulas; `inputs` as the kernel takes them.
fn forward(inputs: &[Tensor], axis: usize, fix_gamma: bool, batch: bool) -> Vec<Tensor> {
    let [x, gamma, beta, moving_mean, moving_var] = inputs else {
        unreachable!()
    };
    let (c, inner) = (x.shape[axis], x.shape[axis + 1..].iter().product::<usize>());
    let mut out = vec![x.clone(), moving_mean.clone(), moving_var.clone()];
    for channel in 0..c {
        let members: Vec<usize> = (0..x.data.len())
            .filter(|i| i / inner % c == channel)
            .collect();
        let n = members.len().max(1) as f64;
        let (mut mean, mut var) = (moving_mean.data[channel], moving_var.data[channel]);
        if batch {
            mean = members.iter().map(|&i| x.data[i]).sum::<f64>() / n;
            var = members
                .iter()
                .map(|&i| (x.data[i] - mean).powi(2))
                .sum::<f64>()
                / n;
        }
        let inverse = 1.0 / (var + EPS).sqrt();
        let scale = if fix_gamma { 1.0 } else { gamma.data[channel] };
        for i in members {
            out[0].data[i] = (x.data[i] - mean) * inverse * scale + beta.data[channel];
        }
        out[1].data[channel] = mean;
        out[2].data[channel] = inverse;
    }
    out
}

/// The moving statistics after a backward pass with these statistics of the batch.
fn moved(inputs: &[Tensor], of_batch: &[Tensor]) -> [Tensor; 2] {
    let blend = |old: &Tensor, new: &dyn Fn(usize) -> f64| Tensor {
        shape: old.shape.clone(),
        data: (0..old.data.len())
            .map(|i| MOMENTUM * old.data[i] + (1.0 - MOMENTUM) * new(i))
            .collect(),
    };
    [
        blend(&inputs[3], &|i| of_batch[0].data[i]),
        blend(&inputs[4], &|i| of_batch[1].data[i].powi(-2) - EPS),
    ]
}

fn inputs(shape: &[usize], axis: usize) -> Vec<Tensor> {
    let c = [shape[axis]];
    vec![
        Tensor::noise(shape, 1).map(|x| x + 1.0),
        Tensor::noise(&c, 2),
        Tensor::noise(&c, 3),
        Tensor::noise(&c, 4),
        Tensor::noise(&c, 5).map(|x| x.abs() + 0.5),
    ]
}

#[test]
fn every_mode_agrees_with_the_formulas_and_finite_differences() {
    for (shape, axis) in [
        (vec![3, 2, 2], 1),
        (vec![4, 3, 5, 6], 1),
        (vec![5, 7], 1),
        (vec![2, 3, 70], -1),
        (vec![4, 3, 2], 0),
        (vec![1, 2, 1], 1),
        (vec![3, 130], 1),
        (vec![2, 3, 1100], 1),
        (vec![3, 2, 1, 1], 1),
        (vec![5, 2, 7, 7], 1),
        (vec![3, 2, 33], 1),
    ] {
        let at = if axis < 0 {
            shape.len() - 1
        } else {
            axis as usize
        };
        let ins = inputs(&shape, at);
        let c = shape[at];
        let head = Tensor::noise(&shape, 6);
        for mode in 0..8 {
            let (fix, global, train) = (mode & 1 == 1, mode & 2 == 2, mode & 4 == 4);
            let batch = train && !global;
            let a = attrs(fix, global, train, axis);
            let want = forward(&ins, at, fix, batch);
            check_all("BatchNorm", &a, &ins, &want, &REALS, &[(0, 0)]);
            let back = vec![
                head.clone(),
                ins[0].clone(),
                ins[1].clone(),
                want[1].clone(),
                want[2].clone(),
                ins[3].clone(),
                ins[4].clone(),
            ];
            let pure = "_batch_norm_gradient";
            let mut got = run(pure, &a, &back[..5], &[&shape, &[c], &[c]]);
            let gradients: &[(usize, &Tensor)] = &[(0, &got[0]), (1, &got[1]), (2, &got[2])];
            check_gradient(
                |x| forward(x, at, fix, batch).remove(0),
                &ins,
                &head,
                gradients,
                &format!("{a:?}"),
            );
            let partners = [(0, 0), (0, 1)];
            check_all(pure, &a, &back[..5], &got, &[DType::F64], &partners);
            if batch {
                got.extend(moved(&ins, &want[1..]));
                let partners = [(0, 0), (0, 1), (3, 5), (4, 6)];
                check_all("_backward_BatchNorm", &a, &back, &got, &REALS, &partners);
                check_relu(&a, &ins, &back, &want[0]);
            }
        }
    }
}

/// The gradient behind a relu is that of the part of it that passes; `out` is the normalised data.
fn check_relu(a: &Attrs, ins: &[Tensor], back: &[Tensor], out: &Tensor) {
    let mut masked = back.to_vec();
    for (g, &y) in masked[0].data.iter_mut().zip(&out.data) {
        *g *= f64::from(u8::from(y > 0.0));
    }
    let c = ins[1].shape.clone();
    let shapes: &[&[usize]] = &[&ins[0].shape, &c, &c];
    let mut want = run("_batch_norm_gradient", a, &masked[..5], shapes);
    want.extend(moved(ins, &back[3..5]));
    let mut given = back.to_vec();
    given.insert(5, ins[2].clone());
    let partners = [(0, 0), (0, 1), (3, 6), (4, 7)];
    let name = "_backward_batch_norm_relu";
    check_all(name, a, &given, &want, &[DType::F64], &partners);
}

#[test]
fn empty_batches_pass() {
    let ins = inputs(&[0, 3, 2], 1);
    let c: &[usize] = &[3];
    let got = run(
        "BatchNorm",
        &attrs(false, false, true, 1),
        &ins,
        &[&[0, 3, 2], c, c],
    );
    assert!(got[0].data.is_empty() && got[1].data.iter().all(|m| *m == 0.0));
    let empty = Tensor::noise(&[2, 3, 0], 1);
    let back = [
        &empty, &empty, &ins[1], &ins[3], &ins[4], &ins[2], &ins[3], &ins[4],
    ];
    let a = attrs(false, false, true, 1);
    let shapes: &[&[usize]] = &[&[2, 3, 0], c, c, c, c];
    let got = run(
        "_backward_batch_norm_relu",
        &a,
        &back.map(Clone::clone),
        shapes,
    );
    assert_eq!((&got[1].data, &got[2].data), (&vec![0.0; 3], &vec![0.0; 3]));
}

#[test]
fn variance_is_accurate_far_from_zero() {
    let mut ins = inputs(&[8, 2, 1000], 1);
    ins[0] = ins[0].map(|x| x + 3000.0);
    let want = forward(&ins, 1, false, true);
    let outs: Vec<Tensor> = want.iter().map(|t| Tensor::filled(&t.shape, 0.0)).collect();
    let setup = Setup {
        dtype: DType::F32,
        ..Setup::write(3)
    };
    let got = run_with(
        &setup,
        "BatchNorm",
        &attrs(false, false, true, 1),
        &ins,
        &outs,
    );
    close(&got[2], &want[2], 1e-4, "inverse deviation");
    close(&got[0], &want[0], 1e-2, "output");
}

/// Images whose means differ by far more than the deviation of each, in blocks of whole and part planes.
#[test]
fn variance_is_accurate_where_the_mean_changes() {
    for n in [30, 1000, 5000] {
        let mut ins = inputs(&[6, 2, n], 1);
        for (i, x) in ins[0].data.iter_mut().enumerate() {
            *x = f64::from((*x * 0.01 + 100.0 * (i / (2 * n)) as f64) as f32);
        }
        let want = forward(&ins, 1, false, true);
        let outs: Vec<Tensor> = want.iter().map(|t| Tensor::filled(&t.shape, 0.0)).collect();
        let setup = Setup {
            dtype: DType::F32,
            ..Setup::write(3)
        };
        let a = attrs(false, false, true, 1);
        let got = run_with(&setup, "BatchNorm", &a, &ins, &outs);
        close(&got[1], &want[1], 1e-6, "mean");
        close(&got[2], &want[2], 1e-6, "inverse deviation");
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    for (shape, axis) in [
        (vec![8, 20, 30, 30], 1),
        (vec![700, 300], 1),
        (vec![8, 300, 7, 7], 1),
    ] {
        let ins = inputs(&shape, 1);
        let c: &[usize] = &[shape[1]];
        let a = attrs(false, false, true, axis);
        check_threads(DType::F32, "BatchNorm", &a, &ins, &[&shape, c, c]);
        let want = forward(&ins, 1, false, true);
        let mut back = vec![Tensor::noise(&shape, 6)];
        back.extend([ins[0].clone(), ins[1].clone()]);
        back.extend(want[1..].iter().chain(&ins[3..]).cloned());
        check_threads(
            DType::F32,
            "_backward_BatchNorm",
            &a,
            &back,
            &[&shape, c, c, c, c],
        );
        back.insert(5, ins[2].clone());
        let name = "_backward_batch_norm_relu";
        check_threads(DType::F32, name, &a, &back, &[&shape, c, c, c, c]);
    }
}

#[test]
fn moving_statistics_stay_in_prediction_and_what_is_no_number_shows() {
    let ins = inputs(&[4, 2, 3], 1);
    let c: &[usize] = &[2];
    let mut back = vec![Tensor::noise(&[4, 2, 3], 6), ins[0].clone(), ins[1].clone()];
    back.extend([&ins[3], &ins[4], &ins[3], &ins[4]].map(Clone::clone));
    let shapes: &[&[usize]] = &[&[4, 2, 3], c, c, c, c];
    let setup = Setup {
        alias: vec![(3, 5), (4, 6)],
        ..Setup::write(5)
    };
    let stale: Vec<Tensor> = shapes.iter().map(|s| Tensor::filled(s, 0.0)).collect();
    let predict = attrs(false, false, false, 1);
    let got = run_with(&setup, "_backward_BatchNorm", &predict, &back, &stale);
    assert_eq!((&got[3].data, &got[4].data), (&ins[3].data, &ins[4].data));
    back[3].data[1] = f64::NAN;
    back[4].data[1] = f64::NAN;
    let train = attrs(false, false, true, 1);
    let got = run("_backward_BatchNorm", &train, &back, shapes);
    for moved in &got[3..] {
        assert!(!moved.data[0].is_nan() && moved.data[1].is_nan());
    }
    // 1/sqrt(0 + eps), rounded so that the variance of it is below 0.
    back[4].data[0] = (1.0 / EPS.sqrt()) * (1.0 + 1e-15);
    let got = run("_backward_BatchNorm", &train, &back, shapes);
    assert_eq!(got[4].data[0], MOMENTUM * ins[4].data[0]);
}
