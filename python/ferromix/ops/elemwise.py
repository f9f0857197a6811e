"""Elementwise operators of one input, the sum of several, and identities with other gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..literal import MOST
from .card import Entry, GradientGraph, register
from .family import (
    ALL_TYPES,
    NUMBERS,
    Backward,
    Elementwise,
    Types,
    Unary,
    unary,
)
from .param import Param, Params
from .term import Term

__all__ = ["AddN", "BlockGrad", "Cast", "Clip", "GradientMultiplier", "Identity", "MakeLoss"]


def _activation(word: str) -> Any:
    def rule(g: Term, x: Term, y: Term) -> Term:
        return g.op("_backward_Activation", y, act_type=word)

    return rule


unary(
    "negative",
    "The negative of every element.",
    "-data",
    ("-out_grad", lambda g, x, y: -g),
    ("[1, -2]", "[-1.  2.]"),
)
unary(
    "abs",
    "The absolute value of every element.",
    "|data|",
    ("out_grad * sign(data)", lambda g, x, y: g * x.op("sign")),
    ("[1, -2]", "[1. 2.]"),
)
unary(
    "sign",
    "The sign of every element: -1, 0 or 1.",
    "sign(data)",
    None,
    ("[3, 0, -2]", "[ 1.  0. -1.]"),
)
unary(
    "square",
    "The square of every element.",
    "data * data",
    ("2 * out_grad * data", lambda g, x, y: g * x * 2),
    ("[2, -3]", "[4. 9.]"),
)
unary(
    "relu",
    "Every element where it is positive, and 0 elsewhere.",
    "max(data, 0)",
    ("out_grad * (out > 0), NaN at NaN", _activation("relu")),
    ("[-1, 2]", "[0. 2.]"),
)
unary(
    "floor",
    "The largest whole number that is not above every element.",
    "floor(data)",
    None,
    ("[1.5, -1.5]", "[ 1. -2.]"),
)
unary(
    "ceil",
    "The smallest whole number that is not below every element.",
    "ceil(data)",
    None,
    ("[1.5, -1.5]", "[ 2. -1.]"),
)
unary(
    "round",
    "The nearest whole number; halves go away from zero.",
    "sign(data) * floor(|data| + 0.5)",
    None,
    ("[1.5, -2.5]", "[ 2. -3.]"),
)
unary(
    "rint",
    "The nearest whole number; halves go to the lower neighbour.",
    "ceil(data - 0.5)",
    None,
    ("[1.5, -1.2]", "[ 1. -1.]"),
)
unary(
    "trunc",
    "Every element without its fraction.",
    "sign(data) * floor(|data|)",
    None,
    ("[1.5, -1.5]", "[ 1. -1.]"),
    aliases=("fix",),
)
unary(
    "logical_not",
    "1 where an element is 0, and 0 elsewhere.",
    "data == 0",
    None,
    ("[3, 0]", "[0. 1.]"),
    dtypes=ALL_TYPES,
)
for _name, _summary, _formula, _example in (
    ("round", "The nearest whole number", "sign(data) * floor(|data| + 0.5)", "[ 2. -3.]"),
    ("sign", "The sign of every element", "sign(data)", "[ 1. -1.]"),
):
    unary(
        f"_contrib_{_name}_ste",
        f"{_summary}, through which gradients pass as they are.",
        _formula,
        ("out_grad", lambda g, x, y: g),
        ("[1.5, -2.5]", _example),
        kernel=_name,
    )


@register
class Identity(Unary):
    """A copy.

    Formula: ``out = data``. Shapes: any. Types: all.
    Gradient: ``data_grad = out_grad``.

    Examples
    --------
    >>> print(mx.nd.identity(mx.nd.array([1, 2])).asnumpy())
    [1. 2.]
    """

    name = "_copy"
    aliases = ("identity",)
    dtypes = ALL_TYPES

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The gradient of the output itself, without a node."""
        return [graph.out_grad[0]]


@register
class CrossDeviceCopy(Unary):
    """A copy on the device where it is needed; put into bound graphs (:mod:`ferromix.graph.place`).

    Formula: ``out = data``. Shapes: any. Types: all.
    Gradient: ``data_grad = out_grad``, copied the other way.
    """

    name = "_CrossDeviceCopy"
    kernel = "_copy"
    hidden = True
    dtypes = ALL_TYPES

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """A copy the other way."""
        return graph.op("_CrossDeviceCopy", graph.out_grad[0])


@register
class BlockGrad(Unary):
    """A copy that stops gradients.

    Formula: ``out = data``. Shapes: any. Types: all.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> print(mx.nd.BlockGrad(mx.nd.array([1, 2])).asnumpy())
    [1. 2.]
    """

    name = "BlockGrad"
    aliases = ("stop_gradient",)
    kernel = "_copy"
    dtypes = ALL_TYPES
    differentiable = False


@register
class GradientMultiplier(Unary):
    """A copy whose gradient is multiplied by a number.

    Formula: ``out = data``. Shapes: any. Types: all.
    Gradient: ``data_grad = scalar * out_grad``.

    Examples
    --------
    >>> print(mx.nd.contrib.gradientmultiplier(mx.nd.array([1, 2]), scalar=-0.5).asnumpy())
    [1. 2.]
    """

    name = "_contrib_gradientmultiplier"
    kernel = "_copy"
    dtypes = ALL_TYPES
    params: ClassVar[Params] = {
        "scalar": Param("float", 1.0, "The factor of the gradient."),
        "is_int": Param("bool", True, "Whether the factor is an integer; of no effect."),
    }

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The product with the number."""
        return [(Term(graph, graph.out_grad[0]) * self.attrs["scalar"]).entry]


@register
class MakeLoss(Unary):
    """A copy that is the root of a backward pass.

    Formula: ``out = data``. Shapes: any. Types: all.
    Gradient: ``data_grad = 1``, whatever the gradient of the output.

    Examples
    --------
    >>> print(mx.nd.make_loss(mx.nd.array([1, 2])).asnumpy())
    [1. 2.]
    """

    name = "make_loss"
    kernel = "_copy"
    dtypes = ALL_TYPES

    def list_outputs(self) -> list[str]:
        """MXNet's name, which shows in the names of outputs."""
        return ["loss"]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """Ones."""
        return [graph.op("ones_like", graph.in_data[0])[0]]

    def needs_out_grad(self) -> bool:
        """A loss is where gradients begin."""
        return False


@register
class Clip(Unary):
    """Every element, moved into an interval.

    Formula: ``out = min(max(data, a_min), a_max)``. Shapes: any. Types: numbers.
    Gradient: ``data_grad = out_grad`` where ``a_min <= data <= a_max``, and 0 elsewhere.

    Examples
    --------
    >>> print(mx.nd.clip(mx.nd.array([-1, 0.5, 3]), a_min=0, a_max=1).asnumpy())
    [0.  0.5 1. ]
    """

    name = "clip"
    params: ClassVar[Params] = {
        "a_min": Param("float", doc="The lower end."),
        "a_max": Param("float", doc="The upper end."),
    }

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The gradient of the output, masked by two comparisons."""
        g, x = Term(graph, graph.out_grad[0]), Term(graph, graph.in_data[0])
        above = x.op("_greater_equal_scalar", scalar=self.attrs["a_min"])
        below = x.op("_lesser_equal_scalar", scalar=self.attrs["a_max"])
        return [(g * above * below).entry]


@register
class Cast(Unary):
    """The elements converted to another type.

    Formula: ``out = data`` as ``dtype``; floats are cut towards zero when they become integers.
    Shapes: any. Types: from any to any.
    Gradient: ``data_grad = out_grad`` as the type of ``data``.

    Examples
    --------
    >>> print(mx.nd.Cast(mx.nd.array([1.5, -1.5]), dtype="int32").asnumpy())
    [ 1 -1]
    """

    name = "Cast"
    aliases = ("cast",)
    dtypes = ALL_TYPES
    params: ClassVar[Params] = {"dtype": Param("dtype", doc="The type of the output.")}

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """The output has the type of the attribute."""
        return list(in_types), [self.attrs["dtype"]], []

    def inplace_options(self) -> list[tuple[int, int]]:
        """None: elements may change their size."""
        return []

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """A cast back."""
        return [graph.op("_backward_Cast", graph.out_grad[0], graph.in_data[0])[0]]


@register
class BackwardCast(Backward):
    """The gradient of Cast: ``out_grad`` as the type of ``data``, whose elements do not matter."""

    name = "_backward_Cast"
    differentiable = True
    kernel = "Cast"
    dtypes = ALL_TYPES

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """The kernel reads both types off its arguments."""
        return {}

    def ignored_inputs(self) -> list[int]:
        """The data give their type only."""
        return [1]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """A cast to the type of ``out_grad``; none for the data."""
        return [graph.op("_backward_Cast", graph.out_grad[0], graph.in_data[0])[0], None]


@register
class AddN(Elementwise):
    """The sum of any number of inputs.

    Formula: ``out = arg0 + arg1 + ...``, added from left to right. Shapes: all inputs and the
    output have one shape. Types: numbers, all alike.
    Gradient: ``out_grad`` for every input.

    Examples
    --------
    >>> one = mx.nd.array([1, 2])
    >>> print(mx.nd.add_n(one, one, one).asnumpy())
    [3. 6.]
    """

    name = "add_n"
    aliases = ("ElementWiseSum",)
    dtypes: ClassVar[tuple[str, ...]] = NUMBERS
    variadic = "num_args"
    params: ClassVar[Params] = {
        "num_args": Param("int", doc="The number of inputs.", low=1, high=MOST)
    }

    def inplace_options(self) -> list[tuple[int, int]]:
        """The sum may take the place of its first term."""
        return [(0, 0)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The gradient of the output itself for every input, without a node."""
        return [graph.out_grad[0]] * self.attrs["num_args"]
