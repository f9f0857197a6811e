"""Batches of rows that are read in their order: which rows a batch has, and what fills it up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self

import numpy as np

from ..error import FileFormatError, InvalidArgumentError
from .iterator import DataBatch
from .native import reading
from .state import require_same

__all__ = ["Column", "Rows", "RowsFeed"]


class Rows(Protocol):
    """Some rows of a column."""

    def __len__(self) -> int: ...

    def joined(self, others: Sequence[Self]) -> Self:
        """These and others behind them."""
        ...

    def since(self, first: int) -> Self:
        """Those from number `first` on."""
        ...

    def cycled(self, count: int) -> Self:
        """As many rows, of these, going round."""
        ...

    def zeros(self, count: int) -> Self:
        """As many rows of zeros."""
        ...

    def arrays(self) -> list[Any]:
        """The NDArrays that a batch has of it, data and labels."""
        ...


class Column(Protocol):
    """Files that are read row by row."""

    files: list[str]
    may_be_empty: bool

    def read(self, rows: int) -> Rows:
        """Up to so many rows."""
        ...

    def place(self) -> tuple[int, int]:
        """Where the next row is."""
        ...

    def seek(self, to: tuple[int, int]) -> None:
        """Goes to such a place."""
        ...

    def rewind(self) -> None:
        """Goes to the first row."""
        ...


class RowsFeed:
    """Batches of the rows of one or more columns, such as data and labels.

    With `round_batch`, the last batch of an epoch is filled up with rows from the start, and the
    next epoch goes on behind these. Otherwise it is filled up with what the batch before has there,
    or zeros if there is none, and each epoch begins with the first row.

    Parameters
    ----------
    columns
        The columns; the first says how many rows there are, and the others may have more.
    data_shape, label_shape
        Of a batch.
    dtype
        The element type of both.
    round_batch
        See above.
    settings
        What a saved state must agree in.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        data_shape: tuple[int, ...],
        label_shape: tuple[int, ...],
        dtype: Any,
        round_batch: bool,
        settings: Mapping[str, Any],
    ) -> None:
        self.batch_size = data_shape[0]
        self.data_shape = data_shape
        self.label_shape = label_shape
        self.dtype = dtype
        self._columns = columns
        self._round_batch = round_batch
        self._settings = dict(settings)
        self._row = 0
        self._started = self._ended = self._wrapped = False
        self._before: dict[str, Any] | None = None
        self._last: list[Rows] = []

    def next(self) -> DataBatch | None:
        """The next batch; None at the end of the epoch.

        Raises
        ------
        FileFormatError
            For what is no row; the message names file and place, each time.
        """
        if self._ended:
            return None
        before = self._position()
        try:
            rows, pad, index = self._take()
        except BaseException:
            self._go(before)
            raise
        self._before = before
        self._started = True
        if rows is None:
            self._ended = True
            return None
        self._last = rows
        data, label = (array for part in rows for array in part.arrays())
        return DataBatch([data], [label], pad, index)

    def reset(self) -> None:
        """Starts the next epoch; does nothing before the first batch of the present one."""
        if not self._started:
            return
        if not (self._wrapped and self._ended):
            self._rewind()
        self._started = self._ended = False
        self._before, self._last = None, []

    def state_dict(self) -> dict[str, Any]:
        """Where it stands."""
        again = self._before is not None
        return self._settings | {"position": self._before or self._position(), "again": again}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes to where :meth:`state_dict` was taken.

        Raises
        ------
        InvalidArgumentError
            For the state of another iterator; the message says in what it differs.
        """
        require_same(state, self._settings)
        now = self._position()
        try:
            self._go(state["position"])
            again = state["again"]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            self._go(now)
            raise InvalidArgumentError(f"load_state_dict: no whole state: {error!r}") from None
        self._before, self._last = None, []
        if again:
            self.next()

    def _take(self) -> tuple[list[Rows] | None, int, np.ndarray | None]:
        """The rows of a batch, how many of them fill it up, and their numbers."""
        rows = self._read(self.batch_size)
        if not len(rows[0]) and self._wrapped and not self._started:
            # The epoch before used each row up.
            self._rewind()
            rows = self._read(self.batch_size)
        count = len(rows[0])
        index = np.arange(self._row, self._row + count, dtype=np.uint64)
        self._row += count
        missing = self.batch_size - count
        if not count:
            if self._row == 0 and not self._columns[0].may_be_empty:
                raise FileFormatError(f"{self._columns[0].files[0]}: expected rows, found none")
            return None, 0, None
        if missing:
            fill = self._first_rows(missing) if self._round_batch else self._rest(rows, count)
            self._ended, self._wrapped = True, self._round_batch
            rows = [part.joined(more) for part, more in zip(rows, fill[0], strict=True)]
            index = np.concatenate([index, fill[1]])
        return rows, missing, index

    def _first_rows(self, missing: int) -> tuple[list[list[Rows]], np.ndarray]:
        """So many rows from the start, which is gone to as often as it takes, and their numbers."""
        self._rewind()
        rows = self._read(missing)
        count = self._row = len(rows[0])
        if not count:
            raise FileFormatError(f"{self._columns[0].files[0]}: its rows are gone")
        if count < missing:
            rows = [part.cycled(missing) for part in rows]
            self._rewind()
            self._row = len(self._read(missing % count)[0])
        return [[part] for part in rows], np.arange(missing, dtype=np.uint64) % np.uint64(count)

    def _rest(self, rows: list[Rows], count: int) -> tuple[list[list[Rows]], np.ndarray]:
        """What the batch before has from number `count` on; zeros if there is none."""
        missing = self.batch_size - count
        if not self._last:
            return [[part.zeros(missing)] for part in rows], np.zeros(missing, np.uint64)
        first = self._row - count - missing
        numbers = np.arange(first, first + missing, dtype=np.uint64)
        return [[part.since(count)] for part in self._last], numbers

    def _read(self, count: int) -> list[Rows]:
        """Up to so many rows of each column, as many as the first has."""
        found: list[Rows] = []
        for column in self._columns:
            with reading(column.files):
                found.append(column.read(len(found[0]) if found else count))
        for column, rows in zip(self._columns, found, strict=True):
            if len(rows) < len(found[0]):
                raise FileFormatError(
                    f"{column.files[-1]}: has {self._row + len(rows)} rows, "
                    f"but {self._columns[0].files[-1]} has more"
                )
        return found

    def _rewind(self) -> None:
        for column in self._columns:
            column.rewind()
        self._row = 0
        self._wrapped = False

    def _position(self) -> dict[str, Any]:
        names = "row", "started", "ended", "wrapped"
        places = [list(column.place()) for column in self._columns]
        return {"places": places} | {name: getattr(self, f"_{name}") for name in names}

    def _go(self, position: Mapping[str, Any]) -> None:
        for column, (offset, line) in zip(self._columns, position["places"], strict=True):
            column.seek((offset, line))
        self._row = int(position["row"])
        self._started, self._ended, self._wrapped = (
            bool(position[name]) for name in ("started", "ended", "wrapped")
        )
