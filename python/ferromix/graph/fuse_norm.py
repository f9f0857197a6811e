"""The pass that makes one node of batch normalisation and a relu behind it, and of their gradients.

The relu's gradient is where its output is positive; which elements that are is as quickly computed
again, by the operations of the forward pass, as it is read. So what passes the relu need not go to
memory, and where nobody else reads the normalised data, they need not, either. Results keep their
bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from ..ops.batch_norm import BackwardBatchNorm, BatchNorm
from ..ops.batch_norm_relu import backward_batch_norm_relu, batch_norm_relu
from .fuse_convolution import is_relu
from .node import Entry, Node
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
    may_join: Callable[[Entry], bool],
) -> tuple[list[Node], list[Node]]:
    """`forward` and `backward` with normalisations and relus behind them as one node each.

    Parameters
    ----------
    forward, backward
        The nodes of both halves, each after its inputs.
    kept
        Results that have to be there.
    may_join
        Whether what gives this, a normalisation or its gradient, may be one of these: where it
        runs, and on what types.
    """
    ends = [node for node in backward if type(node.op) is BackwardBatchNorm]
    if not ends:
        return list(forward), list(backward)
    both = [*forward, *backward]
    now = {node.stands_for: node for node in both if isinstance(node, Rewired)}
    joints = [joint for node in ends if (joint := _joint_of(node, now))]
    reads = _reads(both, {e.node for joint in joints for e in joint.between})
    fused: dict[Node, Node] = {}
    gone: set[Node] = set()
    for node, passed, norm, relu, (gradient, normalised) in joints:
        first = Entry(entries_of(node), 0)
        if gradient in kept or reads[gradient] != 1 or not may_join(first):
            continue
        assert isinstance(node.op, BackwardBatchNorm)
        inputs = [passed.inputs[0], *node.inputs[1:5], norm.inputs[2], *node.inputs[5:]]
        fused[node] = Rewired(backward_batch_norm_relu(node.op), first.node, inputs)
        gone.add(passed)
        if normalised not in kept and reads[normalised] == 1 and may_join(normalised):
            fused[norm] = NormNode(norm, relu)
            gone.add(relu)

    def left(half: Sequence[Node]) -> list[Node]:
        return [fused.get(node, node) for node in half if node not in gone]

    return left(forward), left(backward)


class _Joint(NamedTuple):
    """A gradient of a normalisation, the gradient of a relu that it reads, the normalisation, and
    its relu; what goes between the first two and between the others."""

    node: Node
    passed: Node
    norm: Node
    relu: Node
    between: tuple[Entry, Entry]


def _joint_of(node: Node, now: Mapping[Node, Node]) -> _Joint | None:
    """What a gradient of a normalisation may be one node with, where nobody else reads what is
    between; `now` has the nodes that stand for others."""
    gradient = node.inputs[0]
    passed = now.get(gradient.node, gradient.node)
    card = passed.op
    if card is None or card.name != "_backward_Activation" or card.attrs["act_type"] != "relu":
        return None
    output = passed.inputs[1]
    relu = now.get(output.node, output.node)
    if not is_relu(relu):
        return None
    normalised = relu.inputs[0]
    source = normalised.node
    norm = now.get(source, source)
    if type(norm.op) is not BatchNorm or normalised.output != 0:
        return None
    same = node.inputs[1:5] == [*norm.inputs[:2], (source, 1), (source, 2)]
    return _Joint(node, passed, norm, relu, (gradient, normalised)) if same else None


def _reads(nodes: Sequence[Node], made_by: Collection[Node]) -> Counter[Entry]:
    """How often each result of some nodes is read."""
    # There are many entries, few of which are of these nodes.
    return Counter([e for node in nodes for e in node.inputs if e[0] in made_by])
