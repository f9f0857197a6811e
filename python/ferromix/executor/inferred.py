"""Shapes and types of all that is bound: what does not follow is an error, and not unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import cast

from ..error import InvalidArgumentError
from ..graph.infer import infer_both, is_known
from ..graph.node import Entry, Node, cards, variables
from ..literal import names_of
from ..ops.card import MaybeShape, Shape

__all__ = ["Inferred", "by_values", "infer_backward", "infer_known", "open_entries"]

Inferred = tuple[dict[Entry, Shape], dict[Entry, str]]
"""The shapes and the element types of all entries of a graph."""


def infer_known(
    nodes: Sequence[Node],
    shapes: Mapping[Entry, MaybeShape],
    types: Mapping[Entry, str | None],
    given: Sequence[str] = (),
    loose: AbstractSet[Entry] = frozenset(),
) -> Inferred:
    """Shapes and types of all entries; types that nothing decides are float32.

    Parameters
    ----------
    nodes
        The graph, each node after its inputs.
    shapes, types
        What is known.
    given
        Names for which the caller gave shapes, for the error's text.
    loose
        Entries whose shapes may stay unknown, as may those of what depends on them.

    Raises
    ------
    InvalidArgumentError
        If a shape does not follow from those known; lists the variables concerned.
    """
    found, found_types = infer_both(nodes, shapes, types, "float32")
    loose = by_values(nodes, loose)
    bound = {e: s for e, s in found.items() if e not in loose} if loose else found
    # Of a large graph few shapes differ.
    if not all(map(is_known, set(bound.values()))):
        raise _incomplete(nodes, bound, given)
    if None in set(found_types.values()):
        raise _untyped(next(e for e, dtype in found_types.items() if dtype is None))
    complete = {e: (-1,) if s is None else s for e, s in found.items()} if loose else found
    return cast("dict[Entry, Shape]", complete), cast("dict[Entry, str]", found_types)


def by_values(nodes: Sequence[Node], loose: AbstractSet[Entry] = frozenset()) -> set[Entry]:
    """The entries of nodes whose shapes may depend on values, from those that do."""
    found = set(loose)
    if not found and not any(card.by_values for card in cards(nodes)):
        return found
    for node in nodes:
        if node.op is not None and (node.op.by_values or not found.isdisjoint(node.inputs)):
            found.update(node.outputs())
    return found


def _incomplete(
    nodes: Sequence[Node], shapes: Mapping[Entry, MaybeShape], given: Sequence[str]
) -> InvalidArgumentError:
    names = {n.name for n in variables(nodes)}
    unknown = [e for e in shapes if not is_known(shapes[e])]
    inputs = [e for e in unknown if e.node.op is None] or unknown
    listed = names_of(f"{_who(e.node)}: {_readable(shapes[e])}" for e in inputs)
    stray = ", ".join(n for n in given if n not in names)
    return InvalidArgumentError(
        f"cannot bind: the shapes of these do not follow from those given: {listed}; give more "
        f"shapes, as in simple_bind(ctx, data=(32, 10))"
        + (f"; given, but no arguments: {stray}" if stray else "")
    )


def _who(node: Node) -> str:
    """What an error calls a node; an operator whose inputs are known would have to say more."""
    return node.name if node.op is None else f"{node.name} ({node.op.label}, by infer_shape)"


def _untyped(entry: Entry) -> InvalidArgumentError:
    node = entry.node
    if node.op is None:
        what, hint = f"'{node.name}'", "give it, as in simple_bind(ctx, type_dict={...})"
    else:
        names = f"output '{node.op.output_names[entry.output]}' of '{node.name}' ({node.op.label})"
        what, hint = names, "its infer_type must return one, once those of the inputs are known"
    return InvalidArgumentError(f"cannot bind: the element type of {what} is not known; {hint}")


def _readable(shape: MaybeShape) -> str:
    if shape is None:
        return "unknown"
    return "(" + ", ".join("?" if n < 0 else str(n) for n in shape) + ")"


def infer_backward(
    seeds: Mapping[Entry, Entry],
    nodes: Sequence[Node],
    alike: Mapping[Entry, Entry],
    shapes: Mapping[Entry, Shape],
    types: Mapping[Entry, str],
) -> Inferred:
    """Shapes and types of a backward pass and of all before it.

    The gradients of heads are like these; cards are asked for what is not `alike` something before.
    """
    made = set(nodes)
    like = {**seeds, **{e: other for e, other in alike.items() if e[0] in made}}
    found = {**{e: shapes[other] for e, other in like.items()}, **shapes}
    found_types = {**{e: types[other] for e, other in like.items()}, **types}
    if len(like) == len(seeds) + sum([n.num_outputs for n in nodes]):
        return found, found_types
    order = [e for n in nodes for e in n.outputs()]
    unlike = {e[0] for e in order if e not in like}
    asked = [n for n in nodes if n in unlike]
    found, found_types = infer_known(asked, found, found_types)
    # In the order of the pass.
    entries = [*seeds, *order, *shapes]
    return {e: found[e] for e in entries}, {e: found_types[e] for e in entries}


def open_entries(shapes: Mapping[Entry, Shape]) -> frozenset[Entry]:
    """The entries whose shapes are not known."""
    unknown = {shape for shape in set(shapes.values()) if not is_known(shape)}
    return frozenset([e for e, s in shapes.items() if s in unknown] if unknown else ())
