"""Samples that go round: what fills the last batch up comes first in the next epoch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..base import as_int
from ..error import InvalidArgumentError
from .state import require_same

__all__ = ["Picks", "RoundOrder"]

Picks = list[tuple[int, int]]
"""Samples by number, each with the epoch whose order it is from."""


class RoundOrder:
    """The batches of one epoch after the other, as MXNet's image iterators go.

    Parameters
    ----------
    count
        How many samples there are; at least one.
    batch_size
        Samples per batch.
    shuffle
        Whether each epoch has an order of its own, by seed and epoch alone.
    seed
        Which orders those are.
    round_batch
        Whether the next epoch goes on behind what filled up the last batch of the one before;
        otherwise each starts anew.
    """

    def __init__(
        self, count: int, batch_size: int, shuffle: bool, seed: int, round_batch: bool
    ) -> None:
        self._count, self.batch_size = count, batch_size
        self._shuffle, self._seed, self._round_batch = shuffle, seed % 2**64, round_batch
        self._epoch = self._position = 0
        self._started = self._ended = self._filled = False
        self._known: tuple[int, list[int]] | None = None

    def next(self) -> tuple[Picks, int] | None:
        """The samples of the next batch and how many only fill it up; None at the end."""
        if not self._started and self._position >= self._count:
            self._epoch, self._position = self._epoch + 1, 0
        self._started = True
        left = min(self.batch_size, self._count - self._position)
        if self._ended or left <= 0:
            self._ended = True
            return None
        picks = self._take(left)
        missing = self.batch_size - left
        if missing:
            self._ended = self._filled = True
            while len(picks) < self.batch_size:
                self._epoch, self._position = self._epoch + 1, 0
                picks += self._take(min(self.batch_size - len(picks), self._count))
        return picks, missing

    def reset(self) -> None:
        """Starts the next epoch; does nothing before the first batch of the present one."""
        if not self._started:
            return
        if not (self._filled and self._round_batch):
            self._epoch, self._position = self._epoch + (not self._filled), 0
        self._started = self._ended = self._filled = False

    def _take(self, count: int) -> Picks:
        order = self._order()[self._position : self._position + count]
        self._position += count
        return [(number, self._epoch) for number in order]

    def _order(self) -> list[int]:
        if self._known is None or self._known[0] != self._epoch:
            order = np.arange(self._count)
            if self._shuffle:
                key = np.array([self._seed, self._epoch], np.uint64)
                raw = np.random.Philox(key=key).random_raw(self._count)
                order = np.argsort(raw, kind="stable")
            self._known = self._epoch, order.tolist()
        return self._known[1]

    def state_dict(self) -> dict[str, Any]:
        """Where it stands, as numbers and text only."""
        names = "epoch", "position", "started", "ended", "filled"
        return self._settings() | {name: getattr(self, f"_{name}") for name in names}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes to where :meth:`state_dict` was taken.

        Raises
        ------
        InvalidArgumentError
            For the state of another order; the message says in what it differs.
        """
        require_same(state, self._settings())
        try:
            epoch = as_int("epoch", state["epoch"], 0, 2**63)
            position = as_int("position", state["position"], 0, self._count)
            flags = [bool(state[name]) for name in ("started", "ended", "filled")]
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidArgumentError(f"load_state_dict: no whole state: {error}") from None
        self._epoch, self._position = epoch, position
        self._started, self._ended, self._filled = flags

    def _settings(self) -> dict[str, Any]:
        names = "count", "shuffle", "seed", "round_batch"
        found = {name: getattr(self, f"_{name}") for name in names}
        return found | {"batch_size": self.batch_size}
