"""Make what the tests of sparse arrays compare with, in `tests/golden/sparse/`.

Needs MXNet 1.9.1 (and a NumPy that it can work with), which nothing else in this repository does:

    MXNET_STORAGE_FALLBACK_LOG_VERBOSE=0 python tools/golden/make_sparse.py
"""

from __future__ import annotations

import json
from pathlib import Path

import mxnet as mx
import numpy as np

OUT = Path(__file__).resolve().parents[2] / "tests" / "golden" / "sparse"
VALUES = np.array([[1, 0, 2], [0, 0, 3], [0, 0, 0]], np.float32)
WEIGHT = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
GRADS = [(np.array([0, 2]), 0.5), (np.array([2]), -0.75), (np.array([0, 1, 3]), 0.25)]
OPTIMIZERS = {
    "sgd": ("sgd", {"learning_rate": 0.1, "wd": 0.01}),
    "sgd standard": ("sgd", {"learning_rate": 0.1, "wd": 0.01, "lazy_update": False}),
    "momentum": ("sgd", {"learning_rate": 0.1, "wd": 0.01, "momentum": 0.9}),
    "momentum standard": (
        "sgd",
        {"learning_rate": 0.1, "wd": 0.01, "momentum": 0.9, "lazy_update": False},
    ),
    "clipped": ("sgd", {"learning_rate": 0.1, "clip_gradient": 0.3, "rescale_grad": 2.0}),
    "adam": ("adam", {"learning_rate": 0.1, "wd": 0.01}),
    "adam standard": ("adam", {"learning_rate": 0.1, "wd": 0.01, "lazy_update": False}),
    "adagrad": ("adagrad", {"learning_rate": 0.1}),
    "ftrl": ("ftrl", {"learning_rate": 0.1, "lamda1": 0.02, "wd": 0.01}),
    "groupadagrad": ("groupadagrad", {"learning_rate": 0.1, "wd": 0.0}),
    # These compute with the rows that are there as zeros.
    "nag": ("nag", {"learning_rate": 0.1, "momentum": 0.9}),
    "signum": ("signum", {"learning_rate": 0.1, "wd": 0.01}),
    "ftml": ("ftml", {"learning_rate": 0.1, "wd": 0.01}),
    "rmsprop": ("rmsprop", {"learning_rate": 0.1, "wd": 0.01}),
    "rmsprop centered": ("rmsprop", {"learning_rate": 0.1, "centered": True}),
    "lamb": ("lamb", {"learning_rate": 0.1, "wd": 0.01}),
    "lars": ("lars", {"learning_rate": 1.0, "wd": 0.01, "momentum": 0.9, "eta": 0.1}),
    "lbsgd": ("lbsgd", {"learning_rate": 0.1, "momentum": 0.9}),
    "adadelta": ("adadelta", {"wd": 0.01}),
    "nadam": ("nadam", {"learning_rate": 0.1, "wd": 0.01}),
    "dcasgd": ("dcasgd", {"learning_rate": 0.1, "wd": 0.01}),
    **{
        f"{name} half": (name, {"learning_rate": 0.1, "multi_precision": True, **attrs})
        for name, attrs in (
            ("sgd", {"momentum": 0.9}),
            ("adam", {}),
            ("adagrad", {}),
            ("nag", {"momentum": 0.9}),
            ("ftrl", {}),
        )
    },
}
UNARY = [
    "abs",
    "arccos",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "cbrt",
    "ceil",
    "cos",
    "cosh",
    "degrees",
    "exp",
    "expm1",
    "fix",
    "floor",
    "log1p",
    "make_loss",
    "negative",
    "radians",
    "relu",
    "rint",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "zeros_like",
    "ones_like",
    "reciprocal",
    "softsign",
    "BlockGrad",
]
BINARY = [
    "elemwise_add",
    "elemwise_sub",
    "elemwise_mul",
    "elemwise_div",
    "broadcast_add",
    "broadcast_sub",
    "broadcast_mul",
    "broadcast_maximum",
    "dot",
]
NUMBERS = {
    "plus": ("_plus_scalar", 2),
    "plus 0": ("_plus_scalar", 0),
    "minus": ("_minus_scalar", 2),
    "times": ("_mul_scalar", 2),
    "by": ("_div_scalar", 2),
    "power": ("_power_scalar", 2),
    "greater": ("_greater_scalar", 0),
    "equal": ("_equal_scalar", 0),
    "lesser": ("_lesser_scalar", 1),
    "maximum": ("_maximum_scalar", 0),
}


def main() -> None:
    """Writes the files."""
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "types.json").write_text(json.dumps(storage_types(), indent=1) + "\n")
    arrays = {}
    for name, (kind, attrs) in OPTIMIZERS.items():
        for stype in ("default", "row_sparse"):
            arrays[f"{name}, {stype}"] = steps(kind, attrs, stype)
    np.savez(OUT / "steps.npz", **arrays)
    (OUT / "optimizers.json").write_text(json.dumps(OPTIMIZERS, indent=1) + "\n")
    saved = {
        "csr": mx.nd.array(VALUES).tostype("csr"),
        "rows": mx.nd.array(VALUES, dtype="float64").tostype("row_sparse"),
        "dense": mx.nd.array(VALUES, dtype="int32"),
        "no elements": mx.nd.sparse.zeros("csr", (2, 3)),
        "no rows": mx.nd.sparse.zeros("row_sparse", (2, 3)),
    }
    mx.nd.save(str(OUT / "mixed.params"), saved)
    for path in sorted(OUT.iterdir()):
        print(path.name, path.stat().st_size)


def inputs() -> dict[str, mx.nd.NDArray]:
    """The same values in each storage type."""
    dense = mx.nd.array(VALUES)
    return {
        "default": dense,
        "csr": dense.tostype("csr"),
        "row_sparse": dense.tostype("row_sparse"),
    }


def storage_types() -> dict[str, str]:
    """The storage type of results, by operator and storage types of arguments."""
    found, arrays = {}, inputs()
    for stype in ("csr", "row_sparse"):
        for name in UNARY:
            found[f"{name}({stype})"] = getattr(mx.nd, name)(arrays[stype]).stype
        for name, (op, scalar) in NUMBERS.items():
            function = getattr(mx.nd._internal, op)
            found[f"{name}({stype})"] = function(arrays[stype], scalar=scalar).stype
    for name in BINARY:
        for left in arrays:
            for right in arrays:
                result = getattr(mx.nd, name)(arrays[left], arrays[right])
                found[f"{name}({left}, {right})"] = result.stype
    return found


def steps(kind: str, attrs: dict, stype: str) -> np.ndarray:
    """The weight after each of some steps with row_sparse gradients."""
    optimizer = mx.optimizer.create(kind, **attrs)
    dtype = "float16" if "multi_precision" in attrs else "float32"
    weight = mx.nd.array(WEIGHT, dtype=dtype).tostype(stype)
    state = optimizer.create_state_multi_precision(0, weight)
    found = []
    for rows, value in GRADS:
        stored = np.full((len(rows), 3), value, dtype) * np.arange(1, 4, dtype=dtype)
        grad = mx.nd.sparse.row_sparse_array((stored, rows), shape=WEIGHT.shape, dtype=dtype)
        optimizer.update_multi_precision(0, weight, grad, state)
        found.append(weight.asnumpy())
    return np.array(found)


if __name__ == "__main__":
    main()
