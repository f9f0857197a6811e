"""The thread that owns MPI: it does what stores issue, in an order that all processes share.

An item is ready when the engine has done everything that its arrays wait for. The leader, the
first process that has more to push, looks for items that are ready there, by priority, and tells
the others which come next; they wait until theirs are ready too. So communication overlaps with
what is being computed, small values that are ready at once go together, and no process need know
in which order the others' gradients come to be.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

from ... import engine
from ...error import MXNetError
from . import transfers
from .item import ORDERS, Item, Kind, Name
from .mpi import ANY, Communicator, Request
from .peers import ORDER, Broken, Peers, limit_of_waiting
from .service import Service

__all__ = ["Lane", "the_lane"]

_log = logging.getLogger(__name__)

BUCKET = 25 << 20
"""Bytes of values that go together at most."""
MOST = 1024
"""Items that go together at most."""
_IDLE, _NAP, _BLINK = 2e-3, 2e-4, 2e-5
"""Seconds between looks at messages: with nothing to do, while it is computed, just after some."""
_START = 60.0
"""Seconds that the others have to come to MPI at least: hosts do not start at the same time."""
_ABORT = 10
"""Seconds that MPI has to end this process."""
_LAST_WORDS = 1.0
"""Seconds in which the others say what failed before they are ended."""


class Lane:
    """The thread, and what it has to do; one for all stores of a process.

    Raises
    ------
    MXNetError
        Where MPI cannot be used.
    """

    def __init__(self) -> None:
        self.limit = limit_of_waiting()
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._items: dict[Name, Item] = {}
        self._issued = self._stores = self._batches = 0
        # MPI keeps messages of one process in order, and not those of two leaders.
        self._early: dict[int, tuple[np.ndarray, int]] = {}
        self._told: list[str] = []
        self._joined: set[int] = set()
        self._joins = 0
        self._joining = False
        self._ending = False
        self._left: dict[int, float] = {}
        self._unknown: Callable[[Name], None] | None = None
        self._needs_all = False
        self.doing = "has pushed nothing yet"
        self._active = 0.0
        self.peers: Peers
        self.service: Service
        started = threading.Event()
        problems: list[BaseException] = []
        self._thread = threading.Thread(
            target=self._main, args=(started, problems), name="ferromix-mpi", daemon=True
        )
        self._thread.start()
        limit = max(self.limit, _START)
        if not started.wait(limit):
            raise MXNetError(
                f"KVStore: not all processes came to MPI within {limit:g} s: one ended before "
                "it created a store, or computes for longer than FERROMIX_DIST_TIMEOUT"
            )
        if problems:
            raise problems[0]
        atexit.register(self._leave)

    # -- for stores ------------------------------------------------------------------------------

    def new_store(self, needs_all: bool) -> int:
        """A number for a store, equal in all processes if they create theirs in one order.

        `needs_all` says that it cannot go on without a process that died.
        """
        self._needs_all |= needs_all
        self._stores += 1
        return self._stores - 1

    def check(self) -> None:
        """Raises what broke the stores, if they are, or where the process is a fork's child."""
        if self._pid != os.getpid():
            raise MXNetError(
                "KVStore: a distributed store cannot be used in the child of a fork; create one "
                "in a process that MPI started"
            )
        if self.peers.failure is not None:
            raise MXNetError(self.peers.failure)

    def issue(self, item: Item) -> None:
        """Notes an item that will be ready."""
        self.check()
        with self._changed:
            item.number = self._issued
            self._issued += 1
            self._items[item.name] = item

    def ready(self, item: Item, done: Callable[..., object]) -> None:
        """Says that an item may be done now; `done` is called afterwards, with an error if any."""
        with self._changed:
            if self.peers.failure is None:
                item.done, item.since = done, time.monotonic()
                self._changed.notify()
                return
        done(MXNetError(self.peers.failure))

    def abandon(self, item: Item) -> None:
        """Says that an item will never be ready: what it needs has failed in this process."""
        rank = self.peers.rank
        with self._changed:
            if self._items.pop(item.name, None) is not None and self.peers.failure is None:
                self.fail(f"KVStore: on rank {rank} what was to be {item.label} has failed")

    def fail(self, text: str) -> None:
        """Breaks the stores in all processes."""
        self.peers.pending_failure = self.peers.pending_failure or text

    def join(self, unknown: Callable[[Name], None]) -> None:
        """Tells all that this process has no more to push.

        `unknown` is asked for what the others do next and this process has not issued.
        """
        self.check()
        with self._changed:
            self._unknown = unknown
            self._joining = True
            self._changed.notify()

    def joined(self) -> None:
        """Ends what :meth:`join` began, when all have."""
        with self._changed:
            self._unknown = None
            self._joins += 1
            self._joined.clear()

    # -- the thread ------------------------------------------------------------------------------

    def _main(self, started: threading.Event, problems: list[BaseException]) -> None:
        try:
            comm = Communicator()
            self.peers = Peers(comm, self.limit, lambda: self.doing, self._hear)
            self.service = Service(self.peers, self._left)
            self.peers.serve, self.peers.on_death = self.service.turn, self._on_death
            self._listen()
        except BaseException as error:  # raised by the thread that asked for the lane
            problems.append(error)
            return
        finally:
            started.set()
        try:
            while not self._left.keys() >= {*self.peers.alive} or self.service.is_busy:
                self._turn()
            self.service.close()
            comm.cancel(self._order)
            self.peers.close()
            comm.finalize()
        except Broken:
            self._give_up()
        except Exception as error:  # of MPI, or a fault of ours: all must hear of it
            text = f"KVStore: rank {comm.rank} {self.doing}, and failed: {error!r}"
            with contextlib.suppress(Exception):
                self.peers.fail(text)
            self.peers.failure = text
            self._give_up()

    def _turn(self) -> None:
        """Does what is to be done now, or sleeps a little."""
        self.peers.poll()
        for message in self._news():
            self.peers.tell(message)
            if message == "leaving":
                self._left[self.peers.rank] = time.monotonic()
        # Also in a new leader, which hears first what the one before it said last.
        if (found := self.peers.comm.source_of(self._order)) is not None:
            orders = self._orders[: found[1] // ORDERS.itemsize].copy()
            self._early[int(orders["batch"][0])] = orders, found[0]
            self._listen()
        if (order := self._early.pop(self._batches, None)) is not None:
            return self._run(self._wait_for(*order))
        if self.peers.rank == self._leader() and (batch := self._choose()):
            self._announce(batch)
            return self._run(batch)
        return self._rest()

    def _news(self) -> list[str]:
        """What to tell the others of this process."""
        with self._changed:
            told, self._told = self._told, []
            if self._joining and all(item.ends_join for item in self._items.values()):
                self._joining = False
                self._joined.add(self.peers.rank)
                told.append(f"joined {self._joins}")
        return told

    def _listen(self) -> None:
        self._orders = np.empty(MOST, ORDERS)
        self._order: Request = self.peers.comm.receive(self._orders.view(np.uint8), ANY, ORDER)

    def _hear(self, source: int, message: str) -> None:
        if message == "leaving":
            self._left[source] = time.monotonic()
        elif message == f"joined {self._joins}":
            self._joined.add(source)

    def _on_death(self, rank: int) -> None:
        """Says that a process died, and ends the stores if they cannot go on without it."""
        if self._needs_all:
            self.peers.fail(
                f"KVStore: rank {rank} died, and rank {self.peers.rank} {self.doing}; only "
                "dist_async goes on without a rank"
            )
        if self.peers.rank == self.peers.alive[0] and self.peers.rank not in self._left:
            _log.warning("KVStore: rank %d died; the others go on, the next one with its keys", rank)

    def _leader(self) -> int:
        return next((r for r in range(self.peers.size) if r not in self._joined), 0)

    def _choose(self) -> list[Item]:
        """The items that go next: the most urgent one, and small ones like it."""
        with self._changed:
            ready = [item for item in self._items.values() if item.since is not None]
            if len(self._joined) < self.peers.size:
                ready = [item for item in ready if not item.ends_join]
        if not ready:
            return []
        ready.sort(key=lambda item: (-item.priority, item.number))
        first = ready[0]
        batch, size = [first], first.nbytes
        if not first.goes_alone:
            for item in ready[1:]:
                like = item.name[:2] == first.name[:2] and item.dtype == first.dtype
                if like and not item.goes_alone and size + item.nbytes <= BUCKET:
                    batch.append(item)
                    size += item.nbytes
        return batch[:MOST]

    def _announce(self, batch: Sequence[Item]) -> None:
        number = self._batches
        rows = [(*item.name, item.signature, item.label.encode(), number) for item in batch]
        data = np.array(rows, ORDERS).view(np.uint8)
        requests = [self.peers.comm.send(data, rank, ORDER) for rank in self.peers.others]
        self.peers.finish(requests, lambda: f"others to hear of {batch[0].label}")

    def _wait_for(self, orders: np.ndarray, leader: int) -> list[Item]:
        """The items that the leader named, when they are ready here."""
        batch: list[Item] = []
        for *parts, signature, label, _ in orders.tolist():
            item = self._found(Name(*parts), leader, label.decode(errors="replace"))
            if item.signature != signature:
                self.peers.fail(
                    f"KVStore: {item.label} does not match: on rank {self.peers.rank} it is "
                    f"{item.facts}, on rank {leader} something else; all ranks need one model and "
                    "one kind of compression"
                )
            batch.append(item)
        return batch

    def _found(self, name: Name, leader: int, label: str) -> Item:
        started, asked = time.monotonic(), False
        while True:
            with self._changed:
                item = self._items.get(name)
                if item is not None and item.since is not None:
                    return item
                other = None if item is not None else self._in_its_place(name)
                unknown = None if asked or item is not None else self._unknown
                ending = self._ending
            if other is not None:
                self.peers.fail(
                    f"KVStore: rank {leader} comes to {label}, and rank {self.peers.rank} to "
                    f"{other.label}; all ranks push a key as dense, or all as row_sparse"
                )
            if unknown is not None:
                unknown(name)
                asked = True
            if item is None and ending:
                self.peers.fail(
                    f"KVStore: rank {self.peers.rank} ended before {label}, which "
                    f"rank {leader} does"
                )
            self.doing = f"computes {label} still" if item else self._without(label)
            self.peers.pause(started, lambda: f"its own part of {label}, which rank {leader} does")

    def _without(self, label: str) -> str:
        with self._changed:
            ready = [item for item in self._items.values() if item.since is not None]
        first = min(ready, key=lambda item: item.number, default=None)
        rest = "" if first is None else f", and waits for {first.label}"
        return f"has not come to {label}{rest}"

    def _in_its_place(self, name: Name) -> Item | None:
        """What this process does with a key when another does something else."""
        if name.kind == Kind.SHARE:
            return None
        others = (self._items.get(name._replace(kind=kind)) for kind in Kind if kind != Kind.SHARE)
        return next((item for item in others if item is not None), None)

    def _run(self, batch: Sequence[Item]) -> None:
        self.doing = f"is at {batch[0].label}"
        transfers.run(self.peers, batch)
        self._batches += 1
        self.doing = f"is past {batch[0].label}"
        self._active = time.monotonic()
        with self._changed:
            for item in batch:
                del self._items[item.name]
        for item in batch:
            assert item.done is not None
            item.done()

    def _rest(self) -> None:
        """Sleeps until something may have changed."""
        leader, now = self._leader(), time.monotonic()
        with self._changed:
            waiting = [i for i in self._items.values() if i.since is not None and not i.ends_join]
            busy = self._items or self._left or self.service.is_used
            nap = _IDLE if not busy else _NAP if now - self._active > _IDLE else _BLINK
            self._changed.wait(_IDLE if leader == self.peers.rank else nap)
        if waiting and leader != self.peers.rank:
            oldest = min(waiting, key=lambda item: item.number)
            assert oldest.since is not None
            if leader in self._left:
                self.peers.fail(f"KVStore: rank {leader} ended before {oldest.label}")
            self.peers.pause(oldest.since, lambda: oldest.label)
        elif self.peers.rank in self._left and now - self._active > self.limit:
            self._active = now
            silent = [rank for rank in self.peers.missing() if rank not in self._left]
            if silent:
                self.peers.fail(f"KVStore: rank {silent[0]} ended, stopped or is out of reach")

    def _give_up(self) -> None:
        """Ends everything that is under way with the failure."""
        with self._changed:
            items = [item for item in self._items.values() if item.done is not None]
            self._items.clear()
        for item in items:
            assert item.done is not None
            item.done(MXNetError(self.peers.failure))
        self.service.fail(MXNetError(self.peers.failure))

    def _leave(self) -> None:
        """At the end of the process, leaves MPI when all others do."""
        if self._pid != os.getpid():
            return
        error = getattr(sys, "last_value", None)
        if error is not None:
            name = type(error).__name__
            self.fail(f"KVStore: rank {self.peers.rank} ended with {name}: {error}")
        elif self.service.is_used:
            with contextlib.suppress(MXNetError):  # raised where it was waited for, or not at all
                engine.wait_for_all()  # pushes whose gradients are being computed
        # What is issued by now may still be done; what others come to beyond it never will be.
        with self._changed:
            self._ending = True
        while (self._items or self.service.is_busy) and self.peers.failure is None:
            time.sleep(_NAP)
        with self._changed:
            self._active = time.monotonic()
            self._told.append("leaving")
            self._changed.notify()
        self._thread.join()
        if self.peers.failure is not None:
            if error is None:  # nobody has heard of it in this process
                sys.stderr.write(f"{self.peers.failure}\n")
            sys.stderr.flush()
            time.sleep(_LAST_WORDS)
            # MPI waits for its launcher to end this process, which may be out of reach.
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(_ABORT)
            self.peers.comm.abort()


_lane: Lane | None = None
_making = threading.Lock()


def the_lane() -> Lane:
    """The lane of the process, made by the first store."""
    global _lane
    with _making:
        if _lane is None:
            _lane = Lane()
        return _lane
