"""A symbol's graph with its backward pass and all shapes and types: what plans are made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..context import Context
from ..error import InvalidArgumentError
from ..graph.compose import expand, is_composed
from ..graph.gradient import Gradients, differentiate
from ..graph.node import (
    Entry,
    Node,
    argument_names,
    entry_name,
    first_entries,
    mutated_variables,
    topological,
    variables,
)
from ..graph.place import Placed, group_of, place
from ..ops.card import OperatorProperty, Shape, make
from .inferred import Inferred, by_values, infer_backward, infer_known, open_entries
from .pure import repeats

__all__ = ["Network", "Placement", "Step", "build"]


@dataclass(frozen=True, slots=True)
class Step:
    """One operator of a pass, however many nodes of the executor's graph it is made of.

    Attributes
    ----------
    node
        The node: forward as the user wrote it, backward the one whose gradient this is.
    inputs
        The entries of the executor's graph that are its inputs; forward only.
    outputs
        Those that it gives: backward the gradients of the node's arguments, None for those that
        nobody needs.
    end
        How many nodes of the executor's pass have run when it has.
    """

    node: Node
    inputs: list[Entry]
    outputs: list[Entry | None]
    end: int


@dataclass(frozen=True, eq=False)
class Network:
    """The graph that an executor runs.

    Attributes
    ----------
    written
        The outputs of the graph as the user wrote it.
    heads
        The outputs.
    names
        Their public names.
    arguments, states
        The variables: arguments and auxiliary states.
    forward, backward
        The operator nodes, each after its inputs.
    operators
        The operators as the user wrote them, which `forward` is for.
    copies
        What stands for their entries in this graph; None where each stands for itself.
    of_inputs
        For each differentiated node the gradients of its arguments, in the order of `backward`.
    head_grads
        For each head the variable of its gradient; None where nothing reads it.
    gradients
        For each wanted argument the entry to be written to the caller's array.
    shapes, types
        Of every entry of every node; extents that depend on values are -1.
    open
        The entries of which an extent depends on values.
    devices
        Where every node runs, and every variable is.
    programs
        What programs of this network have in common, by their modes; see :mod:`.program`.
    """

    written: list[Entry]
    heads: list[Entry]
    names: list[str]
    arguments: list[Node]
    states: list[Node]
    forward: list[Node]
    backward: list[Node]
    operators: list[Node]
    copies: dict[Entry, Entry] | None
    of_inputs: dict[Node, list[Entry | None]]
    head_grads: list[Node | None]
    gradients: dict[Node, Entry]
    shapes: dict[Entry, Shape]
    types: dict[Entry, str]
    open: frozenset[Entry]
    devices: dict[Node, Context]
    programs: dict[Any, Any] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return len(self.forward) + len(self.backward)

    @cached_property
    def repeats(self) -> bool:
        """Whether a forward pass of prediction, run again on the same, gives the same."""
        return all(map(repeats, self.forward))

    @cached_property
    def repeats_in_training(self) -> bool:
        """The same of training."""
        return all(repeats(node, True) for node in self.forward)

    @cached_property
    def steps(self) -> list[Step]:
        """The operators as steps of `forward`; made when somebody goes through them one by one."""
        copies = self.copies
        return _steps(
            [
                (n, n.inputs, n.outputs())
                if copies is None
                else (n, [copies[e] for e in n.inputs], [copies[e] for e in n.outputs()])
                for n in self.operators
            ],
            self.forward,
        )

    @cached_property
    def back_steps(self) -> list[Step]:
        """The operators whose gradients are computed, as steps of `backward`."""
        return _steps([(n, [], g) for n, g in self.of_inputs.items()], self.backward)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a symbol is bound: the default device, and those of groups."""

    default: Context
    groups: Mapping[str, Context]

    def of_variable(self, node: Node) -> Context:
        """Where a new array for a variable is."""
        if not self.groups:
            return self.default
        return self.groups.get(group_of(node) or "", self.default)


def build(
    heads: Sequence[Entry],
    descs: Mapping[Node, tuple[Shape, str]],
    requests: Mapping[Node, str],
    placement: Placement,
    devices: Mapping[Node, Context],
    order: list[Node],
    inferred: Inferred | None = None,
) -> Network:
    """The network of `heads` for arguments of given shapes and types.

    Parameters
    ----------
    heads
        The outputs.
    descs
        Shape and element type of every variable.
    requests
        ``"write"`` or ``"add"`` for each argument whose gradient is wanted.
    placement, devices
        Where nodes run, and where every variable is.
    order
        All nodes of the graph.
    inferred
        What :func:`infer_known` found for this graph with these shapes and types, where the caller
        asked already.

    Raises
    ------
    InvalidArgumentError
        For shapes or types that do not fit; names the node, its operator and the argument.
    """
    names, outputs, written = list(map(entry_name, heads)), list(heads), order
    graph = expand(heads) if is_composed(written) else None
    placed = place(
        list(heads) if graph is None else [graph[h] for h in heads],
        placement.default,
        placement.groups,
        devices,
        order if graph is None else None,
    )
    same = graph is None and placed.entries is None
    heads, nodes = placed.heads, written if same else topological(placed.heads)
    if inferred is not None and same:
        shapes, types = inferred
    else:
        known = {Entry(n, 0): d[0] for n, d in descs.items()}
        known_types = {Entry(n, 0): d[1] for n, d in descs.items()}
        if graph is not None:
            # The cards of composed operators may ask for more than their parts do.
            infer_known(written, known, known_types)
        shapes, types = infer_known(nodes, known, known_types)
    loose = by_values(nodes)
    changed = mutated_variables(nodes)
    inputs = variables(nodes)
    forward = [n for n in nodes if n.op is not None]
    backward: list[Node] = []
    of_inputs: dict[Node, list[Entry | None]] = {}
    head_grads: list[Node | None] = [None] * len(heads)
    gradients: dict[Node, Entry] = {}
    if requests:
        found = differentiate(placed.heads, list(requests), nodes)
        backward, gradients = _backward(placed, requests, found)
        head_grads, of_inputs = found.head_grads, found.of_inputs
        seeds = {Entry(g, 0): h for h, g in zip(heads, head_grads, strict=True) if g is not None}
        loose |= {s for s, h in seeds.items() if h in loose}
        if loose:
            # What depends on values may tell the forward pass something, too.
            shapes, types = infer_known(
                [*nodes, *(s.node for s in seeds), *backward],
                {**shapes, **{s: shapes[h] for s, h in seeds.items()}},
                {**types, **{s: types[h] for s, h in seeds.items()}},
                loose=loose,
            )
        else:
            own = dict(zip(gradients.values(), first_entries(gradients), strict=True))
            alike = found.alike | own
            shapes, types = infer_backward(seeds, backward, alike, shapes, types)
    copies = _through(graph, placed)
    operators = [n for n in written if n.op is not None]
    _check(operators, types, copies)
    return Network(
        outputs,
        heads,
        names,
        [n for n in inputs if n not in changed],
        [n for n in inputs if n in changed],
        forward,
        backward,
        operators,
        copies,
        of_inputs,
        head_grads,
        gradients,
        shapes,
        types,
        open_entries(shapes),
        placed.devices,
    )


def _through(graph: dict[Entry, Entry] | None, placed: Placed) -> dict[Entry, Entry] | None:
    """What stands for each entry of the user's graph; None where each stands for itself."""
    if graph is None or placed.entries is None:
        return placed.entries if graph is None else graph
    return {e: placed.entries[part] for e, part in graph.items()}


def _backward(
    placed: Placed, requests: Mapping[Node, str], found: Gradients
) -> tuple[list[Node], dict[Node, Entry]]:
    """The backward pass, in which every wanted gradient is an output of a node of its own."""
    placed.add_backward(found)
    nodes = list(found.nodes)
    made = set(nodes)
    readers = {e for n in nodes for e in n.inputs}
    wanted = Counter(e for e in found.entries if e is not None)
    gradients: dict[Node, Entry] = {}
    taken: set[Entry] = set()
    # Copies go behind the node that they copy from, the last one first; behind None, in front.
    behind: dict[Node | None, list[Node]] = {}
    for argument, entry in zip(requests, found.entries, strict=True):
        add = requests[argument] == "add"
        name = f"{argument.name}_grad"
        if entry is None:
            if not add:
                nodes.append(Node(make("zeros_like", {}), name, [Entry(argument, 0)]))
                gradients[argument] = Entry(nodes[-1], 0)
                placed.devices[nodes[-1]] = placed.devices[argument]
            continue
        shared = entry.node not in made or entry in taken
        needed = entry in readers or wanted[entry] > 1
        # What comes from another device is written there, and added by a step of its own.
        if shared or (add and (needed or _is_transfer(entry.node))):
            copy = Node(make("_copy", {}), name, [entry])
            placed.devices[copy] = placed.devices[entry.node]
            behind.setdefault(entry.node if entry.node in made else None, []).append(copy)
            entry = Entry(copy, 0)
        gradients[argument] = entry
        taken.add(entry)
    if behind:
        first = behind.get(None, [])[::-1]
        nodes = [*first, *(c for n in nodes for c in (n, *behind.get(n, [])[::-1]))]
    return nodes, gradients


def _is_transfer(node: Node) -> bool:
    return node.op is not None and node.op.name == "_CrossDeviceCopy"


def _steps(
    operators: Iterable[tuple[Node, list[Entry], Sequence[Entry | None]]], nodes: Sequence[Node]
) -> list[Step]:
    """The steps of a pass that runs `nodes`, from the inputs and the outputs of its operators."""
    numbers = {node: i for i, node in enumerate(nodes)}
    steps: list[Step] = []
    end = 0
    for node, inputs, given in operators:
        outputs = [e if e and (e.node.op is None or e.node in numbers) else None for e in given]
        # Nodes of a composed operator may lie between those of its inputs.
        end = max([end, *(numbers.get(e.node, -1) + 1 for e in outputs if e)])
        steps.append(Step(node, inputs, outputs, end))
    return steps


def _check(
    nodes: Sequence[Node], types: Mapping[Entry, str], copies: Mapping[Entry, Entry] | None
) -> None:
    """Raises for an operator that does not claim the element type of an input."""
    checked: set[tuple[OperatorProperty | str, ...]] = set()
    for node in nodes:
        card = node.op
        assert card is not None
        if copies is None:
            found = [types[e] for e in node.inputs]
        else:
            found = [types[copies[e]] for e in node.inputs]
        question = (card, *found)
        if question in checked:
            continue
        checked.add(question)
        for name, dtype in zip(argument_names(card), found, strict=True):
            try:
                card.check_dtype(dtype, name)
            except InvalidArgumentError as error:
                raise InvalidArgumentError(f"{error}; in node '{node.name}'") from None
