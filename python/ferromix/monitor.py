"""Statistics of what executors compute: outputs, weights and gradients, every so many batches."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from math import sqrt
from numbers import Real
from typing import Any

from . import ndarray
from .base import require_kind
from .error import DTypeError, InvalidArgumentError
from .executor import Executor
from .ndarray import NDArray

__all__ = ["Monitor", "ndarray"]

Stat = Callable[[NDArray], Any]


class Monitor:
    """Collects statistics of arrays whose names match a pattern, every so many batches.

    Parameters
    ----------
    interval
        The number of batches from one that is watched to the next.
    stat_func
        Takes an array and gives its statistic, an NDArray or a list of them. By default the root
        of the mean square.
    pattern
        A regular expression, which must match from the beginning of a name: ``".*weight"``,
        ``"fc1_output"``, ``".*backward.*"`` for gradients.
    sort
        Whether statistics are sorted by name; otherwise they come in the order of computation,
        arguments and auxiliary states last.
    monitor_all
        Whether inputs of operators are watched, too.

    Attributes
    ----------
    activated
        Whether a batch is being watched.
    step
        How many batches there were.
    queue
        What was collected: step, name, statistic.
    exes
        The executors.

    Raises
    ------
    InvalidArgumentError
        For an interval that is not above 0.
    re.error
        For a pattern that is none.

    Examples
    --------
    >>> import ferromix as mx
    >>> y = mx.sym.square(mx.sym.Variable("x"), name="y")
    >>> e = y.bind(mx.cpu(), {"x": mx.nd.array([3, 4])})
    >>> monitor = mx.mon.Monitor(interval=2, stat_func=lambda a: a.max())
    >>> monitor.install(e)
    >>> for batch in range(3):
    ...     monitor.tic()
    ...     _ = e.forward()
    ...     monitor.toc()
    [(1, 'y_output', '16.0\\t'), (1, 'x', '4.0\\t')]
    []
    [(3, 'y_output', '16.0\\t'), (3, 'x', '4.0\\t')]
    """

    def __init__(
        self,
        interval: float,
        stat_func: Stat | None = None,
        pattern: str = ".*",
        sort: bool = False,
        monitor_all: bool = False,
    ) -> None:
        self.stat_func = stat_func or _root_mean_square
        require_kind("Monitor: interval", interval, Real, "a number of batches")
        if not interval > 0:
            raise InvalidArgumentError(f"Monitor: interval must be above 0, got {interval}")
        self.interval = interval
        self.activated = False
        self.queue: list[tuple[int, str, Any]] = []
        self.step = 0
        self.exes: list[Executor] = []
        self.re_prog = re.compile(pattern)
        self.sort = sort
        self.monitor_all = monitor_all

    def stat_helper(self, name: str, array: NDArray) -> None:
        """Notes the statistic of an array, if a batch is being watched and the name matches."""
        if self.activated and self.re_prog.match(name):
            self.queue.append((self.step, name, self.stat_func(array)))

    def install(self, exe: Executor) -> None:
        """Watches an executor, in the place of what was its monitor callback.

        Raises
        ------
        ArgumentTypeError
            For something that is no executor.
        """
        require_kind("Monitor.install: exe", exe, Executor, "an Executor")
        exe.set_monitor_callback(self.stat_helper, self.monitor_all)
        self.exes.append(exe)

    def tic(self) -> None:
        """Begins a batch; called before its forward pass."""
        if self.step % self.interval == 0:
            self._wait()
            self.queue = []
            self.activated = True
        self.step += 1

    def toc(self) -> list[tuple[int, str, str]]:
        """Ends a batch.

        Returns
        -------
        list of (int, str, str)
            Step, name and statistic of each array; none if the batch was not watched.

        Raises
        ------
        DTypeError
            If `stat_func` gave something else than arrays.
        """
        if not self.activated:
            return []
        self._wait()
        for exe in self.exes:
            for arrays in (exe.arg_dict, exe.aux_dict):
                for name, array in arrays.items():
                    self.stat_helper(name, array)
        self.activated = False
        queue, self.queue = self.queue, []
        if self.sort:
            queue.sort(key=lambda entry: entry[1])
        return [(step, name, _text(name, stat)) for step, name, stat in queue]

    def toc_print(self) -> None:
        """Ends a batch, and logs its statistics."""
        for step, name, text in self.toc():
            logging.info("Batch: %7d %-30s %s", step, name, text)

    def _wait(self) -> None:
        """Waits for the arguments and auxiliary states, so that passes do not pile up."""
        for exe in self.exes:
            for array in (*exe.arg_arrays, *exe.aux_arrays):
                array.wait_to_read()


def _root_mean_square(array: NDArray) -> NDArray:
    return ndarray.norm(array) / sqrt(array.size)


def _text(name: str, stat: Any) -> str:
    """A statistic as MXNet spells it: each array, followed by a tab."""
    found = ""
    for value in stat if isinstance(stat, (list, tuple)) else (stat,):
        if not isinstance(value, NDArray):
            raise DTypeError(
                f"Monitor: stat_func must give an NDArray or a list of them, got "
                f"{type(value).__name__} for '{name}'"
            )
        values = value.asnumpy()
        found += f"{values[0] if values.shape == (1,) else values!s}\t"
    return found
