"""Regions of images, which become maps of one size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, merge_shapes, register
from .family import FLOATS, Backward
from .param import Param, Params
from .shapes import require_countable

__all__ = ["DeformablePSROIPooling", "PSROIPooling", "ROIAlign", "RROIAlign"]

Shapes = tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]

_SIZE = Param("shape", doc="The rows and columns of bins of each region.", low=1)
_SCALE = Param("float", doc="Pixels of the data for a unit of the regions.", low=0, high=1)


_SAMPLES = Param(
    "int",
    -1,
    "Points in each bin along an axis; below 1 as many as the bin has pixels.",
    high=1 << 16,
)


class Regions(OperatorProperty):
    """The base of operators on regions of the images `data`; only these have a gradient."""

    arguments: ClassVar[tuple[str, ...]] = ("data", "rois")
    dtypes: ClassVar[tuple[str, ...]] = FLOATS
    members: ClassVar[int] = 5
    """Numbers that describe a region."""
    back: ClassVar[str]
    """The operator that takes `out_grad` and the inputs."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        if len(self.bins()) != 2:
            raise InvalidArgumentError(
                f"{self.name}: attribute 'pooled_size' must be rows and columns, got "
                f"{self.attrs['pooled_size']}"
            )

    def bins(self) -> tuple[int, int]:
        """The rows and columns of bins."""
        size = self.attrs["pooled_size"]
        return (size, size) if isinstance(size, int) else size

    def channels(self, given: int) -> int:
        """Channels of the output, from those of the data."""
        return given

    def channels_before(self, given: int) -> int:
        """Channels of the data, from those of the output; -1 where these do not tell."""
        return -1

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """A map for each region."""
        data = merge_shapes(self.name, "data", in_shapes[0], (-1,) * 4) or (-1,) * 4
        rois = merge_shapes(self.name, "rois", in_shapes[1], (-1, self.members)) or (-1,)
        out = (rois[0], self.channels(data[1]), *self.bins())
        require_countable(self.name, "output", out)
        return [data, rois, *in_shapes[2:]], [out], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """How many regions, and channels where there are as many."""
        (data, rois, *rest), (out,) = in_shapes, out_shapes
        if out is None:
            return [data, rois, *rest]
        out = merge_shapes(self.name, "output", out, (-1, -1, *self.bins())) or (-1,) * 4
        images = (-1, self.channels_before(out[1]), -1, -1)
        return [
            merge_shapes(self.name, "data", data, images),
            merge_shapes(self.name, "rois", rois, (out[0], self.members)),
            *rest,
        ]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """To the data alone."""
        return [graph.op(self.back, graph.out_grad[0], *graph.in_data, **self.attrs)[0], None]


class BackwardRegions(Backward):
    """The base of the gradients of operators on regions, which are linear in ``out_grad``."""

    differentiable: ClassVar[bool] = True
    arguments: ClassVar[tuple[str, ...]] = ("out_grad", "data", "rois")
    gradients: ClassVar[Mapping[str, str]] = {"data_grad": "data"}
    dtypes: ClassVar[tuple[str, ...]] = FLOATS
    forward: ClassVar[str]
    """The operator of which this is the gradient."""

    def ignored_inputs(self) -> list[int]:
        """The data give their shape only."""
        return [1]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The operator itself."""
        found = graph.op(self.forward, graph.out_grad[0], graph.in_data[2], **self.attrs)
        return [found[0], None, None]


_ALIGN = {
    "pooled_size": _SIZE,
    "spatial_scale": _SCALE,
    "sample_ratio": _SAMPLES,
    "position_sensitive": Param("bool", False, "Whether each bin has channels of its own."),
    "aligned": Param("bool", False, "Whether a coordinate is the edge of a pixel, not its middle."),
}


@register
class ROIAlign(Regions):
    """Means of points between the pixels of regions.

    Formula: a region is ``(image, left, upper, right, lower)``, times ``spatial_scale`` in pixels;
    with ``aligned`` half a pixel less, and otherwise it has an extent of at least 1. It is cut into
    ``pooled_size`` bins, and a bin is the mean of evenly spaced points, ``sample_ratio`` each way.
    A point is the mean of the four pixels around it by their nearness; up to a pixel outside the
    rim counts, farther out is 0. Of an image below 0 the output is 0. With ``position_sensitive``,
    bin ``(i, j)`` of channel ``c`` reads channel ``(c * h + i) * w + j``. Shapes: ``data`` is ``(n,
    c, y, x)``, ``rois`` ``(r, 5)``, ``out`` ``(r, c, *pooled_size)``, with ``position_sensitive``
    ``(r, c / h / w, h, w)``. Types: floats, all alike.
    Gradient: to the pixels by the same weights; none for ``rois``.

    Examples
    --------
    >>> data = mx.nd.arange(16).reshape((1, 1, 4, 4))
    >>> rois = mx.nd.array([[0, 0.5, 0.5, 2.5, 2.5]])
    >>> print(mx.nd.contrib.ROIAlign(data, rois, pooled_size=(2, 2), spatial_scale=1).asnumpy())
    [[[[ 5.  6.]
       [ 9. 10.]]]]
    """

    name = "_contrib_ROIAlign"
    back = "_backward_ROIAlign"
    params: ClassVar[Params] = _ALIGN

    def _share(self) -> int:
        high, wide = self.bins()
        return high * wide if self.attrs["position_sensitive"] else 1

    def channels(self, given: int) -> int:
        """A part of the channels where bins have their own."""
        if given >= 0 and given % self._share():
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' has {given} channels, no multiple of the "
                f"{self._share()} bins, which position_sensitive asks for"
            )
        return given // self._share() if given >= 0 else -1

    def channels_before(self, given: int) -> int:
        """As many, or some for each bin."""
        return given * self._share() if given >= 0 else -1


@register
class BackwardROIAlign(BackwardRegions):
    """The gradient of ROIAlign."""

    name = "_backward_ROIAlign"
    forward = "_contrib_ROIAlign"
    params: ClassVar[Params] = _ALIGN


@register
class RROIAlign(Regions):
    """Means of points between the pixels of regions that are turned.

    Formula: a region is ``(image, x, y, width, height, angle)``: its middle and its extents, times
    ``spatial_scale`` in pixels and at least 1, turned by ``angle`` degrees, clockwise where y goes
    up. Otherwise as ROIAlign. Shapes: ``data`` is ``(n, c, y, x)``, ``rois`` ``(r, 6)``, ``out``
    ``(r, c, *pooled_size)``. Types: floats, all alike. Gradient: none, nothing flows back.

    Examples
    --------
    >>> data = mx.nd.arange(16).reshape((1, 1, 4, 4))
    >>> rois = mx.nd.array([[0, 1.5, 1.5, 2, 2, 90]])
    >>> print(mx.nd.contrib.RROIAlign(data, rois, pooled_size=(2, 2), spatial_scale=1).asnumpy())
    [[[[ 9.  5.]
       [10.  6.]]]]
    """

    name = "_contrib_RROIAlign"
    differentiable = False
    members = 6
    params: ClassVar[Params] = {
        "pooled_size": _SIZE,
        "spatial_scale": _SCALE,
        "sampling_ratio": _SAMPLES,
    }

    def channels_before(self, given: int) -> int:
        """As many."""
        return given

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """None."""
        return [None, None]


_COUNT = {
    "output_dim": Param("int", doc="The channels of the output.", low=1),
    "pooled_size": Param("int", doc="The rows, and the columns, of bins.", low=1),
}
_POOL = {
    "spatial_scale": _SCALE,
    **_COUNT,
    "group_size": Param("int", 0, "Groups of bins along an axis; 0 is one for each bin.", low=0),
}


class PositionSensitive(Regions):
    """The base of operators whose groups of bins have channels of their own."""

    def channels(self, given: int) -> int:
        """As an attribute says."""
        groups = self.attrs["group_size"] or self.attrs["pooled_size"]
        needed = self.attrs["output_dim"] * groups * groups
        if 0 <= given < needed:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' has {given} channels; output_dim and group_size ask "
                f"for {needed}"
            )
        return self.attrs["output_dim"]


@register
class PSROIPooling(PositionSensitive):
    """Means of the pixels of regions, with channels for each place in a region.

    Formula: a region is ``(image, left, upper, right, lower)``, which are rounded; its last pixel
    belongs to it. Times ``spatial_scale`` it is cut into bins, and a bin is the mean of all pixels
    that it touches, 0 where there are none. Bin ``(i, j)`` of channel ``c`` reads channel
    ``(c * g + i * g // p) * g + j * g // p`` for ``g = group_size`` and ``p = pooled_size``.
    Of an image below 0 the output is 0. Shapes: ``data`` is ``(n, c, y, x)`` with
    ``c >= output_dim * g * g``, ``rois`` ``(r, 5)``, ``out`` ``(r, output_dim, p, p)``.
    Types: floats, all alike. Gradient: to the pixels by the same weights; none for ``rois``.

    Examples
    --------
    >>> data = mx.nd.arange(16).reshape((1, 4, 2, 2))
    >>> rois = mx.nd.array([[0, 0, 0, 1, 1]])
    >>> sizes = {"spatial_scale": 1, "output_dim": 1, "pooled_size": 2}
    >>> print(mx.nd.contrib.PSROIPooling(data, rois, **sizes).asnumpy())
    [[[[ 0.  5.]
       [10. 15.]]]]
    """

    name = "_contrib_PSROIPooling"
    back = "_backward__contrib_PSROIPooling"
    params: ClassVar[Params] = _POOL


@register
class BackwardPSROIPooling(BackwardRegions):
    """The gradient of PSROIPooling."""

    name = "_backward__contrib_PSROIPooling"
    forward = "_contrib_PSROIPooling"
    params: ClassVar[Params] = _POOL


_MOVED = {
    "spatial_scale": _SCALE,
    "output_dim": _COUNT["output_dim"],
    "group_size": Param("int", doc="Groups of bins along an axis.", low=1),
    "pooled_size": _COUNT["pooled_size"],
    "part_size": Param("int", 0, "Parts along an axis that move; 0 is one for each bin.", low=0),
    "sample_per_part": Param("int", 1, "Points in each bin along an axis.", low=1, high=1024),
    "trans_std": Param("float", 0.0, "The factor of the moves.", low=0, high=1),
    "no_trans": Param("bool", False, "Whether nothing moves, and there is no `trans`."),
}


@register
class DeformablePSROIPooling(PositionSensitive):
    """Means of points in the bins of regions, which move.

    Formula: regions and channels are those of PSROIPooling, half a pixel to the left and up. A bin
    is the mean of ``sample_per_part`` times as many points, from its corner on, as far as they are
    less than half a pixel outside of the image; 0 where there are none. Bin ``(i, j)`` moves by
    ``trans[r, 2 * k, i * s // p, j * s // p] * trans_std`` times the width of the region, and down
    by ``trans[r, 2 * k + 1, ...]`` times its height, where ``s`` is ``part_size`` and ``k`` the
    class of its channel: classes are equally many channels that follow each other. Shapes: ``data``
    is ``(n, c, y, x)``, ``rois`` ``(r, 5)``, ``trans`` ``(r, 2 * classes, s, s)``, ``out`` ``(r,
    output_dim, p, p)``. Types: floats, all alike.
    Gradient: to the pixels by the same weights, and the slope of the means for ``trans``; none for
    ``rois``.

    Examples
    --------
    >>> data = mx.nd.arange(16).reshape((1, 1, 4, 4))
    >>> rois, trans = mx.nd.array([[0, 0, 0, 3, 3]]), mx.nd.array([[[[1]], [[0]]]])
    >>> sizes = {"spatial_scale": 1, "output_dim": 1, "group_size": 1, "pooled_size": 1}
    >>> points = {"sample_per_part": 2, "trans_std": 0.25}
    >>> print(mx.nd.contrib.DeformablePSROIPooling(data, rois, trans, **sizes, **points).asnumpy())
    [[[[4.5]]]]
    """

    name = "_contrib_DeformablePSROIPooling"
    arguments = ("data", "rois", "trans")
    params: ClassVar[Params] = _MOVED

    def list_arguments(self) -> list[str]:
        """What moves bins may be missing."""
        return list(self.arguments[:2] if self.attrs["no_trans"] else self.arguments)

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """A map for each region."""
        found, outs, aux = super().infer_shape(in_shapes)
        if self.attrs["no_trans"]:
            return found, outs, aux
        parts = self.attrs["part_size"] or self.attrs["pooled_size"]
        regions = (found[1] or (-1,))[0]
        tops = self.attrs["output_dim"]
        like = (regions, 2 if tops == 1 else -1, parts, parts)
        trans = merge_shapes(self.name, "trans", in_shapes[2], like)
        moves = (trans or (-1, -1))[1]
        if moves >= 0 and (moves == 0 or moves % 2 or tops % (moves // 2)):
            raise InvalidArgumentError(
                f"{self.name}: argument 'trans' has {moves} channels; it must have two for each "
                f"class, and output_dim={tops} must be a multiple of the classes"
            )
        rois = merge_shapes(self.name, "rois", found[1], ((trans or (-1,))[0], self.members))
        return [found[0], rois, trans], [((rois or (-1,))[0], *(outs[0] or ())[1:])], aux

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """To the data, and to what moves the bins."""
        back = "_backward__contrib_DeformablePSROIPooling"
        data, *trans = graph.op(back, graph.out_grad[0], *graph.in_data, **self.attrs)
        return [data, None, *trans]


@register
class BackwardDeformablePSROIPooling(Backward):
    """The gradients of DeformablePSROIPooling."""

    name = "_backward__contrib_DeformablePSROIPooling"
    dtypes = FLOATS
    params: ClassVar[Params] = _MOVED

    def list_arguments(self) -> list[str]:
        """What moves bins may be missing."""
        given = ["out_grad", "data", "rois"]
        return given if self.attrs["no_trans"] else [*given, "trans"]

    def list_outputs(self) -> list[str]:
        """Its gradient, too."""
        return ["data_grad"] if self.attrs["no_trans"] else ["data_grad", "trans_grad"]

    def _like(self, given: Sequence[Any]) -> list[Any]:
        return [given[1], *given[3:]]
