//! What must not compile, and what is said about it.
#![cfg(not(any(loom, shuttle)))]

#[test]
fn what_would_be_unsound_does_not_compile() {
    // The texts are one compiler's; whoever sets another one is not held to them.
    if std::env::var_os("RUSTC").is_none() {
        trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
    }
}
