"""The memory plan: which results of a graph may share a buffer, given the order of execution.

Results whose lives do not overlap share memory; an operator that allows it writes over an input
that nobody needs any more; a reshape becomes a view. Places are handed out to the largest results
first, in buffers that earlier ones opened where there is room for the whole life (greedy by size:
Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference, 2020). Lives are
counted in steps of the order, so that the plan holds for any engine which keeps reads and writes
of one buffer in that order. Since such an engine orders even users of different parts of a buffer,
a place is preferred where few others are alive.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from .. import _core
from ..context import Context
from ..ops.card import OperatorProperty, Shape
from .node import Entry, Node, cards, entry_name

__all__ = ["MemoryPlan", "Sizes", "facts_of", "left_out", "plan_memory"]

VIEWS = ("_copy", "_reshape")
"""Kernels whose output holds the elements of their input in the same order."""


class MemoryPlan:
    """Where each result of a graph lives."""

    __slots__ = ("planned",)

    def __init__(self, planned: _core.Planned) -> None:
        self.planned = planned
        """The plan as the core made it."""

    @property
    def buffers(self) -> list[int]:
        """The size of each buffer in bytes."""
        return self.planned.buffers

    @property
    def devices(self) -> list[Context | None]:
        """The device of each buffer."""
        return self.planned.devices

    @property
    def places(self) -> Mapping[Entry, tuple[int, int]]:
        """The buffer of each result that is in one, and its offset there in bytes."""
        return self.planned.places

    @property
    def inplace(self) -> Mapping[Entry, Entry]:
        """The input over which a result is written, where that is so."""
        return self.planned.inplace

    @property
    def views(self) -> Mapping[Entry, Entry]:
        """The input that a result is a view of; its node need not run."""
        return self.planned.views

    @property
    def sizes(self) -> Mapping[Entry, int]:
        """The bytes of each result."""
        return self.planned.sizes

    @property
    def peak(self) -> int:
        """The bytes alive at the worst step, below which no plan of this order can go."""
        return self.planned.peak

    @property
    def total(self) -> int:
        """The bytes of all buffers."""
        return sum(self.buffers)

    def __str__(self) -> str:
        rows = [f"{'result':40} {'bytes':>12}  place"]
        for entry, size in self.sizes.items():
            if entry in self.views:
                place = f"view of {entry_name(self.views[entry])}"
            elif entry in self.places:
                buffer, offset = self.places[entry]
                place = f"buffer {buffer} at {offset}"
                if entry in self.inplace:
                    place += f", over {entry_name(self.inplace[entry])}"
            else:
                continue
            rows.append(f"{entry_name(entry):40} {size:>12}  {place}")
        rows += [f"buffer {i}: {size} bytes" for i, size in enumerate(self.buffers)]
        rows.append(f"{self.total} bytes in {len(self.buffers)} buffers, {self.peak} at the peak")
        return "\n".join(rows)


Sizes = dict[Entry, int] | tuple[dict[Entry, Shape], dict[Entry, str]]
"""The bytes of results, or their shapes and their element types, from which these follow."""


def plan_memory(
    order: list[Node],
    sizes: Sizes,
    fixed: Collection[Entry],
    viewable: Collection[Entry] = (),
    devices: dict[Node, Context] | None = None,
) -> MemoryPlan:
    """Plans the memory of one run of `order`.

    Parameters
    ----------
    order
        The operator nodes in the order of execution.
    sizes
        Of every output of `order` and of every input that is not a variable.
    fixed
        Results that have memory of their own, such as the outputs of the graph. Variables are
        fixed without being listed.
    viewable
        Fixed results and variables of which a reshape may be a view.
    devices
        Where each node runs, and each variable is. Memory is shared on one device only; None stands
        for the same one everywhere.
    """
    places, nowhere = devices or {}, left_out(order, fixed)
    return MemoryPlan(_core.plan_memory(order, sizes, fixed, viewable, places, nowhere, facts_of))


def left_out(order: list[Node], fixed: Collection[Entry]) -> set[Entry]:
    """Outputs for a gradient that is not there, which have no memory."""
    own = {card for card in cards(order) if card.private_for_gradient}
    if not own:
        return set()
    kept = [e for n in order if n.op in own for e in n.outputs()[n.num_public_outputs :]]
    return set(kept).difference(fixed, *[n.inputs for n in order])


Pairs = list[tuple[int, int]]


def facts_of(card: OperatorProperty) -> tuple[bool, Pairs, Pairs, list[int]]:
    """Whether a result is a view of the input, pairs of input and output that may share memory, and
    those on the CPU alone, and inputs of which only the shape matters."""
    options = card.inplace_options(), card.cpu_inplace_options()
    return card.kernel_name() in VIEWS, *options, card.ignored_inputs()
