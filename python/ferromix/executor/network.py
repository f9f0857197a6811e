"""A symbol's graph with its backward pass and all shapes and types: what plans are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..error import InvalidArgumentError
from ..graph.gradient import differentiate
from ..graph.infer import infer_shapes, infer_types, is_known
from ..graph.node import Entry, Node, mutated_variables, topological, variables
from ..ops.card import MaybeShape, Shape, make

__all__ = ["Network", "build", "infer_known"]


@dataclass(frozen=True, slots=True)
class Network:
    """The graph that an executor runs.

    Attributes
    ----------
    heads
        The outputs.
    arguments, states
        The variables: arguments and auxiliary states.
    forward, backward
        The operator nodes, each after its inputs.
    head_grads
        For each head the variable of its gradient; None where nothing reads it.
    gradients
        For each wanted argument the entry to be written to the caller's array.
    shapes, types
        Of every entry of every node.
    """

    heads: list[Entry]
    arguments: list[Node]
    states: list[Node]
    forward: list[Node]
    backward: list[Node]
    head_grads: list[Node | None]
    gradients: dict[Node, Entry]
    shapes: dict[Entry, Shape]
    types: dict[Entry, str]


def build(
    heads: Sequence[Entry],
    descs: Mapping[Node, tuple[Shape, str]],
    requests: Mapping[Node, str],
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

    Raises
    ------
    InvalidArgumentError
        For shapes or types that do not fit; names the node, its operator and the argument.
    """
    nodes = topological(heads)
    shapes, types = infer_known(
        nodes,
        {Entry(n, 0): d[0] for n, d in descs.items()},
        {Entry(n, 0): d[1] for n, d in descs.items()},
    )
    changed = mutated_variables(nodes)
    inputs = variables(nodes)
    forward = [n for n in nodes if n.op is not None]
    backward: list[Node] = []
    head_grads: list[Node | None] = [None] * len(heads)
    gradients: dict[Node, Entry] = {}
    if requests:
        backward, head_grads, gradients = _backward(heads, requests)
        seeds = {Entry(g, 0): h for h, g in zip(heads, head_grads, strict=True) if g is not None}
        shapes, types = infer_known(
            [*nodes, *(s.node for s in seeds), *backward],
            {**shapes, **{s: shapes[h] for s, h in seeds.items()}},
            {**types, **{s: types[h] for s, h in seeds.items()}},
        )
    _check(forward, shapes, types)
    return Network(
        list(heads),
        [n for n in inputs if n not in changed],
        [n for n in inputs if n in changed],
        forward,
        backward,
        head_grads,
        gradients,
        shapes,
        types,
    )


def infer_known(
    nodes: Sequence[Node],
    shapes: Mapping[Entry, MaybeShape],
    types: Mapping[Entry, str | None],
    given: Sequence[str] = (),
) -> tuple[dict[Entry, Shape], dict[Entry, str]]:
    """Shapes and types of all entries; types that nothing decides are float32.

    Parameters
    ----------
    nodes
        The graph, each node after its inputs.
    shapes, types
        What is known.
    given
        Names for which the caller gave shapes, for the error's text.

    Raises
    ------
    InvalidArgumentError
        If a shape does not follow from those known; lists the variables concerned.
    """
    found = infer_shapes(nodes, shapes)
    found_types = infer_types(nodes, types, "float32")
    complete: dict[Entry, Shape] = {}
    complete_types: dict[Entry, str] = {}
    for entry, shape in found.items():
        dtype = found_types[entry]
        if shape is None or not is_known(shape) or dtype is None:
            raise _incomplete(nodes, found, given)
        complete[entry] = shape
        complete_types[entry] = dtype
    return complete, complete_types


def _incomplete(
    nodes: Sequence[Node], shapes: Mapping[Entry, MaybeShape], given: Sequence[str]
) -> InvalidArgumentError:
    names = {n.name for n in variables(nodes)}
    unknown = [e for e in shapes if not is_known(shapes[e])]
    inputs = [e for e in unknown if e.node.op is None] or unknown
    listed = ", ".join(f"{e.node.name}: {_readable(shapes[e])}" for e in inputs)
    stray = ", ".join(n for n in given if n not in names)
    return InvalidArgumentError(
        f"cannot bind: the shapes of these do not follow from those given: {listed}; give more "
        f"shapes, as in simple_bind(ctx, data=(32, 10))"
        + (f"; given, but no arguments: {stray}" if stray else "")
    )


def _readable(shape: MaybeShape) -> str:
    if shape is None:
        return "unknown"
    return "(" + ", ".join("?" if n < 0 else str(n) for n in shape) + ")"


def _backward(
    heads: Sequence[Entry], requests: Mapping[Node, str]
) -> tuple[list[Node], list[Node | None], dict[Node, Entry]]:
    """The backward pass, in which every wanted gradient is an output of a node of its own."""
    found = differentiate(heads, list(requests))
    nodes = list(found.nodes)
    made = set(nodes)
    readers = {e for n in nodes for e in n.inputs}
    gradients: dict[Node, Entry] = {}
    taken: set[Entry] = set()
    for argument, entry in zip(requests, found.entries, strict=True):
        add = requests[argument] == "add"
        name = f"{argument.name}_grad"
        if entry is None:
            if not add:
                nodes.append(Node(make("zeros_like", {}), name, [Entry(argument, 0)]))
                gradients[argument] = Entry(nodes[-1], 0)
            continue
        shared = entry.node not in made or entry in taken
        if shared or (add and entry in readers):
            copy = Node(make("_copy", {}), name, [entry])
            nodes.insert(nodes.index(entry.node) + 1 if entry.node in made else 0, copy)
            entry = Entry(copy, 0)
        gradients[argument] = entry
        taken.add(entry)
    return nodes, found.head_grads, gradients


def _check(
    nodes: Sequence[Node], shapes: Mapping[Entry, Shape], types: Mapping[Entry, str]
) -> None:
    """Raises for an operator that does not claim the element type of an input."""
    for node in nodes:
        assert node.op is not None
        for entry in node.inputs:
            try:
                node.op.check_dtype(types[entry])
            except InvalidArgumentError as error:
                raise InvalidArgumentError(f"{error}; in node '{node.name}'") from None
