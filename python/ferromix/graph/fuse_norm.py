"""The pass that makes one node of batch normalisation and a relu behind it, and of their gradients.

The relu's gradient is where its output is positive; which elements that are is as quickly computed
again, by the operations of the forward pass, as it is read. So what passes the relu need not go to
memory, and where nobody else reads the normalised data, they need not, either. Results keep their
bits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ..ops.batch_norm import BackwardBatchNorm, BatchNorm
from ..ops.batch_norm_relu import backward_batch_norm_relu, batch_norm_relu
from .fuse import Readers, readers_of
from .fuse_convolution import is_relu
from .node import Entry, Node, cards
from .rewired import Rewired, entries_of

__all__ = ["fuse_norms"]


class NormNode(Rewired):
    """A normalisation with a relu: its result is that of the relu, which it stands for."""

    __slots__ = ("norm",)

    def __init__(self, norm: Node, relu: Node) -> None:
        assert isinstance(norm.op, BatchNorm)
        super().__init__(batch_norm_relu(norm.op), entries_of(relu), norm.inputs)
        self.norm = norm

    def outputs(self) -> list[Entry]:
        """The relu's, and the statistics."""
        return [*self.stands_for.outputs(), *self.norm.outputs()[1:]]


def fuse_norms(
    forward: Sequence[Node],
    backward: Sequence[Node],
    kept: Collection[Entry],
    may_join: Callable[[Node], bool],
) -> tuple[list[Node], list[Node]]:
    """`forward` and `backward` with normalisations and relus behind them as one node each.

    Parameters
    ----------
    forward, backward
        The nodes of both halves, each after its inputs.
    kept
        Results that have to be there.
    may_join
        Whether a normalisation or its gradient may be one of these: where it runs, and on what
        types.
    """
    if not any(type(card) is BackwardBatchNorm for card in cards(backward)):
        return list(forward), list(backward)
    readers = readers_of([*forward, *backward])
    made = {entries_of(node): node for half in (forward, backward) for node in half}
    fused: dict[Node, Node] = {}
    gone: set[Node] = set()
    for node in backward:
        passed = _passed(node, readers, kept, made)
        pair = None if passed is None else _pair_of(node, passed, made)
        if passed is None or pair is None or not may_join(node):
            continue
        norm, relu = pair
        assert isinstance(node.op, BackwardBatchNorm)
        inputs = [passed.inputs[0], *node.inputs[1:5], norm.inputs[2], *node.inputs[5:]]
        fused[node] = Rewired(backward_batch_norm_relu(node.op), entries_of(node), inputs)
        gone.add(passed)
        between = norm.outputs()[0]
        if between not in kept and readers[between] == [relu] and may_join(norm):
            fused[norm] = NormNode(norm, relu)
            gone.add(relu)

    def left(half: Sequence[Node]) -> list[Node]:
        return [fused.get(node, node) for node in half if node not in gone]

    return left(forward), left(backward)


def _passed(
    node: Node, readers: Readers, kept: Collection[Entry], made: dict[Node, Node]
) -> Node | None:
    """The gradient of a relu that only this gradient of a normalisation reads."""
    if type(node.op) is not BackwardBatchNorm:
        return None
    head = node.inputs[0]
    found = made.get(head.node)
    if found is None or found.op is None or found.op.name != "_backward_Activation" or head in kept:
        return None
    alone = len(readers[head]) == 1 and found.outputs() == [head]
    return found if alone and found.op.attrs["act_type"] == "relu" else None


def _pair_of(node: Node, passed: Node, made: dict[Node, Node]) -> tuple[Node, Node] | None:
    """The normalisation of which a node is the gradient, and the relu behind it."""
    relu = made.get(passed.inputs[1].node)
    if relu is None or not is_relu(relu):
        return None
    between = relu.inputs[0]
    norm = made.get(between.node)
    if norm is None or type(norm.op) is not BatchNorm or between != norm.outputs()[0]:
        return None
    same = norm.inputs[:2] == node.inputs[1:3] and norm.outputs()[1:] == node.inputs[3:5]
    return (norm, relu) if same else None
