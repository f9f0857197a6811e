"""Operators that repeat elements, or whole tensors, along axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from .card import MaybeShape, make, merge_shapes, register
from .family import ALL_TYPES, NUMBERS
from .linear import Back, Linear
from .param import Param, Params
from .shapes import count, normal_axis

__all__ = ["Repeat", "Tile"]


@register
class Repeat(Linear):
    """Every element several times in a row.

    Formula: ``out[i * repeats + k] = data[i]``. Shapes: the extent of ``axis`` is multiplied by
    ``repeats``; without ``axis`` the output is a vector. Types: all.
    Gradient: ``out_grad``, summed over the repetitions.

    Examples
    --------
    >>> print(mx.nd.repeat(mx.nd.array([[1, 2], [3, 4]]), repeats=2, axis=1).asnumpy())
    [[1. 1. 2. 2.]
     [3. 3. 4. 4.]]
    """

    name = "repeat"
    back = "_backward_repeat"
    dtypes = ALL_TYPES
    params: ClassVar[Params] = {
        "repeats": Param("int", doc="How often each element comes.", low=0),
        "axis": Param("int", None, "The axis; the flat tensor where None.", optional=True),
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """One extent multiplied, or all elements in one axis."""
        (shape,), times, axis = in_shapes, self.attrs["repeats"], self.attrs["axis"]
        if shape is None:
            return [None], [None if axis is not None else (-1,)], []
        if axis is None:
            total = count(shape)
            return [shape], [(-1 if total < 0 else total * times,)], []
        axis = normal_axis(self.name, axis, len(shape))
        out = [n * times if a == axis and n >= 0 else n for a, n in enumerate(shape)]
        return [shape], [tuple(out)], []


@register
class BackwardRepeat(Back):
    """``out_grad`` of repeat, summed over the repetitions."""

    name = "_backward_repeat"
    forward = "repeat"
    dtypes = NUMBERS
    params: ClassVar[Params] = Repeat.params

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The shape of the data, which gives that of ``out_grad``."""
        grad, data = in_shapes
        repeated = make(self.forward, self.attrs).infer_shape([data])[1][0]
        return [merge_shapes(self.name, "out_grad", grad, repeated), data], [data], []


@register
class Tile(Linear):
    """A tensor several times side by side.

    Formula: ``out[i, j] = data[i mod m, j mod n]``. Shapes: extents are multiplied by ``reps``; the
    shorter of the two gets ones in front. Types: all.
    Gradient: ``out_grad``, summed over the copies.

    Examples
    --------
    >>> print(mx.nd.tile(mx.nd.array([[1, 2]]), reps=(2, 2)).asnumpy())
    [[1. 2. 1. 2.]
     [1. 2. 1. 2.]]
    """

    name = "tile"
    back = "_backward_tile"
    dtypes = ALL_TYPES
    params: ClassVar[Params] = {
        "reps": Param("shape", doc="How often the tensor comes along each axis.", low=1)
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The extents, multiplied."""
        (shape,), reps = in_shapes, self.attrs["reps"]
        if shape is None:
            return [None], [None], []
        rank = max(len(shape), len(reps))
        old, times = ((1,) * (rank - len(s)) + s for s in (shape, reps))
        return [shape], [tuple(n if n < 0 else n * t for n, t in zip(old, times, strict=True))], []


@register
class BackwardTile(Back):
    """``out_grad`` of tile, summed over the copies."""

    name = "_backward_tile"
    forward = "tile"
    dtypes = NUMBERS
    params: ClassVar[Params] = Tile.params
