"""Operators whose results store something else than their inputs do: what, is found on the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...error import InvalidArgumentError
from ...ops.card import OperatorProperty
from ..ndarray import NDArray
from . import parts
from .arrays import CSRNDArray, RowSparseNDArray
from .base import make
from .parts import Rows, op

__all__ = ["add_rows", "concat_csr", "merge", "slice_csr", "take_csr", "taken"]

Inputs = Sequence[Any]
_FUNCTIONS = {"elemwise_add": np.add, "elemwise_sub": np.subtract, "elemwise_mul": np.multiply}


def taken(source: RowSparseNDArray, rows: np.ndarray) -> Rows:
    """The parts of what `source` has in these rows, which grow; zeros where it has nothing."""
    place, stored = source.handle.context, source.parts
    wanted = parts.filled(rows, "int64", place)
    if len(rows) < wanted.shape[0]:  # what is beyond is looked for, too, and must be numbers
        wanted = parts.filled(np.pad(rows, (0, wanted.shape[0] - len(rows))), "int64", place, False)
    values = op("_rows_take")(stored.values, stored.rows, stored.counter, wanted)
    counter = parts.filled(np.array([len(rows)]), "int64", place, spare=False)
    return Rows(values, wanted, counter, len(rows))


def merge(card: OperatorProperty, inputs: Inputs, out: NDArray | None) -> Any:
    """Sum, difference or product of two arrays of one storage type, element by element.

    Zeros that come of it are stored as parts of rows only.
    """
    lhs, rhs = inputs
    if isinstance(lhs, RowSparseNDArray):
        return _merged_rows(card.name, [lhs, rhs])
    function = _FUNCTIONS[card.name]
    (keys, a), (other_keys, b) = _flat(lhs), _flat(rhs)
    union = np.union1d(keys, other_keys)
    spread = []
    for places, values in ((keys, a), (other_keys, b)):
        whole = np.zeros(len(union), values.dtype)
        whole[np.searchsorted(union, places)] = values
        spread.append(whole)
    found = function(*spread)
    stored = found != 0
    rows, columns = np.divmod(union[stored], max(lhs.shape[1], 1))
    return _matrix(lhs, lhs.shape, rows, columns, found[stored])


def add_rows(card: OperatorProperty, inputs: Inputs, out: NDArray | None) -> Any:
    """The sum of row_sparse arrays."""
    return _merged_rows("elemwise_add", inputs)


def rows_mul(card: OperatorProperty, inputs: Inputs, out: NDArray | None) -> Any:
    """The product of two row_sparse arrays, in the rows of the first."""
    return _in_rows("elemwise_mul", inputs, np.unique(inputs[0].indices.asnumpy()))


def _merged_rows(name: str, inputs: Inputs) -> Any:
    rows = np.unique(np.concatenate([a.indices.asnumpy() for a in inputs]))
    return _in_rows(name, inputs, rows)


def _in_rows(name: str, inputs: Inputs, rows: np.ndarray) -> Any:
    first = inputs[0]
    if len(rows) and not 0 <= rows[0] <= rows[-1] < first.shape[0]:
        first.check_format()
        raise InvalidArgumentError(f"{name}: a row number is outside of shape {first.shape}")
    found = taken(first, rows)
    values = found.values
    for other in inputs[1:]:
        values = op(name)(values, taken(other, rows).values)
    stored = found._replace(values=values)
    return make(RowSparseNDArray, first.shape, first.dtype_name, first.handle.context, stored)


def _flat(array: CSRNDArray) -> tuple[np.ndarray, np.ndarray]:
    """The places of stored elements, counted row by row, and their values."""
    offsets, columns, values = array.checked()
    rows = np.repeat(np.arange(array.shape[0]), np.diff(offsets))
    return rows * array.shape[1] + columns, values


def _matrix(like: Any, shape: Any, rows: Any, columns: Any, values: Any) -> CSRNDArray:
    """A matrix with elements in growing places."""
    offsets = np.searchsorted(rows, np.arange(shape[0] + 1))
    return _assembled(like, shape, values, columns, offsets)


def _assembled(like: Any, shape: Any, values: Any, columns: Any, offsets: Any) -> CSRNDArray:
    place, dtype = like.handle.context, like.dtype_name
    stored = parts.csr_of(values, columns, offsets, dtype, place)
    return make(CSRNDArray, tuple(shape), dtype, place, stored)


def slice_csr(card: OperatorProperty, inputs: Inputs, out: NDArray | None) -> Any:
    """A block of a matrix."""
    (source,) = inputs
    begins, ends = (list(card.attrs[k] or ()) + [None] * 2 for k in ("begin", "end"))
    bounds = [slice(begins[i], ends[i]).indices(n)[:2] for i, n in enumerate(source.shape)]
    (top, bottom), (left, right) = bounds
    bottom, right = max(top, bottom), max(left, right)
    offsets, columns, values = source.checked()
    cut = slice(offsets[top], offsets[bottom])
    offsets, columns, values = offsets[top : bottom + 1] - offsets[top], columns[cut], values[cut]
    if (left, right) != (0, source.shape[1]):
        inside = (columns >= left) & (columns < right)
        offsets = np.concatenate([[0], np.cumsum(inside)])[offsets]
        columns, values = columns[inside] - left, values[inside]
    return _assembled(source, (bottom - top, right - left), values, columns, offsets)


def take_csr(card: OperatorProperty, inputs: Inputs, out: NDArray | None) -> Any:
    """Rows of a matrix, in the order of indices.

    Raises
    ------
    InvalidArgumentError
        For indices with other than one axis.
    """
    source, indices = inputs
    if len(indices.shape) != 1:
        raise InvalidArgumentError(
            f"take: the rows of a csr array are taken by indices of one axis, got the shape "
            f"{indices.shape}; convert the array by tostype('default')"
        )
    rows, height = indices.asnumpy().astype(np.int64), source.shape[0]
    if len(rows):
        rows = rows % height if card.attrs["mode"] == "wrap" else rows.clip(0, height - 1)
    offsets, columns, values = source.checked()
    counts = np.diff(offsets)[rows]
    ends = np.concatenate([[0], np.cumsum(counts)])
    places = np.arange(ends[-1]) + np.repeat(offsets[:-1][rows] - ends[:-1], counts)
    shape = (len(rows), source.shape[1])
    return _assembled(source, shape, values[places], columns[places], ends)


def concat_csr(card: OperatorProperty, inputs: Inputs, out: NDArray | None) -> Any:
    """Matrices below each other."""
    found = [a.checked() for a in inputs]
    starts = np.cumsum([0, *(len(c) for _, c, _ in found)])
    offsets = [o[:-1] + s for (o, _, _), s in zip(found, starts[:-1], strict=True)]
    shape = (sum(a.shape[0] for a in inputs), inputs[0].shape[1])
    columns, values = (np.concatenate([f[k] for f in found]) for k in (1, 2))
    return _assembled(inputs[0], shape, values, columns, np.concatenate([*offsets, starts[-1:]]))
