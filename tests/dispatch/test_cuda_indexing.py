"""Recipes of elements and slices by indices, run on the host, give what the Rust kernels give."""

from __future__ import annotations

import numpy as np
import pytest
from host import NEEDS_COMPILER
from launches import check, launch
from table import DTYPES
from test_cuda_values import draw, numpy_dtype

from ferromix.ops.card import make

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

FLOATS = ["float32", "float64", "float16", "bfloat16"]
LENGTHS = [2, 16, 3]
"""Elements of rows: with and without whole packs."""


def indices(rng, shape, extent, dtype="float32", outside=3) -> np.ndarray:
    """Some beyond both ends, some not whole, many of them more than once."""
    whole = rng.integers(-outside, extent + outside, shape)
    given = whole + rng.choice([0, 0.5], shape) if outside else whole
    return np.asarray(given, numpy_dtype(dtype))


def summands(rng, dtype, shape) -> np.ndarray:
    return draw(rng, dtype, shape, 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_along_an_axis(sources, dtype):
    rng = np.random.default_rng(1)
    for shape, axis in [((5, 16), 0), ((2, 7, 3), 1), ((3, 4), -1), ((2, 3, 0), 1), ((70, 2), 0)]:
        for mode in ("clip", "wrap", "raise"):
            attrs = {"axis": axis, "mode": mode}
            for chosen in ((6,), (), (2, 3), (0,), (90,)):
                given = indices(rng, chosen, shape[axis], outside=0 if mode == "raise" else 3)
                at = axis % len(shape)
                taken = (*shape[:at], *chosen, *shape[at + 1 :])
                data, grad = summands(rng, dtype, shape), summands(rng, dtype, taken)
                out = summands(rng, dtype, taken)
                check(sources, make("take", attrs), [data, given], [out])
                back = make("_backward_take", attrs)
                check(sources, back, [grad, given, data], [summands(rng, dtype, shape)])


@pytest.mark.parametrize("dtype", DTYPES)
def test_indices_of_any_type(sources, dtype):
    rng = np.random.default_rng(2)
    data, out = summands(rng, "float32", (5, 3)), summands(rng, "float32", (40, 3))
    given = draw(rng, dtype, (40,), 0)
    for mode in ("clip", "wrap"):
        check(sources, make("take", {"mode": mode}), [data, given], [out])
    pixels = summands(rng, "float32", (40,))
    check(sources, make("pick", {}), [summands(rng, "float32", (40, 3)), given], [pixels])
    check(sources, make("one_hot", {"depth": 4}), [given], [summands(rng, "float32", (40, 4))])
    matrix = summands(rng, "float32", (40, 3))
    check(sources, make("fill_element_0index", {}), [matrix, pixels, given], [matrix.copy()])


@pytest.mark.parametrize("dtype", FLOATS)
def test_tables_of_vectors(sources, dtype):
    rng = np.random.default_rng(3)
    for count, width, shape in [(5, 16, (4, 3)), (3, 5, (70,)), (40, 2, (0,)), (1, 1, ())]:
        attrs = {"input_dim": count, "output_dim": width}
        data, weight = indices(rng, shape, count), summands(rng, dtype, (count, width))
        grad, out = (summands(rng, dtype, (*shape, width)) for _ in range(2))
        check(sources, make("Embedding", attrs), [data, weight], [out])
        check(sources, make("_backward_Embedding", attrs), [grad, data], [weight])


def test_sums_do_not_depend_on_the_order_of_threads(sources):
    rng = np.random.default_rng(4)
    attrs = {"input_dim": 2, "output_dim": 3}
    grad, data = rng.normal(size=(500, 3)).astype(np.float32), rng.integers(0, 2, 500)
    found = []
    for seed in range(4):
        out = np.zeros((2, 3), np.float32)
        launch(sources, make("_backward_Embedding", attrs), [grad, data], [out], [1], seed=seed)
        found.append(out.tobytes())
    assert len(set(found)) == 1


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_of_lines(sources, dtype):
    rng = np.random.default_rng(5)
    for shape, axis in [((4, 5), -1), ((3, 4, 2), 1), ((7,), 0), ((3, 4), 0), ((0, 3), 1)]:
        at = axis % len(shape)
        for mode in ("clip", "wrap"):
            kept = (*shape[:at], *shape[at + 1 :])
            given = indices(rng, kept, shape[at])
            attrs = {"axis": axis, "mode": mode}
            data = summands(rng, dtype, shape)
            grad, out = (summands(rng, dtype, kept) for _ in range(2))
            check(sources, make("pick", attrs), [data, given], [out])
            back = make("_backward_pick", attrs)
            check(sources, back, [grad, given, data], [summands(rng, dtype, shape)])
    data, given = summands(rng, dtype, (6, 4)), indices(rng, (6,), 4, "int32")
    grad, out = (summands(rng, dtype, (6,)) for _ in range(2))
    check(sources, make("batch_take", {}), [data, given], [out])
    back = make("_backward_batch_take", {})
    check(sources, back, [grad, given, data], [summands(rng, dtype, (6, 4))])


def test_the_last_of_equal_places_goes_back(sources):
    rng = np.random.default_rng(6)
    grad, data = rng.normal(size=(3, 5)), np.zeros((3, 2))
    given = rng.integers(0, 2, (3, 5)).astype(float)
    check(sources, make("_backward_pick", {"axis": 1}), [grad, given, data], [np.ones((3, 2))])
    grad, data = rng.normal(size=(2, 90, 2)), np.zeros((2, 7, 2))
    given = rng.integers(-1, 8, (2, 90, 2)).astype(float)
    check(sources, make("_backward_pick", {"axis": 1}), [grad, given, data], [np.ones((2, 7, 2))])


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_hot_rows(sources, dtype):
    rng = np.random.default_rng(7)
    for shape, depth in [((5,), 4), ((2, 3), 1), ((), 3), ((4,), 0), ((0,), 2)]:
        for on, off in [(1.0, 0.0), (2.5, -1.5), (300.0, -3e10)]:
            attrs = {"depth": depth, "on_value": on, "off_value": off, "dtype": dtype}
            given, out = indices(rng, shape, depth), summands(rng, dtype, (*shape, depth))
            check(sources, make("one_hot", attrs), [given], [out])


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_element_of_each_row_is_set(sources, dtype):
    rng = np.random.default_rng(8)
    for shape in [(5, 3), (1, 1), (0, 2), (40, 2)]:
        matrix, out = (summands(rng, dtype, shape) for _ in range(2))
        values, given = summands(rng, dtype, shape[:1]), indices(rng, shape[:1], shape[1])
        check(sources, make("fill_element_0index", {}), [matrix, values, given], [out])


@pytest.mark.parametrize("dtype", DTYPES)
def test_slices_by_several_indices(sources, dtype):
    rng = np.random.default_rng(9)
    for whole, depth, chosen in [
        ((3, 4, 2), 2, (5,)),
        ((3, 4), 2, (2, 3)),
        ((4, 16), 1, (7,)),
        ((2, 3, 2), 3, (40,)),
        ((3, 2), 1, (0,)),
    ]:
        low = -min(whole[:depth])
        given = rng.integers(low, -low, (depth, *chosen)).astype(np.int64)
        part = (*chosen, *whole[depth:])
        data, out = summands(rng, dtype, whole), summands(rng, dtype, part)
        check(sources, make("gather_nd", {}), [data, given], [out])
        back = make("_backward_gather_nd_like", {})
        check(sources, back, [out, given, data], [summands(rng, dtype, whole)])
        for name in ("scatter_nd", "_backward_gather_nd"):
            card = make(name, {"shape": whole})
            check(sources, card, [out, given], [summands(rng, dtype, whole)])
        card = make("_scatter_set_nd", {"shape": whole})
        check(sources, card, [data, out, given], [summands(rng, dtype, whole)])
