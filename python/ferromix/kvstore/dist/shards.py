"""Which process owns a key: runs its updater, and keeps what the optimizer remembers of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Container

from ...ndarray import NDArray
from ...optimizer import (
    FTML,
    NAG,
    SGD,
    AdaDelta,
    AdaGrad,
    Adam,
    Adamax,
    Ftrl,
    Nadam,
    Optimizer,
    RMSProp,
    Signum,
)
from ...optimizer import Test as Sum
from ...ops.storage import DENSE
from ..base import Key

__all__ = ["WHOLE", "Shards", "part_of"]

_ELEMENTWISE = frozenset(
    (SGD, NAG, Adam, AdaGrad, AdaDelta, Adamax, Ftrl, FTML, Nadam, RMSProp, Signum, Sum)
)
"""Optimizers that change each element by itself, so that parts of a weight can be updated apart."""


WHOLE = slice(None)
"""All elements."""


class Shards:
    """The owners of the keys: small ones have one, large ones are divided among all.

    Parameters
    ----------
    rank, size
        The number of this process, and of all.
    lost
        Those that died, whose keys go to the next one each.
    whole
        Whether large keys stay whole, too.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        lost: Callable[[], Container[int]] = frozenset,
        whole: bool = False,
    ) -> None:
        self._rank, self._size, self._lost, self._whole = rank, size, lost, whole
        self._owners: dict[Key, int] = {}
        self._counts: dict[Key, int] = {}
        self._loads = [0] * size
        self._divide = False
        self._bound = int(os.environ.get("MXNET_KVSTORE_BIGARRAY_BOUND", "1000000"))

    def place(self, key: Key, stored: NDArray) -> None:
        """Gives a key to the process that owns the least."""
        owner = self._loads.index(min(self._loads))
        self._loads[owner] += stored.size
        self._owners[key] = owner
        self._counts[key] = stored.size if stored.stype == DENSE else 0

    def divide_for(self, optimizer: Optimizer | None) -> None:
        """Divides large keys if the optimizer, None for any updater, changes them by elements."""
        self._divide = not self._whole and type(optimizer) in _ELEMENTWISE

    def owner(self, key: Key) -> int:
        """The process that owns a key; -1 where each owns a part."""
        count = self._counts[key]
        divided = self._divide and self._size > 1 and count >= max(self._bound, self._size)
        if divided:
            return -1
        owner, lost = self._owners[key], self._lost()
        while owner in lost:
            owner = (owner + 1) % self._size
        return owner

    def mine(self, key: Key) -> slice | None:
        """The elements of a key that this process owns; None for none."""
        count, owner = self._counts[key], self.owner(key)
        if owner < 0:
            return slice(self._start(count, self._rank), self._start(count, self._rank + 1))
        return WHOLE if owner == self._rank else None

    def parts(self, key: Key) -> list[slice]:
        """The elements that each process owns, of a key that is divided."""
        count = self._counts[key]
        starts = [self._start(count, rank) for rank in range(self._size + 1)]
        return [slice(a, b) for a, b in zip(starts[:-1], starts[1:], strict=True)]

    def _start(self, count: int, rank: int) -> int:
        return count * rank // self._size


def part_of(array: NDArray, elements: slice) -> NDArray:
    """A view of elements of an array; the array itself where they are all."""
    if elements == WHOLE:
        return array
    return array.reshape((-1,))[elements]
