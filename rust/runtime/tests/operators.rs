//! Prepared and bound operators and plans: requests, aliasing, strides, failures.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A failure to run is a failed test.

use ferromix_base::{Context, DType, Error, ErrorKind};
use ferromix_engine::{Engine, Name, WaitError};
use ferromix_kernels::{Attrs, Desc, Req, Value};
use ferromix_runtime::{
    Array, Binding, Chunk, Plan, Prepared, Private, ReadError, Runtime, Step, read_into, write_from,
};
use ferromix_storage::{Config, HostBackend, Pool};
use std::error::Error as _;
use std::sync::Arc;

const NAME: Name = Name::new("node");

fn runtime() -> Arc<Runtime> {
    let engine = Engine::builder().workers(2).build();
    Runtime::new(
        engine,
        Pool::new(Context::cpu(), HostBackend, Config::default()),
    )
}

fn array(rt: &Arc<Runtime>, shape: &[usize], values: &[f32]) -> Array {
    let array = Array::new(rt, shape, DType::F32).unwrap();
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
    write_from(&array, &bytes, 0).unwrap();
    array
}

fn read(array: &Array) -> Result<Vec<f32>, ReadError> {
    let mut bytes = vec![0; array.len() * 4];
    read_into(array, &mut bytes)?;
    Ok(bytes
        .chunks(4)
        .map(|b| f32::from_ne_bytes(b.try_into().unwrap()))
        .collect())
}

fn values(array: &Array) -> Vec<f32> {
    read(array).unwrap()
}

fn prepare(row: &str, inputs: &[&Array], output: &Array) -> Arc<Prepared> {
    let inputs = inputs.iter().map(|a| a.desc()).collect();
    Prepared::new(row, row, &Attrs::default(), inputs, vec![output.desc()]).unwrap()
}

fn bind(
    prepared: &Arc<Prepared>,
    name: Name,
    inputs: &[Array],
    outputs: &[Option<Array>],
    reqs: &[Req],
) -> ferromix_base::Result<Arc<Binding>> {
    let inputs: Vec<&Array> = inputs.iter().collect();
    let outputs: Vec<Option<&Array>> = outputs.iter().map(Option::as_ref).collect();
    Binding::new(prepared, name, &inputs, &outputs, reqs)
}

fn run(rt: &Arc<Runtime>, row: &str, inputs: &[&Array], output: &Array, req: Req) {
    let prepared = prepare(row, inputs, output);
    let inputs: Vec<Array> = inputs.iter().map(|a| (*a).clone()).collect();
    let bound = bind(&prepared, NAME, &inputs, &[Some(output.clone())], &[req]).unwrap();
    bound.push(rt, 0).unwrap();
}

#[test]
fn requests_write_add_and_leave_alone() {
    let rt = runtime();
    let (a, b) = (
        array(&rt, &[3], &[1.0, 2.0, 3.0]),
        array(&rt, &[3], &[10.0, 20.0, 30.0]),
    );
    let out = array(&rt, &[3], &[100.0; 3]);
    run(&rt, "broadcast_add", &[&a, &b], &out, Req::Add);
    assert_eq!(values(&out), [111.0, 122.0, 133.0]);
    run(&rt, "broadcast_add", &[&a, &b], &out, Req::Null);
    assert_eq!(values(&out), [111.0, 122.0, 133.0]);
    run(&rt, "broadcast_add", &[&a, &b], &out, Req::Write);
    assert_eq!(values(&out), [11.0, 22.0, 33.0]);
    run(&rt, "broadcast_add", &[&a, &b], &a, Req::Inplace);
    assert_eq!(values(&a), [11.0, 22.0, 33.0]);
}

#[test]
fn an_output_over_its_own_input_reads_first() {
    let rt = runtime();
    let whole = array(&rt, &[5], &[1.0, 2.0, 3.0, 4.0, 5.0]);
    let (head, tail) = (
        whole.strided(0, &[4], &[1]).unwrap(),
        whole.strided(1, &[4], &[1]).unwrap(),
    );
    run(&rt, "broadcast_add", &[&head, &tail], &tail, Req::Write);
    assert_eq!(values(&whole), [1.0, 3.0, 5.0, 7.0, 9.0]);
    let square = array(&rt, &[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    run(&rt, "transpose", &[&square], &square, Req::Write);
    assert_eq!(values(&square), [1.0, 3.0, 2.0, 4.0]);
}

#[test]
fn what_was_bound_runs_on_other_arrays() {
    let rt = runtime();
    let make = |v: f32| array(&rt, &[2, 2], &[v; 4]);
    let (a, b, out) = (make(1.0), make(2.0), make(0.0));
    let prepared = prepare("broadcast_add", &[&a, &b], &out);
    let write = [Req::Write];
    let mut bound = Binding::new(&prepared, NAME, &[&a, &b], &[Some(&out)], &write).unwrap();
    bound.push(&rt, 0).unwrap();
    let (c, other) = (make(5.0), make(0.0));
    // Wait for the run, which holds it.
    assert_eq!(values(&out), [3.0; 4]);
    rt.engine().wait_for_all().unwrap();
    let mut rebind = |inputs: [&Array; 2], output: &Array, reqs: &[Req]| {
        Binding::rebind(&mut bound, &inputs, &[Some(output)], reqs, &[]).unwrap()
    };
    assert!(!rebind([&a, &other], &other, &write), "memory overlaps");
    let turned = c.strided(0, &[2, 2], &[1, 2]).unwrap();
    assert!(!rebind([&a, &turned], &other, &write), "other strides");
    assert!(
        !rebind([&a, &c], &turned, &write),
        "other strides of the output"
    );
    assert!(!rebind([&a, &c], &other, &[Req::Add]), "another request");
    assert!(rebind([&b, &c], &other, &write));
    bound.push(&rt, 0).unwrap();
    assert_eq!(values(&other), [7.0; 4]);
    assert_eq!(values(&out), [3.0; 4]);
    let used = bound.clone();
    let again = Binding::rebind(&mut bound, &[&a, &b], &[Some(&out)], &write, &[]);
    assert!(!again.unwrap(), "in use");
    drop(used);
}

#[test]
fn kernels_of_contiguous_memory_take_strided_views() {
    let rt = runtime();
    let base = array(&rt, &[2, 4], &[-1.0, 2.0, -3.0, 4.0, 5.0, -6.0, 7.0, -8.0]);
    let columns = base.strided(0, &[2, 2], &[4, 2]).unwrap();
    let target = array(&rt, &[2, 4], &[0.5; 8]);
    let odd = target.strided(1, &[2, 2], &[4, 2]).unwrap();
    let attrs = Attrs::from([("act_type", Value::Str("relu".to_owned()))]);
    let descs = vec![columns.desc()];
    let relu = Prepared::new("Activation", "Activation", &attrs, descs.clone(), descs).unwrap();
    for (req, expected) in [
        (Req::Write, [0.0, 0.0, 5.0, 7.0]),
        (Req::Add, [0.0, 0.0, 10.0, 14.0]),
    ] {
        let bound = bind(
            &relu,
            NAME,
            std::slice::from_ref(&columns),
            &[Some(odd.clone())],
            &[req],
        )
        .unwrap();
        bound.push(&rt, 0).unwrap();
        assert_eq!(values(&odd), expected);
    }
    assert_eq!(values(&target)[0], 0.5, "the columns between stay");
}

#[test]
fn arrays_that_differ_from_what_was_prepared_are_refused() {
    let rt = runtime();
    let (a, b) = (array(&rt, &[3], &[0.0; 3]), array(&rt, &[2], &[0.0; 2]));
    let prepared = prepare("broadcast_add", &[&a, &a], &a);
    let message = |inputs: &[Array], outputs: &[Option<Array>], reqs: &[Req]| {
        bind(&prepared, NAME, inputs, outputs, reqs)
            .err()
            .unwrap()
            .to_string()
    };
    let both = [a.clone(), b.clone()];
    let found = message(&both, &[Some(a.clone())], &[Req::Write]);
    assert!(
        found.contains("input 1 must be float32 [3], got float32 [2]"),
        "{found}"
    );
    let both = [a.clone(), a.clone()];
    let found = message(&both[..1], &[Some(a.clone())], &[Req::Write]);
    assert!(found.contains("expects 2 inputs, got 1"), "{found}");
    let found = message(&both, &[Some(b)], &[Req::Write]);
    assert!(found.contains("output 0 must be float32 [3]"), "{found}");
    assert!(message(&both, &[Some(a)], &[]).contains("one request"));
    let unknown = Prepared::new("X", "no_such_row", &Attrs::default(), vec![], vec![]);
    assert_eq!(unknown.err().unwrap().kind(), ErrorKind::Internal);
}

/// A convolution whose scratch memory the pool refuses, so that it fails on a worker.
fn failing(rt: &Arc<Runtime>, out: &Array) -> (Arc<Binding>, [Array; 2]) {
    let data = array(rt, &[4, 8, 32, 32], &[1.0; 4 * 8 * 32 * 32]);
    let weight = array(rt, &[8, 8, 5, 5], &[1.0; 1600]);
    let ints = |v: &[i64]| Value::Ints(v.to_vec());
    let attrs = Attrs::from([
        ("kernel", ints(&[5, 5])),
        ("stride", ints(&[])),
        ("dilate", ints(&[])),
        ("pad", ints(&[])),
        ("num_filter", Value::Int(8)),
        ("num_group", Value::Int(1)),
        ("no_bias", Value::Bool(true)),
    ]);
    let inputs = vec![data.desc(), weight.desc()];
    let made = Prepared::new(
        "Convolution",
        "Convolution",
        &attrs,
        inputs,
        vec![out.desc()],
    );
    let outputs = [Some(out.clone())];
    let inputs = [data, weight];
    let bound = bind(&made.unwrap(), NAME, &inputs, &outputs, &[Req::Write]).unwrap();
    (bound, inputs)
}

#[test]
fn a_failure_surfaces_once_at_a_wait_with_its_tag_and_its_own_type() {
    let rt = runtime();
    let out = Array::new(&rt, &[4, 8, 28, 28], DType::F32).unwrap();
    let (bound, _inputs) = failing(&rt, &out);
    rt.engine().wait_for_all().unwrap();
    rt.pool().set_limit(Some(rt.pool().stats().in_use));
    bound.push(&rt, 42).unwrap();
    let Err(ReadError::Wait(WaitError::Failed(failure))) = read(&out) else {
        panic!("the read must report the failure");
    };
    assert_eq!(failure.tag, 42);
    let source = failure
        .source()
        .and_then(|s| s.downcast_ref::<Error>())
        .unwrap();
    assert_eq!(source.kind(), ErrorKind::Memory);
    assert!(source.message().contains("node"), "{source}");
    rt.pool().set_limit(None);
    rt.engine().wait_for_all().unwrap();
    bound.push(&rt, 0).unwrap();
    assert_eq!(values(&out)[0], 200.0, "the same operator works again");
}

#[test]
fn a_plan_pushes_its_ranges_in_order() {
    let rt = runtime();
    let (x, one) = (array(&rt, &[2], &[1.0, 2.0]), array(&rt, &[2], &[1.0, 1.0]));
    let (y, z) = (array(&rt, &[2], &[0.0; 2]), array(&rt, &[2], &[0.0; 2]));
    let add = prepare("broadcast_add", &[&x, &one], &y);
    let step = |from: &Array, to: &Array| {
        let inputs = [from.clone(), one.clone()];
        Step::Kernel(bind(&add, NAME, &inputs, &[Some(to.clone())], &[Req::Write]).unwrap())
    };
    let steps = vec![step(&x, &y), step(&y, &z), step(&z, &x)];
    let plan = Plan::new(&rt, steps, vec![], None);
    assert_eq!(plan.len(), 3);
    plan.run(0..2, 0, None).unwrap();
    assert_eq!((values(&y), values(&z)), (vec![2.0, 3.0], vec![3.0, 4.0]));
    for _ in 0..100 {
        plan.run(0..3, 0, None).unwrap();
    }
    assert_eq!(values(&x), [301.0, 302.0]);
    assert!(plan.run(2..4, 0, None).is_err());
}

/// Through memory that only plans use: one plan leaves there what another one reads, launch after
/// launch, and both may be dropped while that is under way.
#[test]
fn plans_share_private_memory() {
    let rt = runtime();
    let (x, one) = (array(&rt, &[2], &[0.0; 2]), array(&rt, &[2], &[1.0; 2]));
    let add = prepare("broadcast_add", &[&x, &one], &x);
    let buffers: Vec<Array> = (0..2).map(|_| array(&rt, &[2], &[5.0; 2])).collect();
    let token = Array::new(&rt, &[1], DType::U8).unwrap();
    let step = |from: &Array, to: &Array| {
        let inputs = [from.clone(), one.clone()];
        Step::Kernel(bind(&add, NAME, &inputs, &[Some(to.clone())], &[Req::Write]).unwrap())
    };
    let plan = |steps| {
        let private = Private {
            buffers: buffers.clone(),
            token: token.clone(),
        };
        Plan::new(&rt, steps, chunks([&x, &one]), Some(private))
    };
    let there = plan(vec![step(&x, &buffers[0]), step(&buffers[0], &buffers[1])]);
    let back = plan(vec![step(&buffers[1], &buffers[0]), step(&buffers[0], &x)]);
    for _ in 0..200 {
        there.run(0..2, 0, None).unwrap();
        back.run(0..2, 0, None).unwrap();
    }
    drop((there, back, buffers));
    assert_eq!(values(&x), [800.0; 2]);
}

/// What a plan keeps alive.
fn chunks<'a>(arrays: impl IntoIterator<Item = &'a Array>) -> Vec<Chunk> {
    let chunks = arrays.into_iter().map(|array| array.chunk().clone());
    chunks.collect()
}

/// A failure in private memory reaches the next launch that uses it, until a wait has returned it.
#[test]
fn failures_stay_in_private_memory() {
    let rt = runtime();
    let [buffer, y, z] = [(); 3].map(|()| Array::new(&rt, &[4, 8, 28, 28], DType::F32).unwrap());
    let (fails, inputs) = failing(&rt, &buffer);
    let add = prepare("broadcast_add", &[&buffer, &buffer], &y);
    let double = |to: &Array| {
        let inputs = [buffer.clone(), buffer.clone()];
        Step::Kernel(bind(&add, NAME, &inputs, &[Some(to.clone())], &[Req::Write]).unwrap())
    };
    let steps = vec![Step::Kernel(fails), double(&y), double(&z)];
    let private = Private {
        buffers: vec![buffer.clone()],
        token: Array::new(&rt, &[1], DType::U8).unwrap(),
    };
    let plan = Plan::new(&rt, steps, chunks(&inputs), Some(private));
    rt.engine().wait_for_all().unwrap();
    rt.pool().set_limit(Some(rt.pool().stats().in_use));
    plan.run(0..2, 41, None).unwrap();
    plan.run(2..3, 42, None).unwrap();
    let Err(ReadError::Wait(WaitError::Failed(failure))) = read(&z) else {
        panic!("the read must report the failure");
    };
    assert_eq!((failure.name, failure.tag), (NAME, 41));
    rt.pool().set_limit(None);
    plan.run(0..3, 43, None).unwrap();
    assert_eq!(values(&y), values(&z));
    rt.engine().wait_for_all().unwrap();
}

/// As many runs of a kernel in one launch take as many streams as pushes.
#[test]
fn random_steps_of_a_plan_take_the_next_numbers() {
    let rt = runtime();
    let outs: Vec<Array> = (0..4).map(|_| array(&rt, &[50], &[0.0; 50])).collect();
    let attrs = Attrs::from([("low", Value::Float(0.0)), ("high", Value::Float(1.0))]);
    let row = "_random_uniform";
    let prepared = Prepared::new(row, row, &attrs, vec![], vec![outs[0].desc()]).unwrap();
    let bind =
        |out: &Array| bind(&prepared, NAME, &[], &[Some(out.clone())], &[Req::Write]).unwrap();
    let plan = Plan::new(
        &rt,
        vec![Step::Kernel(bind(&outs[0])), Step::Kernel(bind(&outs[1]))],
        chunks(&outs),
        None,
    );
    rt.random().reseed(9);
    plan.run(0..2, 0, None).unwrap();
    let first: Vec<_> = outs[..2].iter().map(values).collect();
    plan.run(0..2, 0, None).unwrap();
    rt.random().reseed(9);
    bind(&outs[2]).push(&rt, 0).unwrap();
    bind(&outs[3]).push(&rt, 0).unwrap();
    assert_eq!(first, outs[2..].iter().map(values).collect::<Vec<_>>());
    bind(&outs[2]).push(&rt, 0).unwrap();
    assert_eq!(values(&outs[2]), values(&outs[0]));
}

#[test]
fn random_numbers_follow_the_order_of_pushes() {
    let rt = runtime();
    let draw = |out: &Array| {
        let attrs = Attrs::from([("low", Value::Float(0.0)), ("high", Value::Float(1.0))]);
        let row = "_random_uniform";
        let prepared = Prepared::new(row, row, &attrs, vec![], vec![out.desc()]).unwrap();
        let bound = bind(&prepared, NAME, &[], &[Some(out.clone())], &[Req::Write]).unwrap();
        bound.push(&rt, 0).unwrap();
    };
    let outs: Vec<Array> = (0..4).map(|_| array(&rt, &[100], &[0.0; 100])).collect();
    rt.random().reseed(3);
    draw(&outs[0]);
    draw(&outs[1]);
    rt.random().reseed(3);
    draw(&outs[2]);
    draw(&outs[3]);
    assert_eq!(values(&outs[0]), values(&outs[2]));
    assert_eq!(values(&outs[1]), values(&outs[3]));
    assert_ne!(values(&outs[0]), values(&outs[1]));
    let desc = Desc::new(&[100], DType::F32);
    assert_eq!(outs[0].desc(), desc);
}
