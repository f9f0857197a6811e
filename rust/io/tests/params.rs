//! `.params` files against those of MXNet 1.9.1 under `tests/golden/params`.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod common;

use common::{Folder, golden, values};
use ferromix_base::{DType, ErrorKind, StorageType};
use ferromix_io::{
    Entry, Params, Part, SparseEntry, Tensor, params_bytes, read_params, read_params_bytes,
    write_params,
};

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

fn part(tensor: &Tensor) -> Part<'_> {
    (tensor.dtype, &tensor.shape, &tensor.data)
}

fn entries(params: &Params) -> Vec<Entry<'_>> {
    let name = |i| params.names.get(i).map_or("", String::as_str);
    let entry = |(i, t)| {
        let tensor: &Tensor = t;
        let sparse = tensor.sparse.as_ref().map(|s| SparseEntry {
            storage: s.storage,
            shape: &s.shape,
            indices: s.indices.iter().map(part).collect(),
        });
        Entry {
            name: name(i),
            values: part(tensor),
            sparse,
        }
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
    let bytes = params_bytes(&[Entry::dense("e", DType::F16, &[2, 0, 5], &[])], true).unwrap();
    assert_eq!(bytes[24..28], 0xF993_FAC9u32.to_le_bytes());
    let back = read_params_bytes("e", &bytes).unwrap();
    assert_eq!(
        (&back.tensors[0].shape[..], back.tensors[0].data.len()),
        (&[2, 0, 5][..], 0)
    );
}

fn int64(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_ne_bytes()).collect()
}

#[test]
fn sparse_arrays_are_read_and_written_as_by_mxnet() {
    // Of shape (4, 2), and one of the values 0, which MXNet does not store.
    let read = |name| read_params(golden(name)).unwrap().tensors.remove(0);
    let nonzero: Vec<u8> = [-0.75_f32, -0.5, -0.25, 0.25, 0.5, 0.75, 1.0]
        .iter()
        .flat_map(|x| x.to_ne_bytes())
        .collect();
    let csr = read("v2_csr.params");
    assert_eq!((&csr.shape[..], &csr.data), (&[7][..], &nonzero));
    let sparse = csr.sparse.unwrap();
    assert_eq!(
        (sparse.storage, &sparse.shape[..]),
        (StorageType::Csr, &[4, 2][..])
    );
    let indices: Vec<_> = sparse.indices.iter().map(part).collect();
    let (indptr, columns) = (int64(&[0, 2, 3, 5, 7]), int64(&[0, 1, 0, 0, 1, 0, 1]));
    let expected = [
        (DType::I64, &[5][..], &indptr[..]),
        (DType::I64, &[7], &columns),
    ];
    assert_eq!(indices, expected);
    rewritten("v2_csr.params", false);

    let rows = read("v2_row_sparse.params");
    assert_eq!(rows.shape[..], [4, 2]);
    assert_eq!(rows.data, values(DType::F32, 8));
    let sparse = rows.sparse.unwrap();
    assert_eq!(
        (sparse.storage, &sparse.shape[..]),
        (StorageType::RowSparse, &[4, 2][..])
    );
    assert_eq!(sparse.indices[0].data, int64(&[0, 1, 2, 3]));
    rewritten("v2_row_sparse.params", false);
}

#[test]
fn a_sparse_array_without_its_indices_is_not_written() {
    let sparse = SparseEntry {
        storage: StorageType::Csr,
        shape: &[2, 2],
        indices: vec![(DType::I64, &[0], &[])],
    };
    let entry = Entry {
        sparse: Some(sparse),
        ..Entry::dense("w", DType::F32, &[0], &[])
    };
    let error = params_bytes(&[entry], true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Value);
    assert!(
        error
            .message()
            .contains("has 1 index arrays; its storage type has 2")
    );
}

#[test]
fn what_does_not_fit_is_not_written() {
    let folder = Folder::new("refused");
    let path = folder.file("x.params");
    let wrong = write_params(
        &path,
        &[Entry::dense("w", DType::F32, &[2, 3], &[0; 23])],
        true,
    )
    .unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "array 'w': 23 bytes are no float32 array of shape [2, 3]"
    );
    let deep =
        write_params(&path, &[Entry::dense("w", DType::U8, &[1; 33], &[0])], true).unwrap_err();
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
