"""Reductions over axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, Shape, register
from .family import ALL_TYPES, NUMBERS, Backward, Types, derive, document
from .param import Param, Params
from .shapes import normal_axes, normal_axis
from .term import Term

__all__ = ["Arg", "Norm", "Reduction"]

AXIS = Param("axis", None, "The axes to reduce; all of them where empty or None.", optional=True)
KEEPDIMS = Param("bool", False, "Whether reduced axes stay, with extent 1.")
EXCLUDE = Param("bool", False, "Whether to reduce the axes that are not in `axis`.")

ReduceRule = Callable[["Reduction", GradientGraph], Term]


def reduced_axes(operator: str, attrs: dict[str, Any], rank: int) -> tuple[int, ...]:
    """The axes over which a reduction goes, counted from the front.

    Raises
    ------
    InvalidArgumentError
        For an axis that does not exist, or one given twice.
    """
    axis = attrs["axis"]
    given = (axis,) if isinstance(axis, int) else axis or ()
    chosen = normal_axes(operator, given, rank)
    if not chosen:
        return tuple(range(rank))
    if attrs.get("exclude"):
        return tuple(a for a in range(rank) if a not in chosen)
    return chosen


def reduced_shape(shape: Shape, axes: Sequence[int], keepdims: bool) -> Shape:
    """The shape that is left; MXNet's reduction over everything has the shape ``(1,)``."""
    if keepdims:
        return tuple(1 if i in axes else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axes) or (1,)


class Reduction(OperatorProperty):
    """The base of reductions over any number of axes."""

    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES
    params: ClassVar[Params] = {"axis": AXIS, "keepdims": KEEPDIMS, "exclude": EXCLUDE}
    rule: ClassVar[ReduceRule | None] = None

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The reduced axes vanish, or keep the extent 1."""
        (shape,) = in_shapes
        if shape is None:
            return [None], [None], []
        axes = reduced_axes(self.name, self.attrs, len(shape))
        return [shape], [reduced_shape(shape, axes, self.attrs["keepdims"])], []

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The rule of the table."""
        return [self.rule(graph).entry if self.rule else None]

    def spread(self, graph: GradientGraph, value: Term, mean: bool = False) -> Term:
        """`value`, of the output's shape, over the axes that were reduced."""
        return self.spread_over(Term(graph, graph.in_data[0]), value, mean)

    def spread_over(self, data: Term, value: Term, mean: bool = False) -> Term:
        """As :meth:`spread`; `data` has the input's shape and the type of `value`."""
        axes = {a: self.attrs[a] for a in ("axis", "keepdims", "exclude") if a in self.attrs}
        return value.op("_broadcast_back", data, mean=mean, **axes)


def _sum_rule(card: Reduction, graph: GradientGraph) -> Term:
    return card.spread(graph, Term(graph, graph.out_grad[0]))


def _mean_rule(card: Reduction, graph: GradientGraph) -> Term:
    return card.spread(graph, Term(graph, graph.out_grad[0]), mean=True)


def _prod_rule(card: Reduction, graph: GradientGraph) -> Term:
    g, y = Term(graph, graph.out_grad[0]), Term(graph, graph.out_data[0])
    return card.spread(graph, g * y) / Term(graph, graph.in_data[0])


def _nansum_rule(card: Reduction, graph: GradientGraph) -> Term:
    x = Term(graph, graph.in_data[0])
    return card.spread(graph, Term(graph, graph.out_grad[0])) * x.op("_equal", x)


def _nanprod_rule(card: Reduction, graph: GradientGraph) -> Term:
    g, x = Term(graph, graph.out_grad[0]), Term(graph, graph.in_data[0])
    # The product of each element alone is the element, or 1 for NaN.
    alone = x.op("expand_dims", axis=-1).op("nanprod", axis=-1).op("reshape_like", x)
    return card.spread(graph, g * Term(graph, graph.out_data[0])) / alone * x.op("_equal", x)


def _extreme_rule(card: Reduction, graph: GradientGraph) -> Term:
    g, y = Term(graph, graph.out_grad[0]), Term(graph, graph.out_data[0])
    winners = Term(graph, graph.in_data[0]).op("_equal", card.spread(graph, y))
    return card.spread(graph, g) * winners


def reduction(
    name: str,
    summary: str,
    formula: str,
    gradient: tuple[str, ReduceRule],
    printed: str,
    aliases: tuple[str, ...] = (),
) -> None:
    """Registers the card of a reduction; `printed` is for [[1, 2], [3, 4]] over axis 1."""
    card = derive(Reduction, name.title(), name=name, aliases=aliases, rule=gradient[1])
    card.__doc__ = document(
        summary,
        formula,
        "``axis`` chooses what is reduced, ``exclude`` the rest; everything gives ``(1,)``",
        card.dtypes,
        {"data": gradient[0]},
        ">>> a = mx.nd.array([[1, 2], [3, 4]])\n"
        f">>> print(mx.nd.{name}(a, axis=1).asnumpy())\n{printed}",
    )
    register(card)


reduction(
    "sum",
    "The sum over axes.",
    "out[i] = sum over j of data[i, j]",
    ("out_grad, spread over the reduced axes", _sum_rule),
    "[3. 7.]",
    ("sum_axis",),
)
reduction(
    "mean",
    "The mean over axes.",
    "out[i] = sum over j of data[i, j] / n",
    ("out_grad / n, spread over the reduced axes", _mean_rule),
    "[1.5 3.5]",
)
reduction(
    "prod",
    "The product over axes.",
    "out[i] = product over j of data[i, j]",
    ("out_grad * out / data", _prod_rule),
    "[ 2. 12.]",
)
reduction(
    "nansum",
    "The sum over axes of what is not NaN.",
    "out[i] = sum over j of (0 if data[i, j] is NaN else data[i, j])",
    ("out_grad, spread over the reduced axes; 0 for NaN", _nansum_rule),
    "[3. 7.]",
)
reduction(
    "nanprod",
    "The product over axes of what is not NaN.",
    "out[i] = product over j of (1 if data[i, j] is NaN else data[i, j])",
    ("out_grad * out / data; 0 for NaN", _nanprod_rule),
    "[ 2. 12.]",
)
reduction(
    "max",
    "The maximum over axes.",
    "out[i] = max over j of data[i, j]",
    ("out_grad * (data == out)", _extreme_rule),
    "[2. 4.]",
    ("max_axis",),
)
reduction(
    "min",
    "The minimum over axes.",
    "out[i] = min over j of data[i, j]",
    ("out_grad * (data == out)", _extreme_rule),
    "[1. 3.]",
    ("min_axis",),
)


@register
class Norm(Reduction):
    """The Euclidean norm over axes, or the sum of magnitudes.

    Formula: ``out[i] = sqrt(sum over j of data[i, j] ** 2)``, or ``sum over j of |data[i, j]|``
    with ``ord = 1``. Shapes: ``axis`` chooses what is reduced; everything gives ``(1,)``.
    Types: numbers; ``out_dtype`` may be another one.
    Gradient: ``data_grad = out_grad * data / out``, or ``out_grad * sign(data)``.

    Examples
    --------
    >>> print(mx.nd.norm(mx.nd.array([[3, 4], [6, 8]]), axis=1).asnumpy())
    [ 5. 10.]
    """

    name = "norm"
    dtypes = NUMBERS
    params: ClassVar[Params] = {
        "ord": Param("int", 2, "The order of the norm: 1 or 2.", low=1, high=2),
        "axis": AXIS,
        "out_dtype": Param("dtype", None, "The type of the output; the input's.", optional=True),
        "keepdims": KEEPDIMS,
    }

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """The output has the type of the input, or `out_dtype`."""
        return list(in_types), [self.attrs["out_dtype"] or in_types[0]], []

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The direction of the data, or their signs."""
        g, x, y = (Term(graph, e[0]) for e in (graph.out_grad, graph.in_data, graph.out_data))
        if self.attrs["out_dtype"] is None:
            return [self._rule(g, x, y).entry]
        # Of two types, neither need hold what the other does.
        wide = [t.op("Cast", dtype="float64") for t in (g, x, y)]
        return [self._rule(*wide).op("_backward_Cast", x).entry]

    def _rule(self, g: Term, x: Term, y: Term) -> Term:
        if self.attrs["ord"] == 1:
            return x.op("sign") * self.spread_over(x, g)
        return x * self.spread_over(x, g / y)


class Arg(OperatorProperty):
    """The base of operators that find where an extreme value is."""

    dtypes: ClassVar[tuple[str, ...]] = NUMBERS
    differentiable: ClassVar[bool] = False
    params: ClassVar[Params] = {
        "axis": Param("int", None, "The axis; the flat index where None.", optional=True),
        "keepdims": KEEPDIMS,
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The axis vanishes, or keeps the extent 1."""
        (shape,) = in_shapes
        if shape is None:
            return [None], [None], []
        axis, rank = self.attrs["axis"], len(shape)
        axes = range(rank) if axis is None else (normal_axis(self.name, axis, rank),)
        return [shape], [reduced_shape(shape, axes, self.attrs["keepdims"])], []

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """Indices have a type that can hold them: the input's, or float32."""
        (given,) = in_types
        wide = given in (None, "float64", "int32", "int64")
        return [given], [given if wide else "float32"], []


@register
class ArgMax(Arg):
    """The index of the maximum, the first one of several.

    Formula: ``out[i] = argmax over j of data[i, j]``. Shapes: without ``axis``, or with
    ``keepdims`` where it has the extent 1. Types: numbers; the indices have the type of ``data``
    if that is float64, int32 or int64, and are float32 otherwise.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> print(mx.nd.argmax(mx.nd.array([[1, 5, 2], [7, 0, 3]]), axis=1).asnumpy())
    [1. 0.]
    """

    name = "argmax"


@register
class ArgMin(Arg):
    """The index of the minimum, the first one of several.

    Formula: ``out[i] = argmin over j of data[i, j]``. Shapes: without ``axis``, or with
    ``keepdims`` where it has the extent 1. Types: numbers; the indices have the type of ``data``
    if that is float64, int32 or int64, and are float32 otherwise.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> print(mx.nd.argmin(mx.nd.array([[1, 5, 2], [7, 0, 3]]), axis=1).asnumpy())
    [0. 1.]
    """

    name = "argmin"


@register
class ArgMaxChannel(Arg):
    """The index of the maximum along axis 1, the first one of several.

    Formula: ``out[i] = argmax over j of data[i, j]``. Shapes: without axis 1. Types: numbers; the
    indices have the type of ``data`` if that is float64, int32 or int64, and are float32 otherwise.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> print(mx.nd.argmax_channel(mx.nd.array([[1, 5, 2], [7, 0, 3]])).asnumpy())
    [1. 0.]
    """

    name = "argmax_channel"
    params: ClassVar[Params] = {}

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Axis 1 vanishes."""
        (shape,) = in_shapes
        if shape is None:
            return [None], [None], []
        return [shape], [reduced_shape(shape, (normal_axis(self.name, 1, len(shape)),), False)], []


@register
class BroadcastBack(Backward):
    """The gradient of a reduction: ``out_grad``, spread over the axes that were reduced.

    With ``mean`` it is divided by the number of elements that each output came from.
    """

    name = "_broadcast_back"
    differentiable = True
    dtypes = NUMBERS
    params: ClassVar[Params] = {
        "axis": AXIS,
        "keepdims": KEEPDIMS,
        "exclude": EXCLUDE,
        "mean": Param("bool", False, "Whether the reduction was a mean."),
    }

    def ignored_inputs(self) -> list[int]:
        """The data give their shape only."""
        return [1]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The reduction again."""
        attrs = {a: self.attrs[a] for a in ("axis", "keepdims", "exclude")}
        name = "mean" if self.attrs["mean"] else "sum"
        return [graph.op(name, graph.out_grad[0], **attrs)[0], None]
