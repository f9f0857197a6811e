"""Operators that put values into ranges of indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from .card import Entry, GradientGraph, MaybeShape, merge_shapes, register
from .param import Param, Params
from .slice import Slice

__all__ = ["SliceAssign", "SliceAssignScalar"]

_FAR = 1 << 62
"""Beyond every end."""


class Assign(Slice):
    """The base of operators that assign to ranges, which may be done in place."""

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The first input has the shape of the output."""
        first = self.list_arguments()[0]
        return [merge_shapes(self.name, first, in_shapes[0], out_shapes[0]), *in_shapes[1:]]

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """The ranges without None."""
        pairs = zip(self.attrs["end"], self.steps(), strict=True)
        end = (e if e is not None else _FAR if s > 0 else -_FAR for e, s in pairs)
        return {**super().kernel_attrs(is_train), "end": tuple(end)}

    def inplace_options(self) -> list[tuple[int, int]]:
        """The first input may be assigned to."""
        return [(0, 0)]


@register
class SliceAssign(Assign):
    """A tensor with other values in ranges of indices.

    Formula: ``out = lhs``, then ``out[begin:end:step] = rhs``. Shapes: ``rhs`` has the shape of the
    ranges, ``out`` that of ``lhs``. With ``out=lhs`` the values are assigned in place. Types: all.
    Gradient: ``lhs_grad = out_grad`` with 0 in the ranges, ``rhs_grad`` is ``out_grad`` there.

    Examples
    --------
    >>> a = mx.nd.array([1, 2, 3, 4])
    >>> print(mx.nd._slice_assign(a, mx.nd.array([7, 8]), begin=(1,), end=(3,)).asnumpy())
    [1. 7. 8. 4.]
    """

    name = "_slice_assign"
    aliases = ("_crop_assign",)
    arguments = ("lhs", "rhs")

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The values have the shape of the ranges."""
        (lhs,), (part,), _ = super().infer_shape(in_shapes[:1])
        return [lhs, merge_shapes(self.name, "rhs", in_shapes[1], part)], [lhs], []

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """Zeros in the ranges, and what is there."""
        g = graph.out_grad[0]
        rest = graph.op("_slice_assign_scalar", g, scalar=0.0, **self.attrs)[0]
        return [rest, graph.op("slice", g, **self.attrs)[0]]


@register
class SliceAssignScalar(Assign):
    """A tensor with one number in ranges of indices.

    Formula: ``out = data``, then ``out[begin:end:step] = scalar``. Shapes: ``out`` has the shape of
    ``data``. With ``out=data`` the number is assigned in place. Types: all.
    Gradient: ``data_grad = out_grad`` with 0 in the ranges.

    Examples
    --------
    >>> a = mx.nd.array([1, 2, 3, 4])
    >>> print(mx.nd._slice_assign_scalar(a, scalar=9, begin=(1,), end=(3,)).asnumpy())
    [1. 9. 9. 4.]
    """

    name = "_slice_assign_scalar"
    aliases = ("_crop_assign_scalar",)
    params: ClassVar[Params] = {
        "scalar": Param("float", 0.0, "The number."),
        **Slice.params,
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The shape of the data, in which the ranges must lie."""
        data, _, _ = super().infer_shape(in_shapes)
        return data, data, []

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """The number, too."""
        return {"scalar": self.attrs["scalar"], **super().kernel_attrs(is_train)}

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """Zeros in the ranges."""
        attrs = {**self.attrs, "scalar": 0.0}
        return [graph.op(self.name, graph.out_grad[0], **attrs)[0]]
