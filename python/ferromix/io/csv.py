"""Batches of rows of numbers from CSV files."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from ..error import DTypeError, InvalidArgumentError
from ..ndarray import array
from ..ops.param import Param, Params
from .native import CONTEXT, MXDataIter, files_of, ignore, reading, required
from .params import INT, SIZE, read
from .rows import RowsFeed

__all__ = ["CSVIter"]

_PARAMS: Params = {
    "data_shape": Param("shape", low=0),
    "label_shape": Param("shape", low=0),
    "batch_size": SIZE,
    "round_batch": Param("bool"),
    "prefetch_buffer": INT,
    "ctx": CONTEXT,
    "dtype": Param("dtype", optional=True),
}
_DTYPES = ("float32", "float64", "int32", "int64")


class CSVIter(MXDataIter):
    """Batches of rows of numbers from CSV files, which are read a batch at a time.

    A row is a line of numbers with commas in between; it has no quotes, and there is no line of
    names. Batches have the shape ``(batch_size, *data_shape)``, labels
    ``(batch_size, *label_shape)``, or (batch_size,) for one number each. Every parameter may also
    be given as a string.

    Parameters
    ----------
    data_csv
        The path of a file, of a folder for all files in it in the order of their names, or several
        paths with ``;`` in between.
    data_shape
        The shape of a sample, of which each row has all numbers.
    label_csv
        The same for the labels; ``"NULL"`` or None for labels that are 0.
    label_shape
        The shape of a label.
    batch_size
        Samples per batch.
    round_batch
        Whether the last batch is filled up with rows from the start, and the next epoch goes on
        behind these. Otherwise each epoch begins with the first row, and the last batch is filled
        up with rows of the batch before. Its ``pad`` says by how many.
    prefetch_buffer, ctx
        Accepted as in MXNet. Rows are read when a batch is asked for.
    dtype
        float32, float64, int32 or int64; None for float32. Integers cut fractions off.
    data_name, label_name
        The names of the variables to feed.
    **others
        Ignored as in MXNet, with a warning in the log.

    Raises
    ------
    MissingFileError
        For a file that is not there.
    FileFormatError
        When a batch is asked for, for a row that is not of numbers, or has too many or too few; the
        message names file and line.
    InvalidArgumentError
        For arguments of the wrong kind.
    DTypeError
        For another element type.

    Examples
    --------
    >>> import os, tempfile
    >>> import ferromix as mx
    >>> path = os.path.join(tempfile.mkdtemp(), "some.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("1,2\\n3,4\\n5,6\\n")
    >>> it = mx.io.CSVIter(data_csv=path, data_shape=(2,), batch_size=2)
    >>> [(batch.data[0].asnumpy().tolist(), batch.pad) for batch in it]
    [([[1.0, 2.0], [3.0, 4.0]], 0), ([[5.0, 6.0], [1.0, 2.0]], 1)]
    """

    def __init__(
        self,
        data_csv: str | os.PathLike[str] | None = None,
        data_shape: Sequence[int] | None = None,
        label_csv: str | os.PathLike[str] | None = "NULL",
        label_shape: Sequence[int] = (1,),
        batch_size: int | None = None,
        round_batch: bool = True,
        prefetch_buffer: int = 4,
        ctx: str = "gpu",
        dtype: Any = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        **others: Any,
    ) -> None:
        required("CSVIter", data_csv=data_csv, data_shape=data_shape, batch_size=batch_size)
        given = {
            "data_shape": data_shape,
            "label_shape": label_shape,
            "batch_size": batch_size,
            "round_batch": round_batch,
            "prefetch_buffer": prefetch_buffer,
            "ctx": ctx,
            "dtype": dtype,
        }
        typed = read("CSVIter", _PARAMS, given)
        kind = typed["dtype"] or "float32"
        if kind not in _DTYPES:
            raise DTypeError(f"CSVIter: dtype must be one of {', '.join(_DTYPES)}, got {kind}")
        size = typed["batch_size"]
        label = (size,) if typed["label_shape"] == (1,) else (size, *typed["label_shape"])
        columns: list[Any] = [_CsvColumn("data", data_csv, typed["data_shape"], kind)]
        if label_csv is None or str(label_csv) == "NULL":
            label = (size,)
            columns.append(_NoLabels(columns[0].files, kind))
        else:
            columns.append(_CsvColumn("label", label_csv, typed["label_shape"], kind, label[1:]))
        settings = {
            "iterator": "CSVIter",
            "batch_size": size,
            "round_batch": typed["round_batch"],
            "data_shape": list(typed["data_shape"]),
        }
        feed = RowsFeed(
            columns, (size, *typed["data_shape"]), label, kind, typed["round_batch"], settings
        )
        super().__init__(feed, data_name, label_name)
        ignore("CSVIter", others)


class _DenseRows:
    """Rows as an array of NumPy."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def joined(self, others: Sequence[_DenseRows]) -> _DenseRows:
        return _DenseRows(np.concatenate([self._values, *(rows._values for rows in others)]))

    def since(self, first: int) -> _DenseRows:
        return _DenseRows(self._values[first:])

    def cycled(self, count: int) -> _DenseRows:
        return _DenseRows(np.take(self._values, np.arange(count) % len(self), axis=0))

    def zeros(self, count: int) -> _DenseRows:
        return _DenseRows(np.zeros((count, *self._values.shape[1:]), self._values.dtype))

    def arrays(self) -> list[Any]:
        return [array(self._values, dtype=self._values.dtype)]


class _CsvColumn:
    """CSV files; `shape` has as many numbers as a row, `seen` is the one that a batch shows."""

    may_be_empty = False

    def __init__(
        self,
        what: str,
        uri: Any,
        shape: tuple[int, ...],
        kind: str,
        seen: tuple[int, ...] | None = None,
    ) -> None:
        self._width = math.prod(shape)
        if not self._width:
            raise InvalidArgumentError(f"CSVIter: {what}_shape {shape} has no elements")
        self.files = files_of("CSVIter", uri)
        self._shape = shape if seen is None else seen
        self._dtype = np.dtype(kind)
        with reading(self.files):
            reader = _core.CsvReader(self.files, self._width, kind)
        self._read = reader.read
        self.place, self.seek, self.rewind = reader.place, reader.seek, reader.rewind

    def read(self, rows: int) -> _DenseRows:
        values = np.frombuffer(self._read(rows), self._dtype)
        return _DenseRows(values.reshape(-1, *self._shape))


class _NoLabels:
    """As many zeros as one asks for."""

    may_be_empty = True

    def __init__(self, files: list[str], kind: str) -> None:
        self.files = files
        self._dtype = kind

    def read(self, rows: int) -> _DenseRows:
        return _DenseRows(np.zeros(rows, self._dtype))

    def place(self) -> tuple[int, int]:
        return 0, 0

    def seek(self, to: tuple[int, int]) -> None:
        """There is but one place."""

    def rewind(self) -> None:
        """There is but one place."""
