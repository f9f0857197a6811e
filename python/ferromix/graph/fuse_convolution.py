"""The pass that makes one node of a convolution and what follows it in inference.

That is, in this order and each if it is there: batch normalisation, whose running statistics make
it a scale and a shift of each channel; the sum with another result of the same shape; and relu.
Each result in between has one reader and is no output. The node stands where the last of them
stood, so what is added has to be there before the convolution: else what the convolution reads
would have to stay until it is. Of two convolutions that are added, the later one takes the sum."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from ..ops.batch_norm import BatchNorm
from ..ops.convolution import Convolution
from ..ops.convolution_block import convolution_block
from ..ops.shapes import normal_axis
from .fuse import Readers, readers_of
from .node import Entry, Node
from .rewired import Rewired, entries_of

__all__ = ["BlockNode", "fuse_convolutions", "is_relu", "normalises_channels"]

SUMS = ("elemwise_add", "broadcast_add")


class BlockNode(Rewired):
    """A block, whose one result is known as the first of the node that it stands for."""

    __slots__ = ()

    def outputs(self) -> list[Entry]:
        """The first entry of the other node; a normalisation has more, which nobody reads."""
        return self.stands_for.outputs()[:1]


class _Block(NamedTuple):
    """The nodes of a block in order, and what the last one is."""

    members: list[Node]
    norm: Node | None
    addend: Entry | None
    relu: bool


def fuse_convolutions(
    order: Sequence[Node],
    kept: Collection[Entry],
    may_join: Callable[[Node], bool],
    alike: Callable[[Entry, Entry], bool],
) -> list[Node]:
    """`order` with blocks of convolutions as one node each.

    Parameters
    ----------
    order
        The nodes of a forward pass for prediction, each after its inputs.
    kept
        Results that have to be there.
    may_join
        Whether a node may be part of a block: where it runs, on what types, and if nothing that it
        reads is changed by another.
    alike
        Whether two results have one shape, type and place.
    """
    readers = readers_of(order)
    numbers = {entries_of(node): i for i, node in enumerate(order)}
    taken: set[Node] = set()
    made: dict[Node, Node] = {}
    for node in reversed(order):
        if type(node.op) is not Convolution or not may_join(node):
            continue
        block = _block_of(node, readers, kept, numbers, taken, may_join, alike)
        if len(block.members) > 1:
            taken.update(block.members)
            made[block.members[-1]] = _fused(block)
    return [made.get(n, n) for n in order if n in made or n not in taken]


def _block_of(
    node: Node,
    readers: Readers,
    kept: Collection[Entry],
    numbers: dict[Node, int],
    taken: set[Node],
    may_join: Callable[[Node], bool],
    alike: Callable[[Entry, Entry], bool],
) -> _Block:
    """A convolution with what follows it."""
    members = [node]
    norm: Node | None = None
    addend: Entry | None = None

    def follower() -> Node | None:
        entry = members[-1].outputs()[0]
        found = readers.get(entry, [])
        if entry in kept or len(found) != 1 or found[0] in taken:
            return None
        after = found[0]
        return after if may_join(after) and alike(entry, after.outputs()[0]) else None

    after = follower()
    if after is not None and _is_norm(after, members[-1], readers, kept):
        norm = after
        members.append(after)
        after = follower()
    if after is not None and after.op is not None and after.op.name in SUMS:
        first, second = after.inputs
        other = second if first == members[-1].outputs()[0] else first
        early = numbers.get(other.node, -1) < numbers[entries_of(node)]
        if early and alike(other, after.outputs()[0]):
            addend = other
            members.append(after)
            after = follower()
    relu = after is not None and is_relu(after)
    if relu and after is not None:
        members.append(after)
    return _Block(members, norm, addend, relu)


def _is_norm(node: Node, before: Node, readers: Readers, kept: Collection[Entry]) -> bool:
    """Whether a node normalises the channels of `before`, and nobody asks for the statistics."""
    assert before.op is not None
    rank = len(before.op.attrs["kernel"]) + 2
    follows = node.inputs[:1] == before.outputs()[:1]
    return follows and normalises_channels(node, rank, readers, kept)


def normalises_channels(node: Node, rank: int, readers: Readers, kept: Collection[Entry]) -> bool:
    """Whether a node normalises channels of so many axes, and nobody asks for the statistics."""
    if type(node.op) is not BatchNorm:
        return False
    by_channel = normal_axis(node.op.name, node.op.attrs["axis"], rank) == 1
    return by_channel and not any(e in kept or readers.get(e) for e in node.outputs()[1:])


def is_relu(node: Node) -> bool:
    """Whether a node makes 0 of what is negative."""
    card = node.op
    if card is None:
        return False
    return card.name == "relu" or (card.name == "Activation" and card.attrs["act_type"] == "relu")


def _fused(block: _Block) -> Node:
    first, last = block.members[0], block.members[-1]
    convolution = first.op
    norm = None if block.norm is None else block.norm.op
    assert isinstance(convolution, Convolution)
    assert norm is None or isinstance(norm, BatchNorm)
    card = convolution_block(convolution, norm, block.addend is not None, block.relu)
    inputs = [*first.inputs]
    if block.norm is not None:
        inputs += block.norm.inputs[1:]
    if block.addend is not None:
        inputs.append(block.addend)
    return BlockNode(card, entries_of(last), inputs)
