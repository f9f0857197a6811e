"""Shape and type inference over a whole graph, in both directions, to a fixed point.

Cards infer for one node; what they find travels along the edges until nothing new is learned, in
the core. A card is asked once for nodes that are alike, and its answers are remembered from graph
to graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any

from .. import _core
from ..error import InvalidArgumentError
from ..ops.card import MaybeShape, OperatorProperty
from ..ops.inference import infer_shapes_of, infer_types_of, shapes_of
from ..ops.remembered import remembered
from ..ops.shapes import is_known
from .node import Entry, Node, argument_names

__all__ = ["infer_both", "infer_shapes", "infer_types", "is_known"]


def infer_shapes(
    nodes: Sequence[Node], known: Mapping[Entry, MaybeShape]
) -> dict[Entry, MaybeShape]:
    """The shape of every output of `nodes`, as far as it follows from `known`.

    Parameters
    ----------
    nodes
        The graph, each node after its inputs.
    known
        Shapes to start from; -1 marks an unknown extent, None an unknown rank.

    Raises
    ------
    InvalidArgumentError
        Where shapes contradict each other; names the node, its operator, the argument and both
        shapes.
    """
    return _core.infer(list(nodes), [_shapes(known)])[0]


def infer_both(
    nodes: Sequence[Node],
    shapes: Mapping[Entry, MaybeShape],
    types: Mapping[Entry, str | None],
    default: str | None = None,
) -> tuple[dict[Entry, MaybeShape], dict[Entry, str | None]]:
    """What :func:`infer_shapes` and then :func:`infer_types` give, by one walk over the graph."""
    found = _core.infer(list(nodes), [_shapes(shapes), _types(types, default)])
    return found[0], found[1]


def _shapes(known: Mapping[Entry, MaybeShape]) -> dict[str, Any]:
    return {"known": dict(known), "ask": _ask_shapes, "to_and_fro": True, "default": None}


def _types(known: Mapping[Entry, str | None], default: str | None) -> dict[str, Any]:
    return {"known": dict(known), "ask": _ask_types, "to_and_fro": False, "default": default}


def _ask_shapes(node: Node, before: tuple[MaybeShape, ...]) -> Sequence[MaybeShape]:
    """What a node's card makes of the shapes of its inputs and outputs."""
    card, count = _card(node), len(node.inputs)
    if count == 1 and _is_kept(before) and _keeps_shape(type(card)):
        return before[:1] * len(before)
    if count < 2 or len(set(node.inputs)) == count:
        try:
            return _shapes_of(card, before, count)
        except InvalidArgumentError:
            pass
    entries = [*node.inputs, *node.outputs()]
    table = dict(zip(entries, before, strict=True))
    try:
        infer_shapes_of(card, node.inputs, node.outputs(), table)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{error}; in {_describe(node, table)}") from error.__cause__
    return [table[e] for e in entries]


def _is_kept(shapes: tuple[MaybeShape, ...]) -> bool:
    """Whether the first of these is known, and of a usual size, and the others are not known."""
    given = shapes[0]
    if given is None or shapes.count(None) < len(shapes) - 1:
        return False
    return not given or (min(given) > 0 and prod(given) < USUAL)


USUAL = 1 << 48
"""Elements that there may be without a further look."""


@lru_cache(4096)
def _keeps_shape(kind: type[OperatorProperty]) -> bool:
    """Whether the cards of a class say that all inputs and outputs have one shape."""
    return kind.infer_shape == OperatorProperty.infer_shape


@remembered(8192)
def _shapes_of(
    card: OperatorProperty, before: tuple[MaybeShape, ...], count: int
) -> tuple[MaybeShape, ...]:
    """What :func:`_ask_shapes` gives for a node with so many inputs, which differ."""
    return tuple(shapes_of(card, before, count))


def _describe(node: Node, table: Mapping[Entry, MaybeShape]) -> str:
    names = argument_names(_card(node))
    inputs = ", ".join(
        f"{name}='{entry.node.name}' {table[entry] or 'unknown'}"
        for name, entry in zip(names, node.inputs, strict=True)
    )
    return f"node '{node.name}' ({_card(node).name}) with {inputs or 'no inputs'}"


def infer_types(
    nodes: Sequence[Node], known: Mapping[Entry, str | None], default: str | None = None
) -> dict[Entry, str | None]:
    """The element type of every output of `nodes`, as far as it follows from `known`.

    Parameters
    ----------
    nodes
        The graph, each node after its inputs.
    known
        Types to start from.
    default
        The type of variables that nothing else decides, taken one variable after another.

    Raises
    ------
    InvalidArgumentError
        Where types contradict each other; names the node, its operator and the argument.
    """
    return _core.infer(list(nodes), [_types(known, default)])[0]


def _ask_types(node: Node, before: tuple[str | None, ...]) -> Sequence[str | None]:
    """What a node's card makes of the types of its inputs and outputs."""
    card, count = _card(node), len(node.inputs)
    if count < 2 or len(set(node.inputs)) == count:
        try:
            return _types_of(card, before, count)
        except InvalidArgumentError:
            pass
    entries = [*node.inputs, *node.outputs()]
    table = dict(zip(entries, before, strict=True))
    try:
        infer_types_of(card, node.inputs, node.outputs(), table)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(
            f"{error}; in node '{node.name}' ({card.name})"
        ) from error.__cause__
    return [table[e] for e in entries]


@remembered(8192)
def _types_of(
    card: OperatorProperty, before: tuple[str | None, ...], count: int
) -> tuple[str | None, ...]:
    """What :func:`_ask_types` gives for a node with so many inputs, which differ."""
    table = dict(enumerate(before))
    infer_types_of(card, range(count), range(count, len(table)), table)
    return tuple(table.values())


def _card(node: Node) -> OperatorProperty:
    assert node.op is not None
    return node.op
