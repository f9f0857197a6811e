"""In which order an epoch visits its samples, and how the order falls into batches."""

from __future__ import annotations

import numpy as np

from ..base import as_int
from ..error import InvalidArgumentError
from .iterator import DataIter

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
        self._rows = np.empty(0, np.int64)
        self._pad = 0

    @property
    def num_data(self) -> int:
        """How many samples an epoch has."""
        return self._order.count

    def reset(self) -> None:
        """Starts the next epoch; does nothing before the first batch of the present one."""
        self._order.reset()

    def iter_next(self) -> bool:
        """Moves to the next batch; false at the end of the epoch."""
        batch = self._order.next()
        if batch is None:
            return False
        self._rows, self._pad = batch
        return True

    def getindex(self) -> np.ndarray:
        """The numbers of the current batch's samples."""
        return self._rows

    def getpad(self) -> int:
        """How many samples only fill the current batch up."""
        return self._pad
