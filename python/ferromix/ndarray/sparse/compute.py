"""What operators do with sparse arrays, as :data:`ferromix.ops.storage.RULES` says.

Each takes the card, its inputs and the array that the result is meant for, or None, and gives the
result. Nothing here is recorded; whoever calls sees to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ... import dispatch
from ...error import InvalidArgumentError
from ...ops.card import OperatorProperty
from ...ops.reduce import reduced_axes, reduced_shape
from ...ops.row_updates import ROW_STEPS
from ..creation import array
from ..ndarray import NDArray
from . import convert, graphs, merging
from .arrays import CSRNDArray, RowSparseNDArray
from .base import make
from .parts import Csr, Rows, numbers, op

__all__ = ["IMPLEMENTATIONS"]

Inputs = Sequence[Any]
Out = NDArray | None
_REALS = ("float32", "float64")


def _run(card: OperatorProperty, *inputs: NDArray) -> NDArray:
    """An operator on dense arrays, for its first output."""
    return NDArray(dispatch.invoke(card, [a.handle for a in inputs])[0])


def _like(source: Any, stored: Any, dtype: str | None = None) -> Any:
    """An array of the shape, storage type and device of `source`, with other contents."""
    name = dtype or source.dtype_name
    return make(type(source), source.shape, name, source.handle.context, stored)


def _csr(array: CSRNDArray) -> Csr:
    """The parts of a matrix.

    Raises
    ------
    InvalidArgumentError
        Where there are not as many offsets as rows.
    """
    stored, height = array.parts, array.shape[0]
    if stored.indptr.shape[0] != height + 1:
        raise InvalidArgumentError(
            f"a csr array of shape {array.shape} has {stored.indptr.shape[0]} offsets of rows, "
            f"expected {height + 1}"
        )
    return stored


def same(card: OperatorProperty, inputs: Inputs, out: Out) -> Any:
    """The first input."""
    return inputs[0]


def fold(card: OperatorProperty, inputs: Inputs, out: Out) -> NDArray:
    """The first input in the shape of the result."""
    descs = tuple((a.shape, a.dtype_name) for a in inputs)
    return inputs[0].reshape(dispatch.infer(card, descs)[0][0])


def cast(card: OperatorProperty, inputs: Inputs, out: Out) -> Any:
    """Another storage type."""
    return convert.cast(inputs[0], card.attrs["stype"])


def zeros_like(card: OperatorProperty, inputs: Inputs, out: Out) -> Any:
    """Nothing stored."""
    return _like(inputs[0], None)


def on_values(card: OperatorProperty, inputs: Inputs, out: Out) -> Any:
    """The operator on the stored values, as zeros stay zeros."""
    (source,) = inputs
    stored = source.parts
    changed = _run(card, stored[0])
    return _like(source, type(stored)(changed, *stored[1:]), changed.dtype_name)


def _calculable(*arrays: NDArray) -> tuple[list[NDArray], str | None]:
    """Values in a type that kernels of sums take, and the type of the result if that is another."""
    dtype = arrays[0].dtype_name
    if dtype in _REALS:
        return list(arrays), None
    wider = "float32" if dtype in ("float16", "bfloat16") else "float64"
    return [a.astype(wider) for a in arrays], dtype


def _product(stored: Csr, rhs: NDArray, columns: int, transpose: bool) -> NDArray:
    (data, other), dtype = _calculable(stored.data, rhs)
    made = op("_csr_dot")(
        data, stored.indices, stored.indptr, other, columns=columns, transpose=transpose
    )
    return made if dtype is None else made.astype(dtype)


def _rows_product(stored: Csr, rhs: NDArray, columns: int) -> Rows:
    (data, other), dtype = _calculable(stored.data, rhs)
    capacity = min(data.shape[0], columns)
    values, rows, counter = op("_csr_dot_rows")(
        data, stored.indices, stored.indptr, other, columns=columns, capacity=capacity
    )
    return Rows(values if dtype is None else values.astype(dtype), rows, counter, None)


def dot(card: OperatorProperty, inputs: Inputs, out: Out) -> NDArray:
    """A csr array, or its transpose, times a dense one."""
    lhs, rhs = inputs[0], convert.dense(inputs[1])
    return _product(_csr(lhs), rhs, lhs.shape[1], card.attrs["transpose_a"])


def dot_rows(card: OperatorProperty, inputs: Inputs, out: Out) -> Any:
    """The transpose of a csr array times a dense one, as the rows that are not zero."""
    lhs, rhs = inputs[0], convert.dense(inputs[1])
    stored = _rows_product(_csr(lhs), rhs, lhs.shape[1])
    shape = (lhs.shape[1], *rhs.shape[1:])
    return make(RowSparseNDArray, shape, lhs.dtype_name, lhs.handle.context, stored)


def dot_right(card: OperatorProperty, inputs: Inputs, out: Out) -> NDArray:
    """A dense array times a csr one: the transpose of the product of the transposes."""
    lhs, rhs = inputs
    return _product(_csr(rhs), lhs.T, rhs.shape[1], True).T


def dot_csr(card: OperatorProperty, inputs: Inputs, out: Out) -> Any:
    """The same, as a csr array."""
    return convert.cast(dot_right(card, inputs, out), "csr")


def dot_cast(card: OperatorProperty, inputs: Inputs, out: Out) -> Any:
    """The product of dense arrays, in the storage type that is asked for."""
    return convert.cast(_run(card, *inputs), card.attrs["forward_stype"])


def _as_matrix(array: NDArray, columns: int) -> NDArray:
    """A dense operand of a csr array, which may be broadcast to it, as a matrix."""
    if len(array.shape) == 2:
        return array
    return array.reshape((1, prod(array.shape)))


def sample(card: OperatorProperty, inputs: Inputs, out: Out) -> Any:
    """An operator of a sparse array and a dense one that keeps zeros: on the stored values."""
    lhs, rhs = inputs
    return _sampled(card, lhs, rhs, dense_first=False)


def sample_right(card: OperatorProperty, inputs: Inputs, out: Out) -> Any:
    """The same with the sparse array on the right."""
    lhs, rhs = inputs
    return _sampled(card, rhs, lhs, dense_first=True)


def _sampled(card: OperatorProperty, source: Any, other: NDArray, dense_first: bool) -> Any:
    stored: Any = source.parts
    if isinstance(source, CSRNDArray):
        stored = _csr(source)
        columns = source.shape[1]
        matrix = _as_matrix(other, columns)
        found = op("_csr_sample")(stored.indices, stored.indptr, matrix, columns=columns)
    else:
        found = op("_rows_gather")(other, stored.rows, stored.counter)
    name = f"elemwise_{card.name.rpartition('_')[2]}"
    both = (found, stored[0]) if dense_first else (stored[0], found)
    return _like(source, type(stored)(op(name)(*both), *stored[1:]))


def spread_rows(card: OperatorProperty, inputs: Inputs, out: Out) -> Any:
    """Sums of rows, which are stored for some, over what they are the sums of."""
    source, like = inputs
    stored = source.parts
    whole = op("broadcast_to")(stored.values, shape=(stored.values.shape[0], *like.shape[1:]))
    spread = stored._replace(values=whole)
    return make(RowSparseNDArray, like.shape, source.dtype_name, source.handle.context, spread)


def spread(card: OperatorProperty, inputs: Inputs, out: Out) -> NDArray:
    """Sums, or means, over the axes of what they are of, which says its shape alone."""
    source, like = inputs
    axes = reduced_axes(card.name, card.attrs, len(like.shape))
    kept = source.reshape(reduced_shape(like.shape, axes, keepdims=True))
    whole = op("broadcast_to")(kept, shape=like.shape)
    return whole / prod(like.shape[a] for a in axes) if card.attrs["mean"] else whole


def sum_rows(card: OperatorProperty, inputs: Inputs, out: Out) -> NDArray:
    """Sums over axes of a row_sparse array: those of what is stored, where its rows are."""
    (source,) = inputs
    axes = reduced_axes(card.name, card.attrs, len(source.shape))
    stored = source.parts
    if not axes:
        found = convert.dense(source)
    elif 0 in axes:
        found = op("sum")(stored.exact()[0], axis=axes)
    else:
        sums = op("sum")(stored.values, axis=axes, keepdims=True)
        kept, place = reduced_shape(source.shape, axes, keepdims=True), source.handle.context
        rows = stored._replace(values=sums)
        found = convert.dense(make(RowSparseNDArray, kept, sums.dtype_name, place, rows))
    return found.reshape(reduced_shape(source.shape, axes, card.attrs["keepdims"]))


def norm(card: OperatorProperty, inputs: Inputs, out: Out) -> NDArray:
    """The norm of the stored values."""
    (source,) = inputs
    found = op("norm")(source.data.reshape((-1,)))
    return found.reshape((1,) * len(source.shape)) if card.attrs.get("keepdims") else found


def sum_csr(card: OperatorProperty, inputs: Inputs, out: Out) -> NDArray:
    """Sums or means of columns, which are a product with ones, of rows, or of everything."""
    (source,) = inputs
    stored, columns = _csr(source), source.shape[1]
    axes = reduced_axes(card.name, card.attrs, 2)
    if axes != (0,):
        data, dtype = _summable(stored.data, card.name == "mean")
        found = op("_csr_row_sums")(data, stored.indices, stored.indptr, columns=columns)
        return _finish(card, source, axes, found if axes == (1,) else op("sum")(found), dtype)
    (data,), dtype = _calculable(stored.data)
    ones = _ones(source.shape[0], data.dtype_name, source.handle.context)
    found = _product(stored._replace(data=data), ones, columns, transpose=True)
    return _finish(card, source, axes, found, dtype)


def stored_csr(card: OperatorProperty, inputs: Inputs, out: Out) -> NDArray:
    """How many elements are stored: in all, in each column or in each row."""
    (source,) = inputs
    stored, axis = _csr(source), card.attrs["axis"]
    starts = stored.indptr.asnumpy()
    counts = {None: starts[-1:] - starts[:1], 1: np.diff(starts)}
    if axis == 0:
        columns = stored.indices.asnumpy()[int(starts[0]) : int(starts[-1])]
        counts[0] = np.bincount(columns, minlength=source.shape[1])
    return array(counts[axis].astype(np.int64), source.context, "int64")


def _summable(values: NDArray, mean: bool) -> tuple[NDArray, str | None]:
    """Values in a type that sums are computed in, and the type of the result if that is another."""
    dtype = values.dtype_name
    if mean or "float" in dtype:
        (values,), result = _calculable(values)
        return values, result
    return (values, None) if dtype == "int64" else (values.astype("int64"), dtype)


def _finish(
    card: OperatorProperty, source: Any, axes: tuple[int, ...], sums: NDArray, dtype: str | None
) -> NDArray:
    """Sums over axes of `source` as the card has them: divided for a mean, and in its shape."""
    if card.name == "mean":
        sums = sums / prod(source.shape[a] for a in axes)
    if dtype is not None:
        sums = sums.astype(dtype)
    return sums.reshape(reduced_shape(source.shape, axes, card.attrs["keepdims"]))


def _ones(count: int, dtype: str, place: tuple[int, int]) -> NDArray:
    return op("ones_like")(numbers(count, place, dtype))


def embedding(card: OperatorProperty, inputs: Inputs, out: Out) -> NDArray:
    """Rows of a row_sparse table."""
    data, weight = inputs
    stored = weight.parts
    wanted = op("_row_numbers")(data, height=weight.shape[0])
    return op("_rows_take")(stored.values, stored.rows, stored.counter, wanted)


def embedding_rows(card: OperatorProperty, inputs: Inputs, out: Out) -> Any:
    """The gradient of a table: the transpose of a matrix with a one in each row, times it."""
    grad, data = inputs
    height, width = card.attrs["input_dim"], card.attrs["output_dim"]
    place, count = grad.handle.context, data.size
    stored = Csr(
        _ones(count, grad.dtype_name, place),
        op("_row_numbers")(data, height=height).reshape((count,)),
        numbers(count + 1, place),
        count,
    )
    rows = _rows_product(stored, grad.reshape((count, width)), height)
    return make(RowSparseNDArray, (height, width), grad.dtype_name, place, rows)


def retain(card: OperatorProperty, inputs: Inputs, out: Out) -> Any:
    """The stored rows with given numbers, and zeros for what is not stored."""
    source, wanted = inputs
    rows = np.unique(wanted.asnumpy().astype(np.int64))
    if len(rows) and not 0 <= rows[0] <= rows[-1] < source.shape[0]:
        raise InvalidArgumentError(
            f"_sparse_retain: argument 'indices' must be within 0 ... {source.shape[0] - 1}, "
            f"got {rows[0]} ... {rows[-1]}"
        )
    return _like(source, merging.taken(source, rows))


def update_rows(card: OperatorProperty, inputs: Inputs, out: Out) -> Any:
    """A step of an optimizer on the rows of its gradient; the others stay as they are."""
    weight, grad, *states = inputs
    stored = grad.parts
    result = weight if out is weight else weight.copy()
    table, others = convert.weights(card.name, result), [convert.table(s) for s in states]
    attrs = {k: v for k, v in card.given.items() if k != "lazy_update"}
    step = op(ROW_STEPS[card.name])
    step(table, stored.values, *others, stored.rows, stored.counter, out=table, **attrs)
    return result


IMPLEMENTATIONS: dict[str, Any] = {
    f.__name__: f
    for f in (
        same,
        fold,
        cast,
        zeros_like,
        on_values,
        dot,
        dot_rows,
        dot_right,
        dot_csr,
        dot_cast,
        sample,
        sample_right,
        spread,
        spread_rows,
        sum_rows,
        norm,
        sum_csr,
        stored_csr,
        embedding,
        embedding_rows,
        retain,
        update_rows,
        merging.merge,
        merging.add_rows,
        merging.rows_mul,
        merging.slice_csr,
        merging.take_csr,
        merging.concat_csr,
        *graphs.GRAPHS,
    )
}
"""By the name that a rule has for it."""
