"""The CUDA sources of losses, run on the host, give what the Rust kernels give."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from host import NEEDS_COMPILER
from products import check, numbers

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

FLOATS = ["float32", "float64", "float16", "bfloat16"]
SHAPES = [(7,), (5, 4), (3, 1), (2, 3, 5), (0, 3), (40, 60)]
LABELS = [
    ((6, 5), (6,), {}),
    ((6, 5), (6, 5), {}),
    ((1, 1), (1,), {}),
    ((3, 2, 4), (3, 2), {"preserve_shape": True}),
    ((3, 2, 4), (3, 2), {}),
    ((3, 4, 5), (3, 5), {"multi_output": True}),
    ((2, 4, 3, 2), (2, 1, 3, 2), {"multi_output": True}),
    ((2, 4, 3), (2, 4, 3), {"multi_output": True}),
    ((3, 40), (3,), {}),
    ((0, 3), (0,), {}),
    ((2100, 2), (2100,), {}),
]
"""Shapes of data and labels, and how they go together."""
MODES = [
    {},
    {"use_ignore": True, "ignore_label": 1},
    {"smooth_alpha": 0.25, "grad_scale": 3.0},
    {"out_grad": True, "grad_scale": -0.5},
]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("req", [0, 1, 3])
def test_softmax_output(sources, dtype, req):
    rng = np.random.default_rng(5)
    for shape, labels, attrs in LABELS:
        data, label = (3 * numbers(rng, s, dtype) for s in (shape, labels))
        check(sources, "SoftmaxOutput", attrs, [data, label], [req], terms=4)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("normalization", ["null", "batch", "valid"])
@pytest.mark.parametrize("mode", MODES)
def test_gradients_of_softmax_output(sources, dtype, normalization, mode):
    rng = np.random.default_rng(6)
    for (shape, labels, attrs), req in product(LABELS, (0, 1, 3)):
        out, head = numbers(rng, shape, dtype), numbers(rng, shape, dtype)
        label = rng.integers(-1, 5, labels).astype(out.dtype)
        label.reshape(-1)[:2] = [np.nan, 0.75][: label.size]
        given = [*[head] * mode.get("out_grad", False), out, label]
        attrs = {**attrs, **mode, "normalization": normalization}
        check(sources, "_backward_SoftmaxOutput", attrs, given, [req], terms=4)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("req", [0, 1, 3])
def test_regression(sources, dtype, req):
    rng = np.random.default_rng(7)
    for shape in SHAPES:
        data, label = (numbers(rng, shape, dtype) for _ in range(2))
        for kind in ("Linear", "Logistic", "MAE"):
            check(sources, f"{kind}RegressionOutput", {}, [data, label], [req], terms=4)
        label.reshape(-1)[::3] = data.reshape(-1)[::3]
        label.reshape(-1)[1:2] = np.nan
        for absolute in (False, True):
            attrs = {"grad_scale": 3.0, "absolute": absolute}
            check(sources, "_backward_regression", attrs, [data, label], [req], terms=12)
    column, label = numbers(rng, (6, 1), dtype), numbers(rng, (6,), dtype)
    attrs = {"grad_scale": 3.0, "absolute": False}
    check(sources, "_backward_regression", attrs, [column, label], [req], terms=12)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("normalization", ["null", "batch", "valid"])
def test_gradients_of_make_loss(sources, dtype, normalization):
    rng = np.random.default_rng(8)
    for shape, req, threshold in product(SHAPES, (0, 1, 3), (0.1, 9.0)):
        attrs = {"grad_scale": 1.7, "valid_thresh": threshold, "normalization": normalization}
        check(sources, "_backward_MakeLoss", attrs, [numbers(rng, shape, dtype)], [req], terms=4)
