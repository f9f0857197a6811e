"""Batches of sparse rows from LibSVM files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from ..error import InvalidArgumentError
from ..ndarray import array
from ..ndarray.sparse import csr_matrix
from ..ops.param import Param, Params
from .native import CONTEXT, MXDataIter, files_of, ignore, reading, required
from .params import INT, SIZE, read
from .rows import RowsFeed
from .utils import CsrParts, rows_of_csr

__all__ = ["LibSVMIter"]

_PARAMS: Params = {
    "data_shape": Param("shape", low=0),
    "label_shape": Param("shape", low=0),
    "num_parts": SIZE,
    "part_index": INT,
    "batch_size": SIZE,
    "round_batch": Param("bool"),
    "prefetch_buffer": INT,
    "ctx": CONTEXT,
    "dtype": Param("dtype", optional=True),
}
_SKIPPED = 4096
"""How many rows are counted at once."""


class LibSVMIter(MXDataIter):
    """Batches of sparse rows from LibSVM files, which are read a batch at a time.

    A row is a line ``label index:value index:value ...``, with indices from 0. What follows a
    ``#``, a weight after the label (``label:weight``) and ``qid:N`` are passed over. Batches are
    csr arrays of shape (batch_size, data_shape[0]), labels (batch_size,). Every parameter may also
    be given as a string.

    Parameters
    ----------
    data_libsvm
        The path of a file, of a folder for all files in it in the order of their names, or several
        paths with ``;`` in between.
    data_shape
        How many columns there are.
    label_libsvm
        The same for labels that are sparse rows themselves, csr arrays of shape
        (batch_size, label_shape[0]); ``"NULL"`` or None for the labels of `data_libsvm`.
    label_shape
        How many columns the labels have.
    num_parts, part_index
        Read only part `part_index` of `num_parts` parts. Each has as many bytes, up to the next end
        of a line, so they need not have equal numbers of rows.
    batch_size
        Samples per batch.
    round_batch
        As in :class:`CSVIter`.
    prefetch_buffer, ctx
        Accepted as in MXNet. Rows are read when a batch is asked for.
    dtype
        The element type of data and labels; None for float32.
    data_name, label_name
        The names of the variables to feed.
    **others
        Ignored as in MXNet, with a warning in the log.

    Raises
    ------
    MissingFileError
        For a file that is not there.
    FileFormatError
        When a batch is asked for, for a line that is no row, or has an index that the shape lacks,
        or twice; the message names file and line.
    InvalidArgumentError
        For arguments of the wrong kind.

    Examples
    --------
    >>> import os, tempfile
    >>> import ferromix as mx
    >>> path = os.path.join(tempfile.mkdtemp(), "some.svm")
    >>> with open(path, "w") as file:
    ...     _ = file.write("1 0:0.5 2:1.5\\n-2\\n3 1:4\\n")
    >>> it = mx.io.LibSVMIter(data_libsvm=path, data_shape=(3,), batch_size=3)
    >>> batch = it.next()
    >>> batch.data[0].asnumpy().tolist(), batch.label[0].asnumpy().tolist()
    ([[0.5, 0.0, 1.5], [0.0, 0.0, 0.0], [0.0, 4.0, 0.0]], [1.0, -2.0, 3.0])
    """

    def __init__(
        self,
        data_libsvm: str | os.PathLike[str] | None = None,
        data_shape: Sequence[int] | None = None,
        label_libsvm: str | os.PathLike[str] | None = "NULL",
        label_shape: Sequence[int] = (1,),
        num_parts: int = 1,
        part_index: int = 0,
        batch_size: int | None = None,
        round_batch: bool = True,
        prefetch_buffer: int = 4,
        ctx: str = "gpu",
        dtype: Any = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        **others: Any,
    ) -> None:
        required("LibSVMIter", data_libsvm=data_libsvm, data_shape=data_shape)
        required("LibSVMIter", batch_size=batch_size)
        given = {
            "data_shape": data_shape,
            "label_shape": label_shape,
            "num_parts": num_parts,
            "part_index": part_index,
            "batch_size": batch_size,
            "round_batch": round_batch,
            "prefetch_buffer": prefetch_buffer,
            "ctx": ctx,
            "dtype": dtype,
        }
        typed = read("LibSVMIter", _PARAMS, given)
        size, kind = typed["batch_size"], typed["dtype"] or "float32"
        parts, part = typed["num_parts"], typed["part_index"]
        if not 0 <= part < parts:
            raise InvalidArgumentError(
                f"LibSVMIter: part_index must be in [0, num_parts), got {part} of {parts}"
            )
        width = _width("data_shape", typed["data_shape"])
        own_labels = label_libsvm is None or str(label_libsvm) == "NULL"
        columns = [_SvmColumn(data_libsvm, width, kind, own_labels, parts, part)]
        label: tuple[int, ...] = (size,)
        if not own_labels:
            label = size, _width("label_shape", typed["label_shape"])
            columns.append(_SvmColumn(label_libsvm, label[1], kind, False, 1, 0))
            before = (_SvmColumn(data_libsvm, width, kind, False, parts, p) for p in range(part))
            columns[1].begin_behind(sum(column.count() for column in before))
        elif typed["label_shape"] != (1,):
            raise InvalidArgumentError(
                f"LibSVMIter: label_shape must be (1,) without label_libsvm, "
                f"got {typed['label_shape']}"
            )
        names = "batch_size", "round_batch", "num_parts", "part_index"
        settings = {"iterator": "LibSVMIter"} | {name: typed[name] for name in names}
        feed = RowsFeed(columns, (size, width), label, kind, typed["round_batch"], settings)
        super().__init__(feed, data_name, label_name)
        ignore("LibSVMIter", others)


class _SvmRows:
    """Sparse rows, and their labels if these are wanted."""

    def __init__(
        self,
        labels: np.ndarray,
        parts: CsrParts,
        width: int,
        kind: str,
        has_labels: bool,
    ) -> None:
        self._labels = labels
        self._parts = parts
        self._rest = width, kind, has_labels

    def __len__(self) -> int:
        return len(self._labels)

    def joined(self, others: Sequence[_SvmRows]) -> _SvmRows:
        rows = [self, *others]
        indptr, end = [np.zeros(1, np.int64)], 0
        for part in rows:
            indptr.append(part._parts[2][1:] + end)
            end = indptr[-1][-1] if len(indptr[-1]) else end
        values, indices = (np.concatenate([r._parts[i] for r in rows]) for i in (0, 1))
        labels = np.concatenate([r._labels for r in rows])
        return _SvmRows(labels, (values, indices, np.concatenate(indptr)), *self._rest)

    def since(self, first: int) -> _SvmRows:
        values, indices, indptr = self._parts
        start = indptr[first]
        parts = values[start:], indices[start:], indptr[first:] - start
        return _SvmRows(self._labels[first:], parts, *self._rest)

    def cycled(self, count: int) -> _SvmRows:
        rows = np.arange(count) % len(self)
        return _SvmRows(self._labels[rows], rows_of_csr(self._parts, rows), *self._rest)

    def zeros(self, count: int) -> _SvmRows:
        labels, empty = np.zeros(count, np.float32), np.zeros(0, np.float32)
        parts = empty, empty.astype(np.int64), np.zeros(count + 1, np.int64)
        return _SvmRows(labels, parts, *self._rest)

    def arrays(self) -> list[Any]:
        width, kind, has_labels = self._rest
        data = csr_matrix(self._parts, (len(self), width), dtype=kind)
        return [data, array(self._labels, dtype=kind)] if has_labels else [data]


class _SvmColumn:
    """LibSVM files, or a part of them."""

    def __init__(
        self, uri: Any, width: int, kind: str, has_labels: bool, parts: int, part: int
    ) -> None:
        self.files = files_of("LibSVMIter", uri)
        self.may_be_empty = parts > 1
        self._rest = width, kind, has_labels
        self._start: tuple[int, int] | None = None
        with reading(self.files):
            self._reader = _core.LibsvmReader(self.files, width, parts, part)
        self.place, self.seek = self._reader.place, self._reader.seek

    def read(self, rows: int) -> _SvmRows:
        labels, indptr, indices, values = self._reader.read(rows)
        parts = (
            np.frombuffer(values, np.float32),
            np.frombuffer(indices, np.int64),
            np.frombuffer(indptr, np.int64),
        )
        return _SvmRows(np.frombuffer(labels, np.float32), parts, *self._rest)

    def rewind(self) -> None:
        if self._start is None:
            self._reader.rewind()
        else:
            self._reader.seek(self._start)

    def count(self) -> int:
        """How many rows there are from here on."""
        found = 0
        while read := len(self.read(_SKIPPED)):
            found += read
        return found

    def begin_behind(self, rows: int) -> None:
        """Leaves the first rows out, from now on."""
        left = rows
        while left and (read := len(self.read(min(left, _SKIPPED)))):
            left -= read
        self._start = self._reader.place()


def _width(name: str, shape: tuple[int, ...]) -> int:
    if len(shape) != 1 or not shape[0]:
        raise InvalidArgumentError(
            f"LibSVMIter: {name} must have one extent, the number of columns, got {shape}"
        )
    return shape[0]
