"""Indices as rows in which one element differs from the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import MaybeShape, OperatorProperty, merge_shapes, register
from .family import ALL_TYPES, Types
from .param import Param, Params

__all__ = ["OneHot"]


@register
class OneHot(OperatorProperty):
    """A row for each index, with one number in the place of the index and another elsewhere.

    Formula: ``out[i, j] = on_value if j == indices[i] else off_value``. Fractions of indices are
    cut; an index outside of the row has only ``off_value`` in it. Shapes: ``out`` has that of
    ``indices`` and one dimension more, of ``depth``. Types: ``indices`` all, ``out`` has ``dtype``.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> print(mx.nd.one_hot(mx.nd.array([1, 0, 5]), depth=3).asnumpy())
    [[0. 1. 0.]
     [1. 0. 0.]
     [0. 0. 0.]]
    """

    name = "one_hot"
    arguments = ("indices",)
    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES
    differentiable = False
    params: ClassVar[Params] = {
        "depth": Param("int", doc="The length of a row.", low=0),
        "on_value": Param("float", 1.0, "The number in the place of the index."),
        "off_value": Param("float", 0.0, "The number in all other places."),
        "dtype": Param("dtype", "float32", "The type of the output."),
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """A row for each index."""
        (indices,) = in_shapes
        if indices is None:
            return [None], [None], []
        return [indices], [(*indices, self.attrs["depth"])], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """An index for each row."""
        (indices,), (out,) = in_shapes, out_shapes
        if out is None:
            return [indices]
        if not out:
            raise InvalidArgumentError(f"{self.name}: the output cannot have shape ()")
        return [merge_shapes(self.name, "indices", indices, out[:-1])]

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """The output has the type of the attribute."""
        return list(in_types), [self.attrs["dtype"]], []
