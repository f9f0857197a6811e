"""Graphs that are cut out of the graph around them.

A body is a function of symbols, which runs once, on new variables, in a scope whose attribute tells
its nodes from those around it. What it reads of the graph around it is cut off: a variable in the
body's graph takes its place, and what it stood for is an input of the operator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from ..attribute import AttrScope
from ..error import DTypeError, InvalidArgumentError
from ..graph.node import Entry, Node, entry_name, topological, variables
from ..name import NameManager
from ..ops.card import make

__all__ = ["Body", "Graph"]

_KEY = "__subgraph_name__"
_COUNTS: Counter[str] = Counter()


class Graph:
    """What was cut out: its outputs, and for each of its variables what stands for it outside."""

    def __init__(self, heads: list[Entry], outside: dict[Node, Entry]) -> None:
        self.heads = heads
        self.nodes = variables(topological(heads))
        self.inputs = [(n, outside.get(n, Entry(n, 0))) for n in self.nodes]

    def require_read(self, what: str, nodes: Sequence[Node]) -> None:
        """Raises where one of the variables is not read."""
        for number, node in enumerate(nodes):
            if node not in self.nodes:
                raise InvalidArgumentError(
                    f"{what}: number {number} is not used in the body, and must be; leave it out"
                )


class Body(AttrScope):
    """The scope in which a graph comes into being."""

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise DTypeError(f"the name of a graph must be a string, got {name!r}")
        self.name = f"{name}{_COUNTS[name]}"
        _COUNTS[name] += 1
        super().__init__(**{_KEY: self.name})
        self.own: set[Node] = set()

    def stand_ins(self, entries: Sequence[Entry]) -> list[Node]:
        """Variables in the place of symbols outside."""
        found = [
            Node(None, f"{e.node.name}-{e.output}", [], AttrScope._current.value.get(None))
            for e in entries
        ]
        self.own.update(found)
        return found

    def cut(self, heads: Sequence[Entry]) -> Graph:
        """The graph of `heads`, with variables where it meets what is outside.

        Every output is one of an operator, and no other output's.
        """
        outside: dict[Node, Entry] = {}
        copies: dict[Entry, Entry] = {}

        def stands_outside(entry: Entry) -> bool:
            node = entry.node
            return node not in self.own and (node.op is None or node.attrs.get(_KEY) != self.name)

        def variable(entry: Entry) -> Entry:
            attrs = entry.node.attrs if entry.node.op is None else {}
            node = Node(None, entry_name(entry), [], attrs)
            outside[node] = entry
            return Entry(node, 0)

        for node in _inside(heads, stands_outside):
            for entry in node.inputs:
                if entry not in copies:
                    copies[entry] = variable(entry) if stands_outside(entry) else entry
            copy = node
            if node.op is not None:
                inputs = [copies[e] for e in node.inputs]
                copy = Node(node.op, node.name, inputs, node.attrs)
            copies.update(zip(node.outputs(), copy.outputs(), strict=True))
        found: list[Entry] = []
        for head in heads:
            if head not in copies:
                copies[head] = variable(head)
            copy = copies[head]
            if copy.node.op is None or copy in found:
                name = NameManager._current.value.get(None, "identity")
                attrs = AttrScope._current.value.get(None)
                copy = Entry(Node(make("_copy", {}), name, [copy], attrs), 0)
            found.append(copy)
        return Graph(found, outside)


def _inside(heads: Sequence[Entry], stands_outside: Callable[[Entry], bool]) -> list[Node]:
    """The nodes on the way to `heads` that are not outside, each after its inputs."""
    order: list[Node] = []
    seen: set[Node] = set()
    for head in heads:
        stack = [(head, 0)]
        while stack:
            entry, position = stack.pop()
            node = entry.node
            if position == 0:
                if node in seen or stands_outside(entry):
                    continue
                seen.add(node)
            if position == len(node.inputs):
                order.append(node)
                continue
            stack += [(entry, position + 1), (node.inputs[position], 0)]
    return order
