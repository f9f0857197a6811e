"""Makes the golden files of tests/golden/autograd with MXNet 1.9.1.

usage: PYTHON_WITH_MXNET make_autograd.py

Needs MXNet 1.9.1 (`pip install mxnet==1.9.1 "numpy<1.24"` in an environment of its own); nothing
else of Ferromix does.
"""

import sys
from pathlib import Path

import mxnet as mx
import numpy as np

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "golden" / "autograd"
sys.path.insert(0, str(FOLDER))

from programs import PROGRAMS  # noqa: E402 - after its folder is known


def main():
    """Runs every program, and writes one file each."""
    for program in PROGRAMS:
        found = {name: array.asnumpy() for name, array in program(mx).items()}
        np.savez_compressed(FOLDER / f"{program.__name__}.npz", **found)


if __name__ == "__main__":
    main()
