"""Makes the golden files of tests/golden/monitor with MXNet 1.9.1, from those of make_symbols.py.

usage: PYTHON_WITH_MXNET make_monitor.py

Needs MXNet 1.9.1 (`pip install mxnet==1.9.1 "numpy<1.24"` in an environment of its own); nothing
else of Ferromix does.
"""

import ctypes
import os
from pathlib import Path

import numpy as np

# Operators as the symbol has them, none joined and none left out.
os.environ.update(MXNET_SUBGRAPH_BACKEND="NONE", MXNET_ELIMINATE_COMMON_EXPR="0")

import mxnet as mx
from mxnet.base import NDArrayHandle

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden"


def monitored(name):
    """What a callback sees in a training forward pass: names and values, in the order of calls."""
    golden = dict(np.load(GOLDEN / "symbol" / f"{name}.npz"))
    args = {k[4:]: mx.nd.array(v) for k, v in golden.items() if k.startswith("arg:")}
    states = {k[4:]: mx.nd.array(v) for k, v in golden.items() if k.startswith("aux:")}
    net = mx.sym.load(str(GOLDEN / "symbol" / f"{name}.json"))
    executor = net.bind(mx.cpu(), args, grad_req="null", aux_states=states)
    found = {}

    def callback(key, handle):
        value = mx.nd.NDArray(ctypes.cast(handle, NDArrayHandle), writable=False)
        found[f"{len(found):03d}:{key.decode()}"] = value.asnumpy()

    executor.set_monitor_callback(callback)
    executor.forward(is_train=True)
    mx.nd.waitall()
    return found


def main():
    """Writes one file for each network."""
    for path in sorted((GOLDEN / "symbol").glob("*.npz")):
        np.savez_compressed(GOLDEN / "monitor" / path.name, **monitored(path.stem))


if __name__ == "__main__":
    main()
