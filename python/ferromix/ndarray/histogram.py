"""``mx.nd.histogram``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..base import require_kind
from ..error import DTypeError, InvalidArgumentError
from ..literal import brief
from ..ops.card import make
from .creation import array
from .ndarray import NDArray, invoke

__all__ = ["histogram"]


def histogram(
    a: NDArray, bins: int | NDArray = 10, range: Sequence[float] | None = None
) -> tuple[NDArray, NDArray]:
    """How many elements fall into each of several bins, and the edges of the bins.

    Parameters
    ----------
    a
        The numbers, of any shape.
    bins
        How many bins there are, or their edges in ascending order, of the type of `a`.
    range
        The ends of the first and the last bin. Where it is left out, they are the least and the
        largest number, and both results are float32, as in MXNet: NumPy computes them.

    Raises
    ------
    DTypeError
        For bins that are neither an int nor an array.
    InvalidArgumentError
        For no bins, or numbers without a finite range.

    Examples
    --------
    >>> import ferromix as mx
    >>> count, edges = mx.nd.histogram(mx.nd.array([1, 2, 2, 4]), bins=3)
    >>> print(count.asnumpy(), edges.asnumpy())
    [1. 2. 1.] [1. 2. 3. 4.]
    """
    require_kind("histogram: a", a, NDArray, "an NDArray")
    if isinstance(bins, NDArray):
        count, edges = invoke(make("_histogram", {}), [a, bins])
        return count, edges
    if not isinstance(bins, (int, np.integer)):
        raise DTypeError(f"histogram: bins must be an int or an NDArray, got {brief(bins)}")
    if range is not None:
        count, edges = invoke(make("_histogram", {"bin_cnt": int(bins), "range": range}), [a])
        return count, edges
    try:
        found = np.histogram(a.asnumpy(), int(bins))
    except ValueError as error:
        raise InvalidArgumentError(f"histogram: {error}") from None
    count, edges = (array(x, ctx=a.context, dtype="float32") for x in found)
    return count, edges
