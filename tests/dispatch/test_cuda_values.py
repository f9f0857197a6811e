"""The CUDA sources, run on the host, give what the Rust kernels give, row by row, type by type."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from host import NEEDS_COMPILER, build, launch
from table import INPUTS, Row, numbers, rows

from ferromix import _core

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

SHAPE = (5, 7, 13)
LAYOUTS = ["packed", "strided", "misaligned"]
REALS = [0, -0.0, 1, -1, 2, 0.5, -0.5, 1.5, -2.5, np.inf, -np.inf, np.nan, 1e30, -1e-30, 255, 300]
EDGES = [127.5, -129, 2.0**31, -(2.0**31), 2.0**63, 65504, 65520]
WHOLE = [0, 1, -1, 2, -2, 127, -128, 255, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)]
# Units of the last place: both libraries' functions are a few off, and halves hide that but where
# they round.
UNITS = {"float32": 4, "float64": 4, "float16": 1, "bfloat16": 1}
# Functions with roots where two numbers of about this size cancel.
TERMS = {"gammaln": 4, "digamma": 4}


def numpy_dtype(name: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def draw(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], offset: int) -> np.ndarray:
    """Ordinary numbers mixed with special ones, `offset` elements after 16-byte alignment."""
    kind = numpy_dtype(dtype)
    special = rng.random(shape) < 0.4
    if dtype == "bool":
        values = rng.integers(0, 2, shape).astype(kind)
    elif kind.kind in "iu":
        whole = np.where(special, rng.choice(np.array(WHOLE), shape), rng.integers(-9, 10, shape))
        values = whole.astype(kind)
    else:
        reals = np.where(special, rng.choice(REALS + EDGES, shape), 3 * rng.normal(size=shape))
        with np.errstate(over="ignore"):
            values = reals.astype(kind)
    memory = np.zeros(values.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 16 + offset * kind.itemsize
    placed = memory[start : start + values.nbytes].view(kind).reshape(shape)
    placed[...] = values
    return placed


def rust(row: Row, attrs: dict, inputs: list[np.ndarray], out: np.ndarray, req: int) -> np.ndarray:
    described = [(x.shape, row.dtype) for x in inputs]
    prepared = _core.Prepared(
        row.operator, row.operator, attrs, described, [(out.shape, row.out_dtype)]
    )
    arrays = []
    for x, dtype in [*((x, row.dtype) for x in inputs), (out, row.out_dtype)]:
        arrays.append(_core.Array(x.shape, dtype))
        arrays[-1].write_from(np.ascontiguousarray(x).view(np.uint8).reshape(-1))
    prepared.invoke(arrays[:-1], arrays[-1:], [req])
    result = np.empty(out.nbytes, np.uint8)
    arrays[-1].read_into(result)
    return result.view(out.dtype).reshape(out.shape)


def agree(got: np.ndarray, want: np.ndarray, row: Row, old: np.ndarray | int = 0) -> np.ndarray:
    """Where two results are alike; `old` is what a result was added to, and may cancel it."""
    dtype = row.out_dtype
    if dtype not in UNITS:
        return got == want
    info = ml_dtypes.finfo(got.dtype)
    with np.errstate(all="ignore"):
        g, w = got.astype(np.float64), want.astype(np.float64)
        terms = np.abs(np.asarray(old, np.float64))
        size = np.abs(w) + TERMS.get(row.operator, 0) + np.where(np.isfinite(terms), terms, 0)
        bound = UNITS[dtype] * float(info.eps) * size + float(info.smallest_subnormal)
        same = (g == w) & (np.signbit(g) == np.signbit(w)) | np.isnan(g) & np.isnan(w)
        return same | (np.abs(g - w) <= bound) & np.isfinite(w) & (g != 0) & (w != 0)


def shapes(stem: str, layout: str) -> list[list[tuple[int, ...]]]:
    if INPUTS[stem] == 1:
        return [[SHAPE]]
    if layout == "strided":
        return [[(5, 1, 13), (7, 1)], [SHAPE, (13,)]]
    return [[SHAPE, SHAPE], [SHAPE, (1,)], [(1, 1), SHAPE]]


@pytest.fixture(scope="module", params=list(INPUTS))
def built(request):
    return request.param, build(request.param)


@pytest.mark.parametrize("req", [0, 1, 3])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_values_are_those_of_the_rust_kernels(built, layout, req):
    stem, library = built
    rng = np.random.default_rng([LAYOUTS.index(layout), req])
    offset = int(layout == "misaligned")
    for row in rows(stem):
        for attrs in numbers(stem, row.operator):
            for given in shapes(stem, layout):
                inputs = [draw(rng, row.dtype, shape, offset) for shape in given]
                out = draw(rng, row.out_dtype, SHAPE, offset)
                want = rust(row, attrs, inputs, out, req)
                old = out.copy() if req == 3 else 0
                values = list(attrs.values())
                launch(library, row.entry, inputs, out, values, req, layout == "strided")
                wrong = np.argwhere(~agree(out, want, row, old))
                assert not len(wrong), (
                    f"{row.entry}{attrs} of {given}: {len(wrong)} elements differ; at "
                    f"{wrong[0]}, {out[tuple(wrong[0])]} instead of {want[tuple(wrong[0])]}"
                )


def test_an_output_may_be_an_input(built):
    stem, library = built
    rng = np.random.default_rng(7)
    for row in rows(stem):
        if row.dtype != row.out_dtype:
            continue
        attrs = numbers(stem, row.operator)[0]
        inputs = [draw(rng, row.dtype, SHAPE, 0) for _ in range(INPUTS[stem])]
        want = rust(row, attrs, inputs, inputs[0].copy(), 1)
        launch(library, row.entry, inputs, inputs[0], list(attrs.values()), 2, False)
        assert agree(inputs[0], want, row).all(), row.entry
