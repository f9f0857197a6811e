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
from importlib.metadata import version

import ferromix

own = ferromix.libinfo.ferromix_version
assert own == version("ferromix"), f"the core is {own}, the wheel {version('ferromix')}"
package = pathlib.Path(ferromix.__file__).parent
accuracy = json.loads(pathlib.Path("out/digits-history.json").read_text())[-1]["val_accuracy"]
assert accuracy >= 0.97, f"held-out accuracy {accuracy}"
assert f"accuracy {accuracy:.4f} held out" in pathlib.Path("log").read_text().splitlines()[-1]
for part in ("math.cu", "include/map.cuh", "host/cuda.h", "host/driver.cpp"):
    assert (package / "kernels" / part).is_file(), f"kernels/{part} did not travel"
print(f"ferromix {own} from {package} trains")
CHECK

# On what stands in for a GPU, compiled from the installed sources.
if command -v g++ || command -v clang++; then
    FERROMIX_CACHE="$work/cache" FERROMIX_GPU_DRIVER=host python - <<'CHECK'
import ferromix as mx

x = mx.nd.arange(6, ctx=mx.gpu(0)).reshape((2, 3))
assert mx.nd.sum(x * x, axis=1).asnumpy().tolist() == [5, 50]
print(f"{mx.gpu(0)} works")
CHECK
fi
