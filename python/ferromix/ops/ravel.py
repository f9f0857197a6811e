"""Indices of several axes as one number, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import MaybeShape, OperatorProperty, merge_shapes, register
from .family import NUMBERS
from .param import Param, Params
from .shapes import require_rank

__all__: list[str] = []


class Flat(OperatorProperty):
    """The base of both ways."""

    differentiable = False
    dtypes = NUMBERS
    params: ClassVar[Params] = {
        "shape": Param("shape", doc="The extents of the axes; the first one does not matter.")
    }

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        shape = self.attrs["shape"]
        if not shape or min(shape[1:], default=1) < 1:
            raise InvalidArgumentError(
                f"{self.name}: attribute 'shape' must be extents >= 1, but for the first, got "
                f"{shape}"
            )


@register
class RavelMultiIndex(Flat):
    """The places of elements, counted in the order of memory, from their indices on every axis.

    Formula: ``out[j] = (data[0, j] * shape[1] + data[1, j]) * shape[2] + ...``; indices outside of
    the axes are not refused. Shapes: ``data`` is ``(d, n)`` for ``d`` extents in ``shape``, ``out``
    is ``(n,)``. Types: numbers; fractions are cut. Gradient: none, nothing flows back.

    Examples
    --------
    >>> data = mx.nd.array([[3, 6, 6], [4, 5, 1]])
    >>> print(mx.nd.ravel_multi_index(data, shape=(7, 6)).asnumpy())
    [22. 41. 37.]
    """

    name = "_ravel_multi_index"
    aliases = ("ravel_multi_index",)

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """A row for each axis."""
        axes = (len(self.attrs["shape"]), -1)
        data = merge_shapes(self.name, "data", in_shapes[0], axes)
        assert data is not None
        return [data], [data[1:]], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """A column for each place."""
        (data,), (out,) = in_shapes, out_shapes
        if out is None:
            return [data]
        require_rank(self.name, "output", out, 1, "places")
        return [merge_shapes(self.name, "data", data, (len(self.attrs["shape"]), *out))]


@register
class UnravelIndex(Flat):
    """The indices on every axis of elements, from their places in the order of memory.

    Formula: ``data[j] = (out[0, j] * shape[1] + out[1, j]) * shape[2] + ...``; the first axis has
    what the others leave. Shapes: ``data`` is ``(n,)``, ``out`` is ``(d, n)`` for ``d`` extents in
    ``shape``. Types: numbers; fractions are cut. Gradient: none, nothing flows back.

    Examples
    --------
    >>> print(mx.nd.unravel_index(mx.nd.array([22, 41, 37]), shape=(7, 6)).asnumpy())
    [[3. 6. 6.]
     [4. 5. 1.]]
    """

    name = "_unravel_index"
    aliases = ("unravel_index",)

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """A row for each axis."""
        data = in_shapes[0]
        data = (-1,) if data is None else data
        require_rank(self.name, "data", data, 1, "places")
        return [data], [(len(self.attrs["shape"]), *data)], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """A place for each column."""
        (data,), (out,) = in_shapes, out_shapes
        if out is None:
            return [data]
        out = merge_shapes(self.name, "output", out, (len(self.attrs["shape"]), -1))
        assert out is not None
        return [merge_shapes(self.name, "data", data, out[1:])]
