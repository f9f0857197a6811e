//! Convolution against nested loops, and its gradients.

#[path = "../nn_support/mod.rs"]
mod nn_support;

mod case;

use case::Case;
use ferromix_base::DType;
use ferromix_kernels::{Desc, Req};
use nn_support::*;

#[test]
fn two_axes_agree_with_nested_loops() {
    for (input, kernel, stride, dilate, pad) in [
        (1, 1, 1, 1, 0),
        (5, 1, 1, 1, 0),
        (6, 1, 2, 1, 0),
        (7, 1, 1, 1, 2),
        (8, 3, 1, 1, 1),
        (9, 3, 2, 1, 1),
        (9, 3, 3, 1, 0),
        (10, 2, 2, 2, 1),
        (9, 2, 5, 1, 0),
        (7, 3, 1, 2, 4),
        (6, 5, 1, 1, 0),
        (5, 5, 1, 1, 0),
        (11, 4, 3, 2, 2),
    ] {
        for n in [
            [1, 1, 1, 1],
            [2, 3, 5, 1],
            [3, 4, 6, 2],
            [2, 4, 4, 4],
            [2, 5, 14, 1],
        ] {
            let axis = [input, kernel, stride, dilate, pad];
            Case::new(n, &[axis, axis]).check(&[DType::F64]);
        }
    }
}

#[test]
fn axes_may_differ_and_there_may_be_one_or_three() {
    Case::new([2, 3, 4, 1], &[[9, 3, 2, 1, 0], [6, 2, 1, 2, 1]]).check(&REALS);
    Case::new([2, 3, 4, 1], &[[40, 1, 1, 1, 0], [3, 3, 1, 1, 1]]).check(&REALS);
    Case::new([3, 4, 6, 2], &[[50, 3, 1, 1, 1]]).check(&REALS);
    Case::new([2, 2, 3, 1], &[[37, 5, 3, 2, 4]]).check(&REALS);
    Case::new(
        [2, 3, 4, 1],
        &[[4, 2, 1, 1, 1], [5, 3, 2, 1, 1], [6, 1, 2, 1, 0]],
    )
    .check(&REALS);
    Case::new(
        [1, 4, 4, 2],
        &[[5, 3, 2, 1, 1], [5, 2, 1, 2, 0], [7, 3, 1, 1, 2]],
    )
    .check(&REALS);
}

#[test]
fn many_taps_filters_and_positions_span_every_block() {
    Case::new([2, 40, 30, 1], &[[12, 3, 1, 1, 1], [13, 3, 1, 1, 1]]).check(&REALS);
    Case::new([3, 64, 70, 1], &[[7, 3, 2, 1, 1], [7, 3, 2, 1, 1]]).check(&REALS);
    Case::new([9, 300, 13, 1], &[[6, 1, 1, 1, 0], [5, 1, 1, 1, 0]]).check(&REALS);
    Case::new([20, 1, 20, 1], &[[28, 5, 1, 1, 0], [28, 5, 1, 1, 0]]).check(&REALS);
}

#[test]
fn planes_that_windows_reach_far_beyond() {
    let square = |axis| [axis, axis];
    // Whole vectors of images and rests of them, several tiles of planes, one filter; steps and gaps.
    Case::new([16, 5, 7, 1], &square([8, 5, 1, 1, 0])).check(&REALS);
    Case::new([35, 14, 13, 1], &[[7, 4, 1, 1, 0], [6, 5, 1, 1, 1]]).check(&REALS);
    Case::new([64, 26, 1, 1], &square([5, 5, 1, 1, 0])).check(&REALS);
    Case::new([20, 3, 4, 1], &[[9, 3, 2, 2, 0], [8, 4, 1, 2, 0]]).check(&REALS);
    Case::new([48, 3, 4, 1], &[[6, 6, 1, 1, 4]]).check(&REALS);
    Case::new(
        [17, 2, 3, 1],
        &[[3, 3, 1, 1, 0], [4, 3, 1, 1, 0], [3, 2, 1, 1, 0]],
    )
    .check(&REALS);
}

#[test]
fn few_positions_leave_vectors_to_filters() {
    let square = |axis| [axis, axis];
    // One position; one tile; two blocks of tiles; the taps of two blocks; a window; groups; a step; a batch.
    Case::new([1, 64, 32, 1], &square([1, 1, 1, 1, 0])).check(&REALS);
    Case::new([1, 70, 64, 1], &square([3, 1, 1, 1, 0])).check(&REALS);
    Case::new([1, 64, 96, 1], &square([12, 1, 1, 1, 0])).check(&REALS);
    Case::new([1, 600, 64, 1], &square([7, 1, 1, 1, 0])).check(&REALS);
    Case::new([1, 60, 64, 1], &[[7, 3, 1, 1, 1], [6, 3, 1, 2, 1]]).check(&REALS);
    Case::new([1, 132, 128, 2], &[[5, 1, 1, 1, 0], [9, 1, 1, 1, 0]]).check(&REALS);
    Case::new([1, 64, 64, 1], &[[9, 3, 2, 1, 1], [13, 3, 2, 1, 1]]).check(&REALS);
    Case::new([3, 96, 32, 1], &[[3, 1, 1, 1, 0], [4, 1, 1, 1, 0]]).check(&REALS);
    Case::new([2, 32, 128, 1], &[[2, 1, 3, 1, 1], [5, 1, 2, 1, 0]]).check(&REALS);
    Case::new(
        [1, 16, 32, 1],
        &[[3, 3, 1, 1, 1], [4, 3, 1, 1, 1], [3, 3, 1, 1, 0]],
    )
    .check(&REALS);
}

#[test]
fn an_image_has_the_same_bits_alone_and_among_others() {
    for axis in [[7, 1, 1, 1, 0], [6, 3, 2, 1, 1]] {
        let case = |batch| Case::new([batch, 600, 64, 1], &[axis, axis]);
        let [data, weight, out] = case(16).shapes();
        let (all, weight) = (Tensor::noise(&data, 1), Tensor::noise(&weight, 2));
        let (one, [data, _, single]) = (case(1), case(1).shapes());
        let mut first = Tensor::filled(&data, 0.0);
        let count = first.data.len();
        first.data.copy_from_slice(&all.data[..count]);
        let run = |data: &Tensor, out: &[usize]| {
            let setup = Setup {
                dtype: DType::F32,
                reqs: vec![Req::Write],
                alias: vec![],
            };
            let inputs = [data.clone(), weight.clone()];
            let outputs = [Tensor::filled(out, 0.0)];
            run_with(&setup, "Convolution", &one.attrs(false), &inputs, &outputs).remove(0)
        };
        let (alone, among) = (run(&first, &single), run(&all, &out));
        assert_eq!(alone.data[..], among.data[..alone.data.len()]);
    }
}

#[test]
fn gradients_of_one_tap_have_rows_of_filters_or_of_channels() {
    let square = |axis| [axis, axis];
    // Several blocks of positions; whole panels and others; strides, which leave numbers that nothing reads.
    Case::new([1, 32, 40, 1], &square([31, 1, 1, 1, 0])).check(&REALS);
    Case::new([3, 13, 50, 1], &square([26, 1, 1, 1, 0])).check(&REALS);
    Case::new([2, 64, 96, 2], &square([9, 1, 1, 1, 0])).check(&REALS);
    Case::new([2, 40, 70, 1], &square([15, 1, 2, 1, 0])).check(&REALS);
    Case::new([2, 70, 40, 1], &square([16, 1, 2, 1, 0])).check(&REALS);
    Case::new([3, 20, 33, 1], &square([14, 1, 3, 1, 1])).check(&REALS);
    // So many that each part of the batch is all of it.
    Case::new([2, 512, 520, 1], &square([3, 1, 1, 1, 0])).check(&[DType::F32]);
}

#[test]
fn a_plane_for_each_plane_of_the_result() {
    for (high, wide, kernel, stride, pad) in [
        (112, 112, 3, 1, 1),
        (56, 55, 3, 2, 1),
        (17, 66, 3, 2, 0),
        (8, 34, 3, 2, 2),
        (7, 7, 3, 1, 1),
        (7, 7, 3, 2, 1),
        (5, 33, 5, 1, 2),
        (14, 9, 5, 3, 0),
        (9, 14, 7, 1, 3),
        (1, 40, 1, 1, 0),
    ] {
        let axes = [
            [high, kernel.min(high), stride, 1, pad],
            [wide, kernel, stride, 1, pad],
        ];
        Case::new([2, 6, 6, 6], &axes).check(&REALS);
    }
    Case::new([2, 3, 3, 3], &[[20, 3, 2, 2, 2], [9, 2, 1, 3, 1]]).check(&REALS);
    Case::new([3, 5, 5, 5], &[[50, 4, 3, 1, 1]]).check(&REALS);
    // Too large, or with too many taps, for the cache: as other convolutions.
    Case::new([1, 2, 2, 2], &[[300, 3, 1, 1, 1], [300, 3, 1, 1, 1]]).check(&[DType::F64]);
    Case::new([1, 2, 2, 2], &[[20, 9, 1, 1, 0], [20, 9, 1, 1, 0]]).check(&REALS);
}

#[test]
fn strides_and_dilations_far_beyond_the_input() {
    let far = (1 << 31) - 1;
    Case::new([2, 4, 6, 2], &[[5, 2, far, 1, 0], [6, 3, far, 1, 1]]).check(&REALS);
    Case::new([2, 4, 6, 1], &[[4, 1, 1, far, 0], [5, 1, far, far, 0]]).check(&REALS);
    Case::new([2, 3, 3, 3], &[[9, 3, far, 1, 1], [7, 3, 1, 1, 1]]).check(&REALS);
    Case::new([2, 64, 64, 1], &[[7, 3, far, 1, 0], [7, 3, 1, 1, 1]]).check(&REALS);
}

#[test]
fn taps_far_apart_with_as_much_padding() {
    let far = (1 << 31) - 1;
    // Of an odd number the middle one reads the input, of an even number none.
    for (taps, pad) in [
        (3, far),
        (3, far + 1),
        (3, far - 2),
        (5, 2 * far + 1),
        (2, far / 2 + 1),
        (4, far + far / 2),
    ] {
        let (axis, other) = ([5, taps, 1, far, pad], [6, 3, 1, 1, 1]);
        Case::new([2, 4, 6, 2], &[axis, other]).check(&REALS);
        Case::new([2, 3, 3, 3], &[other, axis]).check(&REALS);
        Case::new([1, 2, 3, 1], &[[5, taps, 2, far, pad]; 2]).check(&REALS);
    }
    // From just as near as that the taps read the input on, to where others do not.
    for dilate in 1..16 {
        Case::new([1, 3, 2, 1], &[[5, 3, 1, dilate, dilate]; 2]).check(&REALS);
        Case::new([2, 2, 2, 2], &[[4, 3, 2, dilate, dilate + 1]; 2]).check(&REALS);
    }
    Case::new([2, 64, 64, 1], &[[7, 3, 1, far, far], [7, 3, 1, 1, 1]]).check(&REALS);
    Case::new([1, 32, 32, 1], &[[7, 3, 1, far, far]; 2]).check(&REALS);
}

#[test]
fn planes_may_lie_over_their_data() {
    // In one strip and in several, vector by vector, and copied.
    let sides = [(14, 14, 3), (40, 5, 3), (9, 33, 3), (7, 7, 3), (6, 9, 5)];
    for ((high, wide, kernel), dtype) in sides.into_iter().flat_map(|s| REALS.map(|d| (s, d))) {
        let axes = [high, wide].map(|extent| [extent, kernel, 1, 1, kernel / 2]);
        let case = Case::new([2, 6, 6, 6], &axes);
        let [data, weight, out] = case.shapes();
        let ins = [Tensor::noise(&data, 1), Tensor::noise(&weight, 2)];
        let setup = |alias| Setup {
            dtype,
            alias,
            ..Setup::write(1)
        };
        let run = |alias| {
            let outs = [Tensor::filled(&out, 0.0)];
            run_with(
                &setup(alias),
                "Convolution",
                &case.attrs(false),
                &ins,
                &outs,
            )
        };
        assert_eq!(
            run(vec![(0, 0)]),
            run(vec![]),
            "{high} by {wide} in {dtype}"
        );
    }
}

#[test]
fn what_is_no_number_reaches_the_weights_that_meet_it_alone() {
    let case = Case::new([1, 2, 2, 2], &[[5, 3, 1, 1, 1], [6, 3, 1, 1, 1]]);
    let [data, weight, out] = case.shapes();
    let (mut x, w) = (Tensor::noise(&data, 1), Tensor::noise(&weight, 2));
    x.data[0] = f64::NAN;
    let ins = [Tensor::noise(&out, 4), x, w];
    let found = run(
        "_backward_Convolution",
        &case.attrs(false),
        &ins,
        &[&data, &weight],
    );
    // The first number of a plane is read by the taps above and left of the middle, and by it.
    let lost: Vec<usize> = (0..18).filter(|&i| found[1].data[i].is_nan()).collect();
    assert_eq!(lost, [0, 1, 3, 4]);
}

#[test]
fn an_empty_batch_gives_empty_outputs_and_zero_gradients() {
    Case::new([0, 2, 3, 1], &[[5, 3, 1, 1, 0], [5, 3, 1, 1, 0]]).check(&REALS);
    Case::new([0, 3, 3, 3], &[[5, 3, 1, 1, 0], [5, 3, 1, 1, 0]]).check(&REALS);
}

#[test]
fn gradients_agree_with_finite_differences() {
    let case = Case::new([2, 4, 6, 2], &[[7, 3, 2, 1, 1], [6, 2, 1, 2, 0]]);
    let [data, weight, out] = case.shapes();
    let attrs = case.attrs(true);
    let inputs = [
        Tensor::noise(&data, 1),
        Tensor::noise(&weight, 2),
        Tensor::noise(&[6], 3),
    ];
    let head = Tensor::noise(&out, 4);
    let back = [head.clone(), inputs[0].clone(), inputs[1].clone()];
    let got = run(
        "_backward_Convolution",
        &attrs,
        &back,
        &[&data, &weight, &[6]],
    );
    let forward = |x: &[Tensor]| run("Convolution", &attrs, x, &[&out]).remove(0);
    check_gradient(
        forward,
        &inputs,
        &head,
        &[(0, &got[0]), (1, &got[1]), (2, &got[2])],
        "convolution",
    );
}

/// Where single precision goes Winograd's way, against double precision, which never does.
#[test]
fn minimal_filtering_is_near_double_precision() {
    // Whole tiles and rests of them, every padding, one image and several, panels of both widths.
    for case in [
        Case::new([32, 32, 32, 1], &[[16, 3, 1, 1, 1], [16, 3, 1, 1, 1]]),
        Case::new([8, 64, 96, 1], &[[14, 3, 1, 1, 0], [15, 3, 1, 1, 2]]),
        Case::new([2, 48, 64, 1], &[[57, 3, 1, 1, 2], [31, 3, 1, 1, 0]]),
        Case::new([1, 128, 80, 1], &[[41, 3, 1, 1, 1], [38, 3, 1, 1, 1]]),
        Case::new([16, 512, 128, 1], &[[7, 3, 1, 1, 1], [7, 3, 1, 1, 1]]),
        // Tiles of one task, whose weights are transformed piece by piece: forward and back.
        Case::new([8, 144, 512, 1], &[[7, 3, 1, 1, 1], [7, 3, 1, 1, 1]]),
        Case::new([8, 512, 144, 1], &[[7, 3, 1, 1, 1], [7, 3, 1, 1, 1]]),
    ] {
        let [data, weight, out] = case.shapes();
        let (x, w) = (Tensor::noise(&data, 1), Tensor::noise(&weight, 2));
        let (b, head) = (Tensor::noise(&[case.filters], 3), Tensor::noise(&out, 4));
        let filled = |s: &[usize]| Tensor::noise(s, 9);
        let forward = (
            "Convolution",
            vec![x.clone(), w.clone(), b],
            vec![filled(&out)],
        );
        let sizes = [&data[..], &weight, &[case.filters]];
        let results = sizes.map(filled).to_vec();
        let backward = ("_backward_Convolution", vec![head, x, w], results);
        for (name, inputs, outputs) in [forward, backward] {
            for req in [Req::Write, Req::Add] {
                let [single, double] = [DType::F32, DType::F64].map(|dtype| {
                    let setup = Setup {
                        dtype,
                        reqs: vec![req; outputs.len()],
                        alias: vec![],
                    };
                    run_with(&setup, name, &case.attrs(true), &inputs, &outputs)
                });
                for (single, double) in single.iter().zip(&double) {
                    let most = double.data.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
                    let pairs = single.data.iter().zip(&double.data);
                    let error = pairs.fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
                    assert!(error <= 3e-5 * most, "{case:?} {name}: {error} of {most}");
                }
            }
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    for case in [
        Case::new([16, 16, 20, 1], &[[16, 3, 1, 1, 1], [16, 3, 1, 1, 1]]),
        Case::new([5, 64, 64, 2], &[[14, 3, 2, 1, 1], [14, 3, 2, 1, 1]]),
        Case::new([8, 128, 64, 1], &[[9, 1, 1, 1, 0], [9, 1, 1, 1, 0]]),
        Case::new([8, 128, 160, 1], &[[20, 1, 1, 1, 0], [21, 1, 1, 1, 0]]),
        Case::new([4, 64, 96, 1], &[[29, 1, 2, 1, 0], [30, 1, 2, 1, 0]]),
        Case::new([4, 32, 32, 32], &[[28, 3, 2, 1, 1], [28, 3, 2, 1, 1]]),
        Case::new([6, 24, 40, 1], &[[20, 3, 1, 1, 1], [21, 3, 1, 1, 1]]),
        Case::new([4, 64, 64, 1], &[[30, 3, 1, 1, 1], [31, 3, 1, 1, 1]]),
        // Few positions, for which filters are shared out.
        Case::new([1, 512, 500, 1], &[[7, 1, 1, 1, 0], [7, 1, 1, 1, 0]]),
        Case::new([1, 256, 203, 1], &[[7, 3, 1, 1, 1], [6, 3, 1, 1, 1]]),
        Case::new([1, 512, 512, 1], &[[7, 1, 1, 1, 0], [7, 1, 1, 1, 0]]),
        Case::new([1, 256, 256, 2], &[[14, 3, 2, 1, 1], [14, 3, 2, 1, 1]]),
        // Images side by side; weights that are transformed piece by piece.
        Case::new([32, 20, 30, 1], &[[8, 5, 1, 1, 0], [9, 5, 1, 1, 0]]),
        Case::new([8, 512, 512, 1], &[[7, 3, 1, 1, 1], [7, 3, 1, 1, 1]]),
        // Three blocks of positions, and a small one.
        Case::new([8, 256, 512, 1], &[[7, 1, 1, 1, 0], [7, 1, 1, 1, 0]]),
    ] {
        let [data, weight, out] = case.shapes();
        let (x, w, b) = (
            Tensor::noise(&data, 1),
            Tensor::noise(&weight, 2),
            Tensor::noise(&[case.filters], 3),
        );
        let head = Tensor::noise(&out, 4);
        let attrs = case.attrs(true);
        check_threads(
            DType::F32,
            "Convolution",
            &attrs,
            &[x.clone(), w.clone(), b],
            &[&out],
        );
        let shapes: [&[usize]; 3] = [&data, &weight, &[case.filters]];
        check_threads(
            DType::F32,
            "_backward_Convolution",
            &attrs,
            &[head, x, w],
            &shapes,
        );
    }
}

#[test]
fn misfits_are_explained() {
    let case = Case::new([2, 3, 4, 1], &[[5, 3, 1, 1, 0]]);
    let [data, weight, out] = case.shapes().map(|s| Desc::new(&s, DType::F32));
    let attrs = case.attrs(false);
    let wrong = Desc::new(&[4, 2, 3], DType::F32);
    let e = prepare_error(
        "Convolution",
        &attrs,
        &[data.clone(), wrong],
        std::slice::from_ref(&out),
    );
    assert!(e.contains("weight") && e.contains("[4, 3, 3]"), "{e}");
    let ints = [data, weight].map(|d| Desc::new(&d.shape, DType::I32));
    let e = prepare_error(
        "Convolution",
        &attrs,
        &ints,
        &[Desc::new(&out.shape, DType::I32)],
    );
    assert!(e.contains("int32") && e.contains("float32, float64"), "{e}");
    let big = Case {
        kernel: vec![9],
        ..case
    };
    let e = prepare_error(
        "Convolution",
        &big.attrs(false),
        &[
            Desc::new(&[2, 3, 5], DType::F32),
            Desc::new(&[4, 3, 9], DType::F32),
        ],
        &[out],
    );
    assert!(e.contains("kernel of 9") && e.contains("axis of 5"), "{e}");
}
