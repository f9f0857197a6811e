"""The pass that takes the gradient of an activation before that of the pooling behind it.

The gradient of a maximum goes to one element of each window, where the activation has the value
that the pooling gave. Where windows do not overlap, it may so be multiplied by the activation's
slope before it is sent there: each product is the same, of the same numbers, but there are as many
as windows, and the activation's output is needed once less. Elements that get nothing get the zero
that they would get anyhow; infinite and undefined ones, whose slope may be no number, are the
exception."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ..ops.card import OperatorProperty
from ..ops.pooling import BackwardPooling
from .fuse import readers_of
from .node import Entry, Node, cards
from .rewired import Rewired

__all__ = ["swap_pooling"]

POOLING = "_backward_Pooling"
SLOPES_OF_OUTPUTS = ("relu", "sigmoid", "tanh", "softrelu")
"""Activations whose gradient reads the output, and is 0 times something finite where 0 comes in."""


def swap_pooling(
    order: Sequence[Node], kept: Collection[Entry], alike: Callable[[Entry, Entry], None]
) -> list[Node]:
    """`order` with gradients of activations before those of poolings that do not overlap.

    Parameters
    ----------
    order
        The nodes of a backward pass, each after its inputs.
    kept
        Results that have to be there.
    alike
        Is told of each new entry, and of one that has its shape and type.
    """
    if not any(map(_may_swap, cards(order))):
        return list(order)
    readers = readers_of(order)
    swapped: dict[Node, Node] = {}
    result: list[Node] = []
    for node in order:
        pooling = _pooling_of(node, readers, kept)
        if pooling is None:
            result.append(node)
            continue
        gradient, data, out = pooling.inputs
        assert node.op is not None
        assert pooling.op is not None
        first = Node(node.op, node.name, [gradient, out])
        alike(Entry(first, 0), gradient)
        result += [first, Rewired(pooling.op, node, [Entry(first, 0), data, out])]
        swapped[pooling] = node
    return [node for node in result if node not in swapped]


def _pooling_of(
    node: Node, readers: dict[Entry, list[Node]], kept: Collection[Entry]
) -> Node | None:
    """The gradient of a pooling that only this gradient of an activation reads."""
    if node.op is None or node.op.name != "_backward_Activation":
        return None
    if node.op.attrs["act_type"] not in SLOPES_OF_OUTPUTS:
        return None
    gradient, output = node.inputs
    pooling = gradient.node
    if pooling.op is None or pooling.op.name != POOLING or gradient in kept:
        return None
    same = pooling.inputs[1] == output and len(readers[gradient]) == 1
    return pooling if same and _may_swap(pooling.op) else None


def _may_swap(card: OperatorProperty) -> bool:
    """Whether an operator is the gradient of a maximum over windows that do not overlap."""
    if not isinstance(card, BackwardPooling) or card.attrs["pool_type"] != "max":
        return False
    return card.windows_are_apart()
