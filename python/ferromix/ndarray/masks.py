"""``mx.nd.contrib.boolean_mask``, whose result has a shape that depends on values.

It is no operator of a card: those have shapes that follow from shapes, so that a graph can be
planned before it runs. It reads its mask, waiting for it, and what is left is an operator, `take`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..error import ArgumentTypeError, InvalidArgumentError
from .creation import array
from .function import function
from .ndarray import NDArray

__all__ = ["boolean_mask"]


def boolean_mask(
    data: NDArray, index: NDArray, axis: int = 0, *, out: NDArray | None = None, name: Any = None
) -> NDArray:
    """The slices of the first axis where a mask is not zero.

    Waits for the mask, as the shape of the result depends on it. The gradient of the data is that
    of the slices, and zeros elsewhere; the mask has none.

    Parameters
    ----------
    data
        An array of at least one dimension.
    index
        The mask: an array of one dimension, as long as the first axis of the data.
    axis
        The axis, which must be 0.
    out
        Where the result goes, of its shape and type.
    name
        Of no effect.

    Raises
    ------
    InvalidArgumentError
        For another axis, or shapes that do not fit.

    Examples
    --------
    >>> data = mx.nd.array([[1, 2], [3, 4], [5, 6]])
    >>> print(mx.nd.contrib.boolean_mask(data, mx.nd.array([1, 0, 1])).asnumpy())
    [[1. 2.]
     [5. 6.]]
    """
    for what, value in (("data", data), ("index", index)):
        if not isinstance(value, NDArray):
            raise ArgumentTypeError(
                f"boolean_mask: argument '{what}' must be an NDArray, got {type(value).__name__}"
            )
    if axis != 0:
        raise InvalidArgumentError(f"boolean_mask: axis must be 0, got {axis!r}")
    if data.ndim == 0 or index.shape != data.shape[:1]:
        raise InvalidArgumentError(
            f"boolean_mask: argument 'index' has shape {index.shape}, expected {data.shape[:1]}, "
            f"the first extent of 'data' of shape {data.shape}"
        )
    places = array(np.flatnonzero(index.asnumpy()), data.context, "int64")
    return function("take")(data, places, axis=0, out=out)
