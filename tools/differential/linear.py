"""Random calls of linear algebra, of histograms and of raveled indices."""

from __future__ import annotations

from typing import Any

import numpy as np
from cases import NUMBERS, Case, Draw


def square(draw: Draw, lead: tuple[int, ...], n: int, dtype: str) -> Any:
    """Matrices far from singular."""
    return draw.array((*lead, n, n), dtype, -1, 1) + np.eye(n, dtype=dtype) * 2 * n


def linear(draw: Draw) -> Case:
    """Products, factors, inverses, determinants, diagonals and triangles."""
    dtype, lead = draw.one(("float64", "float64", "float32")), draw.shape(0, 2, 3)
    m, n, k = (draw.int(1, 40 if draw.maybe(0.1) else 5) for _ in range(3))
    a = square(draw, lead, n, dtype)
    symmetric = (a + np.swapaxes(a, -1, -2)).astype(dtype)
    lower, flips = {"lower": draw.maybe()}, [draw.maybe(), draw.maybe()]
    alpha = {"alpha": draw.int(-4, 4) / 2}
    axis = draw.int(-len(lead) - 2, -2)
    attrs = {"transpose_a": flips[0], "transpose_b": flips[1], **alpha, "axis": axis}
    sides = [(m, k)[:: -1 if flips[0] else 1], (k, n)[:: -1 if flips[1] else 1], (m, n)]
    # The rows stand at `axis`, the extents in front of it and behind it in their order.
    at = len(lead) + 2 + axis
    pieces = [draw.array((*lead[:at], r, *lead[at:], c), dtype) for r, c in sides]
    right = {"rightside": flips[0], "transpose": flips[1], **lower, **alpha}
    other = draw.array((*lead, m, n) if flips[0] else (*lead, n, m), dtype)
    wide = draw.array((*lead, n, n + m), dtype)
    part = {"offset": draw.int(-2, 2), **lower}
    diagonal = {"offset": part["offset"]}
    packed = draw.array((*lead, draw.one((1, 3, 6, 10, draw.int(1, 9)))), dtype)
    return draw.one(
        [
            Case("linalg_gemm", pieces, {**attrs, "beta": draw.int(-4, 4) / 2}),
            Case("linalg_gemm2", pieces[:2], attrs),
            Case("linalg_syrk", [wide], {"transpose": flips[0], **alpha}),
            Case("linalg_trmm", [a, other], right),
            Case("linalg_trsm", [a, other], right),
            Case("linalg_potrf", [symmetric], lower),
            Case("linalg_potri", [a], lower),
            Case("linalg_gelqf", [wide]),
            Case("_linalg_syevd", [symmetric.astype("float64") - 3 * np.eye(n)]),
            Case("linalg_inverse", [a]),
            Case("linalg_det", [a / (2 * n)]),
            Case("linalg_slogdet", [a]),
            Case("linalg_sumlogdiag", [a]),
            Case("linalg_extractdiag", [a], diagonal),
            Case("linalg_makediag", [packed], diagonal),
            Case("linalg_extracttrian", [a], part),
            Case("linalg_maketrian", [packed], part),
        ]
    )


def counted(draw: Draw) -> Case:
    """Histograms, and places from indices and back."""
    dtype = draw.one(NUMBERS)
    data = draw.array(draw.shape(), dtype)
    low = draw.int(0 if dtype == "uint8" else -4, 3)
    bins = {"bin_cnt": draw.int(1, 9), "range": (low, low + draw.int(0, 5))}
    edges = np.sort(draw.array((draw.int(1, 6),), dtype))
    shape = draw.shape(1, 4)
    places = draw.random.integers(0, 100, (draw.int(1, 5),)).astype(dtype)
    indices = draw.random.integers(0, 7, (len(shape), draw.int(1, 5))).astype(dtype)
    return draw.one(
        [
            Case("_histogram", [data], bins),
            Case("_histogram", [data, edges]),
            Case("ravel_multi_index", [indices], {"shape": shape}),
            Case("unravel_index", [places], {"shape": shape}),
        ]
    )


FAMILIES = {"linear": linear, "counted": counted}
