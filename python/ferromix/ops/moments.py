"""Mean and variance over axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, register
from .family import NUMBERS
from .param import Param, Params
from .reduce import KEEPDIMS, reduced_shape
from .shapes import normal_axes
from .term import Term

__all__ = ["Moments"]


@register
class Moments(OperatorProperty):
    """The mean and the variance over axes.

    Formula: ``mean[i] = sum over j of data[i, j] / n``,
    ``var[i] = sum over j of (data[i, j] - mean[i]) ** 2 / n``. Shapes: ``axes`` vanish, or keep
    the extent 1 with ``keepdims``; everything gives ``(1,)``. Types: numbers.
    Gradient: ``mean_grad / n + var_grad * 2 * (data - mean) / n``, spread over the axes.

    Examples
    --------
    >>> mean, var = mx.nd.moments(mx.nd.array([[1, 3], [2, 6]]), axes=(1,))
    >>> print(mean.asnumpy(), var.asnumpy())
    [2. 4.] [1. 4.]
    """

    name = "moments"
    dtypes = NUMBERS
    params: ClassVar[Params] = {
        "axes": Param("shape", None, "The axes; all of them where empty or None.", optional=True),
        "keepdims": KEEPDIMS,
    }

    def list_outputs(self) -> list[str]:
        """The two moments, by MXNet's names."""
        return ["output0", "output1"]

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The axes vanish, or keep the extent 1."""
        (shape,) = in_shapes
        if shape is None:
            return [None], [None, None], []
        axes = normal_axes(self.name, self.attrs["axes"] or (), len(shape)) or range(len(shape))
        return [shape], [reduced_shape(shape, axes, self.attrs["keepdims"])] * 2, []

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """What each element adds to the mean and to the variance."""
        x = Term(graph, graph.in_data[0])
        attrs = {"axis": self.attrs["axes"], "keepdims": self.attrs["keepdims"]}
        mean, var = (
            Term(graph, g).op("_broadcast_back", x, mean=True, **attrs) for g in graph.out_grad
        )
        center = Term(graph, graph.out_data[0]).op("_broadcast_back", x, **attrs)
        return [(mean + var * 2.0 * (x - center)).entry]
