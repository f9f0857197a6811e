"""Messages of stores without rounds: updates for the owners of keys, and their values on request.

A message is a head, and bytes behind it that arrive in the order of the heads. The lane sends and
receives while it waits for anything else, too, so that an owner answers whatever it does. What all
do together is a message from each to each, which needs no order and nobody who leads, so that it
ends without a process that dies.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from .mpi import ANY, Request
from .peers import GRACE, Peers

__all__ = ["Done", "Head", "Meeting", "Owner", "Service", "Word"]

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
    MEET = 6
    """What a process gives to all."""


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
    again: Callable[[], None]


class _Message(NamedTuple):
    rank: int
    head: Head
    data: np.ndarray | None
    done: Done
    what: str


class _Sent(NamedTuple):
    rank: int
    requests: list[Request]
    data: Any  # which must stay there until it is sent
    done: Done
    since: float
    what: str


class Meeting:
    """What all processes do together, and what each gave so far."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.since = time.monotonic()
        self.given: dict[int, bytes] = {}
        self.ended = threading.Event()
        self.error: BaseException | None = None


class Service:
    """The messages of one process.

    Parameters
    ----------
    peers
        The processes.
    left
        Those that have come to their end, and when they said so.
    """

    def __init__(self, peers: Peers, left: Mapping[int, float]) -> None:
        self._peers, self._comm, self._left = peers, peers.comm, left
        self._owners: dict[int, Owner] = {}
        self._lock = threading.Lock()
        self._outgoing: deque[_Message] = deque()
        self._sending: list[_Sent] = []
        self._arriving: dict[int, deque[tuple[Request, np.ndarray | None, Done]]] = {}
        self._asked: dict[int, _Asked] = {}
        self._given: dict[tuple[int, int, int], dict[int, bytes]] = {}
        self._meetings: dict[tuple[int, int, int], Meeting] = {}
        self._abandoned: list[object] = []
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
        return bool(
            self._outgoing or self._sending or arriving or self._asked or self._meetings
        )

    @property
    def is_used(self) -> bool:
        """Whether there is a store."""
        return bool(self._owners)

    # -- for stores, on any thread ----------------------------------------------------------------

    def send(self, rank: int, head: Head, data: np.ndarray, done: Done, what: str) -> None:
        """Sends a message; `done` is called when `data` may change again."""
        with self._lock:
            if self._failure is None:
                self._outgoing.append(_Message(rank, head, data, done, what))
                return
        done(self._failure)

    def ask(
        self,
        rank: int,
        head: Head,
        memory: np.ndarray | None,
        done: Done,
        what: str,
        again: Callable[[], None],
    ) -> None:
        """Asks for a value, to be written to `memory`, or given to `done` where that is None.

        `again` is called if the process dies that is asked.
        """
        with self._lock:
            if self._failure is None:
                self._tickets += 1
                ticket = self._tickets
                self._asked[ticket] = _Asked(memory, done, time.monotonic(), what, rank, again)
                head = head._replace(ticket=ticket)
                self._outgoing.append(_Message(rank, head, None, _nothing, what))
                return
        done(self._failure)

    def meet(self, place: tuple[int, int, int], payload: bytes, what: str) -> Meeting:
        """Gives `payload` to all at `place`, which is a store, a number and how often before."""
        meeting, (store, number, turn) = Meeting(what), place
        data = np.frombuffer(payload, np.uint8)
        with self._lock:
            meeting.given = self._given.setdefault(place, {})
            meeting.given[self._peers.rank] = payload
            if self._failure is None:
                self._meetings[place] = meeting
                head = Head(Word.MEET, store, number, turn, data.nbytes)
                for rank in self._peers.others:
                    self._outgoing.append(_Message(rank, head, data, _nothing, what))
                return meeting
        meeting.error = self._failure
        meeting.ended.set()
        return meeting

    # -- for the lane ------------------------------------------------------------------------------

    def turn(self) -> None:
        """Does what can be done now, without waiting."""
        self._drop_the_dead()
        while self._outgoing:
            rank, head, data, done, what = self._outgoing.popleft()
            if rank in self._comm.lost:
                done()
                continue
            row = np.array([head], _DTYPE)
            requests = [self._comm.send(row.view(np.uint8), rank, _HEADS)]
            if data is not None and data.nbytes:
                requests.append(self._comm.send(data, rank, _BYTES))
            sent = _Sent(rank, requests, (row, data), done, time.monotonic(), what)
            self._sending.append(sent)
        self._sending = [sent for sent in self._sending if not self._is_sent(sent)]
        while (found := self._comm.source_of(self._request)) is not None:
            head = Head(*self._head[0].tolist())
            self._request = self._comm.receive(self._head.view(np.uint8), ANY, _HEADS)
            if found[0] not in self._comm.lost:
                self._hear(found[0], head)
        for source, come in list(self._arriving.items()):
            while come and self._has_come(source, come[0][0]):
                come.popleft()[2]()
        self._end_meetings()
        self._check_limits()

    def _drop_the_dead(self) -> None:
        """Forgets what was to go to processes that died, and asks others for what they were asked.

        In every turn, since this process may send to one of which it has not heard yet.
        """
        lost = self._comm.lost
        if not lost:
            return
        with self._lock:
            unanswered = [ticket for ticket, asked in self._asked.items() if asked.rank in lost]
            asked_for = [self._asked.pop(ticket) for ticket in unanswered]
        dropped = [sent for sent in self._sending if sent.rank in lost]
        self._sending = [sent for sent in self._sending if sent.rank not in lost]
        # MPI may still look at the memory of what was under way.
        self._abandoned += [*dropped, *(self._arriving.pop(r) for r in lost & self._arriving.keys())]
        for sent in dropped:
            sent.done()
        for asked in asked_for:
            asked.again()

    def close(self) -> None:
        """Listens no more."""
        self._comm.cancel(self._request)

    def fail(self, error: BaseException) -> None:
        """Ends all that is under way with an error."""
        with self._lock:
            self._failure = error
            ended = [message.done for message in self._outgoing]
            ended += [sent.done for sent in self._sending]
            ended += [asked.done for asked in self._asked.values()]
            meetings = [*self._meetings.values()]
            self._outgoing.clear()
            self._asked.clear()
            self._meetings.clear()
        self._sending = []
        for meeting in meetings:
            meeting.error = error
            meeting.ended.set()
        for done in ended:
            done(error)

    def _is_sent(self, sent: _Sent) -> bool:
        ended = self._comm.all_done(sent.requests)
        if ended:
            sent.done()
        return ended

    def _has_come(self, source: int, request: Request | None) -> bool:
        # What fails because its source died counts as done for MPI, and has not come.
        done = request is None or self._comm.all_done([request])
        return done and source not in self._comm.lost

    def _hear(self, source: int, head: Head) -> None:
        if head.word in (Word.PULL, Word.PULL_ROWS):
            # In its turn: what the same process pushed before may be on its way.
            self._queue(source, None, lambda: self._owners[head.store].answer(head, source))
        elif head.word == Word.VALUE:
            self._hear_value(source, head)
        elif head.word == Word.MEET:
            given = np.empty(head.nbytes, np.uint8)
            place = head.store, head.key, head.ticket

            def there() -> None:
                with self._lock:
                    self._given.setdefault(place, {})[source] = given.tobytes()

            self._receive(source, given, there)
        else:
            memory, done = self._owners[head.store].memory_for(head)
            self._receive(source, memory, done)

    def _hear_value(self, source: int, head: Head) -> None:
        with self._lock:
            asked = self._asked[head.ticket]
        # Aside, where a process may die half way: a value is then still what it was.
        aside = asked.memory is None or self._comm.tolerant
        given = np.empty(head.nbytes, np.uint8) if aside else asked.memory
        assert given is not None

        def there() -> None:
            with self._lock:
                del self._asked[head.ticket]
            if asked.memory is None:
                asked.done(given.tobytes())
                return
            if aside:
                asked.memory[...] = given
            asked.done()

        self._receive(source, given, there)

    def _receive(self, source: int, memory: np.ndarray, done: Done) -> None:
        self._queue(source, memory if memory.nbytes else None, done)

    def _queue(self, source: int, memory: np.ndarray | None, done: Done) -> None:
        """Calls `done` when what came from a process before is done, and `memory` is filled."""
        request = None if memory is None else self._comm.receive(memory, source, _BYTES)
        self._arriving.setdefault(source, deque()).append((request, memory, done))

    def _end_meetings(self) -> None:
        """Ends those to which all have come that live."""
        with self._lock:
            alive = {*self._peers.alive}
            ended = [p for p, meeting in self._meetings.items() if meeting.given.keys() >= alive]
            for place in ended:
                self._given.pop(place)
                self._meetings.pop(place).ended.set()

    def _check_limits(self) -> None:
        """Ends what has waited for too long, or for a process that is at its end."""
        with self._lock:
            asked = next(iter(self._asked.values()), None)
            meeting = next(iter(self._meetings.values()), None)
        now, limit = time.monotonic(), self._peers.limit
        if asked is not None and now - asked.since > limit:
            self._peers.report_silent(f"{asked.what} from its owner, rank {asked.rank}")
        if self._sending and now - (sent := self._sending[0]).since > limit:
            self._peers.report_silent(f"{sent.what}, which rank {sent.rank} does not take")
        if meeting is None:
            return
        if now - meeting.since > limit:
            self._peers.report_silent(meeting.what)
        for rank in {*self._peers.others} - meeting.given.keys():
            # What it gave before its end may still be on its way.
            if now - max(self._left.get(rank, now), meeting.since) > GRACE:
                self._peers.fail(f"KVStore: rank {rank} ended before {meeting.what}")


def _nothing(*_: object) -> None:
    """Nobody waits for it."""
