"""The fully connected layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import (
    Entry,
    GradientGraph,
    MaybeShape,
    OperatorProperty,
    Shape,
    merge_shapes,
    register,
)
from .family import FLOATS, Backward
from .param import Param, Params
from .shapes import count

__all__ = ["FullyConnected"]

_PARAMS = {
    "num_hidden": Param("int", doc="The number of outputs of each row.", low=1),
    "no_bias": Param("bool", False, "Whether there is no bias."),
    "flatten": Param("bool", True, "Whether all but the first axis of the data become one."),
}


@register
class FullyConnected(OperatorProperty):
    """A linear function of each row.

    Formula: ``out = data . transpose(weight) + bias``. Shapes: ``data`` is ``(n, ...)``, its
    other extents taken together as ``k``, or ``(..., k)`` where ``flatten`` is False; ``weight``
    is ``(num_hidden, k)``, ``bias`` ``(num_hidden,)``, ``out`` ``(n, num_hidden)`` or
    ``(..., num_hidden)``. Types: floats, all alike; halves are
    computed in float32.
    Gradient: ``data_grad = out_grad . weight``, ``weight_grad = transpose(out_grad) . data``,
    ``bias_grad`` is the sum of the rows of ``out_grad``.

    Examples
    --------
    >>> data, weight = mx.nd.array([[1, 2]]), mx.nd.array([[1, 1], [0, 3]])
    >>> bias = mx.nd.array([0, 10])
    >>> print(mx.nd.FullyConnected(data, weight, bias, num_hidden=2).asnumpy())
    [[ 3. 16.]]
    """

    name = "FullyConnected"
    arguments = ("data", "weight", "bias")
    dtypes = FLOATS
    params: ClassVar[Params] = _PARAMS

    def list_arguments(self) -> list[str]:
        """The bias may be missing."""
        return ["data", "weight"] if self.attrs["no_bias"] else ["data", "weight", "bias"]

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Weight, bias and output from the data."""
        data, hidden = in_shapes[0], self.attrs["num_hidden"]
        features = -1 if data is None else self._features(data)
        found = [data, merge_shapes(self.name, "weight", in_shapes[1], (hidden, features))]
        if not self.attrs["no_bias"]:
            found.append(merge_shapes(self.name, "bias", in_shapes[2], (hidden,)))
        if data is not None and not self.attrs["flatten"]:
            out: MaybeShape = (*data[:-1], hidden)
        elif self.attrs["flatten"]:
            out = (-1 if data is None else data[0], hidden)
        else:
            out = None
        return found, [out], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The leading extents of the data from the output."""
        data, out = in_shapes[0], out_shapes[0]
        if data is None or out is None:
            return list(in_shapes)
        free = (-1,) * (len(data) - 1)
        leading = (out[0], *free) if self.attrs["flatten"] else (*out[:-1], -1)
        return [merge_shapes(self.name, "data", data, leading), *in_shapes[1:]]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's."""
        data, weight = graph.in_data[:2]
        return list(
            graph.op("_backward_FullyConnected", graph.out_grad[0], data, weight, **self.attrs)
        )

    def _features(self, data: Shape) -> int:
        if not data:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' has shape (), expected at least one dimension"
            )
        return count(data[1:]) if self.attrs["flatten"] else data[-1]


@register
class BackwardFullyConnected(Backward):
    """The gradients of FullyConnected."""

    name = "_backward_FullyConnected"
    differentiable = True
    arguments = ("out_grad", "data", "weight")
    dtypes = FLOATS
    params: ClassVar[Params] = _PARAMS

    def list_outputs(self) -> list[str]:
        """The bias may be missing."""
        grads = ["data_grad", "weight_grad"]
        return grads if self.attrs["no_bias"] else [*grads, "bias_grad"]

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Those of data, weight and bias."""
        bias = [] if self.attrs["no_bias"] else [(self.attrs["num_hidden"],)]
        return list(in_shapes), [*in_shapes[1:], *bias], []

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """FullyConnected is linear in data, weight and bias, so all parts are of its kind."""
        attrs = {**self.attrs, "no_bias": True}
        out_grad, data, weight = graph.in_data
        of_data, *of_rest = graph.out_grad
        back = "_backward_FullyConnected"
        by_data = graph.op("FullyConnected", of_data, weight, **attrs)[0]
        by_rest = graph.op("FullyConnected", data, *of_rest, **self.attrs)[0]
        return [
            graph.op("elemwise_add", by_data, by_rest)[0],
            graph.op(back, out_grad, data, of_rest[0], **attrs)[0],
            graph.op(back, out_grad, of_data, weight, **attrs)[1],
        ]

    def _like(self, given: Sequence[Any]) -> list[Any]:
        return [*given[1:], *[given[2]] * (not self.attrs["no_bias"])]
