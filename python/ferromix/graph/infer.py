"""Shape and type inference over a whole graph, in both directions, to a fixed point.

Cards infer for one node; here what they find travels along the edges until nothing new is learned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..error import InvalidArgumentError
from ..ops.card import MaybeShape, OperatorProperty
from ..ops.inference import infer_shapes_of, infer_types_of
from ..ops.shapes import is_known
from .node import Entry, Node, argument_names

__all__ = ["infer_shapes", "infer_types", "is_known"]


def infer_shapes(
    nodes: Sequence[Node], known: Mapping[Entry, MaybeShape]
) -> dict[Entry, MaybeShape]:
    """The shape of every output of `nodes`, as far as it follows from `known`.

    Parameters
    ----------
    nodes
        The graph, each node after its inputs.
    known
        Shapes to start from; -1 marks an unknown extent, None an unknown rank.

    Raises
    ------
    InvalidArgumentError
        Where shapes contradict each other; names the node, its operator, the argument and both
        shapes.
    """
    return _Shapes(nodes, known).run()


class _Shapes:
    """One run of shape inference: the table of shapes and the sweeps that fill it."""

    def __init__(self, nodes: Sequence[Node], known: Mapping[Entry, MaybeShape]) -> None:
        self.nodes = [n for n in nodes if n.op is not None]
        self.table: dict[Entry, MaybeShape] = {e: None for n in nodes for e in n.outputs()}
        self.table.update(known)
        self.seen: dict[Node, list[MaybeShape]] = {}

    def run(self) -> dict[Entry, MaybeShape]:
        """Sweeps to and fro, starting forwards, until no node has anything new to look at."""
        order = self.nodes
        backwards = self.nodes[::-1]
        while self._sweep(order):
            order = backwards if order is self.nodes else self.nodes
        return self.table

    def _sweep(self, order: Sequence[Node]) -> bool:
        return sum([self._visit(node) for node in order]) > 0

    def _visit(self, node: Node) -> bool:
        """Whether the node's card was asked, which is when its shapes changed since last time."""
        entries = [*node.inputs, *node.outputs()]
        before = [self.table[e] for e in entries]
        if self.seen.get(node) == before:
            return False
        try:
            infer_shapes_of(_card(node), node.inputs, node.outputs(), self.table)
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"{error}; in {self._describe(node)}") from error.__cause__
        self.seen[node] = [self.table[e] for e in entries]
        return True

    def _describe(self, node: Node) -> str:
        names = argument_names(_card(node))
        inputs = ", ".join(
            f"{name}='{entry.node.name}' {self.table[entry] or 'unknown'}"
            for name, entry in zip(names, node.inputs, strict=True)
        )
        return f"node '{node.name}' ({_card(node).name}) with {inputs or 'no inputs'}"


def infer_types(
    nodes: Sequence[Node], known: Mapping[Entry, str | None], default: str | None = None
) -> dict[Entry, str | None]:
    """The element type of every output of `nodes`, as far as it follows from `known`.

    Parameters
    ----------
    nodes
        The graph, each node after its inputs.
    known
        Types to start from.
    default
        The type of variables that nothing else decides, taken one variable after another.

    Raises
    ------
    InvalidArgumentError
        Where types contradict each other; names the node, its operator and the argument.
    """
    table: dict[Entry, str | None] = {e: None for n in nodes for e in n.outputs()}
    table.update(known)
    operators = [n for n in nodes if n.op is not None]
    free = iter([Entry(n, 0) for n in nodes if n.op is None])
    while True:
        while sum([_visit_types(node, table) for node in operators]):
            pass
        unknown = next((e for e in free if table[e] is None), None)
        if unknown is None or default is None:
            return table
        table[unknown] = default


def _visit_types(node: Node, table: dict[Entry, str | None]) -> bool:
    """Whether the node taught anything."""
    card = _card(node)
    entries = [*node.inputs, *node.outputs()]
    before = [table[e] for e in entries]
    try:
        infer_types_of(card, node.inputs, node.outputs(), table)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(
            f"{error}; in node '{node.name}' ({card.name})"
        ) from error.__cause__
    return before != [table[e] for e in entries]


def _card(node: Node) -> OperatorProperty:
    assert node.op is not None
    return node.op
