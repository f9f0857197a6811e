"""Results of workers in the order of their tasks, some tasks ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from multiprocessing import TimeoutError as PoolTimeoutError
from typing import Any

from ..error import MXNetError
from .threads import Workers

__all__ = ["InOrder", "WorkerTimeoutError"]


class WorkerTimeoutError(TimeoutError, MXNetError, PoolTimeoutError):
    """A worker that did not finish in time; also what pools of :mod:`multiprocessing` raise."""


class InOrder(Iterator[Any]):
    """The results of tasks, in order, computed ahead of their use.

    What raises, be it the function or the iterable of tasks, does so in its place. After that, and
    after :meth:`close`, nothing more comes.

    Parameters
    ----------
    workers
        Who runs the tasks.
    tasks
        The tasks; drawn from by whoever asks for results.
    ahead
        How many tasks are under way besides the one whose result is asked for.
    timeout
        How many seconds to wait for a result. Then the workers are closed, as one of them may never
        end.
    ends_workers
        Whether :meth:`close` ends the workers, too.
    """

    def __init__(
        self,
        workers: Workers,
        tasks: Iterable[Any],
        ahead: int,
        timeout: float | None = None,
        ends_workers: bool = False,
    ) -> None:
        self._workers = workers
        self._ends_workers = ends_workers
        self._ahead = ahead
        self._timeout = timeout
        self._waiting: deque[tuple[Future[Any], Any]] = deque()
        self._tasks: Iterator[Any] | None = iter(tasks)
        self._failure: Exception | None = None
        self._fill(ahead)

    def __next__(self) -> Any:
        self._fill(self._ahead + 1)
        if not self._waiting:
            failure, self._failure = self._failure, None
            if failure is not None:
                raise failure
            raise StopIteration
        future, task = self._waiting.popleft()
        try:
            return future.result(self._timeout)
        except TimeoutError:
            if future.done():
                raise  # the function's own
            future.cancel()
            self._workers.close()
            raise WorkerTimeoutError(
                f"no worker finished {self._workers.describe(task)} within {self._timeout} s; "
                "raise timeout if that may take so long, or look what a worker waits for"
            ) from None
        finally:
            # A traceback must not keep the result.
            del future

    def close(self) -> None:
        """Calls off the tasks that no worker has begun."""
        self._tasks = self._failure = None
        while self._waiting:
            self._waiting.popleft()[0].cancel()
        if self._ends_workers:
            self._workers.close()

    def __del__(self) -> None:
        # What was not made whole has no tasks.
        if hasattr(self, "_failure"):
            self.close()

    def _fill(self, most: int) -> None:
        while self._tasks is not None and len(self._waiting) < most:
            try:
                task = next(self._tasks)
                self._waiting.append((self._workers.submit(task), task))
            except StopIteration:
                self._tasks = None
            except Exception as error:
                self._tasks, self._failure = None, error
