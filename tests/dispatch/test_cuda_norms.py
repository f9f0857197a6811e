"""The CUDA sources of LayerNorm and its kin, run on the host, give what the Rust kernels give."""

from __future__ import annotations

import numpy as np
import pytest
from host import NEEDS_COMPILER
from products import check, numbers

from ferromix.dispatch import infer
from ferromix.ops.card import make

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

CASES = [
    ("LayerNorm", (700, 5), 5, {}),
    ("LayerNorm", (3, 4, 600), 4, {"axis": 1}),
    ("LayerNorm", (2, 700), 700, {}),
    ("InstanceNorm", (60, 2, 30), 2, {}),
    ("GroupNorm", (40, 6, 3, 4), 2, {"num_groups": 2}),
]
"""Operators, shapes of the data, how many gammas there are, and attributes."""


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("processors", [1, 8])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_long_rows_and_long_columns(sources, dtype, processors, case):
    """Blocks share the gradients of gamma and beta where these sum many elements."""
    name, shape, scales, attrs = CASES[case]
    rng = np.random.default_rng(case)
    found = infer(make(name, attrs), ((shape, dtype), ((scales,), dtype), ((scales,), dtype)))
    data, grad = (numbers(rng, shape, dtype) for _ in range(2))
    gamma, beta = (numbers(rng, (scales,), dtype) for _ in range(2))
    check(sources, name, attrs, [data, gamma, beta], [1, 1, 1], processors, 4)
    mean = numbers(rng, found[1][0], dtype)
    root = np.abs(numbers(rng, found[2][0], dtype)) + np.asarray(1, data.dtype)
    given = [grad, data, gamma, mean, root]
    ran = set()
    for reqs in ([1, 1, 1], [3, 0, 3]):
        ran |= check(sources, f"_backward_{name}", attrs, given, reqs, processors, 100)
    shared = f"layer_norm_{dtype}_finish" in ran
    assert shared or processors == 1 or scales == 700
