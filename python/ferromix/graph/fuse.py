"""The pass that makes one node of neighbours that compute element by element.

Each of their results is read once from memory and written once; fused, only what comes in and what
goes out is. A group ends in one node, and nothing outside reads what the others give, so that it
may run where that last one stands. Whoever calls says which nodes may be fused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ..ops.fused import MOST_INPUTS, MOST_PARTS, Part, fused
from .node import Entry, Node

__all__ = ["FusedNode", "Readers", "fuse", "readers_of"]

Readers = dict[Entry, list[Node]]
"""The nodes that read each result."""


class FusedNode(Node):
    """A node that stands for several; what it gives is the result of the last of them."""

    __slots__ = ("members",)

    def __init__(self, members: Sequence[Node], inputs: Sequence[Entry]) -> None:
        values = {entry: i for i, entry in enumerate(inputs)}
        parts: list[Part] = []
        for member in members:
            assert member.op is not None
            parts.append((member.op, tuple(values[e] for e in member.inputs)))
            values[member.outputs()[0]] = len(values)
        super().__init__(fused(tuple(parts), len(inputs)), members[-1].name, inputs)
        self.members = tuple(members)

    def outputs(self) -> list[Entry]:
        """The result of the last member, by which the rest of the graph knows it."""
        return self.members[-1].outputs()


def readers_of(order: Sequence[Node], results: Collection[Entry] | None = None) -> Readers:
    """Who reads each result of a graph, or each of these `results`."""
    found: Readers = {}
    for node in order:
        for entry in node.inputs:
            if results is None or entry in results:
                found.setdefault(entry, []).append(node)
    return found


def fuse(
    order: Sequence[Node],
    readers: Readers,
    kept: Collection[Entry],
    may_join: Callable[[Node, Node], bool],
    among: Collection[Node] | None = None,
) -> list[Node]:
    """`order` with a :class:`FusedNode` in place of the last of each group, and without the others.

    Parameters
    ----------
    order
        Operator nodes, each after its inputs.
    readers
        Who reads each result, nodes outside of `order` included.
    kept
        Results that have to be in memory.
    may_join
        Whether a node may be in one group with the node that ends it; asked first of every node
        with itself.
    among
        The nodes for which that is asked; None for all.
    """
    groups: dict[Node, list[Node]] = {}
    for node in reversed(order):
        if (among is not None and node not in among) or not may_join(node, node):
            continue
        group = _group_of(node, readers, kept, groups)
        if group is not None and may_join(node, group[0]) and _fits([*group, node]):
            group.append(node)
            groups[node] = group
        else:
            groups[node] = [node]
    if all(len(group) == 1 for group in groups.values()):
        return list(order)
    result: list[Node] = []
    for node in order:
        group = groups.get(node)
        if group is None or len(group) == 1:
            result.append(node)
        elif group[0] is node:
            members = group[::-1]
            result.append(FusedNode(members, _inputs(members)))
    return result


def _group_of(
    node: Node, readers: Readers, kept: Collection[Entry], groups: dict[Node, list[Node]]
) -> list[Node] | None:
    """The group that all readers of a node are in, if there is one."""
    entry = node.outputs()[0]
    if node.num_outputs != 1 or entry in kept or not readers.get(entry):
        return None
    group = groups.get(readers[entry][0])
    same = group is not None and all(groups.get(r) is group for r in readers[entry])
    return group if same else None


def _inputs(members: Collection[Node]) -> list[Entry]:
    """What a group reads of the rest of the graph, each entry once."""
    inside = {m.outputs()[0] for m in members}
    return list(dict.fromkeys(e for m in members for e in m.inputs if e not in inside))


def _fits(members: Collection[Node]) -> bool:
    if len(members) > MOST_PARTS:
        return False
    # Mostly there are few, even if none is the same as another.
    few = sum([len(m.inputs) for m in members]) <= MOST_INPUTS
    return few or len(_inputs(members)) <= MOST_INPUTS
