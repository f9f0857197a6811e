"""The bases of operators that choose elements by indices, and of the ways back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from .card import Claims, Entry, GradientGraph, OperatorProperty
from .family import ALL_TYPES, Backward

__all__ = ["BackwardChoice", "Choice"]


class Choice(OperatorProperty):
    """The base of operators that choose elements of the first input by indices, the second one."""

    arguments: ClassVar[tuple[str, ...]] = ("data", "indices")
    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES
    argument_dtypes: ClassVar[Claims] = {"indices": ALL_TYPES}
    back: ClassVar[str]
    """The operator that takes `out_grad`, the indices and the first input."""

    def infer_type_backward(
        self, in_types: Sequence[str | None], out_types: Sequence[str | None]
    ) -> list[str | None]:
        """The elements have the type of the output."""
        return [in_types[0] or out_types[0], in_types[1]]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The elements go back to where they were."""
        data, indices = graph.in_data
        found = graph.op(self.back, graph.out_grad[0], indices, data, **self.attrs)
        return [found[0], None]


class BackwardChoice(Backward):
    """The base of the ways back, which are linear in ``out_grad``; ``data`` gives its shape."""

    differentiable: ClassVar[bool] = True
    arguments: ClassVar[tuple[str, ...]] = ("out_grad", "indices", "data")
    gradients: ClassVar[Mapping[str, str]] = {"data_grad": "data"}
    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES
    forward: ClassVar[str]
    """The operator of which this is the gradient."""

    def ignored_inputs(self) -> list[int]:
        """The data give their shape only."""
        return [2]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The operator itself."""
        chosen = graph.op(self.forward, graph.out_grad[0], graph.in_data[1], **self.attrs)
        return [chosen[0], None, None]
