"""Softmax and its logarithm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import Entry, GradientGraph, MaybeShape, register
from .family import FLOATS, Elementwise, Types
from .param import Param, Params
from .shapes import normal_axis
from .term import Term

__all__ = ["LogSoftmax", "Softmax"]

_PARAMS = {
    "axis": Param("int", -1, "The axis along which outputs sum to 1."),
    "temperature": Param("float", None, "What the data are divided by; 1.", optional=True),
    "dtype": Param("dtype", None, "The type of the output; the input's.", optional=True),
}
_USE_LENGTH = Param("bool", False, "Masking by length is not there.", choices=(False,))


class SoftmaxFamily(Elementwise):
    """The base of softmax and its logarithm."""

    dtypes: ClassVar[tuple[str, ...]] = FLOATS

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Like the data, which must have the axis."""
        if in_shapes[0] is not None:
            normal_axis(self.name, self.attrs["axis"], len(in_shapes[0]))
        return super().infer_shape(in_shapes)

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """The type of the data, which `dtype` may only repeat."""
        wanted = self.attrs["dtype"]
        if wanted is not None and in_types[0] not in (None, wanted):
            raise InvalidArgumentError(
                f"{self.name}: dtype {wanted} differs from the type {in_types[0]} of 'data'; cast "
                "the data first"
            )
        return super().infer_type([in_types[0] or wanted])

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's, which needs the output alone."""
        attrs = {k: self.attrs[k] for k in _PARAMS}
        entries = (graph.out_grad[0], graph.out_data[0])
        return [graph.op(f"_backward_{self.name}", *entries, **attrs)[0]]


@register
class Softmax(SoftmaxFamily):
    """Positive numbers that sum to 1 along an axis.

    Formula: ``out = exp(data / temperature) / sum of exp(data / temperature)``.
    Shapes: ``out`` has the shape of ``data``. Types: floats.
    Gradient: ``data_grad = out * (out_grad - sum of out_grad * out) / temperature``.

    Examples
    --------
    >>> print(mx.nd.softmax(mx.nd.array([[1, 1, 1, 1]])).asnumpy())
    [[0.25 0.25 0.25 0.25]]
    """

    name = "softmax"
    params: ClassVar[Params] = {**_PARAMS, "use_length": _USE_LENGTH}


@register
class LogSoftmax(SoftmaxFamily):
    """The logarithm of softmax, exact where softmax underflows.

    Formula: ``out = data / temperature - log(sum of exp(data / temperature))``.
    Shapes: ``out`` has the shape of ``data``. Types: floats.
    Gradient: ``data_grad = (out_grad - exp(out) * sum of out_grad) / temperature``.

    Examples
    --------
    >>> print(mx.nd.log_softmax(mx.nd.array([[0, 1000]])).asnumpy())
    [[-1000.     0.]]
    """

    name = "log_softmax"
    params: ClassVar[Params] = {**_PARAMS, "use_length": _USE_LENGTH}


class BackwardSoftmaxFamily(Elementwise):
    """The base of the gradients of softmax and its logarithm, from the output."""

    hidden: ClassVar[bool] = True
    arguments: ClassVar[tuple[str, ...]] = ("out_grad", "out")
    dtypes: ClassVar[tuple[str, ...]] = FLOATS
    params: ClassVar[Params] = _PARAMS

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """By the formula."""
        entries = (graph.out_grad[0], *graph.in_data)
        found = self.rule(*(Term(graph, e, "broadcast") for e in entries))
        scale = 1.0 / (self.attrs["temperature"] or 1.0)
        return [(t * scale).entry for t in found]

    def rule(self, g: Term, out_grad: Term, y: Term) -> tuple[Term, Term]:
        """The gradients of ``out_grad`` and of ``out``, before the division by the temperature."""
        raise NotImplementedError

    def total(self, term: Term) -> Term:
        """The sum along the axis, which stays."""
        return term.op("sum", axis=self.attrs["axis"], keepdims=True)


@register
class BackwardSoftmax(BackwardSoftmaxFamily):
    """The gradient of softmax, from its output."""

    name = "_backward_softmax"

    def rule(self, g: Term, out_grad: Term, y: Term) -> tuple[Term, Term]:
        """Of ``y * (out_grad - sum of out_grad * y)``."""
        inner, outer = self.total(g * y), self.total(out_grad * y)
        return y * (g - inner), g * (out_grad - outer) - out_grad * inner


@register
class BackwardLogSoftmax(BackwardSoftmaxFamily):
    """The gradient of log_softmax, from its output."""

    name = "_backward_log_softmax"

    def rule(self, g: Term, out_grad: Term, y: Term) -> tuple[Term, Term]:
        """Of ``out_grad - exp(y) * sum of out_grad``."""
        weighted = g * y.op("exp")
        return g - self.total(weighted), -(weighted * self.total(out_grad))
