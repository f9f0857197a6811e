"""Nodes with other inputs that stand for nodes of a graph, so that passes may change the graph
around results without renaming them.

A pass gets the nodes of a program in order and gives nodes in order. Shapes, types and arrays are
known by entries, which stay those of the nodes that are stood for."""

from __future__ import annotations

from collections.abc import Sequence

from ..ops.card import OperatorProperty
from .node import Entry, Node

__all__ = ["Rewired", "entries_of", "rewired"]


class Rewired(Node):
    """A node whose results are known as those of another one.

    Parameters
    ----------
    card
        The operator.
    stands_for
        The node whose entries the results have.
    inputs
        What it reads.
    """

    __slots__ = ("stands_for",)

    def __init__(self, card: OperatorProperty, stands_for: Node, inputs: Sequence[Entry]) -> None:
        super().__init__(card, stands_for.name, inputs, stands_for.attrs)
        self.stands_for = stands_for

    def outputs(self) -> list[Entry]:
        """The entries of the other node."""
        return self.stands_for.outputs()


def rewired(node: Node, inputs: Sequence[Entry]) -> Node:
    """The node with these inputs; itself where they are its own."""
    if list(inputs) == node.inputs or node.op is None:
        return node
    return Rewired(node.op, entries_of(node), inputs)


def entries_of(node: Node) -> Node:
    """The node that the entries of this one are called by."""
    return node.stands_for if isinstance(node, Rewired) else node
