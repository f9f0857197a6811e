#!/usr/bin/env bash
# Installs a wheel into a clean environment, without Rust on the PATH and away from the sources,
# and trains with it.
set -euo pipefail

wheel=$(realpath "${1:?usage: check_wheel.sh WHEEL}")
examples=$(realpath "$(dirname "$0")/../examples")
python=$(command -v "${PYTHON:-python3}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cd "$work"
cp -r "$examples" examples
"$python" -m venv env
env/bin/python -m pip install --quiet --upgrade pip
env/bin/python -m pip install --quiet "$wheel[examples]"

export PATH="$work/env/bin:/usr/bin:/bin"
if command -v cargo rustc; then
    echo "Rust is still on the PATH; this check would prove nothing" >&2
    exit 1
fi
python examples/train_digits.py --output out | tee log
python examples/train_digits.py --load out/digits | tee -a log
python - <<'CHECK'
import json
import pathlib

import ferromix

package = pathlib.Path(ferromix.__file__).parent
accuracy = json.loads(pathlib.Path("out/digits-history.json").read_text())[-1]["val_accuracy"]
assert accuracy >= 0.97, f"held-out accuracy {accuracy}"
assert f"accuracy {accuracy:.4f} held out" in pathlib.Path("log").read_text().splitlines()[-1]
assert (package / "kernels").is_dir(), "the CUDA sources did not travel"
print(f"ferromix {ferromix.__version__} from {package} trains")
CHECK
