#!/usr/bin/env bash
# Sees that the crates compile for 64-bit ARM, whose vectors are NEON. Where rustup cannot fetch that
# target's standard library the script says so and changes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

TARGET=aarch64-unknown-linux-gnu
CRATES=(-p ferromix-engine -p ferromix-storage -p ferromix-kernels -p ferromix-runtime)

if ! timeout 120 rustup --quiet target add "$TARGET" >/dev/null 2>&1; then
    echo "the standard library of $TARGET cannot be had here: not compiled for it"
    exit 0
fi
RUSTFLAGS="-D warnings" cargo check --quiet --target "$TARGET" --target-dir target/neon "${CRATES[@]}"
