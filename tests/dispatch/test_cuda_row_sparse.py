"""Rows of row_sparse arrays, run on the host, come from and go where the Rust kernels put them."""

from __future__ import annotations

import numpy as np
import pytest
from host import NEEDS_COMPILER
from launches import check, launch, same
from table import DTYPES
from test_cuda_refusals import refused_alike
from test_cuda_values import draw, numpy_dtype

from ferromix.ops.card import make
from ferromix.ops.family import FLOATS

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

TABLES = [
    ((7, 3), [0, 2, 3, 6]),
    ((1,), [0]),
    ((40, 2, 16), range(40)),
    ((700, 2), range(0, 700, 2)),
    ((5, 70), []),
    ((6, 4), [4, 1, 5]),
    ((0, 4), []),
    ((4, 0), [1, 2]),
]
"""Shapes of tables, and rows that are stored."""
SPARE = 3
"""Rows that there is room for besides."""


def parts(rng, dtype, shape, rows):
    """Values, numbers and count; what is not in use has no place."""
    rows, count = [*rows, *[-(2**40)] * SPARE], len(rows)
    values = draw(rng, dtype, (len(rows), *shape[1:]), 0)
    return [values, np.array(rows, np.int64), np.array([count], np.int64)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows(sources, dtype):
    rng = np.random.default_rng(1)
    for shape, rows in TABLES:
        stored = parts(rng, dtype, shape, rows)
        table, out = (draw(rng, dtype, shape, 0) for _ in range(2))
        # On the CPU nothing is added to other rows, so that a negative zero stays one.
        other = np.where(out == 0, np.ones_like(out), out)
        check(sources, make("_rows_to_dense", {"height": shape[0]}), stored, [other])
        check(sources, make("_rows_write", {}), [table, *stored], [out])
        given = [table, *stored[1:]]
        check(sources, make("_rows_gather", {}), given, [draw(rng, dtype, stored[0].shape, 0)])
        if list(rows) == sorted(rows):
            wanted = rng.integers(-2, shape[0] + 2, (3, 31))
            out = draw(rng, dtype, (*wanted.shape, *shape[1:]), 0)
            check(sources, make("_rows_take", {}), [*stored, wanted], [out])


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_that_are_kept(sources, dtype):
    rng = np.random.default_rng(2)
    for shape, _ in TABLES:
        for count in (0, 1, 90):
            given = draw(rng, dtype, (count,), 0)
            data, out = (draw(rng, "float32", shape, 0) for _ in range(2))
            check(sources, make("_sparse_retain", {}), [data, given], [out])
            out, data = draw(rng, dtype, shape, 0), draw(rng, dtype, shape, 0)
            given = rng.integers(-3, shape[0] + 3, (count,)).astype("float64")
            check(sources, make("_sparse_retain", {}), [data, given], [out])


def test_rows_are_written_in_place(sources):
    rng = np.random.default_rng(3)
    for shape, rows in TABLES:
        table, stored = draw(rng, "float32", shape, 0), parts(rng, "float32", shape, rows)
        expected = table.copy()
        expected[list(rows)] = stored[0][: len(rows)]
        for req in (1, 2):
            out = table.copy()
            assert launch(sources, make("_rows_write", {}), [out, *stored], [out], [req])
            assert same(out, expected)


def test_the_last_of_equal_rows_counts(sources):
    rows, values = np.array([3, 1, 3, 1, 1]), np.arange(1.0, 6.0)
    stored, table = [values, rows, np.array([4])], np.full(5, 9.0)
    found = np.ones(5)
    assert launch(sources, make("_rows_to_dense", {"height": 5}), stored, [found], [1])
    assert found.tolist() == [0, 4, 0, 3, 0]
    for out in (np.ones(5), table):
        assert launch(sources, make("_rows_write", {}), [table, *stored], [out], [1])
        assert out.tolist() == [9, 4, 9, 3, 9]


@pytest.mark.parametrize(("row", "count"), [(3, 3), (-1, 3), (2, 99), (2, -1)])
def test_rows_that_there_are_not_are_refused(sources, row, count):
    table, stored = np.ones(3), [np.arange(1.0, 5.0), np.array([0, 1, row, 7]), np.array([count])]
    wrong = {
        "_rows_to_dense": (stored, table),
        "_rows_write": ([table, *stored], table),
        "_rows_gather": ([table, *stored[1:]], np.ones(4)),
        "_rows_take": ([*stored, np.array([1])], np.ones(1)),
    }
    for name, (inputs, out) in wrong.items():
        card = make(name, {"height": 3} if name == "_rows_to_dense" else {})
        if name == "_rows_take" and row == 3:
            check(sources, card, inputs, [out])  # as it does not know how many rows there are
            continue
        text = refused_alike(sources, card, inputs, [out.copy()], name != "_rows_take")
        assert f"has a row {row}" in text or f"{count} rows of 4 are" in text


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_of_rows(sources, dtype):
    rng = np.random.default_rng(4)
    card, out = make("_row_numbers", {"height": 100}), np.ones((4, 30), np.int64)
    data = np.asarray(rng.integers(0, 100, (4, 30)), numpy_dtype(dtype))
    check(sources, card, [data], [out], [1])
    card = make("_row_numbers", {"height": 2})
    for wrong in (-1, 2, *([-0.5, 1.25, np.nan] if dtype in FLOATS else [])):
        data = np.asarray([0, wrong, 1]).astype(numpy_dtype(dtype))
        if dtype == "bool" or (dtype == "uint8" and wrong < 0):
            continue
        same_words = float(wrong).is_integer()
        refused_alike(sources, card, [data], [np.ones(3, np.int64)], same_words)
