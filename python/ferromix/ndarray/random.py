"""Random arrays: ``mx.nd.random.uniform`` and its kin."""

from __future__ import annotations

from functools import cache
from typing import Any

from ..context import Context, as_context
from ..ops.namespaces import serve
from .function import function, member
from .ndarray import NDArray

__all__ = ["normal", "uniform"]


def uniform(
    low: float = 0.0,
    high: float = 1.0,
    shape: Any = None,
    dtype: Any = None,
    ctx: Context | str | None = None,
    out: NDArray | None = None,
    **kwargs: Any,
) -> NDArray:
    """Numbers drawn evenly from [low, high).

    Parameters
    ----------
    low, high
        The interval.
    shape
        The extents: those of `out`, or else ``(1,)``, where None.
    dtype
        The element type: that of `out`, or else float32, where None.
    ctx
        Where the result lives: a context, its name, or None for the current one.
    out
        An array to fill instead of making one.
    **kwargs
        Further arguments of the operator ``random_uniform``.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.random.uniform(2, 3, shape=(4,), ctx=mx.cpu()).shape
    (4,)
    """
    return _draw("random_uniform", {"low": low, "high": high}, shape, dtype, ctx, out, kwargs)


def normal(
    loc: float = 0.0,
    scale: float = 1.0,
    shape: Any = None,
    dtype: Any = None,
    ctx: Context | str | None = None,
    out: NDArray | None = None,
    **kwargs: Any,
) -> NDArray:
    """Numbers drawn from the normal distribution of mean `loc` and deviation `scale`.

    The other arguments are those of :func:`uniform`.
    """
    return _draw("random_normal", {"loc": loc, "scale": scale}, shape, dtype, ctx, out, kwargs)


_operator = cache(function)


def _draw(
    name: str,
    attrs: dict[str, float],
    shape: Any,
    dtype: Any,
    ctx: Context | str | None,
    out: NDArray | None,
    rest: dict[str, Any],
) -> NDArray:
    if shape is None and out is None:
        shape = (1,)
    if ctx is not None:
        rest = {"ctx": as_context(ctx), **rest}
    return _operator(name)(**attrs, shape=shape, dtype=dtype, out=out, **rest)


__getattr__, __dir__ = serve(__name__, member)
