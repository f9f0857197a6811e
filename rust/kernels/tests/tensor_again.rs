//! A kernel keeps the plan of its first run: runs on operands that lie otherwise must not follow it.

#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

mod tensor_support;
use ferromix_base::DType;
use ferromix_kernels::{Attrs, Call, Desc, Kernel, Req, Value, find};
use tensor_support::*;

const ROWS: usize = 6;
const COLUMNS: usize = 10;
const ROUNDS: usize = 200;

/// An operator whose kernel runs again and again.
struct Case {
    name: &'static str,
    attrs: Attrs,
    inputs: Vec<Vec<usize>>,
    output: Vec<usize>,
    /// The result at a position of the output.
    want: fn(&[Tensor], usize) -> f64,
}

fn case(
    name: &'static str,
    attrs: &[(&str, Value)],
    inputs: &[&[usize]],
    output: &[usize],
    want: fn(&[Tensor], usize) -> f64,
) -> Case {
    let attrs = attrs
        .iter()
        .map(|(key, value)| ((*key).to_string(), value.clone()));
    Case {
        name,
        attrs: Attrs::new(attrs.collect()),
        inputs: inputs.iter().map(|shape| shape.to_vec()).collect(),
        output: output.to_vec(),
        want,
    }
}

fn cases() -> Vec<Case> {
    let (matrix, row) = ([ROWS, COLUMNS], [COLUMNS]);
    let none = Value::None;
    let range = |name: &'static str, of: [i64; 2]| (name, Value::Ints(of.to_vec()));
    vec![
        case("broadcast_add", &[], &[&matrix, &row], &matrix, |x, p| {
            x[0].get(p) + x[1].get(p % COLUMNS)
        }),
        case("negative", &[], &[&matrix], &matrix, |x, p| -x[0].get(p)),
        case(
            "transpose",
            &[("axes", Value::Ints(vec![1, 0]))],
            &[&matrix],
            &[COLUMNS, ROWS],
            |x, p| x[0].get(p % ROWS * COLUMNS + p / ROWS),
        ),
        case(
            "slice",
            &[
                range("begin", [1, 0]),
                range("end", [6, 10]),
                range("step", [1, 2]),
            ],
            &[&matrix],
            &[ROWS - 1, COLUMNS / 2],
            |x, p| x[0].get((1 + p / 5) * COLUMNS + p % 5 * 2),
        ),
        case(
            "sum",
            &[("axis", Value::Int(0)), ("exclude", Value::Bool(false))],
            &[&matrix],
            &row,
            |x, p| (0..ROWS).map(|i| x[0].get(i * COLUMNS + p)).sum(),
        ),
        case("max", &[("axis", none)], &[&matrix], &[1], |x, _| {
            x[0].values().into_iter().fold(f64::MIN, f64::max)
        }),
    ]
}

fn layout(rng: &mut Rng) -> Layout {
    // Plain ones are the commonest, so that kept plans are followed, too.
    LAYOUTS[rng.below(6) % 4 * usize::from(rng.below(2) == 0)]
}

fn run(kernel: &dyn Kernel, inputs: &mut [Tensor], output: &mut Tensor, req: Req) {
    let inputs: Vec<_> = inputs.iter_mut().map(Tensor::view).collect();
    let mut call = Call {
        inputs: &inputs,
        outputs: &mut [output.view()],
        reqs: &[req],
        workspace: &mut [],
        scalars: &[],
        random: None,
        kept: None,
    };
    kernel.run(&mut call).unwrap();
}

#[test]
fn a_kernel_follows_the_operands_of_each_run() {
    let mut rng = Rng(7);
    for Case {
        name,
        attrs,
        inputs,
        output,
        want,
    } in cases()
    {
        for first in LAYOUTS {
            let describe = |shape: &Vec<usize>| Desc::new(shape, DType::F32);
            let descs: Vec<Desc> = inputs.iter().map(describe).collect();
            let kernel =
                (find(name).unwrap().prepare)(&attrs, &descs, &[describe(&output)]).unwrap();
            for round in 0..ROUNDS {
                let pick = |rng: &mut Rng| if round == 0 { first } else { layout(rng) };
                let mut x: Vec<Tensor> = inputs
                    .iter()
                    .map(|shape| {
                        let lies = pick(&mut rng);
                        random(DType::F32, shape, lies, &mut rng)
                    })
                    .collect();
                let lies = pick(&mut rng);
                let before = random(DType::F32, &output, lies, &mut rng);
                let mut y = before.clone();
                let req = [Req::Write, Req::Add][usize::from(rng.below(3) == 0)];
                run(&*kernel, &mut x, &mut y, req);
                for p in 0..y.len() {
                    let base = if req == Req::Add { before.get(p) } else { 0.0 };
                    let what = format!("{name}, round {round}, {req:?} at {p}");
                    assert_close(DType::F32, y.get(p), base + want(&x, p), 4.0, 16.0, &what);
                }
            }
        }
    }
}

#[test]
fn a_kernel_follows_an_output_that_becomes_its_input() {
    let desc = Desc::new(&[ROWS, COLUMNS], DType::F32);
    let row = Desc::new(&[COLUMNS], DType::F32);
    let inputs = [desc.clone(), row.clone()];
    let kernel =
        (find("broadcast_add").unwrap().prepare)(&Attrs::default(), &inputs, &[desc]).unwrap();
    let mut rng = Rng(11);
    for round in 0..20 {
        let mut x = random(DType::F32, &[ROWS, COLUMNS], Layout::Plain, &mut rng);
        let mut b = random(DType::F32, &[COLUMNS], Layout::Plain, &mut rng);
        let before = x.clone();
        if round % 2 == 0 {
            let mut y = Tensor::zeros(DType::F32, &[ROWS, COLUMNS], Layout::Plain);
            run(&*kernel, &mut [x, b.clone()], &mut y, Req::Write);
            x = y;
        } else {
            let views = [x.view(), b.view()];
            let mut call = Call {
                inputs: &views,
                outputs: &mut [views[0].clone()],
                reqs: &[Req::Inplace],
                workspace: &mut [],
                scalars: &[],
                random: None,
                kept: None,
            };
            kernel.run(&mut call).unwrap();
        }
        for p in 0..x.len() {
            let want = before.get(p) + b.get(p % COLUMNS);
            assert_close(
                DType::F32,
                x.get(p),
                want,
                1.0,
                0.0,
                &format!("round {round}"),
            );
        }
    }
}
