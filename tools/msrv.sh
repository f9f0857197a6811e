#!/usr/bin/env bash
# Checks the crates that stand alone with the oldest Rust that they promise to work with; with the
# argument `test`, which takes some minutes, runs their tests, too.
# The compiler is rustup's, or Debian's packages unpacked under build/; where neither can be had the
# script says so and changes nothing. (The lints look for newer library features in any case.)
set -euo pipefail
cd "$(dirname "$0")/.."

COMMAND=${1:-check}
VERSION=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' rust/engine/Cargo.toml)
ROOT=$PWD/build/msrv
CRATES=(-p ferromix-base -p ferromix-engine -p ferromix-storage)

from_rustup() {
    RUSTC=$(rustup which --toolchain "$VERSION" rustc 2>/dev/null)
}

from_debian() {
    local packages=(rustc-web libstd-rust-web-dev "libstd-rust-web-$VERSION" libllvm19)
    RUSTC=$ROOT/usr/bin/rustc
    if [ ! -x "$RUSTC" ]; then
        mkdir -p "$ROOT/packages"
        (cd "$ROOT/packages" && apt-get download "${packages[@]}") >/dev/null 2>&1 || return 1
        for package in "$ROOT"/packages/*.deb; do
            dpkg-deb -x "$package" "$ROOT"
        done
    fi
    LD_LIBRARY_PATH=$ROOT/usr/lib/x86_64-linux-gnu:$ROOT/usr/lib:$ROOT/usr/lib/llvm-19/lib
    export LD_LIBRARY_PATH
    "$RUSTC" --version 2>/dev/null | grep -q "^rustc $VERSION"
}

if ! from_rustup && ! from_debian; then
    echo "Rust $VERSION cannot be had here: not tested with it"
    exit 0
fi
export RUSTC
"$RUSTC" --version
cargo "$COMMAND" --quiet --target-dir target/msrv "${CRATES[@]}" --lib --tests --examples
