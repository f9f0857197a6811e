"""Messages of stores without rounds: updates for the owners of keys, and their values on request.

A message is a head, and bytes behind it that arrive in the order of the heads. The lane sends and
receives while it waits for anything else, too, so that an owner answers whatever it does.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from .mpi import ANY, Request
from .peers import Peers

__all__ = ["Done", "Head", "Owner", "Service", "Word"]

_HEADS, _BYTES = 4, 5
"""The tags of heads, and of the bytes behind them."""
_DTYPE: Final = np.dtype(
    [("word", "<u2"), ("store", "<u2"), ("key", "<u8"), ("ticket", "<u8"), ("nbytes", "<u8")]
)
Done = Callable[..., object]


class Word(IntEnum):
    """What a message is."""

    PUSH = 0
    """A gradient for the owner, as it is."""
    PUSH_ROWS = 1
    """A row_sparse gradient."""
    PUSH_PACKED = 2
    """A gradient in few bits."""
    PULL = 3
    """A request for a value."""
    PULL_ROWS = 4
    """A request for a row_sparse value."""
    VALUE = 5
    """What was asked for."""


class Head(NamedTuple):
    """What a message is about."""

    word: int
    store: int
    key: int
    ticket: int
    nbytes: int


class Owner(Protocol):
    """A store, as the lane asks it."""

    def memory_for(self, head: Head) -> tuple[np.ndarray, Done]:
        """Where the bytes of a push go, and what is called when they are there."""
        ...

    def answer(self, head: Head, source: int) -> None:
        """Sends a value, when it is there."""
        ...


class _Asked(NamedTuple):
    memory: np.ndarray | None
    done: Done
    since: float
    what: str
    rank: int


class Service:
    """The messages of one process.

    Parameters
    ----------
    peers
        The processes.
    """

    def __init__(self, peers: Peers) -> None:
        self._peers, self._comm = peers, peers.comm
        self._owners: dict[int, Owner] = {}
        self._lock = threading.Lock()
        self._outgoing: deque[tuple[int, Head, np.ndarray | None, Done]] = deque()
        self._sending: list[tuple[list[Request], Any, Done]] = []
        self._arriving: dict[int, deque[tuple[Request, np.ndarray | None, Done]]] = {}
        self._asked: dict[int, _Asked] = {}
        self._tickets = 0
        self._failure: BaseException | None = None
        self._head = np.empty(1, _DTYPE)
        self._request = self._comm.receive(self._head.view(np.uint8), ANY, _HEADS)

    def add(self, number: int, owner: Owner) -> None:
        """Lets a store answer."""
        self._owners[number] = owner

    @property
    def is_busy(self) -> bool:
        """Whether something is under way."""
        arriving = any(self._arriving.values())
        return bool(self._outgoing or self._sending or arriving or self._asked)

    @property
    def is_used(self) -> bool:
        """Whether there is a store."""
        return bool(self._owners)

    # -- for stores, on any thread ----------------------------------------------------------------

    def send(self, rank: int, head: Head, data: np.ndarray | None, done: Done) -> None:
        """Sends a message; `done` is called when `data` may change again."""
        with self._lock:
            if self._failure is None:
                self._outgoing.append((rank, head, data, done))
                return
        done(self._failure)

    def ask(
        self, rank: int, head: Head, memory: np.ndarray | None, done: Done, what: str
    ) -> None:
        """Asks for a value, to be written to `memory`, or given to `done` where that is None."""
        with self._lock:
            if self._failure is None:
                self._tickets += 1
                ticket = self._tickets
                self._asked[ticket] = _Asked(memory, done, time.monotonic(), what, rank)
                self._outgoing.append((rank, head._replace(ticket=ticket), None, _nothing))
                return
        done(self._failure)

    # -- for the lane ------------------------------------------------------------------------------

    def turn(self) -> None:
        """Does what can be done now, without waiting."""
        while self._outgoing:
            rank, head, data, done = self._outgoing.popleft()
            row = np.array([head], _DTYPE)
            requests = [self._comm.send(row.view(np.uint8), rank, _HEADS)]
            if data is not None and data.nbytes:
                requests.append(self._comm.send(data, rank, _BYTES))
            self._sending.append((requests, (row, data), done))
        self._sending = [sent for sent in self._sending if not self._is_sent(*sent)]
        while (found := self._comm.source_of(self._request)) is not None:
            head = Head(*self._head[0].tolist())
            self._request = self._comm.receive(self._head.view(np.uint8), ANY, _HEADS)
            self._hear(found[0], head)
        for come in self._arriving.values():
            while come and self._comm.all_done([come[0][0]] if come[0][0] is not None else []):
                come.popleft()[2]()
        self._complain()

    def close(self) -> None:
        """Listens no more."""
        self._comm.cancel(self._request)

    def fail(self, error: BaseException) -> None:
        """Ends all that is under way with an error."""
        with self._lock:
            self._failure = error
            ended = [done for _, _, _, done in self._outgoing]
            ended += [done for _, _, done in self._sending]
            ended += [asked.done for asked in self._asked.values()]
            self._outgoing.clear()
            self._asked.clear()
        self._sending = []
        for done in ended:
            done(error)

    def _is_sent(self, requests: list[Request], _: Any, done: Done) -> bool:
        ended = self._comm.all_done(requests)
        if ended:
            done()
        return ended

    def _hear(self, source: int, head: Head) -> None:
        if head.word in (Word.PULL, Word.PULL_ROWS):
            # In its turn: what the same process pushed before may be on its way.
            self._queue(source, None, lambda: self._owners[head.store].answer(head, source))
        elif head.word == Word.VALUE:
            with self._lock:
                asked = self._asked.pop(head.ticket)
            memory, done = asked.memory, asked.done
            if memory is None:
                given = np.empty(head.nbytes, np.uint8)
                self._receive(source, given, lambda: done(given.tobytes()))
            else:
                self._receive(source, memory, done)
        else:
            memory, done = self._owners[head.store].memory_for(head)
            self._receive(source, memory, done)

    def _receive(self, source: int, memory: np.ndarray, done: Done) -> None:
        self._queue(source, memory if memory.nbytes else None, done)

    def _queue(self, source: int, memory: np.ndarray | None, done: Done) -> None:
        """Calls `done` when what came from a process before is done, and `memory` is filled."""
        request = None if memory is None else self._comm.receive(memory, source, _BYTES)
        self._arriving.setdefault(source, deque()).append((request, memory, done))

    def _complain(self) -> None:
        with self._lock:
            oldest = next(iter(self._asked.values()), None)
        if oldest is not None and time.monotonic() - oldest.since > self._peers.limit:
            self._peers.accuse(f"{oldest.what} from its owner, rank {oldest.rank}")


def _nothing(*_: object) -> None:
    """Nobody waits for it."""
