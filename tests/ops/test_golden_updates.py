"""What MXNet 1.9.1's optimizer operators compute, from a file that tools/golden wrote."""

import json
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx

FILE = Path(__file__).parents[1] / "golden" / "updates" / "steps.npz"
with np.load(FILE) as data:
    CASES = json.loads(str(data["cases"]))
    VALUES = data["values"]
RTOL = {"float32": 3e-5, "float16": 1e-3}
"""MXNet's rates are float32, and powers of decays near 1 lose digits there."""


def read():
    """For each case its arrays by part and name."""
    start = 0
    for case in CASES:
        parts = {"in": {}, "after": {}, "out": {}}
        for part, name, dtype, shape in case["arrays"]:
            end = start + int(np.prod(shape))
            parts[part][name] = VALUES[start:end].reshape(shape).astype(dtype)
            start = end
        yield parts


ARRAYS = list(read())


def close(found, expected, what):
    assert found.dtype == expected.dtype, what
    tolerance = RTOL[expected.dtype.name]
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(
        found, expected, rtol=tolerance, atol=tolerance * scale / 10, err_msg=what
    )


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda i: f"{i}-{CASES[i]['op']}")
def test_step(number):
    case, arrays = CASES[number], ARRAYS[number]
    inputs = {n: mx.nd.array(v, dtype=v.dtype) for n, v in arrays["in"].items()}
    weights = [a for n, a in inputs.items() if n.split("_")[0] == "weight"]
    out = None if case["new"] else weights
    found = getattr(mx.nd, case["op"])(*inputs.values(), out=out, **case["attrs"])
    found = found if isinstance(found, (list, tuple)) else [found]
    for name, value in arrays["after"].items():
        close(inputs[name].asnumpy(), value, name)
    assert len(found) == len(arrays["out"])
    for k, value in arrays["out"].items():
        close(found[int(k)].asnumpy(), value, f"output {k}")


def test_every_step_is_there():
    assert {c["op"] for c in CASES} == {
        *("mp_sgd_update", "mp_sgd_mom_update", "signsgd_update", "signum_update"),
        *("nag_mom_update", "mp_nag_mom_update", "ftml_update", "ftrl_update"),
        *("rmsprop_update", "rmspropalex_update", "_adamw_update", "_mp_adamw_update"),
        *("lamb_update_phase1", "lamb_update_phase2"),
        *("mp_lamb_update_phase1", "mp_lamb_update_phase2"),
        *("multi_sgd_update", "multi_sgd_mom_update"),
        *("multi_mp_sgd_update", "multi_mp_sgd_mom_update"),
        *("preloaded_multi_sgd_update", "preloaded_multi_sgd_mom_update"),
        *("preloaded_multi_mp_sgd_update", "preloaded_multi_mp_sgd_mom_update"),
        *("_multi_adamw_update", "_multi_mp_adamw_update"),
        *("_multi_lamb_update", "_multi_mp_lamb_update"),
        *("multi_lars", "multi_sum_sq"),
    }
