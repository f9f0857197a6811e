"""Inference for one operator among others: what its card says in both directions goes into a table
of what is known.
"""

from __future__ import annotations

from collections.abc import Hashable, MutableMapping, Sequence
from typing import TypeVar

from ..error import InternalError, InvalidArgumentError
from .card import MaybeShape, OperatorProperty, merge_shapes
from .shapes import is_known, require_countable

__all__ = ["infer_shapes_of", "infer_types_of", "shapes_of"]

_Key = TypeVar("_Key", bound=Hashable)


def infer_shapes_of(
    card: OperatorProperty,
    inputs: Sequence[_Key],
    outputs: Sequence[_Key],
    table: MutableMapping[_Key, MaybeShape],
) -> None:
    """Adds the shapes of an operator's inputs and outputs to those in `table`.

    Parameters
    ----------
    card
        The operator.
    inputs
        The keys of the arguments, then of the auxiliary states.
    outputs
        The keys of all outputs.
    table
        What is known of each.

    Raises
    ------
    InvalidArgumentError
        Shapes that contradict each other; names the operator, the argument and both shapes.
    """
    keys = (*inputs, *outputs)
    found = shapes_of(card, [table[key] for key in keys], len(inputs))
    for i, (key, shape) in enumerate(zip(keys, found, strict=True)):
        # A key may stand in several places.
        if table[key] != shape:
            table[key] = merge_shapes(card.label, _names(card)[i], table[key], shape)


def shapes_of(card: OperatorProperty, before: Sequence[MaybeShape], count: int) -> list[MaybeShape]:
    """What is known of an operator's inputs and outputs once it was asked.

    Parameters
    ----------
    card
        The operator.
    before
        What is known of the arguments, of the auxiliary states and of the outputs.
    count
        How many of these are inputs.

    Raises
    ------
    InvalidArgumentError
        Shapes that contradict each other; names the operator, the argument and both shapes.
    InternalError
        For a card that gives other numbers of shapes than it has arguments and outputs.
    """
    args, outs = list(before[: len(card.input_names[0])]), before[count:]
    if outs.count(None) < len(outs) and not all(map(is_known, args)):
        args = card.infer_shape_backward(args, outs)
    found_args, found_outs, found_aux = card.infer_shape(args)
    if not count:
        found_outs = [_open(card, shape) for shape in found_outs]
    for name, shape in zip(card.output_names, found_outs, strict=True):
        require_countable(card.label, name, shape or ())
    found = [*found_args, *found_aux, *found_outs]
    if len(found) != len(before):
        raise InternalError(f"{card.name}: infer_shape gives {len(found)} shapes for {len(before)}")
    for i, known in enumerate(before):
        if known is not None and known != found[i]:
            found[i] = merge_shapes(card.label, _names(card)[i], known, found[i])
    return found


def _names(card: OperatorProperty) -> tuple[str, ...]:
    """What errors call the inputs and the outputs."""
    arguments, states = card.input_names
    return arguments + states + card.output_names


def _open(card: OperatorProperty, shape: MaybeShape) -> MaybeShape:
    """The shape of a tensor that is made from nothing: 0 in its attribute leaves an extent open, as
    scripts write it for the states that a recurrent network begins with."""
    if shape is None or "shape" not in card.given:
        return shape
    return tuple(extent or -1 for extent in shape)


def infer_types_of(
    card: OperatorProperty,
    inputs: Sequence[_Key],
    outputs: Sequence[_Key],
    table: MutableMapping[_Key, str | None],
) -> None:
    """Adds the element types of an operator's inputs and outputs to those in `table`.

    Raises
    ------
    InvalidArgumentError
        Types that contradict each other; names the operator and the argument.
    """
    arguments, states = card.input_names
    args = [table[key] for key in inputs[: len(arguments)]]
    outs = [table[key] for key in outputs]
    if not all(args) and any(outs):
        args = card.infer_type_backward(args, outs)
    found_args, found_outs, found_aux = card.infer_type(args)
    names = arguments + states + card.output_names
    found = (*found_args, *found_aux, *found_outs)
    for name, key, dtype in zip(names, (*inputs, *outputs), found, strict=True):
        if table[key] != dtype:
            table[key] = _merge_types(card.label, name, table[key], dtype)


def _merge_types(operator: str, name: str, a: str | None, b: str | None) -> str | None:
    if a is not None and b is not None and a != b:
        raise InvalidArgumentError(
            f"{operator}: argument '{name}' is {a}, expected {b}; cast one of them"
        )
    return b if a is None else a
