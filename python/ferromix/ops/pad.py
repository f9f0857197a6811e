"""Padding of tensors with a border."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import Entry, GradientGraph, MaybeShape, merge_shapes, register
from .family import FLOATS
from .linear import Back, Linear
from .param import Param, Params

__all__ = ["Pad"]


@register
class Pad(Linear):
    """A tensor with a border around it.

    Formula: ``out = data`` inside; in the border ``constant_value``, the nearest element
    (``edge``), or the element as far behind the edge as the place is before it (``reflect``).
    Shapes: ``pad_width`` has two numbers for each axis, the widths before and after it, which are
    added to its extent; those of ``reflect`` are smaller than the extent. Types: floats.
    Gradient: ``out_grad``, summed over the places that each element has gone to.

    Examples
    --------
    >>> a = mx.nd.array([[1, 2, 3]])
    >>> print(mx.nd.pad(a, mode="reflect", pad_width=(0, 0, 2, 1)).asnumpy())
    [[3. 2. 1. 2. 3. 2.]]
    """

    name = "Pad"
    aliases = ("pad",)
    back = "_backward_Pad"
    dtypes = FLOATS
    params: ClassVar[Params] = {
        "mode": Param(
            "str", doc="What the border consists of.", choices=("constant", "edge", "reflect")
        ),
        "pad_width": Param("shape", doc="Widths before and after each axis, in turns.", low=0),
        "constant_value": Param("float", 0.0, "The border of the mode constant."),
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The extents with the widths added."""
        (shape,), widths = in_shapes, self.attrs["pad_width"]
        if shape is None:
            return [None], [None], []
        if len(widths) != 2 * len(shape):
            raise InvalidArgumentError(
                f"{self.name}: pad_width={widths} must have two numbers for each dimension of "
                f"argument 'data' of shape {shape}"
            )
        rows = list(zip(shape, widths[::2], widths[1::2], strict=True))
        least = {"constant": 0, "edge": 1, "reflect": None}[self.attrs["mode"]]
        for axis, (n, before, after) in enumerate(rows):
            most = max(before, after)
            if most and 0 <= n < (most + 1 if least is None else least):
                raise InvalidArgumentError(
                    f"{self.name}: axis {axis} of argument 'data' of shape {shape} is too short "
                    f"for mode={self.attrs['mode']} with widths {before} and {after}"
                )
        return [shape], [tuple(-1 if n < 0 else n + b + a for n, b, a in rows)], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The extents without the widths."""
        (out,), widths = out_shapes, self.attrs["pad_width"]
        if out is None or len(widths) != 2 * len(out):
            return list(in_shapes)
        rows = zip(out, widths[::2], widths[1::2], strict=True)
        shape = tuple(-1 if n < 0 else n - b - a for n, b, a in rows)
        return [merge_shapes(self.name, "data", in_shapes[0], shape)]


@register
class BackwardPad(Back):
    """``out_grad`` of Pad, summed over the places that each element has gone to."""

    name = "_backward_Pad"
    forward = "Pad"
    dtypes = FLOATS
    params: ClassVar[Params] = Pad.params

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The padding, with zeros where there is a constant."""
        attrs: dict[str, Any] = {**self.attrs, "constant_value": 0.0}
        return [graph.op("Pad", graph.out_grad[0], **attrs)[0], None]
