"""Normalization of layers, instances and groups of channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

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
from .shapes import normal_axis

__all__ = ["GroupNorm", "InstanceNorm", "LayerNorm"]

_STATISTICS = Param("bool", False, "Whether mean and deviation are visible outputs.")


def _eps(default: float) -> Param:
    return Param("float", default, "What keeps the divisor from 0.", low=0)


class RowNorm(OperatorProperty):
    """The base: rows of the data are normalized, each by its own mean and deviation."""

    arguments: ClassVar[tuple[str, ...]] = ("data", "gamma", "beta")
    dtypes: ClassVar[tuple[str, ...]] = FLOATS

    def list_outputs(self) -> list[str]:
        """The normalized data, and the statistics."""
        return ["output", "mean", "std"]

    def num_visible_outputs(self) -> int:
        """The statistics are seen on request, where there is that attribute."""
        return 3 if self.attrs.get("output_mean_var") else 1

    def scaled(self, rank: int) -> int | None:
        """The axis of the data that is as long as gamma and beta, if there is one."""
        raise NotImplementedError

    def statistics(self, data: Shape) -> tuple[int, Shape]:
        """The extent of gamma and beta, and the shape of mean and deviation."""
        raise NotImplementedError

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """All others from the data."""
        data, scale, rows = in_shapes[0], -1, None
        if data is not None:
            scale, rows = self.statistics(data)
        scales: MaybeShape = (scale,)
        for name, given in zip(self.arguments[1:], in_shapes[1:], strict=True):
            scales = merge_shapes(self.name, name, given, scales)
        if data is not None and (axis := self.scaled(len(data))) is not None and scales:
            data = (*data[:axis], *scales, *data[axis + 1 :])
        return [data, scales, scales], [data, rows, rows], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The data have the shape of the output."""
        data = merge_shapes(self.name, "data", in_shapes[0], out_shapes[0])
        return [data, *in_shapes[1:]]

    def inplace_options(self) -> list[tuple[int, int]]:
        """A row is read before it is written."""
        return [(0, 0)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's; nothing flows through the statistics, as in MXNet."""
        data, gamma, _ = graph.in_data
        entries = (graph.out_grad[0], data, gamma, *graph.out_data[1:])
        return list(graph.op(f"_backward_{self.name}", *entries, **self.attrs))

    def require_spatial(self, data: Shape) -> None:
        """Refuses data without anything behind the channels."""
        if len(data) < 3:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' has shape {data}, expected at least 3 dimensions "
                "(batch, channels, ...)"
            )


class BackwardRowNorm(Backward):
    """The base of the gradients of data, gamma and beta."""

    arguments: ClassVar[tuple[str, ...]] = ("out_grad", "data", "gamma", "mean", "std")
    gradients: ClassVar[Mapping[str, str]] = {
        "data_grad": "data",
        "gamma_grad": "gamma",
        "beta_grad": "gamma",
    }
    dtypes: ClassVar[tuple[str, ...]] = FLOATS

    def inplace_options(self) -> list[tuple[int, int]]:
        """A row is read before it is written."""
        return [(0, 0), (1, 0)]


@register
class LayerNorm(RowNorm):
    """Normalization along an axis, then a learned scale and shift of each position there.

    Formula: ``out = gamma * (data - mean) / sqrt(var + eps) + beta``, with mean and variance
    (divided by the number of elements) along ``axis``. Shapes: ``out`` has the shape of ``data``,
    ``gamma`` and ``beta`` are ``(k,)`` with the extent ``k`` of the axis; mean and
    ``sqrt(var + eps)``, the other outputs, have 1 in its place. Types: floats, all alike; halves
    are computed in float32.
    Gradient: that of the formula; none through the other outputs.

    Examples
    --------
    >>> data, one, zero = mx.nd.array([[1, 3], [2, 6]]), mx.nd.ones((2,)), mx.nd.zeros((2,))
    >>> print(mx.nd.LayerNorm(data, one, zero).asnumpy().round(3))
    [[-1.  1.]
     [-1.  1.]]
    """

    name = "LayerNorm"
    params: ClassVar[Params] = {
        "axis": Param("int", -1, "The axis along which the data are normalized."),
        "eps": _eps(1e-5),
        "output_mean_var": _STATISTICS,
    }

    def scaled(self, rank: int) -> int:
        """The axis."""
        return normal_axis(self.name, self.attrs["axis"], rank)

    def statistics(self, data: Shape) -> tuple[int, Shape]:
        """By the axis."""
        axis = self.scaled(len(data))
        return data[axis], (*data[:axis], 1, *data[axis + 1 :])


@register
class InstanceNorm(RowNorm):
    """Normalization of each channel of each sample, then a learned scale and shift of channels.

    Formula: ``out = gamma * (data - mean) / sqrt(var + eps) + beta``, with mean and variance
    (divided by the number of elements) over all axes but the first two. Shapes: ``data`` and
    ``out`` are ``(n, c, ...)`` of at least three dimensions, ``gamma`` and ``beta`` ``(c,)``.
    Types: floats, all alike; halves are computed in float32.
    Gradient: that of the formula.

    Examples
    --------
    >>> data, one, zero = mx.nd.array([[[1, 3], [2, 6]]]), mx.nd.ones((2,)), mx.nd.zeros((2,))
    >>> print(mx.nd.InstanceNorm(data, one, zero).asnumpy().round(2))
    [[[-1.  1.]
      [-1.  1.]]]
    """

    name = "InstanceNorm"
    params: ClassVar[Params] = {"eps": _eps(1e-3)}

    def scaled(self, rank: int) -> int:
        """The channels."""
        return 1

    def statistics(self, data: Shape) -> tuple[int, Shape]:
        """By sample and channel."""
        self.require_spatial(data)
        return data[1], data[:2]


@register
class GroupNorm(RowNorm):
    """Normalization of groups of channels of each sample, then a scale and shift of groups.

    Formula: ``out = gamma * (data - mean) / sqrt(var + eps) + beta``, with mean and variance
    (divided by the number of elements) over the channels of a group and all later axes. Shapes:
    ``data`` and ``out`` are ``(n, c, ...)`` of at least three dimensions, ``gamma`` and ``beta``
    ``(num_groups,)``; mean and ``sqrt(var + eps)``, the other outputs, are ``(n, num_groups)``.
    Types: floats, all alike; halves are computed in float32.
    Gradient: that of the formula; none through the other outputs.

    Examples
    --------
    >>> data, one, zero = mx.nd.array([[[1, 3], [1, 3]]]), mx.nd.ones((1,)), mx.nd.zeros((1,))
    >>> print(mx.nd.GroupNorm(data, one, zero).asnumpy().round(2))
    [[[-1.  1.]
      [-1.  1.]]]
    """

    name = "GroupNorm"
    params: ClassVar[Params] = {
        "num_groups": Param("int", 1, "The number of groups.", low=1),
        "eps": _eps(1e-5),
        "output_mean_var": _STATISTICS,
    }

    def scaled(self, rank: int) -> None:
        """There is none: they are as many as groups."""

    def statistics(self, data: Shape) -> tuple[int, Shape]:
        """By sample and group."""
        self.require_spatial(data)
        groups = self.attrs["num_groups"]
        if data[1] % groups and data[1] >= 0:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' has {data[1]} channels (shape {data}), which do "
                f"not fall into num_groups={groups} equal groups"
            )
        return groups, (data[0], groups)


@register
class BackwardLayerNorm(BackwardRowNorm):
    """The gradients of LayerNorm."""

    name = "_backward_LayerNorm"
    params: ClassVar[Params] = LayerNorm.params


@register
class BackwardInstanceNorm(BackwardRowNorm):
    """The gradients of InstanceNorm."""

    name = "_backward_InstanceNorm"
    params: ClassVar[Params] = InstanceNorm.params


@register
class BackwardGroupNorm(BackwardRowNorm):
    """The gradients of GroupNorm."""

    name = "_backward_GroupNorm"
    params: ClassVar[Params] = GroupNorm.params
