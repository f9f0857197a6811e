"""Methods of NDArray that say more than the operators of their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import dispatch
from ..error import InvalidArgumentError
from ..ops.card import make
from .ndarray import NDArray, invoke

__all__ = [
    "broadcast_like",
    "expand_dims",
    "flatten",
    "round",
    "slice_assign",
    "slice_assign_scalar",
    "squeeze",
]


def broadcast_like(
    self: NDArray,
    other: NDArray,
    lhs_axes: int | Sequence[int] | None = None,
    rhs_axes: int | Sequence[int] | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """The elements, repeated along axes of extent 1 to fill the shape of `other`.

    Parameters
    ----------
    other
        The array whose shape the result has.
    lhs_axes, rhs_axes
        The axes to repeat, and those of `other` that they follow; all where None.

    Raises
    ------
    InvalidArgumentError
        For a shape that does not broadcast to that of `other`.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.array([[1], [2]]).broadcast_like(mx.nd.zeros((2, 3))).shape
    (2, 3)
    """
    card = make("broadcast_like", {"lhs_axes": lhs_axes, "rhs_axes": rhs_axes})
    return invoke(card, [self, other], out)[0]


def expand_dims(self: NDArray, axis: int, inplace: bool = False) -> NDArray:
    """A copy with an axis of extent 1 more; with `inplace`, a view.

    Raises
    ------
    InvalidArgumentError
        For an axis that does not exist; for `inplace`, if the elements do not lie in C order.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.array([1, 2]).expand_dims(0).shape
    (1, 2)
    """
    return _reshaped(self, "expand_dims", {"axis": axis}, inplace)


def squeeze(
    self: NDArray, axis: int | Sequence[int] | None = None, inplace: bool = False
) -> NDArray:
    """A copy without axes of extent 1: `axis`, or all; with `inplace`, a view.

    Raises
    ------
    InvalidArgumentError
        For an axis that has another extent; for `inplace`, if the elements do not lie in C order.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.array([[[1, 2]]]).squeeze().shape
    (2,)
    """
    return _reshaped(self, "squeeze", {"axis": axis}, inplace)


def flatten(self: NDArray, inplace: bool = False) -> NDArray:
    """A copy of two dimensions, of which the first is kept; with `inplace`, a view.

    Raises
    ------
    InvalidArgumentError
        For `inplace`, if the elements do not lie in C order.

    Examples
    --------
    >>> import ferromix as mx
    >>> a = mx.nd.zeros((2, 1, 2))
    >>> a.flatten(inplace=True)[0] = 5
    >>> a.asnumpy().tolist()
    [[[5.0, 5.0]], [[0.0, 0.0]]]
    """
    return _reshaped(self, "Flatten", {}, inplace)


def round(self: NDArray, decimals: int = 0, out: NDArray | None = None) -> NDArray:
    """The nearest integers, halves away from 0; ``numpy.round`` calls this.

    Raises
    ------
    TypeError
        For `decimals` other than 0, upon which ``numpy.round`` rounds a NumPy array of the values.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.array([0.5, 1.2]).round().asnumpy().tolist()
    [1.0, 1.0]
    """
    if decimals != 0:
        raise TypeError(
            f"round: an NDArray is rounded to integers, so decimals must be 0, got {decimals!r}"
        )
    return invoke(make("round", {}), [self], out)[0]


def slice_assign(
    self: NDArray,
    rhs: NDArray,
    begin: int | Sequence[int | None],
    end: int | Sequence[int | None],
    step: int | Sequence[int | None] = (),
) -> NDArray:
    """Assigns an array to ranges of indices, in place.

    Raises
    ------
    InvalidArgumentError
        For ranges that the array lacks, or an array of another shape or type.
    """
    card = make("_slice_assign", {"begin": begin, "end": end, "step": step})
    return invoke(card, [self, rhs], self)[0]


def slice_assign_scalar(
    self: NDArray,
    value: float,
    begin: int | Sequence[int | None],
    end: int | Sequence[int | None],
    step: int | Sequence[int | None] = (),
) -> NDArray:
    """Assigns a number to ranges of indices, in place.

    Raises
    ------
    InvalidArgumentError
        For ranges that the array lacks.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.zeros((4,)).slice_assign_scalar(2, begin=(1,), end=(3,)).asnumpy().tolist()
    [0.0, 2.0, 2.0, 0.0]
    """
    attrs = {"scalar": value, "begin": begin, "end": end, "step": step}
    return invoke(make("_slice_assign_scalar", attrs), [self], self)[0]


def _reshaped(array: NDArray, op: str, attrs: dict[str, Any], inplace: bool) -> NDArray:
    card = make(op, attrs)
    if not inplace:
        return invoke(card, [array])[0]
    ((shape, _),) = dispatch.infer(card, ((array.shape, array.dtype_name),))
    view = array.handle.reshape(shape)
    if view is None:
        raise InvalidArgumentError(
            f"{op}: inplace=True needs elements in C order, which this view of shape "
            f"{array.shape} does not have; use inplace=False, which copies"
        )
    dispatch.record_view(card, array.handle, view)
    return NDArray(view)
