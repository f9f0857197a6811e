"""Dropout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from .card import Entry, GradientGraph, MaybeShape, merge_shapes, register
from .family import FLOATS, Elementwise
from .param import Param, Params
from .shapes import normal_axes

__all__ = ["Dropout"]


@register
class Dropout(Elementwise):
    """Elements set to zero at random, the others scaled so that the expectation stays.

    Formula: ``out = data * mask``, where an element of ``mask`` is 0 with probability ``p``, and
    ``1 / (1 - p)`` otherwise; in prediction ``out = data``, unless ``mode`` is ``"always"``.
    Shapes: ``out`` has the shape of ``data``; along ``axes`` the mask has extent 1, so that
    elements live or die together. Types: floats.
    Gradient: ``data_grad = out_grad * mask``.

    Examples
    --------
    >>> print(mx.nd.Dropout(mx.nd.array([1, 2, 3]), p=0.5).asnumpy())
    [1. 2. 3.]
    """

    name = "Dropout"
    dtypes = FLOATS
    uses_train_mode = True
    params: ClassVar[Params] = {
        "p": Param("float", 0.5, "The probability of zero.", low=0, high=1),
        "mode": Param(
            "str", "training", "Whether prediction drops too.", choices=("training", "always")
        ),
        "axes": Param("shape", (), "The axes along which elements share their fate."),
        "cudnn_off": Param(
            "bool", False, "Whether cuDNN is not used; of no effect.", optional=True
        ),
    }

    def list_outputs(self) -> list[str]:
        """The result and the mask."""
        return ["output", "mask"]

    def num_visible_outputs(self) -> int:
        """The mask is for the gradient."""
        return 1

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The mask has extent 1 along the axes."""
        (data,) = in_shapes
        if data is None:
            return [None], [None, None], []
        axes = normal_axes(self.name, self.attrs["axes"], len(data))
        mask = tuple(1 if i in axes else n for i, n in enumerate(data))
        return [data], [data, mask], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The data have the shape of the output."""
        return [merge_shapes(self.name, "data", in_shapes[0], out_shapes[0])]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The gradient of the output where elements live."""
        product = "broadcast_mul" if self.attrs["axes"] else "elemwise_mul"
        return [graph.op(product, graph.out_grad[0], graph.out_data[1])[0]]
