"""Which elements of an array are numbers: the checks of ``mx.nd.contrib``."""

from __future__ import annotations

import math

from ..base import require_kind
from .ndarray import NDArray

__all__ = ["isfinite", "isinf", "isnan"]


def isfinite(data: NDArray) -> NDArray:
    """1 where an element is finite, 0 where it is infinite or NaN; of the type of `data`.

    >>> import ferromix as mx
    >>> mx.nd.contrib.isfinite(mx.nd.array([float("inf"), float("nan"), -1])).asnumpy().tolist()
    [0.0, 0.0, 1.0]
    """
    return (1 - isinf(data)) * (1 - isnan(data))


def isinf(data: NDArray) -> NDArray:
    """1 where an element is infinite, 0 elsewhere; of the type of `data`."""
    require_kind("isinf: data", data, NDArray, "an NDArray")
    return data.abs() == math.inf


def isnan(data: NDArray) -> NDArray:
    """1 where an element is NaN, 0 elsewhere; of the type of `data`."""
    require_kind("isnan: data", data, NDArray, "an NDArray")
    return data != data
