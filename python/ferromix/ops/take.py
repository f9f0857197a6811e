"""Slices of an axis, chosen by indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import MaybeShape, merge_shapes, register
from .choice import BackwardChoice, Choice
from .param import Param, Params
from .shapes import normal_axis

__all__ = ["Take"]

_PARAMS = {
    "axis": Param("int", 0, "The axis to take from."),
    "mode": Param(
        "str",
        "clip",
        "What an index outside of the axis stands for: the nearest one, one on a circle, an error.",
        choices=("clip", "raise", "wrap"),
    ),
}


@register
class Take(Choice):
    """Slices along an axis, in the order of indices.

    Formula: ``out[i, j, k] = a[i, indices[j], k]``, where ``j`` stands for all axes of ``indices``.
    Fractions of indices are cut. Outside of the axis, ``mode="clip"`` takes the first or the last
    slice, ``"wrap"`` counts on from the other end, and ``"raise"`` raises IndexOutOfBoundsError,
    also for negative indices. Shapes: ``out`` has that of ``a``, with the shape of ``indices`` in
    the place of ``axis``. Types: all; ``indices`` of any.
    Gradient: ``a_grad`` is the sum of the slices of ``out_grad`` that were taken from each place;
    none for ``indices``.

    Examples
    --------
    >>> a = mx.nd.array([[1, 2], [3, 4], [5, 6]])
    >>> print(mx.nd.take(a, mx.nd.array([2, 0])).asnumpy())
    [[5. 6.]
     [1. 2.]]
    >>> print(mx.nd.take(a, mx.nd.array([-1]), axis=1, mode="wrap").asnumpy())
    [[2.]
     [4.]
     [6.]]
    """

    name = "take"
    arguments = ("a", "indices")
    back = "_backward_take"
    params: ClassVar[Params] = _PARAMS

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The indices take the place of the axis."""
        a, indices = in_shapes
        if a is None:
            return [None, indices], [None], []
        axis = normal_axis(self.name, self.attrs["axis"], len(a))
        if indices is None:
            return [a, None], [None], []
        out = (*a[:axis], *indices, *a[axis + 1 :])
        if a[axis] == 0 and min(out, default=1) > 0:
            raise InvalidArgumentError(
                f"{self.name}: argument 'a' of shape {a} has nothing along axis {axis} that "
                f"'indices' of shape {indices} could take"
            )
        return [a, indices], [out], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """Of the input and the indices each says what the other one has of the output."""
        (a, indices), (out,) = in_shapes, out_shapes
        if out is None:
            return [a, indices]
        if a is not None:
            axis = normal_axis(self.name, self.attrs["axis"], len(a))
            rest = len(a) - axis - 1
            end = len(out) - rest
            if axis > end:
                raise InvalidArgumentError(
                    f"{self.name}: argument 'a' of shape {a} does not give an output of {out}"
                )
            indices = merge_shapes(self.name, "indices", indices, out[axis:end])
            a = merge_shapes(self.name, "a", a, (*out[:axis], a[axis], *out[end:]))
        elif indices is not None and len(indices) <= len(out):
            rank = len(out) - len(indices) + 1
            axis = normal_axis(self.name, self.attrs["axis"], rank)
            end = axis + len(indices)
            indices = merge_shapes(self.name, "indices", indices, out[axis:end])
            a = (*out[:axis], -1, *out[end:])
        return [a, indices]


@register
class BackwardTake(BackwardChoice):
    """``out_grad`` of take, added up where it was taken from."""

    name = "_backward_take"
    forward = "take"
    params: ClassVar[Params] = _PARAMS
