"""Plans of backward passes over the tape: which gradient nodes run, on what, and until when.

A plan depends on the structure of what was recorded only, so that a loop which records the same
again and again makes it once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..graph.gradient import Gradients, differentiate, reads
from ..graph.node import Entry, Node
from ..ops.card import OperatorProperty
from .python_operator import PythonOperator

__all__ = ["Place", "Step", "Structure", "TapePlan", "graph_of", "make_plan"]

Structure = tuple[Any, ...]
"""For each node of the tape its request, or its card and the sources of its inputs."""
Place = tuple[int, bool, int]
"""Where the tape has a value: the node, whether it is an input of it, and its number."""


@dataclass(frozen=True, slots=True)
class Step:
    """One run of an operator: slots of its inputs and outputs, None for outputs that nobody reads,
    and the slots that no later step reads."""

    card: OperatorProperty
    inputs: tuple[int, ...]
    outputs: tuple[int | None, ...]
    last: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TapePlan:
    """A backward pass.

    Attributes
    ----------
    size
        The number of slots.
    loads
        Slots of values of the tape, and where it has them.
    seeds
        Slots of gradients of heads, and the number of the head.
    steps
        What runs, in order.
    gradients
        The slot of the gradient of each wanted variable; None where it is zero.
    direct
        Slots that can be written, or added, to where the caller wants a gradient: its number, and
        whether it is added.
    """

    size: int
    loads: list[tuple[int, list[Place]]]
    seeds: list[tuple[int, int]]
    steps: list[Step]
    gradients: list[int | None]
    direct: dict[int, tuple[int, bool]]


def graph_of(structure: Structure) -> list[Node]:
    """The nodes of the tape as nodes of a graph, each named by its position.

    An input that was no result becomes a variable of its own.
    """
    nodes: list[Node] = []
    for i, row in enumerate(structure):
        if isinstance(row, int):
            nodes.append(Node(None, str(i)))
            continue
        card, sources = row
        inputs = [
            Entry(Node(None, f"{i}.{j}"), 0)
            if source is None
            else Entry(nodes[source[0]], source[1])
            for j, source in enumerate(sources)
        ]
        nodes.append(Node(card, str(i), inputs))
    return nodes


def make_plan(
    structure: Structure,
    heads: tuple[tuple[int, int], ...],
    wanted: tuple[int, ...],
    adds: tuple[bool, ...],
) -> TapePlan:
    """The plan for the gradients of `heads` with respect to the variables `wanted`.

    Raises
    ------
    MissingRuleError
        An operator on the way has no gradient rule; the node's name is its position.
    """
    nodes = graph_of(structure)
    found = differentiate([Entry(nodes[i], k) for i, k in heads], [nodes[i] for i in wanted])
    return _Maker(nodes, found).make(wanted, adds)


class _Maker:
    """Gives slots to entries."""

    def __init__(self, nodes: Sequence[Node], found: Gradients) -> None:
        self._nodes = nodes
        self._found = found
        self._slots: dict[Entry, int] = {}
        self._needed = {e for n in found.nodes for e in n.inputs}
        self._needed.update(e for e in found.entries if e is not None)

    def make(self, wanted: Sequence[int], adds: Sequence[bool]) -> TapePlan:
        seeds = [
            (self._slot(Entry(node, 0)), i)
            for i, node in enumerate(self._found.head_grads)
            if node is not None
        ]
        loads = [(self._slot(entry), places) for entry, places in self._places().items()]
        steps = self._steps()
        gradients = [None if e is None else self._slot(e) for e in self._found.entries]
        return TapePlan(
            len(self._slots), loads, seeds, steps, gradients, self._direct(gradients, adds)
        )

    def _slot(self, entry: Entry) -> int:
        return self._slots.setdefault(entry, len(self._slots))

    def _places(self) -> dict[Entry, list[Place]]:
        """Where the tape has the values that are needed."""
        places: dict[Entry, list[Place]] = {}
        rest: dict[Entry, Place] = {}
        for i, node in enumerate(self._nodes):
            inputs, outputs = _kept(node)
            for j, (entry, kept) in enumerate(zip(node.inputs, inputs, strict=True)):
                if entry in self._needed and kept:
                    places.setdefault(entry, []).append((i, True, j))
                rest.setdefault(entry, (i, True, j))
            for k, (entry, kept) in enumerate(zip(node.outputs(), outputs, strict=True)):
                if entry in self._needed and kept:
                    places.setdefault(entry, []).append((i, False, k))
                rest[entry] = (i, False, k)
        # Of the others only the shape matters.
        for entry in rest.keys() & self._needed - places.keys():
            places[entry] = [rest[entry]]
        return places

    def _steps(self) -> list[Step]:
        keep = {e for e in self._found.entries if e is not None}
        seen: set[Entry] = set()
        steps: list[Step] = []
        for node in reversed(self._found.nodes):
            assert node.op is not None
            last = {e for e in node.inputs if e not in seen and e not in keep}
            seen.update(last)
            outputs = [self._slot(e) if e in self._needed else None for e in node.outputs()]
            inputs = [self._slot(e) for e in node.inputs]
            freed = tuple(self._slot(e) for e in last)
            steps.append(Step(node.op, tuple(inputs), tuple(outputs), freed))
        return steps[::-1]

    def _direct(
        self, gradients: Sequence[int | None], adds: Sequence[bool]
    ) -> dict[int, tuple[int, bool]]:
        """Where kernels can write; what is read afterwards must not be added to something."""
        nodes = self._found.nodes
        kernels = [n for n in nodes if not isinstance(n.op, PythonOperator)]
        free = {self._slots[e] for n in kernels for e in n.outputs() if e in self._slots}
        read = {self._slots[e] for n in nodes for e in n.inputs}
        direct: dict[int, tuple[int, bool]] = {}
        for i, (slot, add) in enumerate(zip(gradients, adds, strict=True)):
            if slot in free and slot is not None and not (add and slot in read):
                direct[slot] = (i, add)
                free.remove(slot)
        return direct


def _kept(node: Node) -> tuple[list[bool], list[bool]]:
    """The inputs and outputs whose values the tape keeps for a node."""
    if node.op is None:
        return [], [False]
    return reads(node.op)
