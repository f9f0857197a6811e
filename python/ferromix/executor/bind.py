"""Binding: from a symbol and what the caller knows to an executor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..context import Context, current_context, require_place
from ..error import DTypeError, InvalidArgumentError
from ..graph.node import (
    Entry,
    Node,
    first_entries,
    many_nodes,
    mutated_variables,
    topological,
    variables,
)
from ..ndarray import NDArray, zeros
from ..ops.param import dtype_name
from ..ops.storage import DENSE, STORAGE_TYPES
from ..symbol import Symbol
from ..symbol.inference import declared_shape, declared_storage, declared_type, from_user_shape
from .arrays import Described, match, requests_of
from .bound import BoundGraph
from .executor import Executor
from .inferred import Inferred, infer_known
from .interpreted import gradient_storage
from .network import Placement
from .sharing import Sources, pool_of

__all__ = ["bind", "simple_bind"]


@many_nodes()
def bind(
    symbol: Symbol,
    ctx: Context | None,
    args: Any,
    args_grad: Any = None,
    grad_req: Any = "write",
    aux_states: Any = None,
    group2ctx: Mapping[str, Any] | None = None,
    shared_exec: Executor | None = None,
) -> Executor:
    """An executor over the caller's arrays; see :meth:`Symbol.bind`."""
    placement, pool = _placement(ctx, group2ctx), pool_of(shared_exec)
    arguments, states = _inputs(topological(symbol.entries))
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
    bound = BoundGraph(symbol.entries, placement, arrays, grads, wanted, aux, pool)
    return Executor(bound, symbol, placement.default, grad_req, group2ctx)


@many_nodes()
def simple_bind(
    symbol: Symbol,
    ctx: Context | None,
    shapes: Mapping[str, Any],
    grad_req: Any = "write",
    type_dict: Mapping[str, Any] | None = None,
    stype_dict: Mapping[str, str] | None = None,
    group2ctx: Mapping[str, Any] | None = None,
    shared_arg_names: Sequence[str] | None = None,
    shared_exec: Executor | None = None,
    shared_buffer: dict[str, NDArray] | None = None,
) -> Executor:
    """An executor over new arrays; see :meth:`Symbol.simple_bind`."""
    placement, pool = _placement(ctx, group2ctx), pool_of(shared_exec)
    sources = Sources(shared_arg_names, shared_exec, shared_buffer)
    order = topological(symbol.entries)
    arguments, states = _inputs(order)
    requests = requests_of(arguments, grad_req)
    nodes = [*arguments, *states]
    stypes = _storage(nodes, stype_dict)
    found, types = _infer(order, nodes, shapes, _by_name("type_dict", type_dict))

    def described(nodes: Sequence[Node]) -> dict[Node, Described]:
        entries, place = first_entries(nodes), placement.default
        if not placement.groups:
            return {e[0]: (e[0].name, found[e], types[e], place) for e in entries}
        where = placement.of_variable
        return {e[0]: (e[0].name, found[e], types[e], where(e[0])) for e in entries}

    stored = gradient_storage(symbol, order, requests, stypes)
    wanted = described([n for n in arguments if requests[n] != "null"])
    args = _arrays(described(arguments), stypes, sources.arguments)
    grads = _arrays(wanted, stored, sources.gradients)
    aux = _arrays(described(states), {}, sources.states)
    inferred = found, types
    bound = BoundGraph(symbol.entries, placement, args, grads, requests, aux, pool, order, inferred)
    sources.commit()
    return Executor(bound, symbol, placement.default, grad_req, group2ctx)


def _infer(
    order: Sequence[Node],
    nodes: Sequence[Node],
    shapes: Mapping[str, Any],
    given: Mapping[str, Any],
) -> Inferred:
    """Shapes and types of everything, from what the caller and the variables say."""
    declaring = [n for n in nodes if n.attrs]
    known = {Entry(n, 0): declared_shape(n) for n in declaring}
    types = {Entry(n, 0): declared_type(n) for n in declaring}
    for node in nodes:
        if node.name in shapes:
            known[Entry(node, 0)] = from_user_shape(shapes[node.name], node.name)
        if node.name in given:
            types[Entry(node, 0)] = dtype_name(given[node.name])
    return infer_known(order, known, types, list(shapes))


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
        raise DTypeError(f"{what} must be a dict by name, got {given!r}")
    return given


def _storage(nodes: Sequence[Node], stype_dict: Any) -> dict[Node, str]:
    """The variables that are sparse, by the dict or by what they say themselves.

    Raises
    ------
    InvalidArgumentError
        For an unknown storage type.
    """
    given = _by_name("stype_dict", stype_dict)
    for name, stype in given.items():
        if stype not in STORAGE_TYPES:
            raise InvalidArgumentError(
                f"stype_dict: the storage type of '{name}' is {stype!r}; known: "
                f"{', '.join(STORAGE_TYPES)}"
            )
    saying = [n for n in nodes if n.attrs or n.name in given]
    found = {n: given.get(n.name) or declared_storage(n) for n in saying}
    return {n: stype for n, stype in found.items() if stype != DENSE}


def _arrays(
    descs: Mapping[Node, Described],
    sparse: Mapping[Node, str],
    dense: Callable[[Sequence[Described]], list[NDArray]],
) -> dict[Node, NDArray]:
    """Arrays of variables: zeros in a storage type for those in `sparse`, and others by `dense`."""
    plain = [n for n in descs if n not in sparse] if sparse else list(descs)
    made = dict(zip(plain, dense([descs[n] for n in plain]), strict=True))
    for node in descs.keys() & sparse.keys():
        _, shape, dtype, place = descs[node]
        made[node] = zeros(shape, place, dtype, stype=sparse[node])
    return made


def _inputs(nodes: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """The variables: arguments and auxiliary states.

    Raises
    ------
    InvalidArgumentError
        For two variables of one name.
    """
    changed = mutated_variables(nodes)
    inputs = variables(nodes)
    names = [n.name for n in inputs]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidArgumentError(
            f"cannot bind: there is more than one variable called '{twice}'; use one Variable "
            "in all places, or give them different names"
        )
    return [n for n in inputs if n not in changed], [n for n in inputs if n in changed]


def _placement(ctx: Context | None, group2ctx: Any) -> Placement:
    """The device to compute on, and those of groups.

    Raises
    ------
    DTypeError
        For anything but a context, or a dict of them.
    InvalidArgumentError
        For a device that this version does not run on.
    """
    if ctx is not None and not isinstance(ctx, Context):
        raise DTypeError(f"ctx must be a Context such as ferromix.cpu(), got {ctx!r}")
    groups: dict[str, Context] = {}
    for name, place in _by_name("group2ctx", group2ctx).items():
        if place is None:
            raise DTypeError(f"group2ctx: the device of group '{name}' is missing")
        groups[name] = require_place(place)
    return Placement(require_place(ctx or current_context()), groups)
