//! Arrays, views and copies against index arithmetic done by hand.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A failure to run is a failed test.

use ferromix_base::{Context, DType, ErrorKind};
use ferromix_engine::Engine;
use ferromix_runtime::{Array, Runtime, copy, read_into, write_from};
use ferromix_storage::{Config, HostBackend, Pool};
use std::sync::Arc;

fn runtime() -> Arc<Runtime> {
    let engine = Engine::builder().workers(2).build();
    Runtime::new(
        engine,
        Pool::new(Context::cpu(), HostBackend, Config::default()),
    )
}

fn filled(rt: &Arc<Runtime>, shape: &[usize]) -> Array {
    let array = Array::new(rt, shape, DType::I32).unwrap();
    let values: Vec<u8> = (0..array.len() as i32).flat_map(i32::to_ne_bytes).collect();
    write_from(&array, &values, 0).unwrap();
    array
}

fn values(array: &Array) -> Vec<i32> {
    let mut bytes = vec![0; array.len() * 4];
    read_into(array, &mut bytes).unwrap();
    bytes
        .chunks(4)
        .map(|b| i32::from_ne_bytes(b.try_into().unwrap()))
        .collect()
}

#[test]
fn strided_views_pick_the_elements_that_their_strides_name() {
    let rt = runtime();
    let a = filled(&rt, &[3, 4]);
    let column = a.strided(1, &[3], &[4]).unwrap();
    assert_eq!(values(&column), [1, 5, 9]);
    let backwards = column.strided(8, &[3], &[-4]).unwrap();
    assert_eq!(values(&backwards), [9, 5, 1]);
    let reversed = a.strided(11, &[12], &[-1]).unwrap();
    assert_eq!(values(&reversed), (0..12).rev().collect::<Vec<_>>());
    let repeated = a.strided(2, &[2, 3], &[0, 1]).unwrap();
    assert_eq!(values(&repeated), [2, 3, 4, 2, 3, 4]);
    assert_eq!(values(&a.strided(5, &[], &[]).unwrap()), [5]);
    assert!(values(&a.strided(99, &[0, 2], &[5, 5]).unwrap()).is_empty());
}

#[test]
fn views_cannot_leave_the_memory() {
    let rt = runtime();
    let a = filled(&rt, &[3, 4]);
    let last = a.strided(8, &[4], &[1]).unwrap();
    for (offset, shape, strides) in [
        (9isize, &[4usize][..], &[1isize][..]),
        (-1, &[1], &[1]),
        (0, &[2], &[-1]),
        (0, &[4, 4], &[4, 1]),
        (isize::MAX, &[2], &[1]),
        (0, &[usize::MAX / 2], &[4]),
        (0, &[2], &[isize::MAX]),
        (0, &[2, 2], &[1]),
    ] {
        let error = a.strided(offset, shape, strides).err().unwrap();
        assert_eq!(
            error.kind(),
            ErrorKind::Value,
            "{offset} {shape:?} {strides:?}"
        );
    }
    assert!(
        last.strided(-8, &[12], &[1]).is_ok(),
        "back to the start of the memory"
    );
    assert!(last.strided(1, &[4], &[1]).is_err());
}

#[test]
fn reshape_shares_memory_and_refuses_gaps() {
    let rt = runtime();
    let a = filled(&rt, &[3, 4]);
    let flat = a.reshape(&[12]).unwrap();
    write_from(
        &flat.strided(0, &[1], &[1]).unwrap(),
        &77i32.to_ne_bytes(),
        0,
    )
    .unwrap();
    assert_eq!(values(&a)[0], 77);
    assert!(a.reshape(&[5]).is_none());
    assert!(
        a.strided(0, &[3, 2], &[4, 1])
            .unwrap()
            .reshape(&[6])
            .is_none()
    );
}

#[test]
fn cast_views_reread_the_same_bytes() {
    let rt = runtime();
    let a = filled(&rt, &[2]);
    let bytes = a.cast_view(DType::U8, &[8]).unwrap();
    let mut found = [0; 8];
    read_into(&bytes, &mut found).unwrap();
    assert_eq!(found[4..], 1i32.to_ne_bytes());
    assert!(a.cast_view(DType::F64, &[2]).is_err());
}

#[test]
fn copies_cast_broadcast_and_survive_overlap() {
    let rt = runtime();
    let a = filled(&rt, &[3]);
    let wide = Array::new(&rt, &[2, 3], DType::F64).unwrap();
    copy(&a, &wide, 0).unwrap();
    let mut bytes = vec![0; 48];
    read_into(&wide, &mut bytes).unwrap();
    let found: Vec<f64> = bytes
        .chunks(8)
        .map(|b| f64::from_ne_bytes(b.try_into().unwrap()))
        .collect();
    assert_eq!(found, [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]);

    let b = filled(&rt, &[6]);
    let (head, tail) = (
        b.strided(0, &[5], &[1]).unwrap(),
        b.strided(1, &[5], &[1]).unwrap(),
    );
    copy(&head, &tail, 0).unwrap();
    assert_eq!(values(&b), [0, 0, 1, 2, 3, 4]);

    let error = copy(&a, &b, 0).err().unwrap();
    assert!(
        error.message().contains("[3]") && error.message().contains("[6]"),
        "{error}"
    );
}

#[test]
fn bytes_are_written_in_order_with_the_operations_around_them() {
    let rt = runtime();
    let a = filled(&rt, &[1]);
    let b = Array::new(&rt, &[1], DType::I32).unwrap();
    for i in 0..1000i32 {
        write_from(&a, &i.to_ne_bytes(), 0).unwrap();
        copy(&a, &b, 0).unwrap();
        write_from(&a, &(-1i32).to_ne_bytes(), 0).unwrap();
        assert_eq!(values(&b), [i]);
    }
}

#[test]
fn buffers_of_another_size_are_refused() {
    let rt = runtime();
    let a = filled(&rt, &[3]);
    let error = write_from(&a, &[0; 11], 0).err().unwrap();
    assert!(
        error.message().contains("12 bytes") && error.message().contains("11"),
        "{error}"
    );
    assert!(read_into(&a, &mut [0; 13]).is_err());
    assert!(Array::new(&rt, &[usize::MAX, 2], DType::U8).is_err());
    assert!(Array::new(&rt, &[isize::MAX as usize], DType::F64).is_err());
}

#[test]
fn bools_hold_nothing_but_zero_and_one() {
    let rt = runtime();
    let a = Array::new(&rt, &[4], DType::Bool).unwrap();
    write_from(&a, &[0, 1, 2, 255], 0).unwrap();
    let mut found = [9; 4];
    read_into(&a, &mut found).unwrap();
    assert_eq!(found, [0, 1, 1, 1]);
}

#[test]
fn memory_goes_back_after_the_last_user() {
    let rt = runtime();
    for _ in 0..100 {
        let a = filled(&rt, &[1024]);
        let b = Array::new(&rt, &[1024], DType::I32).unwrap();
        copy(&a, &b, 0).unwrap();
    }
    rt.engine().wait_for_all().unwrap();
    assert_eq!(rt.pool().stats().in_use, 0);
}
