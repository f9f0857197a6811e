//! What the tests of neural-network kernels share: tensors of `f64`, running a kernel in any
//! element type on them, and gradients by finite differences.

#![allow(dead_code, clippy::unwrap_used)]

use ferromix_base::{DType, bf16, contiguous_strides, f16};
use ferromix_kernels::random::Stream;
use ferromix_kernels::{Attrs, Call, Desc, Req, Value, View, find, par};

/// A tensor of real numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tensor {
    pub(crate) shape: Vec<usize>,
    pub(crate) data: Vec<f64>,
}

impl Tensor {
    pub(crate) fn filled(shape: &[usize], x: f64) -> Self {
        Tensor {
            shape: shape.to_vec(),
            data: vec![x; shape.iter().product()],
        }
    }

    /// Numbers that look random, from -2 to 2, exact in half precision.
    pub(crate) fn noise(shape: &[usize], seed: u64) -> Self {
        let n = shape.iter().product();
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1);
        let data = (0..n)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                ((state >> 20) % 1024) as f64 / 256.0 - 2.0
            })
            .collect();
        Tensor {
            shape: shape.to_vec(),
            data,
        }
    }

    pub(crate) fn of(shape: &[usize], data: &[f64]) -> Self {
        assert_eq!(shape.iter().product::<usize>(), data.len());
        Tensor {
            shape: shape.to_vec(),
            data: data.to_vec(),
        }
    }

    pub(crate) fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        Tensor {
            shape: self.shape.clone(),
            data: self.data.iter().map(|&x| f(x)).collect(),
        }
    }
}

/// Memory of one argument, aligned for every type.
struct Memory(Vec<u64>);

fn encode(t: &Tensor, dtype: DType) -> Memory {
    let mut bytes = Vec::new();
    for &x in &t.data {
        match dtype {
            DType::F32 => bytes.extend((x as f32).to_ne_bytes()),
            DType::F64 => bytes.extend(x.to_ne_bytes()),
            DType::F16 => bytes.extend(f16::from_f64(x).to_ne_bytes()),
            DType::BF16 => bytes.extend(bf16::from_f64(x).to_ne_bytes()),
            other => panic!("no tests in {other}"),
        }
    }
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    Memory(
        bytes
            .chunks(8)
            .map(|c| u64::from_ne_bytes(c.try_into().unwrap()))
            .collect(),
    )
}

fn decode(m: &Memory, shape: &[usize], dtype: DType) -> Tensor {
    let bytes: Vec<u8> = m.0.iter().flat_map(|w| w.to_ne_bytes()).collect();
    let n = shape.iter().product();
    let data = bytes.chunks(dtype.size()).take(n).map(|c| match dtype {
        DType::F32 => f64::from(f32::from_ne_bytes(c.try_into().unwrap())),
        DType::F64 => f64::from_ne_bytes(c.try_into().unwrap()),
        DType::F16 => f16::from_ne_bytes(c.try_into().unwrap()).to_f64(),
        DType::BF16 => bf16::from_ne_bytes(c.try_into().unwrap()).to_f64(),
        other => panic!("no tests in {other}"),
    });
    Tensor {
        shape: shape.to_vec(),
        data: data.collect(),
    }
}

fn view(m: &mut Memory, shape: &[usize], dtype: DType) -> View {
    // SAFETY: the memory holds a tensor of this shape and outlives the call of the kernel.
    unsafe {
        View::from_raw(
            m.0.as_mut_ptr().cast(),
            dtype,
            shape.into(),
            contiguous_strides(shape),
        )
    }
}

/// How to run a kernel.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) dtype: DType,
    pub(crate) reqs: Vec<Req>,
    /// Output and input that share memory.
    pub(crate) alias: Vec<(usize, usize)>,
}

impl Setup {
    pub(crate) fn write(n: usize) -> Self {
        Setup {
            dtype: DType::F64,
            reqs: vec![Req::Write; n],
            alias: vec![],
        }
    }
}

pub(crate) fn prepare_error(
    name: &str,
    attrs: &Attrs,
    inputs: &[Desc],
    outputs: &[Desc],
) -> String {
    match (find(name).unwrap().prepare)(attrs, inputs, outputs) {
        Ok(_) => panic!("{name} accepted {inputs:?} {outputs:?}"),
        Err(e) => e.to_string(),
    }
}

/// Runs a kernel on `inputs`; outputs start with the values given.
pub(crate) fn run_with(
    setup: &Setup,
    name: &str,
    attrs: &Attrs,
    inputs: &[Tensor],
    outputs: &[Tensor],
) -> Vec<Tensor> {
    let d = setup.dtype;
    let describe = |ts: &[Tensor]| {
        ts.iter()
            .map(|t| Desc::new(&t.shape, d))
            .collect::<Vec<_>>()
    };
    let kernel =
        (find(name).unwrap().prepare)(attrs, &describe(inputs), &describe(outputs)).unwrap();
    let mut ins: Vec<Memory> = inputs.iter().map(|t| encode(t, d)).collect();
    let mut outs: Vec<Memory> = outputs.iter().map(|t| encode(t, d)).collect();
    let in_views: Vec<View> = ins
        .iter_mut()
        .zip(inputs)
        .map(|(m, t)| view(m, &t.shape, d))
        .collect();
    let mut out_views: Vec<View> = outs
        .iter_mut()
        .zip(outputs)
        .map(|(m, t)| view(m, &t.shape, d))
        .collect();
    for &(o, i) in &setup.alias {
        out_views[o] = view(&mut ins[i], &outputs[o].shape, d);
    }
    for (v, req) in out_views.iter_mut().zip(&setup.reqs) {
        if *req == Req::Null {
            *v = view(&mut Memory(vec![]), &[0], d);
        }
    }
    let mut room = vec![u64::MAX; kernel.workspace() / 8 + 8];
    let skip = room.as_ptr().align_offset(64);
    // SAFETY: bytes of the vector behind an aligned start.
    let workspace = unsafe {
        std::slice::from_raw_parts_mut(room.as_mut_ptr().add(skip).cast::<u8>(), kernel.workspace())
    };
    let random = Some(Stream { seed: 7, number: 3 });
    let mut call = Call {
        inputs: &in_views,
        outputs: &mut out_views,
        reqs: &setup.reqs,
        workspace,
        scalars: &[],
        random,
        kept: None,
    };
    kernel.run(&mut call).unwrap();
    (0..outputs.len())
        .map(|o| {
            let m = match setup.alias.iter().find(|a| a.0 == o) {
                Some(&(_, i)) => &ins[i],
                None => &outs[o],
            };
            decode(m, &outputs[o].shape, d)
        })
        .collect()
}

/// Runs a kernel in `f64` that overwrites outputs of the given shapes.
pub(crate) fn run(
    name: &str,
    attrs: &Attrs,
    inputs: &[Tensor],
    outputs: &[&[usize]],
) -> Vec<Tensor> {
    let outputs: Vec<Tensor> = outputs
        .iter()
        .map(|s| Tensor::filled(s, f64::NAN))
        .collect();
    run_with(&Setup::write(outputs.len()), name, attrs, inputs, &outputs)
}

pub(crate) fn close(got: &Tensor, want: &Tensor, tolerance: f64, what: &str) {
    assert_eq!(got.shape, want.shape, "{what}");
    for (i, (g, w)) in got.data.iter().zip(&want.data).enumerate() {
        let same = g == w || (g.is_nan() && w.is_nan());
        assert!(
            same || (g - w).abs() <= tolerance * (1.0 + w.abs()),
            "{what}: element {i} is {g}, not {w}"
        );
    }
}

/// Relative error that a result in `dtype` may have.
pub(crate) fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => 1e-10,
        DType::F32 => 5e-5,
        DType::F16 => 2e-3,
        _ => 2e-2,
    }
}

/// Checks every request, every type, and in-place runs, against a result `want` in `f64`.
/// `partners` are pairs of output and input that may share memory.
pub(crate) fn check_all(
    name: &str,
    attrs: &Attrs,
    inputs: &[Tensor],
    want: &[Tensor],
    dtypes: &[DType],
    partners: &[(usize, usize)],
) {
    let n = want.len();
    for &dtype in dtypes {
        let tol = tolerance(dtype);
        let what = |how: &str| format!("{name} {attrs:?} {:?} {dtype} {how}", inputs[0].shape);
        let stale: Vec<Tensor> = want
            .iter()
            .map(|t| Tensor::filled(&t.shape, f64::NAN))
            .collect();
        let setup = Setup {
            dtype,
            ..Setup::write(n)
        };
        for (g, w) in run_with(&setup, name, attrs, inputs, &stale)
            .iter()
            .zip(want)
        {
            close(g, w, tol, &what("write"));
        }
        let old: Vec<Tensor> = want.iter().map(|t| Tensor::noise(&t.shape, 99)).collect();
        let setup = Setup {
            dtype,
            reqs: vec![Req::Add; n],
            alias: vec![],
        };
        for ((g, w), o) in run_with(&setup, name, attrs, inputs, &old)
            .iter()
            .zip(want)
            .zip(&old)
        {
            let sum = Tensor {
                shape: w.shape.clone(),
                data: w.data.iter().zip(&o.data).map(|(a, b)| a + b).collect(),
            };
            close(g, &sum, 3.0 * tol, &what("add"));
        }
        for skip in 0..n {
            let mut setup = Setup {
                dtype,
                ..Setup::write(n)
            };
            setup.reqs[skip] = Req::Null;
            let got = run_with(&setup, name, attrs, inputs, &stale);
            assert!(
                got[skip].data.iter().all(|x| x.is_nan()),
                "{}",
                what("null")
            );
            for i in (0..n).filter(|&i| i != skip) {
                close(&got[i], &want[i], tol, &what("beside null"));
            }
        }
        for &(o, i) in partners {
            let mut setup = Setup {
                dtype,
                alias: vec![(o, i)],
                ..Setup::write(n)
            };
            setup.reqs[o] = Req::Inplace;
            let got = run_with(&setup, name, attrs, inputs, &stale);
            for (g, w) in got.iter().zip(want) {
                close(g, w, tol, &what("in place"));
            }
        }
    }
}

/// Checks gradients by central differences along one random direction per input.
pub(crate) fn check_gradient(
    forward: impl Fn(&[Tensor]) -> Tensor,
    inputs: &[Tensor],
    head: &Tensor,
    gradients: &[(usize, &Tensor)],
    what: &str,
) {
    let dot = |a: &Tensor, b: &Tensor| a.data.iter().zip(&b.data).map(|(x, y)| x * y).sum::<f64>();
    for &(i, gradient) in gradients {
        let direction = Tensor::noise(&inputs[i].shape, 1000 + i as u64);
        let at = |h: f64| {
            let mut moved = inputs.to_vec();
            for (x, d) in moved[i].data.iter_mut().zip(&direction.data) {
                *x += h * d;
            }
            dot(head, &forward(&moved))
        };
        let h = 1e-6;
        let numeric = (at(h) - at(-h)) / (2.0 * h);
        let exact = dot(gradient, &direction);
        assert!(
            (numeric - exact).abs() < 1e-6 * (1.0 + exact.abs()),
            "{what}: input {i}: {numeric} {exact}"
        );
    }
}

/// Checks that the bits are the same on one, two and three threads, and with a budget below that.
pub(crate) fn check_threads(
    dtype: DType,
    name: &str,
    attrs: &Attrs,
    inputs: &[Tensor],
    outputs: &[&[usize]],
) {
    check_threads_of(&[Req::Write, Req::Add], dtype, name, attrs, inputs, outputs);
}

/// The same with these requests alone.
pub(crate) fn check_threads_of(
    reqs: &[Req],
    dtype: DType,
    name: &str,
    attrs: &Attrs,
    inputs: &[Tensor],
    outputs: &[&[usize]],
) {
    let outputs: Vec<Tensor> = outputs.iter().map(|s| Tensor::filled(s, 0.25)).collect();
    for &req in reqs {
        let setup = Setup {
            dtype,
            reqs: vec![req; outputs.len()],
            alias: vec![],
        };
        let run = || run_with(&setup, name, attrs, inputs, &outputs);
        let on = |threads: usize, budget: u16| {
            if threads == 0 {
                // The kernels' own threads, as operators have them.
                return par::with_budget(budget, run);
            }
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| par::with_budget(budget, run))
        };
        par::set_threads(3);
        let one = on(1, 0);
        for (threads, budget) in [(2, 0), (3, 0), (5, 0), (3, 2), (2, 1), (0, 0), (0, 2)] {
            for (a, b) in one.iter().zip(on(threads, budget)) {
                let bits = |t: &Tensor| t.data.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert!(
                    bits(a) == bits(&b),
                    "{name} {dtype}: {threads} threads with a budget of {budget} change bits"
                );
            }
        }
    }
}

pub(crate) fn ints(v: &[usize]) -> Value {
    Value::Ints(v.iter().map(|&x| x as i64).collect())
}

pub(crate) fn word(s: &str) -> Value {
    Value::Str(s.to_owned())
}

pub(crate) const REALS: [DType; 2] = [DType::F32, DType::F64];
pub(crate) const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];
