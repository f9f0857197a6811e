//! `softmax`, `log_softmax` and `SoftmaxOutput`.

mod nn_support;

use ferromix_base::DType;
use ferromix_kernels::{Attrs, Desc, Value};
use nn_support::*;

fn along(shape: &[usize], axis: usize) -> [usize; 3] {
    [
        shape[..axis].iter().product(),
        shape[axis],
        shape[axis + 1..].iter().product(),
    ]
}

fn softmax(x: &Tensor, [outer, k, inner]: [usize; 3], t: f64, log: bool) -> Tensor {
    let mut y = x.clone();
    for o in 0..outer {
        for i in 0..inner {
            let at = |j: usize| (o * k + j) * inner + i;
            let top = (0..k).map(|j| x.data[at(j)]).fold(f64::MIN, f64::max);
            let sum: f64 = (0..k).map(|j| ((x.data[at(j)] - top) / t).exp()).sum();
            for j in 0..k {
                let z = (x.data[at(j)] - top) / t;
                y.data[at(j)] = if log { z - sum.ln() } else { z.exp() / sum };
            }
        }
    }
    y
}

fn attrs(axis: i64, t: f64) -> Attrs {
    Attrs::from([("axis", Value::Int(axis)), ("temperature", Value::Float(t))])
}

#[test]
fn every_axis_agrees_with_the_definition() {
    for shape in [
        vec![3, 4, 5],
        vec![7],
        vec![2, 1],
        vec![2, 0],
        vec![0, 3],
        vec![2, 3, 130],
        vec![3, 1000],
        vec![4, 70, 3],
    ] {
        for axis in 0..shape.len() {
            for t in [1.0, 2.5] {
                let x = Tensor::noise(&shape, 1);
                let l = along(&shape, axis);
                for (name, log) in [("softmax", false), ("log_softmax", true)] {
                    let y = softmax(&x, l, t, log);
                    let a = attrs(axis as i64 - shape.len() as i64, t);
                    check_all(name, &a, std::slice::from_ref(&x), &[y], &FLOATS, &[(0, 0)]);
                }
            }
        }
    }
}

#[test]
fn gradients_agree_with_finite_differences() {
    for shape in [vec![3, 4, 5], vec![2, 3, 80], vec![2, 50]] {
        for axis in 0..shape.len() {
            let a = attrs(axis as i64, 1.5);
            let (x, head) = (Tensor::noise(&shape, 1), Tensor::noise(&shape, 2));
            for (name, back) in [
                ("softmax", "_backward_softmax"),
                ("log_softmax", "_backward_log_softmax"),
            ] {
                let forward = |x: &[Tensor]| run(name, &a, x, &[&shape]).remove(0);
                let inputs = [head.clone(), forward(std::slice::from_ref(&x))];
                let d = run(back, &a, &inputs, &[&shape]).remove(0);
                check_gradient(forward, std::slice::from_ref(&x), &head, &[(0, &d)], name);
                check_all(back, &a, &inputs, &[d], &REALS, &[(0, 0), (0, 1)]);
            }
        }
    }
}

#[test]
fn large_inputs_do_not_overflow() {
    let x = Tensor::of(&[1, 3], &[10_000.0, 9_999.0, -10_000.0]);
    let want = softmax(&x, [1, 3, 1], 1.0, false);
    check_all("softmax", &attrs(-1, 1.0), &[x], &[want], &REALS, &[]);
}

#[derive(Clone, Copy, Debug)]
struct Loss {
    multi: bool,
    preserve: bool,
    normalization: &'static str,
    ignore: Option<f64>,
    ignore_label: f64,
    smooth: f64,
    out_grad: bool,
}

const SCALE: f64 = 1.75;

impl Loss {
    fn attrs(&self) -> Attrs {
        Attrs::from([
            ("grad_scale", Value::Float(SCALE)),
            (
                "ignore_label",
                Value::Float(self.ignore.unwrap_or(self.ignore_label)),
            ),
            ("multi_output", Value::Bool(self.multi)),
            ("use_ignore", Value::Bool(self.ignore.is_some())),
            ("preserve_shape", Value::Bool(self.preserve)),
            ("normalization", word(self.normalization)),
            ("out_grad", Value::Bool(self.out_grad)),
            ("smooth_alpha", Value::Float(self.smooth)),
        ])
    }

    fn layout(&self, shape: &[usize]) -> [usize; 3] {
        match (self.multi, self.preserve) {
            (true, _) => along(shape, 1),
            (_, true) => along(shape, shape.len() - 1),
            _ => [shape[0], shape[1..].iter().product(), 1],
        }
    }

    /// The gradient as MXNet 1.9.1 computes it (but for its defect with `out_grad`).
    fn gradient(&self, y: &Tensor, label: &Tensor, head: &Tensor) -> Tensor {
        let mut d = y.clone();
        let [_, k, inner] = self.layout(&y.shape);
        let ignored = self.ignore.unwrap_or(self.ignore_label);
        let valid = label
            .data
            .iter()
            .filter(|&&l| l.trunc() != ignored.trunc())
            .count()
            .max(1) as f64;
        let positions = if self.multi { inner as f64 } else { 1.0 };
        let divisor = match self.normalization {
            "null" => positions,
            "batch" if self.multi => positions * label.shape[0] as f64,
            "batch" => label.data.len() as f64,
            _ => valid,
        };
        for i in 0..d.data.len() {
            if label.shape == y.shape {
                d.data[i] = (y.data[i] - label.data[i]) * SCALE;
            } else {
                let (o, j, at) = (i / inner / k, i / inner % k, i % inner);
                let l = label.data[o * inner + at].trunc();
                let smooth = if self.multi { 0.0 } else { self.smooth };
                let target = if l == j as f64 {
                    1.0 - smooth
                } else {
                    smooth / (k as f64 - 1.0)
                };
                d.data[i] = (y.data[i] - target) * SCALE / divisor;
                if self.ignore.is_some_and(|x| x.trunc() == l) {
                    d.data[i] = 0.0;
                }
            }
            if self.out_grad {
                d.data[i] *= head.data[i];
            }
        }
        d
    }
}

fn losses(multi: bool, preserve: bool) -> Vec<Loss> {
    let mut all = vec![];
    for normalization in ["null", "batch", "valid"] {
        for ignore in [None, Some(-1.0), Some(1.0)] {
            for smooth in [0.0, 0.125] {
                for out_grad in [false, true] {
                    let ignore_label = 2.0;
                    all.push(Loss {
                        multi,
                        preserve,
                        normalization,
                        ignore,
                        ignore_label,
                        smooth,
                        out_grad,
                    });
                }
            }
        }
    }
    all
}

#[test]
fn softmax_output_follows_every_attribute() {
    for (shape, labels, multi, preserve) in [
        (vec![4, 5], vec![4], false, false),
        (vec![4, 5], vec![4], false, true),
        (vec![2, 5, 3], vec![2, 3], true, false),
        (vec![2, 5, 3, 2], vec![2, 6], true, false),
        (vec![2, 3, 5], vec![2, 3], false, true),
        (vec![2, 3, 5], vec![2], false, false),
        (vec![4, 5], vec![4, 5], false, false),
        (vec![2, 5, 3], vec![2, 5, 3], true, false),
        (vec![0, 5], vec![0], false, false),
    ] {
        for loss in losses(multi, preserve) {
            let x = Tensor::noise(&shape, 1);
            let label = Tensor::noise(&labels, 2).map(|v| (v * 100.0).abs().floor() % 6.0 - 1.0);
            let head = Tensor::noise(&shape, 3);
            let a = loss.attrs();
            let y = softmax(&x, loss.layout(&shape), 1.0, false);
            check_all(
                "SoftmaxOutput",
                &a,
                &[x, label.clone()],
                std::slice::from_ref(&y),
                &REALS,
                &[(0, 0)],
            );
            let d = loss.gradient(&y, &label, &head);
            let first = usize::from(loss.out_grad);
            let inputs = [head, y, label];
            let partners: &[(usize, usize)] = if loss.out_grad {
                &[(0, 0), (0, 1)]
            } else {
                &[(0, 0)]
            };
            check_all(
                "_backward_SoftmaxOutput",
                &a,
                &inputs[1 - first..],
                &[d],
                &REALS,
                partners,
            );
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    let x = Tensor::noise(&[50, 1000], 1);
    check_threads(
        DType::F32,
        "softmax",
        &attrs(-1, 1.0),
        std::slice::from_ref(&x),
        &[&x.shape],
    );
    check_threads(
        DType::F32,
        "log_softmax",
        &attrs(0, 1.0),
        std::slice::from_ref(&x),
        &[&x.shape],
    );
    check_threads(
        DType::F32,
        "_backward_softmax",
        &attrs(0, 1.0),
        &[x.clone(), x.clone()],
        &[&x.shape],
    );
}

#[test]
fn misfits_are_explained() {
    let d = |s: &[usize]| Desc::new(s, DType::F32);
    let loss = losses(false, false)[0];
    let e = prepare_error(
        "_backward_SoftmaxOutput",
        &loss.attrs(),
        &[d(&[4, 5]), d(&[3])],
        &[d(&[4, 5])],
    );
    assert!(
        e.contains("label") && e.contains("[3]") && e.contains("4 class"),
        "{e}"
    );
    let e = prepare_error("softmax", &attrs(2, 1.0), &[d(&[4, 5])], &[d(&[4, 5])]);
    assert!(e.contains("axis 2"), "{e}");
    let int = Desc::new(&[4, 5], DType::I32);
    let e = prepare_error(
        "softmax",
        &attrs(1, 1.0),
        std::slice::from_ref(&int),
        std::slice::from_ref(&int),
    );
    assert!(e.contains("int32") && e.contains("bfloat16"), "{e}");
}
