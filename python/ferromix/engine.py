"""The dependency engine: Python functions as operations, among those of the arrays.

Operations that share an array or a variable, one of them mutating it, run in the order of their
pushes; all others may run at once. Functions run on threads of their own (four, or as many as
``MXNET_CUSTOM_OP_NUM_THREADS`` says), so that one that takes long or blocks keeps no kernel
waiting. The interpreter lock is held only while a function runs, and every wait releases it. Ctrl-C
ends a wait of the main thread with ``KeyboardInterrupt``; what was pushed goes on.

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

import reprlib
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from . import _core
from .base import as_int
from .error import ArgumentTypeError, InvalidArgumentError
from .ndarray import NDArray

__all__ = [
    "OnComplete",
    "Var",
    "bulk",
    "counters",
    "delete_variable",
    "engine_type",
    "naive",
    "new_variable",
    "num_threads",
    "num_workers",
    "push",
    "push_async",
    "set_bulk_size",
    "threads",
    "wait_for_all",
    "wait_for_var",
]

Var = _core.Variable
OnComplete = _core.OnComplete


def _handles(variables: Iterable[NDArray | Var], what: str) -> list[_core.Array | Var]:
    if isinstance(variables, NDArray | Var):
        raise InvalidArgumentError(
            f"{what} must be a list of arrays and variables, not a single one"
        )
    if isinstance(variables, str | bytes) or not isinstance(variables, Iterable):
        raise ArgumentTypeError(
            f"{what} must be a list of arrays and variables, got {reprlib.repr(variables)}"
        )
    return [_handle(v, f"{what}[{place}]") for place, v in enumerate(variables)]


def _handle(variable: NDArray | Var, what: str) -> _core.Array | Var:
    if isinstance(variable, NDArray):
        return variable.handle
    if not isinstance(variable, Var):
        raise ArgumentTypeError(f"{what} must be an NDArray or a Var, got {reprlib.repr(variable)}")
    return variable


def _push(
    fn: Callable[..., object],
    const_vars: Iterable[NDArray | Var],
    mutable_vars: Iterable[NDArray | Var],
    priority: int,
    name: str | None,
    asynchronous: bool,
) -> None:
    if not callable(fn):
        raise InvalidArgumentError(f"fn must be callable, got {type(fn).__name__}")
    if name is not None and not isinstance(name, str):
        raise ArgumentTypeError(f"name must be a string, got {reprlib.repr(name)}")
    _core.push(
        fn,
        _handles(const_vars, "const_vars"),
        _handles(mutable_vars, "mutable_vars"),
        as_int("priority", priority, -(2**31), 2**31 - 1),
        name or getattr(fn, "__name__", "python"),
        asynchronous,
    )


def push(
    fn: Callable[[], object],
    const_vars: Iterable[NDArray | Var] = (),
    mutable_vars: Iterable[NDArray | Var] = (),
    priority: int = 0,
    name: str | None = None,
) -> None:
    """Pushes a function; returns at once (with the naive engine, when it has run).

    What it raises surfaces, once, at the next wait for one of `mutable_vars` or for all: the same
    exception, with a note of the line that pushed the function. What depends on these variables is
    skipped until then.

    Inside the function, the arrays that it was pushed with are there: reading them does not wait,
    and operations on them (``out[:] = ...``) are done when they return. Only `mutable_vars` may be
    written. This goes for the thread that the function runs on, not for threads that it starts.
    It may push further operations and wait for arrays and variables. What it must not do is wait
    for something that depends on itself, as that could never end; waiting for all is refused.

    A process that ends does not wait for functions that have not started; see ``wait_for_all``.

    Parameters
    ----------
    fn
        Called without arguments; what it returns is ignored.
    const_vars, mutable_vars
        What it only reads, and what it may change.
    priority
        Functions that are ready run by priority, greater first, then in order of push.
    name
        What errors call the operation; the function's name by default.

    Raises
    ------
    InvalidArgumentError
        A variable that was deleted, or something that is no list of arrays and variables.
    ArgumentTypeError
        An argument of the wrong kind; the message names it.
    """
    _push(fn, const_vars, mutable_vars, priority, name, False)


def push_async(
    fn: Callable[[OnComplete], object],
    const_vars: Iterable[NDArray | Var] = (),
    mutable_vars: Iterable[NDArray | Var] = (),
    priority: int = 0,
    name: str | None = None,
) -> None:
    """Pushes a function that starts something; the operation ends when its callback is called.

    The function gets a callable, `on_complete`, that it or anybody else calls, on any thread,
    exactly once: without arguments when the work is done, or with the exception that it failed
    with. If the callable is dropped uncalled, or the function raises before, the operation fails.
    The arrays are there for the function, as with `push`, not for the threads that it starts.

    Examples
    --------
    >>> import threading
    >>> import ferromix as mx
    >>> done = mx.engine.new_variable()
    >>> def start(on_complete):
    ...     threading.Timer(0.01, on_complete).start()
    >>> mx.engine.push_async(start, mutable_vars=[done])
    >>> mx.engine.wait_for_var(done)
    >>> done.version
    1
    """
    _push(fn, const_vars, mutable_vars, priority, name, True)


def new_variable() -> Var:
    """A new variable, for anything that operations share and that is no array."""
    return Var()


def delete_variable(var: Var) -> None:
    """Ends a variable once its last user is done; it cannot be pushed with any more.

    A variable that nothing refers to any longer ends by itself, and so does an array, which is
    not for this function.

    Raises
    ------
    InvalidArgumentError
        A variable that was deleted before.
    ArgumentTypeError
        Anything else, arrays included.
    """
    if not isinstance(var, Var):
        hint = "; drop the last reference to an array instead" * isinstance(var, NDArray)
        raise ArgumentTypeError(f"delete_variable: var must be a Var, got {_kind(var)}{hint}")
    var.delete()


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


def wait_for_all() -> None:
    """Waits for everything pushed before; not allowed inside a pushed function.

    Raises
    ------
    Exception
        The first failure that no wait has raised yet; the others are forgotten.
    """
    _core.wait_all()


def engine_type() -> str:
    """``NaiveEngine`` or ``ThreadedEnginePerDevice``, as ``MXNET_ENGINE_TYPE`` chose it."""
    return "NaiveEngine" if _core.engine_info()["naive"] else "ThreadedEnginePerDevice"


def num_workers() -> int:
    """Threads that run kernels; 0 for the naive engine."""
    return _core.num_workers()


def num_threads() -> int:
    """Threads that an operation pushed here and now may use; see `threads`."""
    return _core.num_threads()


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
