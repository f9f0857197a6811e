"""Softmax, softmin and the logarithm of softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import Claims, Entry, GradientGraph, MaybeShape, OperatorProperty, merge_shapes, register
from .composed import Composed
from .family import FLOATS, Types
from .param import Param, Params
from .shapes import normal_axis
from .term import Term

__all__ = ["LogSoftmax", "Softmax", "SoftmaxActivation", "Softmin"]

_AXIS = Param("int", -1, "The axis along which outputs sum to 1.")
_TEMPERATURE = Param("float", None, "What the data are divided by; 1.", optional=True)
_PARAMS = {
    "axis": _AXIS,
    "temperature": _TEMPERATURE,
    "dtype": Param("dtype", None, "The type of the output; the input's.", optional=True),
}
_USE_LENGTH = Param("bool", False, "Whether `length` says how many elements count.")
_LENGTHS: Claims = {"length": ("int32", "int64")}
_NO_LENGTH = Param("bool", False, "Only softmax has lengths.", choices=(False,))


class SoftmaxFamily(OperatorProperty):
    """The base of softmax and its relatives: numbers of one shape, then perhaps lengths."""

    dtypes: ClassVar[tuple[str, ...]] = FLOATS

    def masked(self) -> bool:
        """Whether there are lengths."""
        return self.attrs["use_length"]

    def list_arguments(self) -> list[str]:
        """The numbers, then the lengths where they are asked for."""
        return [n for n in self.arguments if n != "length" or self.masked()]

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """All like the data, which must have the axis; a length for each position."""
        numbers = self._merged(in_shapes, None)
        shape, lengths = numbers[0], list(in_shapes[len(numbers) :])
        if shape is not None:
            axis = normal_axis(self.name, self.attrs["axis"], len(shape))
            positions = (*shape[:axis], *shape[axis + 1 :])
            lengths = [merge_shapes(self.name, "length", n, positions) for n in lengths]
        return [*numbers, *lengths], [shape], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """All numbers have the shape of the output."""
        numbers = self._merged(in_shapes, out_shapes[0])
        return [*numbers, *in_shapes[len(numbers) :]]

    def _merged(self, in_shapes: Sequence[MaybeShape], shape: MaybeShape) -> list[MaybeShape]:
        """The shapes of the numbers, all of which are one, and `shape`."""
        names = [n for n in self.list_arguments() if n != "length"]
        for name, given in zip(names, in_shapes, strict=False):
            shape = merge_shapes(self.name, name, given, shape)
        return [shape] * len(names)

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """The output has the type of the data, or `dtype` where there is that attribute."""
        arguments, outputs, states = super().infer_type(in_types)
        wanted = self.attrs.get("dtype")
        if wanted is not None:
            self.check_dtype(wanted)
            outputs = [wanted]
        return arguments, outputs, states

    def inplace_options(self) -> list[tuple[int, int]]:
        """The output may take the place of the data, unless it has another type."""
        return [] if self.attrs["dtype"] else [(0, 0)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's, which needs the output alone, and the lengths."""
        found = self.backward(graph, f"_backward_{self.name}", self.attrs["temperature"])
        return [found, *[None] * self.masked()]

    def backward(self, graph: GradientGraph, name: str, temperature: float | None) -> Entry:
        """The gradient by the hidden operator `name`, as the type of the data."""
        entries = (graph.out_grad[0], graph.out_data[0], *graph.in_data[1:])
        attrs = {"axis": self.attrs["axis"], "temperature": temperature}
        found = graph.op(name, *entries, use_length=self.masked(), **attrs)[0]
        if self.attrs["dtype"] is None:
            return found
        return graph.op("_backward_Cast", found, graph.in_data[0])[0]


@register
class Softmax(SoftmaxFamily):
    """Positive numbers that sum to 1 along an axis.

    Formula: ``out = exp(data / temperature) / sum of exp(data / temperature)``; with
    ``use_length``, of the first ``length`` elements along the axis, and 0 for the others.
    Shapes: ``out`` has the shape of ``data``, ``length`` that without the axis. Types: floats;
    ``length`` is int32 or int64.
    Gradient: ``data_grad = out * (out_grad - sum of out_grad * out) / temperature``; none for
    ``length``.

    Examples
    --------
    >>> data, length = mx.nd.array([[1, 1, 1, 1]]), mx.nd.array([2], dtype="int32")
    >>> print(mx.nd.softmax(data).asnumpy())
    [[0.25 0.25 0.25 0.25]]
    >>> print(mx.nd.softmax(data, length=length, use_length=True).asnumpy())
    [[0.5 0.5 0.  0. ]]
    """

    name = "softmax"
    arguments = ("data", "length")
    argument_dtypes: ClassVar[Claims] = _LENGTHS
    params: ClassVar[Params] = {**_PARAMS, "use_length": _USE_LENGTH}


@register
class Softmin(SoftmaxFamily):
    """Positive numbers that sum to 1 along an axis, the larger the smaller the data.

    Formula: ``out = exp(-data / temperature) / sum of exp(-data / temperature)``.
    Shapes: ``out`` has the shape of ``data``. Types: floats.
    Gradient: ``data_grad = -out * (out_grad - sum of out_grad * out) / temperature``.

    Examples
    --------
    >>> print(mx.nd.softmin(mx.nd.array([[1, 2, 3]])).asnumpy().round(3))
    [[0.665 0.245 0.09 ]]
    """

    name = "softmin"
    params: ClassVar[Params] = {**_PARAMS, "use_length": _NO_LENGTH}

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """That of a softmax with the negative temperature."""
        return [self.backward(graph, "_backward_softmax", -(self.attrs["temperature"] or 1.0))]


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
    params: ClassVar[Params] = {**_PARAMS, "use_length": _NO_LENGTH}


@register
class SoftmaxActivation(Composed):
    """Softmax, under an old name.

    Formula: ``out = softmax(data)`` along the last axis (``mode="instance"``) or along axis 1
    (``"channel"``). Shapes: ``out`` has the shape of ``data``, which has at least three dimensions
    in the mode ``channel``. Types: floats.
    Gradient: that of ``softmax``.

    Examples
    --------
    >>> print(mx.nd.SoftmaxActivation(mx.nd.array([[1, 1, 1, 1]])).asnumpy())
    [[0.25 0.25 0.25 0.25]]
    """

    name = "SoftmaxActivation"
    dtypes: ClassVar[tuple[str, ...]] = FLOATS
    params: ClassVar[Params] = {
        "mode": Param("str", "instance", "Which axis.", choices=("instance", "channel"))
    }

    def forward(self, data: Term) -> Term:
        """A softmax."""
        return data.op("softmax", axis=1 if self.attrs["mode"] == "channel" else -1)

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """That of the data, which must have enough dimensions."""
        (data,), mode = in_shapes, self.attrs["mode"]
        if data is not None and mode == "channel" and len(data) < 3:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' has shape {data}, expected at least 3 dimensions "
                "for mode=channel"
            )
        return super().infer_shape(in_shapes)


class BackwardSoftmaxFamily(SoftmaxFamily):
    """The base of the gradients of softmax and its logarithm, from the output."""

    hidden: ClassVar[bool] = True
    arguments: ClassVar[tuple[str, ...]] = ("out_grad", "out", "length")
    argument_dtypes: ClassVar[Claims] = _LENGTHS
    params: ClassVar[Params] = {
        "axis": _AXIS,
        "temperature": _TEMPERATURE,
        "use_length": _USE_LENGTH,
    }

    def inplace_options(self) -> list[tuple[int, int]]:
        """The output may take the place of either."""
        return [(0, 0), (1, 0)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """By the formula; none for the lengths, beyond which the output is 0."""
        entries = (graph.out_grad[0], *graph.in_data[:2])
        found = self.rule(*(Term(graph, e, "broadcast") for e in entries))
        scale = 1.0 / (self.attrs["temperature"] or 1.0)
        return [*[(t * scale).entry for t in found], *[None] * self.masked()]

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
