"""The pass that takes out the casts of automatic mixed precision, for graphs that are saved."""

from __future__ import annotations

from collections.abc import Sequence

from .node import Entry, Node, topological

__all__ = ["without_amp_casts"]

CASTS = ("amp_cast", "amp_multicast")


def without_amp_casts(heads: Sequence[Entry]) -> list[Entry]:
    """The graph of `heads` with what goes into each cast in the place of what comes out.

    A cast whose output is a head stays, as in MXNet. Without casts the nodes are the same ones.
    """
    nodes = topological(heads)
    if not any(_is_cast(node) for node in nodes):
        return list(heads)
    copies: dict[Node, Node] = {}

    def source(entry: Entry) -> Entry:
        while _is_cast(entry.node):
            entry = entry.node.inputs[entry.output]
        return Entry(copies[entry.node], entry.output)

    for node in nodes:
        inputs = [source(e) for e in node.inputs]
        copies[node] = Node(node.op, node.name, inputs, node.attrs) if inputs else node
    return [Entry(copies[e.node], e.output) for e in heads]


def _is_cast(node: Node) -> bool:
    return node.op is not None and node.op.name in CASTS
