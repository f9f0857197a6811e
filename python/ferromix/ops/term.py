"""Arithmetic on values of a graph, so that rules for gradients and for operators that are made of
others read as formulas.
"""

from __future__ import annotations

from typing import Any

from ..error import ArgumentTypeError
from ..literal import brief
from .card import Entry, GradientGraph
from .infix import INFIX

__all__ = ["Term"]


class Term:
    """A value of a graph; ``+ - * / **`` with values and numbers, and unary ``-``, add nodes.

    Parameters
    ----------
    graph
        Where nodes are added.
    entry
        The value.
    family
        ``"elemwise"`` where operands have equal shapes, ``"broadcast"`` where they may differ.
    """

    __slots__ = ("entry", "family", "graph")

    def __init__(self, graph: GradientGraph, entry: Entry, family: str = "elemwise") -> None:
        self.graph = graph
        self.entry = entry
        self.family = family

    def op(self, name: str, *others: Term, **attrs: Any) -> Term:
        """The first output of the operator `name` of this value and `others`."""
        return self.outputs(name, *others, **attrs)[0]

    def outputs(self, name: str, *others: Term, **attrs: Any) -> list[Term]:
        """All outputs of the operator `name` of this value and `others`."""
        for other in others:
            if not isinstance(other, Term) or other.graph is not self.graph:
                raise ArgumentTypeError(
                    f"{name}: an operand in a rule must be a value of the same rule, got "
                    f"{brief(other)}"
                )
        entries = (self.entry, *(o.entry for o in others))
        found = self.graph.op(name, *entries, **attrs)
        return [Term(self.graph, entry, self.family) for entry in found]

    def __add__(self, other: Term | float) -> Term:
        return self._binary("add", other)

    def __sub__(self, other: Term | float) -> Term:
        return self._binary("sub", other)

    def __mul__(self, other: Term | float) -> Term:
        return self._binary("mul", other)

    def __truediv__(self, other: Term | float) -> Term:
        return self._binary("div", other)

    def __radd__(self, other: float) -> Term:
        return self + other

    def __rsub__(self, other: float) -> Term:
        return self.op(INFIX["sub"].left, scalar=float(other))

    def __rmul__(self, other: float) -> Term:
        return self * other

    def __rtruediv__(self, other: float) -> Term:
        return self.op(INFIX["div"].left, scalar=float(other))

    def __pow__(self, exponent: float) -> Term:
        return self.op(INFIX["power"].right, scalar=exponent)

    def __neg__(self) -> Term:
        return self.op("negative")

    def _binary(self, name: str, other: Term | float) -> Term:
        names = INFIX[name]
        if isinstance(other, Term):
            return self.op(names.same if self.family == "elemwise" else names.broadcast, other)
        return self.op(names.right, scalar=float(other))
