"""``mx.nd.contrib.foreach``, ``while_loop`` and ``cond``: loops and branches of Python over arrays,
which autograd records step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..error import InvalidArgumentError
from ..literal import integer
from ..nested import Layout, flatten, regroup
from .function import function
from .ndarray import NDArray

__all__ = ["cond", "foreach", "while_loop"]

Nested = Any
"""An array, or nested lists of arrays."""


def foreach(
    body: Callable[[Nested, Nested], tuple[Nested, Nested]], data: Nested, init_states: Nested
) -> tuple[Nested, Nested]:
    """Runs a function for each row of the data.

    Parameters
    ----------
    body
        Is called with a row of each data array and the states, both as `data` and `init_states` are
        nested; returns outputs and new states.
    data
        Arrays; the first says how many rows are taken of all.
    init_states
        The states of the first step.

    Returns
    -------
    outputs, states
        The outputs of all steps, joined along a new first axis, and the last states.

    Raises
    ------
    DTypeError
        Something else in the place of an array.
    InvalidArgumentError
        Data without rows, or with fewer than the first has.

    Examples
    --------
    >>> import ferromix as mx
    >>> def add(x, total):
    ...     return total + x, total + x
    >>> outputs, last = mx.nd.contrib.foreach(add, mx.nd.array([1, 2, 4]), mx.nd.zeros(()))
    >>> outputs.asnumpy().tolist(), last.item()
    ([1.0, 3.0, 7.0], 7.0)
    """
    rows, layout = flatten(data, NDArray, "foreach: data")
    flatten(init_states, NDArray, "foreach: init_states")
    counts = [a.shape[0] if a.shape else 0 for a in rows]
    if not counts or not 0 < counts[0] == min(counts):
        raise InvalidArgumentError(
            "foreach: data must be arrays with at least one row, and all with as many as the "
            f"first, got shapes {[a.shape for a in rows]}"
        )
    states, found = init_states, _Outputs("foreach")
    for i in range(counts[0]):
        outputs, states = body(regroup([a[i] for a in rows], layout), states)
        found.add(outputs)
    flatten(states, NDArray, "foreach: states")
    return found.joined(None), states


def while_loop(
    cond: Callable[..., Any],
    func: Callable[..., tuple[Nested, Nested]],
    loop_vars: Nested,
    max_iterations: int | None = None,
) -> tuple[Nested, Nested]:
    """Runs a function as long as a condition holds.

    Parameters
    ----------
    cond
        Is called with the loop variables; a number, or an array with one element.
    func
        Is called with the loop variables; returns outputs (or None) and new loop variables.
    loop_vars
        The first loop variables.
    max_iterations
        The most steps; must be given.

    Returns
    -------
    outputs, states
        The outputs of all steps, joined along a new first axis of extent `max_iterations` and zero
        after the last step (an empty list where there was none), and the last loop variables.

    Raises
    ------
    InvalidArgumentError
        No loop variables, or another number of them after a step; no `max_iterations`.
    DTypeError
        Something else in the place of an array.

    Examples
    --------
    >>> import ferromix as mx
    >>> outputs, (n,) = mx.nd.contrib.while_loop(
    ...     lambda n: n < 3, lambda n: (n * 10, [n + 1]), [mx.nd.array([1])], max_iterations=4
    ... )
    >>> outputs.asnumpy().T.tolist(), n.item()
    ([[10.0, 20.0, 0.0, 0.0]], 3.0)
    """
    if max_iterations is None:
        raise InvalidArgumentError("while_loop: max_iterations must be given")
    limit = integer(max_iterations)
    alone = isinstance(loop_vars, NDArray)
    states = [loop_vars] if alone else loop_vars
    count = len(flatten(states, NDArray, "while_loop: loop_vars")[0])
    if not count:
        raise InvalidArgumentError("while_loop: loop_vars must have at least one array")
    found = _Outputs("while_loop")
    for _ in range(limit):
        if not _is_true(cond(*states)):
            break
        outputs, states = func(*states)
        found.add([] if outputs is None else outputs)
        states = [states] if isinstance(states, NDArray) else states
        new = len(flatten(states, NDArray, "while_loop: loop_vars")[0])
        if new != count:
            raise InvalidArgumentError(
                f"while_loop: func returned {new} loop variables, expected {count}"
            )
    return found.joined(limit), states[0] if alone else states


def cond(pred: Any, then_func: Callable[[], Nested], else_func: Callable[[], Nested]) -> Nested:
    """Calls one of two functions.

    Parameters
    ----------
    pred
        An array with one element, or something that is true or false.
    then_func, else_func
        What is called if it is true, or else.

    Examples
    --------
    >>> import ferromix as mx
    >>> a = mx.nd.array([3.0])
    >>> mx.nd.contrib.cond(a > 2, lambda: a * 10, lambda: a).item()
    30.0
    """
    return then_func() if _is_true(pred) else else_func()


def _is_true(value: Any) -> bool:
    return bool(value.asscalar()) if isinstance(value, NDArray) else bool(value)


class _Outputs:
    """The outputs of steps, to be joined."""

    def __init__(self, operator: str) -> None:
        self.operator = operator
        self.layout: Layout = []
        self.steps: list[list[NDArray]] = []

    def add(self, outputs: Nested) -> None:
        """Notes those of a step, which must be nested as before."""
        arrays, layout = flatten(outputs, NDArray, f"{self.operator}: outputs")
        if self.steps and layout != self.layout:
            raise InvalidArgumentError(
                f"{self.operator}: the outputs of a step must be as many, and nested alike, as "
                "those of the step before"
            )
        self.layout = layout
        self.steps.append(arrays)

    def joined(self, rows: int | None) -> Nested:
        """All outputs, each along a new first axis, with zeros up to so many `rows`."""
        members = [self._join(list(arrays), rows) for arrays in zip(*self.steps, strict=True)]
        return regroup(members, self.layout) if members else []

    @staticmethod
    def _join(arrays: list[NDArray], rows: int | None) -> NDArray:
        missing = 0 if rows is None else rows - len(arrays)
        joined = function("stack")(*arrays, axis=0)
        if not missing:
            return joined
        # One array of zeros, and not one for each step that is missing.
        rest = joined[0:1].detach().zeros_like().broadcast_to((missing, *joined.shape[1:]))
        return function("concat")(joined, rest, dim=0)
