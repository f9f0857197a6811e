"""Nodes of a computation graph, and the walks over them that every pass shares.

A node is a variable or the use of an operator card. Graphs are acyclic because a node's inputs
exist before it does.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from .. import _core
from ..ops.card import OperatorProperty

__all__ = [
    "Entry",
    "Node",
    "argument_names",
    "cards",
    "copy_graph",
    "entry_name",
    "first_entries",
    "many_nodes",
    "mutated_variables",
    "topological",
    "variables",
]


class Entry(NamedTuple):
    """One output of one node."""

    node: Node
    output: int


_entry = tuple.__new__


class Node:
    """A variable, or the use of an operator.

    Parameters
    ----------
    op
        The operator's card with its attributes, or None for a variable.
    name
        The node's name.
    inputs
        What the node reads: the card's arguments, then its auxiliary states.
    attrs
        The symbol's own attributes such as ``__shape__`` and ``__lr_mult__``; the operator's are
        on the card.
    made_for
        For a variable that was made for an input of an operator which was not given: the card of
        that operator. As in MXNet such a variable shows the operator's attributes.
    """

    __slots__ = ("attrs", "inputs", "made_for", "name", "op")

    def __init__(
        self,
        op: OperatorProperty | None,
        name: str,
        inputs: Sequence[Entry] = (),
        attrs: Mapping[str, str] | None = None,
        made_for: OperatorProperty | None = None,
    ) -> None:
        self.op = op
        self.made_for = made_for
        self.name = name
        self.inputs = list(inputs)
        self.attrs = dict(attrs) if attrs else {}

    @property
    def num_outputs(self) -> int:
        """How many outputs there are, hidden ones included."""
        return 1 if self.op is None else len(self.op.output_names)

    @property
    def num_public_outputs(self) -> int:
        """How many of the outputs are outputs in MXNet, too."""
        return self.num_outputs - (0 if self.op is None else self.op.private_outputs)

    @property
    def num_visible_outputs(self) -> int:
        """How many of the outputs a user sees."""
        return 1 if self.op is None else self.op.num_visible_outputs()

    def outputs(self) -> list[Entry]:
        """All outputs, hidden ones included."""
        card = self.op
        if card is None or len(card.output_names) == 1:
            # Most nodes; made without the call in Python that the class would take.
            return [_entry(Entry, (self, 0))]
        return [_entry(Entry, (self, i)) for i in range(len(card.output_names))]

    def all_attrs(self) -> dict[str, str]:
        """The given attributes of the operator as they were spelled, and the symbol's own."""
        card = self.op or self.made_for
        return self.attrs if card is None else card.texts() | self.attrs

    def __repr__(self) -> str:
        return f"Node({'variable' if self.op is None else self.op.name} {self.name!r})"


def first_entries(nodes: Iterable[Node]) -> list[Entry]:
    """The first output of each node, without the call in Python that the class would take."""
    return [_entry(Entry, (node, 0)) for node in nodes]


def topological(heads: Iterable[Entry]) -> list[Node]:
    """All nodes that `heads` depend on, each after its inputs, depth first as in MXNet."""
    return _core.topological(heads)


def cards(nodes: Iterable[Node]) -> set[OperatorProperty]:
    """The cards of `nodes`, each once: graphs are large, and have few that differ."""
    return {n.op for n in nodes if n.op is not None}


@contextmanager
def many_nodes() -> Iterator[None]:
    """For code that makes a graph: its nodes all stay, so that to look among them for garbage, as
    Python does the more often the more there are, would take more time than making them."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
        _make_old()
    finally:
        gc.enable()


_FULL_COLLECTIONS = -1
"""How often all objects had been looked at when they were made old for the last time."""


def _make_old() -> None:
    """Spares Python the look at so many new objects that would come now.

    It makes all objects old, and Python counts anew what is due. So it is done once between two
    collections of all objects, or these would never come, and not where somebody froze objects,
    which would thaw.
    """
    global _FULL_COLLECTIONS
    many = gc.get_count()[0] > gc.get_threshold()[0]
    collections = gc.get_stats()[-1]["collections"]
    if many and collections != _FULL_COLLECTIONS and not gc.get_freeze_count():
        _FULL_COLLECTIONS = collections
        gc.freeze()
        gc.unfreeze()


def variables(nodes: Iterable[Node]) -> list[Node]:
    """The variables among `nodes`."""
    return [n for n in nodes if n.op is None]


def mutated_variables(nodes: Iterable[Node]) -> set[Node]:
    """The variables that some operator changes; MXNet calls them auxiliary states."""
    found: set[Node] = set()
    changed: dict[OperatorProperty, list[int]] = {}
    for node in nodes:
        card = node.op
        if card is None:
            continue
        numbers = changed.get(card)
        if numbers is None:
            numbers = changed[card] = card.mutated_inputs()
        for i in numbers:
            source = node.inputs[i].node
            if source.op is None:
                found.add(source)
    return found


def argument_names(card: OperatorProperty) -> list[str]:
    """The names of a node's inputs, auxiliary states last."""
    return [*card.list_arguments(), *card.list_auxiliary_states()]


def entry_name(entry: Entry) -> str:
    """The public name of an output, ``fc1_output``; a variable's is its own."""
    node = entry.node
    return node.name if node.op is None else f"{node.name}_{node.op.output_names[entry.output]}"


@many_nodes()
def copy_graph(
    heads: Sequence[Entry],
    replace: Mapping[Node, Entry] | None = None,
    rename: Callable[[Node], str] | None = None,
) -> list[Entry]:
    """`heads` over new nodes; with `replace`, variables that stay are shared with the original.

    Parameters
    ----------
    heads
        The outputs of the graph to copy.
    replace
        What stands for a node in the copy; such entries are taken as they are.
    rename
        Gives the name of a copy; by default names stay.
    """
    replaced = replace or {}
    copies: dict[Node, Node] = {}

    def moved(entry: Entry) -> Entry:
        node, output = entry
        return (replaced.get(node) if replaced else None) or _entry(Entry, (copies[node], output))

    for node in topological(heads):
        if node in replaced:
            continue
        if node.op is None and replace is not None:
            copies[node] = node
            continue
        name = rename(node) if rename else node.name
        inputs = [moved(e) for e in node.inputs]
        copies[node] = Node(node.op, name, inputs, node.attrs, node.made_for)
    return [moved(head) for head in heads]
