"""Arithmetic on values of a graph, so that gradient rules read as formulas."""

from __future__ import annotations

from typing import Any

from .card import Entry, GradientGraph

__all__ = ["Term"]


class Term:
    """A value of a graph; ``+ - * / **`` and unary ``-`` add nodes.

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
        entries = (self.entry, *(o.entry for o in others))
        return Term(self.graph, self.graph.op(name, *entries, **attrs)[0], self.family)

    def __add__(self, other: Term | float) -> Term:
        return self._binary("add", "plus", other)

    def __sub__(self, other: Term | float) -> Term:
        return self._binary("sub", "minus", other)

    def __mul__(self, other: Term | float) -> Term:
        return self._binary("mul", "mul", other)

    def __truediv__(self, other: Term | float) -> Term:
        return self._binary("div", "div", other)

    def __pow__(self, exponent: float) -> Term:
        return self.op("_power_scalar", scalar=exponent)

    def __neg__(self) -> Term:
        return self.op("negative")

    def _binary(self, name: str, scalar_name: str, other: Term | float) -> Term:
        if isinstance(other, Term):
            return self.op(f"{self.family}_{name}", other)
        return self.op(f"_{scalar_name}_scalar", scalar=float(other))
