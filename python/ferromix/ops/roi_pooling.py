"""Maxima over the bins of regions of images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, merge_shapes, register
from .family import FLOATS, Backward, Types
from .param import Param, Params
from .shapes import require_rank

__all__ = ["ROIPooling"]

_PARAMS = {
    "pooled_size": Param("shape", doc="Rows and columns of bins of a region.", low=1),
    "spatial_scale": Param("float", doc="What corners are multiplied by.", low=0, high=1),
}


@register
class ROIPooling(OperatorProperty):
    """The maxima over the bins into which regions of images are cut.

    Formula: a row of ``rois`` is ``(image, x1, y1, x2, y2)``. Corners are multiplied by
    ``spatial_scale`` and rounded, halves away from 0; both belong to the region, which is at
    least 1 long. Bin ``i`` of ``p`` goes from ``floor(i * length / p)`` to ``ceil((i + 1) *
    length / p)``, the latter excluded; of a bin, what lies in the image counts. ``out`` is the
    maximum of a bin, 0 of an empty one and of all bins where ``image`` is -1 or less.
    Shapes: ``data`` is ``(n, c, h, w)``, ``rois`` ``(r, 5)``, ``out`` ``(r, c, *pooled_size)``.
    Types: floats, all alike.
    Gradient: ``out_grad`` goes to the first maximum of a bin; none for ``rois``.

    Examples
    --------
    >>> data, rois = mx.nd.arange(16).reshape((1, 1, 4, 4)), mx.nd.array([[0, 0, 0, 2, 2]])
    >>> print(mx.nd.ROIPooling(data, rois, pooled_size=(2, 2), spatial_scale=1).asnumpy())
    [[[[ 5.  6.]
       [ 9. 10.]]]]
    """

    name = "ROIPooling"
    arguments = ("data", "rois")
    dtypes = FLOATS
    params: ClassVar[Params] = _PARAMS

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        if len(self.attrs["pooled_size"]) != 2:
            raise InvalidArgumentError(
                f"{self.name}: attribute 'pooled_size' must be 2 ints >= 1, got "
                f"{self.attrs['pooled_size']}"
            )

    def list_outputs(self) -> list[str]:
        """The maxima, and where in its plane each stands."""
        return ["output", "maxidx"]

    def num_visible_outputs(self) -> int:
        """The places are for the gradient."""
        return 1

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """Places are int64."""
        arguments, outputs, states = super().infer_type(in_types)
        return arguments, [outputs[0], "int64"], states

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Bins of every region."""
        data, rois = in_shapes[0], merge_shapes(self.name, "rois", in_shapes[1], (-1, 5))
        assert rois is not None
        if data is not None:
            require_rank(self.name, "data", data, 4, "NCHW")
        channels = -1 if data is None else data[1]
        out = (rois[0], channels, *self.attrs["pooled_size"])
        return [data, rois], [out, out], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """Regions and channels from the output."""
        (data, rois), out = in_shapes, out_shapes[0]
        if out is None or len(out) != 4:
            return [data, rois]
        return [
            merge_shapes(self.name, "data", data, (-1, out[1], -1, -1)),
            merge_shapes(self.name, "rois", rois, (out[0], 5)),
        ]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's."""
        (data, rois), places = graph.in_data, graph.out_data[1]
        entries = (graph.out_grad[0], rois, places, data)
        return [graph.op("_backward_ROIPooling", *entries, **self.attrs)[0], None]


@register
class BackwardROIPooling(Backward):
    """The gradient of ROIPooling."""

    name = "_backward_ROIPooling"
    arguments = ("out_grad", "rois", "maxidx", "data")
    gradients: ClassVar[Mapping[str, str]] = {"data_grad": "data"}
    dtypes = FLOATS
    argument_dtypes: ClassVar[Mapping[str, tuple[str, ...]]] = {"maxidx": ("int64",)}
    params: ClassVar[Params] = _PARAMS

    def ignored_inputs(self) -> list[int]:
        """The data give their shape only."""
        return [3]
