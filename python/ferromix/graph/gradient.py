"""The gradient pass: a graph that computes the gradients of a graph's variables.

It asks each card for its rule, from the heads to the variables, and adds up what reaches an
entry on several ways. Only what some wanted variable depends on is differentiated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

from ..error import InternalError, InvalidArgumentError
from ..ops.card import OperatorProperty, make
from .compose import parts_of
from .node import Entry, Node, argument_names, topological

__all__ = ["Gradients", "MissingRuleError", "differentiate", "reads"]


class MissingRuleError(InvalidArgumentError):
    """An operator on the way has a gradient, but no rule for it; `node` is its node."""

    def __init__(self, node: Node) -> None:
        name = "" if node.op is None else node.op.name
        super().__init__(
            f"operator {name}: its gradient is not implemented, so a result that went through it "
            "cannot be differentiated (again)"
        )
        self.node = node


@dataclass(frozen=True, slots=True)
class Gradients:
    """What :func:`differentiate` found.

    Attributes
    ----------
    entries
        The gradient of each wanted variable; None where no path leads from it to a head.
    head_grads
        For each head the variable that stands for its gradient, None where nothing reads it.
    nodes
        The new operator nodes that the gradients need, each after its inputs.
    origins
        For each of these the node that it is a gradient of.
    of_inputs
        For each differentiated node, in the order of the backward pass, what its rule gave for each
        of its arguments.
    """

    entries: list[Entry | None]
    head_grads: list[Node | None]
    nodes: list[Node]
    origins: dict[Node, Node]
    of_inputs: dict[Node, list[Entry | None]]


def differentiate(heads: Sequence[Entry], wanted: Sequence[Node]) -> Gradients:
    """Builds the graph of the gradients of `wanted`, of kernels only (see :mod:`.compose`).

    The gradient of each head is a new variable ``_head_grad_<i>``. Losses ignore it.

    Parameters
    ----------
    heads
        The outputs of the graph, which must be of kernels, too.
    wanted
        The variables whose gradients are asked for.
    """
    order = topological(heads)
    reached = _dependents(order, wanted)
    builder = _Builder()
    seeds = [Node(None, f"_head_grad_{i}") for i in range(len(heads))]
    for head, seed in zip(heads, seeds, strict=True):
        builder.add(head, Entry(seed, 0))
    for node in reversed(order):
        if node.op is not None and node in reached:
            builder.differentiate(node, reached)
    entries = [builder.total(Entry(node, 0)) for node in wanted]
    needed = set(topological([e for e in entries if e is not None]))
    return Gradients(
        entries,
        [seed if seed in needed else None for seed in seeds],
        [node for node in builder.origins if node in needed],
        builder.origins,
        builder.of_inputs,
    )


def reads(card: OperatorProperty) -> tuple[list[bool], list[bool]]:
    """Which inputs and which outputs of an operator its gradient rule reads the values of.

    Values that only give a shape do not count.
    """
    inputs = [Node(None, n) for n in argument_names(card)]
    node = Node(card, card.name, [Entry(n, 0) for n in inputs])
    if not card.differentiable:
        return [False] * len(inputs), [False] * node.num_outputs
    visible = node.outputs()[: node.num_visible_outputs]
    gradients = differentiate(visible, inputs)
    found = {e for e in gradients.entries if e is not None}
    for n in gradients.nodes:
        assert n.op is not None
        ignored = n.op.ignored_inputs()
        found.update(e for i, e in enumerate(n.inputs) if i not in ignored)
    return [e in found for e in node.inputs], [e in found for e in node.outputs()]


def _dependents(order: Sequence[Node], wanted: Sequence[Node]) -> set[Node]:
    """`wanted` and all nodes of `order` that depend on one of them."""
    found = set(wanted)
    for node in order:
        if any(e.node in found for e in node.inputs):
            found.add(node)
    return found


class _Builder:
    """Collects new nodes in an order in which they can run, and gradients by entry."""

    def __init__(self) -> None:
        self.origins: dict[Node, Node] = {}
        self.of_inputs: dict[Node, list[Entry | None]] = {}
        self._parts: dict[Entry, list[Entry]] = {}
        self._totals: dict[Entry, Entry] = {}

    def add(self, entry: Entry, gradient: Entry) -> None:
        """Notes one more summand of the gradient of `entry`."""
        self._parts.setdefault(entry, []).append(gradient)

    def total(self, entry: Entry) -> Entry | None:
        """The gradient of `entry`, with a node that sums where there are several summands."""
        if entry in self._totals:
            return self._totals[entry]
        parts = self._parts.get(entry, [])
        if not parts:
            return None
        found = parts[0]
        if len(parts) > 1:
            name = f"{entry.node.name}_grad_sum"
            found = self.append(entry.node, "add_n", name, parts, num_args=len(parts))[0]
        self._totals[entry] = found
        return found

    def append(
        self,
        origin: Node,
        op: str | OperatorProperty,
        name: str,
        inputs: Sequence[Entry],
        **attrs: Any,
    ) -> list[Entry]:
        """Adds a node for the gradient of `origin`, or those of its parts; gives its outputs."""
        nodes, outputs = parts_of(make(op, attrs) if isinstance(op, str) else op, name, inputs)
        self.origins.update(dict.fromkeys(nodes, origin))
        return outputs

    def differentiate(self, node: Node, reached: set[Node]) -> None:
        """Asks the node's card for its rule and notes the gradients of its inputs."""
        card = node.op
        assert card is not None
        arguments = node.inputs[: len(card.list_arguments())]
        if not any(e.node in reached for e in arguments):
            return
        if card.needs_out_grad() and not any(e in self._parts for e in node.outputs()):
            return
        if not card.differentiable:
            # Public operators of this kind are constant almost everywhere; hidden ones are not.
            if card.hidden:
                raise MissingRuleError(node)
            return
        surroundings = _Surroundings(self, node)
        gradients = card.gradient(surroundings)
        # The two refer to each other, and cards may hold arrays, which should not wait for the
        # garbage collector.
        surroundings.out_grad = ()
        if len(gradients) != len(arguments):
            raise InternalError(
                f"{card.name}: the gradient rule gives {len(gradients)} gradients "
                f"for {len(arguments)} arguments"
            )
        self.of_inputs[node] = list(gradients)
        for entry, gradient in zip(arguments, gradients, strict=True):
            if gradient is not None and entry.node in reached:
                self.add(entry, gradient)


class _Surroundings:
    """What a gradient rule sees of one node; the rule adds nodes through it."""

    def __init__(self, builder: _Builder, node: Node) -> None:
        self._builder = builder
        self._node = node
        self._count = 0
        self.in_data: Sequence[Entry] = node.inputs
        self.out_data: Sequence[Entry] = node.outputs()
        visible = self.out_data[: node.num_visible_outputs]
        self.out_grad: Sequence[Entry] = _OutGrads(self, builder, visible)

    def op(self, name: str | OperatorProperty, *inputs: Entry, **attrs: Any) -> list[Entry]:
        """Adds a node of the operator `name`, or of a card, and returns all its outputs."""
        suffix = str(self._count) if self._count else ""
        self._count += 1
        full_name = f"{self._node.name}_backward{suffix}"
        return self._builder.append(self._node, name, full_name, inputs, **attrs)


class _OutGrads(Sequence[Entry]):
    """The gradients of a node's outputs; zeros are made for one only when a rule reads it."""

    def __init__(
        self, surroundings: _Surroundings, builder: _Builder, out_data: Sequence[Entry]
    ) -> None:
        self._surroundings = surroundings
        self._builder = builder
        self._out_data = out_data
        self._zeros: dict[int, Entry] = {}

    def __len__(self) -> int:
        return len(self._out_data)

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Entry]: ...
    def __getitem__(self, index: int | slice) -> Entry | Sequence[Entry]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        entry = self._out_data[index]
        found = self._builder.total(entry)
        if found is not None:
            return found
        if entry.output not in self._zeros:
            self._zeros[entry.output] = self._surroundings.op("zeros_like", entry)[0]
        return self._zeros[entry.output]
