//! Pooling against nested loops, MXNet's values at borders, and its gradients.

mod nn_support;

use ferromix_base::DType;
use ferromix_kernels::{Attrs, Value};
use nn_support::*;

fn attrs(kind: &str, convention: &str, with_pad: bool, axes: &[[usize; 4]]) -> Attrs {
    let column = |i: usize| ints(&axes.iter().map(|a| a[i]).collect::<Vec<_>>());
    Attrs::from([
        ("kernel", column(1)),
        ("stride", column(2)),
        ("pad", column(3)),
        ("pool_type", word(kind)),
        ("global_pool", Value::Bool(false)),
        ("pooling_convention", word(convention)),
        ("count_include_pad", Value::Bool(with_pad)),
    ])
}

fn extent([d, k, s, p]: [usize; 4], convention: &str) -> usize {
    match convention {
        "valid" => (d + 2 * p - k) / s + 1,
        "full" => (d + 2 * p - k).div_ceil(s) + 1,
        _ => (d + 2 * p).div_ceil(s),
    }
}

/// Output and gradient of the data by nested loops over windows; axes are `[input, kernel, stride,
/// pad]`.
fn reference(
    kind: &str,
    with_pad: bool,
    axes: &[[usize; 4]],
    x: &Tensor,
    head: &Tensor,
) -> (Tensor, Tensor) {
    let mut y = Tensor::filled(&head.shape, 0.0);
    let mut dx = Tensor::filled(&x.shape, 0.0);
    let per_in: usize = x.shape[2..].iter().product();
    let per_out: usize = y.shape[2..].iter().product();
    for o in 0..y.data.len() {
        let plane = o / per_out;
        let mut window = vec![0];
        let (mut rest, mut size, mut places) = (o % per_out, 1, vec![]);
        for (axis, &[d, k, s, p]) in axes.iter().enumerate().rev() {
            let at = rest % y.shape[axis + 2];
            rest /= y.shape[axis + 2];
            let start = (at * s) as isize - p as isize;
            let end = (start + k as isize).min((d + p) as isize);
            size *= (end - start).max(0);
            places.push(
                (start.max(0)..end.min(d as isize))
                    .map(|i| i as usize)
                    .collect::<Vec<_>>(),
            );
        }
        for (axis, places) in places.iter().rev().enumerate() {
            window = window
                .iter()
                .flat_map(|w| places.iter().map(move |i| w * axes[axis][0] + i))
                .collect();
        }
        let value = |w: &usize| x.data[plane * per_in + w];
        let sum: f64 = window.iter().map(value).sum();
        let divisor = if with_pad {
            size as f64
        } else {
            window.len() as f64
        }
        .max(1.0);
        let share = match kind {
            "avg" => 1.0 / divisor,
            _ => 1.0,
        };
        y.data[o] = match kind {
            "max" => window.iter().map(value).fold(f64::MIN, f64::max),
            _ => sum * share,
        };
        if kind == "max" {
            if let Some(first) = window.iter().find(|w| value(w) == y.data[o]) {
                dx.data[plane * per_in + first] += head.data[o];
            }
        } else {
            window
                .iter()
                .for_each(|w| dx.data[plane * per_in + w] += head.data[o] * share);
        }
    }
    (y, dx)
}

fn check(batch: usize, channels: usize, axes: &[[usize; 4]], dtypes: &[DType]) {
    for convention in ["valid", "full", "same"] {
        for (kind, with_pad) in [("max", true), ("avg", true), ("avg", false), ("sum", true)] {
            let mut shape = vec![batch, channels];
            let mut out = shape.clone();
            shape.extend(axes.iter().map(|a| a[0]));
            out.extend(axes.iter().map(|&a| extent(a, convention)));
            let (x, head) = (Tensor::noise(&shape, 1), Tensor::noise(&out, 2));
            let (y, dx) = reference(kind, with_pad, axes, &x, &head);
            // The least finite number of a window in the padding is another one in `f32`.
            let empty = y.data.contains(&f64::MIN);
            let dtypes = if empty { &[DType::F64] } else { dtypes };
            let attrs = attrs(kind, convention, with_pad, axes);
            let shrinks = y.data.len() <= x.data.len();
            check_all(
                "Pooling",
                &attrs,
                std::slice::from_ref(&x),
                std::slice::from_ref(&y),
                dtypes,
                if shrinks { &[(0, 0)] } else { &[] },
            );
            check_all(
                "_backward_Pooling",
                &attrs,
                &[head, x, y],
                &[dx],
                dtypes,
                &[(0, 1)],
            );
        }
    }
}

#[test]
fn windows_agree_with_nested_loops() {
    for axis in [
        [7, 3, 2, 0],
        [8, 3, 2, 0],
        [8, 3, 2, 1],
        [6, 3, 3, 1],
        [5, 2, 3, 1],
        [8, 2, 2, 0],
        [9, 2, 1, 0],
        [5, 5, 1, 2],
        [1, 1, 1, 0],
    ] {
        check(2, 3, &[axis], &REALS);
        check(2, 2, &[axis, axis], &REALS);
    }
    check(1, 2, &[[5, 3, 2, 1], [4, 2, 2, 0], [6, 3, 1, 1]], &REALS);
    check(3, 2, &[[40, 3, 2, 1], [70, 2, 4, 0]], &REALS);
}

#[test]
fn windows_of_many_planes_agree_with_nested_loops() {
    // Maxima of 16 planes are found together, those that are left over and those of large planes alone.
    for channels in [8, 17] {
        check(2, channels, &[[9, 3, 1, 1], [14, 3, 1, 1]], &REALS);
        check(2, channels, &[[7, 4, 2, 2], [5, 2, 3, 1]], &REALS);
        check(4, channels, &[[6, 1, 1, 0]], &REALS);
    }
    check(1, 16, &[[3, 3, 1, 0], [4, 3, 1, 0]], &REALS);
    check(1, 16, &[[2, 1, 1, 2], [1, 3, 1, 3]], &[DType::F64]);
    check(1, 16, &[[70, 3, 2, 1], [70, 3, 2, 1]], &[DType::F32]);
    check(2, 16, &[[4, 3, 2, 1], [3, 2, 1, 1], [5, 3, 1, 1]], &REALS);
}

#[test]
fn empty_batches_pass() {
    check(0, 3, &[[6, 2, 2, 0], [6, 2, 2, 0]], &REALS);
}

#[test]
fn borders_are_those_of_mxnet() {
    let x = Tensor::of(&[1, 1, 8], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let get = |kind, with_pad, pad: usize, n: usize| {
        let attrs = attrs(kind, "full", with_pad, &[[8, 3, 2, pad]]);
        run("Pooling", &attrs, std::slice::from_ref(&x), &[&[1, 1, n]])
            .remove(0)
            .data
    };
    assert_eq!(get("max", true, 0, 4), [3.0, 5.0, 7.0, 8.0]);
    assert_eq!(get("avg", true, 0, 4), [2.0, 4.0, 6.0, 7.5]);
    assert_eq!(get("avg", true, 1, 5), [1.0, 3.0, 5.0, 7.0, 4.0]);
    assert_eq!(get("avg", false, 1, 5), [1.5, 3.0, 5.0, 7.0, 8.0]);
    assert_eq!(get("sum", true, 1, 5), [3.0, 9.0, 15.0, 21.0, 8.0]);
}

#[test]
fn a_window_in_the_padding_gives_the_least_number_or_zero() {
    let x = Tensor::of(&[1, 1, 2], &[1.0, 2.0]);
    let get = |kind, with_pad| {
        let attrs = attrs(kind, "valid", with_pad, &[[2, 1, 1, 1]]);
        run("Pooling", &attrs, std::slice::from_ref(&x), &[&[1, 1, 4]])
            .remove(0)
            .data
    };
    assert_eq!(get("max", true), [f64::MIN, 1.0, 2.0, f64::MIN]);
    assert_eq!(get("avg", true), [0.0, 1.0, 2.0, 0.0]);
    assert_eq!(get("avg", false), [0.0, 1.0, 2.0, 0.0]);
}

#[test]
fn the_first_of_equal_maxima_gets_the_gradient() {
    let x = Tensor::filled(&[1, 1, 3, 3], 1.0);
    let attrs = attrs("max", "valid", true, &[[3, 2, 1, 0], [3, 2, 1, 0]]);
    let y = Tensor::filled(&[1, 1, 2, 2], 1.0);
    let head = Tensor::of(&[1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let got = run("_backward_Pooling", &attrs, &[head, x, y], &[&[1, 1, 3, 3]]).remove(0);
    assert_eq!(got.data, [1.0, 2.0, 0.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0]);
}

/// Checks maxima and their gradients against the loops in every bit: among equal numbers and NaN, for rows that end
/// anywhere in a vector, and with gradients whose sums depend on their order.
fn check_maxima(channels: usize, wide: usize, window: [usize; 3], convention: &str) {
    let [kernel, stride, pad] = window;
    let axes = [[11, kernel, stride, pad], [wide, kernel, stride, pad]];
    let out = axes.map(|axis| extent(axis, convention));
    let mut x = Tensor::noise(&[2, channels, 11, wide], 1).map(|x| (x * 2.0).round());
    let numbers = x.data.iter_mut().enumerate();
    numbers
        .filter(|(i, _)| i % 7 == 3 || i / 40 == 2)
        .for_each(|(_, x)| *x = f64::NAN);
    let attrs = attrs("max", convention, true, &axes);
    for (dtype, part) in [(DType::F64, 3.0), (DType::F32, 1.0)] {
        let mut head = Tensor::noise(&[2, channels, out[0], out[1]], 2).map(|g| g / part);
        head.data[1] = f64::INFINITY;
        head.data[2] = f64::NAN;
        let (y, dx) = reference("max", true, &axes, &x, &head);
        let setup = Setup {
            dtype,
            ..Setup::write(1)
        };
        let inputs = [head, x.clone(), y.clone()];
        let least = |y: f64| {
            if y == f64::MIN && dtype == DType::F32 {
                f32::MIN.into()
            } else {
                y
            }
        };
        for (name, inputs, want) in [
            ("Pooling", &inputs[1..2], y.map(least)),
            ("_backward_Pooling", &inputs, dx),
        ] {
            let stale = [Tensor::filled(&want.shape, f64::NAN)];
            let got = run_with(&setup, name, &attrs, inputs, &stale).remove(0);
            for (at, (&got, &want)) in got.data.iter().zip(&want.data).enumerate() {
                // Which zero is the largest is not said.
                let same = got.to_bits() == want.to_bits() || got == want && name == "Pooling";
                let same = same || got.is_nan() && want.is_nan();
                assert!(
                    same,
                    "{got} {want} at {at}: {name} {axes:?} {convention} {dtype}"
                );
            }
        }
    }
}

#[test]
fn maxima_and_their_gradients_are_those_of_loops_in_every_bit() {
    for wide in [3, 4, 5, 9, 14, 17, 28, 35, 66] {
        for window in [
            [3, 2, 0],
            [3, 2, 1],
            [3, 1, 0],
            [3, 1, 1],
            [2, 2, 0],
            [2, 2, 1],
            [2, 1, 3],
            [1, 2, 3],
            [5, 1, 2],
            [4, 2, 1],
            [2, 3, 0],
        ] {
            for convention in ["valid", "full", "same"] {
                if wide + 2 * window[2] >= window[0] {
                    check_maxima(2, wide, window, convention);
                    check_maxima(9, wide, window, convention);
                }
            }
        }
    }
}

#[test]
fn windows_of_other_extents_along_each_axis_agree_with_loops() {
    check(2, 3, &[[9, 2, 3, 0], [30, 3, 2, 1]], &REALS);
    check(2, 3, &[[6, 4, 1, 3], [37, 2, 1, 1]], &REALS);
    check(2, 3, &[[1, 1, 1, 0], [40, 3, 1, 1]], &REALS);
}

#[test]
fn windows_and_strides_far_beyond_the_input_take_no_memory() {
    check(1, 2, &[[9, 20_001, 1, 10_000]], &[DType::F64]);
    check(
        1,
        16,
        &[[3, 3, 1, 1], [4, 20_001, 1, 10_000]],
        &[DType::F32],
    );
    check(2, 16, &[[5, 3, 1, 1], [9, 2, 1_000_000_000, 0]], &REALS);
}

#[test]
fn global_pooling_ignores_the_window() {
    let x = Tensor::noise(&[2, 3, 4, 5], 1);
    let head = Tensor::noise(&[2, 3, 1, 1], 2);
    for kind in ["max", "avg", "sum"] {
        let mut rows = vec![
            ("kernel", ints(&[7, 7])),
            ("stride", ints(&[2, 2])),
            ("pad", ints(&[3, 3])),
        ];
        rows.push(("pool_type", word(kind)));
        rows.push(("global_pool", Value::Bool(true)));
        rows.push(("pooling_convention", word("valid")));
        let attrs = Attrs::new(rows.into_iter().map(|(n, v)| (n.to_owned(), v)).collect());
        let (y, dx) = reference(kind, true, &[[4, 4, 1, 0], [5, 5, 1, 0]], &x, &head);
        check_all(
            "Pooling",
            &attrs,
            std::slice::from_ref(&x),
            std::slice::from_ref(&y),
            &REALS,
            &[],
        );
        check_all(
            "_backward_Pooling",
            &attrs,
            &[head.clone(), x.clone(), y],
            &[dx],
            &REALS,
            &[],
        );
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    let x = Tensor::noise(&[8, 16, 33, 30], 1);
    for kind in ["max", "avg"] {
        let attrs = attrs(kind, "full", false, &[[33, 3, 2, 1], [30, 3, 2, 1]]);
        let shape: &[usize] = &[8, 16, 17, 16];
        check_threads(
            DType::F32,
            "Pooling",
            &attrs,
            std::slice::from_ref(&x),
            &[shape],
        );
        let y = run("Pooling", &attrs, std::slice::from_ref(&x), &[shape]).remove(0);
        let head = Tensor::noise(shape, 3);
        check_threads(
            DType::F32,
            "_backward_Pooling",
            &attrs,
            &[head, x.clone(), y],
            &[&x.shape],
        );
    }
}
