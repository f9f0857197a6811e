"""Messages with a deadline: whoever waits too long finds out for whom, and tells everybody."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Sequence

import numpy as np

from ...error import InvalidArgumentError, MXNetError
from .mpi import ANY, Communicator, Request

__all__ = ["Broken", "DATA", "GRACE", "ORDER", "Peers", "limit_of_waiting"]

DATA, ORDER, CONTROL = range(1, 4)
"""The tags of values, of what is to be done next, and of :class:`Peers`' own messages."""
_LONGEST = 1 << 14
"""Bytes of a message of control at most."""
_WORDS = _LONGEST // 8
"""Characters of a text in one; a character may need four bytes."""
GRACE = 2.0
"""Seconds in which a process that lives answers."""
_NAPS = 2e-4
"""Seconds of sleep between looks at messages that take long."""


class Broken(MXNetError):
    """The stores are broken, for a reason that all processes hear of."""


def limit_of_waiting() -> float:
    """Seconds that a process waits for another, from ``FERROMIX_DIST_TIMEOUT``; 600 unless set.

    Raises
    ------
    InvalidArgumentError
        For a value that is no positive number.
    """
    text = os.environ.get("FERROMIX_DIST_TIMEOUT", "600")
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise InvalidArgumentError(
            f"FERROMIX_DIST_TIMEOUT must be a number of seconds above 0, got {text!r}"
        )
    return seconds


class Peers:
    """This process and the others.

    Parameters
    ----------
    comm
        The processes.
    limit
        Seconds to wait for any of them.
    state
        Says what this process is doing, for those that wait for it.
    heard
        Called with the number of a process, and what it told everybody.
    """

    def __init__(
        self,
        comm: Communicator,
        limit: float,
        state: Callable[[], str],
        heard: Callable[[int, str], None],
    ) -> None:
        self.comm, self.rank, self.size, self.limit = comm, comm.rank, comm.size, limit
        self.failure: str | None = None
        self.pending_failure: str | None = None
        self.silent: list[int] = []
        self.serve: Callable[[], None] | None = None
        self.on_death: Callable[[int], None] | None = None
        self._told_dead: frozenset[int] = frozenset()
        self._state, self._heard = state, heard
        self._answers: dict[int, str] = {}
        self._sent: list[tuple[Request, bytes]] = []
        self._inbox = np.empty(_LONGEST, np.uint8)
        self._request = comm.receive(self._inbox, ANY, CONTROL)
        self._serving = False

    @property
    def alive(self) -> list[int]:
        """The numbers of all processes but those that died."""
        return [rank for rank in range(self.size) if rank not in self.comm.lost]

    @property
    def others(self) -> list[int]:
        """The numbers of the other processes."""
        return [rank for rank in self.alive if rank != self.rank]

    def finish(self, requests: Sequence[Request], what: Callable[[], str]) -> None:
        """Waits until messages have arrived; `what` says for what.

        Raises
        ------
        Broken
            After the limit, naming who does not answer or does something else; or when another
            process has failed.
        """
        started = time.monotonic()
        while not self.comm.all_done(requests):
            self.pause(started, what)

    def pause(self, started: float, what: Callable[[], str]) -> None:
        """A turn of waiting for something that began at `started`; raises as :meth:`finish`."""
        self.poll()
        waited = time.monotonic() - started
        if waited > self.limit:
            self.report_silent(what())
        time.sleep(0 if waited < 2e-3 else _NAPS)

    def poll(self) -> None:
        """Answers what other processes ask.

        Raises
        ------
        Broken
            If one of them has failed, or this one is to.
        """
        if self.pending_failure is not None:
            self.fail(self.pending_failure)
        while (found := self.comm.source_of(self._request)) is not None:
            source, count = found
            message = pickle.loads(self._inbox[:count].tobytes())
            self._request = self.comm.receive(self._inbox, ANY, CONTROL)
            self._hear(source, *message)
        self._tell_of_the_dead()
        if self.serve is not None and not self._serving:
            self._serving = True
            try:
                self.serve()
            finally:
                self._serving = False
        if self._sent:
            self._sent = [sent for sent in self._sent if not self.comm.all_done([sent[0]])]

    def _tell_of_the_dead(self) -> None:
        """Tells of those who died since the last time."""
        for rank in sorted(self.comm.lost - self._told_dead):
            self._told_dead |= {rank}
            if self.on_death is not None:
                self.on_death(rank)

    def close(self) -> None:
        """Listens no more."""
        self.comm.cancel(self._request)

    def tell(self, *message: object) -> None:
        """Sends a message of control to every other process."""
        for rank in self.others:
            self._tell(rank, *message)

    def fail(self, text: str) -> None:
        """Tells everybody that the store is broken, and raises."""
        if self.failure is None:
            # What failed in this process before is why it comes to this.
            self.failure = self.pending_failure or text
            self.tell("fail", self.failure[:_WORDS])
            deadline = time.monotonic() + min(GRACE, self.limit)
            while self._sent and time.monotonic() < deadline:
                self._sent = [s for s in self._sent if not self.comm.all_done([s[0]])]
                time.sleep(_NAPS)
        raise Broken(self.failure)

    def _hear(self, source: int, kind: str, text: str = "") -> None:
        if kind == "fail":
            self.failure = self.failure or text
            raise Broken(self.failure)
        if kind == "probe":
            self._tell(source, "alive", self._state()[:_WORDS])
        elif kind == "alive":
            self._answers[source] = text
        else:
            self._heard(source, kind)

    def _tell(self, rank: int, *message: object) -> None:
        data = pickle.dumps(message)
        self._sent.append((self.comm.send(data, rank, CONTROL), data))

    def missing(self, grace: float = GRACE) -> list[int]:
        """The processes that do not answer within seconds."""
        self._answers.clear()
        self.tell("probe")
        deadline = time.monotonic() + grace
        while not self._answers.keys() >= {*self.others} and time.monotonic() < deadline:
            self.poll()
            time.sleep(_NAPS)
        return [rank for rank in self.others if rank not in self._answers]

    def report_silent(self, what: str) -> None:
        """Finds out who does not answer, tells all, and raises."""
        self.silent = self.missing(min(GRACE, self.limit))
        problem = f"rank {self.rank} waited {self.limit:g} s for {what}"
        if self.silent:
            names = ", ".join(f"rank {rank}" for rank in self.silent)
            problem += f"; no answer from {names}, which ended, stopped or is out of reach"
        for rank, state in sorted(self._answers.items()):
            problem += f"; rank {rank} {state}"
        self.fail(f"KVStore: {problem}")
