"""The pass that takes out what is computed of constants alone, so that it may be computed once.

A constant is a result that depends on no variable, such as those of `zeros` and `arange`, and what
elementwise operators, reshapes and others make of these. Variables are none, parameters included:
any may be written between two passes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from .node import Entry, Node

__all__ = ["Folded", "fold"]


class Folded(NamedTuple):
    """An order in two parts.

    Attributes
    ----------
    rest
        The nodes to run at each pass.
    constants
        Those to run once, before.
    read
        What `rest` reads of `constants`.
    """

    rest: list[Node]
    constants: list[Node]
    read: list[Entry]


def fold(
    order: Sequence[Node], kept: Collection[Entry], may_fold: Callable[[Node], bool]
) -> Folded:
    """`order` without nodes that compute what is always the same.

    Parameters
    ----------
    order
        Operator nodes, each after its inputs.
    kept
        Results that every pass has to write, such as the outputs of the graph.
    may_fold
        Whether a node whose inputs are constants gives the same in every pass, and is worth it.
    """
    if all(node.inputs for node in order):
        return Folded(list(order), [], [])
    known: set[Entry] = set()
    rest: list[Node] = []
    constants: list[Node] = []
    for node in order:
        if known.issuperset(node.inputs):
            outputs = node.outputs()
            if not any(e in kept for e in outputs) and may_fold(node):
                constants.append(node)
                known.update(outputs)
                continue
        rest.append(node)
    return Folded(
        rest, constants, list(dict.fromkeys(e for n in rest for e in n.inputs if e in known))
    )
