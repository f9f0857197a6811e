"""Comparison of whole tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from .card import MaybeShape, OperatorProperty, merge_shapes, register
from .family import NUMBERS, Types
from .param import Param, Params

__all__ = ["AllClose"]


@register
class AllClose(OperatorProperty):
    """Whether two tensors are equal up to a tolerance.

    Formula: ``out = 1`` if ``|a - b| <= atol + rtol * |b|`` everywhere, else 0; equal infinities
    are close. Computed in float64. Shapes: ``a`` and ``b`` are alike; ``out`` has no dimensions.
    Types: numbers, all alike; ``out`` is uint8.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> one, other = mx.nd.array([1, 2]), mx.nd.array([1, 2.1])
    >>> print(mx.nd.contrib.allclose(one, other).asnumpy())
    0
    >>> print(mx.nd.contrib.allclose(one, other, rtol=0.1).asnumpy())
    1
    """

    name = "_contrib_allclose"
    arguments = ("a", "b")
    dtypes = NUMBERS
    differentiable = False
    params: ClassVar[Params] = {
        "rtol": Param("float", 1e-5, "The tolerance relative to `b`."),
        "atol": Param("float", 1e-8, "The absolute tolerance."),
        "equal_nan": Param("bool", True, "Whether NaN is close to NaN."),
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """One shape for both, none for the answer."""
        shape = merge_shapes(self.name, "b", in_shapes[1], in_shapes[0])
        return [shape, shape], [()], []

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """One type for both; the answer is a small number."""
        inputs, _, _ = super().infer_type(in_types)
        return inputs, ["uint8"], []
