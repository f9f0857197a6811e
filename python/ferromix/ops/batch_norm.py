"""Batch normalization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from .card import (
    Entry,
    GradientGraph,
    MaybeShape,
    OperatorProperty,
    Shape,
    merge_shapes,
    register,
)
from .family import REALS, Backward, Unary
from .param import Param, Params
from .shapes import normal_axis
from .term import Term

__all__ = ["BatchNorm"]

_PARAMS = {
    "eps": Param("float", 1e-3, "What keeps the divisor from 0.", low=0),
    "momentum": Param("float", 0.9, "The decay of the running statistics."),
    "fix_gamma": Param("bool", True, "Whether gamma counts as 1."),
    "use_global_stats": Param("bool", False, "Whether training uses the running statistics."),
    "output_mean_var": Param("bool", False, "Whether the statistics are visible outputs."),
    "axis": Param("int", 1, "The axis of the channels."),
    "cudnn_off": Param("bool", False, "Whether cuDNN is not used; of no effect."),
    "min_calib_range": Param("float", None, "For quantization; of no effect.", optional=True),
    "max_calib_range": Param("float", None, "For quantization; of no effect.", optional=True),
}


@register
class BatchNorm(OperatorProperty):
    """Normalization of each channel over a batch, then a learned scale and shift.

    Formula: ``out = gamma * (data - mean) / sqrt(var + eps) + beta``, where mean and variance
    (divided by the number of elements) of each channel are those of the batch in training, and the
    running ones in prediction or with ``use_global_stats``. Training changes the running ones:
    ``moving = momentum * moving + (1 - momentum) * batch``, in the backward pass in MXNet and in
    the forward pass here.
    Shapes: ``data`` and ``out`` are alike; all others are ``(c,)``, with the extent ``c`` of
    ``axis``. The second and third output are the mean and one over the square root of
    ``var + eps``. Types: float32 and float64, all alike.
    Gradient: that of the formula, through the batch's statistics where they are used;
    ``gamma_grad`` is 0 with ``fix_gamma``.

    Examples
    --------
    >>> data, one, zero = mx.nd.array([[1, 2], [3, 6]]), mx.nd.ones((2,)), mx.nd.zeros((2,))
    >>> print(mx.nd.BatchNorm(data, one, zero, zero, one, eps=0).asnumpy())
    [[1. 2.]
     [3. 6.]]
    """

    name = "BatchNorm"
    aliases = ("BatchNorm_v1",)
    arguments: ClassVar[tuple[str, ...]] = ("data", "gamma", "beta")
    auxiliary_states = ("moving_mean", "moving_var")
    initializers: ClassVar[Mapping[str, str]] = {
        "moving_mean": '["zero", {}]',
        "moving_var": '["one", {}]',
    }
    dtypes = REALS
    params: ClassVar[Params] = _PARAMS
    uses_train_mode = True

    def list_outputs(self) -> list[str]:
        """The normalized data, and the statistics that were used."""
        return ["output", "mean", "var"]

    def num_visible_outputs(self) -> int:
        """The statistics are seen on request."""
        return 3 if self.attrs["output_mean_var"] else 1

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """All statistics from the channels of the data."""
        data = in_shapes[0]
        stats: MaybeShape = None if data is None else (self._channels(data),)
        for name, given in zip(self.arguments[1:], in_shapes[1:], strict=True):
            stats = merge_shapes(self.name, name, given, stats)
        return [data, stats, stats], [data, stats, stats], [stats, stats]

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The data have the shape of the output."""
        data = merge_shapes(self.name, "data", in_shapes[0], out_shapes[0])
        return [data, *in_shapes[1:]]

    def inplace_options(self) -> list[tuple[int, int]]:
        """The output may take the place of the data, which the gradient in training keeps alive."""
        return [(0, 0)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's."""
        data, gamma, _, moving_mean, moving_var = graph.in_data
        _, mean, var = graph.out_data
        entries = (graph.out_grad[0], data, gamma, mean, var, moving_mean, moving_var)
        return list(graph.op("_backward_BatchNorm", *entries, **self.attrs))

    def _channels(self, data: Shape) -> int:
        return data[normal_axis(self.name, self.attrs["axis"], len(data))]


@register
class BackwardBatchNorm(Backward):
    """The gradients of BatchNorm."""

    name = "_backward_BatchNorm"
    differentiable = True
    arguments = ("out_grad", "data", "gamma", "mean", "var", "moving_mean", "moving_var")
    gradients: ClassVar[Mapping[str, str]] = {
        "data_grad": "data",
        "gamma_grad": "gamma",
        "beta_grad": "gamma",
    }
    dtypes = REALS
    params: ClassVar[Params] = _PARAMS
    uses_train_mode = True

    def inplace_options(self) -> list[tuple[int, int]]:
        """The gradient of the data may take the place of that of the output, or of the data."""
        return [(0, 0), (1, 0)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """By out_grad, data and gamma; the batch's statistics are functions of the data.

        In each channel, with ``x`` for the normalized data, ``r`` for one over the deviation and
        ``P`` for the map that in training takes out the mean and the part along ``x``:
        ``data_grad = gamma * r * P(out_grad)``, and ``P`` is symmetric.
        """
        terms = [Term(graph, e) for e in graph.in_data]
        g, data, gamma, mean, root = terms[:5]
        u, fixed = Term(graph, graph.out_grad[0]), self.attrs["fix_gamma"]
        axes = {"axis": self.attrs["axis"], "exclude": True}

        def spread(value: Term) -> Term:
            return value.op("_broadcast_back", data, **axes)

        def back(value: Term, scale: Term) -> Term:
            attrs = {**self.attrs, "fix_gamma": False}
            return value.op(self.name, data, scale, *terms[3:], **attrs)

        one = gamma.op("ones_like")
        scale = one if fixed else gamma
        x = ((data - spread(mean)) * spread(root)).op("_normalized")
        by_g = back(u, scale) + spread(Term(graph, graph.out_grad[2]))

        # Through the statistics.
        left, right, both = ((a * b).op("mean", **axes) for a, b in ((u, x), (g, x), (g, u)))
        both -= g.op("mean", **axes) * u.op("mean", **axes) + left * right
        root *= gamma.op("_by_batch", use_global_stats=self.attrs["use_global_stats"])
        by_data = back(g * spread(left) + u * spread(right), scale) * spread(-root)
        by_data -= spread(scale * root * root * both) * x
        if fixed:
            return [by_g.entry, by_data.entry, *[None] * 5]

        v = Term(graph, graph.out_grad[1])
        by_g += spread(v) * x
        by_data += back(g, v)
        by_gamma = (u * back(g, one)).op("sum", **axes)
        return [by_g.entry, by_data.entry, by_gamma.entry, *[None] * 4]


@register
class Normalized(Unary):
    """The normalized data in a second derivative, of which there is no third one."""

    name = "_normalized"
    kernel = "_copy"
    hidden = True
    differentiable = False
    dtypes = REALS


@register
class ByBatch(Unary):
    """Ones where the statistics are the batch's, and zeros otherwise, in the shape of ``data``."""

    name = "_by_batch"
    kernel = "_full"
    hidden = True
    dtypes = REALS
    uses_train_mode = True
    params: ClassVar[Params] = {
        "use_global_stats": Param("bool", False, "Whether the running statistics are used anyway.")
    }

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """The number."""
        return {"value": float(is_train and not self.attrs["use_global_stats"])}

    def ignored_inputs(self) -> list[int]:
        """The input gives its shape and type only."""
        return [0]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """None: the output is constant."""
        return [None]
