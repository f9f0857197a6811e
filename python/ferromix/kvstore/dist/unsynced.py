"""The store whose updates apply as they arrive: `dist_async`."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import engine
from ... import ndarray as nd
from ...error import MXNetError
from ...ndarray import NDArray
from ...ops.storage import DENSE
from ..base import Key, Keys, Values
from ..compressed import pack, require_compressible, unpack
from ..local import _pair
from ..memory import bytes_of
from .service import Done, Head, Word
from .shards import WHOLE, part_of
from .sparse import packed, unpacked
from .sync import DistSyncKVStore

__all__ = ["DistAsyncKVStore"]


class DistAsyncKVStore(DistSyncKVStore):
    """A store whose keys are kept by their owners; see :func:`create_dist`.

    A push goes to the owner, which runs the updater at once, and a pull brings what it has then.
    Processes do not wait for each other, so their weights are a little old when they compute. It
    needs an updater, as in MXNet.

    Parameters
    ----------
    name
        The type.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._updating, self._making = threading.Lock(), threading.Lock()
        self._channels: dict[Key, engine.Var] = {}
        # Of divided keys, what this process owns; what it was pulled last is in `_stored`, which an
        # answer must not wait for: its owner may be waiting for another answer.
        self._mine: dict[Key, NDArray] = {}
        self._service = self._lane.service
        self._service.add(self._number, self)

    # -- data ------------------------------------------------------------------------------------

    def push(self, key: Keys, value: Values, priority: int = 0) -> None:
        """Sends gradients to the owners of keys; see :meth:`KVStore.push`.

        Raises
        ------
        MXNetError
            Without an updater.
        """
        self._lane.check()
        if self._updater is None:
            raise MXNetError(
                f"KVStore.push: {self.type} updates as gradients arrive, and needs an updater; "
                "call set_optimizer or set_updater first"
            )
        grouped = _pair(key, value, "push")
        for k, arrays in grouped:
            self._check(k, arrays, "push")
            if self._compression is not None:
                require_compressible(k, self._stored[k], arrays)
        for k, arrays in grouped:
            if any(a.stype == DENSE for a in arrays):
                self._push_parts(k, self._merged(k, arrays), priority)
            else:
                merged = nd.add_n(*arrays) if len(arrays) > 1 else arrays[0]
                self._push_sparse(k, merged)

    def _push_parts(self, key: Key, merged: NDArray, priority: int) -> None:
        word = Word.PUSH
        if self._compression is not None:
            word, merged = Word.PUSH_PACKED, self._packed_gradient(key, merged)
        for rank, elements in self._places(key):
            part = merged if word == Word.PUSH_PACKED else part_of(merged, elements)
            if rank == self.rank:
                self._apply(key, self._unpacked_gradient(key, part) if word else part, elements)
                continue
            head = Head(word, self._number, self._key_number(key), 0, part.handle.nbytes)

            def start(done: Done, rank: int = rank, head: Head = head, part: NDArray = part) -> None:
                self._service.send(rank, head, bytes_of(part), done)

            self._push_engine(start, [part], [self._channel(key)], priority, f"push of {key!r}")

    def _push_sparse(self, key: Key, merged: NDArray) -> None:
        for rank, elements in self._places(key):
            if rank == self.rank:
                total = merged if elements == WHOLE else merged.tostype(DENSE)
                self._apply(key, part_of(total, elements), elements)
                continue
            data = np.frombuffer(packed(merged), np.uint8)
            head = Head(Word.PUSH_ROWS, self._number, self._key_number(key), 0, data.nbytes)
            ended = threading.Event()
            self._service.send(rank, head, data, lambda *_, ended=ended: ended.set())
            self._wait(ended)

    def pull(
        self, key: Keys, out: Values | None = None, priority: int = 0, ignore_sparse: bool = True
    ) -> None:
        """Copies what the owners have; see :meth:`KVStore.pull`."""
        self._lane.check()
        if out is not None:
            grouped = _pair(key, out, "pull")
            for k, arrays in grouped:
                self._check(k, arrays, "pull")
            for k, _ in grouped:
                if self._stored[k].stype == DENSE:
                    self._refresh(k, priority)
        super().pull(key, out, priority, ignore_sparse)

    def row_sparse_pull(
        self,
        key: Keys,
        out: Values | None = None,
        priority: int = 0,
        row_ids: NDArray | Sequence[NDArray] | None = None,
    ) -> None:
        """Copies rows of what the owners have; see :meth:`KVStore.row_sparse_pull`."""
        self._lane.check()
        for k in [key] if isinstance(key, (int, str)) else dict.fromkeys(key):
            if k in self._stored and self._stored[k].stype != DENSE:
                self._refresh_sparse(k)
        super().row_sparse_pull(key, out, priority, row_ids)

    def _refresh(self, key: Key, priority: int) -> None:
        """Brings the parts of a value that others own."""
        stored = self._stored[key]
        others = [(r, e) for r, e in self._places(key) if r != self.rank]
        if not others:
            return
        what = f"key {key!r} of shape {stored.shape} to be pulled"

        def start(done: Done) -> None:
            left, lock = [len(others)], threading.Lock()
            memory = bytes_of(stored)
            width = memory.nbytes // max(stored.size, 1)

            def arrived(error: BaseException | None = None) -> None:
                with lock:
                    before, left[0] = left[0], 0 if error is not None else left[0] - 1
                if before > 0 and left[0] == 0:  # the last one, or the first that failed
                    done(error)

            for rank, elements in others:
                first, last = (elements.start or 0) * width, elements.stop
                part = memory[first : None if last is None else last * width]
                head = Head(Word.PULL, self._number, self._key_number(key), 0, part.nbytes)
                self._service.ask(rank, head, part, arrived, what)

        # A copy, since what waits for `stored` must not keep updates, and answers behind them, waiting.
        own = [(self._master(key, e).copy(), e) for r, e in self._places(key) if r == self.rank]
        self._push_engine(start, [], [stored, self._channel(key)], priority, f"pull of {key!r}")
        for part, elements in own:
            part.copyto(part_of(stored, elements))

    def _refresh_sparse(self, key: Key) -> None:
        rank = self._shards.owner(key)
        if rank == self.rank:
            return
        ended, found = threading.Event(), []

        def done(data: object) -> None:
            found.append(data)
            ended.set()

        head = Head(Word.PULL_ROWS, self._number, self._key_number(key), 0, 0)
        self._service.ask(rank, head, None, done, f"key {key!r} to be pulled")
        self._wait(ended)
        if isinstance(found[0], BaseException):
            raise found[0]
        unpacked(found[0]).copyto(self._stored[key])

    def join(self) -> None:
        """Waits until all processes have called it; they serve each other meanwhile."""
        self.barrier()

    # -- the owner's part ------------------------------------------------------------------------

    def memory_for(self, head: Head) -> tuple[np.ndarray, Done]:
        """Where the bytes of a push go, and what is called when they are there."""
        key = self._keys[head.key]
        stored, elements = self._stored[key], self._shards.mine(key)
        if elements is None:
            raise MXNetError(f"KVStore: rank {self.rank} does not own key {key!r}")
        if head.word == Word.PUSH_ROWS:
            data = np.empty(head.nbytes, np.uint8)

            def rows_there() -> None:
                with contextlib.suppress(Exception):  # it dooms the store, which says more
                    self._apply_rows(key, data.tobytes(), elements)

            return data, rows_there
        if head.word == Word.PUSH_PACKED:
            part = nd.zeros((head.nbytes,), dtype="uint8")
        else:
            part = nd.zeros(part_of(stored, elements).shape, dtype=stored.dtype_name)
        part.wait_to_read()
        if part.handle.nbytes != head.nbytes:
            raise MXNetError(
                f"KVStore: key {key!r} has {part.handle.nbytes} bytes on rank {self.rank}, and "
                f"{head.nbytes} in another process"
            )

        def there() -> None:
            packed_up = head.word == Word.PUSH_PACKED
            gradient = self._unpacked_gradient(key, part) if packed_up else part
            with contextlib.suppress(Exception):  # as above
                self._apply(key, gradient, elements)

        return bytes_of(part), there

    def answer(self, head: Head, source: int) -> None:
        """Sends a value when what was pushed before has been applied."""
        key = self._keys[head.key]
        stored, elements = self._stored[key], self._shards.mine(key) or WHOLE
        if head.word == Word.PULL_ROWS:
            data = np.frombuffer(packed(stored), np.uint8)
            reply = head._replace(word=Word.VALUE, nbytes=data.nbytes)
            return self._service.send(source, reply, data, _nothing)
        value = self._master(key, elements).copy()
        reply = head._replace(word=Word.VALUE)

        def start(done: Done) -> None:
            self._service.send(source, reply, bytes_of(value), done)

        return self._push_engine(start, [value], [], 0, f"answer for {key!r}")

    def _apply(self, key: Key, gradient: NDArray, elements: slice) -> None:
        assert self._updater is not None
        try:
            with self._updating:
                self._updater(key, gradient, self._master(key, elements))
        except BaseException as error:
            self._lane.doom(
                f"KVStore: the updater of key {key!r} raised on rank {self.rank}: {error!r}"
            )
            raise

    def _apply_rows(self, key: Key, data: bytes, elements: slice) -> None:
        total = unpacked(data)
        if elements != WHOLE:
            total = total.tostype(DENSE)
        self._apply(key, part_of(total, elements), elements)

    def _master(self, key: Key, elements: slice) -> NDArray:
        """What this process owns of a key."""
        stored = self._stored[key]
        if elements == WHOLE:
            return stored
        with self._making:
            if key not in self._mine:
                self._mine[key] = part_of(stored, elements).copy()
            return self._mine[key]

    # -- parts -----------------------------------------------------------------------------------

    def _places(self, key: Key) -> list[tuple[int, slice]]:
        """The owners of a key, and what each owns."""
        owner = self._shards.owner(key)
        return [(owner, WHOLE)] if owner >= 0 else [*enumerate(self._shards.parts(key))]

    def set_gradient_compression(self, compression_params: Any) -> None:
        """Sends gradients in fewer bits, to one owner each; see the interface."""
        super().set_gradient_compression(compression_params)
        self._shards.divide_for(None)

    def set_updater(self, updater: Any) -> None:
        """Sets what the owner of a key does with a gradient; all processes call it."""
        for key in self._mine:  # who owns what may change
            self._refresh(key, 0)
        engine.wait_for_all()
        self.barrier()
        self._mine.clear()
        super().set_updater(updater)
        if self._compression is not None:
            self._shards.divide_for(None)
        self.barrier()  # no gradient arrives before there is an updater

    _set_updater = set_updater

    def _packed_gradient(self, key: Key, merged: NDArray) -> NDArray:
        assert self._compression is not None
        residuals = self._residuals.setdefault(key, [nd.zeros(merged.shape)])
        mine = nd.empty((self._compression.packed_size(merged.size),), dtype="uint8")
        pack(self._compression, merged, residuals[0], mine)
        return mine

    def _unpacked_gradient(self, key: Key, data: NDArray) -> NDArray:
        assert self._compression is not None
        total = nd.empty(self._stored[key].shape)
        unpack(self._compression, data.reshape((1, -1)) if data.size else data, total)
        return total

    def _channel(self, key: Key) -> engine.Var:
        """What orders the messages of a key."""
        if key not in self._channels:
            self._channels[key] = engine.new_variable()
        return self._channels[key]

    def _push_engine(
        self,
        start: Any,
        reads: Sequence[NDArray],
        writes: Sequence[NDArray | engine.Var],
        priority: int,
        name: str,
    ) -> None:
        engine.push_async(
            start,
            const_vars=[*reads],
            mutable_vars=[*writes],
            priority=priority,
            name=f"KVStore {name}",
        )

    def _wait(self, ended: threading.Event) -> None:
        while not ended.wait(0.1):  # in turns, so that signals are heard
            self._lane.check()


def _nothing(*_: object) -> None:
    """Nobody waits for it."""
