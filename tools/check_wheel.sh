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
python examples/train_digits.py --epochs 2 --output out --min-accuracy 0.9
python -c "
import ferromix, importlib.resources, pathlib
print('ferromix', ferromix.__version__, pathlib.Path(ferromix.__file__).parent)"
