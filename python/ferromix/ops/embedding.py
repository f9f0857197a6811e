"""Tables of vectors, looked up by number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from .card import Claims, Entry, GradientGraph, MaybeShape, OperatorProperty, merge_shapes, register
from .family import ALL_TYPES, FLOATS, NUMBERS, Types
from .param import Param, Params

__all__ = ["BackwardEmbedding", "Embedding", "SparseEmbedding"]

_PARAMS: Params = {
    "input_dim": Param("int", doc="The number of vectors.", low=0),
    "output_dim": Param("int", doc="The length of a vector.", low=0),
    "dtype": Param("dtype", "float32", "The type of the weight, where nothing else decides it."),
    "sparse_grad": Param("bool", False, "Whether the gradient of the weight is row_sparse."),
}


@register
class Embedding(OperatorProperty):
    """The rows of a table with given numbers.

    Formula: ``out[..., :] = weight[data[...], :]``; numbers are cut to ``0 ... input_dim - 1``, but
    refused beyond where the weight, or its gradient, is row_sparse.
    Shapes: ``weight`` is ``(input_dim, output_dim)``, ``out`` the shape of ``data`` and
    ``output_dim``. Types: numbers for ``weight`` and ``out``; ``data`` any.
    Gradient: ``weight_grad[i]`` is the sum of ``out_grad`` where ``data == i``, with
    ``sparse_grad`` as a row_sparse array, of floats; none for ``data``.

    Examples
    --------
    >>> weight = mx.nd.array([[0, 1], [2, 3], [4, 5]])
    >>> print(mx.nd.Embedding(mx.nd.array([2, 0]), weight, input_dim=3, output_dim=2).asnumpy())
    [[4. 5.]
     [0. 1.]]
    """

    name = "Embedding"
    arguments = ("data", "weight")
    dtypes: ClassVar[tuple[str, ...]] = NUMBERS
    argument_dtypes: ClassVar[Claims] = {"data": ALL_TYPES}
    params: ClassVar[Params] = _PARAMS

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """A vector for each number."""
        data, weight = in_shapes
        table = (self.attrs["input_dim"], self.attrs["output_dim"])
        weight = merge_shapes(self.name, "weight", weight, table)
        out = None if data is None else (*data, self.attrs["output_dim"])
        return [data, weight], [out], []

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """The type of the weight, which the attribute gives where nothing else does."""
        data, weight = in_types
        return super().infer_type([data, weight or self.attrs["dtype"]])

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """Sums for each vector."""
        attrs = {**self.attrs}
        back = graph.op("_backward_Embedding", graph.out_grad[0], graph.in_data[0], **attrs)
        return [None, back[0]]


@register
class SparseEmbedding(Embedding):
    """The rows of a table with given numbers, with a row_sparse gradient; an old name.

    Formula: ``out[..., :] = weight[data[...], :]``; numbers as for ``Embedding``.
    Shapes: as for ``Embedding``. Types: numbers for ``weight`` and ``out``; ``data`` any.
    Gradient: ``weight_grad[i]`` is the sum of ``out_grad`` where ``data == i``, as a row_sparse
    array; none for ``data``.

    Examples
    --------
    >>> weight, data = mx.nd.array([[0, 1], [2, 3], [4, 5]]), mx.nd.array([2])
    >>> attrs = {"input_dim": 3, "output_dim": 2}
    >>> print(mx.nd.contrib.SparseEmbedding(data, weight, **attrs).asnumpy())
    [[4. 5.]]
    """

    name = "_contrib_SparseEmbedding"
    kernel = "Embedding"
    params: ClassVar[Params] = {
        **_PARAMS,
        "sparse_grad": Param("bool", True, "Whether the gradient of the weight is row_sparse."),
    }


@register
class BackwardEmbedding(OperatorProperty):
    """The gradient of the weight of Embedding."""

    name = "_backward_Embedding"
    hidden = True
    arguments = ("out_grad", "data")
    dtypes: ClassVar[tuple[str, ...]] = FLOATS
    argument_dtypes: ClassVar[Claims] = {"data": ALL_TYPES}
    params: ClassVar[Params] = _PARAMS

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The shape of the weight."""
        return list(in_shapes), [(self.attrs["input_dim"], self.attrs["output_dim"])], []

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The sums are linear in the gradient of the output."""
        table = graph.out_grad[0]
        return [graph.op("Embedding", graph.in_data[1], table, **self.attrs)[0], None]
