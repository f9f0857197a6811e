#!/usr/bin/env bash
# Compares the public interface of ferromix-engine with that of the commit named in
# tools/semver.baseline: the last one that changed it on purpose. Builds cargo-semver-checks first,
# once, which takes some minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

TOOL=$PWD/build/semver
if [ ! -x "$TOOL/bin/cargo-semver-checks" ]; then
    cargo install --quiet --locked --root "$TOOL" cargo-semver-checks@0.51.0
fi
"$TOOL/bin/cargo-semver-checks" semver-checks --package ferromix-engine \
    --baseline-rev "$(cat tools/semver.baseline)"
