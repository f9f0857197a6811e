"""Elementwise, broadcast and softmax-like operators for the table of `kernels.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from beside import Row, Shapes, flat, square

Function = Callable[..., Any]


def shapes(*each: Callable[[int], tuple[int, ...]]) -> Shapes:
    return lambda count: [shape(count) for shape in each]


def row_of(count: int) -> tuple[int, ...]:
    return (square(count)[1],)


def column_of(count: int) -> tuple[int, ...]:
    return (square(count)[0], 1)


def sigmoid(x: np.ndarray, out: np.ndarray) -> None:
    """The logistic function as one writes it in NumPy."""
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, 1, out=out)
    np.reciprocal(out, out=out)


def softmax(x: np.ndarray, out: np.ndarray, axis: int = -1) -> None:
    """As one writes it in NumPy."""
    np.subtract(x, x.max(axis, keepdims=True), out=out)
    np.exp(out, out=out)
    np.divide(out, out.sum(axis, keepdims=True), out=out)


def log_softmax(x: np.ndarray, out: np.ndarray) -> None:
    """As one writes it in NumPy."""
    np.subtract(x, x.max(-1, keepdims=True), out=out)
    np.subtract(out, np.log(np.exp(out).sum(-1, keepdims=True)), out=out)


def named(name: str) -> Function:
    """torch's function, with `out=`."""
    return lambda torch, *args: getattr(torch, name)(*args[:-1], out=args[-1])


def of_one(function: Function) -> Function:
    """NumPy's function, with `out=`; not for any number of operands, which would take longer."""
    return lambda x, out: function(x, out=out)


def of_two(function: Function) -> Function:
    """The same for functions of two operands."""
    return lambda a, b, out: function(a, b, out=out)


def unary(operator: str, numpy: Function | None, torch: str, target: float = 1.0) -> Row:
    theirs = None if numpy is None else of_one(numpy)
    return Row(operator, operator, shapes(flat), theirs, named(torch), {}, target)


def binary(operator: str, numpy: Function, torch: str) -> Row:
    name = operator.removeprefix("broadcast_")
    return Row(name, operator, shapes(flat, flat), of_two(numpy), named(torch))


def spread(name: str, *operands: Callable[[int], tuple[int, ...]]) -> Row:
    return Row(name, "broadcast_add", shapes(*operands), of_two(np.add), named("add"))


ROWS = [
    unary("negative", np.negative, "neg"),
    unary("abs", np.abs, "abs"),
    unary("square", np.square, "square"),
    unary("sqrt", np.sqrt, "sqrt"),
    unary("exp", np.exp, "exp", 1.5),
    unary("expm1", np.expm1, "expm1"),
    unary("log", np.log, "log"),
    unary("log1p", np.log1p, "log1p"),
    unary("sin", np.sin, "sin"),
    unary("cos", np.cos, "cos"),
    unary("arctan", np.arctan, "atan"),
    unary("tanh", np.tanh, "tanh", 1.5),
    unary("erf", None, "erf"),
    Row("sigmoid", "sigmoid", shapes(flat), sigmoid, named("sigmoid"), {}, 1.5),
    Row(
        "relu",
        "relu",
        shapes(flat),
        lambda x, out: np.maximum(x, 0, out=out),
        lambda torch, x, out: torch.clamp_min(x, 0, out=out),
    ),
    binary("broadcast_add", np.add, "add"),
    binary("broadcast_sub", np.subtract, "sub"),
    binary("broadcast_mul", np.multiply, "mul"),
    binary("broadcast_div", np.divide, "div"),
    binary("broadcast_maximum", np.maximum, "maximum"),
    binary("broadcast_power", np.power, "pow"),
    spread("matrix + row", square, row_of),
    spread("matrix + column", square, column_of),
    spread("column + row", column_of, row_of),
    Row(
        "x + 2",
        "_plus_scalar",
        shapes(flat),
        lambda x, out: np.add(x, 2, out=out),
        lambda torch, x, out: torch.add(x, 2, out=out),
        {"scalar": 2.0},
    ),
    Row(
        "softmax",
        "softmax",
        shapes(square),
        softmax,
        lambda torch, x, out: torch.softmax(x, -1, out=out),
        {},
        1.5,
    ),
    Row(
        "softmax axis 0",
        "softmax",
        shapes(square),
        lambda x, out: softmax(x, out, 0),
        lambda torch, x, out: torch.softmax(x, 0, out=out),
        {"axis": 0},
        1.5,
    ),
    Row(
        "log_softmax",
        "log_softmax",
        shapes(square),
        log_softmax,
        lambda torch, x, out: torch.log_softmax(x, -1, out=out),
        {},
        1.5,
    ),
]
