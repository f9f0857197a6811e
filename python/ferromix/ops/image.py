"""Images of height, width and channels: as tensors, in another size, cut and turned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, Shape, merge_shapes, register
from .composed import Composed
from .family import ALL_TYPES, NUMBERS, Types
from .param import Param, Params
from .term import Term

__all__ = ["ImageCrop", "ImageNormalize", "ImageResize", "ToTensor"]


def check_image(card: OperatorProperty, data: MaybeShape, *, batch: bool, first: bool) -> None:
    """Requires an image, or where `batch` is set several, of 1 or 3 channels.

    Raises
    ------
    InvalidArgumentError
        Another shape; ``first`` says whether channels come first.
    """
    if data is None:
        return
    place = -3 if first else -1
    if len(data) not in (3, 4)[: 1 + batch] or data[place] not in (-1, 1, 3):
        order = "(channels, height, width)" if first else "(height, width, channels)"
        more = ", or several of these," if batch else ""
        raise InvalidArgumentError(
            f"{card.name}: argument 'data' of shape {data} must be an image of shape {order}{more} "
            "of 1 or 3 channels"
        )


class Images(OperatorProperty):
    """The base of operators that keep the shape of one image."""

    dtypes: ClassVar[tuple[str, ...]] = NUMBERS
    batch: ClassVar[bool] = False
    first: ClassVar[bool] = False

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """That of the data."""
        check_image(self, in_shapes[0], batch=self.batch, first=self.first)
        return super().infer_shape(in_shapes)

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """That of the output."""
        return [merge_shapes(self.name, "data", in_shapes[0], out_shapes[0])]

    def infer_type_backward(
        self, in_types: Sequence[str | None], out_types: Sequence[str | None]
    ) -> list[str | None]:
        """That of the output."""
        return [in_types[0] or out_types[0]]


@register
class ToTensor(OperatorProperty):
    """Images of numbers up to 255 as tensors of numbers up to 1, with channels first.

    Formula: ``out[c, y, x] = data[y, x, c] / 255``. Shapes: ``data`` is ``(h, w, c)`` or
    ``(n, h, w, c)``, ``out`` ``(c, h, w)`` or ``(n, c, h, w)``. Types: numbers; ``out`` is float32.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> data = mx.nd.array([[[0, 51], [102, 255]]], dtype="uint8")
    >>> print(mx.nd.image.to_tensor(data).asnumpy())
    [[[0.  0.4]]
     [[0.2 1. ]]]
    """

    name = "_image_to_tensor"
    dtypes: ClassVar[tuple[str, ...]] = NUMBERS
    differentiable = False

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Channels first."""
        (data,) = in_shapes
        if data is None:
            return [None], [None], []
        if len(data) not in (3, 4):
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' of shape {data} must have the shape (height, width, "
                "channels), or also a batch"
            )
        return [data], [(*data[:-3], data[-1], data[-3], data[-2])], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """Channels last."""
        (out,) = out_shapes
        if out is None or len(out) not in (3, 4):
            return list(in_shapes)
        known = (*out[:-3], out[-2], out[-1], out[-3])
        return [merge_shapes(self.name, "data", in_shapes[0], known)]

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """The output is float32."""
        return list(in_types), ["float32"], []


@register
class ImageNormalize(Images):
    """Tensors of images, less a mean and divided by a deviation, for each channel.

    Formula: ``out[c] = (data[c] - mean[c]) / std[c]``. Shapes: ``data`` is ``(c, h, w)`` or
    ``(n, c, h, w)`` with 1 or 3 channels; ``mean`` and ``std`` are one number, or one for each.
    Types: numbers; integers are computed in float32 and cut. Gradient: ``data_grad = out_grad /
    std``.

    Examples
    --------
    >>> data = mx.nd.array([[[1, 2]], [[3, 4]], [[5, 6]]])
    >>> print(mx.nd.image.normalize(data, mean=(1, 2, 3), std=2).asnumpy()[:, 0])
    [[0.  0.5]
     [0.5 1. ]
     [1.  1.5]]
    """

    name = "_image_normalize"
    batch = True
    first = True
    params: ClassVar[Params] = {
        "mean": Param("floats", (0.0, 0.0, 0.0, 0.0), "What is taken off each channel."),
        "std": Param("floats", (1.0, 1.0, 1.0, 1.0), "What each channel is divided by."),
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """That of the data, whose channels must be as many as the numbers."""
        data = in_shapes[0]
        check_image(self, data, batch=True, first=True)
        for name in ("mean", "std"):
            count = len(self.attrs[name])
            if data is None or count == 1:
                continue
            if data[-3] >= 0 and count != data[-3]:
                raise InvalidArgumentError(
                    f"{self.name}: attribute '{name}' must have 1 or {data[-3]} numbers for "
                    f"argument 'data' of shape {data}, got {count}"
                )
            data = (*data[:-3], count, *data[-2:])
        return [data], [data], []

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """Divided as the data are."""
        attrs = {"mean": (0.0,), "std": self.attrs["std"]}
        return [graph.op(self.name, graph.out_grad[0], **attrs)[0]]


_MOST = (1 << 31) - 1


@register
class ImageCrop(Composed):
    """A rectangle of images.

    Formula: ``out[v, u, c] = data[y + v, x + u, c]``. Shapes: ``data`` is ``(h, w, c)`` or
    ``(n, h, w, c)`` with 1 or 3 channels, ``out`` has ``height`` rows and ``width`` columns.
    Types: all. Gradient: ``out_grad`` in the rectangle, 0 outside.

    Examples
    --------
    >>> data = mx.nd.arange(6).reshape((2, 3, 1))
    >>> print(mx.nd.image.crop(data, x=1, y=0, width=2, height=1).asnumpy()[..., 0])
    [[1. 2.]]
    """

    name = "_image_crop"
    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES
    params: ClassVar[Params] = {
        "x": Param("int", doc="The first column.", low=0, high=_MOST),
        "y": Param("int", doc="The first row.", low=0, high=_MOST),
        "width": Param("int", doc="The number of columns.", low=1, high=_MOST),
        "height": Param("int", doc="The number of rows.", low=1, high=_MOST),
    }

    def forward(self, data: Term) -> Term:
        """Rows, then columns."""
        y, x = self.attrs["y"], self.attrs["x"]
        rows = data.op("slice_axis", axis=-3, begin=y, end=y + self.attrs["height"])
        return rows.op("slice_axis", axis=-2, begin=x, end=x + self.attrs["width"])

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The rectangle must lie in the images."""
        data = in_shapes[0]
        check_image(self, data, batch=True, first=False)
        pairs = (("y", "height", -3), ("x", "width", -2))
        for start, size, axis in pairs if data is not None else ():
            assert data is not None
            if 0 <= data[axis] < self.attrs[start] + self.attrs[size]:
                raise InvalidArgumentError(
                    f"{self.name}: {start}={self.attrs[start]} and {size}={self.attrs[size]} reach "
                    f"beyond argument 'data' of shape {data}"
                )
        return super().infer_shape(in_shapes)


@register
class ImageResize(OperatorProperty):
    """Images in another size.

    Formula: as OpenCV does; ``interp`` is 0: the nearest sample, 1: linear between two, 2: cubic,
    of four, 3: the mean of the area, 4: Lanczos, of eight. Only 3 averages where images shrink.
    Shapes: ``data`` is ``(h, w, c)`` or ``(n, h, w, c)``; ``size`` is ``(width, height)``, or one
    number for both, or for the shorter side with ``keep_ratio``. Types: uint8, float32, float64.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> data = mx.nd.array([[[0], [100]], [[100], [200]]], dtype="uint8")
    >>> print(mx.nd.image.resize(data, size=1).asnumpy())
    [[[100]]]
    """

    name = "_image_resize"
    dtypes: ClassVar[tuple[str, ...]] = ("float32", "float64", "uint8")
    differentiable = False
    params: ClassVar[Params] = {
        "size": Param("axis", (), "The width and the height, or one number for both."),
        "keep_ratio": Param("bool", False, "Whether one number is that of the shorter side."),
        "interp": Param("int", 1, "How samples between samples are made.", low=0, high=5),
    }

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        size = self.attrs["size"]
        size = (size,) if isinstance(size, int) else size
        self.attrs["size"] = size
        if len(size) not in (1, 2) or min(size) < 1:
            raise InvalidArgumentError(
                f"{self.name}: attribute 'size' must be 1 or 2 ints >= 1, got {size}"
            )

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The new height and width."""
        (data,) = in_shapes
        if data is None:
            return [None], [None], []
        if len(data) not in (3, 4) or 0 in data[-3:]:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' of shape {data} must have the shape (height, width, "
                "channels), or also a batch, and samples"
            )
        return [data], [(*data[:-3], *self._extents(data[-3:-1]), data[-1])], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """Images and channels from the output."""
        (out,) = out_shapes
        if out is None or len(out) not in (3, 4):
            return list(in_shapes)
        known = (*out[:-3], -1, -1, out[-1])
        return [merge_shapes(self.name, "data", in_shapes[0], known)]

    def infer_type_backward(
        self, in_types: Sequence[str | None], out_types: Sequence[str | None]
    ) -> list[str | None]:
        """That of the output."""
        return [in_types[0] or out_types[0]]

    def _extents(self, data: Shape) -> Shape:
        width, height = self.attrs["size"][0], self.attrs["size"][-1]
        if len(self.attrs["size"]) == 1 and self.attrs["keep_ratio"]:
            high, wide = data
            if min(data) < 0:
                return (-1, -1)
            if high > wide:
                return (max(1, high * width // wide), width)
            return (width, max(1, wide * width // high))
        return (height, width)


class _Flip(Composed):
    """The base of the flips."""

    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES
    axis: ClassVar[int]

    def forward(self, data: Term) -> Term:
        """The other way round."""
        return data.op("reverse", axis=(self.axis,))

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """That of the data, which must be one image."""
        check_image(self, in_shapes[0], batch=False, first=False)
        return super().infer_shape(in_shapes)


@register
class FlipLeftRight(_Flip):
    """An image, mirrored from left to right.

    Formula: ``out[y, x] = data[y, w - 1 - x]``. Shapes: ``data`` is ``(h, w, c)`` with 1 or 3
    channels. Types: all. Gradient: ``out_grad``, mirrored as well.

    Examples
    --------
    >>> data = mx.nd.array([[[1], [2], [3]]])
    >>> print(mx.nd.image.flip_left_right(data).asnumpy()[..., 0])
    [[3. 2. 1.]]
    """

    name = "_image_flip_left_right"
    axis = 1


@register
class FlipTopBottom(_Flip):
    """An image upside down.

    Formula: ``out[y, x] = data[h - 1 - y, x]``. Shapes: ``data`` is ``(h, w, c)`` with 1 or 3
    channels. Types: all. Gradient: ``out_grad``, upside down as well.

    Examples
    --------
    >>> data = mx.nd.array([[[1]], [[2]]])
    >>> print(mx.nd.image.flip_top_bottom(data).asnumpy()[..., 0])
    [[2.]
     [1.]]
    """

    name = "_image_flip_top_bottom"
    axis = 0


@register
class RandomFlipLeftRight(Images):
    """An image, by half a chance mirrored from left to right.

    Formula: ``data`` or ``flip_left_right(data)``. Shapes: ``data`` is ``(h, w, c)`` with 1 or 3
    channels. Types: all. Gradient: none, nothing flows back.

    Examples
    --------
    >>> print(mx.nd.image.random_flip_left_right(mx.nd.ones((1, 2, 1))).shape)
    (1, 2, 1)
    """

    name = "_image_random_flip_left_right"
    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES
    differentiable = False


@register
class RandomFlipTopBottom(Images):
    """An image, by half a chance upside down.

    Formula: ``data`` or ``flip_top_bottom(data)``. Shapes: ``data`` is ``(h, w, c)`` with 1 or 3
    channels. Types: all. Gradient: none, nothing flows back.

    Examples
    --------
    >>> print(mx.nd.image.random_flip_top_bottom(mx.nd.ones((1, 2, 1))).shape)
    (1, 2, 1)
    """

    name = "_image_random_flip_top_bottom"
    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES
    differentiable = False
