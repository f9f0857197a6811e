"""Binding: from a symbol and what the caller knows to an executor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..context import Context, current_context, require_cpu
from ..error import DTypeError, InvalidArgumentError
from ..graph.node import Entry, Node, mutated_variables, topological, variables
from ..ndarray import NDArray
from ..ops.param import dtype_name
from ..symbol import Symbol
from ..symbol.inference import declared_shape, declared_storage, declared_type, from_user_shape
from .arrays import match, requests_of
from .executor import Executor
from .network import infer_known
from .sharing import Sources, pool_of

__all__ = ["bind", "simple_bind"]


def bind(
    symbol: Symbol,
    ctx: Context | None,
    args: Any,
    args_grad: Any = None,
    grad_req: Any = "write",
    aux_states: Any = None,
    shared_exec: Executor | None = None,
) -> Executor:
    """An executor over the caller's arrays; see :meth:`Symbol.bind`."""
    place, pool = _place(ctx), pool_of(shared_exec)
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
    return Executor(symbol, place, arrays, grads, wanted, aux, pool)


def simple_bind(
    symbol: Symbol,
    ctx: Context | None,
    shapes: Mapping[str, Any],
    grad_req: Any = "write",
    type_dict: Mapping[str, Any] | None = None,
    stype_dict: Mapping[str, str] | None = None,
    shared_arg_names: Sequence[str] | None = None,
    shared_exec: Executor | None = None,
    shared_buffer: dict[str, NDArray] | None = None,
) -> Executor:
    """An executor over new arrays; see :meth:`Symbol.simple_bind`."""
    place, pool = _place(ctx), pool_of(shared_exec)
    sources = Sources(shared_arg_names, shared_exec, shared_buffer)
    arguments, states = _inputs(symbol)
    requests = requests_of(arguments, grad_req)
    nodes = [*arguments, *states]
    _require_dense(nodes, stype_dict)
    found, types = _infer(symbol, nodes, shapes, _by_name("type_dict", type_dict))

    def desc(node: Node) -> tuple[str, tuple[int, ...], str]:
        return node.name, found[Entry(node, 0)], types[Entry(node, 0)]

    args = {n: sources.argument(*desc(n)) for n in arguments}
    grads = {n: sources.gradient(*desc(n)) for n in arguments if requests[n] != "null"}
    aux = {n: sources.state(*desc(n)) for n in states}
    executor = Executor(symbol, place, args, grads, requests, aux, pool)
    sources.commit()
    return executor


def _infer(
    symbol: Symbol, nodes: Sequence[Node], shapes: Mapping[str, Any], given: Mapping[str, Any]
) -> tuple[dict[Entry, tuple[int, ...]], dict[Entry, str]]:
    """Shapes and types of everything, from what the caller and the variables say."""
    known = {Entry(n, 0): declared_shape(n) for n in nodes}
    types = {Entry(n, 0): declared_type(n) for n in nodes}
    for node in nodes:
        if node.name in shapes:
            known[Entry(node, 0)] = from_user_shape(shapes[node.name], node.name)
        if node.name in given:
            types[Entry(node, 0)] = dtype_name(given[node.name])
    return infer_known(topological(symbol.entries), known, types, list(shapes))


def _by_name(what: str, given: Any) -> Mapping[str, Any]:
    """A dict that a caller may have left out.

    Raises
    ------
    DTypeError
        For anything else.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise DTypeError(f"{what} must be a dict by names of arguments, got {given!r}")
    return given


def _require_dense(nodes: Sequence[Node], stype_dict: Any) -> None:
    """Checks that nobody asks for sparse arrays.

    Raises
    ------
    InvalidArgumentError
        For another storage type, in the dict or on a variable.
    """
    given = _by_name("stype_dict", stype_dict)
    for name, stype in given.items():
        _check_dense("stype_dict", name, stype)
    for node in nodes:
        if node.name not in given:
            _check_dense("simple_bind", node.name, declared_storage(node))


def _check_dense(what: str, name: str, stype: Any) -> None:
    if stype != "default":
        raise InvalidArgumentError(
            f"{what}: the storage type of '{name}' is {stype!r}, but there are no sparse arrays "
            "in this version; use 'default'"
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
    """The device to compute on.

    Raises
    ------
    DTypeError
        For anything but a context.
    """
    if ctx is not None and not isinstance(ctx, Context):
        raise DTypeError(f"ctx must be a Context such as ferromix.cpu(), got {ctx!r}")
    return require_cpu(ctx or current_context())
