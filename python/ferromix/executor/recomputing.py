"""The pass that chooses what the backward pass computes again: what attributes and the environment
ask for, and otherwise what saves much memory in little time."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from math import inf, prod

from .. import _core
from ..dispatch import recipe
from ..error import InvalidArgumentError
from ..graph.node import Entry, Node, first_entries
from ..graph.plan_memory import plan_memory
from ..graph.recompute import Cost, again_of, is_forced, recomputed, select
from ..ops.card import OperatorProperty
from ..ops.remembered import remembered
from .order import Alike, Order, item_size
from .pure import PURE, is_builtin

__all__ = ["recompute"]

TRIES = 4
"""Searches for a plan within a budget."""
PASSES = 3
"""A training pass takes as long as so many forward passes, about."""
WORTH, MANY = 64 << 20, 4096
"""Where nothing is asked for: the bytes from which it is worth a search, and nodes up to which."""
MOST_MEGABYTES = 2.0**40
"""As many bytes as 64 bits can count, nearly."""
_NORMS = {"BatchNorm", "_contrib_BatchNormWithReLU"}
_CHEAP = frozenset(_core.pointwise_kernels()) | _NORMS | {"_reshape"}


def recompute(order: Order, kept: Collection[Entry]) -> Order:
    """`order` with results computed again where that is asked for, or worth it.

    Parameters
    ----------
    order
        The nodes of both halves.
    kept
        Entries that have arrays of their own.
    """
    budget, share = _budget(), inf
    forced = [n.outputs()[0] for n in order.forward if n.attrs and is_forced(n)]
    asked = budget is not None or os.environ.get("MXNET_BACKWARD_DO_MIRROR", "0") not in ("", "0")
    if not asked:
        share = _share() * PASSES
        small = _bytes_of_results(order) < WORTH
        if not share or small or len(order.forward) > MANY:
            share = 0.0
            if not forced:
                return order

    def chosen(budget: int | None) -> Order:
        halves, sizes = (order.forward, order.backward), (order.shapes, order.types)
        found = select(halves, sizes, kept, order.devices, _cost, forced, budget, share)
        alike = Alike(order)
        return alike.with_nodes(order.forward, recomputed(order.backward, found, alike))

    return chosen(None) if budget is None else _within(order, kept, budget, chosen)


def _within(
    order: Order, kept: Collection[Entry], budget: int, chosen: Callable[[int], Order]
) -> Order:
    """What is chosen so that the memory of all results comes to a budget."""
    outputs = {e for n in order.forward for e in n.outputs() if e in kept}
    room = aim = budget - sum(order.size(e) for e in outputs)

    def beyond(found: Order) -> int:
        nodes = [*found.forward, *found.backward]
        sizes = found.shapes, found.types
        return plan_memory(nodes, sizes, kept, (), found.devices).total - room

    found = chosen(max(aim, 0))
    over = beyond(found)
    for _ in range(TRIES - 1):
        if over <= 0:
            break
        # Buffers may be larger than what lives in them at once.
        aim -= over
        found = chosen(max(aim, 0))
        over = beyond(found)
    if over > 0:
        warnings.warn(
            f"FERROMIX_MEMORY_BUDGET: {budget / 2**20:.6g} MB are not enough for this graph, which "
            f"takes {(budget + over) / 2**20:.6g} MB at least",
            RuntimeWarning,
            stacklevel=2,
        )
    return found


@remembered(4096)
def _cost(card: OperatorProperty) -> Cost:
    names, again = card.list_arguments(), None
    known = card.kernel_name() in PURE and is_builtin(type(card))
    if known and not card.few_kept and not card.private_outputs:
        again = again_of(card)
    # What has no kernel on a GPU would run on the CPU, on copies.
    on_gpu = again is not None and recipe.find(again[0].kernel_name()) is not None
    if "weight" in names:
        return Cost(again, on_gpu, names.index("weight"), True)
    return Cost(again, on_gpu, None, card.kernel_name() not in _CHEAP)


def _bytes_of_results(order: Order) -> int:
    """What the first outputs of the forward half take together; few are of different sizes."""
    shapes, types = order.shapes, order.types
    counts = Counter([(shapes[e], types[e]) for e in _results(order.forward)])
    return sum(prod(shape) * item_size(dtype) * n for (shape, dtype), n in counts.items())


def _results(nodes: Sequence[Node]) -> list[Entry]:
    """The first output of each node."""
    if all(type(node) is Node for node in nodes):
        return first_entries(nodes)
    return [node.outputs()[0] for node in nodes]


# -- the environment ---------------------------------------------------------------------------


def _share() -> float:
    """The share of a pass that recomputation may take where nothing else is asked for."""
    given = os.environ.get("FERROMIX_RECOMPUTE") or "2"
    try:
        found = float(given) / 100
    except ValueError:
        found = -1.0
    if not 0 <= found < inf:
        raise InvalidArgumentError(
            f"FERROMIX_RECOMPUTE must be a percentage of the time of a pass, got {given!r}"
        )
    return found


def _budget() -> int | None:
    """The bytes that results may take, by the environment."""
    given = os.environ.get("FERROMIX_MEMORY_BUDGET")
    if not given:
        return None
    try:
        found = float(given)
    except ValueError:
        found = -1.0
    if not 0 <= found < MOST_MEGABYTES:
        raise InvalidArgumentError(
            f"FERROMIX_MEMORY_BUDGET must be a number of megabytes, got {given!r}"
        )
    return int(found * 2**20)
