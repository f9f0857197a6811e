"""What the lane does for a store: one part of the work on one key."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np

__all__ = ["BARRIER", "JOIN", "ORDERS", "Item", "Kind", "Name", "Piece"]


class Kind(IntEnum):
    """What is done with a key."""

    SUM = 0
    """Everybody gets the sum."""
    REDUCE = 1
    """The owners get the sum."""
    SHARE = 2
    """Everybody gets what the owners have."""
    GATHER = 3
    """Everybody gets what each process has, in bytes of any number."""
    COLLECT = 4
    """Everybody gets what each process has, in rows of one array."""


class Name(NamedTuple):
    """What distinguishes an item, the same in every process."""

    store: int
    kind: int
    key: int
    turn: int


ALONE: Final = 1 << 20
"""Bytes from which a value goes alone, without being copied."""
BARRIER: Final = 1
JOIN: Final = 2
"""The keys of barriers and of what ends a join."""
ORDERS: Final = np.dtype(
    [
        *(("store", "<u2"), ("kind", "<u1"), ("key", "<u8"), ("turn", "<u4")),
        *(("signature", "<u4"), ("label", "S80"), ("batch", "<u8")),
    ]
)
"""An item in the message that says what comes next, with how many batches come before it."""


class Piece(NamedTuple):
    """Memory of an item: bytes to send, and bytes to overwrite, which may be the same."""

    source: np.ndarray
    target: np.ndarray

    @classmethod
    def empty(cls) -> Piece:
        """No bytes."""
        return cls(np.empty(0, np.uint8), np.empty(0, np.uint8))


class Item:
    """One part of the work on one key.

    Parameters
    ----------
    name
        What distinguishes it.
    label
        What errors call it.
    facts
        What must be the same in every process: shape, type, owners.
    dtype
        The type of the elements.
    owner
        The process that owns the key, or -1 where all own equal parts.
    priority
        Those with higher ones go first.
    """

    __slots__ = (
        *("dtype", "done", "facts", "label", "name", "number", "owner", "piece", "priority"),
        *("received", "signature", "since"),
    )

    def __init__(
        self, name: Name, label: str, facts: tuple[object, ...], dtype: str, owner: int, priority: int
    ) -> None:
        self.name, self.label, self.facts = name, label, facts
        self.dtype, self.owner, self.priority = dtype, owner, priority
        self.signature = zlib.crc32(repr((facts, dtype, owner)).encode())
        self.number = 0
        self.since: float | None = None
        self.piece: Piece | None = None
        self.done: Callable[..., object] | None = None
        self.received: list[bytes] = []

    @property
    def ends_join(self) -> bool:
        """Whether it is for the time when all have joined."""
        return self.name.kind == Kind.GATHER and self.name.key == JOIN

    @property
    def goes_alone(self) -> bool:
        """Whether it is too large to be copied beside others, or not of a known size."""
        whole = self.name.kind in (Kind.GATHER, Kind.COLLECT)
        return whole or self.owner < 0 or self.nbytes >= ALONE

    @property
    def nbytes(self) -> int:
        """Bytes of the value."""
        return 0 if self.piece is None else self.piece.target.nbytes
