"""Batches of arrays that are in memory."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..error import InvalidArgumentError
from ..ndarray import NDArray, array
from .iterator import DataDesc
from .order import EpochOrder, OrderedIter

__all__ = ["NDArrayIter"]

Source = NDArray | np.ndarray | Sequence[Any] | Mapping[str, Any] | None


class NDArrayIter(OrderedIter):
    """Batches of one or more arrays, cut along their first axis.

    Parameters
    ----------
    data
        An array, a list of arrays (named ``_0_data``, ``_1_data``...), or a dict of arrays by
        name. Arrays of NumPy become float32; an NDArray keeps its type.
    label
        The same for labels; None for none.
    batch_size
        Samples per batch.
    shuffle
        Whether each epoch has its own order.
    last_batch_handle
        ``"pad"`` fills the last batch up from the start of the epoch and says so in its ``pad``;
        ``"discard"`` drops it; ``"roll_over"`` puts its samples in front of the next epoch.
    data_name, label_name
        The name of a single array.
    layout
        As in :class:`DataDesc`.
    seed
        The orders of a shuffling iterator; they depend on nothing else.

    Raises
    ------
    InvalidArgumentError
        For arrays of different lengths, and arguments of the wrong kind.

    Examples
    --------
    >>> import ferromix as mx
    >>> import numpy as np
    >>> it = mx.io.NDArrayIter(np.arange(14).reshape(7, 2), np.arange(7), batch_size=3)
    >>> [(batch.label[0].asnumpy().tolist(), batch.pad) for batch in it]
    [([0.0, 1.0, 2.0], 0), ([3.0, 4.0, 5.0], 0), ([6.0, 0.0, 1.0], 2)]
    """

    def __init__(
        self,
        data: Source,
        label: Source = None,
        batch_size: int = 1,
        shuffle: bool = False,
        last_batch_handle: str = "pad",
        data_name: str = "data",
        label_name: str = "softmax_label",
        layout: str = "NCHW",
        seed: int = 0,
    ) -> None:
        sources = _named(data, data_name, "data"), _named(label, label_name, "label")
        self.data, self.label = ([(n, _to_numpy(n, v)) for n, v in group] for group in sources)
        arrays = [(n, v) for group in sources for n, v in group if isinstance(v, NDArray)]
        self._places = {name: values.context for name, values in arrays}
        if not self.data:
            raise InvalidArgumentError("NDArrayIter: data has no arrays")
        first, rows = self.data[0][0], _rows(*self.data[0])
        for name, values in self.data + self.label:
            if _rows(name, values) != rows:
                raise InvalidArgumentError(
                    f"NDArrayIter: '{name}' has {_rows(name, values)} samples, "
                    f"but '{first}' has {rows}"
                )
        super().__init__(EpochOrder(rows, batch_size, shuffle, seed, last_batch_handle))
        self.layout = layout

    @property
    def provide_data(self) -> list[DataDesc]:
        """Names and shapes of the data."""
        return self._describe(self.data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """Names and shapes of the labels."""
        return self._describe(self.label)

    def hard_reset(self) -> None:
        """Starts the next epoch, without samples of the last one."""
        self._order.reset(drop_carried=True)

    def getdata(self) -> list[NDArray]:
        """The data of the current batch."""
        return self._take(self.data)

    def getlabel(self) -> list[NDArray]:
        """The labels of the current batch."""
        return self._take(self.label)

    def _describe(self, arrays: list[tuple[str, np.ndarray]]) -> list[DataDesc]:
        return [
            DataDesc(name, (self.batch_size, *a.shape[1:]), a.dtype.type, self.layout)
            for name, a in arrays
        ]

    def _take(self, arrays: list[tuple[str, np.ndarray]]) -> list[NDArray]:
        return [array(a[self._rows], self._places.get(n), a.dtype) for n, a in arrays]


def _named(source: Source, default: str, what: str) -> list[tuple[str, Any]]:
    """Names and what was given, in the order of the names where a dict is given."""
    if source is None:
        return []
    if isinstance(source, Mapping):
        pairs = sorted(source.items(), key=lambda pair: str(pair[0]))
    elif isinstance(source, (NDArray, np.ndarray)):
        pairs = [(default, source)]
    elif isinstance(source, (list, tuple)):
        names = [default] if len(source) == 1 else [f"_{i}_{default}" for i in range(len(source))]
        pairs = list(zip(names, source, strict=True))
    else:
        raise InvalidArgumentError(
            f"NDArrayIter: {what} must be an array, a list of arrays or a dict of arrays, "
            f"got {type(source).__name__}"
        )
    return pairs


def _to_numpy(name: str, values: Any) -> np.ndarray:
    if isinstance(values, NDArray):
        return values.asnumpy()
    try:
        return np.asarray(values, np.float32)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgumentError(
            f"NDArrayIter: '{name}' must be an NDArray or what NumPy makes an array of numbers of, "
            f"got {reprlib.repr(values)}"
        ) from None


def _rows(name: str, values: np.ndarray) -> int:
    if not values.shape:
        raise InvalidArgumentError(f"NDArrayIter: '{name}' needs a first axis to cut, got a scalar")
    return values.shape[0]
