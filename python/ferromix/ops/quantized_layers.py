"""Pooling, convolution and fully connected layers of numbers of eight bits with ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import MaybeShape, OperatorProperty, make, register
from .convolution import CHANNELS_SECOND, Convolution
from .fully_connected import FullyConnected
from .param import Params
from .pooling import Pooling
from .quantize import Quantized

__all__ = ["QuantizedConv", "QuantizedFullyConnected", "QuantizedPooling"]


_LAYER = ("data", "weight", "bias")
_ALL = (*_LAYER, *(f"{end}_{name}" for name in _LAYER for end in ("min", "max")))


class Layer(Quantized):
    """The base of layers that there are without ranges, too, whose attributes and shapes they
    have."""

    plain: ClassVar[str]
    """The layer without ranges."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        self.layer: OperatorProperty = make(self.plain, self.given)
        self.attrs = dict(self.layer.attrs)

    def list_arguments(self) -> list[str]:
        """Those of the layer, and the ends of the range of each."""
        names = self.layer.list_arguments()
        return [*names, *(f"{end}_{name}" for name in names for end in ("min", "max"))]

    def shapes(self, known: Sequence[MaybeShape]) -> tuple[Sequence[MaybeShape], MaybeShape]:
        """Those of the layer."""
        inferred, outs, _ = self._named(self.layer.infer_shape, known)
        return inferred, outs[0]

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """As the layer says."""
        n = len(self.layer.list_arguments())
        found = self._named(self.layer.infer_shape_backward, in_shapes[:n], out_shapes[:1])
        return [*found, *in_shapes[n:]]

    def _named(self, infer: Any, *known: Any) -> Any:
        """What the layer infers; errors name this operator."""
        try:
            return infer(*known)
        except InvalidArgumentError as error:
            message = str(error).removeprefix(f"{self.plain}: ")
            raise InvalidArgumentError(f"{self.name}: {message}") from None


class Products(Layer):
    """The base of layers whose outputs are sums of products, in 32 bits."""

    def made(self, in_types: Sequence[str | None]) -> str | None:
        """Sums."""
        return "int32"

    def _claimed(self, argument: str) -> tuple[str, ...]:
        return ("int8",) if argument in ("weight", "bias") else super()._claimed(argument)


@register
class QuantizedPooling(Layer):
    """The maximum or the average over windows of images, in the range that there was.

    Formula: that of `Pooling`, where an average is rounded to the nearest whole number, halves to
    even, and divided by all elements of the window, wherever it ends, unless ``count_include_pad``
    is false.
    Shapes: those of `Pooling`, with two or three spatial axes; the ends of ranges are ``(1,)``.
    Types: int8 or uint8.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> data, one = mx.nd.array([[[[1, 2], [3, 8]]]], dtype="int8"), mx.nd.ones((1,))
    >>> attrs = {"kernel": (2, 2), "pool_type": "avg"}
    >>> print(mx.nd.contrib.quantized_pooling(data, -one, one, **attrs)[0].asnumpy())
    [[[[4]]]]
    """

    name = "_contrib_quantized_pooling"
    plain = "Pooling"
    arguments = ("data", "min_data", "max_data")
    params: ClassVar[Params] = Pooling.params

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        if self.attrs["pool_type"] not in ("max", "avg"):
            raise InvalidArgumentError(
                f"{self.name}: attribute 'pool_type' must be 'max' or 'avg', got "
                f"'{self.attrs['pool_type']}'"
            )
        if (self.attrs["layout"] or "").endswith("C"):
            raise InvalidArgumentError(
                f"{self.name}: attribute 'layout' must have channels on axis 1, got "
                f"'{self.attrs['layout']}'"
            )

    def shapes(self, known: Sequence[MaybeShape]) -> tuple[Sequence[MaybeShape], MaybeShape]:
        """Those of the layer, of images or volumes."""
        (data,) = known
        if data is not None and len(data) not in (4, 5):
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' has shape {data}, expected 4 or 5 dimensions"
            )
        return super().shapes(known)


@register
class QuantizedConv(Products):
    """The convolution of images with kernels, of numbers of eight bits, with sums in 32 bits.

    Formula: that of `Convolution`, of whole numbers; the bias is added as it is, as in MXNet with
    oneDNN, and its range is of no effect. The range is ``-t`` to ``t`` with ``t = r / 127 * s / 127
    * 2 ** 31``, ``r`` and ``s`` the larger magnitudes of the ranges of data and weight.
    Shapes: those of `Convolution`, with one group and two or three spatial axes; the ends of ranges
    are ``(1,)``. Types: int8 or uint8; weight and bias are int8, ``out`` is int32.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> data = weight = mx.nd.ones((1, 1, 2, 2), dtype="int8")
    >>> ends, attrs = [mx.nd.ones((1,))] * 4, {"kernel": (2, 2), "num_filter": 1, "no_bias": True}
    >>> print(mx.nd.contrib.quantized_conv(data, weight, *ends, **attrs)[0].asnumpy())
    [[[[4]]]]
    """

    name = "_contrib_quantized_conv"
    plain = "Convolution"
    arguments: ClassVar[tuple[str, ...]] = _ALL
    params: ClassVar[Params] = {**Convolution.params, "layout": CHANNELS_SECOND}

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        if self.attrs["num_group"] != 1:
            raise InvalidArgumentError(
                f"{self.name}: attribute 'num_group' must be 1, got {self.attrs['num_group']}"
            )
        if len(self.attrs["kernel"]) < 2:
            raise InvalidArgumentError(
                f"{self.name}: attribute 'kernel' must have 2 or 3 ints, got {self.attrs['kernel']}"
            )


@register
class QuantizedFullyConnected(Products):
    """A linear function of each row, of numbers of eight bits, with sums in 32 bits.

    Formula: that of `FullyConnected`, of whole numbers; the bias is scaled from its range to that
    of the sums, and cut to whole numbers. The range is ``-t`` to ``t`` with ``t = r / m * s / 127 *
    2 ** 31``, ``r`` and ``s`` the larger magnitudes of the ranges of data and weight, and ``m`` 127
    for data of int8, 255 for uint8.
    Shapes: those of `FullyConnected`; the ends of ranges are ``(1,)``. Types: int8 or uint8; weight
    and bias are int8, ``out`` is int32.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> data, weight = mx.nd.array([[1, 2]], dtype="int8"), mx.nd.array([[3, 4]], dtype="int8")
    >>> ends, attrs = [mx.nd.ones((1,))] * 4, {"num_hidden": 1, "no_bias": True}
    >>> print(mx.nd.contrib.quantized_fully_connected(data, weight, *ends, **attrs)[0].asnumpy())
    [[11]]
    """

    name = "_contrib_quantized_fully_connected"
    plain = "FullyConnected"
    arguments: ClassVar[tuple[str, ...]] = _ALL
    params: ClassVar[Params] = FullyConnected.params
