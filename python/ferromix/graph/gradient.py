"""The gradient pass: a graph that computes the gradients of a graph's variables.

It follows the rule of each node's card, from the heads to the variables, and adds up what reaches
an entry on several ways. Only what some wanted variable depends on is differentiated, and what has
no gradient only where that updates states, as running statistics. A card is asked for its rule
once, and all its nodes follow what was written down then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, overload

from .. import _core
from ..error import InternalError, InvalidArgumentError
from ..ops.card import OperatorProperty, exists, find, make
from .compose import parts_of
from .node import Entry, Node, argument_names, cards, topological

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
        The new operator nodes that the gradients need, or that update states, each after its
        inputs.
    origins
        For each of these the node that it is a gradient of.
    of_inputs
        For each differentiated node, in the order of the backward pass, what its rule gave for each
        of its arguments.
    alike
        Results of the new nodes that have the shape and the type of something in the given graph,
        as the gradient of an entry has that entry's. What is not here has to be inferred.
    """

    entries: list[Entry | None]
    head_grads: list[Node | None]
    nodes: list[Node]
    origins: dict[Node, Node]
    of_inputs: dict[Node, list[Entry | None]]
    alike: dict[Entry, Entry]


def differentiate(
    heads: Sequence[Entry], wanted: Sequence[Node], order: list[Node] | None = None
) -> Gradients:
    """Builds the graph of the gradients of `wanted`, of kernels only (see :mod:`.compose`).

    The gradient of each head is a new variable ``_head_grad_<i>``. Losses ignore it.

    Parameters
    ----------
    heads
        The outputs of the graph, which must be of kernels, too.
    wanted
        The variables whose gradients are asked for.
    order
        All nodes of that graph, where they are known.
    """
    seeds = [Node(None, f"_head_grad_{i}") for i in range(len(heads))]
    origins: dict[Node, Node] = {}
    of_inputs: dict[Node, list[Entry | None]] = {}
    alike: dict[Entry, Entry] = {}

    def total(entry: Entry, parts: list[Entry]) -> Entry:
        name = f"{entry.node.name}_grad_sum"
        nodes, outputs = parts_of(make("add_n", {"num_args": len(parts)}), name, parts)
        origins.update(dict.fromkeys(nodes, entry.node))
        alike[outputs[0]] = entry
        return outputs[0]

    found = {"origins": origins, "of_inputs": of_inputs, "alike": alike}
    asked = {"facts": _facts_of, "rule": _rule, "total": total}
    entries = _core.differentiate(
        topological(heads) if order is None else order,
        heads,
        [Entry(seed, 0) for seed in seeds],
        wanted,
        {**found, **asked},
    )
    states = {card for card in cards(origins) if card.mutated_inputs()}
    updates = [Entry(node, 0) for node in origins if node.op in states] if states else []
    needed = set(topological([*(e for e in entries if e is not None), *updates]))
    return Gradients(
        entries,
        [seed if seed in needed else None for seed in seeds],
        [node for node in origins if node in needed],
        origins,
        of_inputs,
        alike,
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


class _Facts(NamedTuple):
    """What the pass asks of every node of a card."""

    arguments: int
    outputs: int
    visible: int
    needs_out_grad: bool
    updates: bool
    lasts: bool


def _facts_of(card: OperatorProperty) -> _Facts:
    arguments, outputs = len(card.list_arguments()), len(card.output_names)
    visible = card.num_visible_outputs()
    updates = bool(card.list_auxiliary_states())
    return _Facts(arguments, outputs, visible, card.needs_out_grad(), updates, _lasts(card))


def _lasts(card: OperatorProperty) -> bool:
    """Whether a card may be kept: those with objects of a user's, or with arrays, are nobody's."""
    return not card.few_kept and exists(card.name) and isinstance(card, find(card.name))


class _Made(NamedTuple):
    """A node of a rule: the end of its name, and the numbers of the values that it reads."""

    card: OperatorProperty
    suffix: str
    inputs: tuple[int, ...]
    outputs: int


class _Rule(NamedTuple):
    """A card's gradient written out once, for all nodes of the card.

    Values are numbered: the node's inputs and outputs, then what the steps give. A step is a node,
    or the number of the output whose gradient is read there. `alike` has what nodes of steps give
    as the gradient of an argument, and that argument.
    """

    steps: tuple[_Made | int, ...]
    gradients: tuple[int | None, ...]
    alike: tuple[tuple[int, int], ...]


def _rule(node: Node, given: list[bool]) -> _Rule | None:
    """What a node follows where these of its visible outputs have gradients, if it has any.

    Raises
    ------
    MissingRuleError
        If the operator should have a rule.
    """
    card = node.op
    assert card is not None
    if not card.differentiable:
        # Public operators of this kind are constant almost everywhere; hidden ones are not.
        if card.hidden:
            raise MissingRuleError(node)
        return None
    return (_rule_of if _lasts(card) else _write_down)(card, tuple(given))


@lru_cache(8192)
def _rule_of(card: OperatorProperty, given: tuple[bool, ...]) -> _Rule:
    """What :func:`_write_down` gives, remembered."""
    return _write_down(card, given)


def _write_down(card: OperatorProperty, given: tuple[bool, ...]) -> _Rule:
    """Asks a card for its rule, where gradients of these of the visible outputs are there.

    Raises
    ------
    InternalError
        For a rule that gives another number of gradients than the card has arguments.
    """
    names = argument_names(card)
    node = Node(card, "", [Entry(Node(None, name), 0) for name in names])
    recorder = _Recorder(node, given)
    gradients = card.gradient(recorder)
    # The two refer to each other, and cards may hold arrays, which should not wait for the garbage
    # collector.
    recorder.out_grad = ()
    if len(gradients) != len(card.list_arguments()):
        raise InternalError(
            f"{card.name}: the gradient rule gives {len(gradients)} gradients "
            f"for {len(card.list_arguments())} arguments"
        )
    found = tuple([None if e is None else recorder.numbers[e] for e in gradients])
    return _Rule(tuple(recorder.steps), found, _alike(recorder, found))


def _alike(recorder: _Recorder, gradients: Sequence[int | None]) -> tuple[tuple[int, int], ...]:
    """What has the shape and the type of an argument, of all that nodes of a rule give."""
    made: set[int] = set()
    value = len(recorder.in_data) + len(recorder.out_data)
    for step in recorder.steps:
        if isinstance(step, int):
            value += 1
        else:
            made.update(range(value, value + step.outputs))
            value += step.outputs
    return tuple([(v, i) for i, v in enumerate(gradients) if v in made])


class _Recorder:
    """What a gradient rule sees of one node; the rule adds nodes through it."""

    def __init__(self, node: Node, given: Sequence[bool]) -> None:
        self.steps: list[_Made | int] = []
        self.in_data: Sequence[Entry] = node.inputs
        self.out_data: Sequence[Entry] = node.outputs()
        self.numbers = {e: i for i, e in enumerate([*self.in_data, *self.out_data])}
        self.out_grad: Sequence[Entry] = _OutGrads(self, given)
        self._count = 0

    def op(self, name: str | OperatorProperty, *inputs: Entry, **attrs: Any) -> list[Entry]:
        """Adds a node of the operator `name`, or of a card, and returns all its outputs."""
        suffix = str(self._count) if self._count else ""
        self._count += 1
        card = make(name, attrs) if isinstance(name, str) else name
        nodes, outputs = parts_of(card, f"_backward{suffix}", inputs)
        for node in nodes:
            assert node.op is not None
            reads = tuple([self.numbers[e] for e in node.inputs])
            self.steps.append(_Made(node.op, node.name, reads, node.num_outputs))
            for entry in node.outputs():
                self.numbers[entry] = len(self.numbers)
        return outputs

    def read(self, output: int) -> Entry:
        """The gradient of an output, of which there is one."""
        self.steps.append(output)
        entry = Entry(Node(None, f"grad{output}"), 0)
        self.numbers[entry] = len(self.numbers)
        return entry


class _OutGrads(Sequence[Entry]):
    """The gradients of visible outputs; zeros are made for one only when a rule reads it."""

    def __init__(self, recorder: _Recorder, given: Sequence[bool]) -> None:
        self._recorder = recorder
        self._given = given
        self._found: dict[int, Entry] = {}

    def __len__(self) -> int:
        return len(self._given)

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Entry]: ...
    def __getitem__(self, index: int | slice) -> Entry | Sequence[Entry]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        if number not in self._found:
            if self._given[number]:
                self._found[number] = self._recorder.read(number)
            else:
                output = self._recorder.out_data[number]
                self._found[number] = self._recorder.op("zeros_like", output)[0]
        return self._found[number]
