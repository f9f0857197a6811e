"""Makes the golden files tests/golden/described/*.txt with MXNet 1.9.1: listings of a network.

usage: MXNET_SUBGRAPH_BACKEND=NONE PYTHON_WITH_MXNET make_described.py

Needs MXNet 1.9.1 (`pip install mxnet==1.9.1 "numpy<1.24"` in an environment of its own); nothing
else of Ferromix does.
"""

import sys
from pathlib import Path

import mxnet as mx

TESTS = Path(__file__).resolve().parents[2] / "tests"
sys.path.insert(0, str(TESTS / "symbol"))

from described import network  # noqa: E402 - after its folder is known


def main():
    """Writes what a symbol and an executor say of themselves."""
    folder = TESTS / "golden" / "described"
    folder.mkdir(exist_ok=True)
    net = network(mx)
    executor = net.simple_bind(mx.cpu(), data=(2, 3))
    (folder / "symbol.txt").write_text(net.debug_str())
    (folder / "executor.txt").write_text(executor.debug_str())


if __name__ == "__main__":
    main()
