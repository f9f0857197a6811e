"""One element of each line along an axis, chosen by indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import Claims, MaybeShape, OperatorProperty, Shape, merge_shapes, register
from .choice import BackwardChoice, Choice
from .family import ALL_TYPES, Types
from .param import Param, Params
from .shapes import count, normal_axis

__all__ = ["BatchTake", "FillElement", "Pick"]

_PARAMS = {
    "axis": Param("int", -1, "The axis of the lines."),
    "keepdims": Param("bool", False, "Whether the axis stays, with extent 1."),
    "mode": Param(
        "str",
        "clip",
        "What an index outside of the axis stands for: the nearest one, or one on a circle.",
        choices=("clip", "wrap"),
    ),
}


@register
class Pick(Choice):
    """One element of each line along an axis.

    Formula: ``out[i, k] = data[i, index[i, k], k]``. Fractions of indices are cut. Outside of the
    axis, ``mode="clip"`` picks the first or the last element, ``"wrap"`` counts on from the other
    end. Shapes: ``out`` has that of ``data`` without ``axis``, or with extent 1 there where
    ``keepdims``; ``index`` has either. Types: all; ``index`` of any.
    Gradient: ``data_grad`` is ``out_grad`` where elements were picked and 0 elsewhere; none for
    ``index``.

    Examples
    --------
    >>> data = mx.nd.array([[1, 2], [3, 4], [5, 6]])
    >>> print(mx.nd.pick(data, mx.nd.array([0, 1, 7])).asnumpy())
    [1. 4. 6.]
    """

    name = "pick"
    aliases = ("choose_element_0index",)
    arguments = ("data", "index")
    argument_dtypes: ClassVar[Claims] = {"index": ALL_TYPES}
    back = "_backward_pick"
    params: ClassVar[Params] = {
        **_PARAMS,
        "axis": Param("int", -1, "The axis of the lines; None is refused.", optional=True),
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The axis vanishes, or keeps the extent 1."""
        data, index = in_shapes
        if data is None:
            return [None, index], [None], []
        axis = self._axis(len(data))
        kept = (*data[:axis], 1, *data[axis + 1 :])
        gone = (*data[:axis], *data[axis + 1 :])
        expected = kept if index is not None and len(index) == len(kept) else gone
        index = merge_shapes(self.name, "index", index, expected)
        if index is not None:
            others = index if len(index) < len(kept) else (*index[:axis], *index[axis + 1 :])
            data = (*others[:axis], data[axis], *others[axis:])
            kept, gone = (*others[:axis], 1, *others[axis:]), others
        if data[axis] == 0 and min(gone, default=1) > 0:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' of shape {data} has nothing along axis {axis}"
            )
        return [data, index], [kept if self.attrs["keepdims"] else gone], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The other extents are those of the output."""
        (data, index), (out,) = in_shapes, out_shapes
        if out is None:
            return [data, index]
        rank = len(out) + (not self.attrs["keepdims"])
        axis = self._axis(rank)
        others = (*out[:axis], *out[axis + 1 :]) if self.attrs["keepdims"] else out
        open_one = (*others[:axis], -1, *others[axis:])
        return [merge_shapes(self.name, "data", data, open_one), index]

    def _axis(self, rank: int) -> int:
        axis = self.attrs["axis"]
        if axis is None:
            raise InvalidArgumentError(
                f"{self.name}: attribute 'axis' must be an int, got None; reshape the data to one "
                "dimension to pick from all of them"
            )
        return normal_axis(self.name, axis, rank)


@register
class BackwardPick(BackwardChoice):
    """``out_grad`` of pick, where the elements were picked."""

    name = "_backward_pick"
    forward = "pick"
    params: ClassVar[Params] = _PARAMS


@register
class BatchTake(Choice):
    """One element of each row; `pick` does the same along any axis.

    Formula: ``out[i] = a[i, indices[i]]``, with all but the last axis of ``a`` as one. Fractions of
    indices are cut; those outside of a row take its first or last element. Shapes: ``out`` has that
    of ``indices``, which are as many as the rows. Types: all; ``indices`` of any, int32 where
    nothing says otherwise.
    Gradient: ``a_grad`` is ``out_grad`` where elements were taken and 0 elsewhere; none for
    ``indices``.

    Examples
    --------
    >>> a = mx.nd.array([[1, 2], [3, 4], [5, 6]])
    >>> print(mx.nd.batch_take(a, mx.nd.array([0, 1, 0], dtype="int32")).asnumpy())
    [1. 4. 5.]
    """

    name = "batch_take"
    arguments = ("a", "indices")
    back = "_backward_batch_take"

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The output is like the indices."""
        a, indices = in_shapes
        if a is not None:
            self._check(a, indices)
        return [a, indices], [indices], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The indices are like the output."""
        return [in_shapes[0], merge_shapes(self.name, "indices", in_shapes[1], out_shapes[0])]

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """Indices are int32 where nothing says otherwise."""
        a, indices = in_types
        return super().infer_type([a, indices or "int32"])

    def _check(self, a: Shape, indices: MaybeShape) -> None:
        if len(a) < 2:
            raise InvalidArgumentError(
                f"{self.name}: argument 'a' has shape {a}, expected at least 2 dimensions"
            )
        rows, given = count(a[:-1]), -1 if indices is None else count(indices)
        if rows >= 0 and given >= 0 and rows != given:
            raise InvalidArgumentError(
                f"{self.name}: argument 'indices' has shape {indices}, expected {rows} indices, "
                f"one for each row of 'a' of shape {a}"
            )
        if a[-1] == 0 and given > 0:
            raise InvalidArgumentError(f"{self.name}: argument 'a' of shape {a} has empty rows")


@register
class BackwardBatchTake(BackwardChoice):
    """``out_grad`` of batch_take, where the elements were taken."""

    name = "_backward_batch_take"
    forward = "batch_take"


@register
class FillElement(OperatorProperty):
    """A matrix with another element in each row.

    Formula: ``out = lhs``, then ``out[i, rhs[i]] = mhs[i]``. Fractions of indices are cut; where
    one lies outside of the row, the row stays as it is. Shapes: ``lhs`` and ``out`` are matrices,
    ``mhs`` and ``rhs`` have one dimension, as long as the matrix has rows. Types: all; ``rhs`` of
    any.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> lhs, values = mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([8, 9])
    >>> print(mx.nd.fill_element_0index(lhs, values, mx.nd.array([1, 0])).asnumpy())
    [[1. 8.]
     [9. 4.]]
    """

    name = "fill_element_0index"
    arguments = ("lhs", "mhs", "rhs")
    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES
    argument_dtypes: ClassVar[Claims] = {"rhs": ALL_TYPES}
    differentiable = False

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """A value and an index for each row."""
        lhs, mhs, rhs = in_shapes
        lhs = merge_shapes(self.name, "lhs", lhs, (-1, -1))
        rows = merge_shapes(self.name, "mhs", mhs, lhs[:1] if lhs else None)
        rows = merge_shapes(self.name, "rhs", rhs, rows)
        lhs = merge_shapes(self.name, "lhs", lhs, (*rows, -1) if rows else None)
        return [lhs, rows, rows], [lhs], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The matrix has the shape of the output."""
        return [merge_shapes(self.name, "lhs", in_shapes[0], out_shapes[0]), *in_shapes[1:]]

    def infer_type_backward(
        self, in_types: Sequence[str | None], out_types: Sequence[str | None]
    ) -> list[str | None]:
        """The matrix has the type of the output."""
        return [in_types[0] or out_types[0], *in_types[1:]]

    def inplace_options(self) -> list[tuple[int, int]]:
        """The matrix may be changed where it is."""
        return [(0, 0)]
