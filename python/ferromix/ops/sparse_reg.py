"""A penalty that keeps the activations of a layer near a target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, merge_shapes, register
from .family import FLOATS
from .param import Param, Params
from .term import Term

__all__ = ["IdentityAttachKLSparseReg"]


@register
class IdentityAttachKLSparseReg(OperatorProperty):
    """A copy, whose gradient pulls the mean of each channel towards a target.

    Formula: ``out = data``. Training changes the running means of the channels, which are the
    elements along axis 1: ``moving_avg = momentum * moving_avg + (1 - momentum) * mean``, in the
    backward pass in MXNet and in the forward pass here. Shapes: ``data`` and ``out`` are alike, of
    at least two dimensions; ``moving_avg`` is ``(channels,)``. Types: floats, all alike.
    Gradient: ``data_grad = out_grad + penalty * ((1 - sparseness_target) / (1 - moving_avg) -
    sparseness_target / moving_avg)``, the slope of a Kullback-Leibler divergence.

    Examples
    --------
    >>> data, mean = mx.nd.array([[0.5, 0.25]]), mx.nd.array([0.5, 0.5])
    >>> print(mx.nd.IdentityAttachKLSparseReg(data, mean).asnumpy())
    [[0.5  0.25]]
    """

    name = "IdentityAttachKLSparseReg"
    arguments = ("data",)
    auxiliary_states = ("moving_avg",)
    initializers: ClassVar[Mapping[str, str]] = {"moving_avg": '["zero", {}]'}
    dtypes = FLOATS
    uses_train_mode = True
    params: ClassVar[Params] = {
        "sparseness_target": Param("float", 0.1, "The target.", low=0, high=1),
        "penalty": Param("float", 0.001, "The weight of the penalty."),
        "momentum": Param("float", 0.9, "The decay of the running means.", low=0, high=1),
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """A mean for each channel."""
        (data,) = in_shapes
        if data is not None and len(data) < 2:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' has shape {data}, expected at least 2 dimensions "
                "(batch, channels, ...)"
            )
        return [data], [data], [None if data is None else data[1:2]]

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The data have the shape of the output."""
        return [merge_shapes(self.name, "data", in_shapes[0], out_shapes[0])]

    def inplace_options(self) -> list[tuple[int, int]]:
        """The output may take the place of the data."""
        return [(0, 0)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """By the formula, with the means as they are now."""
        data, mean = (Term(graph, e) for e in graph.in_data)
        target, penalty = self.attrs["sparseness_target"], self.attrs["penalty"]
        slope = (penalty * (1 - target)) / (1.0 - mean) - (penalty * target) / mean
        spread = slope.op("_broadcast_back", data, axis=1, exclude=True)
        return [(Term(graph, graph.out_grad[0]) + spread).entry]
