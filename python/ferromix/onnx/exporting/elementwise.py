"""Functions of each element, arithmetic and comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .site import Site, Value, translates

__all__: list[str] = []

_SAME = {
    **{n: n.capitalize() for n in ("abs", "ceil", "floor", "exp", "log", "sqrt", "sign", "erf")},
    **{n: n.capitalize() for n in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "sigmoid")},
    **{f"arc{n}": f"A{n}" for n in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{"negative": "Neg", "relu": "Relu", "reciprocal": "Reciprocal", "softsign": "Softsign"},
    **{"_copy": "Identity", "BlockGrad": "Identity", "make_loss": "Identity"},
    **{"_contrib_gradientmultiplier": "Identity", "MakeLoss": "Identity"},
    "IdentityAttachKLSparseReg": "Identity",
}
_BINARY = {
    **{"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div"},
    **{"power": "Pow", "maximum": "Max", "minimum": "Min"},
}
_COMPARED = {
    "equal": "Equal",
    "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
    "lesser": "Less",
    "lesser_equal": "LessOrEqual",
}
_LOGICAL = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}
_SCALARS = {"plus": "add", "minus": "sub", "mul": "mul", "div": "div"}


def _unary(kind: str) -> Callable[[Site], str]:
    return lambda at: at.op(kind, at.inputs[0])


def _formula(say: Callable[[Site, str], str]) -> Callable[[Site], str]:
    return lambda at: say(at, at.inputs[0])


def _whole(at: Site, x: str) -> str:
    """The magnitude cut to a whole number, with its sign."""
    return at.op("Mul", at.op("Sign", x), at.op("Floor", at.op("Abs", x)))


def _rounded(at: Site, x: str) -> str:
    half = at.op("Floor", at.op("Add", at.op("Abs", x), at.number(0.5)))
    return at.op("Mul", at.op("Sign", x), half)


def _root(at: Site, x: str) -> str:
    third = at.op("Pow", at.op("Abs", x), at.number(1 / 3))
    return at.op("Mul", at.op("Sign", x), third)


def _times(factor: float) -> Callable[[Site, str], str]:
    return lambda at, x: at.op("Mul", x, at.number(factor))


FORMULAS: dict[str, Callable[[Site, str], str]] = {
    "square": lambda at, x: at.op("Mul", x, x),
    "rsqrt": lambda at, x: at.op("Reciprocal", at.op("Sqrt", x)),
    "cbrt": _root,
    "rcbrt": lambda at, x: at.op("Reciprocal", _root(at, x)),
    "log10": lambda at, x: at.op("Mul", at.op("Log", x), at.number(1 / math.log(10))),
    "log2": lambda at, x: at.op("Mul", at.op("Log", x), at.number(1 / math.log(2))),
    "log1p": lambda at, x: at.op("Log", at.op("Add", x, at.number(1))),
    "expm1": lambda at, x: at.op("Sub", at.op("Exp", x), at.number(1)),
    "degrees": _times(180 / math.pi),
    "radians": _times(math.pi / 180),
    "trunc": _whole,
    "round": _rounded,
    "rint": lambda at, x: at.op("Ceil", at.op("Sub", x, at.number(0.5))),
    "log_sigmoid": lambda at, x: at.op("Neg", at.op("Softplus", at.op("Neg", x))),
    "mish": lambda at, x: at.op("Mul", x, at.op("Tanh", at.op("Softplus", x))),
    "logical_not": lambda at, _: at.cast(at.op("Not", at.truth(0)), at.out_dtype()),
    "_contrib_round_ste": _rounded,
    "_contrib_sign_ste": lambda at, x: at.op("Sign", x),
}

for _name, _kind in _SAME.items():
    translates(_name)(_unary(_kind))
for _name, _say in FORMULAS.items():
    translates(_name)(_formula(_say))


def arithmetic(at: Site, kind: str, a: Value, b: Value) -> str:
    """Says one of the operators of two values, by the end of MXNet's name."""
    if kind in _BINARY:
        return at.op(_BINARY[kind], a, b)
    if kind in _COMPARED:
        return at.cast(at.op(_COMPARED[kind], a, b), at.out_dtype())
    if kind == "not_equal":
        return at.cast(at.op("Not", at.op("Equal", a, b)), at.out_dtype())
    if kind == "hypot":
        return at.op("Sqrt", at.op("Add", at.op("Mul", a, a), at.op("Mul", b, b)))
    if kind == "mod":
        # The sign is that of the divisor; ONNX's own remainder of fractions has the other's.
        floor = at.op("Floor", at.op("Div", a, b)) if at.dtype()[0] == "f" else None
        return at.op("Sub", a, at.op("Mul", floor, b)) if floor else at.op("Mod", a, b)
    a, b = (at.cast(at.named(v), "bool") for v in (a, b))
    return at.cast(at.op(_LOGICAL[kind], a, b), at.out_dtype())


def _two(kind: str) -> Callable[[Site], str]:
    return lambda at: arithmetic(at, kind, *at.inputs)


def _with_scalar(kind: str, swapped: bool) -> Callable[[Site], str]:
    def say(at: Site) -> str:
        x, number, dtype = at.inputs[0], at.attrs["scalar"], at.dtype()
        if dtype[0] != "f":  # as the card says: integers stay what they are, or become float64
            whole = at.attrs["is_int"]
            dtype, number = (dtype, int(number)) if whole else ("float64", number)
            dtype = "int64" if dtype == "bool" else dtype
            x = x if dtype == at.dtype() else at.cast(x, dtype)
        pair = (x, at.number(number, dtype))
        return arithmetic(at, kind, *(pair[::-1] if swapped else pair))

    return say


for _kind in (*_BINARY, *_COMPARED, *_LOGICAL, "not_equal", "hypot", "mod"):
    _names = [f"broadcast_{_kind}"]
    _names.append(f"elemwise_{_kind}" if _kind in ("add", "sub", "mul", "div") else f"_{_kind}")
    translates(*_names)(_two(_kind))
    if _kind not in _SCALARS.values():
        translates(f"_{_kind}_scalar")(_with_scalar(_kind, False))
for _word, _kind in _SCALARS.items():
    translates(f"_{_word}_scalar")(_with_scalar(_kind, False))
for _word, _kind in {"rminus": "sub", "rdiv": "div", "rpower": "power", "rmod": "mod"}.items():
    translates(f"_{_word}_scalar")(_with_scalar(_kind, True))


@translates("add_n")
def _add_n(at: Site) -> str:
    return at.op("Sum", *at.inputs)


@translates("clip")
def _clip(at: Site) -> str:
    return at.op("Clip", at.inputs[0], *(at.number(at.attrs[n]) for n in ("a_min", "a_max")))


@translates("hard_sigmoid")
def _hard_sigmoid(at: Site) -> str:
    return at.op("HardSigmoid", at.inputs[0], alpha=at.attrs["alpha"], beta=at.attrs["beta"])


@translates("smooth_l1")
def _smooth_l1(at: Site) -> str:
    x, factor = at.inputs[0], at.attrs["scalar"] ** 2
    size = at.op("Abs", x)
    near = at.op("Mul", at.op("Mul", x, x), at.number(factor / 2))
    far = at.op("Sub", size, at.number(0.5 / factor))
    return at.op("Where", at.op("Less", size, at.number(1 / factor)), near, far)


@translates("_contrib_quadratic")
def _quadratic(at: Site) -> str:
    x, (a, b, c) = at.inputs[0], (at.number(at.attrs[n]) for n in "abc")
    return at.op("Add", at.op("Mul", at.op("Add", at.op("Mul", x, a), b), x), c)


@translates("Cast", "amp_cast")
def _cast(at: Site) -> str:
    return at.cast(at.inputs[0], at.attrs["dtype"])


@translates("amp_multicast")
def _multicast(at: Site) -> list[str]:
    return [at.cast(x, at.out_dtype(k)) for k, x in enumerate(at.inputs)]


@translates("where")
def _where(at: Site) -> str:
    condition, rank = at.truth(0), at.rank(1)
    if at.rank(0) != rank:  # a row for each of the first axis
        condition = at.reshape(condition, [-1, *[1] * (rank - 1)])
    return at.op("Where", condition, *at.inputs[1:])


@translates("_contrib_div_sqrt_dim")
def _div_sqrt_dim(at: Site) -> str:
    return at.op("Div", at.inputs[0], at.number(math.sqrt(at.extent(-1))))


@translates("zeros_like", "ones_like")
def _like(at: Site) -> str:
    value = np.array([float(at.card.name == "ones_like")], at.out_dtype())
    return at.op("ConstantOfShape", at.op("Shape", at.inputs[0]), value=at.tensor(value))
