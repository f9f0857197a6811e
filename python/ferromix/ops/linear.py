"""The bases of operators that move elements: each has another operator that moves them back, which
is its gradient, and the gradient of that one is the operator again.
"""

from __future__ import annotations

from typing import ClassVar

from .card import Entry, GradientGraph, OperatorProperty
from .family import ALL_TYPES, Backward

__all__ = ["Back", "Linear"]


class Linear(OperatorProperty):
    """The base of operators that are linear in their first input."""

    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES
    back: ClassVar[str]
    """The operator with the same attributes that takes `out_grad` and the first input."""

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The way back; further inputs have no gradient."""
        found = graph.op(self.back, graph.out_grad[0], graph.in_data[0], **self.attrs)
        return [found[0], *[None] * (len(self.list_arguments()) - 1)]


class Back(Backward):
    """The base of the ways back, which are linear in ``out_grad``; ``data`` gives its shape."""

    differentiable: ClassVar[bool] = True
    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES
    forward: ClassVar[str]
    """The operator of which this is the gradient."""

    def ignored_inputs(self) -> list[int]:
        """The data give their shape only."""
        return [1]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The operator itself."""
        return [graph.op(self.forward, graph.out_grad[0], **self.attrs)[0], None]
