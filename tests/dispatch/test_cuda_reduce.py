"""The CUDA sources of reductions, run on the host, give what the Rust kernels give."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest
from host import NEEDS_COMPILER, Kernels, build
from table import DTYPES, ROOT
from test_cuda_values import draw, numpy_dtype

from ferromix import _core

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

NAMES = ["sum", "mean", "prod", "nansum", "nanprod", "max", "min", "norm1", "norm2"]
CASES = [
    ((5, 7, 13), (1,)),
    ((5, 7, 13), (0, 2)),
    ((5, 7, 13), (0, 1, 2)),
    ((4, 70), (1,)),
    ((70, 4), (0,)),
    ((3, 0), (0,)),
    ((3, 1, 2), (1,)),
]
LAUNCHES = [((1, 1), (1, 1)), ((2, 1), (4, 8)), ((1, 1), (1, 64)), ((3, 3), (2, 4))]
"""Grids and blocks; along y they share the elements of an output."""
EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    return build("reduce")


def words(values, length=8):
    return [*values, *[0] * (length - len(values))]


def walk(x: np.ndarray, out: np.ndarray, axes: tuple[int, ...]) -> ctypes.Structure:
    kept = [a for a in range(x.ndim) if a not in axes]
    shape, steps = x.shape, [s // x.itemsize for s in x.strides]
    fields = [out.size, int(np.prod([shape[a] for a in axes])), len(kept), len(axes)]
    fields += words([shape[a] for a in kept]) + words([shape[a] for a in axes])
    fields += words([steps[a] for a in kept])
    fields += words([s // out.itemsize for s in out.strides][: len(kept)])
    fields += words([steps[a] for a in axes])
    kind = type("Walk", (ctypes.Structure,), {"_fields_": [("at", ctypes.c_int64 * len(fields))]})
    return kind((ctypes.c_int64 * len(fields))(*fields))


def rust(name: str, dtype: str, x: np.ndarray, axes, out: np.ndarray, req: int) -> np.ndarray:
    attrs = {"axis": axes, "keepdims": False, "exclude": False}
    if name.startswith("norm"):
        attrs["ord"] = int(name[-1])
    op = name.rstrip("12")
    prepared = _core.Prepared(op, op, attrs, [(x.shape, dtype)], [(out.shape, dtype)])
    arrays = [_core.Array(a.shape, dtype) for a in (x, out)]
    for array, values in zip(arrays, (x, out), strict=True):
        array.write_from(np.ascontiguousarray(values).view(np.uint8).reshape(-1))
    prepared.invoke(arrays[:1], arrays[1:], [req])
    found = np.empty(out.nbytes, np.uint8)
    arrays[1].read_into(found)
    return found.view(out.dtype).reshape(out.shape)


def cuda(kernels, name, dtype, x, axes, out, req, grid, block):
    entry, layout = f"reduce_{name}_{dtype}", walk(x, out, axes)
    partial = np.full(grid[1] * out.size + 1, np.nan)  # of the widest type
    given = layout, ctypes.c_int(req)
    kernels.launch(entry, grid, block, x, out, partial, *given, seed=3)
    if grid[1] > 1:
        parts = ctypes.c_int64(grid[1])
        kernels.launch(f"{entry}_finish", (2,), (32,), partial, out, parts, *given)


def alike(got, want, dtype, name, x, axes, old):
    """Exactly, but for the order in which reals were added or multiplied."""
    if dtype not in EPS or name in ("max", "min"):
        return np.array_equal(got, want, equal_nan=dtype in EPS)
    with np.errstate(all="ignore"):
        g, w, values = (a.astype(np.float64) for a in (got, want, x))
        finite = np.where(np.isfinite(values), np.abs(values), 0)
        size = np.abs(w) if "prod" in name else finite.sum(axes).reshape(w.shape) + np.abs(w)
        size = size + np.where(np.isfinite(old.astype(float)), np.abs(old.astype(float)), 0)
        count = int(np.prod([x.shape[a] for a in axes]))
        bound = EPS[dtype] * size * (2 + count * (dtype in ("float32", "float64")))
        return bool(np.all((g == w) | np.isnan(g) & np.isnan(w) | (np.abs(g - w) <= bound)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_the_rust_kernels(kernels, name, dtype):
    rng = np.random.default_rng(5)
    for special in (False, True):
        for shape, axes in CASES:
            count = int(np.prod([shape[a] for a in axes]))
            if count == 0 and name in ("max", "min"):
                continue
            x = draw(rng, dtype, shape, 0)
            if not special:
                x = (rng.integers(0, 2, shape) + (dtype != "bool")).astype(numpy_dtype(dtype))
            kept = tuple(n for a, n in enumerate(shape) if a not in axes) or (1,)
            for view in (x, x.T):
                flipped = tuple(x.ndim - 1 - a for a in axes) if view is not x else axes
                final = kept[::-1] if view is not x else kept
                for (grid, block), req in zip(LAUNCHES, (1, 3, 1, 3), strict=True):
                    out = rng.integers(0, 2, final).astype(numpy_dtype(dtype))
                    want = rust(name, dtype, view, flipped, out, req)
                    old = out.copy()
                    cuda(kernels, name, dtype, view, flipped, out, req, grid, block)
                    assert alike(out, want, dtype, name, view, flipped, old), (
                        f"{name} {dtype} {view.shape} {flipped} {grid} {block} {req}: "
                        f"{out} instead of {want}"
                    )


def test_null_writes_nothing(kernels):
    x, out = np.ones((3, 4), np.float32), np.full(3, 7, np.float32)
    cuda(kernels, "sum", "float32", x, (1,), out, 0, (2, 2), (2, 4))
    assert out.tolist() == [7] * 3


def test_rows_are_those_of_the_rust_table(kernels):
    path = ROOT / "rust" / "kernels" / "src" / "ops" / "reduce" / "reduce.rs"
    rows = set(re.findall(r'row!\("(\w+)"', path.read_text())) | {"norm1", "norm2"}
    assert rows == set(NAMES)
    expected = {f"reduce_{n}_{t}{end}" for n in NAMES for t in DTYPES for end in ("", "_finish")}
    assert set(kernels.entries) == expected
