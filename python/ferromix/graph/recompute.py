"""The pass that computes results of the forward pass again for the backward pass, instead of
keeping them.

What is dropped is computed once more right before its first reader. The same kernels run on the
same inputs, so gradients keep their bits. The core chooses what to drop
(`rust/runtime/src/places/recompute.rs`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import inf
from typing import NamedTuple

from .. import _core
from ..context import Context
from ..ops.card import Again, OperatorProperty
from .eliminate import mutated_entries
from .node import Entry, Node
from .plan_memory import Sizes, facts_of, left_out
from .rewired import rewired

__all__ = ["Cost", "Dropped", "again_of", "is_forced", "recomputed", "select"]

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
    """What a card says of computing its nodes again.

    Attributes
    ----------
    again
        What gives the first output once more, and which of the inputs and outputs, counted
        together, it reads; None where that must not be.
    on_gpu
        Whether that runs on GPUs.
    weight
        Which input is a weight, each element of which is multiplied for each position.
    heavy
        Whether it takes longer than its memory does.
    """

    again: tuple[OperatorProperty, list[int]] | None
    on_gpu: bool = False
    weight: int | None = None
    heavy: bool = False


def select(
    halves: tuple[Sequence[Node], Sequence[Node]],
    sizes: Sizes,
    kept: Collection[Entry],
    devices: dict[Node, Context],
    cost: Callable[[OperatorProperty], Cost],
    forced: Collection[Entry] = (),
    budget: int | None = None,
    share: float = inf,
) -> Dropped:
    """What to drop so that a pass takes few bytes, at little cost.

    Parameters
    ----------
    halves
        The nodes of the forward and of the backward pass, each after its inputs.
    sizes, kept, devices
        As :func:`.plan_memory` has them; `kept` are fixed.
    cost
        What a card says; asked once.
    forced
        First outputs that are dropped in any case, if they can be.
    budget
        The bytes that a pass may take: as little is dropped as that needs, and what leaves least
        where nothing is enough. None for as few as may be without what is heavy.
    share
        The share of a forward pass's time that recomputation may take, but for what is forced.
    """
    forward, backward = halves
    order = [*forward, *backward]
    about = order, sizes, kept, devices, left_out(order, kept), facts_of
    wish = forced, budget, share
    found = _core.select_dropped(*about, len(forward), mutated_entries(order), cost, wish)
    dropped: Dropped = {}
    for node in map(forward.__getitem__, found):
        outputs = node.outputs()
        again = None if node.op is None else node.op.again(node.inputs, outputs)
        if again is not None:
            dropped[outputs[0]] = again
    return dropped


def again_of(card: OperatorProperty) -> tuple[OperatorProperty, list[int]] | None:
    """What a card says of all its nodes: what gives the first output again, and which of the inputs
    and outputs, counted together, it reads."""
    inputs = range(sum(map(len, card.input_names)))
    outputs = range(len(inputs), len(inputs) + len(card.output_names))
    found = card.again(inputs, outputs)
    return None if found is None else (found[0], list(found[1]))
