"""Diagonals: taken out of a matrix, or a vector put onto one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import MaybeShape, Shape, register
from .linear import Back, Linear
from .param import Param, Params
from .shapes import normal_axes

__all__ = ["Diag"]


@register
class Diag(Linear):
    """A diagonal of a matrix, or a matrix with a vector on a diagonal.

    Formula: ``out[i] = data[i, i + k]``, or ``out[i, i + k] = data[i]`` and 0 elsewhere for a
    vector. Shapes: the diagonal of the matrices along ``axis1`` and ``axis2`` is the last axis; a
    vector of ``n`` elements gives a square matrix of side ``n + abs(k)``. Types: all.
    Gradient: ``out_grad`` on the diagonal and 0 elsewhere, or the diagonal of ``out_grad``.

    Examples
    --------
    >>> print(mx.nd.diag(mx.nd.array([[1, 2, 3], [4, 5, 6]]), k=1).asnumpy())
    [2. 6.]
    >>> print(mx.nd.diag(mx.nd.array([1, 2])).asnumpy())
    [[1. 0.]
     [0. 2.]]
    """

    name = "diag"
    back = "_backward_diag"
    params: ClassVar[Params] = {
        "k": Param("int", 0, "How far above the main diagonal; below it where negative."),
        "axis1": Param("int", 0, "The axis of the rows."),
        "axis2": Param("int", 1, "The axis of the columns."),
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The other extents and the length of the diagonal, or a square."""
        (shape,), k = in_shapes, self.attrs["k"]
        if shape is None:
            return [None], [None], []
        if not shape:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' has shape (), expected at least one dimension"
            )
        if len(shape) == 1:
            side = -1 if shape[0] < 0 else shape[0] + abs(k)
            return [shape], [(side, side)], []
        axes = (self.attrs["axis1"], self.attrs["axis2"])
        axes = normal_axes(self.name, axes, len(shape))
        others = tuple(n for a, n in enumerate(shape) if a not in axes)
        return [shape], [(*others, self._length(shape, axes))], []

    def _length(self, shape: Shape, axes: Shape) -> int:
        k = self.attrs["k"]
        rows, columns = (shape[a] for a in axes)
        if rows < 0 or columns < 0:
            return -1
        length = min(rows + min(k, 0), columns - max(k, 0))
        if length < 0:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' of shape {shape} has no diagonal k={k} along the "
                f"axes {axes}"
            )
        return length


@register
class BackwardDiag(Back):
    """``out_grad`` of diag, back on the diagonal, or off it."""

    name = "_backward_diag"
    forward = "diag"
    params: ClassVar[Params] = Diag.params
