//! Sums of any number of tensors, under every request.

#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

use ferromix_base::DType;
use ferromix_kernels::{Attrs, Call, Desc, Req, View, find};

/// The sum of `inputs` onto `out`.
fn sum(inputs: &mut [[f32; 2]], mut out: [f32; 2], req: Req) -> [f32; 2] {
    let desc = Desc::new(&[2], DType::F32);
    let descs = vec![desc.clone(); inputs.len()];
    let row = find("add_n").unwrap();
    let kernel = (row.prepare)(&Attrs::default(), &descs, &[desc]).unwrap();
    let views: Vec<View> = inputs
        .iter_mut()
        .map(|x| View::of_slice(x, &[2]).unwrap())
        .collect();
    kernel
        .run(&mut Call {
            inputs: &views,
            outputs: &mut [View::of_slice(&mut out, &[2]).unwrap()],
            reqs: &[req],
            workspace: &mut [],
            scalars: &[],
            random: None,
            kept: None,
        })
        .unwrap();
    out
}

#[test]
fn sums_any_number_under_every_request() {
    let old = [100.0, 200.0];
    for n in 1..5u8 {
        let total = f32::from((1..=n).sum::<u8>());
        let mut inputs: Vec<[f32; 2]> = (1..=n).map(|i| [f32::from(i), -1.0]).collect();
        let plain = [total, -f32::from(n)];
        assert_eq!(sum(&mut inputs, old, Req::Write), plain);
        assert_eq!(sum(&mut inputs, old, Req::Null), old);
        assert_eq!(
            sum(&mut inputs, old, Req::Add),
            [old[0] + plain[0], old[1] + plain[1]]
        );
    }
}

#[test]
fn refuses_nothing_and_mixed_types() {
    let (a, b) = (Desc::new(&[2], DType::F32), Desc::new(&[2], DType::F64));
    let prepare = find("add_n").unwrap().prepare;
    assert!(prepare(&Attrs::default(), &[], std::slice::from_ref(&a)).is_err());
    let mixed = prepare(&Attrs::default(), &[a.clone(), b], &[a])
        .err()
        .unwrap();
    assert!(mixed.to_string().contains("add_n"), "{mixed}");
}
