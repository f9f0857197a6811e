"""The loader, which makes the batches of an epoch, ahead of their use if there are workers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

from ... import context
from ... import ndarray as nd
from ...base import as_int
from ...error import InvalidArgumentError
from ...workers import InOrder, ProcessWorkers, ThreadWorkers
from .collate import default_batchify_fn, default_mp_batchify_fn
from .fetch import Fetch, SeededFetch, describe, tasks
from .sampler import BatchSampler, RandomSampler, SequentialSampler

__all__ = ["DataLoader"]


class DataLoader:
    """Batches of a data set; each iteration is an epoch.

    Which samples a batch has is decided by who iterates, so it is the same for any number of
    workers. Parameters are those of MXNet, but for `thread_pool`, whose default there is processes.

    Parameters
    ----------
    dataset
        A :class:`Dataset`, or whatever has a length and indices.
    batch_size
        Samples per batch.
    shuffle
        Whether each epoch has an order of its own, of NumPy's global generator.
    sampler
        What gives the order instead.
    last_batch
        ``"keep"``, as by default, ``"discard"`` or ``"rollover"``: see :class:`BatchSampler`.
    batch_sampler
        What gives lists of indices, instead of the four before.
    batchify_fn
        Makes a batch of a list of samples; by default ``default_batchify_fn``, and
        ``default_mp_batchify_fn`` in processes.
    num_workers
        How many threads or processes make batches; 0, or less, for none.
    pin_memory, pin_device_id
        Whether arrays are copied to ``cpu_pinned(pin_device_id)``.
    prefetch
        How many batches are made ahead with workers; by default two for each.
    thread_pool
        With None or True, workers are threads; they share the memory, and while one decodes or
        computes outside of Python the others go on. With False they are processes, for transforms
        that are Python: data set and batchify_fn are pickled when the first epoch begins, arrays
        come back in shared memory, and a script needs its ``if __name__ == "__main__":``. What is
        random in transforms then follows from the state of NumPy's global generator, the epoch and
        the number of the batch; with several threads it is in the order in which they happen to
        run.
    timeout
        How many seconds to wait for a batch of a worker.
    auto_reload
        Whether the next epoch is begun, and so fetched ahead, when the loader is made and when an
        epoch has ended.
    try_nopython
        Accepted; changes nothing.

    Raises
    ------
    InvalidArgumentError
        For parameters that exclude each other, or are out of range.
    WorkerTimeoutError
        While iterating, when a worker takes too long; a ``TimeoutError``.
    MXNetError
        While iterating, when a worker process dies; names it and the batch that it had.
    Exception
        While iterating, what data set and functions raise, with a note of the sample.

    Examples
    --------
    >>> import ferromix as mx
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.arange(10).reshape((5, 2)), [0, 1, 0, 1, 0])
    >>> for x, y in mx.gluon.data.DataLoader(data, batch_size=2, num_workers=2):
    ...     print(x.shape, y.asnumpy())
    (2, 2) [0 1]
    (2, 2) [0 1]
    (1, 2) [0]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = None,
        shuffle: bool = False,
        sampler: Any = None,
        last_batch: str | None = None,
        batch_sampler: Any = None,
        batchify_fn: Callable[[list[Any]], Any] | None = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        prefetch: int | None = None,
        thread_pool: bool | None = None,
        timeout: float = 120,
        auto_reload: bool = False,
        try_nopython: bool | None = None,
    ) -> None:
        self._batch_sampler = batch_sampler
        if batch_sampler is None:
            self._batch_sampler = _sampler(dataset, batch_size, shuffle, sampler, last_batch)
        elif batch_size is not None or shuffle or sampler is not None or last_batch is not None:
            raise InvalidArgumentError(
                "DataLoader: batch_sampler decides what batch_size, shuffle, sampler and "
                "last_batch would; give it alone"
            )
        if not timeout > 0:
            raise InvalidArgumentError(f"DataLoader: timeout must be above 0, got {timeout}")
        self._num_workers = max(0, as_int("DataLoader: num_workers", num_workers))
        self._has_processes = thread_pool is not None and not thread_pool
        is_shared = self._has_processes and self._num_workers > 0
        default = default_mp_batchify_fn if is_shared else default_batchify_fn
        make = SeededFetch if is_shared else Fetch
        self._fetch = make(dataset, batchify_fn or default)
        wanted = 2 * self._num_workers if prefetch is None else int(prefetch)
        self._prefetch = max(0, wanted)
        self._pinned = context.cpu_pinned(pin_device_id) if pin_memory else None
        self._timeout = timeout
        self.auto_reload = auto_reload
        self._epoch = 0
        self._processes: ProcessWorkers | None = None
        self._iter: InOrder | Generator[Any] | None = None
        if auto_reload:
            self.refresh()

    def __iter__(self) -> Iterator[Any]:
        begun, self._iter = self._iter, None
        batches = self._begin() if begun is None else begun
        try:
            yield from map(self._placed, batches)
        finally:
            batches.close()
        if self._iter is None and self.auto_reload:
            self.refresh()

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def refresh(self) -> None:
        """Begins the next epoch, with its batches fetched ahead; the next iteration takes it."""
        self.clean()
        self._iter = self._begin()

    def clean(self) -> None:
        """Forgets an epoch that was begun and not taken."""
        if self._iter is not None:
            self._iter.close()
            self._iter = None

    def close(self) -> None:
        """Ends worker processes now, not with the loader; the next epoch starts others."""
        self.clean()
        if self._processes is not None:
            self._processes.close()
            self._processes = None

    def _begin(self) -> InOrder | Generator[Any]:
        self._epoch += 1
        todo = tasks(self._batch_sampler, self._epoch)
        if not self._num_workers:
            return (self._fetch(task) for task in todo)
        if self._has_processes:
            return InOrder(self._workers(), todo, self._prefetch, self._timeout)
        # Threads cost little, and so they end with the epoch.
        threads = ThreadWorkers(self._num_workers, self._fetch, describe)
        return InOrder(threads, todo, self._prefetch, self._timeout, ends_workers=True)

    def _workers(self) -> ProcessWorkers:
        if self._processes is None or not self._processes.is_usable:
            self._processes = ProcessWorkers(self._num_workers, self._fetch, describe)
        return self._processes

    def _placed(self, batch: Any) -> Any:
        return batch if self._pinned is None else _moved(batch, self._pinned)


DataLoaderV1 = DataLoader
"""MXNet's older loader has some of the parameters."""


def _sampler(
    dataset: Any, batch_size: int | None, shuffle: bool, sampler: Any, last_batch: str | None
) -> BatchSampler:
    if batch_size is None:
        raise InvalidArgumentError("DataLoader: batch_size must be given, or batch_sampler")
    if sampler is None:
        sampler = (RandomSampler if shuffle else SequentialSampler)(len(dataset))
    elif shuffle:
        raise InvalidArgumentError("DataLoader: sampler decides the order; leave shuffle out")
    return BatchSampler(sampler, batch_size, last_batch or "keep")


def _moved(batch: Any, ctx: context.Context) -> Any:
    if isinstance(batch, nd.NDArray):
        return batch.as_in_context(ctx)
    if isinstance(batch, (list, tuple)):
        return [_moved(member, ctx) for member in batch]
    return batch
