"""What optimizers remember, spread over the owners of keys, and put together in one file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ... import ndarray as nd
from ...ndarray import NDArray
from ...optimizer import Optimizer
from ...optimizer.rule import merge_counts
from ..base import Key
from .shards import Shards

__all__ = ["divided", "united"]

States = dict[Any, Any]


def united(
    owned: Sequence[tuple[States, Optimizer]], shapes: Mapping[Key, tuple[int, ...]], shards: Shards
) -> tuple[States, Optimizer]:
    """States by key as one process would have them, and its optimizer.

    Parameters
    ----------
    owned
        By rank, the states of what each process owns, and its optimizer.
    shapes
        Those of the values.
    shards
        The owners.
    """
    states: States = {}
    for key in {key for part, _ in owned for key in part}:
        parts = [part[key] for part, _ in owned if key in part]
        divided = key in shapes and shards.owner(key) < 0
        states[key] = _joined(parts, shapes[key]) if divided else parts[0]
    optimizer = owned[0][1]
    for _, other in owned[1:]:
        merge_counts(optimizer, other)
    return states, optimizer


def divided(states: States, shards: Shards, known: Callable[[Key], bool]) -> States:
    """Of the states of all keys, those of what this process owns."""
    mine: States = {}
    for key, state in states.items():
        if not known(key):
            mine[key] = state
        elif (elements := shards.mine(key)) is not None:
            mine[key] = _part(state, elements) if shards.owner(key) < 0 else state
    return mine


def _joined(states: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """The state of a whole weight, from those of its parts in order."""
    first = states[0]
    if isinstance(first, NDArray):
        return nd.concat(*states, dim=0).reshape(shape)
    if isinstance(first, (list, tuple)):
        return type(first)(_joined(parts, shape) for parts in zip(*states, strict=True))
    return first


def _part(state: Any, elements: slice) -> Any:
    """The part of a weight's state that belongs to some of its elements."""
    if isinstance(state, NDArray):
        return state.reshape((-1,))[elements].copy()
    if isinstance(state, (list, tuple)):
        return type(state)(_part(part, elements) for part in state)
    return state
