"""The pass that chooses what the backward pass computes again: what attributes and the environment
ask for, and otherwise what saves much memory in little time."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from math import inf, prod

from .. import _core
from ..dispatch import device_of, recipe
from ..dispatch.backend import CPU
from ..error import InvalidArgumentError
from ..graph.eliminate import mutated_entries
from ..graph.node import Entry, Node, cards, first_entries
from ..graph.plan_memory import plan_memory
from ..graph.recompute import Cost, Dropped, is_forced, recomputed, select
from ..ops.card import OperatorProperty, Shape
from .order import Alike, Order, item_size
from .pure import PURE, is_builtin

__all__ = ["recompute"]

BYTES_A_SECOND, OPERATIONS_A_SECOND = 2e10, 1e11
"""What one core does, about; only the ratio counts."""
TRIES = 4
"""Searches for a plan within a budget."""
PASSES = 3
"""A training pass takes as long as so many forward passes, about."""
WORTH, MANY = 64 << 20, 4096
"""Where nothing is asked for: the bytes from which it is worth a search, and nodes up to which."""
_CHEAP = frozenset(_core.pointwise_kernels()) | {"_reshape", "BatchNorm"}


def recompute(order: Order, kept: Collection[Entry]) -> Order:
    """`order` with results computed again where that is asked for, or worth it.

    Parameters
    ----------
    order
        The nodes of both halves.
    kept
        Entries that have arrays of their own.
    """
    budget, most = _budget(), inf
    asked = budget is not None or os.environ.get("MXNET_BACKWARD_DO_MIRROR", "0") not in ("", "0")
    if not asked:
        most = _share() * PASSES
        small = _bytes_of_results(order) < WORTH
        if not most or small or len(order.forward) > MANY:
            nodes = [n for n in order.forward if n.attrs and is_forced(n)]
            return _with_dropped(order, _able(order, nodes, kept)) if nodes else order
    able, costs = _able(order, order.forward, kept), _costs(order)
    most *= sum(cost.seconds for cost in costs.values())
    forced = {e for e in able if is_forced(e.node)}
    if budget is None:
        costs = {e: cost for e, cost in costs.items() if not cost.heavy}
    halves, sizes = (order.forward, order.backward), (order.shapes, order.types)

    def chosen(budget: int) -> Order:
        about = halves, sizes, kept, order.devices, able, forced, costs
        found = forced | select(*about, max(budget, 0), most)
        return _with_dropped(order, {e: able[e] for e in found})

    return chosen(0) if budget is None else _within(order, kept, budget, chosen)


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

    found = chosen(aim)
    over = beyond(found)
    for _ in range(TRIES - 1):
        if over <= 0:
            break
        # Buffers may be larger than what lives in them at once.
        aim -= over
        found = chosen(aim)
        over = beyond(found)
    if over > 0:
        warnings.warn(
            f"FERROMIX_MEMORY_BUDGET: {budget / 2**20:.6g} MB are not enough for this graph, which "
            f"takes {(budget + over) / 2**20:.6g} MB at least",
            RuntimeWarning,
            stacklevel=2,
        )
    return found


def _with_dropped(order: Order, dropped: Dropped) -> Order:
    alike = Alike(order)
    backward = recomputed(order.backward, dropped, alike)
    return alike.with_nodes(order.forward, backward)


# -- what may be dropped -----------------------------------------------------------------------


def _able(order: Order, nodes: Sequence[Node], kept: Collection[Entry]) -> Dropped:
    """What gives the first outputs again of those nodes that may be computed again."""
    states = mutated_entries([*order.forward, *order.backward])
    can = {card: _can(card) for card in cards(nodes)}
    found: Dropped = {}
    for node in nodes:
        card = node.op
        assert card is not None
        if not can[card]:
            continue
        outputs = node.outputs()
        again = card.again(node.inputs, outputs)
        if again is None or outputs[0] in kept:
            continue
        if states and not states.isdisjoint((*again[1], outputs[0])):
            continue
        # What has no kernel on a GPU would run on the CPU, on copies.
        near = device_of(order.devices[node]) == CPU
        if near or recipe.find(again[0].kernel_name()) is not None:
            found[outputs[0]] = again
    return found


def _can(card: OperatorProperty) -> bool:
    """Whether nodes of a card may be computed again, if it says how."""
    if card.few_kept or card.private_outputs:
        return False
    return card.kernel_name() in PURE and is_builtin(type(card))


# -- what that costs ---------------------------------------------------------------------------


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


def _costs(order: Order) -> dict[Entry, Cost]:
    """Of the forward half's nodes, by their first outputs: from the bytes that they move, or the
    products that they add up."""
    shapes, types = order.shapes, order.types
    weights = {card: _weight_of(card) for card in cards(order.forward)}
    known: dict[tuple[Shape, str], int] = {}
    found: dict[Entry, Cost] = {}
    for node in order.forward:
        card, outputs = node.op, node.outputs()
        assert card is not None
        moved = 0
        for entry in (*node.inputs, *outputs):
            desc = shapes[entry], types[entry]
            size = known.get(desc)
            if size is None:
                size = known[desc] = order.size(entry)
            moved += size
        seconds, weight = moved / BYTES_A_SECOND, weights[card]
        if weight is None:
            found[outputs[0]] = Cost(seconds, card.kernel_name() not in _CHEAP)
            continue
        taps = prod(shapes[node.inputs[weight]][1:])
        operations = 2 * prod(shapes[outputs[0]]) * taps
        found[outputs[0]] = Cost(max(seconds, operations / OPERATIONS_A_SECOND), True)
    return found


def _weight_of(card: OperatorProperty) -> int | None:
    """Which input of an operator is its weight, if any is."""
    names = card.list_arguments()
    return names.index("weight") if "weight" in names else None


# -- the environment ---------------------------------------------------------------------------


def _share() -> float:
    """The share of a pass that recomputation may take where nothing else is asked for."""
    given = os.environ.get("FERROMIX_RECOMPUTE", "2")
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
        return int(float(given) * 2**20)
    except (ValueError, OverflowError):
        raise InvalidArgumentError(
            f"FERROMIX_MEMORY_BUDGET must be a number of megabytes, got {given!r}"
        ) from None
