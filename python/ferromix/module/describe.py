"""What modules know of the arrays of a batch: what they are, and their names."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from ..error import InvalidArgumentError
from ..io import DataDesc
from ..symbol import Symbol

__all__ = ["Shapes", "described", "shapes_and_types"]

Shapes = Sequence[DataDesc | tuple[Any, ...]] | None
"""Descriptions, or pairs of a name and a shape, of which a type and a layout may follow."""

PARAMETERS = ("_weight", "_bias", "_gamma", "_beta")


def described(given: Shapes) -> list[DataDesc]:
    """Descriptions of all arrays of a list.

    Raises
    ------
    InvalidArgumentError
        For what is neither a description nor a name with a shape.
    """
    found = []
    for one in given or []:
        if isinstance(one, DataDesc):
            found.append(one)
        elif isinstance(one, (tuple, list)) and 2 <= len(one) <= 4 and isinstance(one[0], str):
            found.append(DataDesc(*one))
        else:
            raise InvalidArgumentError(
                "expected a DataDesc, or a name and a shape such as ('data', (32, 10)), "
                f"got {one!r}"
            )
    return found


def _parse_data_desc(
    data_names: Sequence[str],
    label_names: Sequence[str],
    data_shapes: Shapes,
    label_shapes: Shapes,
) -> tuple[list[DataDesc], list[DataDesc] | None]:
    """Descriptions of data and labels, which must be of the names that the module has.

    Labels are None where they are not given.

    Raises
    ------
    InvalidArgumentError
        Other names; says which were expected. Other names of labels are a warning, since a graph
        may not use them.
    """
    data, labels = described(data_shapes), described(label_shapes)
    _check_names_match(data_names, data, "data", True)
    if labels:
        _check_names_match(label_names, labels, "label", False)
    return data, None if label_shapes is None else labels


def _check_names_match(
    data_names: Sequence[str], data_shapes: Sequence[DataDesc], name: str, throw: bool
) -> None:
    """Compares the names of descriptions with those that a module has, in any order.

    Parameters
    ----------
    name
        What they are of: ``"data"`` or ``"label"``.
    throw
        Whether other names are an error, or a warning.

    Raises
    ------
    InvalidArgumentError
        Says which names were expected.
    """
    given = [d[0] for d in data_shapes]
    if sorted(given) != sorted(data_names):
        _object(f"the {name}_shapes are of {given}, but {name}_names are {list(data_names)}", throw)


def _check_input_names(symbol: Symbol, names: Sequence[str], typename: str, throw: bool) -> None:
    """Looks for names among the arguments of a symbol.

    Parameters
    ----------
    typename
        What the names are of, as in ``"data"``.
    throw
        Whether a name that is missing is an error, or a warning.

    Raises
    ------
    InvalidArgumentError
        Says which arguments may have been meant.
    """
    arguments = symbol.list_arguments()
    for name in names:
        if name in arguments:
            continue
        likely = [a for a in arguments if not a.endswith(PARAMETERS)]
        _object(
            f"the symbol has no argument {name!r}, which {typename}_names={list(names)} names; "
            f"it has, besides parameters: {', '.join(likely) or 'none'}",
            throw,
        )


def _object(message: str, throw: bool) -> None:
    if throw:
        raise InvalidArgumentError(message)
    logging.warning("%s", message)


def shapes_and_types(*lists: Sequence[DataDesc]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Shapes and element types by name."""
    every = [one for part in lists for one in part]
    return {d.name: d.shape for d in every}, {d.name: d.dtype for d in every}
