"""Binding: from a symbol and what the caller knows to an executor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..context import Context, current_context, require_cpu
from ..error import InvalidArgumentError
from ..graph.node import Entry, Node, mutated_variables, topological, variables
from ..ops.param import dtype_name
from ..symbol import Symbol
from ..symbol.inference import declared_shape, declared_type, from_user_shape
from .arrays import like, match, requests_of
from .executor import Executor
from .network import infer_known
from .program import BufferPool

__all__ = ["bind", "simple_bind"]


def bind(
    symbol: Symbol,
    ctx: Context | None,
    args: Any,
    args_grad: Any = None,
    grad_req: Any = "write",
    aux_states: Any = None,
) -> Executor:
    """An executor over the caller's arrays; see :meth:`Symbol.bind`."""
    arguments, states = _inputs(symbol)
    arrays = match("args", arguments, args, True)
    grads = match("args_grad", arguments, args_grad, False)
    aux = match("aux_states", states, aux_states, True)
    requests = requests_of(arguments, grad_req)
    wanted = {n: r for n, r in requests.items() if n in grads}
    for node, grad in grads.items():
        array = arrays[node]
        if grad.shape != array.shape or grad.dtype_name != array.dtype_name:
            raise InvalidArgumentError(
                f"args_grad: the gradient of '{node.name}' is {grad.dtype_name} {grad.shape}, but "
                f"the argument is {array.dtype_name} {array.shape}"
            )
    return Executor(symbol, _place(ctx), arrays, grads, wanted, aux, BufferPool())


def simple_bind(
    symbol: Symbol,
    ctx: Context | None,
    shapes: Mapping[str, Any],
    grad_req: Any = "write",
    type_dict: Mapping[str, Any] | None = None,
    shared_exec: Executor | None = None,
) -> Executor:
    """An executor over new arrays; see :meth:`Symbol.simple_bind`."""
    arguments, states = _inputs(symbol)
    requests = requests_of(arguments, grad_req)
    nodes = [*arguments, *states]
    known = {Entry(n, 0): declared_shape(n) for n in nodes}
    types = {Entry(n, 0): declared_type(n) for n in nodes}
    for node in nodes:
        if node.name in shapes:
            known[Entry(node, 0)] = from_user_shape(shapes[node.name], node.name)
        if type_dict is not None and node.name in type_dict:
            types[Entry(node, 0)] = dtype_name(type_dict[node.name])
    found, found_types = infer_known(topological(symbol.entries), known, types, list(shapes))

    def make(node: Node, shared: Mapping[str, Any]) -> Any:
        entry = Entry(node, 0)
        return like(found[entry], found_types[entry], shared.get(node.name))

    old_args = shared_exec.arg_dict if shared_exec else {}
    old_grads = shared_exec.grad_dict if shared_exec else {}
    old_states = shared_exec.aux_dict if shared_exec else {}
    return Executor(
        symbol,
        _place(ctx),
        {n: make(n, old_args) for n in arguments},
        {n: make(n, old_grads) for n in arguments if requests[n] != "null"},
        requests,
        {n: make(n, old_states) for n in states},
        shared_exec.pool if shared_exec else BufferPool(),
    )


def _inputs(symbol: Symbol) -> tuple[list[Node], list[Node]]:
    """The variables: arguments and auxiliary states.

    Raises
    ------
    InvalidArgumentError
        For two variables of one name.
    """
    nodes = topological(symbol.entries)
    changed = mutated_variables(nodes)
    inputs = variables(nodes)
    names = [n.name for n in inputs]
    twice = [n for n in names if names.count(n) > 1]
    if twice:
        raise InvalidArgumentError(
            f"cannot bind: there is more than one variable called '{twice[0]}'; use one Variable "
            "in all places, or give them different names"
        )
    return [n for n in inputs if n not in changed], [n for n in inputs if n in changed]


def _place(ctx: Context | None) -> Context:
    return require_cpu(ctx or current_context())
