"""Functions of real numbers: exponentials, logarithms, trigonometry, error and gamma functions.

They take integers too; the results are then cut towards zero, as in MXNet.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from .card import Entry, GradientGraph, register
from .family import FLOATS, Unary, unary
from .param import Param, Params
from .term import Term

__all__ = ["HardSigmoid", "Quadratic", "SmoothL1"]


def _activation(word: str) -> Any:
    def rule(g: Term, x: Term, y: Term) -> Term:
        return g.op("_backward_Activation", y, act_type=word)

    return rule


def _one_minus_square(x: Term) -> Term:
    return x.op("square").op("_rminus_scalar", scalar=1.0)


# In the rules, factors come in such an order, and differences in such a form, that no step leaves
# the range of a half, or loses its digits, where the result does not.


def _slope_of_arcsin(x: Term) -> Term:
    return x.op("_rminus_scalar", scalar=1.0).op("rsqrt") * (x + 1).op("rsqrt")


def _slope_of_arccosh(x: Term) -> Term:
    size = x.op("abs")
    return (size - 1).op("rsqrt") * (size + 1).op("rsqrt")


def _slope_of_arctanh(x: Term) -> Term:
    return x.op("_rminus_scalar", scalar=1.0).op("reciprocal") / (x + 1)


def _by_hypotenuse(g: Term, x: Term, times: int) -> Term:
    steep = x.op("_hypot_scalar", scalar=1.0)
    for _ in range(times):
        g = g / steep
    return g


def _mish(g: Term, x: Term, y: Term) -> Term:
    soft = x.op("Activation", act_type="softrelu").op("tanh")
    return g * (soft + x * x.op("sigmoid") * _one_minus_square(soft))


unary(
    "exp",
    "The exponential of every element.",
    "exp(data)",
    ("out_grad * out", lambda g, x, y: g * y),
    ("[0, 1]", "[1.     2.7183]"),
)
unary(
    "expm1",
    "The exponential of every element minus one, exact near 0.",
    "exp(data) - 1",
    ("out_grad * exp(data)", lambda g, x, y: g * x.op("exp")),
    ("[0, 1]", "[0.     1.7183]"),
)
unary(
    "log",
    "The natural logarithm of every element.",
    "log(data)",
    ("out_grad / data", lambda g, x, y: g / x),
    ("[1, 2]", "[0.     0.6931]"),
)
unary(
    "log2",
    "The logarithm to base 2 of every element.",
    "log(data) / log(2)",
    ("out_grad / (data * log(2))", lambda g, x, y: g / x * (1 / math.log(2))),
    ("[1, 8]", "[0. 3.]"),
)
unary(
    "log10",
    "The logarithm to base 10 of every element.",
    "log(data) / log(10)",
    ("out_grad / (data * log(10))", lambda g, x, y: g * (1 / math.log(10)) / x),
    ("[1, 1000]", "[0. 3.]"),
)
unary(
    "log1p",
    "The logarithm of one plus every element, exact near 0.",
    "log(1 + data)",
    ("out_grad / (1 + data)", lambda g, x, y: g / (x + 1)),
    ("[0, 1]", "[0.     0.6931]"),
)
unary(
    "sqrt",
    "The square root of every element.",
    "sqrt(data)",
    ("0.5 * out_grad / out", lambda g, x, y: g * 0.5 / y),
    ("[4, 9]", "[2. 3.]"),
)
unary(
    "rsqrt",
    "One over the square root of every element.",
    "1 / sqrt(data)",
    ("-0.5 * out_grad * out / data", lambda g, x, y: g * -0.5 * y / x),
    ("[4, 16]", "[0.5  0.25]"),
)
unary(
    "cbrt",
    "The cube root of every element.",
    "data ** (1 / 3), odd",
    ("out_grad / (3 * out ** 2)", lambda g, x, y: g * (1 / 3) / y / y),
    ("[8, -27]", "[ 2. -3.]"),
)
unary(
    "rcbrt",
    "One over the cube root of every element.",
    "1 / cbrt(data)",
    ("-out_grad * out / (3 * data)", lambda g, x, y: g * (-1 / 3) * y / x),
    ("[8, -1]", "[ 0.5 -1. ]"),
)
unary(
    "reciprocal",
    "One over every element.",
    "1 / data",
    ("-out_grad * out ** 2", lambda g, x, y: -(g * y * y)),
    ("[2, -4]", "[ 0.5  -0.25]"),
)
unary(
    "sin",
    "The sine of every element, in radians.",
    "sin(data)",
    ("out_grad * cos(data)", lambda g, x, y: g * x.op("cos")),
    ("[0, 1]", "[0.     0.8415]"),
)
unary(
    "cos",
    "The cosine of every element, in radians.",
    "cos(data)",
    ("-out_grad * sin(data)", lambda g, x, y: -(g * x.op("sin"))),
    ("[0, 1]", "[1.     0.5403]"),
)
unary(
    "tan",
    "The tangent of every element, in radians.",
    "tan(data)",
    ("out_grad * (1 + out ** 2)", lambda g, x, y: g * (y.op("square") + 1)),
    ("[0, 1]", "[0.     1.5574]"),
)
unary(
    "arcsin",
    "The angle from -pi/2 to pi/2 whose sine every element is.",
    "arcsin(data)",
    ("out_grad / sqrt(1 - data ** 2)", lambda g, x, y: g * _slope_of_arcsin(x)),
    ("[0, 1]", "[0.     1.5708]"),
)
unary(
    "arccos",
    "The angle from 0 to pi whose cosine every element is.",
    "arccos(data)",
    ("-out_grad / sqrt(1 - data ** 2)", lambda g, x, y: -(g * _slope_of_arcsin(x))),
    ("[0, 1]", "[1.5708 0.    ]"),
)
unary(
    "arctan",
    "The angle from -pi/2 to pi/2 whose tangent every element is.",
    "arctan(data)",
    ("out_grad / (1 + data ** 2)", lambda g, x, y: _by_hypotenuse(g, x, 2)),
    ("[0, 1]", "[0.     0.7854]"),
)
unary(
    "sinh",
    "The hyperbolic sine of every element.",
    "(exp(data) - exp(-data)) / 2",
    ("out_grad * cosh(data)", lambda g, x, y: g * x.op("cosh")),
    ("[0, 1]", "[0.     1.1752]"),
)
unary(
    "cosh",
    "The hyperbolic cosine of every element.",
    "(exp(data) + exp(-data)) / 2",
    ("out_grad * sinh(data)", lambda g, x, y: g * x.op("sinh")),
    ("[0, 1]", "[1.     1.5431]"),
)
unary(
    "tanh",
    "The hyperbolic tangent of every element.",
    "tanh(data)",
    ("out_grad * (1 - out ** 2)", _activation("tanh")),
    ("[0, 1]", "[0.     0.7616]"),
)
unary(
    "arcsinh",
    "The inverse of the hyperbolic sine.",
    "log(data + sqrt(data ** 2 + 1))",
    ("out_grad / sqrt(data ** 2 + 1)", lambda g, x, y: _by_hypotenuse(g, x, 1)),
    ("[0, 1]", "[0.     0.8814]"),
)
unary(
    "arccosh",
    "The inverse of the hyperbolic cosine, not a number below 1.",
    "log(data + sqrt(data ** 2 - 1))",
    ("out_grad / sqrt(data ** 2 - 1)", lambda g, x, y: g * _slope_of_arccosh(x)),
    ("[1, 2]", "[0.    1.317]"),
)
unary(
    "arctanh",
    "The inverse of the hyperbolic tangent.",
    "log((1 + data) / (1 - data)) / 2",
    ("out_grad / (1 - data ** 2)", lambda g, x, y: g * _slope_of_arctanh(x)),
    ("[0, 0.5]", "[0.     0.5493]"),
)
unary(
    "degrees",
    "Angles in radians, in degrees.",
    "data * 180 / pi",
    ("out_grad * 180 / pi", lambda g, x, y: g * (180 / math.pi)),
    ("[0, 1]", "[ 0.     57.2958]"),
)
unary(
    "radians",
    "Angles in degrees, in radians.",
    "data * pi / 180",
    ("out_grad * pi / 180", lambda g, x, y: g * (math.pi / 180)),
    ("[0, 180]", "[0.     3.1416]"),
)
unary(
    "erf",
    "The error function of every element.",
    "2 / sqrt(pi) * integral of exp(-t ** 2) for t from 0 to data",
    (
        "2 / sqrt(pi) * out_grad * exp(-data ** 2)",
        lambda g, x, y: g * (-x.op("square")).op("exp") * (2 / math.sqrt(math.pi)),
    ),
    ("[0, 1]", "[0.     0.8427]"),
)
unary(
    "erfinv",
    "The inverse of the error function.",
    "x with erf(x) = data",
    (
        "sqrt(pi) / 2 * out_grad * exp(out ** 2)",
        lambda g, x, y: g * (math.sqrt(math.pi) / 2) * y.op("square").op("exp"),
    ),
    ("[0, 0.5]", "[0.     0.4769]"),
)
unary(
    "gamma",
    "The gamma function of every element.",
    "integral of t ** (data - 1) * exp(-t) for t > 0",
    ("out_grad * out * digamma(data)", lambda g, x, y: g * y * x.op("digamma")),
    ("[0.5, 5]", "[ 1.7725 24.    ]"),
)
unary(
    "gammaln",
    "The logarithm of the absolute value of the gamma function.",
    "log(|gamma(data)|)",
    ("out_grad * digamma(data)", lambda g, x, y: g * x.op("digamma")),
    ("[0.5, 5]", "[0.5724 3.1781]"),
)
unary(
    "digamma",
    "The logarithmic derivative of the gamma function; infinite at its poles.",
    "gamma'(data) / gamma(data)",
    ("out_grad * trigamma(data)", lambda g, x, y: g * x.op("_trigamma")),
    ("[1, 2]", "[-0.5772  0.4228]"),
)
unary(
    "_trigamma",
    "The derivative of the digamma function.",
    "digamma'(data)",
    None,
    ("[1, 2]", "[1.6449 0.6449]"),
    hidden=True,
)
unary(
    "sigmoid",
    "The logistic function of every element.",
    "1 / (1 + exp(-data))",
    ("out_grad * out * (1 - out)", _activation("sigmoid")),
    ("[0, 2]", "[0.5    0.8808]"),
)
unary(
    "log_sigmoid",
    "The logarithm of the logistic function of every element.",
    "-log(1 + exp(-data))",
    ("out_grad / (1 + exp(data))", lambda g, x, y: g * (-x).op("sigmoid")),
    ("[0, 2]", "[-0.6931 -0.1269]"),
)
unary(
    "softsign",
    "A sigmoid without exponentials.",
    "data / (1 + |data|)",
    (
        "out_grad / (1 + |data|) ** 2",
        lambda g, x, y: g.op("_backward_Activation", x, act_type="softsign"),
    ),
    ("[-1, 3]", "[-0.5   0.75]"),
)
unary(
    "mish",
    "Every element times the hyperbolic tangent of its softplus.",
    "data * tanh(s), s = log(1 + exp(data))",
    ("out_grad * (tanh(s) + data * sigmoid(data) * (1 - tanh(s) ** 2))", _mish),
    ("[0, 1]", "[0.     0.8651]"),
)


@register
class HardSigmoid(Unary):
    """A sigmoid of three straight lines.

    Formula: ``out = max(0, min(1, alpha * data + beta))``. Shapes: ``out`` has the shape of
    ``data``. Types: floats.
    Gradient: ``data_grad = alpha * out_grad`` where ``0 < out < 1``, and 0 elsewhere.

    Examples
    --------
    >>> print(mx.nd.hard_sigmoid(mx.nd.array([-4, 0, 1])).asnumpy())
    [0.  0.5 0.7]
    """

    name = "hard_sigmoid"
    dtypes = FLOATS
    params: ClassVar[Params] = {
        "alpha": Param("float", 0.2, "The slope."),
        "beta": Param("float", 0.5, "The value at 0."),
    }

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The slope, masked by two comparisons of the output."""
        g, y = Term(graph, graph.out_grad[0]), Term(graph, graph.out_data[0])
        inside = y.op("_greater_scalar", scalar=0.0) * y.op("_lesser_scalar", scalar=1.0)
        return [(g * inside * self.attrs["alpha"]).entry]


@register
class Quadratic(Unary):
    """A quadratic function of every element.

    Formula: ``out = a * data ** 2 + b * data + c``. Shapes: ``out`` has the shape of ``data``.
    Types: numbers; integers are computed in float64 and then cut towards zero.
    Gradient: ``data_grad = out_grad * (2 * a * data + b)``.

    Examples
    --------
    >>> print(mx.nd.contrib.quadratic(mx.nd.array([1, 2, 3]), a=1, b=2, c=3).asnumpy())
    [ 6. 11. 18.]
    """

    name = "_contrib_quadratic"
    params: ClassVar[Params] = {
        "a": Param("float", 0.0, "The factor of the square."),
        "b": Param("float", 0.0, "The factor of the element."),
        "c": Param("float", 0.0, "What is added."),
    }

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The straight line that is the derivative."""
        g, x = Term(graph, graph.out_grad[0]), Term(graph, graph.in_data[0])
        return [(g * (x * (2.0 * self.attrs["a"]) + self.attrs["b"])).entry]


@register
class SmoothL1(Unary):
    """The square of small elements, the magnitude of large ones, joined smoothly.

    Formula: ``out = (scalar * data) ** 2 / 2`` where ``|data| <= 1 / scalar ** 2``, else
    ``|data| - 0.5 / scalar ** 2``. Shapes: ``out`` has the shape of ``data``. Types: numbers; an
    integer tensor takes the whole part of ``scalar``.
    Gradient: ``data_grad = out_grad * clip(scalar ** 2 * data, -1, 1)``.

    Examples
    --------
    >>> print(mx.nd.smooth_l1(mx.nd.array([0.5, -3]), scalar=1).asnumpy())
    [0.125 2.5  ]
    """

    name = "smooth_l1"
    params: ClassVar[Params] = {"scalar": Param("float", 1.0, "Where the two parts join.")}

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The straight line through zero, cut off at the slopes of the magnitude."""
        g, x = Term(graph, graph.out_grad[0]), Term(graph, graph.in_data[0])
        line = x * self.attrs["scalar"] * self.attrs["scalar"]
        return [(g * line.op("clip", a_min=-1.0, a_max=1.0)).entry]
