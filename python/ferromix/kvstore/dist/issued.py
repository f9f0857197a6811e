"""Items from arrays: what a store wants done becomes an operation of the engine."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence

import numpy as np

from ... import engine
from ...ndarray import NDArray
from ..base import Key
from ..memory import bytes_of
from .item import Item, Kind, Name, Piece
from .lane import Lane

__all__ = ["gather", "issue", "key_number"]


def key_number(key: Key | tuple[str, ...]) -> int:
    """The same number for a key in every process; ``3``, ``"3"`` and ``("3",)`` differ."""
    digest = hashlib.blake2b(f"{type(key).__name__} {key}".encode(), digest_size=8)
    return int.from_bytes(digest.digest(), "little")


class _Start:
    """What the engine calls when the arrays of an item are there."""

    def __init__(self, lane: Lane, item: Item, source: NDArray | None, target: NDArray) -> None:
        self._lane, self._item = lane, item
        self._arrays = source, target
        self._called = False

    def __call__(self, on_complete: Callable[..., object]) -> None:
        self._called = True
        source, target = self._arrays
        there = bytes_of(target)
        self._item.piece = Piece(there if source is None else bytes_of(source), there)
        self._lane.ready(self._item, on_complete)

    def __del__(self) -> None:
        if not self._called:  # what the arrays wait for has failed
            self._lane.abandon(self._item)


def issue(
    lane: Lane,
    item: Item,
    source: NDArray | None,
    target: NDArray,
    after: NDArray | None = None,
) -> None:
    """Pushes an item that reads `source` and overwrites `target`, or changes `target` in place.

    It waits for what is to change `after`, too.

    Raises
    ------
    MXNetError
        If the stores are broken.
    """
    lane.issue(item)
    engine.push_async(
        _Start(lane, item, source, target),
        const_vars=[array for array in (source, after) if array is not None],
        mutable_vars=[target],
        priority=item.priority,
        name=f"KVStore {item.label}",
    )


def gather(lane: Lane, item: Item, payload: bytes) -> Sequence[bytes]:
    """Everybody's bytes, by rank; waits for them.

    Raises
    ------
    MXNetError
        If the stores are broken.
    """
    assert item.name.kind == Kind.GATHER
    mine = np.frombuffer(payload, np.uint8)
    item.piece = Piece(mine, mine)
    ended = threading.Event()
    failures: list[BaseException] = []

    def done(error: BaseException | None = None) -> None:
        failures.extend([error] if error is not None else [])
        ended.set()

    lane.issue(item)
    lane.ready(item, done)
    while not ended.wait(0.1):  # in turns, so that signals are heard
        pass
    if failures:
        raise failures[0]
    return item.received
