"""Convolutions whose kernels are moved at each place by offsets that are data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import Entry, GradientGraph, MaybeShape, merge_shapes, register
from .convolution import CHANNELS_SECOND, Convolution
from .family import FLOATS, Backward
from .param import Param, Params

__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution"]

Shapes = tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]
_BEFORE = ("kernel", "stride", "dilate", "pad", "num_filter", "num_group")
_PARAMS: Params = {
    **{name: Convolution.params[name] for name in _BEFORE},
    "num_deformable_group": Param(
        "int", 1, "The number of groups of channels with offsets of their own.", low=1
    ),
    **{name: Convolution.params[name] for name in ("workspace", "no_bias")},
    "layout": CHANNELS_SECOND,
}
_MODULATED: Params = {
    **{name: param for name, param in _PARAMS.items() if name != "layout"},
    "im2col_step": Param("int", 64, "How many images are taken at once; of no effect.", low=1),
    "layout": _PARAMS["layout"],
}


class Deformable(Convolution):
    """What the two operators share: offsets, and masks, beside what a convolution has."""

    name = ""
    aliases = ()
    channels_last = None
    dtypes = FLOATS
    moving: ClassVar[tuple[tuple[str, int], ...]] = (("offset", 2),)
    """Inputs between data and weight, and their channels for an element of the kernel."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        if len(self.attrs["kernel"]) != 2:
            raise InvalidArgumentError(
                f"{self.name}: attribute 'kernel' must have 2 ints, got {self.attrs['kernel']}"
            )

    def list_arguments(self) -> list[str]:
        """The bias may be missing."""
        data, *plain = super().list_arguments()
        return [data, *(name for name, _ in self.moving), *plain]

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """As of a convolution; offsets and masks lie as the output does."""
        end = 1 + len(self.moving)
        found, outs, aux = super().infer_shape([in_shapes[0], *in_shapes[end:]])
        data, out, groups = found[0], outs[0] or (-1,) * 4, self.attrs["num_deformable_group"]
        if data is not None and data[1] % groups and data[1] >= 0:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' of shape {data} has {data[1]} channels, no multiple "
                f"of num_deformable_group={groups}"
            )
        moving: list[MaybeShape] = []
        for (name, each), given in zip(self.moving, in_shapes[1:end], strict=True):
            shape = merge_shapes(self.name, name, given, self._moving(out, each))
            moving.append(shape)
            if shape is not None:
                out = (shape[0], out[1], *shape[2:])
        if data is not None:
            data = (out[0], *data[1:])
        return [data, *moving, *found[1:]], [out], aux

    def _moving(self, out: Sequence[int], each: int) -> tuple[int, ...]:
        high, wide = self.attrs["kernel"]
        channels = each * self.attrs["num_deformable_group"] * high * wide
        return (out[0], channels, *out[2:])

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """As of a convolution."""
        end = 1 + len(self.moving)
        data, *plain = super().infer_shape_backward([in_shapes[0], *in_shapes[end:]], out_shapes)
        out, moving = out_shapes[0], list(in_shapes[1:end])
        if out is not None and len(out) == 4:
            rows = zip(self.moving, moving, strict=True)
            moving = [
                merge_shapes(self.name, n, s, self._moving(out, each)) for (n, each), s in rows
            ]
        return [data, *moving, *plain]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's."""
        inputs = graph.in_data[: 2 + len(self.moving)]
        return list(graph.op(f"_backward_{self.name}", graph.out_grad[0], *inputs, **self.attrs))


@register
class DeformableConvolution(Deformable):
    """The convolution of images with kernels whose elements are moved, at each place by its own.

    Formula: ``out[n, f, y, x] = bias[f] + sum over c, i, j of weight[f, c, i, j] * data[n, c] at (y
    * stride + i * dilate - pad + offset[n, 2 * k, y, x], x * stride + j * dilate - pad + offset[n,
    2 * k + 1, y, x])`` with ``k = (g * kh + i) * kw + j`` for the group ``g`` of ``c`` of
    ``num_deformable_group``. Between pixels it is the mean of the four around, by their nearness.
    What lies before the first pixel, or a pixel or more behind the last one, is 0; what lies
    between is the last pixel. Shapes: ``data`` is ``(n, c, h, w)``, ``offset`` ``(n,
    num_deformable_group * kh * kw * 2, h', w')``, the others as of Convolution. Types: floats, all
    alike. Gradient: to ``data``, ``weight`` and ``bias`` as of a convolution, by the weights of the
    pixels; to ``offset`` the slope of what is read.

    Examples
    --------
    >>> data, weight = mx.nd.arange(9).reshape((1, 1, 3, 3)), mx.nd.ones((1, 1, 1, 1))
    >>> offset = mx.nd.ones((1, 2, 3, 3)) * 0.5
    >>> sizes = {"kernel": (1, 1), "num_filter": 1, "no_bias": True}
    >>> print(mx.nd.contrib.DeformableConvolution(data, offset, weight, **sizes).asnumpy())
    [[[[2.  3.  3.5]
       [5.  6.  6.5]
       [6.5 7.5 8. ]]]]
    """

    name = "_contrib_DeformableConvolution"
    arguments = ("data", "offset", "weight", "bias")
    params: ClassVar[Params] = _PARAMS


@register
class ModulatedDeformableConvolution(Deformable):
    """A deformable convolution whose kernels are also weighed at each place.

    Formula: that of DeformableConvolution with ``weight[f, c, i, j]`` times ``mask[n, k, y, x]``;
    pixels outside of the image are zeros. Shapes: ``mask`` is ``(n, num_deformable_group * kh * kw,
    h', w')``, the others are as there. Types: floats, all alike.
    Gradient: as there; to ``mask`` what was read, times weights and ``out_grad``.

    Examples
    --------
    >>> data, weight = mx.nd.arange(9).reshape((1, 1, 3, 3)), mx.nd.ones((1, 1, 1, 1))
    >>> offset, mask = mx.nd.ones((1, 2, 3, 3)) * 0.5, mx.nd.ones((1, 1, 3, 3)) * 2
    >>> sizes = {"kernel": (1, 1), "num_filter": 1, "no_bias": True}
    >>> out = mx.nd.contrib.ModulatedDeformableConvolution(data, offset, mask, weight, **sizes)
    >>> print(out.asnumpy())
    [[[[ 4.   6.   3.5]
       [10.  12.   6.5]
       [ 6.5  7.5  4. ]]]]
    """

    name = "_contrib_ModulatedDeformableConvolution"
    arguments = ("data", "offset", "mask", "weight", "bias")
    moving = (("offset", 2), ("mask", 1))
    params: ClassVar[Params] = _MODULATED


class BackwardDeformable(Backward):
    """The base of the gradients."""

    dtypes = FLOATS
    forward: ClassVar[type[Deformable]]

    def list_arguments(self) -> list[str]:
        """All but the bias."""
        return ["out_grad", "data", *(name for name, _ in self.forward.moving), "weight"]

    def list_outputs(self) -> list[str]:
        """The bias may be missing."""
        named = [f"{name}_grad" for name in self.list_arguments()[1:]]
        return named if self.attrs["no_bias"] else [*named, "bias_grad"]

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """Those of the inputs, and of the bias."""
        bias = [] if self.attrs["no_bias"] else [(self.attrs["num_filter"],)]
        return list(in_shapes), [*in_shapes[1:], *bias], []

    def _like(self, given: Sequence[Any]) -> list[Any]:
        return [*given[1:], *[given[1]] * (not self.attrs["no_bias"])]


@register
class BackwardDeformableConvolution(BackwardDeformable):
    """The gradients of DeformableConvolution."""

    name = "_backward__contrib_DeformableConvolution"
    forward = DeformableConvolution
    params: ClassVar[Params] = _PARAMS


@register
class BackwardModulatedDeformableConvolution(BackwardDeformable):
    """The gradients of ModulatedDeformableConvolution."""

    name = "_backward__contrib_ModulatedDeformableConvolution"
    forward = ModulatedDeformableConvolution
    params: ClassVar[Params] = _MODULATED
