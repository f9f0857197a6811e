"""The pass that computes results of the forward pass again for the backward pass, instead of
keeping them.

What is dropped is computed once more right before its first reader. The same kernels run on the
same inputs, so gradients keep their bits. The core chooses what to drop
(`rust/runtime/src/recompute.rs`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf
from typing import NamedTuple

from .. import _core
from ..context import Context
from ..ops.card import Again
from .node import Entry, Node
from .plan_memory import Sizes, facts_of, left_out
from .rewired import rewired

__all__ = ["Cost", "Dropped", "is_forced", "recomputed", "select"]

FLAGS = ("__force_mirroring__", "force_mirroring", "__mirror_stage__", "mirror_stage")
"""Attributes that ask for it, as in MXNet."""


def is_forced(node: Node) -> bool:
    """Whether the user asks for a node to be computed again."""
    if not node.attrs:
        return False
    given = next((node.attrs[name] for name in FLAGS if name in node.attrs), "")
    return str(given).lower() not in ("", "0", "false", "none")


Dropped = dict[Entry, Again]
"""Results of the forward pass that are not kept, and what gives each again."""


def recomputed(
    backward: Sequence[Node], dropped: Dropped, alike: Callable[[Entry, Entry], None]
) -> list[Node]:
    """`backward` with results of the forward pass computed again where they are read.

    Parameters
    ----------
    backward
        The nodes of the backward pass, each after its inputs.
    dropped
        First outputs of nodes of the forward pass, and what :meth:`OperatorProperty.again` says of
        these nodes.
    alike
        Is told of each new entry, and of the one that it stands for.
    """
    there: dict[Entry, Entry] = {}
    result: list[Node] = []

    def moved(entries: Sequence[Entry]) -> list[Entry]:
        return [there.get(e, e) for e in entries]

    def add(wanted: Entry) -> None:
        """Adds what gives a result again, after what that needs."""
        stack = [wanted]
        while stack:
            entry = stack[-1]
            card, inputs = dropped[entry]
            missing = [e for e in inputs if e in dropped and e not in there]
            if missing and entry not in there:
                stack += missing
                continue
            stack.pop()
            if entry not in there:
                node = entry.node
                new = Node(card, f"{node.name}_again", moved(inputs), node.attrs)
                there[entry] = Entry(new, 0)
                alike(there[entry], entry)
                result.append(new)

    for node in backward:
        for entry in node.inputs:
            if entry in dropped and entry not in there:
                add(entry)
        result.append(rewired(node, moved(node.inputs)))
    return result


class Cost(NamedTuple):
    """What a node costs: seconds, about, and whether it takes longer than its memory does."""

    seconds: float
    heavy: bool


def select(
    halves: tuple[Sequence[Node], Sequence[Node]],
    sizes: Sizes,
    kept: Collection[Entry],
    devices: dict[Node, Context],
    able: Dropped,
    forced: Collection[Entry],
    costs: Mapping[Entry, Cost],
    budget: int,
    most: float = inf,
) -> set[Entry]:
    """What to drop so that a pass takes at most `budget` bytes, at little cost.

    If nothing does, that with which it takes least.

    Parameters
    ----------
    halves
        The nodes of the forward and of the backward pass, each after its inputs.
    sizes, kept, devices
        As :func:`.plan_memory` has them; `kept` are fixed.
    able
        What may be dropped, in the order of the forward pass.
    forced
        What of that is dropped in any case.
    costs
        What those cost that may be chosen.
    budget
        The bytes that a pass may take.
    most
        The seconds that recomputation may take.
    """

    forward, backward = halves
    order = [*forward, *backward]
    about = order, sizes, kept, devices, left_out(order, kept), facts_of
    rows = [(e, *again, costs.get(e), e in forced) for e, again in able.items()]
    return set(_core.select_dropped(*about, len(forward), rows, budget, most))
