"""Python functions as operations: pushed once, kept as operators, run when a variable ends."""

from __future__ import annotations

import enum
import reprlib
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, overload

from .. import _core
from ..base import as_int
from ..context import Context, require_place
from ..error import ArgumentTypeError, InvalidArgumentError
from ..ndarray import NDArray
from .signatures import name_of, takes

Var = _core.Variable
OnComplete = _core.OnComplete
RunContext = _core.RunContext

Vars: TypeAlias = Iterable[NDArray | Var]

_PRIORITIES = (-(2**31), 2**31 - 1)


class FnProperty(enum.IntEnum):
    """What kind of work an operation is, with MXNet's names and numbers.

    Functions of the kinds ``CPUPrioritized``, ``GPUPrioritized``, ``Async`` (that only start
    something) and ``DeleteVar`` (that end something) have threads of their own, so that they do not
    wait behind ordinary ones.
    """

    Normal = 0
    CopyFromGPU = 1
    CopyToGPU = 2
    CPUPrioritized = 3
    Async = 4
    DeleteVar = 5
    GPUPrioritized = 6


def _property(prop: FnProperty | str | int) -> int:
    if isinstance(prop, FnProperty):
        return prop
    found = FnProperty.__members__.get(prop) if isinstance(prop, str) else None
    if isinstance(prop, int) and not isinstance(prop, bool) and 0 <= prop < len(FnProperty):
        found = FnProperty(prop)
    if found is None:
        known = ", ".join(FnProperty.__members__)
        raise ArgumentTypeError(
            f"prop must be a FnProperty or its name, got {reprlib.repr(prop)}; known: {known}"
        )
    return found


def _context(ctx: Context | str | None) -> tuple[Context, int, int]:
    if ctx is not None and not isinstance(ctx, Context | str):
        raise ArgumentTypeError(
            f"ctx must be a Context, its name or None, got {reprlib.repr(ctx)}; "
            "lists of variables come after it"
        )
    device = require_place(ctx)
    return device, device.device_typeid, device.device_id


def _handles(variables: Vars, what: str) -> list[_core.Array | Var]:
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
    ctx: Context | str | None,
    const_vars: Vars,
    mutable_vars: Vars,
    prop: FnProperty | str,
    priority: int,
    name: str | None,
    asynchronous: bool = False,
) -> None:
    _core.push(
        fn,
        takes(fn, asynchronous),
        _context(ctx),
        _handles(const_vars, "const_vars"),
        _handles(mutable_vars, "mutable_vars"),
        _property(prop),
        as_int("priority", priority, *_PRIORITIES),
        name_of(name, fn),
    )


def _push_function(
    fn: Callable[..., object],
    ctx: Context | str | None = None,
    const_vars: Vars = (),
    mutable_vars: Vars = (),
    prop: FnProperty | str = FnProperty.Normal,
    priority: int = 0,
    name: str | None = None,
) -> None:
    _push(fn, ctx, const_vars, mutable_vars, prop, priority, name)


@overload
def push(
    fn: Operator,
    ctx: Context | str | None = None,
    priority: int = 0,
    profiling: bool = True,
) -> None: ...
@overload
def push(
    fn: Callable[..., object],
    ctx: Context | str | None = None,
    const_vars: Vars = (),
    mutable_vars: Vars = (),
    prop: FnProperty | str = FnProperty.Normal,
    priority: int = 0,
    name: str | None = None,
) -> None: ...
def push(fn: Callable[..., object] | Operator, *args: Any, **kwargs: Any) -> None:
    """Pushes a function, or an operator; returns at once (with the naive engine, when it has run).

    ``push(fn, ctx, const_vars, mutable_vars, prop, priority, name)`` pushes a function;
    ``push(operator, ctx, priority, profiling)`` what `new_operator` made.

    What the function raises surfaces, once, at the next wait for one of `mutable_vars` or for all:
    the same exception, with a note of the line that pushed the function. What depends on these
    variables is skipped until then.

    Inside the function, the arrays that it was pushed with are there: reading them does not wait,
    and operations on them (``out[:] = ...``) are done when they return. Only `mutable_vars` may be
    written. This goes for the thread that the function runs on, not for threads that it starts.
    It may push further operations and wait for arrays and variables. What it must not do is wait
    for something that depends on itself, or on another function that waits for it: as that could
    never end, it raises, an `MXNetError`, at once or, where a pass of a graph or several functions
    are between, when nothing else goes on. Waiting for all is refused.

    A process that ends does not wait for functions that have not started; see ``wait_for_all``.

    Parameters
    ----------
    fn
        Called with a `RunContext` if it cannot be called without an argument, else without any;
        what it returns is ignored.
    ctx
        The device that it is for; None for the current one.
    const_vars, mutable_vars
        What it only reads, and what it may change: any iterables of arrays and variables. One in
        both counts as changed.
    prop
        A `FnProperty`, or its name.
    priority
        Functions that are ready run by priority, greater first, then in order of push.
    name
        What errors call the operation; the function's name by default.
    profiling
        Of an operator: whether profiles show when its function ran.

    Raises
    ------
    InvalidArgumentError
        A variable or an operator that was deleted, a function that needs other arguments, a device
        that is not there, or something that is no list of arrays and variables.
    ArgumentTypeError
        An argument of the wrong kind; the message names it.
    MXNetError
        An engine that was stopped or shut down.

    Examples
    --------
    >>> import ferromix as mx
    >>> a = mx.nd.zeros((2,))
    >>> def fill(run_ctx):
    ...     a[:] = run_ctx.priority
    >>> mx.engine.push(fill, mx.cpu(), mutable_vars=[a], priority=3)
    >>> a.asnumpy().tolist()
    [3.0, 3.0]
    """
    if isinstance(fn, Operator):
        fn.push(*args, **kwargs)
    else:
        _push_function(fn, *args, **kwargs)


def push_async(
    fn: Callable[..., object],
    ctx: Context | str | None = None,
    const_vars: Vars = (),
    mutable_vars: Vars = (),
    prop: FnProperty | str = FnProperty.Normal,
    priority: int = 0,
    name: str | None = None,
) -> None:
    """Pushes a function that starts something; the operation ends when its callback is called.

    The function gets a callable, `on_complete`, that it or anybody else calls, on any thread,
    exactly once: without arguments when the work is done, or with the exception that it failed
    with. A second call changes nothing, and raises an `MXNetError` where it is made. If the
    callable is dropped uncalled, or the function raises before, the operation fails.
    A function that needs two arguments gets a `RunContext` before the callable. The arrays are
    there for the function, as with `push`, not for the threads that it starts. The other arguments
    are those of `push`.

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
    _push(fn, ctx, const_vars, mutable_vars, prop, priority, name, asynchronous=True)


class Operator:
    """A function with its variables, to be pushed again and again; `new_operator` makes it."""

    def __init__(
        self,
        fn: Callable[..., object],
        const_vars: Vars,
        mutable_vars: Vars,
        prop: FnProperty | str,
        name: str | None,
    ) -> None:
        self.name = name_of(name, fn)
        self._uses = _handles(const_vars, "const_vars"), _handles(mutable_vars, "mutable_vars")
        self._operator = _core.Operator(
            fn, takes(fn, False), *self._uses, _property(prop), self.name
        )

    def push(
        self, ctx: Context | str | None = None, priority: int = 0, profiling: bool = True
    ) -> None:
        """Pushes it once more, as ``engine.push(operator, ctx, priority, profiling)``."""
        number = as_int("priority", priority, *_PRIORITIES)
        if not self._operator.push(_context(ctx), number, bool(profiling)):
            raise InvalidArgumentError(f"operator '{self.name}' was deleted; make a new one")

    def __repr__(self) -> str:
        return f"<Operator {self.name}>"


def new_operator(
    fn: Callable[..., object],
    const_vars: Vars = (),
    mutable_vars: Vars = (),
    prop: FnProperty | str = FnProperty.Normal,
    name: str | None = None,
) -> Operator:
    """An operator: a function and its variables, worked out once for many pushes.

    Each push is an operation of its own, with its own outcome. The arguments are those of `push`.
    Arrays and variables live as long as the operator.

    Examples
    --------
    >>> import ferromix as mx
    >>> count = mx.nd.zeros((1,))
    >>> def add():
    ...     count[:] += 1
    >>> operator = mx.engine.new_operator(add, mutable_vars=[count])
    >>> for _ in range(3):
    ...     mx.engine.push(operator)
    >>> float(count.asscalar())
    3.0
    >>> mx.engine.delete_operator(operator)
    """
    return Operator(fn, const_vars, mutable_vars, prop, name)


def delete_operator(operator: Operator) -> None:
    """Ends an operator: it cannot be pushed any more. What was pushed still runs.

    One that nothing refers to any longer ends by itself.

    Raises
    ------
    InvalidArgumentError
        An operator that was deleted before.
    ArgumentTypeError
        Anything else.
    """
    if not isinstance(operator, Operator):
        raise ArgumentTypeError(
            f"delete_operator: operator must be an Operator, got {reprlib.repr(operator)}"
        )
    if not operator._operator.delete():
        raise InvalidArgumentError(f"operator '{operator.name}' was deleted before")
    operator._uses = [], []


def delete_variable(
    var: Var, fn: Callable[..., object] | None = None, ctx: Context | str | None = None
) -> None:
    """Ends a variable once its last user is done; it cannot be pushed with any more.

    A variable that nothing refers to any longer ends by itself, and so does an array, which is
    not for this function.

    Parameters
    ----------
    var
        The variable.
    fn
        Called, as by `push`, after the last operation that uses the variable, even if that failed.
        What it raises surfaces at a wait for all.
    ctx
        The device that `fn` is for; None for the current one.

    Raises
    ------
    InvalidArgumentError
        A variable that was deleted before.
    ArgumentTypeError
        Anything else, arrays included.
    MXNetError
        A function, where the engine was stopped or shut down: it takes no functions then. The
        variable is left as it is.

    Examples
    --------
    >>> import ferromix as mx
    >>> var, log = mx.engine.new_variable(), []
    >>> mx.engine.push(lambda: log.append("used"), const_vars=[var])
    >>> mx.engine.delete_variable(var, lambda: log.append("gone"))
    >>> mx.engine.wait_for_all()
    >>> log
    ['used', 'gone']
    """
    if not isinstance(var, Var):
        hint = "; drop the last reference to an array instead" * isinstance(var, NDArray)
        kind = type(var).__name__
        raise ArgumentTypeError(f"delete_variable: var must be a Var, got {kind}{hint}")
    if fn is None:
        var.delete()
    else:
        _core.delete_then(var, fn, takes(fn, False), _context(ctx), name_of(None, fn))
