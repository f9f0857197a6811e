"""Threads that run a function on tasks."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, Protocol

__all__ = ["ThreadWorkers", "Workers"]


class Workers(Protocol):
    """What threads and processes have in common."""

    describe: Callable[[Any], str]

    def submit(self, task: Any) -> Future[Any]:
        """Has a worker run the function on the task."""
        ...

    def close(self) -> None:
        """Ends the workers."""
        ...


class ThreadWorkers:
    """Threads that run a function on tasks.

    They end after what they do when the pool is closed or no longer used, and with the program.

    Parameters
    ----------
    count
        How many threads.
    run
        The function. It must not hold the pool, which would keep it alive.
    describe
        Says what a task is.
    """

    def __init__(
        self, count: int, run: Callable[[Any], Any], describe: Callable[[Any], str]
    ) -> None:
        self.describe = describe
        self._orders: SimpleQueue[tuple[Future[Any], Any] | None] = SimpleQueue()
        self._end = weakref.finalize(self, _end, self._orders, count)
        for number in range(count):
            name = f"ferromix-worker-{number}"
            threading.Thread(
                target=_serve, args=(self._orders, run), name=name, daemon=True
            ).start()

    def submit(self, task: Any) -> Future[Any]:
        """Has a thread run the function on the task."""
        future: Future[Any] = Future()
        self._orders.put((future, task))
        return future

    def close(self) -> None:
        """Tells the threads to end; those that run the function do so after it."""
        self._end()


def _end(orders: SimpleQueue[Any], count: int) -> None:
    for _ in range(count):
        orders.put(None)


def _serve(orders: SimpleQueue[Any], run: Callable[[Any], Any]) -> None:
    while (order := orders.get()) is not None:
        future, task = order
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(run(task))
            except BaseException as error:
                future.set_exception(error)
        # While it waits, it must not keep what it made.
        del order, future, task
