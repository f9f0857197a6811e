"""What kernels refuse: recipes, run on the host, raise what the Rust kernels do, and only then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from host import NEEDS_COMPILER
from launches import check, launch, on_the_cpu

from ferromix.ops.card import make

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]


def like(shape: tuple[int, ...], dtype: str = "float32") -> np.ndarray:
    """Quarters, so that sums have no rounding."""
    return ((np.arange(np.prod(shape)) - 3) / 4).reshape(shape).astype(dtype)


TABLE, PART = like((3, 2)), like((4, 2))
PLACES = np.array([2.0, 0, 1, 2])
RAISE = {"mode": "raise"}
INDICES: list[tuple[str, dict[str, Any], list[np.ndarray], list[np.ndarray], int, Any]] = [
    ("take", RAISE, [TABLE, PLACES], [PART], 1, 3),
    ("take", RAISE, [TABLE, PLACES], [PART], 1, -1),
    ("take", {"axis": 1, **RAISE}, [TABLE.T.copy(), PLACES], [PART.T.copy()], 1, 3),
    ("_backward_take", RAISE, [PART, PLACES, TABLE], [TABLE.copy()], 1, -3),
    ("gather_nd", {}, [TABLE, PLACES[None]], [PART], 1, 3),
    ("gather_nd", {}, [TABLE, np.ones((2, 4), int)], [like((4,))], 1, (1, 0, 2)),
    ("scatter_nd", {"shape": (3, 2)}, [PART, PLACES[None]], [TABLE], 1, -4),
    ("_scatter_set_nd", {"shape": (3, 2)}, [TABLE, PART, PLACES[None]], [TABLE.copy()], 2, 5),
    ("_backward_gather_nd", {"shape": (3, 2)}, [PART, PLACES[None]], [TABLE], 1, 3),
    ("_contrib_index_copy", {}, [TABLE, PLACES, PART], [TABLE.copy()], 1, 4),
    ("_contrib_count_sketch", {"out_dim": 3}, [PART.T.copy(), PLACES[None], like((1, 4))],
     [TABLE.T.copy()], 1, 3),
    ("_backward_count_sketch", {"out_dim": 3}, [TABLE.T.copy(), PLACES[None], like((1, 4))], [PART.T.copy()], 1, -1),
    ("SequenceReverse", {"use_sequence_length": True}, [PART, np.array([4, 0])], [PART.copy()], 1, 5),
    ("SequenceReverse", {"use_sequence_length": True}, [PART, np.array([4, 0])], [PART.copy()], 1, -1),
    ("SequenceLast", {"use_sequence_length": True}, [PART, np.array([4, 1])], [like((2,))], 1, 0),
    ("_backward_SequenceLast", {"use_sequence_length": True},
     [like((2,)), PART, np.array([4, 1])], [PART.copy()], 2, 5),
    ("_backward_sample_multinomial", {}, [like((2, 3)), np.ones((2, 2), "float32"), np.zeros((2, 3), int)],
     [like((2, 2))], 2, 2),
]
"""Operator, attributes, inputs, outputs, which input is changed, and how it becomes wrong."""


def raised(run) -> tuple[type[Exception], str]:
    with pytest.raises((IndexError, ValueError)) as found:
        run()
    return found.type, str(found.value)


def refused_alike(sources, card, inputs, outputs, same_words: bool = True) -> str:
    reqs = [1] * len(outputs)
    ours = raised(lambda: launch(sources, card, inputs, [x.copy() for x in outputs], reqs))
    theirs = raised(lambda: on_the_cpu(card, inputs, outputs, reqs))
    assert issubclass(theirs[0], ours[0])
    assert not same_words or ours[1] in theirs[1]
    return ours[1]


@pytest.mark.parametrize("row", INDICES, ids=lambda row: row[0])
def test_indices_lengths_and_classes(sources, row):
    name, attrs, inputs, outputs, number, wrong = row
    card = make(name, attrs)
    check(sources, card, inputs, outputs)
    bad = [x.copy() for x in inputs]
    at, value = (wrong[:-1], wrong[-1]) if isinstance(wrong, tuple) else (-1, wrong)
    bad[number][at if isinstance(wrong, tuple) else (0,) * (bad[number].ndim - 1) + (at,)] = value
    assert f"{value}" in refused_alike(sources, card, bad, outputs)
