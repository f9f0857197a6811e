"""Arrays on autograd's tape: marking, copies that are recorded, and the backward pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _core, dispatch
from ..error import DTypeError, InvalidArgumentError
from ..ops.card import make

if TYPE_CHECKING:
    from .ndarray import NDArray

__all__ = [
    "REQUESTS",
    "arrays_of",
    "assign",
    "backward",
    "copy",
    "gradient_of",
    "is_taped",
    "mark",
    "zeros",
]

REQUESTS = {"null": dispatch.NULL, "write": dispatch.WRITE, "add": dispatch.ADD}
"""What ``grad_req`` can be."""


def is_taped(array: NDArray) -> bool:
    """Whether this thread records what is done with `array`."""
    return _core.is_recording() and array.handle.is_recorded


def mark(variable: NDArray, gradient: NDArray, grad_req: Any) -> None:
    """Makes `variable` one whose gradients go to `gradient`.

    Raises
    ------
    InvalidArgumentError
        An unknown `grad_req`, or a gradient of another shape or type, or in the same memory.
    """
    request = REQUESTS.get(grad_req) if isinstance(grad_req, str) else None
    if request is None:
        raise InvalidArgumentError(
            f"grad_req must be one of {', '.join(map(repr, REQUESTS))}, got {grad_req!r}"
        )
    own, other = variable.handle, gradient.handle
    if (own.shape, own.dtype) != (other.shape, other.dtype):
        raise InvalidArgumentError(
            f"the gradient of an array of {own.dtype} {own.shape} cannot be one of "
            f"{other.dtype} {other.shape}"
        )
    if own.chunk == other.chunk:
        raise InvalidArgumentError("an array and its gradient cannot share memory; copy one")
    own.mark(other, request)
    from .sparse import taped  # sparse arrays are built on this module

    taped.keep_gradient(variable, gradient)


def gradient_of(variable: NDArray, handle: _core.Array) -> NDArray:
    """The gradient of a variable, whose handle it is."""
    from .sparse import taped

    return taped.gradient_of(variable, handle)


def zeros(variable: NDArray, stype: str) -> NDArray:
    """Zeros of the shape and type of `variable`, where it is, in a storage type."""
    from .sparse import create

    return create.zeros(stype, variable.shape, variable.context, variable.dtype_name)


def copy(source: NDArray, target: _core.Array) -> None:
    """Copies into `target`, of the same shape, converting types; recorded where `source` is."""
    same = source.dtype_name == target.dtype
    if is_taped(source) and source.shape == target.shape and source.handle is not target:
        card = make("_copy", {}) if same else make("Cast", {"dtype": target.dtype})
        dispatch.invoke(card, [source.handle], [target])
    else:
        target.copy_from(source.handle)


def assign(target: NDArray, place: _core.Array | None, value: NDArray) -> None:
    """``target[key] = value``, where `value` is on the tape and `place` is what `key` selects.

    Raises
    ------
    InvalidArgumentError
        For a part of `target`, which the tape cannot express, or a value to be broadcast.
    """
    own = target.handle
    whole = place is not None and (place.shape, place.strides) == (own.shape, own.strides)
    if not whole or own.shape != value.shape:
        raise InvalidArgumentError(
            f"_copyto: cannot write a recorded array of shape {value.shape} into a part of one of "
            f"shape {own.shape}, or broadcast it there, while autograd records, as its gradient "
            "would be lost; compute a new array, for instance by concat, where or broadcast_to, "
            "or write inside of autograd.pause()"
        )
    copy(value, own)


def arrays_of(what: str, given: Any, count: int | None = None, optional: bool = False) -> list[Any]:
    """A list of arrays from one array or several; from None too, where they are `optional`.

    Raises
    ------
    DTypeError
        For anything else.
    InvalidArgumentError
        Where there are not as many as `count`, or none.
    """
    if given is None and optional:
        return [None] * (count or 0)
    found = [given] if hasattr(given, "handle") else given
    if not isinstance(found, Sequence) or not all(
        hasattr(a, "handle") or (a is None and optional) for a in found
    ):
        raise DTypeError(f"{what} must be an NDArray or a list of them, got {given!r}")
    if not found or (count is not None and len(found) != count):
        expected = "at least one" if count is None else str(count)
        raise InvalidArgumentError(f"{what}: expected {expected}, got {len(found)}")
    return list(found)


def backward(heads: Any, head_grads: Any, retain_graph: bool, train_mode: bool) -> None:
    """See :func:`ferromix.autograd.backward`."""
    from .sparse import taped

    found = arrays_of("heads", heads)
    seeds = arrays_of("head_grads", head_grads, len(found), optional=True)
    if taped.backward(found, seeds, bool(retain_graph), bool(train_mode)):
        return
    _core.backward(
        [h.handle for h in found],
        [None if s is None else s.handle for s in seeds],
        bool(retain_graph),
        bool(train_mode),
    )
