//! Blocks of a convolution with what follows it, against the operators one by one.

mod nn_support;

use ferromix_base::DType;
use ferromix_kernels::{Attrs, Value};
use nn_support::*;

/// Batch, channels, filters, groups; extent, kernel, stride and padding of both axes.
type Sizes = ([usize; 4], [usize; 2], usize, usize, usize);

const SIZES: [Sizes; 11] = [
    ([0, 4, 6, 1], [5, 5], 3, 1, 1),
    // By Winograd, where numbers are single; gathered; as they lie.
    ([2, 32, 48, 1], [9, 13], 3, 1, 1),
    ([2, 20, 70, 1], [6, 9], 1, 1, 0),
    ([1, 5, 6, 1], [8, 33], 3, 1, 1),
    // In two steps, over the ends of planes.
    ([3, 530, 14, 1], [5, 7], 1, 1, 0),
    // Vectors along filters, in two steps, and of a window.
    ([1, 530, 64, 1], [5, 7], 1, 1, 0),
    ([1, 32, 32, 1], [5, 7], 3, 2, 1),
    // Lattices; groups; plane by plane.
    ([2, 4, 7, 1], [11, 12], 3, 2, 1),
    ([2, 6, 8, 2], [9, 7], 1, 2, 0),
    ([3, 5, 5, 5], [9, 21], 3, 1, 1),
    ([3, 5, 5, 5], [12, 9], 3, 2, 1),
];

struct Case {
    attrs: Attrs,
    inputs: Vec<Tensor>,
    out: Vec<usize>,
}

fn case((n, extents, kernel, stride, pad): Sizes, [norm, added, relu]: [bool; 3]) -> Case {
    let [batch, channels, filters, groups] = n;
    let pair = |x: usize| ints(&[x, x]);
    let out = extents.map(|e| (e + 2 * pad - kernel) / stride + 1);
    let out = vec![batch, filters, out[0], out[1]];
    let mut inputs = vec![
        Tensor::noise(&[batch, channels, extents[0], extents[1]], 1),
        Tensor::noise(&[filters, channels / groups, kernel, kernel], 2),
        Tensor::noise(&[filters], 3),
    ];
    if norm {
        inputs.extend((4..7).map(|seed| Tensor::noise(&[filters], seed)));
        inputs.push(Tensor::noise(&[filters], 7).map(|x| x.abs() + 0.5));
    }
    if added {
        inputs.push(Tensor::noise(&out, 8));
    }
    let attrs = Attrs::from([
        ("kernel", pair(kernel)),
        ("stride", pair(stride)),
        ("dilate", pair(1)),
        ("pad", pair(pad)),
        ("num_filter", Value::Int(filters as i64)),
        ("num_group", Value::Int(groups as i64)),
        ("no_bias", Value::Bool(false)),
        ("norm", Value::Bool(norm)),
        ("added", Value::Bool(added)),
        ("relu", Value::Bool(relu)),
        ("eps", Value::Float(1e-3)),
        ("fix_gamma", Value::Bool(false)),
    ]);
    Case { attrs, inputs, out }
}

/// What the operators give one by one, in double precision.
fn parts(case: &Case, [norm, added, relu]: [bool; 3]) -> Tensor {
    let mut out = run("Convolution", &case.attrs, &case.inputs[..3], &[&case.out]).remove(0);
    let plane: usize = case.out[2..].iter().product();
    let channel = |i: usize| i / plane % case.out[1];
    let of = |input: usize, i: usize| case.inputs[input].data[channel(i)];
    for (i, x) in out.data.iter_mut().enumerate() {
        if norm {
            *x = of(3, i) * (*x - of(5, i)) / (of(6, i) + 1e-3).sqrt() + of(4, i);
        }
        if added {
            *x += case.inputs[case.inputs.len() - 1].data[i];
        }
        if relu {
            *x = x.max(0.0);
        }
    }
    out
}

#[test]
fn blocks_agree_with_operators_one_by_one() {
    for sizes in SIZES {
        for bits in 0..8 {
            let follows = [bits & 1 > 0, bits & 2 > 0, bits & 4 > 0];
            let case = case(sizes, follows);
            let want = [parts(&case, follows)];
            let addend = (0, case.inputs.len() - 1);
            let partners = if follows[1] { vec![addend] } else { vec![] };
            let types = [DType::F32, DType::F64];
            let (attrs, inputs) = (&case.attrs, &case.inputs);
            check_all(
                "_convolution_block",
                attrs,
                inputs,
                &want,
                &types,
                &partners,
            );
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    for sizes in SIZES {
        let (mut n, mut extents, kernel, stride, pad) = sizes;
        n[0] *= 8;
        extents = extents.map(|e| 2 * e);
        let case = case((n, extents, kernel, stride, pad), [true; 3]);
        let name = "_convolution_block";
        check_threads(DType::F32, name, &case.attrs, &case.inputs, &[&case.out]);
    }
}

#[test]
fn misfits_are_explained() {
    let case = case(SIZES[1], [true, true, true]);
    let describe = |ts: &[Tensor]| -> Vec<_> {
        let of = |t: &Tensor| ferromix_kernels::Desc::new(&t.shape, DType::F32);
        ts.iter().map(of).collect()
    };
    let mut inputs = case.inputs.clone();
    *inputs.last_mut().unwrap() = Tensor::filled(&[1, 70, 6, 9], 0.0);
    let out = describe(&[Tensor::filled(&case.out, 0.0)]);
    let e = prepare_error("_convolution_block", &case.attrs, &describe(&inputs), &out);
    assert!(e.contains("addend"), "{e}");
    inputs[4] = Tensor::filled(&[69], 0.0);
    let e = prepare_error("_convolution_block", &case.attrs, &describe(&inputs), &out);
    assert!(e.contains("channel argument"), "{e}");
}
