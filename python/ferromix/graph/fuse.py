"""The pass that makes one node of neighbours that compute element by element.

Each of their results is read once from memory and written once; fused, only what comes in and what
goes out is. A group ends in one node, and nothing outside reads what the others give, so that it
may run where that last one stands. Whoever calls says which nodes may be fused; the core finds the
groups.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from .. import _core
from ..context import Context
from ..ops.card import OperatorProperty, Shape
from ..ops.fused import MOST_INPUTS, MOST_PARTS, Part, fused
from .node import Entry, Node

__all__ = ["ALIKE", "ASK", "NEVER", "FusedNode", "Readers", "fuse", "readers_of"]

NEVER, ALIKE, ASK = range(3)
"""Whether nodes may be fused: not; where inputs and output have one shape, and a large one; where
`fits` says so."""


Readers = dict[Entry, list[Node]]
"""The nodes that read each result."""


class FusedNode(Node):
    """A node that stands for several; what it gives is the result of the last of them.

    Parameters
    ----------
    members
        The nodes, each after its inputs.
    inputs
        What they read of the rest of the graph.
    reads
        For each member the numbers of its inputs, among these and then the members' results.
    """

    __slots__ = ("members",)

    def __init__(
        self, members: Sequence[Node], inputs: Sequence[Entry], reads: Sequence[tuple[int, ...]]
    ) -> None:
        parts = tuple([_part(m.op, read) for m, read in zip(members, reads, strict=True)])
        super().__init__(fused(parts, len(inputs)), members[-1].name, inputs)
        self.members = tuple(members)

    def outputs(self) -> list[Entry]:
        """The result of the last member, by which the rest of the graph knows it."""
        return self.members[-1].outputs()


def _part(card: OperatorProperty | None, reads: tuple[int, ...]) -> Part:
    assert card is not None
    return card, reads


def readers_of(order: Sequence[Node]) -> Readers:
    """The nodes that read each result of a graph."""
    found: Readers = {}
    for node in order:
        for entry in node.inputs:
            found.setdefault(entry, []).append(node)
    return found


def fuse(
    halves: Sequence[list[Node]],
    kept: Collection[Entry],
    sizes: tuple[dict[Entry, Shape], dict[Entry, str]],
    devices: dict[Node, Context],
    about: Callable[[Node], tuple[int, list[int]]],
    fits: Callable[[Node], bool],
    least: int,
) -> list[list[Node]]:
    """`halves` with a :class:`FusedNode` in place of the last of each group, and without the
    others.

    Parameters
    ----------
    halves
        Operator nodes, each after its inputs; a group lies within a half.
    kept
        Results that have to be in memory.
    sizes
        Shapes and element types of all entries. Results of one group have the same.
    devices
        Where nodes run, to which the new ones are added. A group is on one device, as is what it
        reads.
    about
        Which nodes of a card may be fused on a device, as :data:`NEVER`, :data:`ALIKE` or
        :data:`ASK`, and which inputs they change; asked once for each card and device.
    fits
        Whether a node may be fused.
    least
        The elements of a large result.
    """

    def join(
        members: Sequence[Node], inputs: Sequence[Entry], reads: Sequence[tuple[int, ...]]
    ) -> FusedNode:
        node = FusedNode(members, inputs, reads)
        devices[node] = devices[members[-1].outputs()[0].node]
        return node

    limits = MOST_PARTS, MOST_INPUTS, least
    return _core.fuse(halves, kept, sizes, devices, (about, fits, join), limits)
