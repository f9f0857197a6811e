"""Processes that run a function on tasks; each has a connection of its own.

So no lock is shared with a process that may be killed, and the end of a process is the end of its
connection. A thread of the parent gives tasks to processes that are idle, which read them at once,
and takes results at once: nobody can wait for a full connection.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from multiprocessing import connection, resource_tracker
from typing import Any

from ..error import ArgumentTypeError, MXNetError
from .child import serve
from .parcel import Arrival, Parcel

__all__ = ["ProcessWorkers"]

_SPAWN = multiprocessing.get_context("spawn")
_EXIT_LIMIT = 10.0
"""Seconds that a killed process may take to be gone."""


class ProcessWorkers:
    """Processes that run a function on tasks.

    They are started, not forked, so the function and the tasks are pickled, and a script needs its
    ``if __name__ == "__main__":``. They end when the pool is closed or no longer used, and with the
    program, however that ends. A process that dies ends the pool: its task fails with its name, and
    so do the others.

    Parameters
    ----------
    count
        How many processes.
    run
        The function. Large arrays in it lie in shared memory, once for all processes.
    describe
        Says what a task is.

    Raises
    ------
    ArgumentTypeError
        For a function that cannot be pickled.
    """

    def __init__(
        self, count: int, run: Callable[[Any], Any], describe: Callable[[Any], str]
    ) -> None:
        self.describe = describe
        self.pid = os.getpid()
        setup = _packed(run, "the function of the workers, with its data,")
        self._crew = _Crew(count, setup)
        self._end = weakref.finalize(self, _end, self._crew, self.pid)

    @property
    def is_usable(self) -> bool:
        """Whether all processes are there, and this is the one that started them."""
        return self.pid == os.getpid() and self._crew.is_whole()

    def submit(self, task: Any) -> Future[Any]:
        """Has a process run the function on the task.

        Raises
        ------
        ArgumentTypeError
            For a task that cannot be pickled.
        """
        order = _Order(_packed(task, "a task"), self.describe(task))
        self._crew.take(order)
        return order.future

    def close(self) -> None:
        """Ends the processes at once."""
        self._end()


def _packed(value: Any, what: str) -> Parcel:
    try:
        return Parcel(value)
    except Exception as error:
        raise ArgumentTypeError(
            f"{what} cannot be sent to a process: {type(error).__name__}: {error}; use functions "
            "of a module, no lambdas or inner ones, or threads"
        ) from error


class _Order:
    def __init__(self, parcel: Parcel, what: str) -> None:
        self.parcel = parcel
        self.what = what
        self.future: Future[Any] = Future()


class _Member:
    """A process, with what it has to do."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.order: _Order | None = None
        self.is_ready = False
        self.tasks, other = _SPAWN.Pipe()
        try:
            name = f"ferromix-worker-{number}"
            args = other, number
            self.process = _SPAWN.Process(target=serve, args=args, name=name, daemon=True)
            self.process.start()
        except BaseException:
            self.tasks.close()
            raise
        finally:
            other.close()

    def death(self) -> MXNetError:
        """What is to be said if its connection has ended."""
        self.process.join(_EXIT_LIMIT)
        code = self.process.exitcode
        how = f"ended with status {code}"
        if code is not None and code < 0:
            how = f"was ended by signal {-code} ({signal.strsignal(-code)})"
        text = f"worker {self.number} (process {self.process.pid}) {how}"
        if not self.is_ready:
            return MXNetError(
                f"{text} before it was ready; its message is above. A script that starts processes "
                'needs `if __name__ == "__main__":` around what it does'
            )
        if self.order is not None:
            text += f" while it had {self.order.what}"
        if code == -signal.SIGKILL:
            text += "; a system that runs out of memory does that"
        return MXNetError(text)


class _Crew:
    """The processes and the thread that gives them tasks; it does not know the pool."""

    def __init__(self, count: int, setup: Parcel) -> None:
        self._setup = setup
        # The end may come by a garbage collection, within what the lock guards.
        self._lock = threading.RLock()
        self._orders: deque[_Order] = deque()
        # No exception: whoever raises that one would be in its traceback, and so never be freed.
        self._failure = ""
        self._is_ending = False
        self._wake, self._waker = _SPAWN.Pipe(duplex=False)
        self.members: list[_Member] = []
        # Ctrl-C is for the parent, which ends them; a process keeps the signals that are blocked
        # where it is started. (To start the tracker lets them through again.)
        resource_tracker.ensure_running()
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            for number in range(count):
                self.members.append(_Member(number))
        except BaseException:
            self.kill()
            self._let_go()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        self.thread = threading.Thread(target=self._work, name="ferromix-workers", daemon=True)
        self.thread.start()

    def is_whole(self) -> bool:
        with self._lock:
            return not self._failure and all(m.process.is_alive() for m in self.members)

    def take(self, order: _Order) -> None:
        """Queues an order, and wakes the thread."""
        with self._lock:
            if not self._failure and not self._is_ending:
                self._orders.append(order)
                if len(self._orders) == 1:
                    self._waker.send_bytes(b"1")
                return
        order.parcel.close()
        order.future.set_exception(MXNetError(self._failure) if self._failure else _closed())

    def kill(self) -> None:
        with self._lock:
            for member in self.members:
                member.process.kill()

    def _work(self) -> None:
        try:
            # They read it as soon as they are up.
            for member in self.members:
                self._post(member, _Order(self._setup, "its first task"))
            while True:
                self._hand_out()
                ready = connection.wait([self._wake, *(m.tasks for m in self.members)])
                self._look(ready)
        except BaseException as error:
            self._fail(_closed() if self._is_ending else error)

    def _look(self, ready: Sequence[Any]) -> None:
        if self._wake in ready:
            self._wake.recv_bytes()  # EOFError: closed
        for member in self.members:
            if member.tasks in ready:
                self._collect(member)

    def _hand_out(self) -> None:
        for member in self.members:
            while member.order is None:
                with self._lock:
                    if not self._orders:
                        return
                    order = self._orders.popleft()
                if order.future.set_running_or_notify_cancel():
                    self._post(member, order)
                else:
                    order.parcel.close()

    def _post(self, member: _Member, order: _Order) -> None:
        member.order = order
        try:
            order.parcel.send(member.tasks)
        except OSError:
            raise member.death() from None
        finally:
            if order.parcel is not self._setup:
                order.parcel.close()

    def _collect(self, member: _Member) -> None:
        try:
            arrived = Arrival(member.tasks)
        except (EOFError, OSError):
            raise member.death() from None
        order, member.order = member.order, None
        try:
            is_done, outcome = arrived.open()
        except Exception as error:
            is_done, outcome = False, error
        if not member.is_ready:
            if not is_done:
                raise outcome
            member.is_ready = True
        elif order is not None:
            if is_done:
                order.future.set_result(outcome)
            else:
                order.future.set_exception(outcome)

    def _fail(self, failure: BaseException) -> None:
        """Ends everything; whoever waits gets the failure."""
        with self._lock:
            self._failure = str(failure) or type(failure).__name__
            left = list(self._orders)
            self._orders.clear()
        self.kill()
        running = [m.order for m in self.members if m.order is not None and m.is_ready]
        for order in running:
            order.future.set_exception(failure)
        for order in left:
            order.parcel.close()
            if order.future.set_running_or_notify_cancel():
                order.future.set_exception(failure)
        self._let_go()

    def _let_go(self) -> None:
        with self._lock:
            members, self.members = self.members, []
        for member in members:
            member.process.join(_EXIT_LIMIT)
            if not member.process.is_alive():
                member.process.close()
            member.tasks.close()
        self._setup.close()
        self._wake.close()

    def end(self) -> None:
        """Kills the processes, wakes the thread, and waits for it."""
        with self._lock:
            self._is_ending = True
            self._waker.close()
        self.kill()
        if self.thread is not threading.current_thread():
            self.thread.join(_EXIT_LIMIT)


def _closed() -> MXNetError:
    return MXNetError("the workers were closed")


def _end(crew: _Crew, pid: int) -> None:
    if pid == os.getpid():
        crew.end()
