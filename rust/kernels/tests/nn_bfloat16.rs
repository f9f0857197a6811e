//! Products of bfloat16: what is off by more than one rounding and the sums of single precision, and bits
//! on several threads.

mod nn_support;

use ferromix_base::{DType, bf16};
use ferromix_kernels::{Attrs, Value};
use nn_support::*;

/// Noise that bfloat16 holds.
fn noise(shape: &[usize], seed: u64) -> Tensor {
    Tensor::noise(shape, seed).map(|x| bf16::from_f64(x).to_f64())
}

/// Checks a sum of products of `depth` pairs of the first two inputs, to which a third may be added, against
/// double precision.
fn check(name: &str, attrs: &Attrs, inputs: &[Tensor], out: &[usize], depth: usize) {
    let want = run(name, attrs, inputs, &[out]).remove(0);
    let sizes: Vec<_> = inputs.iter().map(|t| t.map(f64::abs)).collect();
    let sizes = run(name, attrs, &sizes, &[out]).remove(0);
    let setup = Setup {
        dtype: DType::BF16,
        ..Setup::write(1)
    };
    let stale = [Tensor::filled(out, f64::NAN)];
    let got = run_with(&setup, name, attrs, inputs, &stale).remove(0);
    let (half, single) = (2f64.powi(-8), 2f64.powi(-24));
    for ((g, w), size) in got.data.iter().zip(&want.data).zip(&sizes.data) {
        let summed = (depth + 2) as f64 * single * size;
        let bound = half * (w.abs() + summed) + summed;
        assert!(
            (g - w).abs() <= bound,
            "{name} {attrs:?} {:?}: {g}, not {w}",
            inputs[0].shape
        );
    }
    check_threads(DType::BF16, name, attrs, inputs, &[out]);
}

#[test]
fn dense_layers() {
    // Few rows, along the depth; tiles; rests of columns and of the depth; several depths; odd ones.
    for [rows, hidden, depth] in [
        [1, 1, 32],
        [1, 300, 77],
        [5, 7, 129],
        [16, 70, 64],
        [20, 33, 40],
        [24, 64, 64],
        [33, 130, 65],
        [64, 96, 1111],
        [300, 1000, 90],
        [3, 4, 1],
        [2, 3, 0],
        [0, 40, 64],
        [0, 5, 40],
    ] {
        for bias in [false, true] {
            let attrs = Attrs::from([
                ("num_hidden", Value::Int(hidden as i64)),
                ("no_bias", Value::Bool(!bias)),
                ("flatten", Value::Bool(true)),
            ]);
            let mut inputs = vec![noise(&[rows, depth], 1), noise(&[hidden, depth], 2)];
            if bias {
                inputs.push(noise(&[hidden], 3));
            }
            check("FullyConnected", &attrs, &inputs, &[rows, hidden], depth);
        }
    }
}

#[test]
fn matrices_of_all_orders() {
    for [m, n, k] in [
        [1, 1, 33],
        [30, 128, 70],
        [65, 67, 130],
        [40, 192, 601],
        [100, 9, 64],
        [70, 64, 0],
        [0, 70, 64],
        [30, 0, 64],
        [0, 0, 40],
    ] {
        for case in 0..4 {
            let (ta, tb) = (case & 1 > 0, case & 2 > 0);
            let attrs = Attrs::from([
                ("transpose_a", Value::Bool(ta)),
                ("transpose_b", Value::Bool(tb)),
            ]);
            let a = if ta { [k, m] } else { [m, k] };
            let b = if tb { [n, k] } else { [k, n] };
            check("dot", &attrs, &[noise(&a, 4), noise(&b, 5)], &[m, n], k);
            let three = |x: [usize; 2]| [3, x[0], x[1]];
            let pair = [noise(&three(a), 6), noise(&three(b), 7)];
            check("batch_dot", &attrs, &pair, &[3, m, n], k);
        }
    }
}

#[test]
fn convolutions() {
    for ([batch, channels, filters], extents, [kernel, stride, pad]) in [
        ([2, 8, 5], [5, 6], [1, 1, 0]),
        ([3, 7, 70], [7, 7], [1, 1, 0]),
        ([2, 33, 48], [9, 40], [1, 2, 0]),
        ([2, 5, 9], [11, 8], [1, 3, 1]),
        // Steps of half the depth at a time.
        ([3, 1300, 14], [5, 7], [1, 1, 0]),
        ([2, 32, 48], [9, 13], [3, 1, 1]),
        ([1, 3, 12], [20, 37], [3, 2, 1]),
        ([2, 3, 24], [30, 71], [7, 2, 3]),
        ([2, 20, 30], [12, 70], [3, 2, 1]),
        ([2, 16, 3], [14, 14], [5, 1, 2]),
        ([1, 1, 1], [1, 1], [1, 1, 0]),
        ([0, 4, 6], [5, 5], [3, 1, 1]),
    ] {
        let pair = |x: usize| ints(&[x, x]);
        let attrs = Attrs::from([
            ("kernel", pair(kernel)),
            ("stride", pair(stride)),
            ("dilate", pair(1)),
            ("pad", pair(pad)),
            ("num_filter", Value::Int(filters as i64)),
            ("num_group", Value::Int(1)),
            ("no_bias", Value::Bool(false)),
        ]);
        let inputs = [
            noise(&[batch, channels, extents[0], extents[1]], 1),
            noise(&[filters, channels, kernel, kernel], 2),
            noise(&[filters], 3),
        ];
        let out = extents.map(|e: usize| (e + 2 * pad - kernel) / stride + 1);
        let out = [batch, filters, out[0], out[1]];
        check(
            "Convolution",
            &attrs,
            &inputs,
            &out,
            channels * kernel * kernel,
        );
        let grown = [8 * batch, channels, 2 * extents[0], extents[1]];
        let out = [
            8 * batch,
            filters,
            (2 * extents[0] + 2 * pad - kernel) / stride + 1,
            out[3],
        ];
        let inputs = [noise(&grown, 1), inputs[1].clone(), inputs[2].clone()];
        check_threads(DType::BF16, "Convolution", &attrs, &inputs, &[&out]);
    }
}
