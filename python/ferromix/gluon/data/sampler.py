"""Samplers: which samples come, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ...base import as_int, require_kind
from ...error import InvalidArgumentError, MXNetError

__all__ = ["BatchSampler", "FilterSampler", "RandomSampler", "Sampler", "SequentialSampler"]

_LAST = ("keep", "discard", "rollover")


class Sampler:
    """The base of samplers, which have ``__iter__`` and ``__len__``."""

    def __iter__(self) -> Iterator[Any]:
        raise MXNetError(f"{type(self).__name__} must have __iter__, which gives indices")

    def __len__(self) -> int:
        raise MXNetError(f"{type(self).__name__} must have __len__, the number of indices")


class SequentialSampler(Sampler):
    """The indices from `start` on, in order.

    Parameters
    ----------
    length
        How many.
    start
        The first.

    Examples
    --------
    >>> import ferromix as mx
    >>> list(mx.gluon.data.SequentialSampler(3, start=2))
    [2, 3, 4]
    """

    def __init__(self, length: int, start: int = 0) -> None:
        self._length = as_int("SequentialSampler: length", length, 0)
        self._start = as_int("SequentialSampler: start", start)

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._start, self._start + self._length))

    def __len__(self) -> int:
        return self._length


class RandomSampler(Sampler):
    """The indices below `length`, in an order of its own each time.

    The order is drawn from NumPy's global generator, as in MXNet, so ``np.random.seed`` decides.

    Examples
    --------
    >>> import ferromix as mx
    >>> import numpy as np
    >>> np.random.seed(7)
    >>> [int(i) for i in mx.gluon.data.RandomSampler(5)]
    [0, 3, 2, 1, 4]
    """

    def __init__(self, length: int) -> None:
        self._length = as_int("RandomSampler: length", length, 0)

    def __iter__(self) -> Iterator[Any]:
        indices = np.arange(self._length)
        np.random.shuffle(indices)
        return iter(indices)

    def __len__(self) -> int:
        return self._length


class FilterSampler(Sampler):
    """The indices of the samples for which a function is true.

    Parameters
    ----------
    fn
        Takes a sample; called for each when the sampler is made.
    dataset
        The data set.

    Examples
    --------
    >>> import ferromix as mx
    >>> list(mx.gluon.data.FilterSampler(lambda x: x > 1, [3, 0, 2]))
    [0, 2]
    """

    def __init__(self, fn: Callable[[Any], Any], dataset: Any) -> None:
        self._indices = [i for i in range(len(dataset)) if fn(dataset[i])]

    def __iter__(self) -> Iterator[int]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)


class BatchSampler(Sampler):
    """Batches of the indices of a sampler, as lists.

    Parameters
    ----------
    sampler
        The sampler.
    batch_size
        Indices per batch.
    last_batch
        What becomes of indices that do not fill a batch: ``"keep"`` makes a smaller one,
        ``"discard"`` leaves them out, ``"rollover"`` puts them in front of the next epoch.

    Raises
    ------
    InvalidArgumentError
        For other words, or a batch size below 1.

    Examples
    --------
    >>> import ferromix as mx
    >>> data = mx.gluon.data
    >>> list(data.BatchSampler(data.SequentialSampler(5), 2, "keep"))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Any, batch_size: int, last_batch: str = "keep") -> None:
        require_kind("BatchSampler: sampler", sampler, Iterable, "a sampler")
        if last_batch not in _LAST:
            raise InvalidArgumentError(
                f"BatchSampler: last_batch must be one of {', '.join(_LAST)}, got {last_batch!r}"
            )
        self._sampler = sampler
        self._batch_size = as_int("BatchSampler: batch_size", batch_size, 1)
        self._last_batch = last_batch
        self._left: list[Any] = []

    def __iter__(self) -> Iterator[list[Any]]:
        batch, self._left = self._left, []
        for index in self._sampler:
            batch.append(index)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        if batch and self._last_batch == "keep":
            yield batch
        elif self._last_batch == "rollover":
            self._left = batch

    def __len__(self) -> int:
        count = len(self._sampler)
        if self._last_batch == "keep":
            return -(-count // self._batch_size)
        return (count + len(self._left)) // self._batch_size
