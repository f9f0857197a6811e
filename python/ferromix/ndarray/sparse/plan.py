"""What a backward pass with sparse arrays runs: made once for all tapes of one structure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ...dispatch.python_operator import PythonOperator
from ...graph.gradient import differentiate, reads
from ...graph.liveness import last_uses
from ...graph.node import Entry, Node
from ...ops.card import OperatorProperty

__all__ = ["Plan", "Row", "planned"]

Heads = tuple[tuple[int, int], ...]
Place = tuple[int, bool, int]
"""A node of the tape, whether an input of it is meant, and which input or output."""


class Row(NamedTuple):
    """A node of the tape.

    Attributes
    ----------
    card
        Its operator; None for a variable.
    kept
        Whether it has its inputs and outputs itself, as runs with sparse arrays do.
    sources
        For each input the node and its output, or None where the tape only has the value.
    """

    card: OperatorProperty | None
    kept: bool
    sources: tuple[Any, ...]


class Step(NamedTuple):
    """An operator of the pass: its inputs and outputs, and the inputs that nothing reads after."""

    card: OperatorProperty
    inputs: list[Entry]
    outputs: list[Entry]
    done: list[Entry]


class Plan(NamedTuple):
    """A backward pass.

    Attributes
    ----------
    kept
        The nodes that have their values themselves, with entries for inputs and outputs.
    places
        Where other values are.
    seeds
        For each head the entry of its gradient; None where nothing reads it.
    steps
        What runs, in order.
    results
        The gradient of each wanted variable; None where it is zero.
    """

    kept: list[tuple[int, list[Entry], list[Entry]]]
    places: dict[Entry, Place]
    seeds: list[Entry | None]
    steps: list[Step]
    results: list[Entry | None]


def planned(
    rows: tuple[Row, ...], heads: tuple[tuple[int, int], ...], wanted: Sequence[int]
) -> Plan:
    """The pass from `heads`, nodes with the number of an output, to the variables `wanted`."""
    own = any(isinstance(row.card, PythonOperator) for row in rows)
    make = _plan.__wrapped__ if own else _plan  # a user's operator has arrays of its tape
    return make(rows, heads, tuple(wanted))


@lru_cache(maxsize=128)
def _plan(
    rows: tuple[Row, ...], heads: tuple[tuple[int, int], ...], wanted: tuple[int, ...]
) -> Plan:
    nodes: list[Node] = []
    kept: list[tuple[int, list[Entry], list[Entry]]] = []
    places: dict[Entry, Place] = {}
    for i, row in enumerate(rows):
        inputs = [
            Entry(Node(None, f"{i}.{j}"), 0) if s is None else Entry(nodes[s[0]], s[1])
            for j, s in enumerate(row.sources)
        ]
        node = Node(row.card, str(i), inputs)
        nodes.append(node)
        if row.kept:
            kept.append((i, inputs, node.outputs()))
        else:
            _find(places, i, node)
    found = differentiate([Entry(nodes[i], k) for i, k in heads], [nodes[i] for i in wanted])
    results = {e for e in found.entries if e is not None}
    last = last_uses(found.nodes)
    steps = []
    for number, node in enumerate(found.nodes):
        assert node.op is not None
        done = [e for e in set(node.inputs) if last[e] == number and e not in results]
        steps.append(Step(node.op, node.inputs, node.outputs(), done))
    seeds = [None if node is None else Entry(node, 0) for node in found.head_grads]
    return Plan(kept, places, seeds, steps, found.entries)


def _find(places: dict[Entry, Place], i: int, node: Node) -> None:
    """Notes where the tape has the values of a node's inputs and outputs."""
    reading = ([], [True])
    if node.op is not None and not isinstance(node.op, PythonOperator):
        reading = reads(node.op)
    sides = ((True, node.inputs, reading[0]), (False, node.outputs(), reading[1]))
    for is_input, entries, read in sides:
        for k, entry in enumerate(entries):
            if entry not in places or (k < len(read) and read[k]):
                places[entry] = (i, is_input, k)
