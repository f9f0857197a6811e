"""Functions of each element, arithmetic, comparisons and activations."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from math import prod

import numpy as np

from ...symbol import Symbol
from ..package import onnx_package
from .use import Use, reads

__all__: list[str] = []

_SAME = {
    **{n.capitalize(): n for n in ("abs", "ceil", "floor", "exp", "log", "sqrt", "sign", "erf")},
    **{n.capitalize(): n for n in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "sigmoid")},
    **{f"A{n}": f"arc{n}" for n in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{"Neg": "negative", "Relu": "relu", "Reciprocal": "reciprocal", "Softsign": "softsign"},
    **{"Identity": "_copy", "Mish": "mish"},
}
_BINARY = {
    **{"Add": "broadcast_add", "Sub": "broadcast_sub", "Mul": "broadcast_mul"},
    **{"Div": "broadcast_div", "Pow": "broadcast_power"},
}
_SCALAR = {
    **{"Add": "_plus_scalar", "Sub": "_minus_scalar", "Mul": "_mul_scalar"},
    **{"Div": "_div_scalar", "Pow": "_power_scalar"},
}
_SCALAR_FIRST = {
    **{"Add": "_plus_scalar", "Sub": "_rminus_scalar", "Mul": "_mul_scalar"},
    **{"Div": "_rdiv_scalar", "Pow": "_rpower_scalar"},
}
_COMPARED = {
    **{"Equal": "broadcast_equal", "Greater": "broadcast_greater", "Less": "broadcast_lesser"},
    "GreaterOrEqual": "broadcast_greater_equal",
    "LessOrEqual": "broadcast_lesser_equal",
    **{"And": "broadcast_logical_and", "Or": "broadcast_logical_or"},
    "Xor": "broadcast_logical_xor",
}


def _unary(operator: str) -> Callable[[Use], Symbol]:
    return lambda at: at.last(operator, at.symbol())


for _kind, _operator in _SAME.items():
    reads(_kind)(_unary(_operator))


def number(at: Use, i: int) -> float | None:
    """The value of input `i` where it is a single constant that changes no shape."""
    if not at.is_constant(i):
        return None
    value = at.constant(i)
    return value.item() if value.size == 1 and value.dtype.kind in "fiu" else None


@reads(*_BINARY)
def _binary(at: Use) -> Symbol:
    numbers = number(at, 0), number(at, 1)
    for i, table in ((1, _SCALAR), (0, _SCALAR_FIRST)):
        value, other = numbers[i], 1 - i
        if value is None or at.constant(i).ndim > at.rank(other) or numbers[other] is not None:
            continue
        # A fraction beside integers is a mistake in ONNX, too; its types must agree.
        return at.last(table[at.kind], at.symbol(other), scalar=value)
    return at.last(_BINARY[at.kind], at.symbol(0), at.symbol(1))


@reads(*_COMPARED)
def _compared(at: Use) -> Symbol:
    return at.last(_COMPARED[at.kind], at.symbol(0), at.symbol(1))


@reads("Not")
def _not(at: Use) -> Symbol:
    return at.last("logical_not", at.symbol())


def _chain(at: Use, operator: str) -> Symbol:
    first, *rest = at.symbols()
    return reduce(lambda a, b: at.op(operator, a, b), rest, first)


@reads("Sum")
def _sum(at: Use) -> Symbol:
    return _chain(at, "broadcast_add")


@reads("Max")
def _max(at: Use) -> Symbol:
    return _chain(at, "broadcast_maximum")


@reads("Min")
def _min(at: Use) -> Symbol:
    return _chain(at, "broadcast_minimum")


@reads("Mean")
def _mean(at: Use) -> Symbol:
    return at.op("_div_scalar", _chain(at, "broadcast_add"), scalar=len(at))


@reads("Mod")
def _mod(at: Use) -> Symbol:
    if at.attrs.get("fmod", 0):  # the sign of the dividend
        a, b = at.symbol(0), at.symbol(1)
        rest = at.op("broadcast_mod", at.op("abs", a), at.op("abs", b))
        return at.op("broadcast_mul", at.op("sign", a), rest)
    return at.last("broadcast_mod", at.symbol(0), at.symbol(1))


@reads("Where")
def _where(at: Use) -> Symbol:
    values, shapes = at.symbols(), [at.shape(i) for i in range(3)]
    if len(set(shapes)) > 1:  # MXNet's operator does not broadcast
        values = _alike(at, values, shapes)
    return at.last("where", *values)


def _alike(at: Use, values: list[Symbol], shapes: list[tuple[int, ...]]) -> list[Symbol]:
    """All broadcast to one shape; it need not be known where the others are single numbers."""
    most = max(range(3), key=lambda i: (len(shapes[i]), prod(map(abs, shapes[i]))))
    rest = {s for s in shapes if s != shapes[most]}
    if all(n == 1 for s in rest for n in s):
        ones = (1,) * len(shapes[most])
        return [
            v
            if s == shapes[most]
            else at.op("broadcast_like", at.op("Reshape", v, shape=ones), values[most])
            for v, s in zip(values, shapes, strict=True)
        ]
    common = np.broadcast_shapes(*(at.extents(i) for i in range(3)))
    return [stretched(at, *pair, common) for pair in zip(values, shapes, strict=True)]


def stretched(at: Use, x: Symbol, shape: tuple[int, ...], wanted: tuple[int, ...]) -> Symbol:
    """The symbol of a known shape broadcast to another one."""
    if shape == wanted:
        return x
    if len(shape) < len(wanted):
        x = at.op("Reshape", x, shape=(*[1] * (len(wanted) - len(shape)), *shape))
    return at.op("broadcast_to", x, shape=wanted)


@reads("Cast")
def _cast(at: Use) -> Symbol:
    wanted = onnx_package().helper.tensor_dtype_to_np_dtype(at.attrs["to"])
    return at.last("Cast", at.symbol(), dtype=str(np.dtype(wanted)))


@reads("Clip")
def _clip(at: Use) -> Symbol:
    ends = []
    for i, name in ((1, "min"), (2, "max")):
        value = at.constant(i).item() if at.has(i) else at.attrs.get(name)
        ends.append(value)
    low, high = ends
    if low is None or high is None:
        x = at.symbol() if low is None else at.op("_maximum_scalar", at.symbol(), scalar=low)
        return x if high is None else at.op("_minimum_scalar", x, scalar=high)
    return at.last("clip", at.symbol(), a_min=low, a_max=high)


@reads("Round")
def _round(at: Use) -> Symbol:
    """To the even one of two that are equally near."""
    x = at.symbol()
    up = at.op("floor", at.op("_plus_scalar", x, scalar=0.5))
    tie = at.op("_equal_scalar", at.op("elemwise_sub", up, x), scalar=0.5)
    odd = at.op("_mod_scalar", up, scalar=2)
    return at.last("elemwise_sub", up, at.op("elemwise_mul", tie, odd))


@reads("IsNaN")
def _is_nan(at: Use) -> Symbol:
    x = at.symbol()
    return at.last("broadcast_not_equal", x, x)


@reads("IsInf")
def _is_inf(at: Use) -> Symbol:
    at.require(detect_positive=1, detect_negative=1)
    return at.last("_equal_scalar", at.op("abs", at.symbol()), scalar=math.inf)


@reads("Trilu")
def _trilu(at: Use) -> Symbol:
    rows, columns = (at.axis_extent(i) for i in (-2, -1))
    k = int(at.constant(1).reshape(-1)[0]) if at.has(1) else 0
    mask = np.tri(rows, columns, k if not at.attrs.get("upper", 1) else k - 1)
    kept = mask == 0 if at.attrs.get("upper", 1) else mask == 1
    inside = at.constant_symbol(
        "mask", kept.astype(np.float32).reshape((1,) * (at.rank() - 2) + kept.shape)
    )
    x = at.symbol()
    return at.last("where", at.op("broadcast_like", inside, x), x, at.op("zeros_like", x))


@reads("Softplus")
def _softplus(at: Use) -> Symbol:
    return at.last("Activation", at.symbol(), act_type="softrelu")


@reads("LeakyRelu")
def _leaky_relu(at: Use) -> Symbol:
    slope = at.attrs.get("alpha", 0.01)
    return at.last("LeakyReLU", at.symbol(), act_type="leaky", slope=slope)


@reads("Elu")
def _elu(at: Use) -> Symbol:
    return at.last("LeakyReLU", at.symbol(), act_type="elu", slope=at.attrs.get("alpha", 1.0))


@reads("Selu")
def _selu(at: Use) -> Symbol:
    for name, usual in (("alpha", 1.6732632), ("gamma", 1.050701)):
        if abs(at.attrs.get(name, usual) - usual) > 1e-5:
            raise at.error(f"{name}={at.attrs[name]}")
    return at.last("LeakyReLU", at.symbol(), act_type="selu")


@reads("Gelu")
def _gelu(at: Use) -> Symbol:
    if at.attrs.get("approximate", "none") == "none":
        return at.last("LeakyReLU", at.symbol(), act_type="gelu")
    x = at.symbol()
    cube = at.op("_mul_scalar", at.op("_power_scalar", x, scalar=3), scalar=0.044715)
    within = at.op("_mul_scalar", at.op("broadcast_add", x, cube), scalar=math.sqrt(2 / math.pi))
    factor = at.op("_plus_scalar", at.op("tanh", within), scalar=1)
    return at.op("_mul_scalar", at.op("broadcast_mul", x, factor), scalar=0.5)


@reads("PRelu")
def _prelu(at: Use) -> Symbol:
    slope = at.symbol(1)
    if at.is_constant(1):
        value, rank = at.constant(1), at.rank()
        channels = (1,) * (rank - value.ndim) + value.shape
        if rank > 1 and value.size == channels[1]:
            slope = slope if value.ndim == 1 else at.parameter(1, value.reshape(-1))
            return at.last("LeakyReLU", at.symbol(), slope, act_type="prelu")
    x = at.symbol()
    positive = at.op("relu", x)
    negative = at.op("broadcast_mul", at.op("broadcast_sub", x, positive), slope)
    return at.op("broadcast_add", positive, negative)


@reads("HardSigmoid")
def _hard_sigmoid(at: Use) -> Symbol:
    alpha, beta = at.attrs.get("alpha", 0.2), at.attrs.get("beta", 0.5)
    return at.last("hard_sigmoid", at.symbol(), alpha=alpha, beta=beta)


@reads("HardSwish")
def _hard_swish(at: Use) -> Symbol:
    gate = at.op("hard_sigmoid", at.symbol(), alpha=1 / 6, beta=0.5)
    return at.last("broadcast_mul", at.symbol(), gate)


@reads("Dropout")
def _dropout(at: Use) -> list[Symbol]:
    rate = at.constant(1).item() if at.is_constant(1) else at.attrs.get("ratio", 0.5)
    return [at.last("Dropout", at.symbol(), p=rate)]


@reads("Constant")
def _constant(at: Use) -> np.ndarray:
    for name, dtype in (
        *(("value", None), ("value_float", np.float32), ("value_floats", np.float32)),
        *(("value_int", np.int64), ("value_ints", np.int64)),
    ):
        if name in at.attrs:
            return np.asarray(at.attrs[name], dtype)
    raise at.error("a constant that is no tensor of numbers")
