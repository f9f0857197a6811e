"""Recipes that move elements, run on the host, give what the Rust kernels give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from host import NEEDS_COMPILER
from launches import check, job_of
from table import DTYPES
from test_cuda_values import draw, numpy_dtype

from ferromix import dispatch
from ferromix.dispatch.recipe import find
from ferromix.ops.card import make

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

Shapes = list[tuple[int, ...]]
CASES: list[tuple[str, dict[str, Any], Shapes]] = [
    ("transpose", {}, [(5, 3)]),
    ("transpose", {}, [(40, 70)]),
    ("transpose", {"axes": (0, 2, 1)}, [(3, 33, 9)]),
    ("transpose", {"axes": (0, 2, 3, 1)}, [(2, 10, 5, 4)]),
    ("transpose", {"axes": (3, 1, 0, 2)}, [(8, 2, 3, 9)]),
    ("transpose", {}, [(0, 3)]),
    ("SwapAxis", {"dim1": 0, "dim2": -1}, [(9, 4, 12)]),
    ("SwapAxis", {"dim1": 1, "dim2": 1}, [(2, 3)]),
    ("reverse", {"axis": (0,)}, [(5, 3)]),
    ("reverse", {"axis": (-1, 0)}, [(2, 3, 4)]),
    ("reverse", {"axis": (1,)}, [(2, 0)]),
    ("depth_to_space", {"block_size": 2}, [(2, 12, 3, 2)]),
    ("space_to_depth", {"block_size": 3}, [(2, 2, 6, 3)]),
    ("slice", {"begin": (1, None), "end": (None, -1)}, [(4, 6)]),
    ("slice", {"begin": (None, -1), "end": (None, None), "step": (2, -2)}, [(5, 7, 2)]),
    ("slice", {"begin": (2,), "end": (2,)}, [(4, 3)]),
    ("slice", {"begin": (0, 16), "end": (9, 32)}, [(9, 48)]),
    ("slice_axis", {"axis": 1, "begin": -2, "end": None}, [(3, 5)]),
    ("slice_axis", {"axis": 0, "begin": 1, "end": 3}, [(4, 2, 2)]),
    ("slice_like", {}, [(5, 6), (2, 4)]),
    ("slice_like", {"axes": (1,)}, [(3, 4), (2, 2)]),
    ("Crop", {"num_args": 1, "h_w": (2, 3), "offset": (1, 1)}, [(2, 2, 4, 5)]),
    ("Crop", {"num_args": 2, "center_crop": True}, [(1, 2, 5, 5), (1, 1, 2, 3)]),
    ("Concat", {"num_args": 3, "dim": 1}, [(2, 3), (2, 0), (2, 4)]),
    ("Concat", {"num_args": 2, "dim": -1}, [(2, 3, 16), (2, 3, 32)]),
    ("Concat", {"num_args": 2, "dim": 0}, [(3, 5), (1, 5)]),
    ("stack", {"num_args": 3, "axis": 1}, [(2, 3)] * 3),
    ("stack", {"num_args": 2, "axis": -1}, [(4,)] * 2),
    ("SliceChannel", {"num_outputs": 3, "axis": 1}, [(2, 6, 2)]),
    ("SliceChannel", {"num_outputs": 3, "axis": 0, "squeeze_axis": True}, [(3, 4)]),
    ("_split_v2", {"indices": (0, 1, 3), "axis": 0}, [(5, 2)]),
    ("tile", {"reps": (2, 3)}, [(2, 3)]),
    ("tile", {"reps": (2, 1, 2)}, [(4,)]),
    ("tile", {"reps": (70,)}, [(2, 1)]),
    ("repeat", {"repeats": 3}, [(2, 3)]),
    ("repeat", {"repeats": 40, "axis": 1}, [(2, 3)]),
    ("repeat", {"repeats": 2, "axis": 0}, [(3, 2, 2)]),
    ("repeat", {"repeats": 0, "axis": 0}, [(3, 2)]),
    ("Reshape", {"shape": (3, -1)}, [(2, 6)]),
    ("diag", {}, [(4,)]),
    ("diag", {"k": -2}, [(3,)]),
    ("diag", {"k": 1}, [(3, 5)]),
    ("diag", {"k": -1, "axis1": 2, "axis2": 0}, [(3, 2, 4)]),
    (
        "Pad",
        {"mode": "constant", "pad_width": (0, 0, 0, 0, 1, 2, 3, 0), "constant_value": 2.7},
        [(1, 2, 3, 2)],
    ),
    ("Pad", {"mode": "edge", "pad_width": (0, 0, 0, 0, 1, 2, 3, 0)}, [(2, 1, 3, 1)]),
    ("Pad", {"mode": "reflect", "pad_width": (0, 0, 0, 0, 1, 2, 2, 2)}, [(1, 2, 3, 4)]),
    ("Pad", {"mode": "reflect", "pad_width": (0, 0, 0, 0, 1, 0, 0, 1, 2, 1)}, [(1, 1, 3, 2, 3)]),
    ("_slice_assign", {"begin": (1, None), "end": (None, None), "step": (1, -2)}, [(3, 5), (2, 3)]),
    ("_slice_assign", {"begin": (5,), "end": (2,)}, [(4, 2), (0, 2)]),
    ("_slice_assign", {"begin": (-1,), "end": (-4,), "step": (-2,)}, [(4, 2), (2, 2)]),
    ("_slice_assign_scalar", {"begin": (0, 1), "end": (2, 2), "scalar": -300.5}, [(3, 4)]),
    ("shape_array", {}, [(2, 0, 3)]),
    ("size_array", {}, [(4, 5)]),
    ("_contrib_index_array", {}, [(3, 4, 2)]),
    ("_contrib_index_array", {"axes": (-1, 0)}, [(3, 2, 5)]),
    ("_contrib_index_array", {}, [(3, 0)]),
    ("_full", {"shape": (3, 2), "value": -3e9}, []),
    ("_zeros", {"shape": (0, 2)}, []),
    ("_arange", {"start": -1.3, "stop": 6, "step": 0.7, "repeat": 3}, []),
    ("_linspace", {"start": 0.1, "stop": 7, "num": 40}, []),
    ("_eye", {"N": 3, "M": 5, "k": 1}, []),
    ("_eye", {"N": 4, "k": -2}, []),
]
BACK = {
    "slice", "slice_axis", "slice_like", "Crop", "Concat", "tile", "repeat", "diag", "Pad",
}  # fmt: skip
ROUNDED = {"_backward_tile", "_backward_repeat", "_backward_Pad"}
"""Sums, of which whole numbers show every element without roundings."""


def runs(name: str, attrs: dict, shapes: Shapes, dtype: str) -> Iterator[tuple]:
    """The card and, where there is one, that of the way back, with the shapes of both ends."""
    card = make(name, {**attrs, "dtype": dtype} if not shapes else attrs)
    outs = dispatch.infer(card, tuple((s, dtype) for s in shapes))
    yield card, shapes, outs
    back = getattr(card, "back", f"_backward_{name}")
    if name in BACK and dtype in make(back, attrs).dtypes:
        own = make(back, attrs)
        given = [outs[0][0], *shapes][: len(own.list_arguments())]
        yield own, given, dispatch.infer(own, tuple((s, dtype) for s in given))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "attrs", "shapes"), CASES)
def test_values_are_those_of_the_rust_kernels(sources, name, attrs, shapes, dtype):
    rng = np.random.default_rng(1)
    if dtype not in make(name, attrs).dtypes:
        return
    for card, given, outs in runs(name, attrs, shapes, dtype):
        ends = [*((shape, dtype) for shape in given), *outs]
        some = [draw(rng, kind, shape, 0) for shape, kind in ends]
        if card.name in ROUNDED:
            some = [rng.integers(-3, 4, x.shape).astype(numpy_dtype(dtype)) for x in some]
        check(sources, card, some[: len(given)], some[len(given) :])


@pytest.mark.parametrize("reqs", [[0, 1, 3], [3, 0, 0]])
def test_parts_have_requests_of_their_own(sources, reqs):
    rng = np.random.default_rng(2)
    card = make("SliceChannel", {"num_outputs": 3, "axis": 1})
    check(sources, card, [rng.normal(size=(2, 6))], [np.ones((2, 2)) for _ in range(3)], reqs)


def entries(name: str, attrs: dict, data: np.ndarray, out: np.ndarray) -> list[str]:
    card = make(name, attrs)
    made = find(card.kernel_name())
    recipe = made(job_of(card, [data], [out])) if made else None
    assert recipe is not None
    return [launch.entry for launch in recipe.launches]


def test_only_turned_rows_go_through_shared_memory():
    x = np.zeros((40, 3, 70), np.float32)
    assert entries("transpose", {}, x, x.transpose()) == ["affine_tiles_float32"]
    apart = {"axes": (1, 0, 2)}
    assert entries("transpose", apart, x, x.transpose(1, 0, 2)) == ["affine_copy_float32"]
    assert entries("Reshape", {"shape": (-1,)}, x, x.reshape(-1)) == ["affine_copy_float32"]


def test_packs_that_are_not_aligned_move_by_elements(sources):
    memory = np.arange(65, dtype=np.float32)
    for first in (0, 1):
        data = memory[first : first + 64].reshape(2, 32)
        check(sources, make("Concat", {"num_args": 1, "dim": 0}), [data], [np.zeros_like(data)])
