"""Writes tests/golden/control_flow: symbols with loops and branches as MXNet 1.9.1 saves them, and
what it computes. Run it once with a Python that has MXNet 1.9.1.

With the argument `load` it loads files that Ferromix saved (a folder, the next argument), and
compares what MXNet computes by them with these files.
"""

import sys
from pathlib import Path

import mxnet as mx
import numpy as np

TARGET = Path(__file__).resolve().parents[2] / "tests" / "golden" / "control_flow"
sys.path.insert(0, str(TARGET))

from loops import LIMIT, NETWORKS, SHAPES  # noqa: E402


def run(symbol, given, backward):
    """Outputs and gradients, by name."""
    arrays = {n: mx.nd.array(v) for n, v in given.items()}
    grads = {n: mx.nd.zeros(a.shape) for n, a in arrays.items()} if backward else {}
    executor = symbol.bind(mx.cpu(), arrays, grads or None)
    outputs = executor.forward(is_train=backward)
    found = {f"out.{i}": o.asnumpy() for i, o in enumerate(outputs)}
    for value in list(found.values())[:2] if "i" in given else ():
        # What follows the last step has no values in MXNet.
        value[sum(given["i"] + k < LIMIT for k in range(len(value))).item() :] = 0
    if backward:
        executor.backward([mx.nd.ones(o.shape) for o in outputs])
    return {**found, **{f"grad.{n}": g.asnumpy() for n, g in grads.items()}}


def main() -> None:
    """Writes the files, or compares."""
    for name, network in NETWORKS.items():
        # MXNet cannot go back through a loop within a loop.
        backward = name != "nested"
        if sys.argv[1:2] == ["load"]:
            symbol = mx.sym.load(str(Path(sys.argv[2]) / f"{name}.json"))
            with np.load(TARGET / f"{name}.npz") as data:
                given = {k[3:]: data[k] for k in data.files if k.startswith("in.")}
                for key, value in run(symbol, given, backward).items():
                    np.testing.assert_allclose(value, data[key], rtol=1e-5, atol=1e-6, err_msg=key)
            print(name, "agrees")
            continue
        random = np.random.default_rng(len(name))
        symbol = network(mx)
        given = {n: random.uniform(0.5, 1.5, s).astype("float32") for n, s in SHAPES[name].items()}
        symbol.save(str(TARGET / f"{name}.json"))
        inputs = {f"in.{n}": v for n, v in given.items()}
        np.savez_compressed(TARGET / f"{name}.npz", **inputs, **run(symbol, given, backward))


if __name__ == "__main__":
    main()
