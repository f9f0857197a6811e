"""The store whose updates apply as they arrive: `dist_async`."""

from __future__ import annotations

import pickle
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
from ..compressed import pack, require_compressible
from ..local import _pair
from ..memory import bytes_of
from .issued import key_number
from .owning import OwningKVStore
from .service import Done, Head, Word
from .shards import part_of
from .sparse import packed, unpacked

__all__ = ["DistAsyncKVStore"]


class DistAsyncKVStore(OwningKVStore):
    """A store whose keys are kept by their owners; see :func:`create_dist`.

    A push goes to the owner, which runs the updater at once, and a pull brings what it has then.
    Processes do not wait for each other, so their weights are a little old when they compute. It
    needs an updater, as in MXNet. Where MPI outlives processes that die, the others go on, and the
    next one keeps each key that such a process owned, from the value that it pulled last.

    Parameters
    ----------
    name
        The type.
    """

    # -- data ------------------------------------------------------------------------------------

    def init(self, key: Keys, value: Values) -> None:
        """Gives each key the value of the first rank; see :meth:`KVStore.init`.

        All processes call it, and it waits for them.
        """
        keys = self._place(key, value)
        if not keys:
            return
        arrays = [self._stored[k] for k in keys]
        facts = [(k, a.stype, a.dtype_name, a.shape) for k, a in zip(keys, arrays, strict=True)]
        for array in arrays:
            array.wait_to_read()
        first = self.rank == self._lane.peers.alive[0]
        values = [bytes_of(a) if a.stype == DENSE else packed(a) for a in arrays if first]
        rest = f" and {len(keys) - 1} more" if len(keys) > 1 else ""
        payload = pickle.dumps((facts, values), protocol=5)
        given = self._meet(f"init of key {keys[0]!r}{rest}", payload)
        everybodys = {rank: pickle.loads(data) for rank, data in enumerate(given) if data}
        self._require_equal({rank: facts for rank, (facts, _) in everybodys.items()})
        values = next((values for _, values in everybodys.values() if values), [])
        for array, data in zip(arrays, values, strict=False):
            if array.stype == DENSE:
                bytes_of(array)[...] = data
            else:
                unpacked(data).copyto(array)
        for k in keys:
            self._keep_mine(k)
        self._meet(f"the end of init of key {keys[0]!r}{rest}", b"")  # no gradient comes before

    def _require_equal(self, facts: dict[int, list[Any]]) -> None:
        (first, ours), *others = facts.items()
        for rank, theirs in others:
            for mine, other in zip(ours, theirs, strict=False):
                if mine != other:
                    text = (
                        f"KVStore.init: key {mine[0]!r} does not match: on rank {first} it is "
                        f"{mine}, on rank {rank} {other}; all ranks need one model"
                    )
                    self._lane.fail(text)
                    raise MXNetError(text)

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
            head = Head(word, self._number, key_number(key), 0, part.handle.nbytes)

            def start(done: Done, rank: int = rank, head: Head = head, part: NDArray = part) -> None:
                self._service.send(rank, head, bytes_of(part), done, f"key {key!r} to be pushed")

            self._push_engine(start, [part], [self._channel(key)], priority, f"push of {key!r}")

    def _push_sparse(self, key: Key, merged: NDArray) -> None:
        for rank, _ in self._places(key):
            data = np.frombuffer(packed(merged), np.uint8)
            head = Head(Word.PUSH_ROWS, self._number, key_number(key), 0, data.nbytes)
            ended = threading.Event()
            what = f"key {key!r} to be pushed"
            self._service.send(rank, head, data, lambda *_, ended=ended: ended.set(), what)
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
        """Brings what the owners have of a key."""
        stored, places = self._stored[key], self._places(key)
        what = f"key {key!r} of shape {stored.shape} to be pulled"

        def start(done: Done) -> None:
            left, lock = [len(places)], threading.Lock()
            memory = bytes_of(stored)
            width = memory.nbytes // max(stored.size, 1)

            def arrived(error: BaseException | None = None) -> None:
                with lock:
                    before, left[0] = left[0], 0 if error is not None else left[0] - 1
                if before > 0 and left[0] == 0:  # the last one, or the first that failed
                    done(error)

            for rank, elements in places:
                first, last = (elements.start or 0) * width, elements.stop
                part = memory[first : None if last is None else last * width]
                self._ask(key, rank, Word.PULL, part, arrived, what)

        self._push_engine(start, [], [stored, self._channel(key)], priority, f"pull of {key!r}")

    def _ask(
        self, key: Key, rank: int, word: Word, part: np.ndarray | None, done: Done, what: str
    ) -> None:
        """Asks an owner for its part of a value, and the next one if that dies."""

        def again() -> None:
            heir = self._shards.owner(key)
            if heir == self.rank:
                done()  # what was pulled last is the value now
            else:
                self._ask(key, heir, word, part, done, what)

        nbytes = 0 if part is None else part.nbytes
        head = Head(word, self._number, key_number(key), 0, nbytes)
        self._service.ask(rank, head, part, done, what, again)

    def _refresh_sparse(self, key: Key) -> None:
        rank = self._shards.owner(key)
        ended, found = threading.Event(), []

        def done(data: object = None) -> None:
            found.append(data)
            ended.set()

        self._ask(key, rank, Word.PULL_ROWS, None, done, f"key {key!r} to be pulled")
        self._wait(ended)
        if isinstance(found[0], BaseException):
            raise found[0]
        if found[0] is not None:
            unpacked(found[0]).copyto(self._stored[key])

    # -- parts -----------------------------------------------------------------------------------

    def set_gradient_compression(self, compression_params: Any) -> None:
        """Sends gradients in fewer bits, to one owner each; all processes call it."""
        super().set_gradient_compression(compression_params)
        self._unite()
        self._shards.divide_for(None)
        self._divide()
        self.barrier()  # no gradient arrives before its owner knows of it

    def set_updater(self, updater: Any) -> None:
        """Sets what the owner of a key does with a gradient; all processes call it."""
        self._unite()
        super().set_updater(updater)
        if self._compression is not None:
            self._shards.divide_for(None)
        self._divide()
        self.barrier()  # no gradient arrives before there is an updater

    _set_updater = set_updater

    def _unite(self) -> None:
        """Has every process hold all of each key, since who owns what may change."""
        engine.wait_for_all()
        self.barrier()  # all that was pushed before has been applied
        for key, stored in self._stored.items():
            if stored.stype == DENSE:
                self._refresh(key, 0)
            else:
                self._refresh_sparse(key)
        engine.wait_for_all()
        self.barrier()

    def _divide(self) -> None:
        """Keeps what this process owns from now on."""
        self._mine.clear()
        for key in self._stored:
            self._keep_mine(key)

    def _packed_gradient(self, key: Key, merged: NDArray) -> NDArray:
        assert self._compression is not None
        residuals = self._residuals.setdefault(key, [nd.zeros(merged.shape)])
        mine = nd.empty((self._compression.packed_size(merged.size),), dtype="uint8")
        pack(self._compression, merged, residuals[0], mine)
        return mine

