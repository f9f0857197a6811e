//! Blocks of a convolution with what follows it, against the operators one by one.

mod nn_support;

use ferromix_base::{DType, bf16};
use ferromix_kernels::{Attrs, Req, Value};
use nn_support::*;

/// Batch, channels, filters, groups; extent, kernel, stride, padding and dilation of both axes.
type Sizes = ([usize; 4], [usize; 2], usize, usize, usize, usize);

const SIZES: [Sizes; 11] = [
    ([0, 4, 6, 1], [5, 5], 3, 1, 1, 1),
    // By Winograd, where numbers are single; gathered; as they lie.
    ([2, 32, 48, 1], [9, 13], 3, 1, 1, 1),
    ([2, 20, 70, 1], [6, 9], 1, 1, 0, 1),
    ([1, 5, 6, 1], [8, 33], 3, 1, 1, 1),
    // In two steps, over the ends of planes.
    ([3, 530, 14, 1], [5, 7], 1, 1, 0, 1),
    // Vectors along filters, in two steps, and of a window.
    ([1, 530, 64, 1], [5, 7], 1, 1, 0, 1),
    ([1, 32, 32, 1], [5, 7], 3, 2, 1, 1),
    // Lattices; groups; plane by plane.
    ([2, 4, 7, 1], [11, 12], 3, 2, 1, 1),
    ([2, 6, 8, 2], [9, 7], 1, 2, 0, 1),
    ([3, 5, 5, 5], [9, 21], 3, 1, 1, 1),
    ([3, 5, 5, 5], [12, 9], 3, 2, 1, 1),
];

struct Case {
    attrs: Attrs,
    inputs: Vec<Tensor>,
    out: Vec<usize>,
}

/// The attributes; with channels in blocks where a number says whose.
fn attributes(
    ([_, _, filters, groups], _, kernel, stride, pad, dilate): Sizes,
    [norm, added, relu]: [bool; 3],
    blocks: Option<i64>,
) -> Attrs {
    let pair = |x: usize| ints(&[x, x]);
    let blocks = blocks.map_or(Value::None, Value::Int);
    Attrs::from([
        ("kernel", pair(kernel)),
        ("stride", pair(stride)),
        ("dilate", pair(dilate)),
        ("pad", pair(pad)),
        ("num_filter", Value::Int(filters as i64)),
        ("num_group", Value::Int(groups as i64)),
        ("no_bias", Value::Bool(false)),
        ("norm", Value::Bool(norm)),
        ("added", Value::Bool(added)),
        ("relu", Value::Bool(relu)),
        ("eps", Value::Float(1e-3)),
        ("fix_gamma", Value::Bool(false)),
        ("blocks", blocks),
    ])
}

fn case(sizes: Sizes, [norm, added, relu]: [bool; 3]) -> Case {
    let ([batch, channels, filters, groups], extents, kernel, stride, pad, dilate) = sizes;
    let out = extents.map(|e| (e + 2 * pad - dilate * (kernel - 1) - 1) / stride + 1);
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
    let attrs = attributes(sizes, [norm, added, relu], None);
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

/// Sizes whose channels, or at least those of the result, fill blocks of 16.
const IN_BLOCKS: [Sizes; 28] = [
    ([2, 32, 48, 1], [9, 13], 3, 1, 1, 1),
    ([2, 64, 80, 1], [7, 5], 3, 1, 0, 1),
    // As one line; by rows, of one and of several tiles; of several chunks of weights.
    ([2, 32, 80, 1], [6, 9], 1, 1, 0, 1),
    ([1, 16, 32, 1], [8, 33], 1, 1, 0, 1),
    ([1, 16, 16, 1], [1, 1], 1, 1, 0, 1),
    ([2, 48, 32, 1], [9, 35], 1, 2, 0, 1),
    ([1, 528, 48, 1], [5, 7], 1, 1, 0, 1),
    ([2, 112, 16, 1], [15, 11], 5, 2, 2, 1),
    ([1, 32, 32, 1], [5, 7], 3, 2, 1, 1),
    ([2, 16, 96, 1], [40, 31], 7, 2, 3, 1),
    // By tiles of four blocks of filters: of one chunk of weights and of several, and of strides.
    ([2, 32, 64, 1], [6, 9], 1, 1, 0, 1),
    ([2, 176, 128, 1], [5, 7], 1, 1, 0, 1),
    ([3, 48, 64, 1], [9, 35], 1, 2, 0, 1),
    ([2, 16, 192, 1], [11, 13], 5, 2, 2, 1),
    // Plane by plane.
    ([3, 32, 32, 32], [9, 21], 3, 1, 1, 1),
    ([2, 16, 16, 16], [12, 33], 3, 2, 1, 1),
    ([2, 48, 48, 48], [6, 2], 5, 1, 2, 1),
    ([1, 16, 16, 16], [7, 11], 3, 3, 0, 1),
    // Positions that no tap reaches.
    ([1, 32, 32, 32], [4, 5], 3, 1, 4, 1),
    ([1, 16, 32, 1], [4, 5], 2, 1, 3, 1),
    // Taps that read nothing but the border from some tiles, from all, from none; of several chunks of weights.
    ([2, 32, 48, 1], [9, 20], 3, 1, 6, 6),
    ([1, 272, 64, 1], [7, 9], 3, 1, 5, 5),
    ([2, 16, 32, 1], [5, 6], 3, 1, 40, 40),
    ([1, 48, 32, 1], [4, 5], 2, 1, 15, 30),
    ([2, 32, 64, 1], [13, 30], 3, 2, 9, 8),
    ([1, 32, 16, 1], [16, 17], 5, 1, 11, 6),
    ([1, 16, 64, 1], [12, 40], 3, 2, 7, 4),
    ([2, 64, 32, 1], [1, 1], 3, 1, 1, 1),
];

/// The same numbers with blocks of 16 channels side by side.
fn to_blocks(t: &Tensor) -> Tensor {
    let plane: usize = t.shape[2..].iter().product();
    let place = |i: usize| {
        let (block, at) = (i / (16 * plane), i % (16 * plane));
        (block * 16 + at % 16) * plane + at / 16
    };
    Tensor {
        shape: t.shape.clone(),
        data: (0..t.data.len()).map(|i| t.data[place(i)]).collect(),
    }
}

/// The inputs with the data, as `blocks` says, and what is added in blocks.
fn in_blocks(case: &Case, blocks: i64, added: bool) -> Vec<Tensor> {
    let mut inputs = case.inputs.clone();
    if blocks == 2 {
        inputs[0] = to_blocks(&inputs[0]);
    }
    if added && let Some(last) = inputs.last_mut() {
        *last = to_blocks(last);
    }
    inputs
}

/// Checks a case with its channels in blocks, for elements whose results may be so far off, as a part of the largest.
fn check_in_blocks(sizes: Sizes, follows: [bool; 3], case: &Case, (dtype, off): (DType, f64)) {
    let [_, added, _] = follows;
    let want = to_blocks(&parts(case, follows));
    let most = want.data.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
    for blocks in if sizes.0[3] > 1 { 2..=2 } else { 1..=2 } {
        if blocks == 2 && !sizes.0[1].is_multiple_of(16) {
            continue;
        }
        let attrs = attributes(sizes, follows, Some(blocks));
        let inputs = in_blocks(case, blocks, added);
        let mut setup = Setup {
            dtype,
            ..Setup::write(1)
        };
        let out = [Tensor::filled(&case.out, f64::NAN)];
        let name = "_convolution_block";
        let check = |setup: &Setup| {
            let got = run_with(setup, name, &attrs, &inputs, &out).remove(0);
            for (got, want) in got.data.iter().zip(&want.data) {
                assert!(
                    (got - want).abs() < off * most,
                    "{sizes:?} {follows:?} {blocks}: {got} {want}"
                );
            }
        };
        check(&setup);
        if added {
            setup.alias = vec![(0, inputs.len() - 1)];
            check(&setup);
        }
        check_threads_of(&[Req::Write], dtype, name, &attrs, &inputs, &[&case.out]);
    }
}

#[test]
fn channels_in_blocks_give_the_same_results() {
    if ferromix_kernels::channel_block(DType::F32) == 0 {
        return;
    }
    for sizes in IN_BLOCKS {
        for bits in 0..8 {
            let follows = [bits & 1 > 0, bits & 2 > 0, bits & 4 > 0];
            check_in_blocks(sizes, follows, &case(sizes, follows), (DType::F32, 1e-5));
        }
    }
}

/// Sizes of planes of few channels, whose positions are multiplied some at a time: those of a row of a window.
const FEW: [Sizes; 6] = [
    ([1, 3, 128, 1], [9, 20], 7, 1, 3, 1),
    ([2, 3, 64, 1], [21, 40], 7, 2, 3, 1),
    ([1, 1, 16, 1], [9, 33], 3, 1, 1, 1),
    ([1, 4, 48, 1], [12, 11], 8, 1, 0, 1),
    ([1, 2, 32, 1], [13, 15], 11, 2, 5, 1),
    ([2, 20, 32, 1], [9, 13], 3, 1, 1, 1),
];

#[test]
fn halves_in_blocks_give_the_same_results() {
    if ferromix_kernels::channel_block(DType::BF16) == 0 {
        return;
    }
    for sizes in IN_BLOCKS.into_iter().chain(FEW) {
        for bits in 0..4 {
            // Normalisations have arguments of another type.
            let follows = [false, bits & 1 > 0, bits & 2 > 0];
            let mut case = case(sizes, follows);
            for input in &mut case.inputs {
                for x in &mut input.data {
                    *x = bf16::from_f64(*x).to_f64();
                }
            }
            check_in_blocks(sizes, follows, &case, (DType::BF16, 1.0 / 128.0));
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    for sizes in SIZES {
        let (mut n, mut extents, kernel, stride, pad, dilate) = sizes;
        n[0] *= 8;
        extents = extents.map(|e| 2 * e);
        let case = case((n, extents, kernel, stride, pad, dilate), [true; 3]);
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
