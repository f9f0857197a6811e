"""The dependency engine: Python functions as operations, among those of the arrays.

Operations that share an array or a variable, one of them mutating it, run in the order of their
pushes; all others may run at once. Functions run on threads of their own (four, or as many as
``MXNET_CUSTOM_OP_NUM_THREADS`` says, and four, or ``MXNET_CPU_PRIORITY_NTHREADS``, for prioritized
ones), so that one that takes long or blocks keeps no kernel waiting. The interpreter lock is held
only while a function runs, and every wait releases it. Ctrl-C ends a wait of the main thread with
``KeyboardInterrupt``; what was pushed goes on.

Examples
--------
>>> import ferromix as mx
>>> data, total = mx.nd.ones((2, 3)), mx.nd.zeros((1,))
>>> def count():
...     total[:] = float(data.asnumpy().sum())
>>> mx.engine.push(count, const_vars=[data], mutable_vars=[total])
>>> float(total.asscalar())
6.0
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .. import _core
from ..base import as_int
from ..error import ArgumentTypeError
from ..ndarray import NDArray
from .pushes import (
    FnProperty,
    OnComplete,
    Operator,
    RunContext,
    Var,
    delete_operator,
    delete_variable,
    new_operator,
    push,
    push_async,
)

__all__ = [
    "FnProperty",
    "OnComplete",
    "Operator",
    "RunContext",
    "Var",
    "bulk",
    "counters",
    "delete_operator",
    "delete_variable",
    "engine_type",
    "naive",
    "new_operator",
    "new_variable",
    "notify_shutdown",
    "num_threads",
    "num_threads_per_worker",
    "num_workers",
    "push",
    "push_async",
    "set_bulk_size",
    "set_num_threads_per_worker",
    "start",
    "stop",
    "threads",
    "wait_for_all",
    "wait_for_var",
    "wait_to_write",
]


def new_variable() -> Var:
    """A new variable, for anything that operations share and that is no array."""
    return Var()


def _kind(value: object) -> str:
    return type(value).__name__


def wait_for_var(var: NDArray | Var) -> None:
    """Waits for the operations pushed before that mutate an array or a variable.

    Raises
    ------
    Exception
        What an operation that it depends on failed with, once.
    ArgumentTypeError
        Anything but an array or a variable.
    """
    if isinstance(var, NDArray):
        var.wait_to_read()
    elif isinstance(var, Var):
        var.wait()
    else:
        raise ArgumentTypeError(f"wait_for_var: var must be an NDArray or a Var, got {_kind(var)}")


def wait_to_write(var: NDArray | Var) -> None:
    """Waits for what was pushed before and uses an array or a variable, if only to read it.

    Raises
    ------
    Exception
        What an operation that it depends on failed with, once.
    ArgumentTypeError
        Anything but an array or a variable.
    MXNetError
        Inside a function that was pushed with it as constant, which would wait for itself.

    Examples
    --------
    >>> import ferromix as mx
    >>> a, log = mx.nd.ones((2,)), []
    >>> mx.engine.push(lambda: log.append("read"), const_vars=[a])
    >>> mx.engine.wait_to_write(a)
    >>> log
    ['read']
    """
    if isinstance(var, NDArray):
        var.handle.wait_to_write()
    elif isinstance(var, Var):
        var.wait_to_write()
    else:
        raise ArgumentTypeError(f"wait_to_write: var must be an NDArray or a Var, got {_kind(var)}")


def wait_for_all() -> None:
    """Waits for everything pushed before, and for what the functions among it push.

    Not allowed inside a pushed function.

    Raises
    ------
    Exception
        The first failure that no wait has raised yet; the others are forgotten.
    """
    _core.wait_all()


def stop() -> None:
    """Finishes what was pushed, and ends the engine's workers.

    Until `start`, pushes raise, operators on arrays included; from the beginning of this call, but
    for what the functions that it waits for push. So while the engine is stopped nothing is
    pending, and waits end at once. Failures stay for the next wait. Ctrl-C ends the call, and the
    engine goes on. Does nothing to an engine that is stopped.

    Raises
    ------
    MXNetError
        Inside a function that runs as an operation, which would wait for itself.

    Examples
    --------
    >>> import ferromix as mx
    >>> a = mx.nd.ones((2,)) + 1
    >>> mx.engine.stop()
    >>> a.asnumpy().tolist()
    [2.0, 2.0]
    >>> a + 1  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ferromix.error.MXNetError: the engine is stopped and takes no operations; ...
    >>> mx.engine.start()
    >>> (a + 1).asnumpy().tolist()
    [3.0, 3.0]
    """
    _core.stop()


def start() -> None:
    """Starts the engine again after `stop`; does nothing to one that runs."""
    _core.start()


def notify_shutdown() -> None:
    """Says that the process is about to end: from now on all pushes are refused, for good.

    What was pushed before still runs and can be waited for. The end of the interpreter does this by
    itself.
    """
    _core.notify_shutdown()


def engine_type() -> str:
    """``NaiveEngine`` or ``ThreadedEnginePerDevice``, as ``MXNET_ENGINE_TYPE`` chose it."""
    return "NaiveEngine" if _core.engine_info()["naive"] else "ThreadedEnginePerDevice"


def num_workers() -> int:
    """Threads that run kernels; 0 for the naive engine."""
    return _core.num_workers()


def num_threads() -> int:
    """Threads that an operation pushed here and now may use; see `threads`."""
    return _core.num_threads()


def num_threads_per_worker() -> int:
    """Threads that an operation may use that does not say so itself; 0, as at first, for all.

    MXNet's ``num_omp_threads_per_worker``.
    """
    return _core.num_threads_per_worker()


def set_num_threads_per_worker(most: int) -> None:
    """Sets `num_threads_per_worker`, for what runs from now on. Results are the same bits for any.

    Parameters
    ----------
    most
        0 to 65535; 0 for as many threads as there are.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.engine.set_num_threads_per_worker(1)
    >>> mx.engine.num_threads_per_worker()
    1
    >>> mx.engine.set_num_threads_per_worker(0)
    """
    _core.set_num_threads_per_worker(as_int("the number of threads per worker", most, 0, 2**16 - 1))


@contextmanager
def threads(most: int) -> Iterator[None]:
    """In this ``with`` block, each operation that this thread pushes uses at most so many threads.

    For what runs beside something that needs the cores more; results are the same bits for any
    number. Holds for functions that are pushed (and for what they push), and for executors, whose
    operations take the budget of the thread that calls ``forward`` or ``backward``.

    Parameters
    ----------
    most
        1 to 65535. The threads that all operations share (``FERROMIX_NUM_THREADS``) are the limit
        anyhow.

    Examples
    --------
    >>> import ferromix as mx
    >>> with mx.engine.threads(1):
    ...     total = mx.nd.ones((1000, 1000)).sum()
    ...     mx.engine.num_threads()
    1
    """
    if isinstance(most, bool):
        raise ArgumentTypeError(f"the number of threads must be 1 to 65535, got {most}")
    budget = as_int("the number of threads", most, 1, 2**16 - 1)
    before = _core.set_thread_budget(budget)
    try:
        yield
    finally:
        _core.set_thread_budget(before)


def counters() -> dict[str, int]:
    """Operations ``pushed``, ``completed`` and ``in_flight``; approximate while any are running."""
    info = _core.engine_info()
    return {key: info[key] for key in ("pushed", "completed", "in_flight")}


@contextmanager
def naive() -> Iterator[None]:
    """In this ``with`` block, what this thread pushes is done when the push returns.

    A failure is then raised by the line that pushed the operation: for debugging, without starting
    the process anew with ``MXNET_ENGINE_TYPE=NaiveEngine``. Operations still run on the engine's
    threads, and those that others have pushed are waited for, too. A push inside a function that
    runs as an operation does not wait.

    Examples
    --------
    >>> import ferromix as mx
    >>> with mx.engine.naive():
    ...     a = mx.nd.ones((2,)) * 3
    ...     mx.engine.counters()["in_flight"]
    0
    """
    before = _core.set_naive(True)
    try:
        yield
    finally:
        _core.set_naive(before)


class _Bulk(threading.local):
    """How many operations a thread joins, and what joins them: pushed when the thread ends."""

    size = 0
    bulk: _core.Bulk | None = None


_bulk = _Bulk()


def set_bulk_size(size: int) -> int:
    """Sets how many small operations this thread joins into one; returns the setting before.

    0, as each thread begins, and 1 join none. Joined operations run one after another, and are
    pushed together when there are so many, or before this thread waits, reads values, or does
    anything else with the engine; until then other threads do not see them. That spares a part of
    the cost of pushing, which matters where operations do next to nothing; what could have run at
    once no longer does. Results are the same, and each error keeps its own operation.

    Raises
    ------
    InvalidArgumentError
        A negative size, or one beyond 2**31 - 1.
    """
    size = as_int("a bulk size", size, 0, 2**31 - 1)
    before, _bulk.size = _bulk.size, size
    _bulk.bulk = _core.Bulk(_bulk.size) if _bulk.size > 1 else None
    return before


@contextmanager
def bulk(size: int) -> Iterator[None]:
    """Sets the bulk size for a ``with`` block; see `set_bulk_size`.

    Examples
    --------
    >>> import ferromix as mx
    >>> a = mx.nd.zeros((2,))
    >>> with mx.engine.bulk(15):
    ...     for _ in range(30):
    ...         a += 1
    >>> print(a.asnumpy())
    [30. 30.]
    """
    before = set_bulk_size(size)
    try:
        yield
    finally:
        set_bulk_size(before)
