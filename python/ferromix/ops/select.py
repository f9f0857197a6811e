"""Operators that choose between the elements of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import Claims, Entry, GradientGraph, MaybeShape, OperatorProperty, merge_shapes, register
from .family import ALL_TYPES

__all__ = ["Where"]


@register
class Where(OperatorProperty):
    """The elements of ``x`` where a condition holds, and those of ``y`` elsewhere.

    Formula: ``out = x if condition else y``; everything but 0 holds. Shapes: ``x``, ``y`` and
    ``out`` have one shape; ``condition`` has the same, or one dimension as long as their first.
    Types: all; ``x`` and ``y`` alike, ``condition`` any.
    Gradient: ``x_grad = out_grad`` where the condition holds, ``y_grad = out_grad`` elsewhere, 0
    in the other places; none for ``condition``.

    Examples
    --------
    >>> condition = mx.nd.array([1, 0])
    >>> print(mx.nd.where(condition, mx.nd.array([1, 2]), mx.nd.array([3, 4])).asnumpy())
    [1. 4.]
    """

    name = "where"
    arguments = ("condition", "x", "y")
    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES
    argument_dtypes: ClassVar[Claims] = {"condition": ALL_TYPES}

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """One shape for all but a condition of one dimension."""
        condition, x, y = in_shapes
        shape = merge_shapes(self.name, "y", y, x)
        if condition is None or shape is None:
            return [condition, shape, shape], [shape], []
        if len(condition) == 1 and shape:
            condition = merge_shapes(self.name, "condition", condition, shape[:1])
        elif len(condition) != len(shape):
            raise InvalidArgumentError(
                f"{self.name}: argument 'condition' has shape {condition}, expected that of 'x', "
                f"{shape}, or one dimension as long as its first"
            )
        else:
            condition = merge_shapes(self.name, "condition", condition, shape)
            shape = merge_shapes(self.name, "x", shape, condition)
        return [condition, shape, shape], [shape], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """Both tensors have the shape of the output."""
        condition, *both = in_shapes
        names = self.arguments[1:]
        return [
            condition,
            *[
                merge_shapes(self.name, n, s, out_shapes[0])
                for n, s in zip(names, both, strict=True)
            ],
        ]

    def inplace_options(self) -> list[tuple[int, int]]:
        """The output may take the place of either tensor."""
        return [(1, 0), (2, 0)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The gradient of the output, masked by the condition and by its opposite."""
        condition, g = graph.in_data[0], graph.out_grad[0]
        zeros = graph.op("zeros_like", g)[0]
        return [
            None,
            graph.op("where", condition, g, zeros)[0],
            graph.op("where", condition, zeros, g)[0],
        ]
