"""Functions that make arrays."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from .. import _core
from ..base import as_int, as_shape, require_kind
from ..context import Context, as_context, placement
from ..error import ArgumentTypeError, InvalidArgumentError
from ..ops.card import make
from ..ops.param import dtype_name
from ..ops.shapes import normal_axes
from ..ops.storage import DENSE
from .ndarray import NDArray, from_values, invoke
from .sources import fill, target
from .values import numbers

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


Place = Context | str | None
"""Where an array is to live: a context, its name, or None for the current one."""


def empty(
    shape: Any, ctx: Place = None, dtype: Any = "float32", stype: str | None = None
) -> NDArray:
    """A new array with arbitrary values.

    Raises
    ------
    InvalidArgumentError
        For what is no shape, type or storage type.
    """
    if stype not in (None, DENSE):
        return _sparse().empty(stype, shape, ctx, dtype)
    return NDArray(_core.Array(as_shape(shape), dtype_name(dtype or "float32"), *placement(ctx)))


def full(
    shape: Any,
    val: Any,
    ctx: Place = None,
    dtype: Any = "float32",
    out: NDArray | None = None,
) -> NDArray:
    """A new array, or `out` whatever `shape` says, filled with `val`: a number or what broadcasts.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.full((2, 2), 7).asnumpy().tolist()
    [[7.0, 7.0], [7.0, 7.0]]
    """
    result = empty(shape, ctx, dtype) if out is None else target("full", out)
    if not isinstance(val, (int, float)):
        result[:] = val
        return result
    card = make("_full", {"shape": result.shape, "value": val, "dtype": result.dtype_name})
    return invoke(card, [], result)[0]


def zeros(
    shape: Any,
    ctx: Place = None,
    dtype: Any = None,
    stype: str | None = None,
    *,
    out: NDArray | None = None,
    name: str | None = None,
) -> NDArray:
    """A new array of zeros, or `out` filled with them.

    Parameters
    ----------
    shape
        The extents. With `out`, those that are 0 or -1, or all where it is None, are open.
    ctx, dtype
        Where it lives, and its element type, which is float32 where None.
    stype
        The storage type; ``"default"``, that is dense, where None.
    out
        An array to fill instead of making one.
    name
        Ignored.

    Raises
    ------
    InvalidArgumentError
        Where `out` has another shape or element type.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.zeros((2, 3)).asnumpy().tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    if stype not in (None, DENSE) and out is None:
        return _sparse().zeros(stype, shape, ctx, dtype)
    return _constant("_zeros", shape, ctx, dtype, out)


def ones(
    shape: Any,
    ctx: Place = None,
    dtype: Any = None,
    *,
    out: NDArray | None = None,
    name: str | None = None,
) -> NDArray:
    """A new array of ones, or `out` filled with them; see :func:`zeros`."""
    return _constant("_ones", shape, ctx, dtype, out)


def _constant(name: str, shape: Any, ctx: Place, dtype: Any, out: NDArray | None) -> NDArray:
    if out is None:
        return full(shape, 1.0 if name == "_ones" else 0.0, ctx, dtype)
    as_context(ctx)
    attrs = {"shape": shape, "dtype": dtype or "float32"}
    return fill(make(name, attrs), target(name.strip("_"), out))


def _on(ctx: Place) -> dict[str, str]:
    """The attribute that places a result on `ctx`; none where the current device has it."""
    return {} if ctx is None else {"ctx": str(as_context(ctx))}


def _sparse() -> Any:
    from .sparse import create  # sparse arrays are built on this module

    return create


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool | None = None,
    ctx: Place = None,
    dtype: Any = "float32",
) -> NDArray:
    """Evenly spaced values from `start` to before `stop`, each `repeat` times.

    `infer_range` has no effect, as in MXNet: nothing but the arguments gives the length.
    """
    if infer_range is not None:
        warnings.warn("`infer_range` argument has been deprecated", DeprecationWarning, 2)
    attrs = {"start": start, "stop": stop, "step": step, "repeat": repeat}
    return invoke(make("_arange", {**attrs, "dtype": dtype_name(dtype), **_on(ctx)}), [])[0]


def linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    ctx: Place = None,
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
    return invoke(make("_linspace", {**attrs, "dtype": dtype_name(dtype), **_on(ctx)}), [])[0]


def eye(
    N: int,  # noqa: N803 - MXNet's name
    M: int = 0,  # noqa: N803
    k: int = 0,
    ctx: Place = None,
    dtype: Any = None,
    *,
    out: NDArray | None = None,
    name: str | None = None,
) -> NDArray:
    """A matrix of `N` rows and `M` columns (as many where 0) with ones on the diagonal `k`.

    With `out`, that array is filled; its shape and type must be those. `name` is ignored.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.eye(2, 3, k=1).asnumpy().tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    attrs = {"N": N, "M": M, "k": k, "dtype": dtype_name(dtype or "float32")}
    if out is not None:
        return fill(make("_eye", attrs), target("eye", out))
    return invoke(make("_eye", {**attrs, **_on(ctx)}), [])[0]


def array(source_array: Any, ctx: Place = None, dtype: Any = None) -> NDArray:
    """A new array with the values of `source_array`.

    Parameters
    ----------
    source_array
        An NDArray, a NumPy array or anything that NumPy makes one of; of a sparse array, or a
        matrix of ``scipy.sparse``, a sparse copy.
    dtype
        The element type; by default that of an NDArray, float32 for anything else, as in MXNet.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.array([1, 2, 3]).dtype
    <class 'numpy.float32'>
    """
    sparse = _sparse()
    if sparse.is_sparse(source_array):
        return sparse.array(source_array, ctx, dtype)
    if isinstance(source_array, NDArray):
        result = empty(source_array.shape, ctx, dtype or source_array.dtype_name)
        return source_array.copyto(result)
    return from_values(numbers(source_array), dtype_name(dtype or "float32"), placement(ctx))


def concatenate(arrays: Sequence[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """The arrays one after the other along `axis`.

    Raises
    ------
    ArgumentTypeError
        For anything but a list or tuple of arrays.
    InvalidArgumentError
        For none, or arrays that do not fit together.
    """
    if not isinstance(arrays, (list, tuple)):
        raise ArgumentTypeError(f"concatenate: arrays must be a list, got {type(arrays).__name__}")
    for place, found in enumerate(arrays):
        require_kind(f"concatenate: arrays[{place}]", found, NDArray, "an NDArray")
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
    require_kind("moveaxis: tensor", tensor, NDArray, "an NDArray")
    sources = normal_axes("moveaxis", _axes("source", source), tensor.ndim)
    places = normal_axes("moveaxis", _axes("destination", destination), tensor.ndim)
    if len(sources) != len(places):
        raise InvalidArgumentError(
            f"moveaxis: source={source} and destination={destination} must have one length"
        )
    order = [axis for axis in range(tensor.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return invoke(make("transpose", {"axes": tuple(order)}), [tensor])[0]


def _axes(what: str, given: int | Sequence[int]) -> tuple[int, ...]:
    several = given if isinstance(given, (list, tuple)) else (given,)
    return tuple(as_int(f"moveaxis: an axis of {what}", axis) for axis in several)


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
    require_kind("split_v2: ary", ary, NDArray, "an NDArray")
    return ary.split_v2(indices_or_sections, axis, squeeze_axis)
