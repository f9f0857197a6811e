"""Slices that a mask chooses, as many as it has elements that are not zero.

How many these are no shape tells, so inference leaves it open. Such operators run one by one, in
Python (:mod:`ferromix.ndarray.masks`), and so do graphs that have one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import Claims, MaybeShape, OperatorProperty, merge_shapes, register
from .composed import Composed
from .family import ALL_TYPES, Types
from .param import Param, Params
from .shapes import require_rank
from .term import Term

__all__ = ["BooleanMask", "Places"]

Shapes = tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]


@register
class BooleanMask(Composed):
    """The slices of the first axis where a mask is not zero.

    Formula: ``out[i]`` is ``data[j]`` for the ``i``-th ``j`` with ``index[j] != 0``. Shapes:
    ``data`` is ``(n, ...)``, ``index`` ``(n,)``, ``out`` ``(k, ...)``, where ``k`` is only known
    when the mask is, so that a call waits for it. In a graph ``k`` is 0 until a pass ran, each pass
    gives outputs of shapes of its own, and operators run one by one. ``axis`` is 0. Types: all;
    ``index`` of any.
    Gradient: ``data_grad[j]`` is ``out_grad[i]``, and 0 where the mask is; none for ``index``.

    Examples
    --------
    >>> data = mx.nd.array([[1, 2], [3, 4], [5, 6]])
    >>> print(mx.nd.contrib.boolean_mask(data, mx.nd.array([1, 0, 1])).asnumpy())
    [[1. 2.]
     [5. 6.]]
    """

    name = "_contrib_boolean_mask"
    arguments = ("data", "index")
    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES
    argument_dtypes: ClassVar[Claims] = {"index": ALL_TYPES}
    params: ClassVar[Params] = {"axis": Param("int", 0, "The axis, which must be 0.")}
    by_values = True

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        if self.attrs["axis"] != 0:
            raise InvalidArgumentError(f"{self.name}: axis must be 0, got {self.attrs['axis']}")

    def forward(self, data: Term, index: Term) -> Term:
        """The slices at the places of the mask."""
        return data.op("take", index.op("_flatnonzero"), axis=0)

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """The mask is as long as the first axis."""
        data, index = in_shapes
        index = merge_shapes(self.name, "index", index, None if data is None else data[:1])
        if index is not None:
            require_rank(self.name, "index", index, 1, "a mask")
        if data is None:
            return [None, index], [None], []
        data = (*(index or ()), *data[1:])
        return [data, index], [(-1, *data[1:])], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """All axes but the first."""
        (data, index), (out,) = in_shapes, out_shapes
        if out is not None:
            data = merge_shapes(self.name, "data", data, (-1, *out[1:]))
        return [data, index]


@register
class Places(OperatorProperty):
    """The places of a vector that are not zero."""

    name = "_flatnonzero"
    hidden = True
    differentiable = False
    by_values = True
    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """As many as there are."""
        return list(in_shapes), [(-1,)], []

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """Places are whole numbers."""
        return list(in_types), ["int64"], []
