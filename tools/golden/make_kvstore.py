"""Writes tests/golden/kvstore.npz with MXNet 1.9.1: sums of gradients in two bits.

PYTHON_WITH_MXNET tools/golden/make_kvstore.py
"""

from pathlib import Path

import mxnet as mx
import numpy as np

OUT = Path(__file__).resolve().parents[2] / "tests" / "golden" / "kvstore.npz"


def pushed(threshold, devices, steps, count):
    """Gradients by step and device, and what the store then holds."""
    random = np.random.RandomState(devices)
    store = mx.kv.create("device")
    store.set_gradient_compression({"type": "2bit", "threshold": threshold})
    store.init("w", mx.nd.zeros((count,)))
    gradients = random.uniform(-1.2, 1.2, (steps, devices, count)).astype("float32")
    results = []
    for step in gradients:
        store.push("w", [mx.nd.array(g, ctx=mx.cpu(i)) for i, g in enumerate(step)])
        out = mx.nd.zeros((count,))
        store.pull("w", out=out)
        results.append(out.asnumpy())
    return gradients, np.array(results)


found = {}
for threshold, devices, count in ((0.5, 1, 21), (0.5, 3, 16), (0.2, 2, 7)):
    name = f"{threshold} {devices}"
    found[f"{name} gradients"], found[f"{name} results"] = pushed(threshold, devices, 6, count)
np.savez_compressed(OUT, **found)
