"""Random calls of operators on equal shapes, of creation, and of small ones that are left."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from cases import FLOATS, NUMBERS, Case, Draw

PAIRS = (
    *("equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal"),
    *("logical_and", "logical_or", "logical_xor", "maximum", "minimum", "hypot", "mod", "power"),
)


def pairs(draw: Draw) -> Case:
    """Two arrays of one shape."""
    name, dtype, shape = draw.one(PAIRS), draw.one(NUMBERS), draw.shape()
    arrays = [draw.array(shape, dtype, 0.3 if name in ("mod", "power") else -3) for _ in range(2)]
    if name in ("mod", "power") and arrays[0].dtype.kind in "iu":
        arrays = [(np.abs(a) % 4 + 1).astype(dtype) for a in arrays]
    return Case(f"_{name}", arrays)


def made(draw: Draw) -> Case:
    """Tensors from nothing, and draws from what has one outcome."""
    dtype, shape = {"dtype": draw.one(NUMBERS)}, draw.shape(1, 3)
    sized = {"shape": shape, **dtype}
    start, step = draw.int(-3, 5), draw.one((1.0, 2.0, 0.5, -1.0))
    if step == 0.5 or dtype["dtype"] == "uint8":
        start, dtype = abs(start), {"dtype": draw.one(FLOATS)}
    stop = start + step * draw.int(1, 9)
    like, loc = [draw.array(shape, draw.one(FLOATS))], draw.int(-4, 4) / 2
    single = {"dtype": draw.one(FLOATS)}
    means = draw.array(shape, "float32")
    return draw.one(
        [
            Case("_zeros", [], sized),
            Case("_ones", [], sized),
            Case("_full", [], {"value": draw.int(0, 5), **sized}),
            Case("_zeros_without_dtype", [], {"shape": shape}),
            Case(
                "_arange",
                [],
                {"start": start, "stop": stop, "step": step, "repeat": draw.int(1, 3), **dtype},
            ),
            Case("_random_normal", [], {"loc": loc, "scale": 1e-30, "shape": shape, **single}),
            Case("_random_normal_like", like, {"loc": loc, "scale": 1e-30}),
            Case("_sample_normal", [means, np.full(shape, 1e-30, "float32")], {"shape": 2}),
            Case("_random_exponential", [], {"lam": 1e30, "shape": shape, **single}),
            Case("_random_exponential_like", like, {"lam": 1e30}),
            Case("_sample_exponential", [np.full(shape, 1e30, "float32")], {"shape": 3}),
            Case("_random_gamma", [], {"alpha": 1.0, "beta": 1e-30, "shape": shape, **single}),
            Case("_random_gamma_like", like, {"alpha": 1.0, "beta": 1e-30}),
            Case(
                "_sample_gamma", [np.full(shape, 2.0, "float32"), np.full(shape, 1e-30, "float32")]
            ),
            Case("_random_negative_binomial_like", like, {"k": draw.int(1, 3), "p": 1.0}),
            Case("_random_generalized_negative_binomial_like", like, {"mu": 0.0, "alpha": 1.0}),
        ]
    )


def small(draw: Draw) -> Case:
    """Those that fit nowhere else."""
    shape, dtype = draw.shape(1, 4), draw.one(NUMBERS)
    data = draw.array(shape, dtype)
    axis = draw.int(-len(shape), len(shape) - 1)
    cuts = tuple(sorted({draw.int(0, shape[axis]) for _ in range(draw.int(1, 3))}))
    parts = draw.one([n for n in range(1, shape[axis] + 1) if shape[axis] % n == 0])
    wide = tuple(draw.int(1, 4) if n == 1 else draw.one((n, 0)) for n in shape)
    squeeze = {"axis": axis, "squeeze_axis": parts == shape[axis] and draw.maybe()}
    image = draw.random.integers(0, 256, (4, 4, 3)).astype(draw.one(("float32", "uint8")))
    return draw.one(
        [
            Case("broadcast_to", [data], {"shape": wide}),
            Case("_split_v2", [data], {"indices": (0, *cuts), "axis": axis}),
            Case("_split_v2", [data], {"indices": (), "sections": parts, **squeeze}),
            Case("cast_storage", [data.astype("float32")], {"stype": "default"}),
            Case("_image_random_lighting", [image.astype("float32")], {"alpha_std": 0.0}),
        ]
    )


FAMILIES: dict[str, Callable[[Draw], Case]] = {"pairs": pairs, "made": made, "small": small}
