"""Elementwise operators of two inputs, in two spellings.

``broadcast_*`` follow NumPy's broadcasting; ``elemwise_*`` and the underscored names behind
Python's operators demand equal shapes. Both run the same kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, register
from .family import ALL_TYPES, NUMBERS, Elementwise, derive, document
from .shapes import broadcast
from .term import Term

__all__ = ["Broadcast", "Pair", "binary"]

BinaryRule = Callable[[Term, Term, Term, Term], tuple[Term, Term]]
"""Both gradients from (out_grad, lhs, rhs, out)."""


class Broadcast(OperatorProperty):
    """The base of operators of two inputs that broadcast."""

    arguments: ClassVar[tuple[str, ...]] = ("lhs", "rhs")
    dtypes: ClassVar[tuple[str, ...]] = NUMBERS
    rule: ClassVar[BinaryRule | None] = None

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The output has the larger extent of each dimension."""
        lhs, rhs = in_shapes
        return [lhs, rhs], [broadcast(self.name, ("lhs", "rhs"), lhs, rhs)], []

    def inplace_options(self) -> list[tuple[int, int]]:
        """An input that is as large as the output may give its memory."""
        return [(0, 0), (1, 0)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The rule of the table, summed over the dimensions that were spread."""
        rule = type(self).rule
        if rule is None:
            return [None, None]
        lhs, rhs = graph.in_data
        entries = (graph.out_grad[0], lhs, rhs, graph.out_data[0])
        grads = rule(*(Term(graph, e, "broadcast") for e in entries))
        return [
            graph.op("_sum_like", grad.entry, like)[0]
            for grad, like in zip(grads, (lhs, rhs), strict=True)
        ]


class Pair(Elementwise):
    """The base of operators of two inputs of one shape."""

    arguments: ClassVar[tuple[str, ...]] = ("lhs", "rhs")
    rule: ClassVar[BinaryRule | None] = None

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The rule of the table."""
        rule = type(self).rule
        if rule is None:
            return [None, None]
        entries = (graph.out_grad[0], *graph.in_data, graph.out_data[0])
        return [grad.entry for grad in rule(*(Term(graph, e) for e in entries))]


def binary(
    stem: str,
    summary: str,
    formula: str,
    gradient: tuple[str, str, BinaryRule] | None,
    example: tuple[str, str, str],
    equal: tuple[str, ...],
    broadcast_aliases: tuple[str, ...] = (),
    dtypes: tuple[str, ...] = NUMBERS,
) -> None:
    """Registers both cards of one function of two inputs.

    Parameters
    ----------
    stem
        The name after ``broadcast_``.
    summary
        One sentence.
    formula
        The output in terms of ``lhs`` and ``rhs``.
    gradient
        Both gradients as formulas, and as one rule; None where there are none.
    example
        Two rows of inputs, and what is printed for the output.
    equal
        The name and the aliases of the operator that demands equal shapes.
    broadcast_aliases
        Further names of the operator that broadcasts.
    dtypes
        The element types.
    """
    spread = f"broadcast_{stem}"
    kinds: tuple[tuple[type[OperatorProperty], str, tuple[str, ...], str], ...] = (
        (Broadcast, spread, broadcast_aliases, "``lhs`` and ``rhs`` broadcast as in NumPy"),
        (Pair, equal[0], equal[1:], "``lhs``, ``rhs`` and ``out`` have one shape"),
    )
    grads: dict[str, str] = {"lhs": gradient[0], "rhs": gradient[1]} if gradient else {}
    for base, name, aliases, shapes in kinds:
        card = derive(
            base,
            f"{base.__name__}{stem.title().replace('_', '')}",
            name=name,
            aliases=aliases,
            kernel=spread,
            dtypes=dtypes,
            rule=staticmethod(gradient[2]) if gradient else None,
            differentiable=gradient is not None,
        )
        card.__doc__ = document(
            summary, f"out = {formula}", shapes, dtypes, grads, _example(name, *example)
        )
        register(card)


def _example(name: str, lhs: str, rhs: str, printed: str) -> str:
    return (
        f">>> a, b = mx.nd.array({lhs}), mx.nd.array({rhs})\n"
        f">>> print(mx.nd.{name}(a, b).asnumpy())\n{printed}"
    )


def _hypot_slope_rule(g: Term, x: Term, y: Term, slope: Term) -> tuple[Term, Term]:
    other = y.op("_hypot_slope", x)
    part = g * other / x.op("broadcast_hypot", y)
    return part * other, -(part * slope)


def _power_slope_rule(g: Term, x: Term, y: Term, slope: Term) -> tuple[Term, Term]:
    less_one = x.op("broadcast_power", y - 1)
    return g * y * x.op("_power_slope", y - 1), g * (less_one + slope * x.op("log"))


@register
class PowerSlope(Broadcast):
    """The derivative of ``lhs ** rhs`` with respect to ``lhs``, ``rhs * lhs ** (rhs - 1)``.

    In one step, as the second factor may leave the range of a half where the product does not.
    """

    name = "_power_slope"
    hidden = True
    rule = staticmethod(_power_slope_rule)


@register
class HypotSlope(Broadcast):
    """The derivative of ``hypot(lhs, rhs)`` with respect to ``lhs``, ``lhs / hypot(lhs, rhs)``.

    In one step, as the hypotenuse may leave the range of a half.
    """

    name = "_hypot_slope"
    hidden = True
    rule = staticmethod(_hypot_slope_rule)


binary(
    "add",
    "The sum of two inputs.",
    "lhs + rhs",
    ("out_grad", "out_grad", lambda g, x, y, z: (g, g)),
    ("[1, 2]", "[10, 20]", "[11. 22.]"),
    ("elemwise_add", "_plus", "_Plus", "_add", "_grad_add"),
    ("broadcast_plus",),
)
binary(
    "sub",
    "The difference of two inputs.",
    "lhs - rhs",
    ("out_grad", "-out_grad", lambda g, x, y, z: (g, -g)),
    ("[1, 2]", "[10, 20]", "[ -9. -18.]"),
    ("elemwise_sub", "_minus", "_Minus", "_sub"),
    ("broadcast_minus",),
)
binary(
    "mul",
    "The product of two inputs.",
    "lhs * rhs",
    ("out_grad * rhs", "out_grad * lhs", lambda g, x, y, z: (g * y, g * x)),
    ("[1, 2]", "[10, 20]", "[10. 40.]"),
    ("elemwise_mul", "_mul", "_Mul"),
)
binary(
    "div",
    "The quotient of two inputs; integers are divided towards zero.",
    "lhs / rhs",
    ("out_grad / rhs", "-out_grad * out / rhs", lambda g, x, y, z: (g / y, -(g * (z / y)))),
    ("[1, 6]", "[2, 4]", "[0.5 1.5]"),
    ("elemwise_div", "_div", "_Div"),
)
binary(
    "mod",
    "The remainder of a division, with the sign of the divisor; 0 where that is 0.",
    "lhs - floor(lhs / rhs) * rhs",
    (
        "out_grad",
        "-out_grad * floor(lhs / rhs)",
        lambda g, x, y, z: (g, -(g * (x / y).op("floor"))),
    ),
    ("[5, -5]", "[3, 3]", "[2. 1.]"),
    ("_mod", "_Mod"),
)
binary(
    "power",
    "The first input raised to the power of the second.",
    "lhs ** rhs",
    (
        "out_grad * rhs * lhs ** (rhs - 1)",
        "out_grad * out * log(lhs)",
        lambda g, x, y, z: (g * x.op("_power_slope", y), g * z * x.op("log")),
    ),
    ("[2, 3]", "[3, 2]", "[8. 9.]"),
    ("_power", "_Power"),
)
binary(
    "hypot",
    "The hypotenuse over two sides.",
    "sqrt(lhs ** 2 + rhs ** 2)",
    (
        "out_grad * lhs / out",
        "out_grad * rhs / out",
        lambda g, x, y, z: (g * x.op("_hypot_slope", y), g * y.op("_hypot_slope", x)),
    ),
    ("[3, 5]", "[4, 12]", "[ 5. 13.]"),
    ("_hypot", "_Hypot"),
)
binary(
    "maximum",
    "The larger of two inputs; a gradient goes to `lhs` where they are equal.",
    "max(lhs, rhs)",
    (
        "out_grad * (lhs >= rhs)",
        "out_grad * (lhs < rhs)",
        lambda g, x, y, z: (
            g * x.op("broadcast_greater_equal", y),
            g * x.op("broadcast_lesser", y),
        ),
    ),
    ("[1, 5]", "[4, 2]", "[4. 5.]"),
    ("_maximum", "_Maximum"),
)
binary(
    "minimum",
    "The smaller of two inputs; a gradient goes to `lhs` where they are equal.",
    "min(lhs, rhs)",
    (
        "out_grad * (lhs <= rhs)",
        "out_grad * (lhs > rhs)",
        lambda g, x, y, z: (
            g * x.op("broadcast_lesser_equal", y),
            g * x.op("broadcast_greater", y),
        ),
    ),
    ("[1, 5]", "[4, 2]", "[1. 2.]"),
    ("_minimum", "_Minimum"),
)


def _comparison(stem: str, words: str, sign: str, printed: str, mxnet_class: str) -> None:
    binary(
        stem,
        f"1 where the first input is {words} the second, and 0 elsewhere.",
        f"lhs {sign} rhs",
        None,
        ("[1, 2, 3]", "[2, 2, 2]", printed),
        (f"_{stem}", mxnet_class),
        dtypes=ALL_TYPES,
    )


_comparison("equal", "equal to", "==", "[0. 1. 0.]", "_Equal")
_comparison("not_equal", "different from", "!=", "[1. 0. 1.]", "_Not_Equal")
_comparison("greater", "greater than", ">", "[0. 0. 1.]", "_Greater")
_comparison("greater_equal", "not less than", ">=", "[0. 1. 1.]", "_Greater_Equal")
_comparison("lesser", "less than", "<", "[1. 0. 0.]", "_Lesser")
_comparison("lesser_equal", "not greater than", "<=", "[1. 1. 0.]", "_Lesser_Equal")


def _logical(word: str, meaning: str, printed: str) -> None:
    binary(
        f"logical_{word}",
        f"1 where {meaning} nonzero, and 0 elsewhere.",
        f"(lhs != 0) {word} (rhs != 0)",
        None,
        ("[0, 0, 3]", "[0, 2, 1]", printed),
        (f"_logical_{word}", f"_Logical_{word.title()}"),
        dtypes=ALL_TYPES,
    )


_logical("and", "both inputs are", "[0. 0. 1.]")
_logical("or", "an input is", "[0. 1. 1.]")
_logical("xor", "exactly one input is", "[0. 1. 0.]")
