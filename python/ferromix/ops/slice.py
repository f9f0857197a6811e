"""Operators that cut ranges of indices out of a tensor."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import Entry, GradientGraph, MaybeShape, Shape, register
from .family import Types
from .linear import Back, Linear
from .param import REQUIRED, Param, Params
from .shapes import normal_axis, require_rank

__all__ = ["Crop", "Slice", "SliceAxis", "SliceLike"]

_RANGE = {
    "axis": Param("int", doc="The axis that is cut."),
    "begin": Param("int", doc="The first index; a negative one counts from the end."),
    "end": Param("int", REQUIRED, "The index after the last one; None for the end.", optional=True),
}
_SLICE = {
    "begin": Param("slots", doc="The first index of each axis; None for the start."),
    "end": Param("slots", doc="The index after the last one of each axis; None for the end."),
    "step": Param("slots", (), "The distance of the indices of each axis; 1 where None."),
}


@register
class Slice(Linear):
    """Ranges of indices of the first axes, with steps.

    Formula: ``out = data[begin[0]:end[0]:step[0], begin[1]:end[1]:step[1], ...]``. Shapes: the
    extent of each range; axes without one stay whole. What lies beyond either end is left out, as
    in Python.
    Types: all.
    Gradient: ``out_grad`` in its place, and 0 elsewhere.

    Examples
    --------
    >>> a = mx.nd.array([[1, 2, 3], [4, 5, 6]])
    >>> print(mx.nd.slice(a, begin=(0, 1), end=(1, None)).asnumpy())
    [[2. 3.]]
    >>> print(mx.nd.slice(a, begin=(None, None), end=(None, None), step=(1, -2)).asnumpy())
    [[3. 1.]
     [6. 4.]]
    """

    name = "slice"
    aliases = ("crop",)
    back = "_backward_slice"
    params: ClassVar[Params] = _SLICE

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        begin, end, step = (self.attrs[a] for a in ("begin", "end", "step"))
        if len(begin) != len(end) or len(step) not in (0, len(begin)):
            raise InvalidArgumentError(
                f"{self.name}: begin={begin}, end={end} and step={step} must have one length "
                "(step may be empty)"
            )
        if 0 in step:
            raise InvalidArgumentError(f"{self.name}: step={step} must not contain 0")

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The extents of the ranges."""
        (shape,) = in_shapes
        if shape is None:
            return [None], [None], []
        if len(self.attrs["begin"]) > len(shape):
            raise InvalidArgumentError(
                f"{self.name}: begin={self.attrs['begin']} has more members than argument 'data' "
                f"of shape {shape} has dimensions"
            )
        rows = zip(shape, self.attrs["begin"], self.attrs["end"], self.steps(), strict=False)
        cut = tuple(self._extent(*row) for row in rows)
        return [shape], [cut + shape[len(cut) :]], []

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """The ranges without None: one begins at the first element, or at the last."""
        steps = self.steps()
        pairs = zip(self.attrs["begin"], steps, strict=True)
        first = (b if b is not None else 0 if s > 0 else -1 for b, s in pairs)
        return {"begin": tuple(first), "step": tuple(steps)}

    def steps(self) -> list[int]:
        """The step of each range."""
        return [s or 1 for s in self.attrs["step"] or (1,) * len(self.attrs["begin"])]

    def _extent(self, extent: int, begin: int | None, end: int | None, step: int) -> int:
        if extent < 0:
            return -1
        return len(range(*builtins.slice(begin, end, step).indices(extent)))


@register
class BackwardSlice(Back):
    """``out_grad`` at the places of the ranges, in zeros of the shape of ``data``."""

    name = "_backward_slice"
    forward = "slice"
    params: ClassVar[Params] = _SLICE

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """Those of the forward kernel."""
        return Slice(**self.attrs).kernel_attrs(is_train)


@register
class SliceAxis(Linear):
    """A range of indices of one axis.

    Formula: ``out = data[:, begin:end]`` for ``axis = 1``. Shapes: the extent of ``axis`` becomes
    ``end - begin``. Types: all.
    Gradient: ``out_grad`` in its place, and 0 elsewhere.

    Examples
    --------
    >>> print(mx.nd.slice_axis(mx.nd.array([[1, 2, 3]]), axis=1, begin=1, end=None).asnumpy())
    [[2. 3.]]
    """

    name = "slice_axis"
    back = "_backward_slice_axis"
    params: ClassVar[Params] = _RANGE

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The shape with the extent of the range along the axis."""
        (shape,) = in_shapes
        if shape is None:
            return [None], [None], []
        axis = normal_axis(self.name, self.attrs["axis"], len(shape))
        length = self._length(shape[axis])
        return [shape], [(*shape[:axis], length, *shape[axis + 1 :])], []

    def _length(self, extent: int) -> int:
        if extent < 0:
            return -1
        begin, end = self.attrs["begin"], self.attrs["end"]
        first = begin + extent if begin < 0 else begin
        last = extent if end is None else end + extent if end < 0 else end
        if not 0 <= first <= last <= extent:
            raise InvalidArgumentError(
                f"{self.name}: begin={begin}, end={end} is no range of an axis of extent {extent}"
            )
        return last - first


@register
class BackwardSliceAxis(Back):
    """``out_grad`` at the place of the range, in zeros of the shape of ``data``."""

    name = "_backward_slice_axis"
    forward = "slice_axis"
    params: ClassVar[Params] = _RANGE


class LikeAnother(Linear):
    """The base of operators whose last input gives its shape only."""

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """The output has the type of the first input."""
        first, *others = in_types
        return [first, *[t or first for t in others]], [first], []

    def ignored_inputs(self) -> list[int]:
        """The last input gives its shape only."""
        return list(range(1, len(self.list_arguments())))


@register
class SliceLike(LikeAnother):
    """The beginning of each axis, as long as the axis of another tensor.

    Formula: ``out = data[:m, :n]`` for ``shape_like`` of shape ``(m, n)``. Shapes: the extents of
    ``axes`` are those of ``shape_like``; all of them by default, in tensors of equal rank.
    Types: all; ``shape_like`` may have another one.
    Gradient: ``out_grad`` in its place, and 0 elsewhere; none for ``shape_like``.

    Examples
    --------
    >>> mx.nd.slice_like(mx.nd.zeros((4, 5)), mx.nd.zeros((2, 3)), axes=(1,)).shape
    (4, 3)
    """

    name = "slice_like"
    arguments = ("data", "shape_like")
    back = "_backward_slice_like"
    params: ClassVar[Params] = {"axes": Param("shape", (), "The axes that are cut; all if empty.")}

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The shape of the first input with extents of the second."""
        data, like = in_shapes
        if data is None or like is None:
            return [data, like], [None], []
        axes = self.attrs["axes"]
        if not axes and len(data) != len(like):
            raise InvalidArgumentError(
                f"{self.name}: arguments 'data' of shape {data} and 'shape_like' of shape {like} "
                "differ in rank; give axes"
            )
        out = list(data)
        for axis in axes or range(len(data)):
            # A negative axis counts from the end of the data for both tensors, as in MXNet.
            a = normal_axis(self.name, axis, len(data))
            normal_axis(self.name, a, len(like))
            if 0 <= data[a] < like[a]:
                raise InvalidArgumentError(
                    f"{self.name}: argument 'data' of shape {data} is shorter along axis {a} than "
                    f"'shape_like' of shape {like}"
                )
            out[a] = like[a]
        return [data, like], [tuple(out)], []


@register
class BackwardSliceLike(Back):
    """``out_grad`` at the beginning of each axis, in zeros of the shape of ``data``."""

    name = "_backward_slice_like"
    forward = "slice_like"
    params: ClassVar[Params] = SliceLike.params

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The part again; ``out_grad`` has its shape."""
        return [graph.op("slice_like", graph.out_grad[0], graph.in_data[0], **self.attrs)[0], None]


_CROP = {
    "num_args": Param("int", doc="1, or 2 to follow the second input.", low=1, high=2),
    "offset": Param("shape", (0, 0), "The first row and column.", low=0),
    "h_w": Param("shape", (0, 0), "Height and width, with one input.", low=0),
    "center_crop": Param("bool", False, "Whether to cut out of the middle."),
}


@register
class Crop(LikeAnother):
    """A window of each image.

    Formula: ``out[n, c, i, j] = arg0[n, c, i + offset[0], j + offset[1]]``. Shapes: ``(n, c, h,
    w)`` becomes ``(n, c, *h_w)``, or gets height and width of a second input. Types: all.
    Gradient: ``out_grad`` in its place, and 0 elsewhere; none for the second input.

    Examples
    --------
    >>> a = mx.nd.array([[1, 2], [3, 4]]).reshape((1, 1, 2, 2))
    >>> print(mx.nd.Crop(a, h_w=(1, 2), offset=(1, 0)).asnumpy().reshape(-1))
    [3. 4.]
    """

    name = "Crop"
    variadic = "num_args"
    back = "_backward_Crop"
    params: ClassVar[Params] = _CROP

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Samples and channels of the first input, height and width of the window."""
        for name, shape in zip(self.list_arguments(), in_shapes, strict=True):
            if shape is not None:
                require_rank(self.name, name, shape, 4, "NCHW")
        if any(s is None for s in in_shapes):
            return list(in_shapes), [None], []
        data, *like = [s for s in in_shapes if s is not None]
        window = like[0][2:] if like else self.attrs["h_w"]
        self._check(data, window)
        return list(in_shapes), [(*data[:2], *window)], []

    def _check(self, data: Shape, window: Shape) -> None:
        offset = (0, 0) if self.attrs["center_crop"] else self.attrs["offset"]
        if len(offset) != 2 or len(window) != 2:
            raise InvalidArgumentError(f"{self.name}: offset and h_w must be two ints each")
        for n, m, first in zip(data[2:], window, offset, strict=True):
            if 0 <= n < m + first:
                raise InvalidArgumentError(
                    f"{self.name}: a window of {window} at {offset} does not lie within argument "
                    f"'arg0' of shape {data}"
                )


@register
class BackwardCrop(Back):
    """``out_grad`` at the place of the window, in zeros of the shape of ``data``."""

    name = "_backward_Crop"
    forward = "Crop"
    params: ClassVar[Params] = _CROP

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The window again; ``out_grad`` has its shape."""
        attrs = {**self.attrs, "num_args": 2}
        return [graph.op("Crop", graph.out_grad[0], graph.in_data[0], **attrs)[0], None]
