//! Finds the families: writes the table of their rows, so that a new one is a file and its line in the
//! `mod.rs` of its folder.

use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=src/ops");
    let mut rows = String::new();
    let mut groups: Vec<_> = fs::read_dir("src/ops")?.collect::<io::Result<_>>()?;
    groups.sort_by_key(fs::DirEntry::path);
    for group in groups.iter().filter(|entry| entry.path().is_dir()) {
        let name = group.file_name();
        let text = fs::read_to_string(group.path().join("mod.rs"))?;
        for line in text.lines() {
            let family = line.strip_prefix("pub(crate) mod ");
            if let Some(family) = family.and_then(|rest| rest.strip_suffix(';')) {
                let path = format!("crate::ops::{}::{family}", name.display());
                rows += &format!("    {path}::ROWS,\n");
            }
        }
    }
    let path = format!("{}/families.rs", env::var("OUT_DIR").unwrap_or_default());
    fs::write(path, format!("&[\n{rows}]\n"))
}
