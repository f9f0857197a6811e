//! `FullyConnected` and `dot` against nested loops.

mod nn_support;

use ferromix_base::DType;
use ferromix_kernels::{Attrs, Desc, Value};
use nn_support::*;

/// `sum_k a(i, k) b(k, j)`.
fn product(
    m: usize,
    n: usize,
    k: usize,
    a: impl Fn(usize, usize) -> f64,
    b: impl Fn(usize, usize) -> f64,
) -> Vec<f64> {
    (0..m * n)
        .map(|i| (0..k).map(|p| a(i / n, p) * b(p, i % n)).sum())
        .collect()
}

fn attrs(hidden: usize, bias: bool, flatten: bool) -> Attrs {
    Attrs::from([
        ("num_hidden", Value::Int(hidden as i64)),
        ("no_bias", Value::Bool(!bias)),
        ("flatten", Value::Bool(flatten)),
    ])
}

#[test]
fn fully_connected_agrees_with_its_definition() {
    for (shape, flatten) in [
        (vec![3, 4, 5], true),
        (vec![3, 4, 5], false),
        (vec![1, 1], true),
        (vec![7], false),
        (vec![0, 6], true),
        (vec![64, 100], true),
        (vec![2, 300], true),
        (vec![50, 256], true),
    ] {
        for hidden in [1, 10, 33, 256] {
            let cut = if flatten { 1 } else { shape.len() - 1 };
            let (rows, width) = (shape[..cut].iter().product(), shape[cut..].iter().product());
            let out: Vec<usize> = shape[..cut].iter().copied().chain([hidden]).collect();
            let (x, w) = (Tensor::noise(&shape, 1), Tensor::noise(&[hidden, width], 2));
            let (b, g) = (Tensor::noise(&[hidden], 3), Tensor::noise(&out, 4));
            let y = product(
                rows,
                hidden,
                width,
                |i, k| x.data[i * width + k],
                |k, j| w.data[j * width + k],
            );
            let shifted: Vec<f64> = y
                .iter()
                .enumerate()
                .map(|(i, v)| v + b.data[i % hidden])
                .collect();
            let dx = product(
                rows,
                width,
                hidden,
                |i, k| g.data[i * hidden + k],
                |k, j| w.data[k * width + j],
            );
            let dw = product(
                hidden,
                width,
                rows,
                |i, k| g.data[k * hidden + i],
                |k, j| x.data[k * width + j],
            );
            let db = product(1, hidden, rows, |_, _| 1.0, |k, j| g.data[k * hidden + j]);
            let three = [x.clone(), w.clone(), b];
            let want = [
                Tensor::of(&shape, &dx),
                Tensor::of(&[hidden, width], &dw),
                Tensor::of(&[hidden], &db),
            ];
            let (with, without) = (attrs(hidden, true, flatten), attrs(hidden, false, flatten));
            check_all(
                "FullyConnected",
                &with,
                &three,
                &[Tensor::of(&out, &shifted)],
                &REALS,
                &[],
            );
            check_all(
                "FullyConnected",
                &without,
                &three[..2],
                &[Tensor::of(&out, &y)],
                &REALS,
                &[],
            );
            let back = [g, x, w];
            check_all("_backward_FullyConnected", &with, &back, &want, &REALS, &[]);
            check_all(
                "_backward_FullyConnected",
                &without,
                &back,
                &want[..2],
                &REALS,
                &[],
            );
        }
    }
}

#[test]
fn dot_contracts_the_axes_that_the_flags_name() {
    for (a, b, out) in [
        (vec![2, 3], vec![3, 4], vec![2, 4]),
        (vec![3], vec![3], vec![1]),
        (vec![2, 3, 4], vec![4, 5, 6], vec![2, 3, 5, 6]),
        (vec![0, 3], vec![3, 2], vec![0, 2]),
        (vec![2, 0], vec![0, 3], vec![2, 3]),
        (vec![70, 65], vec![65, 40], vec![70, 40]),
    ] {
        let k = *a.last().unwrap();
        let (m, n): (usize, usize) = (a[..a.len() - 1].iter().product(), b[1..].iter().product());
        let (x, y) = (Tensor::noise(&a, 1), Tensor::noise(&b, 2));
        let want = Tensor::of(
            &out,
            &product(m, n, k, |i, p| x.data[i * k + p], |p, j| y.data[p * n + j]),
        );
        for flags in 0..4 {
            let (ta, tb) = (flags & 1 == 1, flags & 2 == 2);
            let mut inputs = [x.clone(), y.clone()];
            if ta {
                let data: Vec<f64> = (0..m * k).map(|i| x.data[i % m * k + i / m]).collect();
                let shape: Vec<usize> = [k]
                    .into_iter()
                    .chain(a[..a.len() - 1].iter().copied())
                    .collect();
                inputs[0] = Tensor::of(&shape, &data);
            }
            if tb {
                let data: Vec<f64> = (0..n * k).map(|i| y.data[i % k * n + i / k]).collect();
                let shape: Vec<usize> = b[1..].iter().copied().chain([k]).collect();
                inputs[1] = Tensor::of(&shape, &data);
            }
            let attrs = Attrs::from([
                ("transpose_a", Value::Bool(ta)),
                ("transpose_b", Value::Bool(tb)),
            ]);
            check_all(
                "dot",
                &attrs,
                &inputs,
                std::slice::from_ref(&want),
                &REALS,
                &[],
            );
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    let (x, w, b) = (
        Tensor::noise(&[64, 800], 1),
        Tensor::noise(&[500, 800], 2),
        Tensor::noise(&[500], 3),
    );
    let g = Tensor::noise(&[64, 500], 4);
    let a = attrs(500, true, true);
    check_threads(
        DType::F32,
        "FullyConnected",
        &a,
        &[x.clone(), w.clone(), b],
        &[&[64, 500]],
    );
    check_threads(
        DType::F32,
        "_backward_FullyConnected",
        &a,
        &[g, x, w],
        &[&[64, 800], &[500, 800], &[500]],
    );
}

#[test]
fn misfits_are_explained() {
    let d = |s: &[usize]| Desc::new(s, DType::F32);
    let e = prepare_error(
        "FullyConnected",
        &attrs(4, false, true),
        &[d(&[2, 3]), d(&[4, 5])],
        &[d(&[2, 4])],
    );
    assert!(
        e.contains("weight") && e.contains("[4, 3]") && e.contains("[4, 5]"),
        "{e}"
    );
    let plain = Attrs::from([
        ("transpose_a", Value::Bool(false)),
        ("transpose_b", Value::Bool(false)),
    ]);
    let e = prepare_error("dot", &plain, &[d(&[2, 3]), d(&[4, 5])], &[d(&[2, 5])]);
    assert!(
        e.contains("dot") && e.contains("[2, 3]") && e.contains("[4, 5]"),
        "{e}"
    );
    let half = Desc::new(&[2, 3], DType::F16);
    let e = prepare_error("dot", &plain, &[half.clone(), half.clone()], &[half]);
    assert!(e.contains("[2, 3]") || e.contains("float16"), "{e}");
    let mixed = [d(&[2, 3]), Desc::new(&[3, 2], DType::F64)];
    let e = prepare_error("dot", &plain, &mixed, &[d(&[2, 2])]);
    assert!(e.contains("float32") && e.contains("float64"), "{e}");
}
