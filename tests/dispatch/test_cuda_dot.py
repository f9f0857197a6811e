"""The CUDA sources of products of matrices, run on the host, give what the Rust kernels give."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from host import NEEDS_COMPILER
from products import check, numbers

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

FLOATS = ["float32", "float64", "float16", "bfloat16"]
SIZES = [(1, 1, 1), (5, 3, 7), (33, 40, 17), (2, 3, 0), (0, 3, 2), (65, 70, 33), (1, 31, 300)]
"""Rows, columns and depth."""
FLIPS = list(product((False, True), repeat=2))


def operands(m, n, depth, flip_a, flip_b, dtype, front=()):
    rng = np.random.default_rng([m, n, depth])
    a = (*front, depth, m) if flip_a else (*front, m, depth)
    b = (*front, n, depth) if flip_b else (*front, depth, n)
    return [numbers(rng, shape, dtype) for shape in (a, b)]


def flags(flip_a, flip_b):
    return {"transpose_a": flip_a, "transpose_b": flip_b}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("flips", FLIPS)
def test_products(sources, dtype, flips):
    for (m, n, depth), req in product(SIZES, (0, 1, 3)):
        given = operands(m, n, depth, *flips, dtype)
        check(sources, "dot", flags(*flips), given, [req], terms=4 * depth**0.5 + 1)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("flips", FLIPS)
def test_batches(sources, dtype, flips):
    for front, req in product([(1,), (2, 3), (0,)], (0, 1, 3)):
        given = operands(9, 34, 20, *flips, dtype, front)
        check(sources, "batch_dot", flags(*flips), given, [req], terms=20)


@pytest.mark.parametrize("dtype", FLOATS)
def test_tiles_of_all_sizes(sources, dtype):
    ran = set()
    for m, n in ((130, 70), (60, 257), (20, 20)):
        given = operands(m, n, 37, False, True, dtype)
        ran |= check(sources, "dot", flags(False, True), given, [3], terms=25)
    large = set() if dtype == "float64" else {f"dot_large_{dtype}"}
    assert ran == {f"dot_medium_{dtype}", f"dot_small_{dtype}"} | large


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("req", [0, 1, 3])
def test_blocks_that_share_a_depth(sources, dtype, req):
    for m, n, depth in ((3, 5, 1000), (40, 30, 513), (66, 64, 400)):
        given = operands(m, n, depth, True, False, dtype)
        ran = check(sources, "dot", flags(True, False), given, [req], 5, terms=5 * depth**0.5)
        assert f"dot_{dtype}_finish" in ran


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("flips", FLIPS)
def test_packs_of_halves(sources, dtype, flips):
    given = operands(72, 80, 48, *flips, dtype)
    ran = check(sources, "dot", flags(*flips), given, [1], terms=28)
    assert ran == {f"dot_large_{dtype}"}


@pytest.mark.parametrize("flips", FLIPS)
def test_float32_on_tensor_cores(sources, flips):
    """What is rounded are the factors; sums are of float32."""
    ran = set()
    for (m, n, depth), req, processors in (((72, 80, 48), 1, 1), ((66, 67, 300), 3, 8)):
        given = operands(m, n, depth, *flips, "float32")
        many = processors, 4 * depth**0.5
        ran |= check(sources, "dot", flags(*flips), given, [req], *many, tf32=True)
    assert ran == {"dot_tf32_large_float32", "dot_tf32_medium_float32", "dot_float32_finish"}


def test_tf32_of_what_is_no_number(sources):
    a, b = np.eye(70, dtype=np.float32), np.ones((70, 70), np.float32)
    a[0, 0], a[1, 1], a[2, 2], a[3, 3] = np.nan, np.inf, -0.0, 1 + 2.0**-11
    check(sources, "dot", {}, [a, b], [1], terms=1, tf32=True)


def test_tensors(sources):
    rng = np.random.default_rng(4)
    a, b = (numbers(rng, shape, "float32") for shape in ((2, 3, 5), (5, 4, 2)))
    check(sources, "dot", {}, [a, b], [1], terms=10)
    check(
        sources, "dot", flags(True, True), [a.transpose(2, 0, 1).copy(), b.T.copy()], [1], terms=9
    )
    vector = numbers(rng, (5,), "float32")
    check(sources, "dot", {}, [vector, vector], [1], terms=10)
