"""Constructors of cards for families: an elementwise operator is one call, a row of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar, cast

from .card import (
    Entry,
    GradientGraph,
    MaybeShape,
    OperatorProperty,
    merge_shapes,
    register,
)
from .term import Term

__all__ = [
    "ALL_TYPES",
    "FLOATS",
    "NUMBERS",
    "REALS",
    "Backward",
    "Elementwise",
    "Types",
    "Unary",
    "derive",
    "document",
    "numbered_outputs",
    "unary",
]

REALS = ("float32", "float64")
"""The element types of kernels without half precision."""
FLOATS = ("float32", "float64", "float16", "bfloat16")
"""The real element types."""
NUMBERS = (*FLOATS, "uint8", "int8", "int32", "int64")
"""The element types with arithmetic."""
ALL_TYPES = (*NUMBERS, "bool")
"""Every element type."""

Types = tuple[list[str | None], list[str | None], list[str | None]]
"""What type inference returns."""
Card = TypeVar("Card", bound=OperatorProperty)
Rule = Callable[[Term, Term, Term], Term]
"""The gradient of a unary operator from (out_grad, data, out)."""


class Elementwise(OperatorProperty):
    """The base of operators whose inputs and outputs all have one shape and one type."""

    dtypes: ClassVar[tuple[str, ...]] = NUMBERS

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """Every input has the shape of the output."""
        names = self.list_arguments()
        return [
            merge_shapes(self.name, n, s, out_shapes[0])
            for n, s in zip(names, in_shapes, strict=True)
        ]

    def inplace_options(self) -> list[tuple[int, int]]:
        """The output may take the place of any input."""
        return [(i, 0) for i in range(len(self.list_arguments()))]


class Unary(Elementwise):
    """The base of elementwise operators of one input; `rule` is the gradient."""

    rule: ClassVar[Rule | None] = None

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The rule of the table, or none."""
        rule = type(self).rule
        if rule is None:
            return [None]
        g, x, y = (Term(graph, e[0]) for e in (graph.out_grad, graph.in_data, graph.out_data))
        return [rule(g, x, y).entry]


def unary(
    name: str,
    summary: str,
    formula: str,
    gradient: tuple[str, Rule] | None,
    example: tuple[str, str],
    **variables: Any,
) -> type[Unary]:
    """Registers the card of a unary elementwise operator.

    Parameters
    ----------
    name
        MXNet's name.
    summary
        One sentence.
    formula
        The output in terms of ``data``.
    gradient
        The gradient as a formula in ``data``, ``out`` and ``out_grad``, and as a rule; None where
        there is none.
    example
        The rows of an input, and what is printed for the output.
    **variables
        Class variables of the card, such as ``aliases`` and ``dtypes``.
    """
    card = derive(
        Unary,
        _class_name(name),
        name=name,
        rule=staticmethod(gradient[1]) if gradient else None,
        differentiable=gradient is not None,
        **variables,
    )
    card.__doc__ = document(
        summary,
        f"out = {formula}",
        "``out`` has the shape of ``data``",
        card.dtypes,
        {"data": gradient[0]} if gradient else {},
        f">>> print(mx.nd.{name.replace('_contrib_', 'contrib.')}(mx.nd.array({example[0]}))"
        f".asnumpy().round(4))\n{example[1]}",
    )
    return register(card)


def derive(base: type[Card], class_name: str, **variables: Any) -> type[Card]:
    """A subclass of `base` with other class variables."""
    return cast(
        "type[Card]", type(class_name, (base,), {"__module__": base.__module__, **variables})
    )


def document(
    summary: str,
    formula: str,
    shapes: str,
    dtypes: Sequence[str],
    gradients: Mapping[str, str],
    example: str,
) -> str:
    """The docstring of a card that comes from a row of a table."""
    if gradients:
        rules = "; ".join(f"``{k}_grad = {v}``" for k, v in gradients.items())
        gradient = f"Gradient: {rules}."
    else:
        gradient = "Gradient: none, nothing flows back."
    return (
        f"{summary}\n\nFormula: ``{formula}``. Shapes: {shapes}. "
        f"Types: {', '.join(dtypes)}; all alike.\n{gradient}\n\n"
        f"Examples\n--------\n{example}\n"
    )


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.strip("_").split("_"))


class Backward(OperatorProperty):
    """The base of hidden operators that compute gradients for another operator.

    `gradients` maps the name of each output to the input whose shape and type it has.
    """

    hidden: ClassVar[bool] = True
    differentiable: ClassVar[bool] = False
    arguments: ClassVar[tuple[str, ...]] = ("out_grad", "data")
    gradients: ClassVar[Mapping[str, str]] = {"data_grad": "data"}

    def list_outputs(self) -> list[str]:
        """The names of the gradients."""
        return list(self.gradients)

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Each output has the shape of the input of which it is the gradient."""
        return list(in_shapes), self._like(in_shapes), []

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """Each output has the type of the input of which it is the gradient."""
        return list(in_types), self._like(in_types), []

    def _like(self, given: Sequence[Any]) -> list[Any]:
        names = self.list_arguments()
        return [given[names.index(like)] for like in self.gradients.values()]


def numbered_outputs(count: int) -> list[str]:
    """The names of outputs that have numbers; as in MXNet, one that is alone has none."""
    return [f"output{i}" for i in range(count)] if count > 1 else ["output"]
