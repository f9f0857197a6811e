"""Makes the golden files of tests/golden/custom with MXNet 1.9.1.

usage: PYTHON_WITH_MXNET make_custom.py

Needs MXNet 1.9.1 (`pip install mxnet==1.9.1 "numpy<1.24"` in an environment of its own); nothing
else of Ferromix does.
"""

import sys
from pathlib import Path

import mxnet as mx
import numpy as np

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "golden" / "custom"
sys.path.insert(0, str(FOLDER))

from programs import PROGRAMS, define  # noqa: E402 - after its folder is known


def main():
    """Runs every program, and writes one file each: values, and storage types where sparse."""
    define(mx)
    for program in PROGRAMS:
        found = {}
        for name, array in program(mx).items():
            found[name] = array.asnumpy()
            found[f"{name}.stype"] = np.array(array.stype)
        np.savez_compressed(FOLDER / f"{program.__name__}.npz", **found)


if __name__ == "__main__":
    main()
