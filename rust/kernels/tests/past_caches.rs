//! Outputs so large that they go past the caches, of odd extents and at odd places.

#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

mod tensor_support;
use ferromix_base::DType;
use ferromix_kernels::{Attrs, Req, Value, View};
use tensor_support::{Layout, Rng, Tensor, random, run, run_views};

/// `-x` of a matrix of so many rows and columns, from and to memory that begins `skip` elements late
/// and has rows of `pitch`.
fn negative(rows: usize, columns: usize, pitch: usize, skip: usize) {
    let len = skip + rows * pitch;
    let mut input: Vec<f32> = (0..len).map(|i| (i % 8191) as f32 - 4000.0).collect();
    let mut output = vec![7.0f32; len];
    let view = |memory: &mut [f32]| {
        let start = memory[skip..].as_mut_ptr().cast();
        let strides = [pitch as isize, 1];
        // SAFETY: the rows lie within the vector, which outlives the view.
        unsafe {
            View::from_raw(
                start,
                DType::F32,
                [rows, columns][..].into(),
                strides[..].into(),
            )
        }
    };
    let (from, to) = (view(&mut input), view(&mut output));
    run_views(
        "negative",
        &Attrs::default(),
        &[from],
        &mut [to],
        &[Req::Write],
        None,
    )
    .unwrap();
    for (i, (&y, &x)) in output.iter().zip(&input).enumerate() {
        let inside = i >= skip && (i - skip) % pitch < columns;
        assert_eq!(y, if inside { -x } else { 7.0 }, "at {i}");
    }
}

#[test]
fn rows_with_gaps_are_whole() {
    for (rows, columns, pitch, skip) in [(1, 4_500_001, 4_500_001, 3), (5000, 1111, 1113, 1)] {
        negative(rows, columns, pitch, skip);
    }
}

/// A copy of `data` to `shape`, each element compared with the one at the position that `from` says.
fn check_copy(
    (operator, attrs): (&str, &Attrs),
    data: &mut Tensor,
    shape: &[usize],
    from: impl Fn(usize) -> usize,
) {
    let mut out = Tensor::zeros(data.dtype, shape, Layout::Plain);
    run(operator, attrs, &mut [data], &mut out, Req::Write).unwrap();
    let wrong = (0..out.len()).find(|&i| out.get(i) != data.get(from(i)));
    assert_eq!(wrong, None, "{operator}, {:?}", data.dtype);
}

/// Elements of an output of so many bytes, at least.
fn rows(dtype: DType, columns: usize) -> usize {
    (17 << 20) / dtype.size() / columns + 1
}

const TYPES: [DType; 4] = [DType::U8, DType::F16, DType::F32, DType::F64];

#[test]
fn every_second_element_and_backwards() {
    let mut rng = Rng(3);
    let columns = 1507;
    for dtype in TYPES {
        let rows = rows(dtype, columns);
        let shape = [rows, columns];
        let mut wide = random(dtype, &[rows, 2 * columns], Layout::Plain, &mut rng);
        let ints = |all: &[i64]| Value::Ints(all.to_vec());
        let attrs = Attrs::from([
            ("begin", ints(&[0, 1])),
            ("end", ints(&[rows as i64, 2 * columns as i64])),
            ("step", ints(&[1, 2])),
        ]);
        let second = |i: usize| i / columns * 2 * columns + i % columns * 2 + 1;
        check_copy(("slice", &attrs), &mut wide, &shape, second);
        let mut data = random(dtype, &shape, Layout::Plain, &mut rng);
        let attrs = Attrs::from([("axis", ints(&[1]))]);
        let mirrored = |i: usize| i / columns * columns + columns - 1 - i % columns;
        check_copy(("reverse", &attrs), &mut data, &shape, mirrored);
    }
}

#[test]
fn repetitions() {
    let mut rng = Rng(5);
    for (i, dtype) in TYPES.into_iter().enumerate() {
        for times in [2 + i, 5 - i] {
            let columns = 733;
            let rows = rows(dtype, times * columns);
            let mut data = random(dtype, &[rows, columns], Layout::Plain, &mut rng);
            let attrs = Attrs::from([
                ("repeats", Value::Int(times as i64)),
                ("axis", Value::Int(1)),
            ]);
            let shape = [rows, times * columns];
            check_copy(("repeat", &attrs), &mut data, &shape, |i| i / times);
        }
    }
}

/// A transposition to memory that begins `skip` elements after a cache line's start.
fn transposed(rows: usize, columns: usize, skip: usize) {
    let mut input: Vec<u32> = (0..rows * columns).map(|i| i as u32).collect();
    let mut output = vec![7u32; input.len() + 32];
    let start = output.as_ptr().align_offset(64) + skip;
    let shapes = [[rows, columns], [columns, rows]];
    let [from, to] =
        [(input.as_mut_ptr(), 0), (output[start..].as_mut_ptr(), 1)].map(|(ptr, i)| {
            let strides = [shapes[i][1] as isize, 1];
            // SAFETY: the elements lie within the vectors, which outlive the views.
            unsafe {
                View::from_raw(
                    ptr.cast(),
                    DType::I32,
                    shapes[i][..].into(),
                    strides[..].into(),
                )
            }
        });
    let attrs = Attrs::from([("axes", Value::Ints(vec![]))]);
    run_views("transpose", &attrs, &[from], &mut [to], &[Req::Write], None).unwrap();
    let end = start + rows * columns;
    let wrong = output[start..end]
        .iter()
        .enumerate()
        .find(|&(i, &y)| y as usize != i % rows * columns + i / rows);
    assert_eq!(wrong, None, "{rows} x {columns}, {skip}");
    let around = output[..start].iter().chain(&output[end..]);
    assert!(around.into_iter().all(|&x| x == 7));
}

#[test]
fn transpositions() {
    transposed(2080, 2304, 0);
    transposed(2080, 2311, 0);
    transposed(2304, 2080, 5);
    transposed(2093, 2311, 0);
}
