"""Elementwise operators of one input and one number, which stand behind Python's operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar

from .card import Entry, GradientGraph, register
from .family import ALL_TYPES, FLOATS, NUMBERS, Types, Unary, derive, document
from .param import Param, Params
from .term import Term

__all__ = ["Scalar", "scalar"]

ScalarRule = Callable[[Term, Term, Term, float], Term]
"""The gradient from (out_grad, data, out, scalar)."""


class Scalar(Unary):
    """The base of operators of one input and one number.

    An integer tensor takes the whole part of the number, and stays an integer tensor, a bool tensor
    becomes an int64 one; unless `is_int` says that the number is none, when both become float64.
    """

    params: ClassVar[Params] = {
        "scalar": Param("float", 1.0, "The number."),
        "is_int": Param("bool", True, "Whether integers stay integers; float64 otherwise."),
    }
    scalar_rule: ClassVar[ScalarRule | None] = None

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """The output has the type of the input, unless that is bool or meets a fraction."""
        (given,) = in_types
        if given is None or given in FLOATS:
            return [given], [given], []
        if not self.attrs["is_int"]:
            return [given], ["float64"], []
        return [given], ["int64" if given == "bool" else given], []

    def inplace_options(self) -> list[tuple[int, int]]:
        """The output may take the place of the input, unless it has another type."""
        return [(0, 0)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The rule of the table, or none."""
        rule = type(self).scalar_rule
        if rule is None:
            return [None]
        g, x, y = (Term(graph, e[0]) for e in (graph.out_grad, graph.in_data, graph.out_data))
        if self.attrs["is_int"]:
            return [rule(g, x, y, self.attrs["scalar"]).entry]
        # Data of integers are computed with as what they become, and so is their gradient.
        found = rule(g, x.op("_backward_Cast", y), y, self.attrs["scalar"])
        return [found.op("_backward_Cast", x).entry]


def scalar(
    stem: str,
    formula: str,
    gradient: tuple[str, ScalarRule] | None,
    printed: str,
    alias: str,
) -> None:
    """Registers the card of a function of a tensor and a number.

    Parameters
    ----------
    stem
        The name between the underscore and ``_scalar``.
    formula
        The output in terms of ``data`` and ``scalar``.
    gradient
        The gradient as a formula and as a rule; None where there is none.
    printed
        What is printed for 1, 2 and 3 and the scalar 2.
    alias
        MXNet's older name.
    """
    name = f"_{stem}_scalar"
    card = derive(
        Scalar,
        f"Scalar{stem.title().replace('_', '')}",
        name=name,
        aliases=(alias,),
        dtypes=ALL_TYPES,
        scalar_rule=staticmethod(gradient[1]) if gradient else None,
        differentiable=gradient is not None,
    )
    card.__doc__ = document(
        f"``{formula}`` for every element.",
        f"out = {formula}",
        "``out`` has the shape of ``data``",
        ALL_TYPES,
        {"data": gradient[0]} if gradient else {},
        ">>> a = mx.nd.array([1, 2, 3])\n"
        f">>> print(mx.nd.{name}(a, scalar=2).asnumpy())\n{printed}",
    )
    register(card)


def _hypot_slope_rule(g: Term, x: Term, slope: Term, s: float) -> Term:
    steep = x.op("_hypot_scalar", scalar=s)
    other = steep.op("_rdiv_scalar", scalar=s)
    return g * other * other / steep


@register
class PowerSlopeScalar(Scalar):
    """The derivative of ``data ** scalar``, ``scalar * data ** (scalar - 1)``, in one step."""

    name = "_power_slope_scalar"
    hidden = True
    dtypes = NUMBERS
    scalar_rule = staticmethod(lambda g, x, y, s: g * x.op("_power_slope_scalar", scalar=s - 1) * s)


@register
class HypotSlopeScalar(Scalar):
    """The derivative of ``hypot(data, scalar)``, ``data / hypot(data, scalar)``, in one step."""

    name = "_hypot_slope_scalar"
    hidden = True
    dtypes = NUMBERS
    scalar_rule = staticmethod(_hypot_slope_rule)


scalar("plus", "data + scalar", ("out_grad", lambda g, x, y, s: g), "[3. 4. 5.]", "_PlusScalar")
scalar(
    "minus", "data - scalar", ("out_grad", lambda g, x, y, s: g), "[-1.  0.  1.]", "_MinusScalar"
)
scalar(
    "rminus",
    "scalar - data",
    ("-out_grad", lambda g, x, y, s: -g),
    "[ 1.  0. -1.]",
    "_RMinusScalar",
)
scalar(
    "mul",
    "data * scalar",
    ("out_grad * scalar", lambda g, x, y, s: g * s),
    "[2. 4. 6.]",
    "_MulScalar",
)
scalar(
    "div",
    "data / scalar",
    ("out_grad / scalar", lambda g, x, y, s: g / s),
    "[0.5 1.  1.5]",
    "_DivScalar",
)
scalar(
    "rdiv",
    "scalar / data",
    ("-out_grad * out / data", lambda g, x, y, s: -(g * (y / x))),
    "[2.        1.        0.6666667]",
    "_RDivScalar",
)
scalar(
    "mod",
    "data - floor(data / scalar) * scalar",
    ("out_grad", lambda g, x, y, s: g),
    "[1. 0. 1.]",
    "_ModScalar",
)
scalar(
    "rmod",
    "scalar - floor(scalar / data) * data",
    (
        "-out_grad * floor(scalar / data)",
        lambda g, x, y, s: -(g * x.op("_rdiv_scalar", scalar=s).op("floor")),
    ),
    "[0. 0. 2.]",
    "_RModScalar",
)
scalar(
    "power",
    "data ** scalar",
    (
        "out_grad * scalar * data ** (scalar - 1)",
        lambda g, x, y, s: g * x.op("_power_slope_scalar", scalar=s),
    ),
    "[1. 4. 9.]",
    "_PowerScalar",
)
scalar(
    "rpower",
    "scalar ** data",
    (
        "out_grad * out * log(scalar)",
        lambda g, x, y, s: g * y * (math.log(s) if s > 0 else math.nan),
    ),
    "[2. 4. 8.]",
    "_RPowerScalar",
)
scalar(
    "hypot",
    "sqrt(data ** 2 + scalar ** 2)",
    ("out_grad * data / out", lambda g, x, y, s: g * x.op("_hypot_slope_scalar", scalar=s)),
    "[2.236068  2.828427  3.6055512]",
    "_HypotScalar",
)
scalar(
    "maximum",
    "max(data, scalar)",
    (
        "out_grad * (data >= scalar)",
        lambda g, x, y, s: g * x.op("_greater_equal_scalar", scalar=s),
    ),
    "[2. 2. 3.]",
    "_MaximumScalar",
)
scalar(
    "minimum",
    "min(data, scalar)",
    (
        "out_grad * (data <= scalar)",
        lambda g, x, y, s: g * x.op("_lesser_equal_scalar", scalar=s),
    ),
    "[1. 2. 2.]",
    "_MinimumScalar",
)
scalar("equal", "data == scalar", None, "[0. 1. 0.]", "_EqualScalar")
scalar("not_equal", "data != scalar", None, "[1. 0. 1.]", "_NotEqualScalar")
scalar("greater", "data > scalar", None, "[0. 0. 1.]", "_GreaterScalar")
scalar("greater_equal", "data >= scalar", None, "[0. 1. 1.]", "_GreaterEqualScalar")
scalar("lesser", "data < scalar", None, "[1. 0. 0.]", "_LesserScalar")
scalar("lesser_equal", "data <= scalar", None, "[1. 1. 0.]", "_LesserEqualScalar")
scalar("logical_and", "data != 0 and scalar != 0", None, "[1. 1. 1.]", "_LogicalAndScalar")
scalar("logical_or", "data != 0 or scalar != 0", None, "[1. 1. 1.]", "_LogicalOrScalar")
scalar("logical_xor", "(data != 0) != (scalar != 0)", None, "[0. 0. 0.]", "_LogicalXorScalar")
