"""Parts of attention."""

from __future__ import annotations

from .card import Entry, GradientGraph, register
from .family import Unary

__all__ = ["DivSqrtDim"]


@register
class DivSqrtDim(Unary):
    """Every element divided by the square root of the extent of the last axis.

    Formula: ``out = data / sqrt(n)``. Shapes: ``data`` is ``(..., n)``, ``out`` alike. Types:
    numbers; integers are divided by the whole part of the root.
    Gradient: ``data_grad = out_grad / sqrt(n)``.

    Examples
    --------
    >>> print(mx.nd.contrib.div_sqrt_dim(mx.nd.array([2, 4, 6, 8])).asnumpy())
    [1. 2. 3. 4.]
    """

    name = "_contrib_div_sqrt_dim"

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The operator itself."""
        return [graph.op(self.name, graph.out_grad[0])[0]]
