"""The passes that a program's nodes go through before they are planned, and their switches.

Each pass is a function of :mod:`ferromix.graph`, from nodes in order to nodes in order. Results
keep their entries, so everything else knows the graph as it was."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Collection
from dataclasses import replace

from ..dispatch import device_of, state_request
from ..dispatch.backend import CPU
from ..graph.block_channels import TYPES, block_channels
from ..graph.eliminate import live, may_shrink, merge, mutated_entries
from ..graph.fold import fold
from ..graph.fuse_convolution import fuse_convolutions
from ..graph.fuse_norm import fuse_norms
from ..graph.node import Entry, Node
from ..graph.rewired import entries_of
from ..graph.swap_pooling import swap_pooling
from ..ops.family import REALS
from .order import Alike, Order
from .pure import is_pure
from .recomputing import recompute

__all__ = ["keeps_weights", "optimise", "settings"]

_SETTINGS = (
    "FERROMIX_COMMON_EXPRESSIONS",
    "FERROMIX_FOLD_CONSTANTS",
    "FERROMIX_SWAP_POOLING",
    "FERROMIX_FUSE_CONVOLUTION",
    "FERROMIX_BLOCK_CHANNELS",
    "FERROMIX_FUSE_NORM",
    "FERROMIX_RECOMPUTE",
    "MXNET_BACKWARD_DO_MIRROR",
    "FERROMIX_MEMORY_BUDGET",
)


def optimise(
    order: Order, kept: Collection[Entry], guarded: Collection[Entry], predicts: bool
) -> Order:
    """The order after all passes that are switched on.

    Parameters
    ----------
    order
        The nodes as they were made.
    kept
        Entries that have arrays of their own.
    guarded
        Gradients, whose arrays may hold sums.
    predicts
        Whether nothing is trained.
    """
    if _flag("FERROMIX_COMMON_EXPRESSIONS"):
        order = _eliminate(order, kept, guarded)
    if _flag("FERROMIX_FOLD_CONSTANTS"):
        order = _fold(order, kept)
        kept = {*kept, *order.constants} if order.constants else kept
    if order.backward and _flag("FERROMIX_SWAP_POOLING"):
        alike = Alike(order)
        backward = swap_pooling(order.backward, kept, alike)
        if len(backward) != len(order.backward) or alike.shapes:
            order = alike.with_nodes(order.forward, backward)
    if order.backward and _flag("FERROMIX_FUSE_NORM"):
        order = _fuse_norms(order, kept)
    if predicts and _flag("FERROMIX_FUSE_CONVOLUTION"):
        order = _fuse_convolutions(order, kept)
    if predicts and _flag("FERROMIX_BLOCK_CHANNELS"):
        order = _block_channels(order, kept)
    return recompute(order, kept) if order.backward else order


def settings() -> tuple[str | None, ...]:
    """What the environment says to the passes."""
    return tuple(map(os.environ.get, _SETTINGS))


def keeps_weights() -> bool:
    """Whether inference keeps weights in the order in which kernels read them."""
    return _flag("FERROMIX_KEEP_WEIGHTS")


def _flag(name: str) -> bool:
    """A switch of the environment, which is on unless it says 0."""
    return os.environ.get(name) != "0"


# -- common expressions ------------------------------------------------------------------------


def _eliminate(order: Order, kept: Collection[Entry], guarded: Collection[Entry]) -> Order:
    nodes = [*order.forward, *order.backward]
    if not may_shrink(nodes, kept):
        return order
    states = mutated_entries(nodes)

    def about(node: Node) -> tuple[object, ...]:
        outputs = node.outputs()
        descs = [(order.shapes[e], order.types[e]) for e in outputs]
        return order.devices[node], *descs

    merged = merge(nodes, kept, {*guarded, *states}, is_pure, about)
    alive = live(merged, kept, is_pure)
    if len(alive) == len(nodes):
        return order
    second = set(order.backward)
    split = bisect_left(alive, True, key=lambda n: entries_of(n) in second)
    return Alike(order).with_nodes(alive[:split], alive[split:])


# -- constants ---------------------------------------------------------------------------------


def _fold(order: Order, kept: Collection[Entry]) -> Order:
    nodes = [*order.forward, *order.backward]
    if all(node.inputs for node in nodes):
        return order
    states = mutated_entries(nodes)
    room = FOLDED

    def may_fold(node: Node) -> bool:
        nonlocal room
        card, outputs = node.op, node.outputs()
        assert card is not None
        size = sum(order.size(e) for e in outputs)
        if size > room or not states.isdisjoint(outputs) or not is_pure(card):
            return False
        room -= size
        return True

    found = fold(nodes, kept, may_fold)
    if not found.constants:
        return order
    gone = set(found.constants)
    forward = [n for n in order.forward if n not in gone]
    backward = [n for n in order.backward if n not in gone]
    return replace(
        order, forward=forward, backward=backward, folded=found.constants, constants=found.read
    )


FOLDED = 1 << 20
"""The bytes of constants of a program; what is larger costs less time than memory."""


# -- normalisations and relus ------------------------------------------------------------------


def _fuse_norms(order: Order, kept: Collection[Entry]) -> Order:
    near: dict[int, bool] = {}

    def may_join(result: Entry) -> bool:
        place = order.devices[result.node]
        # Many are one object, which is found without comparing devices.
        if id(place) not in near:
            near[id(place)] = device_of(place) == CPU
        return near[id(place)] and order.types[result] in REALS

    forward, backward = fuse_norms(order.forward, order.backward, kept, may_join)
    if len(backward) == len(order.backward):
        return order
    return Alike(order).with_nodes(forward, backward)


# -- convolutions ------------------------------------------------------------------------------

JOINED = (*REALS, "bfloat16")
"""What convolutions that are joined with others compute."""


def _fuse_convolutions(order: Order, kept: Collection[Entry]) -> Order:
    changed = _changed(order)

    def may_join(node: Node) -> bool:
        output = node.outputs()[0]
        near = device_of(order.devices[output.node]) == CPU
        return near and order.types[output] in JOINED and changed.isdisjoint(node.inputs)

    def alike(a: Entry, b: Entry) -> bool:
        same = order.shapes[a] == order.shapes[b] and order.types[a] == order.types[b]
        return same and order.devices[a.node] == order.devices[b.node]

    forward = fuse_convolutions(order.forward, kept, may_join, alike)
    return Alike(order).with_nodes(forward, order.backward)


def _changed(order: Order) -> set[Entry]:
    """What nodes change. What keeps a state for training alone only reads it in prediction."""
    return mutated_entries([n for n in order.forward if n.op and state_request(n.op, False)])


# -- channels in blocks ------------------------------------------------------------------------


def _block_channels(order: Order, kept: Collection[Entry]) -> Order:
    changed = _changed(order)

    def may_block(node: Node) -> bool:
        output = node.outputs()[0]
        near = device_of(order.devices[output.node]) == CPU
        types = {order.types[e] for e in (output, *node.inputs)}
        return near and types <= TYPES and changed.isdisjoint(node.inputs)

    alike = Alike(order)
    forward = block_channels(order.forward, kept, may_block, order.shapes, alike)
    return alike.with_nodes(forward, order.backward)
