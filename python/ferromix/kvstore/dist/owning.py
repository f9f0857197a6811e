"""The owner's part of `dist_async`: what arrives is applied, and what is asked for is answered."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ... import engine
from ... import ndarray as nd
from ...error import MXNetError
from ...ndarray import NDArray
from ...ops.storage import DENSE
from ..base import Key
from ..compressed import unpack
from ..memory import bytes_of
from .issued import key_number
from .item import Kind
from .service import Done, Head, Word
from .shards import WHOLE, Shards, part_of
from .sparse import packed, unpacked
from .sync import DistSyncKVStore

__all__ = ["OwningKVStore"]


class OwningKVStore(DistSyncKVStore):
    """A store that keeps what it owns and serves the others; see :class:`DistAsyncKVStore`.

    Parameters
    ----------
    name
        The type.
    """

    needs_all: ClassVar[bool] = False

    def __init__(self, name: str) -> None:
        super().__init__(name)
        comm = self._lane.peers.comm
        self._shards = Shards(self.rank, self.num_workers, lambda: comm.lost, comm.tolerant)
        self._channels: dict[Key, engine.Var] = {}
        # What this process owns. What it was pulled last is in `_stored`, for which an answer must
        # not wait: its owner may be waiting for another answer.
        self._mine: dict[Key, NDArray] = {}
        self._service = self._lane.service
        self._service.add(self._number, self)

    # -- all processes ---------------------------------------------------------------------------

    def barrier(self) -> None:
        """Waits until every process is here that lives; they serve each other meanwhile.

        What was pushed before has been applied then, if its gradients were there.

        Raises
        ------
        MXNetError
            If a process does not come within the limit.
        """
        self._meet("a barrier", b"")
        # Everybody's gradients came here before its first message. This one says so to all.
        self._meet("the end of a barrier", b"")

    def join(self) -> None:
        """Waits as :meth:`barrier` does."""
        self.barrier()

    def _meet(self, what: str, payload: bytes) -> Sequence[bytes]:
        self._lane.check()
        number = key_number((what,))
        place = self._number, number, self._turn(Kind.GATHER, number)
        self._counts[False, number] += 1
        self._lane.doing = f"is at {what}"
        meeting = self._service.meet(place, payload, what)
        self._wait(meeting.ended)
        if meeting.error is not None:
            raise meeting.error
        self._lane.doing = f"is past {what}"
        return [meeting.given.get(rank, b"") for rank in range(self.num_workers)]

    # -- the owner's part ------------------------------------------------------------------------

    def memory_for(self, head: Head) -> tuple[np.ndarray, Done]:
        """Where the bytes of a push go, and what is called when they are there."""
        key = self._keys[head.key]
        stored, elements = self._stored[key], self._shards.mine(key)
        if elements is None and self._lane.peers.comm.tolerant:
            elements = WHOLE  # its owner died, of which this process has not heard yet
        if elements is None:
            raise MXNetError(f"KVStore: rank {self.rank} does not own key {key!r}")
        if head.word == Word.PUSH_ROWS:
            data = np.empty(head.nbytes, np.uint8)

            def rows_there() -> None:
                with contextlib.suppress(Exception):  # it ends the store, which says more
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
        elements = self._shards.mine(key) or WHOLE
        what = f"the answer for key {key!r} to be sent"
        if head.word == Word.PULL_ROWS:
            data = np.frombuffer(packed(self._master(key, elements)), np.uint8)
            reply = head._replace(word=Word.VALUE, nbytes=data.nbytes)
            return self._service.send(source, reply, data, _nothing, what)
        value = self._master(key, elements).copy()
        reply = head._replace(word=Word.VALUE)

        def start(done: Done) -> None:
            self._service.send(source, reply, bytes_of(value), done, what)

        return self._push_engine(start, [value], [], 0, f"answer for {key!r}")

    def _apply(self, key: Key, gradient: NDArray, elements: slice) -> None:
        assert self._updater is not None
        try:
            self._updater(key, gradient, self._master(key, elements))
        except BaseException as error:
            self._lane.fail(
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
        if key not in self._mine:  # its owner has died
            stored = self._stored[key]
            if stored.stype != DENSE:
                self._mine[key] = stored.copy()
            else:
                # What is there, without a wait for the pulls that are to change it: they wait for
                # an answer from here. The memory is the lane's, on whose thread this is.
                self._mine[key] = nd.zeros(stored.shape, dtype=stored.dtype_name)
                self._mine[key].wait_to_read()
                bytes_of(self._mine[key])[...] = bytes_of(stored)
            assert elements == WHOLE
        return self._mine[key]

    def _keep_mine(self, key: Key) -> None:
        """Begins to keep what this process owns of a key, with the value that is stored."""
        elements = self._shards.mine(key)
        if elements is not None:
            self._mine[key] = part_of(self._stored[key], elements).copy()

    def _places(self, key: Key) -> list[tuple[int, slice]]:
        """The owners of a key, and what each owns."""
        owner = self._shards.owner(key)
        return [(owner, WHOLE)] if owner >= 0 else [*enumerate(self._shards.parts(key))]

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
            pass
        self._lane.check()


def _nothing(*_: object) -> None:
    """Nobody waits for it."""
