//! The same bits for one, two and three threads, and for budgets below that, on sizes that are split into several tasks.

#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

mod tensor_support;
use ferromix_base::DType;
use ferromix_kernels::random::Stream;
use ferromix_kernels::{Attrs, Req, Value, View, find, par};
use tensor_support::*;

/// The bits of the output for each number of threads.
fn bits(
    (threads, budget): (usize, u16),
    name: &str,
    attrs: &Attrs,
    inputs: &[View],
    mut out: Tensor,
) -> Vec<u64> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap();
    let random = find(name)
        .unwrap()
        .random
        .then_some(Stream { seed: 9, number: 2 });
    let mut outputs = [out.view()];
    let run = || run_views(name, attrs, inputs, &mut outputs, &[Req::Write], random);
    pool.install(|| par::with_budget(budget, run)).unwrap();
    out.bytes().to_vec()
}

fn check(name: &str, attrs: &Attrs, inputs: &mut [Tensor], out: &Tensor) {
    let views: Vec<View> = inputs.iter_mut().map(Tensor::view).collect();
    let one = bits((1, 0), name, attrs, &views, out.clone());
    for threads in [(2, 0), (3, 0), (3, 2), (2, 1)] {
        assert_eq!(
            one,
            bits(threads, name, attrs, &views, out.clone()),
            "{name} {threads:?}"
        );
    }
}

#[test]
fn elementwise_and_moves() {
    let mut rng = Rng(12);
    let none = Attrs::default();
    let shape = [500usize, 700];
    for dtype in [DType::F32, DType::BF16] {
        let mut pair = [
            random(dtype, &shape, Layout::Plain, &mut rng),
            random(dtype, &[700], Layout::Plain, &mut rng),
        ];
        let out = Tensor::zeros(dtype, &shape, Layout::Plain);
        check("broadcast_add", &none, &mut pair, &out);
        check("exp", &none, &mut pair[..1], &out);
        let turned = Tensor::zeros(dtype, &[700, 500], Layout::Plain);
        check("transpose", &none, &mut pair[..1], &turned);
        let range = Attrs::from([("low", number(0.0)), ("high", number(1.0))]);
        check("_random_uniform", &range, &mut [], &out);
        let range = Attrs::from([("loc", number(0.0)), ("scale", number(1.0))]);
        check("_random_normal", &range, &mut [], &out);
    }
}

#[test]
fn repetitions_and_batches() {
    let mut rng = Rng(14);
    for dtype in [DType::F32, DType::F16] {
        let plain = |shape: &[usize], rng: &mut Rng| random(dtype, shape, Layout::Plain, rng);
        let zeros = |shape: &[usize]| Tensor::zeros(dtype, shape, Layout::Plain);
        let attrs = Attrs::from([("repeats", Value::Int(3)), ("axis", Value::Int(1))]);
        let mut data = [plain(&[700, 300], &mut rng)];
        check("repeat", &attrs, &mut data, &zeros(&[700, 900]));
        let mut data = [plain(&[700, 900], &mut rng), plain(&[700, 300], &mut rng)];
        check("_backward_repeat", &attrs, &mut data, &zeros(&[700, 300]));
        let turned = Attrs::from([("axis", Value::Ints(vec![0, 1]))]);
        check("reverse", &turned, &mut data[..1], &zeros(&[700, 900]));
        let flags = ["transpose_a", "transpose_b"].map(|name| (name, Value::Bool(false)));
        let mut pair = [
            plain(&[300, 20, 30], &mut rng),
            plain(&[300, 30, 40], &mut rng),
        ];
        check(
            "batch_dot",
            &Attrs::from(flags),
            &mut pair,
            &zeros(&[300, 20, 40]),
        );
    }
}

#[test]
fn reductions() {
    let mut rng = Rng(13);
    let shapes: [(&[usize], &[i64]); 7] = [
        (&[500, 700], &[0]),
        (&[500, 700], &[1]),
        (&[500, 700], &[0, 1]),
        (&[100_000, 3], &[0]),
        (&[3, 100_000], &[1]),
        (&[16, 32, 30, 30], &[0, 2, 3]),
        (&[2, 300, 700], &[1]),
    ];
    for (shape, axes) in shapes {
        for name in ["sum", "nansum", "mean", "norm", "max", "prod"] {
            for layout in LAYOUTS {
                let mut data = [random(DType::F32, shape, layout, &mut rng)];
                let gone = |a: usize| axes.contains(&(a as i64));
                let kept: Vec<usize> = (0..shape.len())
                    .filter(|&a| !gone(a))
                    .map(|a| shape[a])
                    .collect();
                let out = Tensor::zeros(DType::F32, &kept, Layout::Plain);
                let attrs = Attrs::from([("axis", Value::Ints(axes.to_vec()))]);
                check(name, &attrs, &mut data, &out);
            }
        }
    }
}
