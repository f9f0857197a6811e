"""``mx.sym.contrib.foreach``, ``while_loop`` and ``cond``: operators whose steps are graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..error import DTypeError, InvalidArgumentError
from ..graph.control_flow import Cond, ControlFlow, ForEach, WhileLoop
from ..graph.node import Entry, Node
from ..literal import integer
from ..nested import Layout, flatten, regroup
from .create import create, named
from .cutting import Body, Graph
from .symbol import Symbol

__all__ = ["cond", "foreach", "while_loop"]

Nested = Any
"""A symbol, or nested lists of symbols."""


def foreach(
    body: Callable[[Nested, Nested], tuple[Nested, Nested]],
    data: Nested,
    init_states: Nested,
    name: str = "foreach",
) -> tuple[Nested, Nested]:
    """Runs a graph for each row of the data.

    Parameters
    ----------
    body
        Is called once, with symbols for a row of each of `data` and for the states, nested as
        those are; returns outputs and new states. It may read other symbols.
    data
        What is looped over; all of it must be read.
    init_states
        The states of the first step.
    name
        Begins the name of the graph.

    Returns
    -------
    outputs, states
        The outputs of all steps, joined along a new first axis, and the last states.

    Raises
    ------
    DTypeError
        Something else in the place of a symbol.
    InvalidArgumentError
        A body that does not read its data or states, or returns other states.

    Examples
    --------
    >>> import ferromix as mx
    >>> x, w = mx.sym.Variable("x"), mx.sym.Variable("w")
    >>> step = lambda row, h: (h + row * w, h + row * w)
    >>> outputs, last = mx.sym.contrib.foreach(step, x, mx.sym.Variable("h"))
    >>> outputs.eval(x=mx.nd.array([1, 2]), w=mx.nd.array([10]), h=mx.nd.array([0]))[0]
    <BLANKLINE>
    [[10.]
     [30.]]
    <NDArray 2x1 @cpu(0)>
    """
    rows, row_layout = _members(data, "foreach: data")
    states, state_layout = _members(init_states, "foreach: init_states")
    scope = Body(name)
    with scope:
        row_vars, state_vars = scope.stand_ins(rows), scope.stand_ins(states)
        returned = body(_symbols(row_vars, row_layout), _symbols(state_vars, state_layout))
        outputs, new = _pair("foreach: body", returned)
        found, layout = _members(outputs, "foreach: outputs")
        after, after_layout = _members(new, "foreach: states")
        if after_layout != state_layout:
            raise InvalidArgumentError(
                f"foreach: body returned {len(after)} states, expected {len(states)}, nested as "
                "init_states"
            )
        graph = scope.cut([*found, *after])
    graph.require_read("foreach: data", row_vars)
    graph.require_read("foreach: states", state_vars)
    own = {node: i for i, node in enumerate([*row_vars, *state_vars])}
    inputs = [*rows, *states, *(e for n, e in graph.inputs if n not in own)]
    places = [graph.nodes.index(n) for n in own]
    rest = [i for i, n in enumerate(graph.nodes) if n not in own]
    attrs = {
        "num_args": len(inputs) + 1,
        "num_outputs": len(found) + len(after),
        "num_out_data": len(found),
        "in_state_locs": tuple(places[len(rows) :]),
        "in_data_locs": tuple(places[: len(rows)]),
        "remain_locs": tuple(rest),
    }
    entries = _node(ForEach([graph.heads], **attrs), inputs)
    return (
        regroup(_each(entries[: len(found)]), layout),
        regroup(_each(entries[len(found) :]), state_layout),
    )


def while_loop(
    cond: Callable[..., Symbol],
    func: Callable[..., tuple[Nested, Nested]],
    loop_vars: Nested,
    max_iterations: int | None = None,
    name: str = "while_loop",
) -> tuple[Nested, Nested]:
    """Runs a graph as long as another one gives true.

    Parameters
    ----------
    cond
        Is called once, with symbols for the loop variables; gives a symbol of one number.
    func
        Is called once, with symbols for the loop variables; returns outputs (or None) and new loop
        variables.
    loop_vars
        The first loop variables.
    max_iterations
        The most steps; must be given.
    name
        Begins the names of the graphs.

    Returns
    -------
    outputs, states
        The outputs of all steps, joined along a new first axis of extent `max_iterations` and zero
        after the last step, and the last loop variables.

    Raises
    ------
    DTypeError
        Something else in the place of a symbol.
    InvalidArgumentError
        No loop variables, another number of them after a step, one that `func` does not read, or no
        `max_iterations`.

    Examples
    --------
    >>> import ferromix as mx
    >>> n = mx.sym.Variable("n")
    >>> outputs, last = mx.sym.contrib.while_loop(
    ...     lambda n: n < 3, lambda n: (n * 10, n + 1), n, max_iterations=3
    ... )
    >>> outputs.eval(n=mx.nd.array([1]))[0].asnumpy().T.tolist()
    [[10.0, 20.0, 0.0]]
    """
    if max_iterations is None:
        raise InvalidArgumentError("while_loop: max_iterations must be given")
    states, layout = _members(loop_vars, "while_loop: loop_vars")
    if not states:
        raise InvalidArgumentError("while_loop: loop_vars must have at least one symbol")

    def called(scope: Body, function: Callable[..., Any]) -> tuple[list[Node], Any]:
        variables = scope.stand_ins(states)
        given = _symbols(variables, layout)
        return variables, function(*([given] if layout is None else given))

    scope = Body(f"{name}_cond")
    with scope:
        own, truth = called(scope, cond)
        if not isinstance(truth, Symbol) or len(truth.entries) != 1:
            raise DTypeError(f"while_loop: cond must return one Symbol, got {truth!r}")
        test = scope.cut(truth.entries)
    numbers = {node: i for i, node in enumerate(own)}
    scope = Body(f"{name}_func")
    with scope:
        own, returned = called(scope, func)
        outputs, new = _pair("while_loop: func", returned)
        found, out_layout = _members([] if outputs is None else outputs, "while_loop: outputs")
        after, _ = _members(new, "while_loop: loop_vars")
        if len(after) != len(states):
            raise InvalidArgumentError(
                f"while_loop: func returned {len(after)} loop variables, expected {len(states)}"
            )
        body = scope.cut([*found, *after])
    body.require_read("while_loop: loop_vars", own)
    numbers |= {node: i for i, node in enumerate(own)}
    inputs, places = _joined(states, numbers, (test, body))
    attrs = {
        "num_args": len(inputs) + 2,
        "num_outputs": len(found) + len(after),
        "num_out_data": len(found),
        "max_iterations": integer(max_iterations),
        "cond_input_locs": places[0],
        "func_input_locs": places[1],
        "func_var_locs": tuple(body.nodes.index(n) for n in own),
    }
    entries = _node(WhileLoop([test.heads, body.heads], **attrs), inputs)
    return (
        regroup(_each(entries[: len(found)]), out_layout),
        regroup(_each(entries[len(found) :]), layout),
    )


def cond(
    pred: Symbol,
    then_func: Callable[[], Nested],
    else_func: Callable[[], Nested],
    name: str = "cond",
) -> Nested:
    """Computes one of two graphs.

    Parameters
    ----------
    pred
        One number, which chooses the first graph unless it is zero.
    then_func, else_func
        Each is called once, and returns as many outputs as the other, of the same shapes.
    name
        Begins the names of the graphs.

    Raises
    ------
    DTypeError
        Something else in the place of a symbol.
    InvalidArgumentError
        Branches with different numbers of outputs.

    Examples
    --------
    >>> import ferromix as mx
    >>> a = mx.sym.Variable("a")
    >>> found = mx.sym.contrib.cond(a > 2, lambda: a * 10, lambda: a)
    >>> found.eval(a=mx.nd.array([3]))[0].item()
    30.0
    """
    graphs, layouts = [], []
    for part, function in (("pred", lambda: pred), ("then", then_func), ("else", else_func)):
        scope = Body(f"{name}_{part}")
        with scope:
            found, layout = _members(function(), f"cond: {part}")
            graphs.append(scope.cut(found))
            layouts.append(layout)
    counts = [len(graph.heads) for graph in graphs]
    if counts[0] != 1:
        raise InvalidArgumentError(f"cond: pred must be one symbol, got {counts[0]}")
    if counts[1] != counts[2]:
        raise InvalidArgumentError(
            f"cond: then_func returns {counts[1]} outputs and else_func {counts[2]}; they must be "
            "as many"
        )
    inputs, places = _joined([], {}, graphs)
    attrs = {
        "num_args": len(inputs) + 3,
        "num_outputs": counts[1],
        "cond_input_locs": places[0],
        "then_input_locs": places[1],
        "else_input_locs": places[2],
    }
    entries = _node(Cond([graph.heads for graph in graphs], **attrs), inputs)
    return regroup(_each(entries), layouts[1])


def _joined(
    first: Sequence[Entry], numbers: dict[Node, int], graphs: Iterable[Graph]
) -> tuple[list[Entry], list[tuple[int, ...]]]:
    """The inputs of several graphs, each but once, and their places for each graph."""
    inputs = list(first)
    known: dict[Entry, int] = {}
    places = []
    for graph in graphs:
        for node, entry in graph.inputs:
            if node not in numbers:
                if entry not in known:
                    known[entry] = len(inputs)
                    inputs.append(entry)
                numbers[node] = known[entry]
        places.append(tuple(numbers[node] for node in graph.nodes))
    return inputs, places


def _node(card: ControlFlow, inputs: Sequence[Entry]) -> list[Entry]:
    """The outputs of a new node."""
    given = dict(zip(card.list_arguments(), inputs, strict=True))
    return create(card, given, named(None, card.name), None)


def _pair(what: str, returned: Any) -> tuple[Any, Any]:
    if not isinstance(returned, (list, tuple)) or len(returned) != 2:
        raise InvalidArgumentError(f"{what} must return a pair of outputs and states")
    return returned[0], returned[1]


def _members(value: Nested, what: str) -> tuple[list[Entry], Layout]:
    """The outputs of all symbols; those of a symbol of several are a list."""
    symbols, layout = flatten(_opened(value), Symbol, what)
    return [s.entries[0] for s in symbols], layout


def _opened(value: Nested) -> Nested:
    if isinstance(value, Symbol):
        return value if len(value.entries) == 1 else _each(value.entries)
    return [_opened(v) for v in value] if isinstance(value, (list, tuple)) else value


def _each(entries: Sequence[Entry]) -> list[Symbol]:
    return [Symbol([e]) for e in entries]


def _symbols(nodes: Sequence[Node], layout: Layout) -> Nested:
    return regroup(_each([Entry(n, 0) for n in nodes]), layout)
