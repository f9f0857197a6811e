//! Transposition, reshaping, joining and cutting against index arithmetic.

#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

mod tensor_support;
use ferromix_base::DType;
use ferromix_kernels::{Attrs, Req, Value, View};
use tensor_support::*;

/// The index of a position of `shape` along each axis.
fn index(shape: &[usize], mut position: usize) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for a in (0..shape.len()).rev() {
        index[a] = position % shape[a];
        position /= shape[a];
    }
    index
}

fn position(shape: &[usize], index: &[usize]) -> usize {
    shape.iter().zip(index).fold(0, |p, (d, i)| p * d + i)
}

#[test]
fn transposes_of_every_type_and_layout() {
    let cases: [(&[usize], &[i64]); 14] = [
        (&[], &[]),
        (&[5], &[]),
        (&[0, 3], &[]),
        (&[3, 5], &[]),
        (&[1, 5], &[1, 0]),
        (&[64, 64], &[]),
        (&[65, 130], &[]),
        (&[2, 3, 4], &[0, 2, 1]),
        (&[2, 3, 4], &[-1, 0, 1]),
        (&[3, 40, 50], &[0, 2, 1]),
        (&[40, 3, 50], &[2, 1, 0]),
        (&[2, 3, 4, 5], &[3, 1, 0, 2]),
        (&[8, 16, 9, 9], &[0, 2, 3, 1]),
        (&[700, 300], &[1, 0]),
    ];
    let mut rng = Rng(1);
    for (shape, axes) in cases {
        for dtype in DType::ALL {
            for (round, req) in [Req::Write, Req::Add, Req::Write].into_iter().enumerate() {
                let layout = if round == 0 {
                    Layout::Plain
                } else {
                    LAYOUTS[rng.below(4)]
                };
                let mut data = random(dtype, shape, layout, &mut rng);
                let ndim = shape.len();
                let order: Vec<usize> = match axes {
                    [] => (0..ndim).rev().collect(),
                    _ => axes
                        .iter()
                        .map(|a| (a + ndim as i64) as usize % ndim)
                        .collect(),
                };
                let to: Vec<usize> = order.iter().map(|&a| shape[a]).collect();
                let layout = if round == 0 {
                    Layout::Plain
                } else {
                    LAYOUTS[rng.below(4)]
                };
                let mut out = random(dtype, &to, layout, &mut rng);
                let old = out.values();
                let attrs = Attrs::from([("axes", Value::Ints(axes.to_vec()))]);
                run("transpose", &attrs, &mut [&mut data], &mut out, req).unwrap();
                for (i, &old) in old.iter().enumerate() {
                    let at = index(&to, i);
                    let mut from = vec![0; ndim];
                    order.iter().zip(at).for_each(|(&a, x)| from[a] = x);
                    let want = after(req, dtype, old, data.get(position(shape, &from)));
                    assert_close(
                        dtype,
                        out.get(i),
                        want,
                        1.0,
                        0.0,
                        &format!("{shape:?} {axes:?}"),
                    );
                }
            }
        }
    }
    let mut a = Tensor::zeros(DType::F32, &[2, 3], Layout::Plain);
    let mut out = Tensor::zeros(DType::F32, &[3, 2], Layout::Plain);
    for axes in [vec![0, 0], vec![0], vec![0, 2], vec![0, 1]] {
        let attrs = Attrs::from([("axes", Value::Ints(axes))]);
        assert!(run("transpose", &attrs, &mut [&mut a], &mut out, Req::Write).is_err());
    }
}

#[test]
fn reshapes_keep_the_order() {
    let mut rng = Rng(2);
    for dtype in DType::ALL {
        let mut a = random(dtype, &[2, 3, 4], Layout::Plain, &mut rng);
        for req in [Req::Write, Req::Add, Req::Null] {
            let mut out = random(dtype, &[6, 4], Layout::Plain, &mut rng);
            let old = out.values();
            run("_reshape", &Attrs::default(), &mut [&mut a], &mut out, req).unwrap();
            for (i, &old) in old.iter().enumerate() {
                assert_close(
                    dtype,
                    out.get(i),
                    after(req, dtype, old, a.get(i)),
                    1.0,
                    0.0,
                    "reshape",
                );
            }
        }
        let mut wrong = Tensor::zeros(dtype, &[5], Layout::Plain);
        let none = Attrs::default();
        assert!(run("_reshape", &none, &mut [&mut a], &mut wrong, Req::Write).is_err());
    }
}

#[test]
fn joins_and_their_gradients() {
    let mut rng = Rng(3);
    for dtype in DType::ALL {
        for (axis, extents) in [
            (0, vec![2, 1, 4]),
            (1, vec![3]),
            (-1, vec![0, 5, 70]),
            (1, vec![40, 40]),
        ] {
            let mut shape = vec![3usize, 4, 5];
            let place = if axis < 0 { 2 } else { axis as usize };
            let mut parts: Vec<Tensor> = extents
                .iter()
                .map(|&n| {
                    shape[place] = n;
                    random(dtype, &shape, LAYOUTS[rng.below(4)], &mut rng)
                })
                .collect();
            shape[place] = extents.iter().sum();
            let attrs = Attrs::from([("dim", Value::Int(axis))]);
            let mut whole = random(dtype, &shape, LAYOUTS[rng.below(4)], &mut rng);
            let old = whole.values();
            let inputs: Vec<View> = parts.iter_mut().map(Tensor::view).collect();
            let req = [Req::Write, Req::Add][rng.below(2)];
            run_views("Concat", &attrs, &inputs, &mut [whole.view()], &[req], None).unwrap();
            let find = |i: usize| {
                let mut at = index(&shape, i);
                let mut part = 0;
                while at[place] >= extents[part] {
                    at[place] -= extents[part];
                    part += 1;
                }
                (part, at)
            };
            for (i, &old) in old.iter().enumerate() {
                let (part, at) = find(i);
                let x = parts[part].get(position(&parts[part].shape, &at));
                assert_close(
                    dtype,
                    whole.get(i),
                    after(req, dtype, old, x),
                    1.0,
                    0.0,
                    "Concat",
                );
            }
            let before: Vec<Tensor> = parts.clone();
            let reqs: Vec<Req> = (0..parts.len())
                .map(|i| [Req::Write, Req::Null, Req::Add][i])
                .collect();
            let mut outputs: Vec<View> = parts.iter_mut().map(Tensor::view).collect();
            run_views(
                "_backward_Concat",
                &attrs,
                &[whole.view()],
                &mut outputs,
                &reqs,
                None,
            )
            .unwrap();
            for i in 0..old.len() {
                let (part, at) = find(i);
                let p = position(&parts[part].shape, &at);
                let want = after(reqs[part], dtype, before[part].get(p), whole.get(i));
                assert_close(
                    dtype,
                    parts[part].get(p),
                    want,
                    1.0,
                    0.0,
                    "_backward_Concat",
                );
            }
        }
    }
    let mut a = Tensor::zeros(DType::F32, &[2, 3], Layout::Plain);
    let mut b = Tensor::zeros(DType::F32, &[3, 3], Layout::Plain);
    let mut out = Tensor::zeros(DType::F32, &[2, 6], Layout::Plain);
    let attrs = Attrs::from([("dim", Value::Int(1))]);
    let e = run(
        "Concat",
        &attrs,
        &mut [&mut a, &mut b],
        &mut out,
        Req::Write,
    )
    .unwrap_err();
    assert!(e.to_string().contains("[3, 3]"), "{e}");
}

#[test]
fn slices_and_their_gradients() {
    let mut rng = Rng(4);
    let cases = [
        (0, Value::Int(1), Value::Int(3), 1, 3),
        (1, Value::Int(-3), Value::None, 2, 5),
        (-1, Value::Int(0), Value::Int(-1), 0, 5),
        (2, Value::Int(2), Value::Int(2), 2, 2),
    ];
    for dtype in DType::ALL {
        for (axis, begin, end, first, last) in cases.clone() {
            let shape = [4usize, 5, 6];
            let place = if axis < 0 { 2 } else { axis as usize };
            let mut data = random(dtype, &shape, LAYOUTS[rng.below(4)], &mut rng);
            let mut cut = shape;
            cut[place] = last - first;
            let mut out = random(dtype, &cut, LAYOUTS[rng.below(4)], &mut rng);
            let attrs = Attrs::from([("axis", Value::Int(axis)), ("begin", begin), ("end", end)]);
            run("slice_axis", &attrs, &mut [&mut data], &mut out, Req::Write).unwrap();
            for i in 0..out.len() {
                let mut at = index(&cut, i);
                at[place] += first;
                assert_eq!(out.get(i), data.get(position(&shape, &at)));
            }
            for req in [Req::Write, Req::Add, Req::Null] {
                let mut grad = random(dtype, &shape, LAYOUTS[rng.below(4)], &mut rng);
                let old = grad.values();
                run(
                    "_backward_slice_axis",
                    &attrs,
                    &mut [&mut out],
                    &mut grad,
                    req,
                )
                .unwrap();
                for (i, &old) in old.iter().enumerate() {
                    let mut at = index(&shape, i);
                    let inside = (first..last).contains(&at[place]);
                    at[place] = at[place].wrapping_sub(first);
                    let x = if inside {
                        out.get(position(&cut, &at))
                    } else {
                        0.0
                    };
                    assert_close(
                        dtype,
                        grad.get(i),
                        after(req, dtype, old, x),
                        1.0,
                        0.0,
                        "slice",
                    );
                }
            }
        }
    }
    let mut a = Tensor::zeros(DType::F32, &[4], Layout::Plain);
    let mut out = Tensor::zeros(DType::F32, &[4], Layout::Plain);
    for (begin, end) in [(0, 5), (3, 1), (-5, 2)] {
        let range = [
            ("axis", Value::Int(0)),
            ("begin", Value::Int(begin)),
            ("end", Value::Int(end)),
        ];
        assert!(
            run(
                "slice_axis",
                &Attrs::from(range),
                &mut [&mut a],
                &mut out,
                Req::Write
            )
            .is_err()
        );
    }
}
