//! `.params` files against those of MXNet 1.9.1 under `tests/golden/params`.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod common;

use common::{Folder, golden, values};
use ferromix_base::{DType, ErrorKind};
use ferromix_io::{Entry, Params, params_bytes, read_params, read_params_bytes, write_params};

const NUMBERS: [DType; 7] = [
    DType::F32,
    DType::F64,
    DType::F16,
    DType::U8,
    DType::I32,
    DType::I8,
    DType::I64,
];

fn check(params: &Params, expected: &[(&str, DType, &[usize])]) {
    assert_eq!(params.tensors.len(), expected.len());
    for (tensor, (_, dtype, shape)) in params.tensors.iter().zip(expected) {
        assert_eq!((tensor.dtype, &tensor.shape[..]), (*dtype, *shape));
        assert_eq!(
            tensor.data,
            values(*dtype, shape.iter().product()),
            "{dtype}"
        );
    }
}

fn entries(params: &Params) -> Vec<Entry<'_>> {
    let name = |i| params.names.get(i).map_or("", String::as_str);
    let entry = |(i, t)| {
        let tensor: &ferromix_io::Tensor = t;
        (name(i), tensor.dtype, &tensor.shape[..], &tensor.data[..])
    };
    params.tensors.iter().enumerate().map(entry).collect()
}

fn rewritten(name: &str, named: bool) {
    let params = read_params(golden(name)).unwrap();
    let folder = Folder::new(name);
    write_params(folder.file("again"), &entries(&params), named).unwrap();
    let again = std::fs::read(folder.file("again")).unwrap();
    assert_eq!(again, std::fs::read(golden(name)).unwrap(), "{name}");
    assert_eq!(again, params_bytes(&entries(&params), named).unwrap());
}

#[test]
fn lists_of_version_2_are_read_and_written_as_by_mxnet() {
    let params = read_params(golden("v2_list.params")).unwrap();
    assert!(params.names.is_empty());
    check(
        &params,
        &[("", DType::F32, &[2, 3]), ("", DType::I64, &[1])],
    );
    rewritten("v2_list.params", false);
    assert_eq!(
        read_params(golden("v2_empty.params")).unwrap(),
        Params::default()
    );
    rewritten("v2_empty.params", false);
}

#[test]
fn dictionaries_of_version_2_are_read_and_written_as_by_mxnet() {
    let params = read_params(golden("v2_dict.params")).unwrap();
    let dtypes = NUMBERS.into_iter().chain([DType::Bool]);
    let names: Vec<String> = dtypes.clone().map(|dtype| format!("arg:{dtype}")).collect();
    assert_eq!(params.names, names);
    let expected: Vec<_> = dtypes.map(|dtype| ("", dtype, &[2, 1, 4][..])).collect();
    check(&params, &expected);
    rewritten("v2_dict.params", true);
}

#[test]
fn bfloat16_is_read_and_written() {
    let params = read_params(golden("v2_bfloat16.params")).unwrap();
    assert_eq!(params.names, ["b"]);
    check(&params, &[("b", DType::BF16, &[2, 3])]);
    rewritten("v2_bfloat16.params", true);
}

#[test]
fn version_3_holds_scalars_and_empty_arrays() {
    let params = read_params(golden("v3_dict.params")).unwrap();
    assert_eq!(params.names, ["scalar", "none", "matrix"]);
    let f32 = DType::F32;
    check(
        &params,
        &[("", f32, &[]), ("", f32, &[0, 3]), ("", f32, &[2, 3])],
    );
    rewritten("v3_dict.params", true);
}

#[test]
fn versions_0_and_1_are_read() {
    let expected: Vec<_> = NUMBERS.map(|dtype| ("", dtype, &[2, 3][..])).to_vec();
    let v0 = read_params(golden("v0_dict.params")).unwrap();
    check(&v0, &expected);
    assert_eq!(v0.names, NUMBERS.map(|dtype| format!("arg:{dtype}")));
    let v1 = read_params(golden("v1_list.params")).unwrap();
    check(&v1, &expected);
    assert!(v1.names.is_empty());
}

#[test]
fn empty_arrays_need_no_version_3() {
    let bytes = params_bytes(&[("e", DType::F16, &[2, 0, 5], &[])], true).unwrap();
    assert_eq!(bytes[24..28], 0xF993_FAC9u32.to_le_bytes());
    let back = read_params_bytes("e", &bytes).unwrap();
    assert_eq!(
        (&back.tensors[0].shape[..], back.tensors[0].data.len()),
        (&[2, 0, 5][..], 0)
    );
}

#[test]
fn sparse_arrays_are_refused_by_name() {
    for (file, kind) in [
        ("v2_row_sparse.params", "row_sparse"),
        ("v2_csr.params", "csr"),
    ] {
        let error = read_params(golden(file)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        let message = error.to_string();
        for part in [
            file,
            "at byte 28",
            kind,
            "tostype('default')",
            "array 0 of 1",
        ] {
            assert!(message.contains(part), "{part} not in: {message}");
        }
    }
}

#[test]
fn what_does_not_fit_is_not_written() {
    let folder = Folder::new("refused");
    let path = folder.file("x.params");
    let wrong = write_params(&path, &[("w", DType::F32, &[2, 3], &[0; 23])], true).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "array 'w': 23 bytes are no float32 array of shape [2, 3]"
    );
    let deep = write_params(&path, &[("w", DType::U8, &[1; 33], &[0])], true).unwrap_err();
    assert!(deep.to_string().contains("33 dimensions"), "{deep}");
    assert_eq!(deep.kind(), ErrorKind::Value);
    assert!(folder.listing().is_empty());
}

#[test]
fn a_missing_file_is_named() {
    let error = read_params("/no/such/file.params").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(
        error.to_string().contains("/no/such/file.params"),
        "{error}"
    );
}
