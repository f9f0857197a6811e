"""What MXNet's own helpers say of keys of arrays, for scripts that use these from ``mx.nd``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..error import IndexOutOfBoundsError, InvalidArgumentError
from .ndarray import NDArray

__all__ = [
    "check_boolean_array_dimension",
    "get_indexing_dispatch_code",
    "get_oshape_of_gather_nd_op",
    "indexing_key_expand_implicit_axes",
]

_ARRAYS = (NDArray, np.ndarray, list, tuple, range)


def get_indexing_dispatch_code(key: tuple[Any, ...]) -> int:
    """1 for a tuple of indices with arrays among them, 0 for one of numbers, slices and new axes.

    Raises
    ------
    InvalidArgumentError
        For what is no tuple, or has something else in it.
    """
    if not isinstance(key, tuple):
        raise InvalidArgumentError(f"a key must be a tuple, got {type(key).__name__}")
    for part in key:
        basic = part is None or part is Ellipsis or isinstance(part, (int, np.integer, slice))
        if not basic and not isinstance(part, _ARRAYS):
            raise InvalidArgumentError(f"no index of arrays: {part!r}")
    return int(any(isinstance(part, _ARRAYS) for part in key))


def indexing_key_expand_implicit_axes(
    key: Any, shape: Sequence[int]
) -> tuple[tuple[Any, ...], int]:
    """A key with a slice for each axis that it leaves out, and what single truth values say.

    Returns
    -------
    tuple
        The key without truth values, and 1 where all of them are true, 0 where one is false, -1
        where there is none.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.indexing_key_expand_implicit_axes((..., 1), (2, 3))
    ((slice(None, None, None), 1), -1)
    """
    parts = list(key) if isinstance(key, tuple) else [key]
    truths = [bool(part) for part in parts if isinstance(part, (bool, np.bool_))]
    parts = [part for part in parts if not isinstance(part, (bool, np.bool_))]
    gaps = [i for i, part in enumerate(parts) if part is Ellipsis]
    if len(gaps) > 1:
        raise IndexOutOfBoundsError("a key has one ellipsis ('...') at most")
    if not gaps:
        gaps = [len(parts)]
        parts.append(Ellipsis)
    left = len(shape) - sum(map(_axes, parts))
    parts[gaps[0] : gaps[0] + 1] = [slice(None)] * max(left, 0)
    return tuple(parts), int(all(truths)) if truths else -1


def _axes(part: Any) -> int:
    """How many axes a part of a key takes."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if isinstance(part, np.ndarray) and part.dtype == np.bool_ else 1


def get_oshape_of_gather_nd_op(dshape: Sequence[int], ishape: Sequence[int]) -> tuple[int, ...]:
    """The shape that ``gather_nd`` gives for shapes of data and of indices.

    >>> import ferromix as mx
    >>> mx.nd.get_oshape_of_gather_nd_op((3, 4, 5), (2, 6))
    (6, 5)
    """
    dshape, ishape = tuple(dshape), tuple(ishape)
    if not dshape or not ishape or ishape[0] > len(dshape):
        raise InvalidArgumentError(f"indices of shape {ishape} for data of shape {dshape}")
    return (*ishape[1:], *dshape[ishape[0] :])


def check_boolean_array_dimension(
    array_shape: Sequence[int], axis: int, bool_shape: Sequence[int]
) -> None:
    """Raises IndexError where an array of truth values does not fit the axes from `axis` on."""
    for place, extent in enumerate(bool_shape, axis):
        if place >= len(array_shape) or array_shape[place] != extent:
            raise IndexOutOfBoundsError(
                f"truth values of shape {tuple(bool_shape)} from axis {axis} on: the array has "
                f"shape {tuple(array_shape)}"
            )
