"""Matching and making the arrays that a symbol is bound to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import _core
from ..context import Context
from ..error import ArgumentTypeError, DTypeError, InvalidArgumentError
from ..graph.node import Node
from ..ndarray import NDArray, array, zeros
from ..ops.storage import DENSE

__all__ = [
    "assign",
    "by_name",
    "by_node",
    "cleared",
    "cleared_together",
    "contexts_of",
    "like",
    "list_of_grads",
    "match",
    "named",
    "requests_of",
    "shrunk",
]

REQUESTS = ("null", "write", "add")

Given = Sequence[NDArray | None] | Mapping[str, NDArray | None] | None


def match(what: str, nodes: Sequence[Node], given: Given, required: bool) -> dict[Node, NDArray]:
    """The array of each variable, from a list in their order or a dict by name.

    Parameters
    ----------
    what
        What errors call `given`.
    nodes
        The variables.
    given
        Arrays; None for those that are not there.
    required
        Whether every variable needs one.

    Raises
    ------
    InvalidArgumentError
        For arrays that are missing or too many.
    DTypeError
        For something that is no NDArray, or no list or dict of them.
    """
    if given is not None and not isinstance(given, (list, tuple, Mapping)):
        raise DTypeError(
            f"{what} must be a list of NDArrays or a dict by name, got {type(given).__name__}"
        )
    names = [n.name for n in nodes]
    if isinstance(given, Mapping):
        found = [given.get(name) for name in names]
    else:
        found = list(given or ())
        if len(found) != len(names) and (found or required):
            error = ArgumentTypeError if given is None else InvalidArgumentError
            raise error(f"{what}: got {len(found)} arrays for {len(names)}: {', '.join(names)}")
        found = found or [None] * len(names)
    arrays: dict[Node, NDArray] = {}
    for node, value in zip(nodes, found, strict=True):
        if value is None:
            if required:
                raise InvalidArgumentError(f"{what}: the array of '{node.name}' is missing")
        elif isinstance(value, NDArray):
            arrays[node] = value
        else:
            raise DTypeError(
                f"{what}: '{node.name}' must be an NDArray, got {type(value).__name__}"
            )
    return arrays


def requests_of(nodes: Sequence[Node], grad_req: Any) -> dict[Node, str]:
    """What is to be done with each argument's gradient: ``"null"``, ``"write"`` or ``"add"``.

    Raises
    ------
    InvalidArgumentError
        For another word, or a list of another length.
    DTypeError
        For something else than words, or a list or a dict of them.
    """
    names = [n.name for n in nodes]
    if grad_req is None or isinstance(grad_req, str):
        words = [grad_req or "null"] * len(names)
    elif isinstance(grad_req, Mapping):
        # Names that are no arguments are passed over, so one dict can serve several networks.
        words = [grad_req.get(name, "null") for name in names]
    elif not isinstance(grad_req, (list, tuple)):
        raise DTypeError(
            f"grad_req must be one of {', '.join(map(repr, REQUESTS))}, or a list or a dict of "
            f"these for the arguments, got {grad_req!r}"
        )
    else:
        words = list(grad_req)
        if len(words) != len(names):
            raise InvalidArgumentError(
                f"grad_req: got {len(words)} requests for {len(names)} arguments: "
                f"{', '.join(names)}"
            )
    for name, word in zip(names, words, strict=True):
        if word not in REQUESTS:
            raise InvalidArgumentError(
                f"grad_req of '{name}' must be one of {', '.join(REQUESTS)}, got {word!r}"
            )
    return dict(zip(nodes, words, strict=True))


def by_node(nodes: Sequence[Node], arrays: Sequence[NDArray | None]) -> dict[Node, NDArray]:
    """The arrays that are there, by variable."""
    return {n: a for n, a in zip(nodes, arrays, strict=True) if a is not None}


def contexts_of(arrays: Mapping[Node, NDArray]) -> dict[Node, Context]:
    """Where each array is; one object for each device."""
    known: dict[tuple[int, int], Context] = {}
    found: dict[Node, Context] = {}
    for node, value in arrays.items():
        key = value.handle.context
        if key not in known:
            known[key] = value.context
        found[node] = known[key]
    return found


def like(shape: tuple[int, ...], dtype: str, place: Context, shared: NDArray | None) -> NDArray:
    """`shared` if it has that shape and type and is there, and otherwise new zeros."""
    wanted = (shape, dtype, place)
    if shared is not None and (shared.shape, shared.dtype_name, shared.context) == wanted:
        return shared
    return cleared(shape, place, dtype)


def cleared(shape: tuple[int, ...], place: Context, dtype: str) -> NDArray:
    """New zeros; without an operator, which would be prepared for each shape.

    Small ones are written at once, others by the engine, as to touch new memory takes long.
    """
    if place.device_type == "gpu":
        return zeros(shape, place, dtype)
    return _core.zeros([(shape, dtype)], place.device_typeid, place.device_id)[0]


Described = tuple[str, tuple[int, ...], str, Context]
"""Name, shape and element type of a variable, and where its array is."""


def cleared_together(descs: Sequence[Described]) -> list[NDArray]:
    """What :func:`cleared` gives for each, by one call of the core where they are in one place."""
    if not descs:
        return []
    place = descs[0][3]
    if place.device_type == "gpu" or any(desc[3] is not place for desc in descs):
        return [cleared(shape, where, dtype) for _, shape, dtype, where in descs]
    wanted = [(shape, dtype) for _, shape, dtype, _ in descs]
    return _core.zeros(wanted, place.device_typeid, place.device_id)


def shrunk(old: NDArray, shape: tuple[int, ...]) -> NDArray:
    """An array of `shape` in the memory of `old` where there is room, and otherwise new zeros."""
    size = 1
    strides: list[int] = []
    for extent in reversed(shape):
        strides.append(size)
        size *= extent
    if size > old.size or not old.handle.contiguous:
        return cleared(shape, old.context, old.dtype_name)
    return NDArray(old.handle.view(0, shape, tuple(reversed(strides))))


def list_of_grads(given: NDArray | Sequence[NDArray | None] | None) -> list[NDArray | None]:
    """The gradients of outputs as a list.

    Raises
    ------
    DTypeError
        For anything but arrays and None.
    """
    if given is None or isinstance(given, NDArray):
        return [] if given is None else [given]
    if not isinstance(given, (list, tuple)):
        raise DTypeError(
            f"backward: out_grads must be an NDArray, or a list or a dict of them, got {given!r}"
        )
    for i, value in enumerate(given):
        if value is not None and not isinstance(value, NDArray):
            raise DTypeError(
                f"backward: gradient {i} in out_grads must be an NDArray, "
                f"got {type(value).__name__}"
            )
    return list(given)


def assign(value: NDArray | np.ndarray, target: NDArray) -> None:
    """Copies a value into an array of its shape, converting its type."""
    source = array(value, dtype=value.dtype) if isinstance(value, np.ndarray) else value
    if source.stype == target.stype == DENSE:
        target.handle.copy_from(source.handle)
    else:
        source.copyto(target)


def by_name(kind: str, nodes: Sequence[Node], arrays: Sequence[Any]) -> dict[str, Any]:
    """Arrays by the names of their variables."""
    return named(kind, [n.name for n in nodes], arrays)


def named(kind: str, names: Sequence[str], arrays: Sequence[Any]) -> dict[str, Any]:
    """Arrays by name.

    Raises
    ------
    InvalidArgumentError
        For a name that occurs twice.
    """
    if len(set(names)) != len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise InvalidArgumentError(f"there is more than one {kind} called '{twice}'")
    return dict(zip(names, arrays, strict=True))
