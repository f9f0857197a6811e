"""Calls of operators with attributes and inputs that hardly fit, as arrays and as symbols."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from draw import DTYPES, Draw
from limits import Case

import ferromix as mx
from ferromix.ops import card
from ferromix.ops.param import Param

NAMES = [name for name in card.names() if not card.find(name).hidden]


def _usual(draw: Draw, param: Param) -> Any:
    """A value that the attribute may well have."""
    if param.choices:
        return draw.one(param.choices)
    ints = tuple(draw.int(-1, 4) for _ in range(draw.int(0, 4)))
    usual: dict[str, Any] = {
        "int": draw.int(0, 4),
        "float": draw.int(-4, 8) / 2,
        "bool": draw.maybe(),
        "str": draw.one(("", "x", "float32")),
        "shape": draw.shape() if draw.maybe() else ints,
        "floats": tuple(i / 2 for i in ints),
        "slots": tuple(draw.one((None, i)) for i in ints),
        "axis": draw.one((draw.int(-4, 4), ints)),
        "dtype": draw.one(DTYPES),
    }
    return usual.get(param.kind)


def _attributes(draw: Draw, params: dict[str, Param]) -> dict[str, Any]:
    """Values for some of the attributes, as values or as text."""
    attrs: dict[str, Any] = {}
    odd = draw.one((0.0, 0.2, 0.6))
    for name, param in params.items():
        if not param.required and draw.maybe(0.6):
            continue
        if draw.maybe(odd):
            attrs[name] = draw.extreme() if draw.maybe(0.7) else draw.odd()
        else:
            attrs[name] = _usual(draw, param)
        if draw.maybe(0.3):
            attrs[name] = str(attrs[name])
    if draw.maybe(0.03):
        attrs[draw.one(("no_such", "num_args", "axis", "ctx", "name"))] = draw.odd()
    return attrs


def _inputs(draw: Draw, count: int) -> list[Any]:
    """Arrays, all of one shape or of any."""
    if draw.maybe(0.2):
        count = draw.int(0, 4)
    shape = draw.shape()
    same = draw.maybe()
    arrays: list[Any] = [draw.array(shape if same else None) for _ in range(count)]
    if arrays and draw.maybe(0.05):
        arrays[draw.int(0, len(arrays) - 1)] = draw.odd()
    return arrays


def _count(name: str) -> int:
    """How many inputs the operator has, where that does not vary."""
    found = card.find(name)
    return 2 if found.variadic else len(found.arguments) + len(found.auxiliary_states)


def _function(module: Any, name: str) -> Callable[..., Any]:
    """The operator's function, which may be an internal one."""
    return getattr(module, name, None) or getattr(module._internal, name)


def _as_arrays(name: str, inputs: list[Any], attrs: dict[str, Any], backward: bool) -> Any:
    """The imperative call; with a gradient if asked for."""
    function = _function(mx.nd, name)
    variables = [a for a in inputs if _is_array(a) and a.dtype_name.startswith("float")]
    if not (backward and variables):
        return function(*inputs, **attrs)
    for variable in variables:
        variable.attach_grad()
    with mx.autograd.record():
        found = function(*inputs, **attrs)
    head = found[0] if isinstance(found, (list, tuple)) else found
    head.backward()
    return [found, *[variable.grad for variable in variables]]


def _as_symbols(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """A symbol, its shapes and types."""
    symbols = [
        mx.sym.Variable(f"v{i}") if isinstance(a, mx.nd.NDArray) else a
        for i, a in enumerate(inputs)
    ]
    symbol = _function(mx.sym, name)(*symbols, **attrs)
    return _described(symbol, inputs)


def _described(symbol: Any, inputs: list[Any]) -> Any:
    """Everything that a graph says of itself."""
    arrays = {f"v{i}": a for i, a in enumerate(inputs) if isinstance(a, mx.nd.NDArray)}
    known = {n: a for n, a in arrays.items() if n in symbol.list_arguments()}
    symbol.infer_type(**{n: a.dtype_name for n, a in known.items()})
    symbol.infer_shape_partial(**{n: a.shape for n, a in list(known.items())[:1]})
    shapes = symbol.infer_shape(**{n: a.shape for n, a in known.items()})
    return symbol.list_outputs(), symbol.tojson(), shapes


def _as_json(name: str, inputs: list[Any], attrs: dict[str, Any]) -> str:
    """A saved graph of the one operator."""
    variables = [{"op": "null", "name": f"v{i}", "inputs": []} for i in range(len(inputs))]
    node = {
        "op": name,
        "name": "node",
        "attrs": {k: str(v) for k, v in attrs.items()},
        "inputs": [[i, 0, 0] for i in range(len(inputs))],
    }
    graph = {
        "nodes": [*variables, node],
        "arg_nodes": list(range(len(inputs))),
        "heads": [[len(inputs), 0, 0]],
        "attrs": {"mxnet_version": ["int", 10901]},
    }
    return json.dumps(graph)


def case(draw: Draw) -> Case:
    """A call of any operator."""
    name = draw.one(NAMES)
    attrs = _attributes(draw, dict(card.find(name).params))
    inputs = _inputs(draw, _count(name))
    way = draw.one(("arrays", "backward", "symbols", "json"))

    def text() -> str:
        given = [f"{a.dtype_name}{a.shape}" if _is_array(a) else repr(a)[:80] for a in inputs]
        return f"{way}: {name}({', '.join(given)}, **{repr(attrs)[:600]})"

    if way == "symbols":
        return Case(lambda: _as_symbols(name, inputs, attrs), text)
    if way == "json":
        saved = _as_json(name, inputs, attrs)
        return Case(lambda: _described(mx.sym.load_json(saved), inputs), text, len(saved))
    return Case(lambda: _as_arrays(name, inputs, attrs, way == "backward"), text)


def _is_array(value: Any) -> bool:
    return isinstance(value, mx.nd.NDArray)
