"""Operators that join tensors along an axis, old or new, and take them apart again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..error import InvalidArgumentError
from ..literal import MOST, brief
from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, merge_shapes, register
from .family import ALL_TYPES, Backward, numbered_outputs
from .param import Param, Params
from .shapes import is_known, normal_axis

__all__ = ["Concat", "SliceChannel", "SplitV2", "Stack", "split_v2_attrs"]


@register
class Concat(OperatorProperty):
    """Tensors joined along an axis.

    Formula: ``out = [arg0 | arg1 | ...]``. Shapes: alike except along ``dim``, where the extents
    add up. Types: all, all alike.
    Gradient: ``out_grad``, cut into the parts.

    Examples
    --------
    >>> a, b = mx.nd.array([[1, 2]]), mx.nd.array([[3]])
    >>> print(mx.nd.Concat(a, b, dim=1).asnumpy())
    [[1. 2. 3.]]
    """

    name = "Concat"
    aliases = ("concat",)
    dtypes = ALL_TYPES
    variadic = "num_args"
    params: ClassVar[Params] = {
        "num_args": Param("int", doc="The number of inputs.", low=1, high=MOST),
        "dim": Param("int", 1, "The axis along which they are joined."),
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """What the inputs have in common, and the sum along the axis."""
        known = [s for s in in_shapes if s is not None]
        if not known:
            return list(in_shapes), [None], []
        axis = normal_axis(self.name, self.attrs["dim"], len(known[0]))
        before, after = known[0][:axis], known[0][axis + 1 :]
        same = [len(s) > axis and s[:axis] == before and s[axis + 1 :] == after for s in known]
        if all(same) and all(map(is_known, in_shapes)):
            total = sum([s[axis] for s in known])
            return list(in_shapes), [(*before, total, *after)], []
        common: MaybeShape = None
        for name, shape in zip(self.list_arguments(), in_shapes, strict=True):
            shape = merge_shapes(self.name, name, shape, (-1,) * len(known[0]))
            free = shape and (*shape[:axis], -1, *shape[axis + 1 :])
            common = merge_shapes(self.name, name, free, common)
        assert common is not None
        parts = [-1 if s is None else s[axis] for s in in_shapes]
        filled = [(*common[:axis], n, *common[axis + 1 :]) for n in parts]
        total = -1 if min(parts) < 0 else sum(parts)
        return list(filled), [(*common[:axis], total, *common[axis + 1 :])], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """What the output says of the other axes."""
        (out,) = out_shapes
        if out is None:
            return list(in_shapes)
        axis = normal_axis(self.name, self.attrs["dim"], len(out))
        free = (*out[:axis], -1, *out[axis + 1 :])
        names = self.list_arguments()
        return [merge_shapes(self.name, n, s, free) for n, s in zip(names, in_shapes, strict=True)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The parts of the gradient of the output."""
        return list(graph.op("_backward_Concat", *graph.out_grad, *graph.in_data, **self.attrs))


@register
class BackwardConcat(Backward):
    """``out_grad`` cut into parts of the shapes of the inputs of Concat."""

    name = "_backward_Concat"
    differentiable = True
    dtypes = ALL_TYPES
    variadic = "num_args"
    params: ClassVar[Params] = Concat.params

    def list_arguments(self) -> list[str]:
        """The gradient, and the inputs of Concat."""
        return ["out_grad", *super().list_arguments()]

    def list_outputs(self) -> list[str]:
        """One gradient for each input."""
        return [f"arg{i}_grad" for i in range(self.attrs["num_args"])]

    def ignored_inputs(self) -> list[int]:
        """The inputs give their shapes only."""
        return list(range(1, self.attrs["num_args"] + 1))

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The parts, joined again."""
        joined = graph.op("Concat", *graph.out_grad, **self.attrs)[0]
        return [joined, *[None] * self.attrs["num_args"]]

    def _like(self, given: Sequence[Any]) -> list[Any]:
        return list(given[1:])


@register
class Stack(OperatorProperty):
    """Tensors of one shape joined along a new axis.

    Formula: ``out[k, i] = argk[i]`` for ``axis = 0``. Shapes: the new axis has as many elements as
    there are inputs; ``axis`` is counted in the output. Types: all, all alike.
    Gradient: ``out_grad``, taken apart along the axis.

    Examples
    --------
    >>> print(mx.nd.stack(mx.nd.array([1, 2]), mx.nd.array([3, 4]), axis=1).asnumpy())
    [[1. 3.]
     [2. 4.]]
    """

    name = "stack"
    dtypes = ALL_TYPES
    variadic = "num_args"
    params: ClassVar[Params] = {
        "axis": Param("int", 0, "Where the new axis is."),
        "num_args": Param("int", doc="The number of inputs.", low=1, high=MOST),
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The common shape with the number of inputs put in."""
        args, (shape, *_), _ = super().infer_shape(in_shapes)
        if shape is None:
            return args, [None], []
        axis = normal_axis(self.name, self.attrs["axis"], len(shape) + 1)
        return args, [(*shape[:axis], self.attrs["num_args"], *shape[axis:])], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The output's shape without the new axis."""
        (out,) = out_shapes
        if not out:
            return list(in_shapes)
        axis = normal_axis(self.name, self.attrs["axis"], len(out))
        part = out[:axis] + out[axis + 1 :]
        names = self.list_arguments()
        return [merge_shapes(self.name, n, s, part) for n, s in zip(names, in_shapes, strict=True)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """One slice for each input."""
        attrs = {"num_outputs": self.attrs["num_args"], "axis": self.attrs["axis"]}
        return list(graph.op("SliceChannel", graph.out_grad[0], squeeze_axis=True, **attrs))


class Split(OperatorProperty):
    """The base of operators that cut a tensor into parts along an axis."""

    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES

    def parts(self) -> int:
        """The number of parts."""
        raise NotImplementedError

    def extents(self, extent: int) -> list[int]:
        """The extents of the parts of an axis."""
        raise NotImplementedError

    def list_outputs(self) -> list[str]:
        """The parts, by number."""
        return numbered_outputs(self.parts())

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The shape with the extent of each part, or without the axis."""
        (shape,) = in_shapes
        if shape is None:
            return [None], [None] * self.parts(), []
        axis = normal_axis(self.name, self.attrs["axis"], len(shape))
        lengths = self.extents(shape[axis])
        before, after = shape[:axis], shape[axis + 1 :]
        if not self.attrs["squeeze_axis"]:
            return [shape], [(*before, n, *after) for n in lengths], []
        if any(n not in (1, -1) for n in lengths):
            raise InvalidArgumentError(
                f"{self.name}: squeeze_axis needs parts of extent 1, but axis {axis} of shape "
                f"{shape} is cut into {lengths}"
            )
        return [shape], [before + after for _ in lengths], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The parts, joined."""
        known = [s for s in out_shapes if s is not None]
        if not known:
            return list(in_shapes)
        axis, squeeze = self.attrs["axis"], self.attrs["squeeze_axis"]
        axis = normal_axis(self.name, axis, len(known[0]) + squeeze)
        rows = [
            None if s is None else (*s[:axis], 1, *s[axis:]) if squeeze else s for s in out_shapes
        ]
        lengths = [-1 if s is None else s[axis] for s in rows]
        total = -1 if min(lengths) < 0 else sum(lengths)
        shape = in_shapes[0]
        for row in rows:
            if row is not None:
                whole = (*row[:axis], total, *row[axis + 1 :])
                shape = merge_shapes(self.name, "data", shape, whole)
        return [shape]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The gradients of the parts, joined."""
        axis, count = self.attrs["axis"], self.parts()
        if self.attrs["squeeze_axis"]:
            return graph.op("stack", *graph.out_grad, axis=axis, num_args=count)[:1]
        return graph.op("Concat", *graph.out_grad, dim=axis, num_args=count)[:1]


_SQUEEZE = Param("bool", False, "Whether the axis vanishes from parts of extent 1.")


@register
class SliceChannel(Split):
    """A tensor cut into equal parts along an axis.

    Formula: ``data = [output0 | output1 | ...]``. Shapes: the extent of ``axis`` is divided by
    ``num_outputs``; with ``squeeze_axis``, which needs parts of extent 1, the axis vanishes.
    Types: all.
    Gradient: the gradients of the outputs, joined.

    Examples
    --------
    >>> a, b = mx.nd.split(mx.nd.array([[1, 2], [3, 4]]), num_outputs=2, axis=1)
    >>> print(a.asnumpy(), b.asnumpy(), sep=", ")
    [[1.]
     [3.]], [[2.]
     [4.]]
    """

    name = "SliceChannel"
    aliases = ("split",)
    params: ClassVar[Params] = {
        "num_outputs": Param("int", doc="The number of parts.", low=1, high=MOST),
        "axis": Param("int", 1, "The axis that is cut."),
        "squeeze_axis": _SQUEEZE,
    }

    def parts(self) -> int:
        """The attribute."""
        return self.attrs["num_outputs"]

    def list_outputs(self) -> list[str]:
        """The parts by number, one that is alone, too."""
        return [f"output{i}" for i in range(self.parts())]

    def extents(self, extent: int) -> list[int]:
        """Equal extents."""
        return _equal_parts(self.name, "num_outputs", self.parts(), extent)


@register
class SplitV2(Split):
    """A tensor cut into parts along an axis, equal ones or at given indices.

    Formula: ``data = [output0 | output1 | ...]``. Shapes: part ``k`` goes from ``indices[k]``, of
    which the first is 0, to before the next one; or the extent is divided by ``sections``. With
    ``squeeze_axis``, which needs parts of extent 1, the axis vanishes. Types: all.
    Gradient: the gradients of the outputs, joined.

    Examples
    --------
    >>> a, b = mx.nd.split_v2(mx.nd.array([1, 2, 3]), (1,))
    >>> print(a.asnumpy(), b.asnumpy())
    [1.] [2. 3.]
    """

    name = "_split_v2"
    params: ClassVar[Params] = {
        "indices": Param(
            "shape", doc="Where the parts begin; empty with `sections`.", low=0, most=MOST
        ),
        "axis": Param("int", 1, "The axis that is cut."),
        "squeeze_axis": _SQUEEZE,
        "sections": Param(
            "int", 0, "The number of equal parts; 0 with `indices`.", low=0, high=MOST
        ),
    }

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        starts = self.attrs["indices"]
        if not self.attrs["sections"] and (not starts or starts[0] or [*starts] != sorted(starts)):
            raise InvalidArgumentError(
                f"{self.name}: attribute 'indices' must begin with 0 and rise, unless 'sections' "
                f"is given; got {brief(starts)}"
            )

    def parts(self) -> int:
        """The sections, or the indices."""
        return self.attrs["sections"] or len(self.attrs["indices"])

    def extents(self, extent: int) -> list[int]:
        """Equal extents, or the distances of the indices."""
        starts = self.attrs["indices"]
        if self.attrs["sections"]:
            return _equal_parts(self.name, "sections", self.parts(), extent)
        if 0 <= extent < starts[-1]:
            raise InvalidArgumentError(
                f"{self.name}: indices={brief(starts)} go beyond an axis of extent {extent}"
            )
        ends = (*starts[1:], extent)
        return [-1 if e < 0 else e - s for s, e in zip(starts, ends, strict=True)]


def _equal_parts(operator: str, attr: str, parts: int, extent: int) -> list[int]:
    if extent >= 0 and extent % parts:
        raise InvalidArgumentError(
            f"{operator}: an axis of extent {extent} cannot be cut into {attr}={parts} equal parts"
        )
    return [-1 if extent < 0 else extent // parts] * parts


def split_v2_attrs(
    indices_or_sections: int | Sequence[int], axis: int, squeeze_axis: bool
) -> dict[str, Any]:
    """The attributes of ``_split_v2`` for the arguments of the function ``split_v2``.

    Raises
    ------
    InvalidArgumentError
        For what is neither an int nor a sequence of ints.
    """
    attrs = {"axis": axis, "squeeze_axis": squeeze_axis}
    if isinstance(indices_or_sections, (int, np.integer)):
        if indices_or_sections < 1:
            raise InvalidArgumentError(
                f"split_v2: sections must be at least 1, got {indices_or_sections}"
            )
        return {"indices": (), "sections": int(indices_or_sections), **attrs}
    if not isinstance(indices_or_sections, (list, tuple)):
        raise InvalidArgumentError(
            "split_v2: indices_or_sections must be an int or a tuple of ints, "
            f"got {brief(indices_or_sections)}"
        )
    return {"indices": (0, *indices_or_sections), "sections": 0, **attrs}
