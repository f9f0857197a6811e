"""In which order an epoch visits its samples, and how the order falls into batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..base import as_int
from ..error import InvalidArgumentError, MXNetError
from .iterator import DataIter, provided
from .state import require_same

__all__ = ["LAST_BATCH", "EpochOrder", "OrderedIter"]

LAST_BATCH = ("pad", "discard", "roll_over")
"""What becomes of samples that do not fill the last batch."""


class EpochOrder:
    """The batches of one epoch after the other, as numbers of samples.

    A shuffled order depends on the seed and the number of the epoch only: samples are sorted by
    numbers of the counter-based generator Philox under the key (seed, epoch).

    Parameters
    ----------
    count
        How many samples there are.
    batch_size
        Samples per batch.
    shuffle
        Whether each epoch has an order of its own.
    seed
        Which orders those are.
    last_batch
        ``"pad"`` fills the last batch up from the start of the epoch, ``"discard"`` drops it, and
        ``"roll_over"`` puts its samples in front of the next epoch.
    """

    def __init__(
        self,
        count: int,
        batch_size: int,
        shuffle: bool = False,
        seed: int = 0,
        last_batch: str = "pad",
    ) -> None:
        batch_size = as_int("batch_size", batch_size, 1)
        seed = as_int("seed", seed, 0, 2**64 - 1)
        if last_batch not in LAST_BATCH:
            raise InvalidArgumentError(
                f"last_batch_handle must be one of {', '.join(LAST_BATCH)}, got {last_batch!r}"
            )
        self.count = count
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.seed = seed
        self.last_batch = last_batch
        self._begin(epoch=0, carried=np.empty(0, np.int64))

    def reset(self, drop_carried: bool = False) -> None:
        """Starts the next epoch; does nothing before the first batch of the present one.

        Parameters
        ----------
        drop_carried
            Whether to forget samples that would roll over.
        """
        if drop_carried:
            self._begin(self.epoch + self._started, np.empty(0, np.int64))
        elif self._started:
            size = self._order.size
            left = size % self.batch_size if self._ended and self.last_batch == "roll_over" else 0
            self._begin(self.epoch + 1, self._order[size - left :])

    @property
    def indices(self) -> np.ndarray:
        """The samples of the present epoch, in their order, without those carried over."""
        return self._order[self._carried :]

    @property
    def cursor(self) -> int:
        """The place of the current batch's first sample; those carried over are below 0."""
        done = self._position + (self.batch_size if self._ended else 0)
        return done - self.batch_size - self._carried

    @cursor.setter
    def cursor(self, place: int) -> None:
        least = -self.batch_size - self._carried
        self._position = as_int("cursor", place, least) - least
        self._started, self._ended = True, False

    def shorten(self, count: int) -> None:
        """Leaves the samples behind the first `count` out, in this epoch and later ones."""
        self.count = as_int("num_data", count, 1, self.count)
        self._order = self._order[: self._carried + self.count]

    def next(self) -> tuple[np.ndarray, int] | None:
        """The samples of the next batch and how many of them are padding; None at the end.

        Rolled-over samples count as padding of the first batch, as in MXNet.
        """
        self._started = True
        first, last = self._position, self._position + self.batch_size
        incomplete = last > self._order.size and self.last_batch != "pad"
        if first >= self._order.size or incomplete:
            self._ended = True
            return None
        self._position = last
        batch = self._order[first:last]
        missing = self.batch_size - batch.size
        if missing:
            batch = np.concatenate([batch, np.resize(self._order, missing)])
        return batch, missing + (self._carried if first == 0 else 0)

    def state_dict(self) -> dict[str, Any]:
        """Where it stands, as numbers, lists and text only."""
        carried = self._order[: self._carried].tolist()
        return self._settings() | {
            "epoch": self.epoch,
            "position": self._position,
            "started": self._started,
            "ended": self._ended,
            "carried": carried,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes to where :meth:`state_dict` was taken.

        Raises
        ------
        InvalidArgumentError
            For the state of another order; the message says in what it differs.
        """
        require_same(state, self._settings())
        try:
            most = max(self.count - 1, 0)
            carried = [as_int("carried", row, 0, most) for row in state["carried"]]
            size = self.count + len(carried) + self.batch_size
            position = as_int("position", state["position"], 0, size)
            epoch = as_int("epoch", state["epoch"], 0, 2**64 - 1)
            started, ended = bool(state["started"]), bool(state["ended"])
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidArgumentError(f"load_state_dict: no whole state: {error}") from None
        self._begin(epoch, np.array(carried, np.int64))
        self._position, self._started, self._ended = position, started, ended

    def _settings(self) -> dict[str, Any]:
        names = "count", "batch_size", "shuffle", "seed", "last_batch"
        return {name: getattr(self, name) for name in names}

    def _begin(self, epoch: int, carried: np.ndarray) -> None:
        self.epoch = epoch
        self._position = 0
        self._started = False
        self._ended = False
        self._carried = carried.size
        order = np.arange(self.count)
        if self.shuffle:
            key = np.array([self.seed, epoch], np.uint64)
            order = np.argsort(np.random.Philox(key=key).random_raw(self.count), kind="stable")
        self._order = np.concatenate([carried, order])


class OrderedIter(DataIter):
    """The base of iterators that visit samples in an :class:`EpochOrder`.

    Parameters
    ----------
    order
        The order.
    """

    def __init__(self, order: EpochOrder) -> None:
        super().__init__(order.batch_size)
        self._order = order
        self._rows: np.ndarray | None = None
        self._pad = 0

    @property
    def num_data(self) -> int:
        """How many samples an epoch has."""
        return self._order.count

    @num_data.setter
    def num_data(self, count: int) -> None:
        self._order.shorten(count)

    @provided
    def idx(self) -> np.ndarray:
        """The numbers of the epoch's samples, in their order; other numbers change no batch."""
        return self._order.indices

    @property
    def shuffle(self) -> bool:
        """Whether each epoch has its own order."""
        return self._order.shuffle

    @property
    def last_batch_handle(self) -> str:
        """What becomes of samples that do not fill the last batch."""
        return self._order.last_batch

    def reset(self) -> None:
        """Starts the next epoch; does nothing before the first batch of the present one."""
        self._reset()

    def state_dict(self) -> dict[str, Any]:
        """Where the iterator stands, as numbers, lists and text, which JSON can hold.

        Returns
        -------
        dict
            For :meth:`load_state_dict` of an iterator over the same data with the same arguments,
            which then gives the batches that this one would give, also in later epochs.
        """
        return self._order.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes to where :meth:`state_dict` was taken.

        Raises
        ------
        InvalidArgumentError
            For the state of an iterator with other arguments.
        """
        self._order.load_state_dict(state)
        self._rows = None

    def _reset(self, drop_carried: bool = False) -> None:
        self._order.reset(drop_carried)
        self._rows = None

    def _current(self) -> np.ndarray:
        if self._rows is None:
            raise MXNetError(
                f"{type(self).__name__}: there is no batch yet; call iter_next() or next()"
            )
        return self._rows

    def iter_next(self) -> bool:
        """Moves to the next batch; false at the end of the epoch."""
        batch = self._order.next()
        if batch is None:
            self._rows = None
            return False
        self._rows, self._pad = batch
        return True

    def getindex(self) -> np.ndarray:
        """The numbers of the current batch's samples."""
        return self._current()

    def getpad(self) -> int:
        """How many samples only fill the current batch up."""
        return self._pad
