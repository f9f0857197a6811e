"""Running sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from .card import MaybeShape, merge_shapes, register
from .family import Types
from .linear import Back, Linear
from .param import Param, Params
from .shapes import count, normal_axis

__all__ = ["CumSum"]

_PARAMS = {
    "axis": Param("int", None, "The axis; all elements in order where None.", optional=True),
    "dtype": Param("dtype", None, "The type of the sums; that of `a` if None.", optional=True),
}


@register
class CumSum(Linear):
    """The sum of every element and of those before it along an axis.

    Formula: ``out[i] = a[0] + ... + a[i]``, added in this order. Shapes: ``out`` has the shape of
    ``a``, or one dimension where ``axis`` is None. Types: all; elements are converted to ``dtype``
    first, bools to int64 by default; halves are added in float32.
    Gradient: ``a_grad[i] = out_grad[i] + out_grad[i + 1] + ...``, added from the end.

    Examples
    --------
    >>> print(mx.nd.cumsum(mx.nd.array([[1, 2], [3, 4]]), axis=0).asnumpy())
    [[1. 2.]
     [4. 6.]]
    >>> print(mx.nd.cumsum(mx.nd.array([[1, 2], [3, 4]])).asnumpy())
    [ 1.  3.  6. 10.]
    """

    name = "cumsum"
    aliases = ("_np_cumsum",)
    arguments = ("a",)
    back = "_backward_cumsum"
    params: ClassVar[Params] = _PARAMS

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The same, or one dimension."""
        (shape,), axis = in_shapes, self.attrs["axis"]
        if shape is None:
            return [None], [None], []
        if axis is None:
            return [shape], [(count(shape),)], []
        normal_axis(self.name, axis, len(shape))
        return [shape], [shape], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The same, along an axis."""
        if self.attrs["axis"] is None:
            return list(in_shapes)
        return [merge_shapes(self.name, "a", in_shapes[0], out_shapes[0])]

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """The attribute, or the type of the input."""
        (given,) = in_types
        return [given], [self.attrs["dtype"] or ("int64" if given == "bool" else given)], []


@register
class BackwardCumSum(Back):
    """The running sums of ``out_grad`` from the end, in the shape and type of the input."""

    name = "_backward_cumsum"
    forward = "cumsum"
    params: ClassVar[Params] = _PARAMS
