"""Pooling in one, two or three dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
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
from .composed import Composed
from .convolution import LAYOUTS
from .family import FLOATS, Backward
from .param import Param, Params
from .shapes import require_rank, spatial
from .term import Term

__all__ = ["Pooling", "PoolingV1"]

_CHANNELS_LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
_PARAMS = {
    "kernel": Param("shape", (), "The extents of a window: (w,), (h, w) or (d, h, w).", low=1),
    "pool_type": Param(
        "str", "max", "What is taken of a window.", choices=("max", "avg", "sum", "lp")
    ),
    "global_pool": Param("bool", False, "Whether a window is a whole image."),
    "cudnn_off": Param("bool", False, "Whether cuDNN is not used; of no effect."),
    "pooling_convention": Param(
        "str", "valid", "How extents are rounded.", choices=("valid", "full", "same")
    ),
    "stride": Param(
        "shape", (), "The steps of the window; 1. Of more numbers than axes, the first.", low=1
    ),
    "pad": Param(
        "shape",
        (),
        "What is added on either side; none. Of more numbers than axes, the first.",
        low=0,
    ),
    "p_value": Param(
        "int", None, 'The power of "lp", which needs it.', low=1, high=3, optional=True
    ),
    "count_include_pad": Param(
        "bool", None, "Whether an average counts what was added; it does.", optional=True
    ),
    "layout": Param(
        "str",
        None,
        "The order of the dimensions: channels come second, or last.",
        choices=(*LAYOUTS.values(), *_CHANNELS_LAST.values()),
        optional=True,
    ),
}


@register
class Pooling(OperatorProperty):
    """The maximum, average, sum or norm over windows of images.

    Formula: ``out[n, c, y, x] = max over i, j of data[n, c, y * stride + i - pad,
    x * stride + j - pad]``, or the average or sum, where data outside of the image do not count (an
    average with ``count_include_pad`` divides by the whole window, up to the padding's end).
    ``"lp"`` is the root of order ``p_value`` of the sum of that power of the elements, without
    their magnitudes. The maximum of no elements is the least finite number,
    and so is that of NaN and ``-inf`` alone, as NaN is never larger.
    Shapes: ``data`` is ``(n, c, h, w)``, ``out`` ``(n, c, h', w')`` with
    ``h' = (h + 2 * pad - kernel) / stride + 1``, rounded down for the convention ``"valid"`` and
    up for ``"full"``; for ``"same"``, ``h' = (h + 2 * pad) / stride``, rounded up; 1 for
    ``global_pool``. One and three dimensions, and channels that come last, likewise. Types: floats;
    halves are computed in float32.
    Gradient: ``out_grad`` goes to the first maximum of a window, or to all of its elements, divided
    as the average is, or times ``(data / out) ** (p_value - 1)``, which is 0 where ``out`` is.

    Examples
    --------
    >>> data = mx.nd.array([[[[1, 2], [3, 4]]]])
    >>> print(mx.nd.Pooling(data, kernel=(2, 2), pool_type="max").asnumpy())
    [[[[4.]]]]
    >>> print(mx.nd.Pooling(data, global_pool=True, pool_type="avg").asnumpy())
    [[[[2.5]]]]
    """

    name = "Pooling"
    dtypes = FLOATS
    params: ClassVar[Params] = _PARAMS

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        kernel, layout = self.attrs["kernel"], self.attrs["layout"]
        if self.attrs["count_include_pad"] is None:
            self.attrs["count_include_pad"] = True
        if self.attrs["pool_type"] == "lp" and self.attrs["p_value"] is None:
            raise InvalidArgumentError(
                f"{self.name}: pool_type=lp needs the attribute 'p_value': 1, 2 or 3"
            )
        if self.attrs["global_pool"]:
            return
        if len(kernel) not in LAYOUTS:
            raise InvalidArgumentError(
                f"{self.name}: attribute 'kernel' must have 1, 2 or 3 ints, got {kernel}"
            )
        for name, fill in (("stride", 1), ("pad", 0)):
            first = self.attrs[name][: len(kernel)]
            self.attrs[name] = spatial(self.name, name, first, len(kernel), fill, fill)
        allowed = (LAYOUTS[len(kernel)], _CHANNELS_LAST[len(kernel)])
        if layout not in (None, *allowed):
            raise InvalidArgumentError(
                f"{self.name}: layout {layout} does not fit kernel={kernel}; expected "
                f"{' or '.join(allowed)}"
            )

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The number of windows in each dimension."""
        (data,) = in_shapes
        if data is None:
            return [None], [None], []
        if self.attrs["global_pool"]:
            if len(data) - 2 not in LAYOUTS:
                raise InvalidArgumentError(
                    f"{self.name}: argument 'data' has shape {data}, expected 3, 4 or 5 dimensions"
                )
            return [data], [self._shape(data, [1] * (len(data) - 2))], []
        rank = len(self.attrs["kernel"])
        require_rank(self.name, "data", data, rank + 2, self.attrs["layout"] or LAYOUTS[rank])
        return [data], [self._shape(data, [self._extent(data, i) for i in range(rank)])], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The numbers of images and channels from the output."""
        (data,), (out,) = in_shapes, out_shapes
        if out is None:
            return [data]
        known = self._shape(out, [-1] * (len(out) - 2))
        return [merge_shapes(self.name, "data", data, known)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's."""
        entries = (graph.out_grad[0], graph.in_data[0], graph.out_data[0])
        return [graph.op("_backward_Pooling", *entries, **self.attrs)[0]]

    def cpu_inplace_options(self) -> list[tuple[int, int]]:
        """Planes are read before what comes of them, or of later ones, is written."""
        return [] if self._channels_last() else [(0, 0)]

    def _channels_last(self) -> bool:
        return self.attrs["layout"] in _CHANNELS_LAST.values()

    def _shape(self, like: Shape, extents: Sequence[int]) -> Shape:
        """The images and channels of `like`, with these extents."""
        if self._channels_last():
            return (like[0], *extents, like[-1])
        return (*like[:2], *extents)

    def _extent(self, data: Shape, i: int) -> int:
        kernel, stride, pad = (self.attrs[a][i] for a in ("kernel", "stride", "pad"))
        extent = data[i + (1 if self._channels_last() else 2)]
        if extent < 0:
            return -1
        padded = extent + 2 * pad
        if self.attrs["pooling_convention"] == "same":
            return -(-padded // stride)
        if padded < kernel:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' of shape {data} with pad={self.attrs['pad']} is "
                f"smaller than kernel={self.attrs['kernel']}"
            )
        if self.attrs["pooling_convention"] == "full":
            return -(-(padded - kernel) // stride) + 1
        return (padded - kernel) // stride + 1


@register
class BackwardPooling(Backward):
    """The gradient of Pooling."""

    name = "_backward_Pooling"
    arguments = ("out_grad", "data", "out")
    differentiable = True
    dtypes = FLOATS
    params: ClassVar[Params] = _PARAMS

    def cpu_inplace_options(self) -> list[tuple[int, int]]:
        """The gradient may take the place of the data: each plane is read before it is written."""
        return [(1, 0)]

    def windows_are_apart(self) -> bool:
        """Whether no element is in two windows."""
        kernel, stride = self.attrs["kernel"], self.attrs["stride"]
        return self.attrs["global_pool"] or all(k <= s for k, s in zip(kernel, stride, strict=True))

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The pooling again, of what stands where the maxima are; none for the data."""
        _, data, out = graph.in_data
        if self.attrs["pool_type"] == "lp" and self.attrs["p_value"] > 1:
            return self._of_norms(graph)
        if self.attrs["pool_type"] == "max":
            entries = (graph.out_grad[0], data, out)
            return [graph.op("_backward_backward_Pooling", *entries, **self.attrs)[0], None, None]
        return [graph.op("Pooling", graph.out_grad[0], **self.attrs)[0], None, None]

    def _of_norms(self, graph: GradientGraph) -> list[Entry | None]:
        """Of ``data ** (p - 1) * spread(out_grad / out ** (p - 1))``; 0 where the output is."""
        g, x, y = (Term(graph, e) for e in graph.in_data)
        head, power = Term(graph, graph.out_grad[0]), self.attrs["p_value"] - 1
        sums = {**self.attrs, "pool_type": "sum"}
        safe = y + y.op("_equal_scalar", scalar=0.0)
        there = y.op("_not_equal_scalar", scalar=0.0)
        weight = there / (safe if power == 1 else safe * safe)
        along = x if power == 1 else x * x
        total = (head * along).op("Pooling", **sums) * weight
        spread = (g * weight).op("_backward_Pooling", x, y, **sums)
        change = head if power == 1 else head * x * 2
        return [total.entry, (change * spread).entry, (total * g / safe * -power).entry]


@register
class TwiceBackwardPooling(Backward):
    """The elements of ``grad`` at the places of the maxima of ``data``."""

    name = "_backward_backward_Pooling"
    arguments = ("grad", "data", "out")
    gradients: ClassVar[Mapping[str, str]] = {"out_grad_grad": "out"}
    differentiable = True
    dtypes = FLOATS
    params: ClassVar[Params] = _PARAMS

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """Back to the places of the maxima; none for the data."""
        entries = (graph.out_grad[0], *graph.in_data[1:])
        return [graph.op("_backward_Pooling", *entries, **self.attrs)[0], None, None]


@register
class PoolingV1(Composed):
    """The maximum, average or sum over windows of images with a border of zeros; an old operator.

    Formula: that of ``Pooling``, but what is added on either side are zeros, which count for a
    maximum, too; an average divides by the whole window.
    Shapes: those of ``Pooling`` in two and three dimensions. Types: floats.
    Gradient: that of ``Pooling``.

    Examples
    --------
    >>> data = mx.nd.array([[[[-1, -2], [-3, -4]]]])
    >>> print(mx.nd.Pooling_v1(data, kernel=(2, 2), stride=(2, 2), pad=(1, 1)).asnumpy())
    [[[[0. 0.]
       [0. 0.]]]]
    """

    name = "Pooling_v1"
    dtypes = FLOATS
    params: ClassVar[Params] = {
        "kernel": _PARAMS["kernel"],
        "pool_type": Param(
            "str", "max", "What is taken of a window.", choices=("max", "avg", "sum")
        ),
        "global_pool": _PARAMS["global_pool"],
        "pooling_convention": Param(
            "str", "valid", "How extents are rounded.", choices=("valid", "full")
        ),
        "stride": Param("shape", (), "The steps of the window; 1.", low=1),
        "pad": Param("shape", (), "The zeros on either side; none.", low=0),
    }

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        rank = len(self.attrs["kernel"])
        if self.attrs["global_pool"]:
            return
        if rank not in (2, 3):
            raise InvalidArgumentError(
                f"{self.name}: attribute 'kernel' must have 2 or 3 ints, got {self.attrs['kernel']}"
            )
        for name, fill in (("stride", 1), ("pad", 0)):
            self.attrs[name] = spatial(self.name, name, self.attrs[name], rank, fill, fill)

    def forward(self, data: Term) -> Term:
        """Pooling of the data with their border."""
        kind = self.attrs["pool_type"]
        if self.attrs["global_pool"]:
            return data.op("Pooling", global_pool=True, pool_type=kind)
        if any(self.attrs["pad"]):
            widths = (0, 0, 0, 0, *(n for pad in self.attrs["pad"] for n in (pad, pad)))
            data = data.op("Pad", mode="constant", pad_width=widths)
        names = ("kernel", "stride", "pooling_convention")
        attrs = {name: self.attrs[name] for name in names}
        out = data.op("Pooling", pool_type="sum" if kind == "avg" else kind, **attrs)
        return out / prod(self.attrs["kernel"]) if kind == "avg" else out
