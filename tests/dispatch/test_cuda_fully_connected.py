"""The CUDA sources of the fully connected layer, run on the host, beside the Rust kernels."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from host import NEEDS_COMPILER
from products import check, numbers

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

SHAPES = [((4, 3, 5), True), ((4, 3, 5), False), ((70, 33), True), ((1, 600), True), ((0, 4), True)]
HIDDEN = [1, 7, 66]


def arrays(shape, flatten, hidden, dtype):
    rng = np.random.default_rng(hidden)
    width = int(np.prod(shape[1:])) if flatten else shape[-1]
    out = (shape[0], hidden) if flatten else (*shape[:-1], hidden)
    return [numbers(rng, s, dtype) for s in (shape, (hidden, width), (hidden,), out)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("processors", [1, 12])
def test_forward(sources, dtype, bias, processors):
    for (shape, flatten), hidden, req in product(SHAPES, HIDDEN, (0, 1, 3)):
        data, weight, shift, _ = arrays(shape, flatten, hidden, dtype)
        attrs = {"num_hidden": hidden, "flatten": flatten, "no_bias": not bias}
        given = [data, weight, *[shift] * bias]
        check(sources, "FullyConnected", attrs, given, [req], processors, 80)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("processors", [1, 12])
def test_gradients(sources, dtype, bias, processors):
    asked = [(0, 0, 0), (1, 1, 1), (3, 3, 3), (1, 0, 3)]
    for (shape, flatten), hidden, reqs in product(SHAPES, HIDDEN, asked):
        data, weight, _, grad = arrays(shape, flatten, hidden, dtype)
        attrs = {"num_hidden": hidden, "flatten": flatten, "no_bias": not bias}
        given = [grad, data, weight]
        name = "_backward_FullyConnected"
        check(sources, name, attrs, given, reqs[: 2 + bias], processors, 40)


def test_blocks_share_many_rows(sources):
    data, weight, _, grad = arrays((1500, 5), True, 3, "float32")
    given, attrs = [grad, data, weight], {"num_hidden": 3}
    name = "_backward_FullyConnected"
    ran = check(sources, name, attrs, given, (1, 1, 3), 12, 200)
    assert {"dot_float32_finish", "reduce_sum_float32_finish"} <= ran
