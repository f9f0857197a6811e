//! What the tests of the formats share.
#![allow(dead_code, reason = "each test program uses a part")]
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use ferromix_base::{DType, Element, bf16, f16};
use std::path::PathBuf;
use std::process::Command;

/// A file under `tests/golden/params`.
pub(crate) fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/golden/params")
        .join(name)
}

/// How many random files a test tries: `FERROMIX_CASES`, or as many as it usually does.
pub(crate) fn cases(usual: u32) -> u32 {
    let given = std::env::var("FERROMIX_CASES").ok();
    given.and_then(|count| count.parse().ok()).unwrap_or(usual)
}

/// A folder for one test, removed when it ends.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("ferromix-io-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A pipe of that name.
    pub(crate) fn pipe(&self, name: &str) -> PathBuf {
        let path = self.file(name);
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        path
    }

    pub(crate) fn listing(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The bytes of the golden array of `count` elements, by the rule in
/// `tools/golden/make_params.py`.
pub(crate) fn values(dtype: DType, count: usize) -> Vec<u8> {
    fn all<T: Element, const N: usize>(
        count: usize,
        value: impl Fn(f32) -> T,
        bytes: impl Fn(T) -> [u8; N],
    ) -> Vec<u8> {
        (0..count).flat_map(|i| bytes(value(i as f32))).collect()
    }
    match dtype {
        DType::F32 => all(count, |i| (i - 3.0) / 4.0, f32::to_ne_bytes),
        DType::F64 => all(count, |i| f64::from(i - 3.0) / 4.0, f64::to_ne_bytes),
        DType::F16 => all(count, |i| f16::from_f32((i - 3.0) / 4.0), f16::to_ne_bytes),
        DType::BF16 => all(
            count,
            |i| bf16::from_f32((i - 3.0) / 4.0),
            bf16::to_ne_bytes,
        ),
        DType::U8 => all(count, |i| i as u8, u8::to_ne_bytes),
        DType::I8 => all(count, |i| i as i8 - 3, i8::to_ne_bytes),
        DType::I32 => all(count, |i| i as i32 - 3, i32::to_ne_bytes),
        DType::I64 => all(count, |i| i as i64 - 3, i64::to_ne_bytes),
        DType::Bool => all(count, |i| i as u8 % 2, u8::to_ne_bytes),
    }
}
