"""Activation functions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, merge_shapes, register
from .family import FLOATS, Backward, Elementwise
from .param import Param, Params
from .term import Term

__all__ = ["Activation", "LeakyReLU"]

_ACT_TYPE = Param(
    "str", doc="The function.", choices=("relu", "sigmoid", "softrelu", "softsign", "tanh")
)


@register
class Activation(Elementwise):
    """An activation function of every element.

    Formula: ``relu``: ``max(data, 0)``; ``sigmoid``: ``1 / (1 + exp(-data))``; ``tanh``;
    ``softrelu``: ``log(1 + exp(data))``; ``softsign``: ``data / (1 + |data|)``.
    Shapes: ``out`` has the shape of ``data``. Types: floats.
    Gradient: ``out_grad`` times, in this order, ``out > 0``, ``out * (1 - out)``, ``1 - out ** 2``,
    ``1 - exp(-out)``, ``1 / (1 + |data|) ** 2``; of ``relu`` at NaN it is NaN.

    Examples
    --------
    >>> print(mx.nd.Activation(mx.nd.array([-1, 2]), act_type="relu").asnumpy())
    [0. 2.]
    """

    name = "Activation"
    dtypes = FLOATS
    params: ClassVar[Params] = {"act_type": _ACT_TYPE}

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's, which needs the output alone, so that the input may be gone.

        The output of softsign does not tell large inputs apart.
        """
        softsign = self.attrs["act_type"] == "softsign"
        known = graph.in_data[0] if softsign else graph.out_data[0]
        return [graph.op("_backward_Activation", graph.out_grad[0], known, **self.attrs)[0]]


@register
class BackwardActivation(Elementwise):
    """The gradient of Activation, from its output, or for softsign from its input."""

    name = "_backward_Activation"
    hidden = True
    arguments = ("out_grad", "out")
    dtypes = FLOATS
    params: ClassVar[Params] = {"act_type": _ACT_TYPE}

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The same for ``out_grad``; for ``out`` by the derivative of the slope."""
        g, (out_grad, y) = graph.out_grad[0], graph.in_data
        first = graph.op("_backward_Activation", g, y, **self.attrs)[0]
        slope = _change_of_slope(self.attrs["act_type"], Term(graph, y))
        if slope is None:
            return [first, None]
        return [first, (slope * Term(graph, g) * Term(graph, out_grad)).entry]


def _change_of_slope(act_type: str, y: Term) -> Term | None:
    """How the slope changes with what the gradient is computed from; None where it does not."""
    if act_type == "sigmoid":
        return y * -2.0 + 1.0
    if act_type == "tanh":
        return y * -2.0
    if act_type == "softrelu":
        return (-y).op("exp")
    if act_type == "softsign":
        steep = y.op("abs") + 1.0
        return y.op("sign") / steep / steep / steep * -2.0
    return None


_SELU = 1.0507009873554805 * 1.6732632423543772
"""The slope of selu below zero, at zero."""
_LEAKY_PARAMS = {
    "act_type": Param(
        "str", "leaky", "The function.", choices=("elu", "gelu", "leaky", "prelu", "rrelu", "selu")
    ),
    "slope": Param("float", 0.25, "The slope of leaky, the factor of elu."),
    "lower_bound": Param("float", 0.125, "The least slope of rrelu."),
    "upper_bound": Param("float", 0.334, "Where the slopes of rrelu end."),
}


@register
class LeakyReLU(OperatorProperty):
    """Activation functions with something left below zero.

    Formula: ``leaky``: ``data`` where it is positive, else ``slope * data``; ``prelu``: the same
    with a learned slope ``gamma`` for each channel; ``elu``: ``slope * (exp(data) - 1)`` below
    zero; ``selu``: ``1.0507 * data``, and ``1.0507 * 1.6733 * (exp(data) - 1)`` below zero;
    ``gelu``: ``data / 2 * (1 + erf(data / sqrt(2)))``; ``rrelu``: ``leaky`` with a slope for each
    element, drawn evenly from ``lower_bound`` to ``upper_bound`` in training, and in between in
    prediction, and a second output, ``mask``: the slopes, 1 where the data are positive.
    Shapes: ``out`` has the shape of ``data``; ``gamma`` is ``(c,)`` for data ``(n, c, ...)``, or
    ``(1,)``. Types: floats, all alike.
    Gradient: ``out_grad`` times the derivative; ``gamma_grad`` is the sum of ``out_grad * data``
    where data are negative.

    Examples
    --------
    >>> print(mx.nd.LeakyReLU(mx.nd.array([-1, 2]), act_type="leaky", slope=0.5).asnumpy())
    [-0.5  2. ]
    """

    name = "LeakyReLU"
    arguments = ("data", "gamma")
    initializers: ClassVar[Mapping[str, str]] = {"gamma": '["Constant", {"value": 0.25}]'}
    dtypes = FLOATS
    params: ClassVar[Params] = _LEAKY_PARAMS

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        self.is_random = self.attrs["act_type"] == "rrelu"
        self.uses_train_mode = self.is_random
        if self.is_random and self.attrs["lower_bound"] > self.attrs["upper_bound"]:
            raise InvalidArgumentError(
                f"{self.name}: lower_bound={self.attrs['lower_bound']} is above "
                f"upper_bound={self.attrs['upper_bound']}"
            )

    def kernel_name(self) -> str:
        """A row of its own where slopes are drawn."""
        return "_leaky_random" if self.is_random else self.name

    def list_arguments(self) -> list[str]:
        """Only prelu learns."""
        return ["data", "gamma"] if self.attrs["act_type"] == "prelu" else ["data"]

    def list_outputs(self) -> list[str]:
        """The slopes, too, where they are drawn."""
        return ["output", "mask"] if self.is_random else ["output"]

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The slopes from the channels of the data."""
        data = in_shapes[0]
        found = [data]
        if self.attrs["act_type"] == "prelu":
            gamma = in_shapes[1]
            if data is not None and gamma != (1,):
                channels = data[1] if len(data) > 1 else 1
                gamma = merge_shapes(self.name, "gamma", gamma, (channels,))
            found.append(gamma)
        return found, [data] * len(self.list_outputs()), []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The data have the shape of the outputs."""
        data = in_shapes[0]
        for out in out_shapes:
            data = merge_shapes(self.name, "data", data, out)
        return [data, *in_shapes[1:]]

    def inplace_options(self) -> list[tuple[int, int]]:
        """The output may take the place of the data."""
        return [] if self.is_random else [(0, 0)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's; where slopes are drawn, they are the derivative."""
        if self.is_random:
            return [graph.op("elemwise_mul", graph.out_grad[0], graph.out_data[1])[0]]
        inputs = graph.in_data[: len(self.list_arguments())]
        return list(graph.op("_backward_LeakyReLU", graph.out_grad[0], *inputs, **self.attrs))


@register
class BackwardLeakyReLU(Backward):
    """The gradients of LeakyReLU."""

    name = "_backward_LeakyReLU"
    differentiable = True
    dtypes = FLOATS
    params: ClassVar[Params] = _LEAKY_PARAMS
    gradients: ClassVar[Mapping[str, str]] = {"data_grad": "data", "gamma_grad": "gamma"}

    def list_arguments(self) -> list[str]:
        """Only prelu learns."""
        return ["out_grad", "data", *["gamma"] * (self.attrs["act_type"] == "prelu")]

    def list_outputs(self) -> list[str]:
        """Only prelu learns."""
        return ["data_grad", *["gamma_grad"] * (self.attrs["act_type"] == "prelu")]

    def _like(self, given: Sequence[Any]) -> list[Any]:
        return list(given[1:])

    def inplace_options(self) -> list[tuple[int, int]]:
        """The gradient of the data may take the place of that of the output, or of the data."""
        return [(0, 0), (1, 0)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The same for ``out_grad``; for the data by the change of the slope."""
        out_grad, data, *gamma = graph.in_data
        if gamma:
            return self._learned(graph)
        again = graph.op(self.name, graph.out_grad[0], data, **self.attrs)[0]
        change = self._slope_by_data(Term(graph, data))
        if change is None:
            return [again, None]
        return [again, (change * Term(graph, graph.out_grad[0]) * Term(graph, out_grad)).entry]

    def _slope_by_data(self, x: Term) -> Term | None:
        """How the slope changes with the data; None where it does not."""
        if self.attrs["act_type"] == "leaky":
            return None
        if self.attrs["act_type"] == "gelu":
            square = x.op("square")
            bell = (square * -0.5).op("exp") * (1 / math.sqrt(2 * math.pi))
            return bell * square.op("_rminus_scalar", scalar=2.0)
        factor = self.attrs["slope"] if self.attrs["act_type"] == "elu" else _SELU
        below = x.op("_lesser_equal_scalar", scalar=0.0)
        return x.op("_minimum_scalar", scalar=0.0).op("exp") * below * factor

    def _learned(self, graph: GradientGraph) -> list[Entry | None]:
        """With slopes: prelu spreads numbers over channels, its gradient adds over them."""
        g, x, gamma, to_data, to_gamma = (
            Term(graph, e) for e in (*graph.in_data, graph.out_grad[0], graph.out_grad[1])
        )
        again = Term(
            graph, graph.op(self.name, to_data.entry, x.entry, gamma.entry, **self.attrs)[0]
        )
        # -1 where the slope counts, 0 elsewhere.
        below = -x.op("_lesser_equal_scalar", scalar=0.0)
        spread = below.op("LeakyReLU", to_gamma, act_type="prelu")
        entries = ((to_data * g).entry, below.entry, gamma.entry)
        total = Term(graph, graph.op(self.name, *entries, **self.attrs)[1])
        beyond = x.op("_minimum_scalar", scalar=0.0)
        first = again - spread * beyond
        return [first.entry, (-(spread * g)).entry, (-total).entry]
