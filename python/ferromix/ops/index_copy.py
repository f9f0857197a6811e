"""Slices put into a tensor at indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import (
    Claims,
    Entry,
    GradientGraph,
    MaybeShape,
    OperatorProperty,
    merge_shapes,
    register,
)
from .family import ALL_TYPES

__all__ = ["IndexCopy"]

Shapes = tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]


@register
class IndexCopy(OperatorProperty):
    """A tensor with other slices of the first axis at some indices.

    Formula: ``out = old_tensor``, then ``out[index_vector[i]] = new_tensor[i]``; of several for one
    index the last one stays. Fractions of indices are cut; one outside of the axis, or a negative
    one, raises IndexOutOfBoundsError. Shapes: ``old_tensor`` and ``out`` are ``(n, ...)``,
    ``index_vector`` is ``(m,)``, ``new_tensor`` ``(m, ...)`` with ``m <= n``. Types: all;
    ``index_vector`` of any.
    Gradient: ``old_tensor_grad`` is ``out_grad`` with zeros at the indices, ``new_tensor_grad[i] =
    out_grad[index_vector[i]]``; none for the indices.

    Examples
    --------
    >>> old, new = mx.nd.zeros((3, 2)), mx.nd.array([[1, 2], [3, 4]])
    >>> print(mx.nd.contrib.index_copy(old, mx.nd.array([2, 0]), new).asnumpy())
    [[3. 4.]
     [0. 0.]
     [1. 2.]]
    """

    name = "_contrib_index_copy"
    arguments = ("old_tensor", "index_vector", "new_tensor")
    dtypes = ALL_TYPES
    argument_dtypes: ClassVar[Claims] = {"index_vector": ALL_TYPES}

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """The output is like the old tensor; the new one has a slice for each index."""
        old, index, new = in_shapes
        index = merge_shapes(self.name, "index_vector", index, (-1,)) or (-1,)
        for name, shape in (("old_tensor", old), ("new_tensor", new)):
            if shape == ():
                raise InvalidArgumentError(
                    f"{self.name}: argument '{name}' must have a dimension, got shape ()"
                )
        if new is not None:
            index = merge_shapes(self.name, "index_vector", index, new[:1]) or index
            old = merge_shapes(self.name, "old_tensor", old, (-1, *new[1:]))
        if old is not None:
            new = merge_shapes(self.name, "new_tensor", new, (*index, *old[1:]))
            if 0 <= old[0] < index[0]:
                raise InvalidArgumentError(
                    f"{self.name}: argument 'new_tensor' of shape {new} has more slices than "
                    f"'old_tensor' of shape {old}"
                )
        return [old, index, new], [old], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The old tensor is like the output."""
        old = merge_shapes(self.name, "old_tensor", in_shapes[0], out_shapes[0])
        return [old, *in_shapes[1:]]

    def infer_type_backward(
        self, in_types: Sequence[str | None], out_types: Sequence[str | None]
    ) -> list[str | None]:
        """Both tensors have the type of the output."""
        old, index, new = in_types
        return [old or out_types[0], index, new or out_types[0]]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """Zeros are put in where slices were, and these are taken out."""
        (head,), (_, index, new) = graph.out_grad, graph.in_data
        nothing = graph.op("zeros_like", new)[0]
        kept = graph.op(self.name, head, index, nothing)[0]
        return [kept, None, graph.op("take", head, index, mode="raise")[0]]
