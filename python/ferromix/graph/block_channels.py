"""The pass that has the channels of images lie in blocks between convolutions in inference.

What a convolution multiplies then lies side by side, so that nothing is gathered or turned
(:mod:`ferromix.ops.channel_blocks`). A convolution may read planes and write blocks, as the first
one does; poolings, normalisations, joins along channels and what goes element by element take
what they are given. Where anything else reads a result, and where it has to be there, it is turned
back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from .. import _core
from ..ops.batch_norm import BatchNorm
from ..ops.card import OperatorProperty, Shape
from ..ops.channel_blocks import channel_blocks, norm_block, pooling_block
from ..ops.convolution import Convolution
from ..ops.convolution_block import ConvolutionBlock, convolution_block
from ..ops.join import Concat
from ..ops.pooling import Pooling
from ..ops.shapes import normal_axis
from .fuse import Readers, readers_of
from .fuse_convolution import BlockNode, normalises_channels
from .node import Entry, Node
from .rewired import entries_of, rewired

__all__ = ["TYPES", "block_channels"]

BLOCK = _core.channel_block("float32")
"""Channels of a block; 0 where this CPU has no such convolutions."""
TYPES = frozenset(t for t in ("float32", "bfloat16") if _core.channel_block(t))
"""The types that are laid so."""
POINTWISE = frozenset(_core.pointwise_kernels())
WORTH = 2
"""Convolutions of data in blocks for each result that is turned back, at least."""


class _Reads(NamedTuple):
    """By their numbers, the inputs that a node has to read in blocks, and those that it does."""

    needed: list[int]
    taken: list[int]


def block_channels(
    order: Sequence[Node],
    kept: Collection[Entry],
    may_block: Callable[[Node], bool],
    shapes: dict[Entry, Shape],
    alike: Callable[[Entry, Entry], None],
) -> list[Node]:
    """`order` with channels in blocks where that is worth it.

    Parameters
    ----------
    order
        The nodes of a forward pass for prediction, each after its inputs.
    kept
        Results that have to be there.
    may_block
        Whether a node may be changed, by where it runs and on what types.
    shapes
        Of every result.
    alike
        Is told of each new entry, and of one that has its shape and type.
    """
    if not BLOCK:
        return list(order)
    readers = readers_of(order)
    flat = [n for n in order if len(shapes[n.outputs()[0]]) == 4]
    norms = {n for n in flat if normalises_channels(n, 4, readers, kept)}
    reads = _candidates(flat, norms, may_block, shapes)
    _drop_useless(order, reads, readers, shapes)
    turned = _turned_back(reads, readers, kept, shapes)
    for part in _parts(reads):
        gained = sum(_reads_blocks(n, reads) for n in part)
        if gained < WORTH * len(turned.intersection(part)) or not gained:
            for node in part:
                del reads[node]
    return _rewritten(order, reads, turned, alike) if reads else list(order)


def _candidates(
    order: Sequence[Node],
    norms: set[Node],
    may_block: Callable[[Node], bool],
    shapes: dict[Entry, Shape],
) -> dict[Node, _Reads]:
    """The nodes that can give their results in blocks, and what they read."""
    made: set[Entry] = set()
    found: dict[Node, _Reads] = {}
    for node in order:
        out = node.outputs()[0]
        shape = shapes[out]
        needed = None
        if shape[1] % BLOCK == 0 and 0 not in shape and may_block(node):
            needed = [0] if node in norms else _needed(node, shapes)
        if needed is None or not all(node.inputs[i] in made for i in needed):
            continue
        # Only a convolution may do without its data in blocks.
        more = _is_convolution(node) and 0 not in needed and node.inputs[0] in made
        found[node] = _Reads(needed, [0, *needed] if more else needed)
        made.add(out)
    return found


def _needed(node: Node, shapes: dict[Entry, Shape]) -> list[int] | None:
    """The inputs that have to be in blocks for a result in blocks; None where there is no way."""
    card = node.op
    assert card is not None
    every = list(range(len(node.inputs)))
    if _is_convolution(node):
        return _needed_of_convolution(node, shapes)
    if type(card) is Pooling:
        flat = card.attrs["layout"] in (None, "NCHW") and card.attrs["pool_type"] != "lp"
        return every if flat else None
    if type(card) is Concat:
        return every if normal_axis(card.name, card.attrs["dim"], 4) == 1 else None
    same = all(shapes[e] == shapes[node.outputs()[0]] for e in node.inputs)
    one = len(card.output_names) == 1 and bool(node.inputs)
    return every if one and same and card.kernel_name() in POINTWISE else None


def _needed_of_convolution(node: Node, shapes: dict[Entry, Shape]) -> list[int] | None:
    card = node.op
    convolution = card.convolution if isinstance(card, ConvolutionBlock) else card
    assert isinstance(convolution, Convolution)
    attrs, channels = convolution.attrs, shapes[node.inputs[0]][1]
    if attrs["layout"] not in (None, "NCHW") or channels == 0:
        return None
    added = isinstance(card, ConvolutionBlock) and card.added
    needed = [len(node.inputs) - 1] if added else []
    if attrs["num_group"] == 1:
        return needed if attrs["stride"][1] <= 2 else None
    alone = attrs["num_group"] == channels == attrs["num_filter"]
    return [0, *needed] if alone else None


def _is_convolution(node: Node) -> bool:
    return type(node.op) in (Convolution, ConvolutionBlock)


def _reads_blocks(node: Node, reads: dict[Node, _Reads]) -> bool:
    """Whether a node is a convolution of data in blocks."""
    return _is_convolution(node) and 0 in reads[node].taken


def _is_one(shape: Shape) -> bool:
    """Whether planes have one element, so that channels lie alike in either way."""
    return shape[2] * shape[3] == 1


def _drop_useless(
    order: Sequence[Node],
    reads: dict[Node, _Reads],
    readers: Readers,
    shapes: dict[Entry, Shape],
) -> None:
    """Leaves out what gains nothing: no one reads it in blocks, nor is it a convolution of such."""
    for node in reversed(order):
        if node not in reads:
            continue
        out = node.outputs()[0]
        gains = _reads_blocks(node, reads)
        gains = gains or (_is_one(shapes[out]) and bool(reads[node].taken))
        if not gains and not any(_takes(n, out, reads) for n in readers.get(out, [])):
            del reads[node]


def _takes(node: Node, entry: Entry, reads: dict[Node, _Reads], *, all_of_it: bool = False) -> bool:
    """Whether a node reads a result in blocks, in one place or in all where it reads it."""
    taken = reads[node].taken if node in reads else []
    found = [i in taken for i, e in enumerate(node.inputs) if e == entry]
    return all(found) if all_of_it else any(found)


def _turned_back(
    reads: dict[Node, _Reads],
    readers: Readers,
    kept: Collection[Entry],
    shapes: dict[Entry, Shape],
) -> set[Node]:
    """The nodes whose results somebody needs as planes."""

    def is_plain(out: Entry) -> bool:
        plain = not all(_takes(n, out, reads, all_of_it=True) for n in readers.get(out, []))
        return (plain or out in kept) and not _is_one(shapes[out])

    return {node for node in reads if is_plain(node.outputs()[0])}


def _parts(reads: dict[Node, _Reads]) -> list[list[Node]]:
    """The nodes by those that hang together."""
    makers = {node.outputs()[0]: node for node in reads}
    parents = {node: node for node in reads}

    def root(node: Node) -> Node:
        while parents[node] is not node:
            parents[node] = parents[parents[node]]
            node = parents[node]
        return node

    for node, (_, taken) in reads.items():
        for i in taken:
            parents[root(makers[node.inputs[i]])] = root(node)
    parts: dict[Node, list[Node]] = {}
    for node in reads:
        parts.setdefault(root(node), []).append(node)
    return list(parts.values())


def _rewritten(
    order: Sequence[Node],
    reads: dict[Node, _Reads],
    turned: set[Node],
    alike: Callable[[Entry, Entry], None],
) -> list[Node]:
    inner: dict[Entry, Entry] = {}
    result: list[Node] = []
    for node in order:
        if node not in reads:
            result.append(node)
            continue
        out = node.outputs()[0]
        card = _card(node, reads[node])
        inputs = list(node.inputs)
        for i in reads[node].taken:
            inputs[i] = inner.get(inputs[i], inputs[i])
        if node not in turned:
            new = rewired(node, inputs) if card is node.op else None
            result.append(new or BlockNode(card, entries_of(node), inputs))
            continue
        first = Node(card, node.name, inputs)
        inner[out] = Entry(first, 0)
        alike(inner[out], out)
        result += [first, BlockNode(channel_blocks(True), entries_of(node), [inner[out]])]
    return result


def _card(node: Node, reads: _Reads) -> OperatorProperty:
    card = node.op
    assert card is not None
    blocks = 2 if 0 in reads.taken else 1
    if isinstance(card, ConvolutionBlock):
        return convolution_block(card.convolution, card.norm, card.added, card.relu, blocks)
    if isinstance(card, Convolution):
        return convolution_block(card, None, False, False, blocks)
    if isinstance(card, BatchNorm):
        return norm_block(card)
    return pooling_block(card) if isinstance(card, Pooling) else card
