//! Steps of optimizers: copies of weights in another type, several weights, numbers of threads, and
//! arguments that do not fit. What they compute is tested from Python, operator by operator.

#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

mod tensor_support;
use ferromix_base::DType;
use ferromix_kernels::{Attrs, Desc, Req, Value, View, find, names, par};
use tensor_support::*;

fn attrs() -> Attrs {
    Attrs::from([
        ("lr", number(0.5)),
        ("wd", number(0.0)),
        ("rescale_grad", number(1.0)),
        ("clip_gradient", number(-1.0)),
        ("momentum", number(0.5)),
        ("lrs", Value::Floats(vec![0.5, 0.25])),
        ("wds", Value::Ints(vec![0, 1])),
    ])
}

fn plain(dtype: DType, n: usize, value: f64) -> Tensor {
    Tensor::of(dtype, &[n], Layout::Plain, |_| value)
}

#[test]
fn a_weight_follows_its_copy() {
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        let n = 70_000;
        let mut t = [plain(dtype, n, 1.0), plain(dtype, n, 2.0)].to_vec();
        t.extend([plain(DType::F32, n, 4.0), plain(DType::F32, n, 8.0)]);
        let inputs: Vec<View> = t.iter_mut().map(Tensor::view).collect();
        let mut outputs = [&inputs[0], &inputs[2], &inputs[3]].map(Clone::clone);
        let reqs = [Req::Inplace; 3];
        run_views(
            "mp_sgd_mom_update",
            &attrs(),
            &inputs,
            &mut outputs,
            &reqs,
            None,
        )
        .unwrap();
        // The momentum is 4 / 2 - 2 / 2.
        for (tensor, want) in t.iter().zip([9.0, 2.0, 1.0, 9.0]) {
            assert!(tensor.values().iter().all(|&x| x == want), "{dtype} {want}");
        }
    }
}

#[test]
fn each_weight_has_its_rates() {
    let mut t: Vec<Tensor> = [3, 3, 5, 5]
        .iter()
        .map(|&n| plain(DType::F32, n, n as f64))
        .collect();
    let inputs: Vec<View> = t.iter_mut().map(Tensor::view).collect();
    let mut outputs = [&inputs[0], &inputs[2]].map(Clone::clone);
    let reqs = [Req::Inplace, Req::Null];
    run_views(
        "multi_sgd_update",
        &attrs(),
        &inputs,
        &mut outputs,
        &reqs,
        None,
    )
    .unwrap();
    assert_eq!(t[0].values(), [1.5; 3]);
    assert_eq!(t[2].values(), [5.0; 5]);
    let inputs: Vec<View> = t.iter_mut().map(Tensor::view).collect();
    let mut outputs = [&inputs[0], &inputs[2]].map(Clone::clone);
    run_views(
        "multi_sgd_update",
        &attrs(),
        &inputs,
        &mut outputs,
        &[Req::Inplace; 2],
        None,
    )
    .unwrap();
    // (1 - 0.25 * 1) * 5 - 0.25 * 5
    assert_eq!(t[2].values(), [2.5; 5]);
}

#[test]
fn sums_do_not_depend_on_the_threads() {
    let mut rng = Rng(3);
    let mut t = [
        random(DType::F32, &[300_001], Layout::Plain, &mut rng),
        random(DType::F32, &[77], Layout::Plain, &mut rng),
    ];
    let inputs: Vec<View> = t.iter_mut().map(Tensor::view).collect();
    let bits = [1, 2, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let mut out = Tensor::zeros(DType::F32, &[2], Layout::Plain);
        let mut outputs = [out.view()];
        let none = Attrs::default();
        let run = || {
            run_views(
                "multi_sum_sq",
                &none,
                &inputs,
                &mut outputs,
                &[Req::Write],
                None,
            )
        };
        pool.install(|| par::with_budget(0, run)).unwrap();
        out.bytes().to_vec()
    });
    assert!(bits[0] == bits[1] && bits[0] == bits[2]);
}

#[test]
fn arguments_that_do_not_fit_are_errors() {
    let long = Desc::new(&[3], DType::F32);
    let short = Desc::new(&[2], DType::F32);
    let whole = Desc::new(&[3], DType::I32);
    let mut tried = 0;
    for name in names().filter(|n| n.contains("_update")) {
        let prepare = find(name).unwrap().prepare;
        for (inputs, outputs) in [(0, 0), (1, 0), (0, 1), (1, 1), (9, 1), (2, 9)] {
            let (i, o) = (vec![long.clone(); inputs], vec![long.clone(); outputs]);
            assert!(
                prepare(&attrs(), &i, &o).is_err(),
                "{name} {inputs} {outputs}"
            );
        }
        tried += 1;
    }
    assert!(tried >= 30, "{tried}");
    let sgd = find("sgd_update").unwrap().prepare;
    let e = sgd(
        &attrs(),
        &[long.clone(), short],
        std::slice::from_ref(&long),
    )
    .err()
    .unwrap();
    assert!(
        e.to_string()
            .contains("sgd_update needs arguments of one shape")
    );
    let e = sgd(&attrs(), &[whole.clone(), whole.clone()], &[whole])
        .err()
        .unwrap();
    assert!(e.to_string().contains("int32"));
    let e = sgd(&Attrs::default(), &[long.clone(), long.clone()], &[long])
        .err()
        .unwrap();
    assert!(e.to_string().contains("'lr' is missing"));
}
