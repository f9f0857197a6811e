"""Elements in order along an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import (
    Claims,
    Entry,
    GradientGraph,
    MaybeShape,
    OperatorProperty,
    Shape,
    merge_shapes,
    register,
)
from .choice import BackwardChoice
from .family import NUMBERS, Types
from .param import Param, Params
from .shapes import count, normal_axis

__all__ = ["ArgSort", "Sort", "TopK"]

_HOLDS = {"uint8": 1 << 8, "float16": 1 << 11, "float32": 1 << 24, "int32": 1 << 31}
"""The indices up to which a type holds all of them."""

AXIS = Param("int", -1, "The axis; all elements as one line where None.", optional=True)
_AXIS: Params = {"axis": AXIS}
_DTYPE = Param(
    "dtype",
    "float32",
    "The type of indices, which must hold all of an axis.",
    choices=("float16", "float32", "float64", "int32", "int64", "uint8"),
)


class Order(OperatorProperty):
    """The base of operators that order elements. Equal elements keep the order of their places, in
    both directions, and NaN counts as greater than all others."""

    dtypes: ClassVar[tuple[str, ...]] = NUMBERS

    def check_axis(self, shape: Shape) -> tuple[int | None, int]:
        """The axis, counted from the front, or None for all elements, and its extent."""
        axis = self.attrs["axis"]
        if axis is None:
            return None, count(shape)
        axis = normal_axis(self.name, axis, len(shape))
        return axis, shape[axis]

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The same, or one dimension."""
        (shape,) = in_shapes
        if shape is None:
            return [None], [None], []
        axis, extent = self.check_axis(shape)
        return [shape], [(extent,) if axis is None else shape], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The same, along an axis."""
        if self.attrs["axis"] is None:
            return list(in_shapes)
        return [merge_shapes(self.name, "data", in_shapes[0], out_shapes[0])]

    def check_holds(self, extent: int) -> None:
        """Raises where the type of the indices does not hold those of so many elements."""
        dtype = self.attrs["dtype"]
        last = _HOLDS.get(dtype)
        most = None if last is None else last + dtype.startswith("float")
        if most is not None and extent > most:
            raise InvalidArgumentError(
                f"{self.name}: dtype={dtype} holds the indices of {most} elements, got {extent}; "
                "use dtype='int64'"
            )

    def put_back(self, graph: GradientGraph, indices: Entry) -> list[Entry | None]:
        """The gradient of values that come from `indices`."""
        entries = (graph.out_grad[0], indices, graph.in_data[0])
        return [graph.op("_backward_topk", *entries, axis=self.attrs["axis"])[0]]


@register
class Sort(Order):
    """The elements of each line along an axis, in order.

    Formula: ``out[i, 0] <= out[i, 1] <= ...``, or ``>=`` without ``is_ascend``. NaN counts as
    greater than all others. Shapes: ``out`` has the shape of ``data``, or one dimension where
    ``axis`` is None. Types: numbers.
    Gradient: ``data_grad`` is ``out_grad``, each back in the place that its element came from.

    Examples
    --------
    >>> data = mx.nd.array([[3, 1, 2], [0, 5, 4]])
    >>> print(mx.nd.sort(data).asnumpy())
    [[1. 2. 3.]
     [0. 4. 5.]]
    >>> print(mx.nd.sort(data, axis=None, is_ascend=False).asnumpy())
    [5. 4. 3. 2. 1. 0.]
    """

    name = "sort"
    params: ClassVar[Params] = {
        "axis": AXIS,
        "is_ascend": Param("bool", True, "Whether the least element comes first."),
    }

    def list_outputs(self) -> list[str]:
        """MXNet's name: there the indices are a second output."""
        return ["output0"]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """Each back to its place."""
        found = graph.op("argsort", graph.in_data[0], dtype="int64", **self.attrs)
        return self.put_back(graph, found[0])


@register
class ArgSort(Order):
    """The indices that put the elements of each line along an axis in order.

    Formula: ``data[i, out[i, 0]] <= data[i, out[i, 1]] <= ...``, or ``>=`` without ``is_ascend``.
    Equal elements keep the order of their places; NaN counts as greater than all others.
    Shapes: ``out`` has the shape of ``data``, or one dimension where ``axis`` is None.
    Types: numbers; ``out`` has ``dtype``, which must hold the indices of the axis.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> print(mx.nd.argsort(mx.nd.array([[3, 1, 2], [5, 5, 4]])).asnumpy())
    [[1. 2. 0.]
     [2. 0. 1.]]
    """

    name = "argsort"
    differentiable = False
    params: ClassVar[Params] = {**Sort.params, "dtype": _DTYPE}

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The same, or one dimension, if the type of the indices holds them."""
        if in_shapes[0] is not None:
            self.check_holds(self.check_axis(in_shapes[0])[1])
        return super().infer_shape(in_shapes)

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """The output has the type of the attribute."""
        return list(in_types), [self.attrs["dtype"]], []


@register
class TopK(Order):
    """The first elements of each line along an axis in descending order, or their indices.

    Formula: ``sort(data)[:k]``, largest first unless ``is_ascend``; all of them where ``k < 1``.
    With ``ret_typ="indices"`` their indices, with ``"both"`` both as two outputs, with ``"mask"``
    1 in their places and 0 elsewhere. Of equal elements the first ones count; NaN counts as greater
    than all others. Shapes: ``out`` has that of ``data`` with ``k`` along ``axis``, or ``(k,)``
    where ``axis`` is None; the mask has that of ``data``. Types: numbers; indices have ``dtype``,
    which must hold those of the axis.
    Gradient: ``data_grad`` is ``out_grad`` of the values, each back in the place that its element
    came from, and 0 elsewhere; none flows back from indices and masks.

    Examples
    --------
    >>> data = mx.nd.array([[3, 1, 2], [0, 5, 4]])
    >>> print(mx.nd.topk(data, k=2).asnumpy())
    [[0. 2.]
     [1. 2.]]
    >>> values, indices = mx.nd.topk(data, ret_typ="both", is_ascend=True)
    >>> print(values.asnumpy().ravel(), indices.asnumpy().ravel())
    [1. 0.] [1. 0.]
    >>> print(mx.nd.topk(data, k=2, ret_typ="mask").asnumpy())
    [[1. 0. 1.]
     [0. 1. 1.]]
    """

    name = "topk"
    params: ClassVar[Params] = {
        "axis": AXIS,
        "k": Param("int", 1, "How many of each line; all of them where less than 1."),
        "ret_typ": Param(
            "str", "indices", "What is returned.", choices=("both", "indices", "mask", "value")
        ),
        "is_ascend": Param("bool", False, "Whether the least element comes first."),
        "dtype": _DTYPE,
    }

    def list_outputs(self) -> list[str]:
        """Values, indices or both."""
        kind = self.attrs["ret_typ"]
        if kind == "both":
            return ["output0", "output1"]
        return ["output0" if kind == "value" else "output"]

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """As many along the axis as are asked for."""
        (shape,), n = in_shapes, len(self.list_outputs())
        if shape is None:
            return [None], [None] * n, []
        (axis, extent), k = self.check_axis(shape), self.attrs["k"]
        if k > extent >= 0:
            raise InvalidArgumentError(
                f"{self.name}: attribute 'k' must be at most {extent}, the elements along "
                f"axis={self.attrs['axis']} of 'data' of shape {shape}, got {k}"
            )
        if self.attrs["ret_typ"] in ("both", "indices"):
            self.check_holds(extent)
        if self.attrs["ret_typ"] == "mask":
            return [shape], [shape], []
        most = k if k > 0 else extent
        out = (most,) if axis is None else (*shape[:axis], most, *shape[axis + 1 :])
        return [shape], [out] * n, []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The other extents are those of the output."""
        out = next((shape for shape in out_shapes if shape is not None), None)
        axis, mask = self.attrs["axis"], self.attrs["ret_typ"] == "mask"
        if out is None or (axis is None and not mask):
            return list(in_shapes)
        if axis is not None and not mask and self.attrs["k"] > 0:
            axis = normal_axis(self.name, axis, len(out))
            out = (*out[:axis], -1, *out[axis + 1 :])
        return [merge_shapes(self.name, "data", in_shapes[0], out)]

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """Values and masks have the type of the data, indices that of the attribute."""
        (given,), dtype, kind = in_types, self.attrs["dtype"], self.attrs["ret_typ"]
        outs = {"both": [given, dtype], "indices": [dtype]}.get(kind, [given])
        return [given], outs, []

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """Values go back to their places."""
        kind = self.attrs["ret_typ"]
        if kind == "both":
            return self.put_back(graph, graph.out_data[1])
        if kind != "value":
            return [None]
        attrs: Mapping[str, Any] = {**self.attrs, "ret_typ": "indices", "dtype": "int64"}
        return self.put_back(graph, graph.op("topk", graph.in_data[0], **attrs)[0])


@register
class BackwardTopK(BackwardChoice):
    """``out_grad`` of values in order, each in the place that the indices say."""

    name = "_backward_topk"
    kernel = "_backward_pick"
    forward = "_backward_backward_topk"
    params: ClassVar[Params] = _AXIS


@register
class ChooseTopK(OperatorProperty):
    """The elements that the indices of `topk` choose: the gradient of its gradient."""

    name = "_backward_backward_topk"
    hidden = True
    kernel = "pick"
    arguments = ("data", "indices")
    dtypes: ClassVar[tuple[str, ...]] = NUMBERS
    argument_dtypes: ClassVar[Claims] = {"indices": NUMBERS}
    params: ClassVar[Params] = _AXIS

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """An element for each index."""
        return list(in_shapes), [in_shapes[1]], []

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The gradient of the values again."""
        data, indices = graph.in_data
        entries = (graph.out_grad[0], indices, data)
        return [graph.op("_backward_topk", *entries, **self.attrs)[0], None]
