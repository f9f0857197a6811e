"""Convolution in one, two or three dimensions, and its reverse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

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
from .shapes import require_rank, spatial

__all__ = ["CHANNELS_SECOND", "Convolution", "Deconvolution"]

LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
CHANNELS_LAST = {2: "NHWC", 3: "NDHWC"}

CHANNELS_SECOND = Param(
    "str",
    None,
    "The order of the dimensions: channels come second.",
    choices=tuple(LAYOUTS.values()),
    optional=True,
)
"""The attribute `layout` of operators that have kernels for one order only."""

_PARAMS = {
    "kernel": Param("shape", doc="The extents of the kernel: (w,), (h, w) or (d, h, w).", low=1),
    "stride": Param("shape", (), "The steps of the kernel; 1.", low=1),
    "dilate": Param("shape", (), "The distances of the kernel's elements; 1.", low=1),
    "pad": Param("shape", (), "The zeros on either side; none.", low=0),
    "num_filter": Param("int", doc="The number of output channels.", low=1),
    "num_group": Param("int", 1, "The number of groups into which channels fall.", low=1),
    "workspace": Param("int", 1024, "A bound on scratch memory in MB, where cuDNN runs.", low=0),
    "no_bias": Param("bool", False, "Whether there is no bias."),
    "cudnn_tune": Param(
        "str",
        None,
        "How cuDNN picks an algorithm: by time, within `workspace` or not, or by guessing.",
        choices=("fastest", "limited_workspace", "off"),
        optional=True,
    ),
    "cudnn_off": Param("bool", False, "Whether cuDNN is not used."),
    "layout": Param(
        "str",
        None,
        "The order of the dimensions: channels come second, or last.",
        choices=(*LAYOUTS.values(), *CHANNELS_LAST.values()),
        optional=True,
    ),
}

WINDOWS = {k: _PARAMS[k] for k in ("kernel", "stride", "dilate", "pad")}
"""The attributes that say where windows lie."""


def window_rank(card: OperatorProperty) -> int:
    """The number of ints of a card's ``kernel``; stride, dilation and padding get as many.

    Raises
    ------
    InvalidArgumentError
        Attributes of other lengths.
    """
    rank = len(card.attrs["kernel"])
    if rank not in LAYOUTS:
        raise InvalidArgumentError(
            f"{card.name}: attribute 'kernel' must have 1, 2 or 3 ints, got {card.attrs['kernel']}"
        )
    for name, fill in (("stride", 1), ("dilate", 1), ("pad", 0)):
        card.attrs[name] = spatial(card.name, name, card.attrs[name], rank, fill, fill)
    return rank


@register
class Convolution(OperatorProperty):
    """The convolution (without flipping the kernel) of images with learned kernels.

    Formula: ``out[n, f, y, x] = bias[f] + sum over c, i, j of weight[f, c, i, j] *
    data[n, c, y * stride + i * dilate - pad, x * stride + j * dilate - pad]``, where data outside
    of the image are 0 and ``c`` goes over the channels of the group of ``f``.
    Shapes: ``data`` is ``(n, c, h, w)``, ``weight`` ``(num_filter, c / num_group, *kernel)``,
    ``bias`` ``(num_filter,)``, ``out`` ``(n, num_filter, h', w')`` with
    ``h' = (h + 2 * pad - dilate * (kernel - 1) - 1) // stride + 1``; one and three dimensions
    likewise. With channels last in ``layout``, ``data`` is ``(n, h, w, c)``, ``weight``
    ``(num_filter, *kernel, c / num_group)``, ``out`` ``(n, h', w', num_filter)``.
    Types: floats, all alike; halves are computed in float32.
    Gradient: the correlation of ``out_grad`` with ``weight`` for ``data``, and with ``data`` for
    ``weight``; ``bias_grad`` is the sum of ``out_grad`` over all but the channels.

    Examples
    --------
    >>> data, weight = mx.nd.ones((1, 1, 3, 3)), mx.nd.ones((1, 1, 2, 2))
    >>> out = mx.nd.Convolution(data, weight, kernel=(2, 2), num_filter=1, no_bias=True)
    >>> print(out.asnumpy())
    [[[[4. 4.]
       [4. 4.]]]]
    """

    name = "Convolution"
    aliases = ("Convolution_v1",)
    arguments = ("data", "weight", "bias")
    dtypes = FLOATS
    params: ClassVar[Params] = _PARAMS
    layouts: ClassVar[Mapping[int, str]] = LAYOUTS
    """The order of the dimensions, by the number of the kernel's."""
    channels_last: ClassVar[type[Convolution] | None] = None
    """The card where channels come last, for which there is no kernel."""

    def __new__(cls, **attrs: Any) -> Self:
        """The card for the layout."""
        last = attrs.get("layout") in CHANNELS_LAST.values()
        made: Any = cls.channels_last if last and cls.channels_last else cls
        return super().__new__(made)

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        rank = window_rank(self)
        layout, filters, groups = (self.attrs[a] for a in ("layout", "num_filter", "num_group"))
        if layout not in (None, self.layouts.get(rank)):
            fitting = [LAYOUTS[rank], *([CHANNELS_LAST[rank]] if rank in CHANNELS_LAST else [])]
            raise InvalidArgumentError(
                f"{self.name}: layout {layout} does not fit a kernel of {rank} dimensions; "
                f"expected {' or '.join(fitting)}"
            )
        if filters % groups:
            raise InvalidArgumentError(
                f"{self.name}: num_filter={filters} is no multiple of num_group={groups}"
            )

    def list_arguments(self) -> list[str]:
        """The bias may be missing."""
        return ["data", "weight"] if self.attrs["no_bias"] else ["data", "weight", "bias"]

    def cpu_inplace_options(self) -> list[tuple[int, int]]:
        """With padding the kernel works on a copy of the data, which has the border.

        Threads take grouped ones plane by plane: there, an output plane must lie where its own
        input does, and so be as large.
        """
        fits = self._keeps_extents() or self.attrs["num_group"] == 1
        return [(0, 0)] if fits and any(self.attrs["pad"]) else []

    def _keeps_extents(self) -> bool:
        """Whether outputs are as large as the data along every axis, in steps of one."""
        windows = zip(*(self.attrs[a] for a in ("kernel", "stride", "dilate", "pad")), strict=True)
        return all(s == 1 and 2 * p == d * (k - 1) for k, s, d, p in windows)

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Weight, bias and output from the data."""
        data, kernel, filters = in_shapes[0], self.attrs["kernel"], self.attrs["num_filter"]
        channels = -1 if data is None else self._channels(data)
        weight = (filters, channels, *kernel)
        found = [data, merge_shapes(self.name, "weight", in_shapes[1], weight)]
        if not self.attrs["no_bias"]:
            found.append(merge_shapes(self.name, "bias", in_shapes[2], (filters,)))
        if data is None:
            return found, [(-1, filters, *[-1] * len(kernel))], []
        extents = [self._extent(data, i) for i in range(len(kernel))]
        return found, [(data[0], filters, *extents)], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The number of images from the output, and extents along which the stride is 1."""
        data, out = in_shapes[0], out_shapes[0]
        rank = len(self.attrs["kernel"])
        if data is None or out is None or len(data) != len(out) or len(out) != rank + 2:
            return list(in_shapes)
        images = (out[0], -1, *(self._extent_before(out, i) for i in range(rank)))
        return [merge_shapes(self.name, "data", data, images), *in_shapes[1:]]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's."""
        data, weight = graph.in_data[:2]
        return list(
            graph.op("_backward_Convolution", graph.out_grad[0], data, weight, **self.attrs)
        )

    def _channels(self, data: Shape) -> int:
        rank, groups = len(self.attrs["kernel"]), self.attrs["num_group"]
        require_rank(self.name, "data", data, rank + 2, LAYOUTS[rank])
        if data[1] < 0:
            return -1
        if data[1] % groups:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' of shape {data} has {data[1]} channels, no "
                f"multiple of num_group={groups}"
            )
        return data[1] // groups

    def _window(self, i: int) -> tuple[int, int, int, int]:
        attrs = self.attrs
        return attrs["kernel"][i], attrs["stride"][i], attrs["dilate"][i], attrs["pad"][i]

    def _extent(self, data: Shape, i: int) -> int:
        kernel, stride, dilate, pad = self._window(i)
        if data[i + 2] < 0:
            return -1
        room = data[i + 2] + 2 * pad - dilate * (kernel - 1) - 1
        if room < 0:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' of shape {data} with pad={self.attrs['pad']} is "
                f"smaller than kernel={self.attrs['kernel']} with dilate={self.attrs['dilate']}"
            )
        return room // stride + 1

    def _extent_before(self, out: Shape, i: int) -> int:
        kernel, stride, dilate, pad = self._window(i)
        if stride > 1 or out[i + 2] < 0:
            return -1
        return max(-1, out[i + 2] - 1 - 2 * pad + dilate * (kernel - 1) + 1)


@register
class BackwardConvolution(Backward):
    """The gradients of Convolution."""

    name = "_backward_Convolution"
    forward: ClassVar[str] = "Convolution"
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
        bias = [] if self.attrs["no_bias"] else [(self.attrs["num_filter"],)]
        return list(in_shapes), [*in_shapes[1:], *bias], []

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The operator is linear in data, weight and bias, so all parts are of its kind."""
        attrs = {**self.attrs, "no_bias": True}
        out_grad, data, weight = graph.in_data
        of_data, *of_rest = graph.out_grad
        back = self.name
        by_data = graph.op(self.forward, of_data, weight, **attrs)[0]
        by_rest = graph.op(self.forward, data, *of_rest, **self.attrs)[0]
        return [
            graph.op("elemwise_add", by_data, by_rest)[0],
            graph.op(back, out_grad, data, of_rest[0], **attrs)[0],
            graph.op(back, out_grad, of_data, weight, **attrs)[1],
        ]

    def _like(self, given: Sequence[Any]) -> list[Any]:
        return [*given[1:], *[given[2]] * (not self.attrs["no_bias"])]


_DECONVOLUTION = {
    **WINDOWS,
    "adj": Param("shape", (), "What is added behind the output; less than the stride.", low=0),
    "target_shape": Param(
        "shape", (), "The extents of the output, which decide on pad and adj.", low=0
    ),
    **{k: _PARAMS[k] for k in ("num_filter", "num_group")},
    "workspace": Param("int", 512, "A bound on scratch memory in MB, where cuDNN runs.", low=0),
    "no_bias": Param("bool", True, "Whether there is no bias."),
    **{k: _PARAMS[k] for k in ("cudnn_tune", "cudnn_off", "layout")},
}


@register
class Deconvolution(Convolution):
    """The reverse of a convolution: what flows back through one to its data.

    Formula: ``out[n, f, y, x]`` is ``bias[f]`` and the sum of ``weight[c, f, i, j] *
    data[n, c, v, u]`` over all channels ``c`` of the group of ``f``, taps and places with
    ``v * stride + i * dilate - pad = y``, and likewise for ``x``.
    Shapes: ``data`` is ``(n, c, h, w)``, ``weight`` ``(c, num_filter / num_group, *kernel)``,
    ``bias`` ``(num_filter,)``, ``out`` ``(n, num_filter, h', w')`` with
    ``h' = (h - 1) * stride + dilate * (kernel - 1) + 1 - 2 * pad + adj``; ``target_shape`` says
    what ``h'`` is instead, and half of what is too much is cut off on either side. One and three
    dimensions likewise. With channels last in ``layout``, ``weight`` is
    ``(c, *kernel, num_filter / num_group)``. Types: floats, all alike.
    Gradient: the convolution of ``out_grad`` with ``weight`` for ``data``, and with ``data`` for
    ``weight``; ``bias_grad`` is the sum of ``out_grad`` over all but the channels.

    Examples
    --------
    >>> data, weight = mx.nd.array([[[1, 2]]]), mx.nd.array([[[1, 10, 100]]])
    >>> print(mx.nd.Deconvolution(data, weight, kernel=(3,), stride=(2,), num_filter=1).asnumpy())
    [[[  1.  10. 102.  20. 200.]]]
    """

    name = "Deconvolution"
    aliases = ()
    params: ClassVar[Params] = _DECONVOLUTION

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        rank, strides = len(self.attrs["kernel"]), self.attrs["stride"]
        for name in ("adj", "target_shape"):
            self.attrs[name] = spatial(self.name, name, self.attrs[name], rank, 0, 0)
        if not any(self.attrs["target_shape"]):
            pairs = zip(self.attrs["adj"], strides, strict=True)
            if any(adj >= stride for adj, stride in pairs):
                raise InvalidArgumentError(
                    f"{self.name}: adj={self.attrs['adj']} must be less than stride={strides}"
                )

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Weight, bias and output from the data."""
        data, kernel, filters = in_shapes[0], self.attrs["kernel"], self.attrs["num_filter"]
        rank = len(kernel)
        if data is not None:
            self._channels(data)
        channels = -1 if data is None else data[1]
        expected = (channels, filters // self.attrs["num_group"], *kernel)
        weight = merge_shapes(self.name, "weight", in_shapes[1], expected)
        assert weight is not None
        known = (-1, weight[0], *[-1] * rank)
        whole = merge_shapes(self.name, "data", data, known)
        assert whole is not None
        self._channels(whole)
        found = [data if data is None and weight[0] < 0 else whole, weight]
        if not self.attrs["no_bias"]:
            found.append(merge_shapes(self.name, "bias", in_shapes[2], (filters,)))
        extents = [self._extent(whole, i) for i in range(rank)]
        return found, [(whole[0], filters, *extents)], []

    def cpu_inplace_options(self) -> list[tuple[int, int]]:
        """As of a convolution, where extents stay as they are. Else there may be no border, and so
        no copy, or data are read again for each part of the output that strides leave."""
        fits = self._keeps_extents() and not any(self.attrs["target_shape"])
        return [(0, 0)] if fits and any(self.attrs["pad"]) else []

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's."""
        data, weight = graph.in_data[:2]
        return list(
            graph.op("_backward_Deconvolution", graph.out_grad[0], data, weight, **self.attrs)
        )

    def _extent(self, data: Shape, i: int) -> int:
        names = ("kernel", "stride", "dilate", "pad", "adj", "target_shape")
        kernel, stride, dilate, pad, adj, target = (self.attrs[a][i] for a in names)
        given = any(self.attrs["target_shape"])
        if data[i + 2] < 0:
            return target if target else -1
        whole = (data[i + 2] - 1) * stride + dilate * (kernel - 1) + 1
        wrong = ""
        if not given:
            target = whole - 2 * pad + adj
        elif target > whole:
            wrong = f"target_shape={self.attrs['target_shape']} is more than the output has"
        elif (whole - target) % 2 >= stride:
            wrong = f"target_shape={self.attrs['target_shape']} is not half way in the output"
        if data[i + 2] == 0 or target < 0:
            wrong = wrong or "nothing is left of the output"
        if wrong:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' of shape {data}: {wrong}, of extent {whole} along "
                f"axis {i + 2}"
            )
        return target

    def _extent_before(self, out: Shape, i: int) -> int:
        names = ("kernel", "stride", "dilate", "pad", "adj")
        kernel, stride, dilate, pad, adj = (self.attrs[a][i] for a in names)
        room = out[i + 2] - dilate * (kernel - 1) - 1 + 2 * pad - adj
        if any(self.attrs["target_shape"]) or out[i + 2] < 0 or room < 0 or room % stride:
            return -1
        return room // stride + 1


@register
class BackwardDeconvolution(BackwardConvolution):
    """The gradients of Deconvolution."""

    name = "_backward_Deconvolution"
    forward = "Deconvolution"
    params: ClassVar[Params] = _DECONVOLUTION
