"""The pass that replaces operators that are made of others by their parts.

It comes before differentiation and planning, which know kernels only. Symbols keep the operators
as they are, so that saved graphs and the names of outputs do, too, and other passes may come first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..ops.card import OperatorProperty
from ..ops.composed import Composed
from .node import Entry, Node, cards, topological

__all__ = ["expand", "is_composed", "parts_of"]


def parts_of(
    card: OperatorProperty,
    name: str,
    inputs: Sequence[Entry],
    attrs: Mapping[str, str] | None = None,
) -> tuple[list[Node], list[Entry]]:
    """The nodes that stand for one use of a card, each after its inputs, and its outputs.

    Parameters
    ----------
    card
        The operator; one with a kernel gives one node.
    name, inputs, attrs
        What the node would have. The parts have names that begin so, and the same attributes.
    """
    if not isinstance(card, Composed):
        node = Node(card, name, inputs, attrs)
        return [node], node.outputs()
    made = card.composition
    nodes: list[Node] = []
    values = dict(enumerate(inputs))
    for i, part in enumerate(made.parts):
        within = [values[k] for k in part.inputs]
        found, outputs = parts_of(part.card, f"{name}_{part.card.name}{i}", within, attrs)
        nodes += found
        values.update(zip(part.outputs, outputs, strict=True))
    return nodes, [values[k] for k in made.outputs]


def is_composed(nodes: Iterable[Node]) -> bool:
    """Whether some operator is made of others."""
    return any(isinstance(card, Composed) for card in cards(nodes))


def expand(heads: Sequence[Entry]) -> dict[Entry, Entry]:
    """For each entry of the graph of `heads` the one that stands for it in a graph of kernels.

    Nodes on which no composed operator has an influence, and all variables, stand for themselves.
    """
    found: dict[Entry, Entry] = {}
    for node in topological(heads):
        inputs = [found[e] for e in node.inputs]
        outputs = node.outputs()
        if node.op is not None and (isinstance(node.op, Composed) or inputs != node.inputs):
            outputs = parts_of(node.op, node.name, inputs, node.attrs)[1]
        found.update(zip(node.outputs(), outputs, strict=True))
    return found
