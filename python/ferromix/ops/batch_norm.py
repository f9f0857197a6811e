"""Batch normalization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import (
    Again,
    Claims,
    Entry,
    GradientGraph,
    MaybeShape,
    OperatorProperty,
    Shape,
    make,
    merge_shapes,
    register,
)
from .family import FLOATS, REALS, Backward, Types, Unary
from .param import Param, Params
from .shapes import normal_axis
from .term import Term

__all__ = ["BatchNorm", "BatchNormWithReLU", "SyncBatchNorm"]

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


_HALVES = ("float16", "bfloat16")


@register
class BatchNorm(OperatorProperty):
    """Normalization of each channel over a batch, then a learned scale and shift.

    Formula: ``out = gamma * (data - mean) / sqrt(var + eps) + beta``, where mean and variance
    (divided by the number of elements) of each channel are those of the batch in training, and the
    running ones in prediction or with ``use_global_stats``. A backward pass of training changes the
    running ones: ``moving = momentum * moving + (1 - momentum) * batch``.
    Shapes: ``data`` and ``out`` are alike; all others are ``(c,)``, with the extent ``c`` of
    ``axis``. The second and third output are the mean and one over the square root of
    ``var + eps``. Types: floats, all alike, but for halves, which all others are float32 to.
    Gradient: that of the formula, through the batch's statistics where they are used;
    ``gamma_grad`` is 0 with ``fix_gamma``. Gradients of the second and third output are ignored.

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
    changed_by_gradient = True
    initializers: ClassVar[Mapping[str, str]] = {
        "moving_mean": '["zero", {}]',
        "moving_var": '["one", {}]',
    }
    dtypes = FLOATS
    argument_dtypes: ClassVar[Claims] = dict.fromkeys(("gamma", "beta"), REALS)
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

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """That of the data; float32 for the others where that is a half."""
        data = in_types[0]
        if data is None:
            data = next((t for t in in_types if t is not None), None)
        own = "float32" if data in _HALVES else data
        for name, given in zip(self.arguments[1:], in_types[1:], strict=True):
            if given not in (None, own):
                raise InvalidArgumentError(
                    f"{self.name}: argument '{name}' is {given}, but 'data' is {data}, which needs "
                    f"{own}; cast one of them"
                )
        return [data, own, own], [data, own, own], [own, own]

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

    def again(self, inputs: Sequence[Entry], outputs: Sequence[Entry]) -> Again | None:
        """From the statistics, which are small, and need not be found again."""
        if type(self) is not BatchNorm:
            return None
        return make("_batch_norm_again", self.attrs), [*inputs[:3], *outputs[1:]]

    def _channels(self, data: Shape) -> int:
        return data[normal_axis(self.name, self.attrs["axis"], len(data))]


@register
class BatchNormAgain(Backward):
    """The output of BatchNorm from the data and the statistics that it gave."""

    name = "_batch_norm_again"
    arguments = ("data", "gamma", "beta", "mean", "var")
    gradients: ClassVar[Mapping[str, str]] = {"output": "data"}
    dtypes = FLOATS
    argument_dtypes: ClassVar[Claims] = dict.fromkeys(arguments[1:], REALS)
    params: ClassVar[Params] = _PARAMS
    uses_train_mode = True

    def inplace_options(self) -> list[tuple[int, int]]:
        """As of BatchNorm."""
        return [(0, 0)]


@register
class BatchNormWithReLU(BatchNorm):
    """Batch normalization, and 0 in place of what is negative.

    Formula: ``out = max(0, BatchNorm(data))``. Shapes: those of ``BatchNorm``. Types: floats, all
    alike, but for halves, which all others are float32 to.
    Gradient: that of ``BatchNorm`` where ``out`` is positive, for an ``out_grad`` of 0 elsewhere.

    Examples
    --------
    >>> data, one, zero = mx.nd.array([[-1, 2]]), mx.nd.ones((2,)), mx.nd.zeros((2,))
    >>> print(mx.nd.contrib.BatchNormWithReLU(data, one, zero, zero, one, eps=0).asnumpy())
    [[0. 2.]]
    """

    name = "_contrib_BatchNormWithReLU"
    aliases = ()

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's, of the part that went on."""
        data, gamma, _, *moving = graph.in_data
        out, *statistics = graph.out_data
        passed = Term(graph, out).op("_greater_scalar", scalar=0.0)
        head = (Term(graph, graph.out_grad[0]) * passed).entry
        entries = (head, data, gamma, *statistics, *moving)
        return list(graph.op("_backward_BatchNorm", *entries, **self.attrs))


@register
class SyncBatchNorm(BatchNorm):
    """Batch normalization over the devices of a machine; one process sees one, and so one batch.

    Formula: that of ``BatchNorm`` along axis 1; the third output is the variance. Shapes: those of
    ``BatchNorm``. Types: floats, all alike, but for halves, which all others are float32 to.
    Gradient: that of ``BatchNorm``.

    Examples
    --------
    >>> data, one, zero = mx.nd.array([[1, 2], [3, 6]]), mx.nd.ones((2,)), mx.nd.zeros((2,))
    >>> print(mx.nd.contrib.SyncBatchNorm(data, one, zero, zero, one, key="a", eps=0).asnumpy())
    [[1. 2.]
     [3. 6.]]
    """

    name = "_contrib_SyncBatchNorm"
    aliases = ()
    params: ClassVar[Params] = {
        **{k: _PARAMS[k] for k in ("eps", "momentum", "fix_gamma", "use_global_stats")},
        "output_mean_var": _PARAMS["output_mean_var"],
        "ndev": Param("int", 1, "How many devices there are; of no effect."),
        "key": Param("str", doc="What names the layer to other devices; of no effect."),
    }

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """With the axis."""
        return {**super().kernel_attrs(is_train), "axis": 1}

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's, which wants one over the deviation."""
        data, gamma, _, *moving = graph.in_data
        _, mean, var = graph.out_data
        root = (Term(graph, var) + self.attrs["eps"]).op("rsqrt").entry
        entries = (graph.out_grad[0], data, gamma, mean, root, *moving)
        attrs = {k: v for k, v in self.attrs.items() if k in _PARAMS}
        return list(graph.op("_backward_BatchNorm", *entries, **attrs))

    def _channels(self, data: Shape) -> int:
        return data[normal_axis(self.name, 1, len(data))]


@register
class BatchNormGradient(Backward):
    """The gradients of BatchNorm; the running statistics stay as they are."""

    name = "_batch_norm_gradient"
    differentiable = True
    arguments = ("out_grad", "data", "gamma", "mean", "var")
    gradients: ClassVar[Mapping[str, str]] = {
        "data_grad": "data",
        "gamma_grad": "gamma",
        "beta_grad": "gamma",
    }
    dtypes = FLOATS
    argument_dtypes: ClassVar[Claims] = dict.fromkeys(arguments[2:], REALS)
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
        g, data, gamma, mean, root = (Term(graph, e) for e in graph.in_data[:5])
        u, fixed = Term(graph, graph.out_grad[0]), self.attrs["fix_gamma"]
        axes = {"axis": self.attrs["axis"], "exclude": True}

        def spread(value: Term) -> Term:
            return value.op("_broadcast_back", data, **axes)

        def back(value: Term, scale: Term) -> Term:
            attrs = {**self.attrs, "fix_gamma": False}
            return value.op("_batch_norm_gradient", data, scale, mean, root, **attrs)

        one = gamma.op("ones_like")
        scale = one if fixed else gamma
        x = ((data - spread(mean)) * spread(root)).op("_normalized")
        by_g = back(u, scale) + spread(Term(graph, graph.out_grad[2]))

        # Through the statistics.
        left, right, both = ((a * b).op("mean", **axes) for a, b in ((u, x), (g, x), (g, u)))
        both -= g.op("mean", **axes) * u.op("mean", **axes) + left * right
        moves = root * gamma.op("_by_batch", use_global_stats=self.attrs["use_global_stats"])
        by_data = back(g * spread(left) + u * spread(right), scale) * spread(-moves)
        by_data -= spread(scale * moves * moves * both) * x
        if fixed:
            return [by_g.entry, by_data.entry, None, None, None]

        v = Term(graph, graph.out_grad[1])
        by_g += spread(v) * x
        by_data += back(g, v)
        by_gamma = (u * back(g, one)).op("sum", **axes)
        return [by_g.entry, by_data.entry, by_gamma.entry, None, None]


@register
class BackwardBatchNorm(BatchNormGradient):
    """The gradients of BatchNorm, with which the running statistics change."""

    name = "_backward_BatchNorm"
    auxiliary_states = ("moving_mean", "moving_var")

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The statistics are as long as gamma."""
        given, found, _ = super().infer_shape(in_shapes)
        return given, found, [in_shapes[2]] * 2

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """The statistics have the type of gamma."""
        given, found, _ = super().infer_type(in_types)
        return given, found, [in_types[2]] * 2


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
