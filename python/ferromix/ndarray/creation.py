"""Functions that make arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from ..base import as_shape
from ..context import Context, current_context, placement, require_cpu
from ..error import InvalidArgumentError
from ..ops.card import make
from ..ops.param import dtype_name
from ..ops.shapes import normal_axes
from .ndarray import NDArray, from_numpy, invoke

__all__ = [
    "arange",
    "array",
    "concatenate",
    "empty",
    "eye",
    "full",
    "linspace",
    "moveaxis",
    "ones",
    "split_v2",
    "zeros",
]


def _placed(array: NDArray, ctx: Context | None) -> NDArray:
    return array.as_in_context(require_cpu(ctx or current_context()))


def empty(shape: Any, ctx: Context | None = None, dtype: Any = "float32") -> NDArray:
    """A new array with arbitrary values."""
    return NDArray(_core.Array(as_shape(shape), dtype_name(dtype or "float32"), *placement(ctx)))


def full(
    shape: Any,
    val: float,
    ctx: Context | None = None,
    dtype: Any = "float32",
    out: NDArray | None = None,
) -> NDArray:
    """A new array, or `out`, filled with `val`."""
    result = empty(shape, ctx, dtype) if out is None else out
    card = make("_full", {"shape": result.shape, "value": float(val), "dtype": result.dtype_name})
    return invoke(card, [], result)[0]


def zeros(shape: Any, ctx: Context | None = None, dtype: Any = "float32", **_: Any) -> NDArray:
    """A new array of zeros.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.zeros((2, 3)).asnumpy().tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    return full(shape, 0.0, ctx, dtype)


def ones(shape: Any, ctx: Context | None = None, dtype: Any = "float32", **_: Any) -> NDArray:
    """A new array of ones."""
    return full(shape, 1.0, ctx, dtype)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    ctx: Context | None = None,
    dtype: Any = "float32",
) -> NDArray:
    """Evenly spaced values from `start` to before `stop`, each `repeat` times."""
    attrs = {"start": start, "stop": stop, "step": step, "repeat": repeat}
    return _placed(invoke(make("_arange", {**attrs, "dtype": dtype_name(dtype)}), [])[0], ctx)


def linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    ctx: Context | None = None,
    dtype: Any = "float32",
) -> NDArray:
    """`num` evenly spaced values from `start` to `stop`, which is left out without `endpoint`.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.linspace(0, 1, 4, endpoint=False).asnumpy().tolist()
    [0.0, 0.25, 0.5, 0.75]
    """
    attrs = {"start": start, "stop": stop, "num": num, "endpoint": endpoint}
    return _placed(invoke(make("_linspace", {**attrs, "dtype": dtype_name(dtype)}), [])[0], ctx)


def eye(
    N: int,  # noqa: N803 - MXNet's name
    M: int = 0,  # noqa: N803
    k: int = 0,
    ctx: Context | None = None,
    dtype: Any = None,
) -> NDArray:
    """A matrix of `N` rows and `M` columns (as many where 0) with ones on the diagonal `k`.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.eye(2, 3, k=1).asnumpy().tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    attrs = {"N": N, "M": M, "k": k, "dtype": dtype_name(dtype or "float32")}
    return _placed(invoke(make("_eye", attrs), [])[0], ctx)


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """A new array with the values of `source_array`.

    Parameters
    ----------
    source_array
        An NDArray, a NumPy array or anything that NumPy makes one of.
    dtype
        The element type; by default that of an NDArray, float32 for anything else, as in MXNet.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.array([1, 2, 3]).dtype
    <class 'numpy.float32'>
    """
    if isinstance(source_array, NDArray):
        result = empty(source_array.shape, ctx, dtype or source_array.dtype_name)
        return source_array.copyto(result)
    values = np.asarray(source_array)
    return from_numpy(values, dtype_name(dtype or "float32"), placement(ctx))


def concatenate(arrays: Sequence[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """The arrays one after the other along `axis`."""
    if not arrays:
        raise InvalidArgumentError("concatenate needs at least one array")
    if len(arrays) == 1 and not always_copy:
        return arrays[0]
    card = make("Concat", {"num_args": len(arrays), "dim": axis})
    return invoke(card, list(arrays))[0]


def moveaxis(
    tensor: NDArray, source: int | Sequence[int], destination: int | Sequence[int]
) -> NDArray:
    """`tensor` with the axes `source` at the places `destination`, the others in order.

    Raises
    ------
    InvalidArgumentError
        For an axis that does not exist or is given twice, or another number of places than of axes.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.moveaxis(mx.nd.zeros((3, 4, 5)), (0, 1), (-1, -2)).shape
    (5, 4, 3)
    """
    given = ((s,) if isinstance(s, int) else tuple(s) for s in (source, destination))
    sources, places = (normal_axes("moveaxis", axes, tensor.ndim) for axes in given)
    if len(sources) != len(places):
        raise InvalidArgumentError(
            f"moveaxis: source={source} and destination={destination} must have one length"
        )
    order = [axis for axis in range(tensor.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return invoke(make("transpose", {"axes": tuple(order)}), [tensor])[0]


def split_v2(
    ary: NDArray,
    indices_or_sections: int | Sequence[int],
    axis: int = 0,
    squeeze_axis: bool = False,
) -> list[NDArray] | NDArray:
    """The parts of `ary` along `axis`.

    Parameters
    ----------
    indices_or_sections
        The number of equal parts, or the indices at which all parts but the first begin.
    squeeze_axis
        Whether the axis vanishes, from parts of extent 1.

    Examples
    --------
    >>> import ferromix as mx
    >>> [part.shape for part in mx.nd.split_v2(mx.nd.zeros((5, 2)), (1, 3))]
    [(1, 2), (2, 2), (2, 2)]
    """
    return ary.split_v2(indices_or_sections, axis, squeeze_axis)
