"""Random arrays: ``mx.nd.random.uniform`` and its kin."""

from __future__ import annotations

from typing import Any

from ..context import Context, current_context, require_cpu
from ..ops.card import make
from .ndarray import NDArray, invoke

__all__ = ["normal", "uniform"]


def uniform(
    low: float = 0.0,
    high: float = 1.0,
    shape: Any = (1,),
    dtype: Any = "float32",
    ctx: Context | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Numbers drawn evenly from [low, high), shaped `shape` or filling `out`."""
    return _draw("_random_uniform", {"low": low, "high": high}, shape, dtype, ctx, out)


def normal(
    loc: float = 0.0,
    scale: float = 1.0,
    shape: Any = (1,),
    dtype: Any = "float32",
    ctx: Context | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Numbers drawn from the normal distribution of mean `loc` and deviation `scale`."""
    return _draw("_random_normal", {"loc": loc, "scale": scale}, shape, dtype, ctx, out)


def _draw(
    name: str,
    attrs: dict[str, float],
    shape: Any,
    dtype: Any,
    ctx: Context | None,
    out: NDArray | None,
) -> NDArray:
    context = require_cpu(ctx or current_context())
    if out is not None:
        shape, dtype = out.shape, out.dtype_name
    result = invoke(make(name, {**attrs, "shape": shape, "dtype": dtype}), [], out)[0]
    return result if out is not None else result.as_in_context(context)
