"""Random symbols: ``mx.sym.random.uniform`` and its kin."""

from __future__ import annotations

from typing import Any

from ..ops.namespaces import serve
from .functions import function, member
from .symbol import Symbol

__all__ = ["normal", "uniform"]


def uniform(
    low: float = 0.0, high: float = 1.0, shape: Any = None, dtype: Any = None, **kwargs: Any
) -> Symbol:
    """A symbol of numbers drawn evenly from [low, high).

    Parameters
    ----------
    low, high
        The interval.
    shape
        The extents; what others decide where None.
    dtype
        The element type; float32 where None.
    **kwargs
        Further arguments of the operator ``random_uniform``, such as ``name`` and ``ctx``.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.sym.random.uniform(2, 3, shape=(4,)).eval()[0].shape
    (4,)
    """
    return function("_random_uniform")(low=low, high=high, shape=shape, dtype=dtype, **kwargs)


def normal(
    loc: float = 0.0, scale: float = 1.0, shape: Any = None, dtype: Any = None, **kwargs: Any
) -> Symbol:
    """A symbol of numbers drawn from the normal distribution of mean `loc` and deviation `scale`.

    The other arguments are those of :func:`uniform`.
    """
    return function("_random_normal")(loc=loc, scale=scale, shape=shape, dtype=dtype, **kwargs)


__getattr__, __dir__ = serve(__name__, member)
