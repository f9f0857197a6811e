//! Throughput of tensor kernels: additions, broadcasts, sums, transpositions and copies, in and
//! out of the caches.

#![allow(missing_docs)] // criterion_group! makes a public function.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ferromix_kernels::{Attrs, Call, Desc, Req, Value, View, find};
use std::hint::black_box;

/// One operator on contiguous `f32` tensors; bytes are what it must read and write.
fn bench(
    c: &mut Criterion,
    name: &str,
    what: &str,
    attrs: &Attrs,
    inputs: &[&[usize]],
    out: &[usize],
) {
    let count = |shape: &[usize]| shape.iter().product::<usize>();
    let mut data: Vec<Vec<f32>> = inputs
        .iter()
        .map(|s| (0..count(s)).map(|i| (i % 97) as f32 * 0.1).collect())
        .collect();
    let mut result = vec![0f32; count(out)];
    let describe = |s: &[usize]| Desc::new(s, ferromix_base::DType::F32);
    let (i, o): (Vec<_>, Vec<_>) = (
        inputs.iter().map(|s| describe(s)).collect(),
        vec![describe(out)],
    );
    let Some(Ok(kernel)) = find(name).map(|row| (row.prepare)(attrs, &i, &o)) else {
        return;
    };
    let views: Result<Vec<View>, _> = data
        .iter_mut()
        .zip(inputs)
        .map(|(d, s)| View::of_slice(d, s))
        .collect();
    let (Ok(inputs), Ok(output)) = (views, View::of_slice(&mut result, out)) else {
        return;
    };
    let bytes = inputs.iter().map(View::len).sum::<usize>() + output.len();
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Bytes(4 * bytes as u64));
    group.bench_function(BenchmarkId::from_parameter(what), |b| {
        b.iter_batched_ref(
            || [output.clone()],
            |outputs| {
                let reqs = &[Req::Write];
                let mut call = Call {
                    inputs: &inputs,
                    outputs,
                    reqs,
                    workspace: &mut [],
                    scalars: &[],
                    random: None,
                    kept: None,
                };
                black_box(kernel.run(&mut call)).is_ok()
            },
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

fn axis(axis: Value) -> Attrs {
    Attrs::from([("axis", axis)])
}

fn all(c: &mut Criterion) {
    let none = Attrs::default();
    for n in [16, 128, 2048] {
        bench(
            c,
            "broadcast_add",
            &format!("{n}x{n}"),
            &none,
            &[&[n, n], &[n, n]],
            &[n, n],
        );
        bench(
            c,
            "broadcast_add",
            &format!("{n}x{n}+row"),
            &none,
            &[&[n, n], &[n]],
            &[n, n],
        );
        bench(
            c,
            "broadcast_add",
            &format!("{n}x{n}+column"),
            &none,
            &[&[n, n], &[n, 1]],
            &[n, n],
        );
        bench(c, "relu", &format!("{n}x{n}"), &none, &[&[n, n]], &[n, n]);
        bench(
            c,
            "sum",
            &format!("{n}x{n}"),
            &axis(Value::None),
            &[&[n, n]],
            &[1],
        );
        bench(
            c,
            "sum",
            &format!("{n}x{n} rows"),
            &axis(Value::Int(1)),
            &[&[n, n]],
            &[n],
        );
        bench(
            c,
            "sum",
            &format!("{n}x{n} columns"),
            &axis(Value::Int(0)),
            &[&[n, n]],
            &[n],
        );
        bench(
            c,
            "transpose",
            &format!("{n}x{n}"),
            &none,
            &[&[n, n]],
            &[n, n],
        );
        bench(c, "_copy", &format!("{n}x{n}"), &none, &[&[n, n]], &[n, n]);
    }
    bench(
        c,
        "broadcast_add",
        "500000x3+row",
        &none,
        &[&[500_000, 3], &[3]],
        &[500_000, 3],
    );
    bench(
        c,
        "sum",
        "1000000x3 columns",
        &axis(Value::Int(0)),
        &[&[1_000_000, 3]],
        &[3],
    );
    bench(
        c,
        "sum",
        "300000x8 rows",
        &axis(Value::Int(1)),
        &[&[300_000, 8]],
        &[300_000],
    );
    bench(
        c,
        "sum",
        "64x64x28x28 channels",
        &axis(Value::Ints(vec![0, 2, 3])),
        &[&[64, 64, 28, 28]],
        &[64],
    );
    bench(
        c,
        "max",
        "2048x2048 rows",
        &axis(Value::Int(1)),
        &[&[2048, 2048]],
        &[2048],
    );
    bench(
        c,
        "argmax",
        "2048x1000 rows",
        &axis(Value::Int(1)),
        &[&[2048, 1000]],
        &[2048],
    );
    let nhwc = Attrs::from([("axes", Value::Ints(vec![0, 2, 3, 1]))]);
    bench(
        c,
        "transpose",
        "32x64x56x56 to NHWC",
        &nhwc,
        &[&[32, 64, 56, 56]],
        &[32, 56, 56, 64],
    );
}

criterion_group!(benches, all);
criterion_main!(benches);
