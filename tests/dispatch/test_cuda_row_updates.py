"""Steps on the rows of row_sparse gradients, run on the host, step as the Rust kernels do."""

from __future__ import annotations

import numpy as np
import pytest
from host import NEEDS_COMPILER
from launches import launch, same
from test_cuda_refusals import refused_alike
from test_cuda_steps import BETAS, FLOATS, POSITIVE, RATES, check
from test_cuda_values import numpy_dtype

from ferromix.ops.card import make

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

ADAGRAD = {"lr": 0.3, "rescale_grad": 0.5, "epsilon": 0.25}
STEPS = {
    "sgd": RATES,
    "sgd_mom": {**RATES, "momentum": 0.75},
    "adam": {**RATES, **BETAS},
    "ftrl": {**RATES, "lamda1": 0.5, "beta": 1.5},
    "adagrad": ADAGRAD,
    "group_adagrad": ADAGRAD,
}
TABLES = [
    ((7, 3), [0, 2, 3, 6]),
    ((1,), [0]),
    ((40, 2, 5), range(40)),
    ((900, 2), range(0, 900, 2)),
    ((5, 70), []),
    ((6, 4), [4, 1, 4, 5, 1, 1]),
    ((0, 4), []),
    ((4, 0), [1, 2]),
]
"""Shapes of tables, and rows, of which one may be there twice."""
SPARE = 3
"""Rows that the gradient has room for besides."""


def given(name, shape, rows, dtype, **more):
    """A card and its inputs; what no gradient is in the room to spare has no row either."""
    card = make(f"_rows_{name}_update", {**STEPS[name], **more})
    names = card.list_arguments()[:-2]
    shapes = [shape] * len(names)
    shapes[1] = (len(rows) + SPARE, *shape[1:])
    if name == "group_adagrad":
        shapes[2] = (*shape[:1], *(1 for _ in shape[1:]))
    rng, inputs = np.random.default_rng(len(shape)), []
    for argument, extents in zip(names, shapes, strict=True):
        values = rng.uniform(-1.5, 1.5, extents)
        values = np.abs(values) if argument in POSITIVE else values
        inputs.append(np.asarray(values, numpy_dtype(dtype)))
    numbers = np.array([*rows, *[-(2**40)] * SPARE], np.int64)
    return card, [*inputs, numbers, np.array([len(rows)], np.int64)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", STEPS)
def test_steps_of_rows(sources, name, dtype):
    if name == "group_adagrad" and dtype not in ("float32", "float64"):
        return
    for clip in (0.25, -1.0):
        for shape, rows in TABLES:
            card, inputs = given(name, shape, list(rows), dtype, clip_gradient=clip)
            for processors in (1, 3):
                check(sources, card, inputs, 1, processors)


@pytest.mark.parametrize("name", STEPS)
def test_rows_that_there_are_not_are_refused(sources, name):
    card, inputs = given(name, (5, 3), [0, 9, 2], "float32")
    outs = [inputs[0].copy(), *(inputs[i] for i in card.mutated_inputs())]
    for row, count in [(9, 3), (-1, 3), (3, 99), (3, -1)]:
        inputs[-2][1], inputs[-1][:] = row, count
        text = refused_alike(sources, card, inputs, outs)
        assert f"has a row {row}" in text or f"{count} rows of 6 are" in text


def test_a_weight_that_is_not_asked_for_stays(sources):
    card, inputs = given("sgd_mom", (5, 3), [0, 2], "float32")
    states = []
    for req in (0, 1):
        arrays = [x.copy() for x in inputs]
        out = np.full_like(arrays[0], 7)
        assert launch(sources, card, arrays, [out, arrays[2]], [req, 2])
        assert same(arrays[0], inputs[0])
        assert (out == 7).all() == (req == 0)
        states.append(arrays[2])
    assert same(*states)
