//! Hands the CUDA sources, and the host's, to the wheel, which takes them from here (see `include` in
//! `pyproject.toml`): they lie at the top of the repository, outside the Python package.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// CUDA, and what compiles it for the host where no GPU is.
const TAKEN: [&str; 4] = ["cu", "cuh", "h", "cpp"];

fn main() -> io::Result<()> {
    let variable = |name: &str| env::var_os(name).map(PathBuf::from).unwrap_or_default();
    let sources = variable("CARGO_MANIFEST_DIR").join("../../kernels");
    let target = variable("OUT_DIR").join("kernels");
    println!("cargo::rerun-if-changed={}", sources.display());
    // What was removed at the source must not stay in the wheel.
    if target.exists() {
        fs::remove_dir_all(&target)?;
    }
    copy(&sources, &target)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&from, &to)?;
        } else if from
            .extension()
            .is_some_and(|e| TAKEN.iter().any(|t| e == *t))
        {
            fs::copy(&from, &to)?;
        }
    }
    Ok(())
}
