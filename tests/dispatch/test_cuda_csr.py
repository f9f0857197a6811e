"""Csr matrices, run on the host, are converted, summed and multiplied as by the Rust kernels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from host import NEEDS_COMPILER
from launches import Run, check, job_of, on_the_cpu
from table import DTYPES
from test_cuda_refusals import refused_alike
from test_cuda_values import draw, numpy_dtype

from ferromix.dispatch.recipe import Limits, find
from ferromix.ops.card import make

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

SHAPES = [(5, 7), (1, 300), (300, 1), (0, 3), (3, 0), (90, 40)]
SPARE = 5
"""Elements that there is room for besides."""
RATES = {"float32": 2e-6, "float64": 1e-14}


def structure(rng, shape, kind):
    """Columns, and where rows begin."""
    rows, columns = shape
    counts = rng.integers(0, 2 * columns + 1 if kind == "twice" else columns + 1, rows)
    counts = counts if columns else np.zeros(rows, int)
    counts[::4] = 0
    picked = [
        rng.integers(0, columns, n) if kind == "twice" else rng.permutation(columns)[:n]
        for n in counts
    ]
    picked = [np.sort(p) if kind == "growing" else p for p in picked]
    found = np.concatenate([*picked, np.full(SPARE, -(2**40))]).astype(np.int64)
    return found, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["growing", "mixed", "twice"])
def test_conversions(sources, dtype, kind):
    rng = np.random.default_rng(1)
    for shape in SHAPES:
        indices, offsets = structure(rng, shape, kind)
        attrs = {"columns": shape[1]}
        data, out = draw(rng, dtype, indices.shape, 0), draw(rng, dtype, shape, 0)
        out = np.where(out == 0, np.ones_like(out), out)  # a negative zero stays one on a GPU
        check(sources, make("_csr_to_dense", attrs), [data, indices, offsets], [out])
        for matrix in (shape, (1, shape[1]), (shape[0], 1), (1, 1)):
            given = [indices, offsets, draw(rng, dtype, matrix, 0)]
            check(sources, make("_csr_sample", attrs), given, [data])


def near(sources, card, inputs, out, processors=1):
    """Compares the sums of a card with the CPU's; those of a GPU may be in another order."""
    maker = find(card.kernel_name())
    assert maker
    for req in (0, 1, 3):
        wanted = on_the_cpu(card, inputs, [out], [req])[0]
        found = out.copy()
        job = replace(job_of(card, inputs, [out]), limits=Limits(processors, threads=64))
        made = maker(job)
        assert made
        Run(made, inputs, [found], [req]).launch(sources, seed=3)
        rate = RATES.get(out.dtype.name, 0)
        np.testing.assert_allclose(found, wanted, rtol=rate, atol=60 * rate)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_sums_of_rows(sources, dtype):
    rng = np.random.default_rng(2)
    for shape in [*SHAPES, (2, 3000)]:
        indices, offsets = structure(rng, shape, "mixed")
        data = np.asarray(rng.normal(size=indices.shape) * 9, numpy_dtype(dtype))
        out = np.arange(shape[0]).astype(dtype)
        near(sources, make("_csr_row_sums", {"columns": shape[1]}), [data, indices, offsets], out)


@pytest.mark.parametrize("dtype", RATES)
@pytest.mark.parametrize("transpose", [False, True])
def test_products(sources, dtype, transpose):
    rng = np.random.default_rng(3)
    for shape in [*SHAPES, (2, 3000), (3000, 2)]:
        indices, offsets = structure(rng, shape, "twice")
        data = rng.normal(size=indices.shape).astype(dtype)
        card = make("_csr_dot", {"columns": shape[1], "transpose": transpose})
        own, other = shape[::-1] if transpose else shape
        for tail in ((), (1,), (3,), (2, 9), (0,), (40,)):
            rhs = rng.normal(size=(other, *tail)).astype(dtype)
            out = np.ones((own, *tail), dtype)
            near(sources, card, [data, indices, offsets, rhs], out, processors=len(tail))


@pytest.mark.parametrize("dtype", RATES)
def test_rows_of_products(sources, dtype):
    rng = np.random.default_rng(4)
    for shape in [*SHAPES, (2, 3000), (3000, 2), (7, 10**12)]:
        indices, offsets = structure(rng, (shape[0], min(shape[1], 4000)), "twice")
        indices = np.where(indices > 0, indices * (shape[1] // 4000 or 1), indices)
        data = rng.normal(size=indices.shape).astype(dtype)
        capacity = min(len(indices), shape[1])
        card = make("_csr_dot_rows", {"columns": shape[1], "capacity": capacity})
        for tail in ((), (3,), (0,), (40,)):
            rhs = rng.normal(size=(shape[0], *tail)).astype(dtype)
            outs = [np.ones((capacity, *tail), dtype), np.ones(capacity, np.int64)]
            inputs = [data, indices, offsets, rhs]
            check(sources, card, inputs, [*outs, np.zeros(1, np.int64)], [1, 1, 1])


@pytest.mark.parametrize(
    ("offsets", "column"),
    [([0, 2, 4], 3), ([0, 2, 4], -1), ([0, 99, 3], 0), ([-7, -2, 1], 0), ([0, 3, 2], 0)],
)
def test_what_is_no_structure_is_refused(sources, offsets, column):
    data, indices = np.arange(1.0, 7), np.array([0, 1, column, 1, 0, 2])
    given, attrs = [data, indices, np.array(offsets)], {"columns": 3}
    wrong = [
        ("_csr_to_dense", {}, given, [(2, 3)]),
        ("_csr_sample", {}, [*given[1:], np.ones((2, 3))], [(6,)]),
        ("_csr_row_sums", {}, given, [(2,)]),
        ("_csr_dot", {}, [*given, np.ones((3, 2))], [(2, 2)]),
        ("_csr_dot", {"transpose": True}, [*given, np.ones(2)], [(3,)]),
        ("_csr_dot_rows", {"capacity": 3}, [*given, np.ones(2)], [(3,), (3,), (1,)]),
    ]
    for name, more, inputs, shapes in wrong:
        outs = [np.ones(s) if i == 0 else np.ones(s, np.int64) for i, s in enumerate(shapes)]
        # The CPU says which row a column is of, and what a row's range is.
        text = refused_alike(sources, make(name, {**attrs, **more}), inputs, outs, False)
        assert f"in column {column}, but" in text or "is no range" in text


def test_more_rows_than_there_is_room_for_are_refused(sources):
    inputs = [np.ones(3), np.array([0, 2, 4]), np.array([0, 3]), np.ones(1)]
    outs = [np.ones(2), np.ones(2, np.int64), np.ones(1, np.int64)]
    card = make("_csr_dot_rows", {"columns": 5, "capacity": 2})
    assert "3 rows are not zero" in refused_alike(sources, card, inputs, outs)
