"""What modules of MXNet 1.9.1 come to: tests/golden/module/NAME.npz for each scenario of the tests.

usage: PYTHON tools/golden/make_module.py, with an interpreter that has MXNet 1.9.1
"""

import sys
from pathlib import Path

import mxnet as mx
import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "module"))
from scenarios import SCENARIOS  # noqa: E402

for scenario in SCENARIOS:
    np.savez_compressed(ROOT / "tests/golden/module" / f"{scenario.__name__}.npz", **scenario(mx))
