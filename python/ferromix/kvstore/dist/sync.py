"""The store that all processes change together: `dist_sync`."""

from __future__ import annotations

import os
import pickle
import queue
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from ... import files
from ... import ndarray as nd
from ...error import InvalidArgumentError, MXNetError
from ...ndarray import NDArray
from ...ops.storage import DENSE
from ...optimizer import Optimizer, Updater, get_updater
from ...optimizer.updater import pack_states
from ..base import Key, Keys, Values
from ..compressed import pack, require_compressible, unpack
from ..kvstore import require_optimizer
from ..local import LocalKVStore, _pair
from .issued import gather, issue, key_number
from .item import BARRIER, JOIN, Item, Kind, Name, Piece
from .lane import the_lane
from .shards import Shards, part_of
from .sparse import packed, unpacked
from .states import divided, united

__all__ = ["DistSyncKVStore"]


class DistSyncKVStore(LocalKVStore):
    """A store that has the same values in every process; see :func:`create_dist`.

    Every process pushes to the same keys equally often. A push returns at once; the sum over all
    processes, the update by the owner of the key and the way back overlap with whatever does not
    need the value.

    Parameters
    ----------
    name
        The type.
    """

    needs_all: ClassVar[bool] = True
    """Whether the store cannot go on without a process that died."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._lane = the_lane()
        self._number = self._lane.new_store(self.needs_all)
        self._counts: Counter[tuple[bool, int]] = Counter()
        self._keys: dict[int, Key] = {}
        self._shards = Shards(self.rank, self.num_workers)

    @property
    def rank(self) -> int:
        """The number of this process."""
        return self._lane.peers.rank

    @property
    def num_workers(self) -> int:
        """How many processes there are."""
        return self._lane.peers.size

    # -- data ------------------------------------------------------------------------------------

    def init(self, key: Keys, value: Values) -> None:
        """Gives each key the value of rank 0; see :meth:`KVStore.init`. All processes call it."""
        for k in self._place(key, value):
            stored = self._stored[k]
            if stored.stype == DENSE:
                self._issue(Kind.SHARE, k, 0, 0, None, stored)
            else:
                unpacked(self._gather(k, packed(stored))[0]).copyto(stored)

    def _place(self, key: Keys, value: Values) -> list[Key]:
        """Gives new keys their first values and their owners."""
        super().init(key, value)
        keys = [k for k, _ in _pair(key, value, "init")]
        for k in keys:
            self._keys[key_number(k)] = k
            self._shards.place(k, self._stored[k])
        return keys

    def push(self, key: Keys, value: Values, priority: int = 0) -> None:
        """Sums over all processes, and updates; see :meth:`KVStore.push`."""
        grouped = _pair(key, value, "push")
        for k, arrays in grouped:
            self._check(k, arrays, "push")
            if self._compression is not None:
                require_compressible(k, self._stored[k], arrays)
        for k, arrays in grouped:
            if self._compression is not None:
                self._push_compressed(k, self._merged(k, arrays), priority)
            elif any(a.stype == DENSE for a in arrays):
                self._push_dense(k, self._merged(k, arrays), priority)
            else:
                self._push_rows(k, arrays, priority)

    def _push_dense(self, key: Key, merged: NDArray, priority: int) -> None:
        stored = self._stored[key]
        if self._updater is None:
            self._issue(Kind.SUM, key, priority, 0, merged, stored)
            return
        total, owner = self._sum(key), self._shards.owner(key)
        self._issue(Kind.REDUCE, key, priority, owner, merged, total)
        self._update(key, total)
        # All processes share after they reduced, not only the owner, which had to update between.
        self._issue(Kind.SHARE, key, priority, owner, None, stored, total)

    def _push_compressed(self, key: Key, merged: NDArray, priority: int) -> None:
        """Sends what the gradient becomes in few bits to all, and adds it up in each process."""
        how, stored = self._compression, self._stored[key]
        assert how is not None
        if key not in self._residuals:
            self._residuals[key] = [nd.zeros(stored.shape)]
        mine = nd.empty((how.packed_size(stored.size),), dtype="uint8")
        rows = nd.empty((self.num_workers, *mine.shape), dtype="uint8")
        pack(how, merged, self._residuals[key][0], mine)
        self._issue(Kind.COLLECT, key, priority, 0, mine, rows)
        if self._updater is None:
            return unpack(how, rows, stored)
        total, owner = self._sum(key), self._shards.owner(key)
        unpack(how, rows, total)
        self._update(key, total)
        return self._issue(Kind.SHARE, key, priority, owner, None, stored, total)

    def _update(self, key: Key, total: NDArray) -> None:
        """Runs the updater for what this process owns of a key."""
        mine = self._shards.mine(key)
        if mine is None or self._updater is None:
            return
        try:
            self._updater(key, part_of(total, mine), part_of(self._stored[key], mine))
        except BaseException as error:
            self._lane.fail(
                f"KVStore: the updater of key {key!r} raised on rank {self.rank}: {error!r}"
            )
            raise

    def _merged(self, key: Key, arrays: Sequence[NDArray]) -> NDArray:
        """The sum of what this process pushes, dense and in the type of the store; to be read."""
        stored = self._stored[key]
        if len(arrays) == 1 and arrays[0].stype == DENSE:
            only = arrays[0]
            if only.dtype_name == stored.dtype_name and only.handle.contiguous:
                return only
        total = nd.zeros(stored.shape, dtype=stored.dtype_name)
        self._add_up(total, [a.tostype(DENSE) for a in arrays])
        return total

    def _push_rows(self, key: Key, arrays: Sequence[NDArray], priority: int) -> None:
        """Row-sparse gradients: each process has rows of its own, so this waits for them."""
        merged = nd.add_n(*arrays) if len(arrays) > 1 else arrays[0]
        parts = [unpacked(data) for data in self._gather(key, packed(merged))]
        total = nd.add_n(*parts) if len(parts) > 1 else parts[0]
        stored = self._stored[key]
        if self._updater is None:
            total.copyto(stored)
        elif stored.stype == DENSE:
            owner = self._shards.owner(key)
            if owner < 0:
                total = total.tostype(DENSE)
            self._update(key, total)
            self._issue(Kind.SHARE, key, priority, owner, None, stored)
        else:
            self._update(key, total)
            owner = self._shards.owner(key)
            new = self._gather(key, packed(stored) if owner == self.rank else b"")
            if owner != self.rank:
                unpacked(new[owner]).copyto(stored)

    # -- items -----------------------------------------------------------------------------------

    def _issue(
        self,
        kind: Kind,
        key: Key,
        priority: int,
        owner: int,
        source: NDArray | None,
        target: NDArray,
        after: NDArray | None = None,
    ) -> None:
        words = "summed" if kind != Kind.SHARE else "sent to all"
        label = f"key {key!r} of shape {target.shape} to be {words}"
        item = self._item(kind, key_number(key), label, owner, priority, target)
        issue(self._lane, item, source, target, after)

    def _item(
        self,
        kind: Kind,
        number: int,
        label: str,
        owner: int = 0,
        priority: int = 0,
        target: NDArray | None = None,
    ) -> Item:
        count = self._turn(kind, number)
        self._counts[kind == Kind.SHARE, number] += 1
        facts = () if target is None else (target.stype, target.dtype_name, target.shape)
        if kind == Kind.COLLECT and self._compression is not None:
            facts = (*facts, *self._compression.facts)
        dtype = "uint8" if target is None else target.dtype_name
        name = Name(self._number, kind, number, count)
        return Item(name, label, facts, dtype, owner, priority)

    def _turn(self, kind: int, number: int) -> int:
        """How often a key had its turn: whatever is pushed counts alike, so that it can be seen
        where processes push different things."""
        return self._counts[kind == Kind.SHARE, number]

    def _gather(self, key: Key, payload: bytes) -> Sequence[bytes]:
        item = self._item(Kind.GATHER, key_number(key), f"key {key!r} to be gathered")
        return gather(self._lane, item, payload)

    def _meet(self, what: str, payload: bytes) -> Sequence[bytes]:
        """What each process gives in a call that all make, by rank; waits for them."""
        item = self._item(Kind.GATHER, key_number((what,)), what)
        return gather(self._lane, item, payload)

    def _from_first(self, what: str, payload: Callable[[], bytes]) -> bytes:
        """What the first process gives in a call that all make."""
        first = self.rank == self._lane.peers.alive[0]
        found = next(filter(None, self._meet(what, payload() if first else b"")), None)
        if found is None:
            raise MXNetError(f"KVStore.{what}: the rank died that was to say which")
        return found

    # -- updates ---------------------------------------------------------------------------------

    def set_gradient_compression(self, compression_params: Mapping[str, Any]) -> None:
        """Sends gradients in fewer bits; see :meth:`KVStore.set_gradient_compression`.

        All processes call it, with the same parameters.

        Raises
        ------
        MXNetError
            In all processes, if they are not the same.
        """
        before = self._compression
        super().set_gradient_compression(compression_params)
        assert self._compression is not None
        mine = repr(self._compression.facts)
        all_given = self._meet("set_gradient_compression", mine.encode())
        for rank, given in enumerate(data.decode() for data in all_given):
            if given and given != mine:
                self._compression = before
                raise MXNetError(
                    f"KVStore.set_gradient_compression: {mine} on rank {self.rank} and {given} on "
                    f"rank {rank}; all ranks need one kind and one threshold"
                )

    def set_updater(self, updater: Any) -> None:
        """Sets what the owner of a key does with a sum; see :meth:`KVStore.set_updater`."""
        super().set_updater(updater)
        self._shards.divide_for(updater.optimizer if isinstance(updater, Updater) else None)

    _set_updater = set_updater

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Lets the owners apply the optimizer of rank 0; all processes call it."""
        known = require_optimizer(optimizer)
        self._set_first_optimizer(lambda: pickle.dumps(known))

    def send_command_to_servers(self, head: int, body: str | bytes) -> None:
        """Runs a command in every process; all of them call it, and `body` is that of rank 0.

        The only command is 0, which sets the optimizer that `body` is a pickle of.
        """
        if head != 0:
            raise InvalidArgumentError(
                f"KVStore.send_command_to_servers: the only command is 0, got {head!r}"
            )
        self._set_first_optimizer(lambda: body.encode("latin-1") if isinstance(body, str) else body)

    def _set_first_optimizer(self, data: Callable[[], bytes]) -> None:
        self.set_updater(get_updater(pickle.loads(self._from_first("set_optimizer", data))))

    def save_optimizer_states(
        self, fname: str | os.PathLike[str], dump_optimizer: bool = False
    ) -> None:
        """Has rank 0 write what the optimizers of all remember; all processes call it.

        The file is that of a local store; see :meth:`KVStore.save_optimizer_states`.
        """
        updater = self._optimizer_updater("saved")
        mine = pickle.dumps((updater.states, updater.optimizer))
        owned = [pickle.loads(data) for data in self._meet("save_optimizer_states", mine) if data]
        if self.rank == self._lane.peers.alive[0]:
            shapes = {key: stored.shape for key, stored in self._stored.items()}
            states, optimizer = united(owned, shapes, self._shards)
            files.write(fname, pack_states(states, optimizer, dump_optimizer))

    def load_optimizer_states(self, fname: str | os.PathLike[str]) -> None:
        """Restores what was saved, from the file that rank 0 reads; all processes call it.

        Load only files that you trust; see :meth:`KVStore.load_optimizer_states`.
        """
        updater = self._optimizer_updater("loaded")
        data = self._from_first("load_optimizer_states", lambda: pickle.dumps(_read(fname)))
        read = pickle.loads(data)
        if isinstance(read, Exception):
            raise read
        updater.set_states(read)
        updater.states = divided(updater.states, self._shards, self._stored.__contains__)

    # -- all processes ---------------------------------------------------------------------------

    def barrier(self) -> None:
        """Waits until every process is here.

        Raises
        ------
        MXNetError
            If a process does not come within the limit.
        """
        gather(self._lane, self._item(Kind.GATHER, BARRIER, "a barrier"), b"")

    def num_dead_node(self, node_id: int = 0, timeout: float = 60.0) -> int:
        """How many processes died, or did not answer when the store broke."""
        peers = self._lane.peers
        return len({*peers.silent, *peers.comm.lost})

    get_num_dead_node = num_dead_node

    def join(self) -> None:
        """Takes part in what the others push, with zeros, until all have called this.

        For processes with unequal numbers of batches: whoever has no more joins.

        Raises
        ------
        MXNetError
            As :meth:`barrier`.
        """
        wanted: queue.SimpleQueue[Name | BaseException | None] = queue.SimpleQueue()
        end = self._item(Kind.GATHER, JOIN, "the end of a join")
        end.piece = Piece.empty()
        self._lane.issue(end)
        self._lane.join(wanted.put)
        self._lane.ready(end, lambda error=None: wanted.put(error))
        while not isinstance(name := _next(wanted), (BaseException, type(None))):
            if self._turn(name.kind, name.key) <= name.turn:
                self._contribute(name)
        self._lane.joined()
        if name is not None:
            raise name

    def _contribute(self, name: Name) -> None:
        """Zeros, for what another process does and this one has joined before."""
        if name.key == BARRIER:
            return self.barrier()
        key = self._keys.get(name.key)
        if key is None or name.kind == Kind.SHARE:
            return None  # the second part of a push, or nothing that zeros could stand for
        stored = self._stored[key]
        if name.kind == Kind.GATHER:
            none = nd.sparse.zeros("row_sparse", stored.shape, dtype=stored.dtype_name)
            return self._push_rows(key, [none], 0)
        zeros = nd.zeros(stored.shape, dtype=stored.dtype_name)
        if name.kind == Kind.COLLECT:
            return self._push_compressed(key, zeros, 0)
        return self._push_dense(key, zeros, 0)


def _read(fname: str | os.PathLike[str]) -> bytes | Exception:
    """A file, or why it could not be read, for all to hear."""
    try:
        return files.read(fname)
    except Exception as error:  # raised in every process
        return error


def _next(wanted: queue.SimpleQueue[Any]) -> Any:
    """What comes next, waited for in turns, so that signals are heard."""
    while True:
        try:
            return wanted.get(timeout=0.1)
        except queue.Empty:
            continue
