"""Recipes, run on the host with their own grids and arguments, give what the Rust kernels give."""

from __future__ import annotations

import numpy as np
import pytest
from host import NEEDS_COMPILER
from launches import Run, Sources, aligned, launch, on_the_cpu, same
from table import DTYPES
from test_cuda_values import draw

from ferromix.dispatch.recipe import Launch, Recipe, int32, int64, workspace
from ferromix.ops.card import make

CASES = [
    ("negative", {}),
    ("_copy", {}),
    ("rint", {}),
    ("clip", {"a_min": -1.5, "a_max": 2.5}),
]


@pytest.mark.slow
@NEEDS_COMPILER
@pytest.mark.parametrize("req", [0, 1, 3])
@pytest.mark.parametrize(("name", "attrs"), CASES)
def test_elementwise_recipes(sources, name, attrs, req):
    rng = np.random.default_rng(req)
    card = make(name, attrs)
    for dtype in card.dtypes:
        for shape in [(5, 7), (0, 3), (1,), (3000,)]:
            x, out = draw(rng, dtype, shape, 0), draw(rng, dtype, shape, 0)
            views = [(x, out)] if x.ndim == 1 else [(x, out), (x.T, out.T)]
            for data, target in views:
                (want,) = on_the_cpu(card, [data], [target], [req])
                assert launch(sources, card, [data], [target], [req])
                assert same(target, want), f"{name} {dtype} {data.shape}"


@pytest.mark.slow
@NEEDS_COMPILER
def test_conversions_have_the_types_of_their_ends(sources):
    x, out = np.array([1.5, -2.5, 300], np.float32), np.zeros(3, np.uint8)
    card = make("Cast", {"dtype": "uint8"})
    (want,) = on_the_cpu(card, [x], [out], [1])
    assert launch(sources, card, [x], [out], [1])
    assert same(out, want)


def test_parts_of_a_struct_are_aligned_to_their_sizes():
    parts = [int32(1), int64(2), int32(3)]
    expected = np.array([1, 0, 2, 0, 3, 0], np.int32).tobytes()
    assert aligned([what for _, what in parts]) == expected


def test_what_lies_behind_the_temporary_memory_is_refused():
    beyond = Launch("elemwise", "any", (1, 1, 1), (1, 1, 1), (workspace(16),))
    run = Run(Recipe((beyond,), temporary=8), [], [], [])
    with pytest.raises(ValueError, match="no temporary memory at 16"):
        run.launch(Sources())


def test_types_of_arrays_are_told_by_their_numpy_names():
    assert all(draw(np.random.default_rng(0), t, (1,), 0).dtype.name == t for t in DTYPES)
