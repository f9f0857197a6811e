"""Iterators that fetch the next batch by a thread while the present one is used."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from queue import SimpleQueue
from typing import Any

import numpy as np

from ..error import ArgumentTypeError, InvalidArgumentError, MXNetError
from ..ndarray import NDArray
from .iterator import DataBatch, DataDesc, DataIter, provided
from .state import as_state

__all__ = ["PrefetchingIter"]

Renames = Sequence[Mapping[str, str]] | Mapping[str, str] | None


class PrefetchingIter(DataIter):
    """Batches of one or more iterators, each fetched by a thread while the batch before is used.

    A batch has the data of all iterators, and the labels of all. The threads start with the
    iterator, and end when it is closed or no longer used.

    Parameters
    ----------
    iters
        An iterator, or a list of iterators, which give batches of the same size and number. Nobody
        else may use them meanwhile.
    rename_data, rename_label
        For each iterator a dict of new names by the old ones.

    Raises
    ------
    ArgumentTypeError
        For what is no iterator.
    InvalidArgumentError
        For no iterators, or renames that do not fit them.

    Examples
    --------
    >>> import ferromix as mx
    >>> import numpy as np
    >>> inner = mx.io.NDArrayIter(np.arange(4), batch_size=2)
    >>> it = mx.io.PrefetchingIter(inner, rename_data=[{"data": "x"}])
    >>> it.provide_data[0].name, [batch.data[0].asnumpy().tolist() for batch in it]
    ('x', [[0.0, 1.0], [2.0, 3.0]])
    >>> it.close()
    """

    def __init__(
        self, iters: Any, rename_data: Renames = None, rename_label: Renames = None
    ) -> None:
        self.iters = list(iters) if isinstance(iters, (list, tuple)) else [iters]
        if not self.iters:
            raise InvalidArgumentError("PrefetchingIter: iters has no iterators")
        for inner in self.iters:
            if not hasattr(inner, "next") or not hasattr(inner, "provide_data"):
                raise ArgumentTypeError(
                    "PrefetchingIter: iters must be an iterator over batches or a list of them, "
                    f"got {type(inner).__name__}"
                )
        self.n_iter = len(self.iters)
        self.rename_data = self._renames("rename_data", rename_data)
        self.rename_label = self._renames("rename_label", rename_label)
        super().__init__(self.provide_data[0].shape[0])
        self.provide_label  # noqa: B018  names that do not fit are an error now
        self.current_batch: DataBatch | None = None
        self._is_ended = self._is_started = False
        self._fetchers = [_Fetcher(inner) for inner in self.iters]
        self._fetch()

    @provided
    def provide_data(self) -> list[DataDesc]:
        """Names and shapes of the data of all iterators, renamed."""
        given = [inner.provide_data for inner in self.iters]
        return _renamed("rename_data", given, self.rename_data)

    @provided
    def provide_label(self) -> list[DataDesc]:
        """Names and shapes of the labels of all iterators, renamed."""
        given = [inner.provide_label for inner in self.iters]
        return _renamed("rename_label", given, self.rename_label)

    def reset(self) -> None:
        """Starts the next epoch; does nothing before the first batch of the present one."""
        if not self._is_started:
            return
        for fetcher in self._fetchers:
            fetcher.drop()
        for inner in self.iters:
            inner.reset()
        self._begin()

    def close(self) -> None:
        """Ends the threads, once they have what they fetch; nothing can be fetched then."""
        for fetcher in self._fetchers:
            fetcher.close()

    def next(self) -> DataBatch:
        """The next batch.

        Raises
        ------
        StopIteration
            At the end of the epoch.
        MXNetError
            If the iterators do not end together, or their batches differ in padding; and what an
            iterator raises.
        """
        if not self.iter_next():
            raise StopIteration
        return self._current()

    def iter_next(self) -> bool:
        """Moves to the next batch; false at the end of the epoch."""
        if self._is_ended:
            return False
        self._is_started = True
        for fetcher in self._fetchers:
            fetcher.wait()
        outcomes = [fetcher.take() for fetcher in self._fetchers]
        self.current_batch = None
        ended = [isinstance(outcome, StopIteration) for outcome in outcomes]
        if any(ended):
            self._is_ended = True
            if not all(ended):
                raise MXNetError(
                    f"PrefetchingIter: iterator {ended.index(True)} has fewer batches than "
                    f"iterator {ended.index(False)}"
                )
            return False
        self._fetch()
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        self.current_batch = self._joined(outcomes)
        return True

    def getdata(self) -> list[NDArray]:
        """The data of the current batch."""
        return self._current().data

    def getlabel(self) -> list[NDArray] | None:
        """The labels of the current batch."""
        return self._current().label

    def getindex(self) -> np.ndarray | None:
        """The numbers of the current batch's samples, as the first iterator has them."""
        return self._current().index

    def getpad(self) -> int | None:
        """How many samples at the end only fill the current batch up."""
        return self._current().pad

    def state_dict(self) -> dict[str, Any]:
        """Where it stands, without what was fetched ahead.

        The iterators must have ``state_dict``.
        """
        for fetcher in self._fetchers:
            fetcher.wait()
        return {"iters": [fetcher.state() for fetcher in self._fetchers]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes to where :meth:`state_dict` was taken.

        Raises
        ------
        InvalidArgumentError
            For the state of other iterators.
        """
        states = as_state(state).get("iters")
        if not isinstance(states, list) or len(states) != self.n_iter:
            raise InvalidArgumentError(
                f"load_state_dict: the state must be of {self.n_iter} iterators in a list"
            )
        for fetcher in self._fetchers:
            fetcher.drop()
        try:
            for inner, saved in zip(self.iters, states, strict=True):
                inner.load_state_dict(saved)
        finally:
            self._begin()
            self._is_started = True

    def __del__(self) -> None:
        # What was not made whole has no such attribute.
        for fetcher in getattr(self, "_fetchers", ()):
            fetcher.close()

    def _begin(self) -> None:
        self._is_ended = self._is_started = False
        self.current_batch = None
        self._fetch()

    def _fetch(self) -> None:
        for fetcher in self._fetchers:
            fetcher.fetch()

    def _joined(self, batches: list[Any]) -> DataBatch:
        first = batches[0]
        pads = [batch.pad for batch in batches]
        if any(pad != first.pad for pad in pads):
            raise MXNetError(f"PrefetchingIter: the iterators' batches differ in padding: {pads}")
        data = [array for batch in batches for array in batch.data]
        label = [array for batch in batches for array in batch.label or []]
        described = {"provide_data": self.provide_data, "provide_label": self.provide_label}
        return DataBatch(data, label, first.pad, first.index, **described)

    def _current(self) -> DataBatch:
        if self.current_batch is None:
            raise MXNetError("PrefetchingIter: there is no batch yet; call iter_next() or next()")
        return self.current_batch

    def _renames(self, what: str, given: Renames) -> list[Mapping[str, str]] | None:
        if given is None:
            return None
        renames = [given] if isinstance(given, Mapping) else list(given)
        if len(renames) != self.n_iter or not all(isinstance(r, Mapping) for r in renames):
            raise InvalidArgumentError(
                f"PrefetchingIter: {what} must be a list of {self.n_iter} dicts, one for each "
                f"iterator, got {given!r}"
            )
        return renames


class _Fetcher:
    """Fetches batches of an iterator by a thread, when told to, and keeps the outcome."""

    def __init__(self, inner: Any) -> None:
        self._orders: SimpleQueue[bool] = SimpleQueue()
        self._outcomes: SimpleQueue[tuple[Any, Any]] = SimpleQueue()
        self._ready: tuple[Any, Any] | None = None
        self._is_ordered = self._is_closed = False
        self._process = os.getpid()
        # It knows the queues and the iterator only, so that nobody is kept by it.
        args = inner, self._orders, self._outcomes
        threading.Thread(target=_work, args=args, name="ferromix-prefetch", daemon=True).start()

    def fetch(self) -> None:
        """Has the next batch fetched, unless it is, or was."""
        self._check()
        if not self._is_ordered:
            self._is_ordered = True
            self._orders.put(True)

    def wait(self) -> None:
        """Waits for the outcome, if it has not come yet."""
        self._check()
        self.fetch()
        if self._ready is None:
            self._ready = self._outcomes.get()

    def take(self) -> Any:
        """The outcome that was waited for: a batch, or what was raised."""
        ready, self._ready, self._is_ordered = self._ready, None, False
        return None if ready is None else ready[1]

    def state(self) -> Any:
        """The state of the iterator before the batch that was waited for."""
        state = None if self._ready is None else self._ready[0]
        if isinstance(state, BaseException):
            raise state
        return state

    def drop(self) -> None:
        """Waits for a batch that is being fetched, and forgets it."""
        self._check()
        if self._is_ordered:
            self.wait()
            self.take()

    def close(self) -> None:
        """Ends the thread after what it does."""
        if not self._is_closed and self._process == os.getpid():
            self._is_closed = True
            self._orders.put(False)

    def _check(self) -> None:
        if self._is_closed:
            raise MXNetError("PrefetchingIter: it is closed; make another one")
        if self._process != os.getpid():
            raise MXNetError(
                f"PrefetchingIter: it was made by another process ({self._process}), whose threads "
                "are not here; make one in this process"
            )


def _work(inner: Any, orders: SimpleQueue[bool], outcomes: SimpleQueue[tuple[Any, Any]]) -> None:
    """What a thread does: a batch for each order, and an end after the order to end."""
    while orders.get():
        state = outcome = None
        try:
            if hasattr(inner, "state_dict"):
                state = inner.state_dict()
            else:
                state = MXNetError(f"PrefetchingIter: {type(inner).__name__} has no state_dict")
            outcome = inner.next()
        except BaseException as error:
            outcome = error
        outcomes.put((state, outcome))
        # While it waits, it must not keep the batch.
        del state, outcome


def _renamed(
    what: str, given: list[list[Any]], renames: list[Mapping[str, str]] | None
) -> list[DataDesc]:
    found: list[DataDesc] = []
    for number, descriptions in enumerate(given):
        for desc in descriptions:
            known = desc if isinstance(desc, DataDesc) else DataDesc(desc[0], desc[1])
            name = known.name
            if renames is not None:
                if name not in renames[number]:
                    raise InvalidArgumentError(
                        f"PrefetchingIter: {what} has no name for {name!r} of iterator {number}"
                    )
                name = renames[number][name]
            found.append(DataDesc(name, known.shape, known.dtype, known.layout))
    return found
