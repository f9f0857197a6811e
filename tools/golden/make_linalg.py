"""Writes tests/golden/linalg.npz: what MXNet 1.9.1 computes for linear algebra.

Run it once with a Python that has MXNet 1.9.1. ``cases`` is a JSON list of operator and attributes;
case ``i`` keeps its arrays under ``i.in.<k>``, ``i.head.<k>``, ``i.out.<k>`` and ``i.grad.<k>``.
"""

import json
from pathlib import Path

import mxnet as mx
import numpy as np

TARGET = Path(__file__).resolve().parents[2] / "tests" / "golden" / "linalg.npz"


def main() -> None:
    """Runs every case forward and backward in float64."""
    random = np.random.default_rng(5)
    full = random.uniform(-1, 1, (2, 3, 3)) + 2 * np.eye(3)
    positive = full @ full.transpose(0, 2, 1)
    wide = random.uniform(-1, 1, (2, 3, 4))
    rows = [
        ("potrf", [positive], [{}, {"lower": False}]),
        ("potri", [full], [{}, {"lower": False}]),
        ("gelqf", [wide], [{}]),
        ("syevd", [positive], [{}]),
        ("syevd", [-positive[0]], [{}]),
        ("det", [full], [{}]),
        ("slogdet", [-full[:1]], [{}]),
        ("inverse", [full[0]], [{}]),
        ("trsm", [full, wide], [{"alpha": 2.0}, {"lower": False, "transpose": True}]),
        ("trmm", [full, full], [{"rightside": True, "alpha": 2.0}, {"transpose": True}]),
        ("gemm", [wide, full, wide], [{"transpose_a": True, "axis": 1, "beta": 0.5}]),
        ("syrk", [wide], [{"transpose": True, "alpha": 3.0}]),
        ("extracttrian", [full], [{"offset": -1, "lower": False}]),
        ("sumlogdiag", [positive], [{}]),
    ]
    cases, arrays = [], {}
    for name, inputs, choices in rows:
        for attrs in choices:
            if name == "gemm":
                inputs = [wide, full, random.uniform(-1, 1, (2, 4, 3))]
            start = f"{len(cases)}."
            given = [mx.nd.array(x, dtype="float64") for x in inputs]
            for x in given:
                x.attach_grad()
            with mx.autograd.record():
                outs = getattr(mx.nd.linalg, name)(*given, **attrs)
                outs = outs if isinstance(outs, list) else [outs]
            heads = [mx.nd.array(random.uniform(-1, 1, o.shape), dtype="float64") for o in outs]
            mx.autograd.backward(outs, heads)
            parts = {"in": given, "out": outs, "head": heads, "grad": [x.grad for x in given]}
            for part, values in parts.items():
                arrays.update({f"{start}{part}.{k}": v.asnumpy() for k, v in enumerate(values)})
            cases.append({"op": name, "attrs": attrs})
    arrays["cases"] = np.array(json.dumps(cases))
    np.savez_compressed(TARGET, **arrays)


if __name__ == "__main__":
    main()
