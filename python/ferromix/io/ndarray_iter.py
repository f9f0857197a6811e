"""Batches of arrays that are in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..error import InvalidArgumentError
from ..ndarray import NDArray
from .iterator import DataDesc, provided
from .order import EpochOrder, OrderedIter
from .utils import Source, named_sources, resorted

__all__ = ["NDArrayIter"]


class NDArrayIter(OrderedIter):
    """Batches of one or more arrays, cut along their first axis, or that of the layout.

    Parameters
    ----------
    data
        An array, a list of arrays (named ``_0_data``, ``_1_data``...), or a dict of arrays by
        name. What NumPy makes arrays of becomes float32; an NDArray keeps its type. A csr array
        gives csr batches. A dataset of h5py stays on disk, but for the samples of a batch, which
        become float32.
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
        As in :class:`DataDesc`. Arrays are cut along the axis of its ``N``, and those that have no
        such axis, as labels, along the first.
    seed
        The orders of a shuffling iterator; they depend on nothing else.

    Raises
    ------
    InvalidArgumentError
        For arrays of different lengths, a layout without ``N``, and arguments of the wrong kind.

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
        data: Any,
        label: Any = None,
        batch_size: int = 1,
        shuffle: bool = False,
        last_batch_handle: str = "pad",
        data_name: str = "data",
        label_name: str = "softmax_label",
        layout: str | None = "NCHW",
        seed: int = 0,
    ) -> None:
        axis = DataDesc.get_batch_axis(layout)
        if axis < 0:
            raise InvalidArgumentError(
                f"NDArrayIter: layout must have an N, which is the batch, got {layout!r}"
            )
        self._data = named_sources(data, data_name, "data", axis)
        self._label = named_sources(label, label_name, "label", axis)
        if not self._data:
            raise InvalidArgumentError("NDArrayIter: data has no arrays")
        self._batch_axis = axis
        first = self._data[0]
        for source in self._data + self._label:
            if self._count(source) != self._count(first):
                raise InvalidArgumentError(
                    f"NDArrayIter: '{source.name}' has {self._count(source)} samples, "
                    f"but '{first.name}' has {self._count(first)}"
                )
        order = EpochOrder(self._count(first), batch_size, bool(shuffle), seed, last_batch_handle)
        super().__init__(order)
        self.layout = layout

    @provided
    def provide_data(self) -> list[DataDesc]:
        """Names and shapes of the data."""
        return [self._describe(source) for source in self._data]

    @provided
    def provide_label(self) -> list[DataDesc]:
        """Names and shapes of the labels."""
        return [self._describe(source) for source in self._label]

    @property
    def data(self) -> list[tuple[str, Any]]:
        """Names and arrays of the data, as wholes in the order of the epoch; copies.

        Other arrays of as many samples, in the order of the epoch, may be assigned.
        """
        return [self._whole(source) for source in self._data]

    @data.setter
    def data(self, pairs: Sequence[tuple[str, Any]]) -> None:
        self._data = self._in_place_of("data", pairs)

    @property
    def label(self) -> list[tuple[str, Any]]:
        """Names and arrays of the labels, as :attr:`data` has those of the data."""
        return [self._whole(source) for source in self._label]

    @label.setter
    def label(self, pairs: Sequence[tuple[str, Any]]) -> None:
        self._label = self._in_place_of("label", pairs)

    def _whole(self, source: Source) -> tuple[str, Any]:
        return source.name, source.take(self._order.indices) if self.shuffle else source.whole()

    def _in_place_of(self, what: str, pairs: Sequence[tuple[str, Any]]) -> list[Source]:
        """Sources of arrays whose samples are in the order of the present epoch."""
        axis = self._batch_axis
        found = [named_sources({name: one}, "", what, axis)[0] for name, one in pairs]
        for source in found:
            if self._count(source) != self.num_data:
                raise InvalidArgumentError(
                    f"NDArrayIter: '{source.name}' has {self._count(source)} samples, but an "
                    f"epoch has {self.num_data}"
                )
        if not self.shuffle:
            return found
        places = np.argsort(self._order.indices)
        return [resorted(source, places, axis) for source in found]

    @provided
    def data_list(self) -> list[Any]:
        """The arrays of data and labels, as wholes."""
        return [values for _, values in self.data + self.label]

    @provided
    def num_source(self) -> int:
        """How many arrays there are, of data and of labels."""
        return len(self._data) + len(self._label)

    @property
    def cursor(self) -> int:
        """The place of the current batch's first sample: minus a batch before the first one.

        Samples that `roll_over` carried over from the epoch before have places below 0. After
        another place is assigned, the next batch is the one behind it.
        """
        return self._order.cursor

    @cursor.setter
    def cursor(self, place: int) -> None:
        self._order.cursor = place

    def hard_reset(self) -> None:
        """Starts the next epoch, without samples of the last one."""
        self._reset(drop_carried=True)

    def getdata(self) -> list[NDArray]:
        """The data of the current batch."""
        return [source.take(self._current()) for source in self._data]

    def getlabel(self) -> list[NDArray]:
        """The labels of the current batch."""
        return [source.take(self._current()) for source in self._label]

    def _axis_of(self, source: Source) -> int:
        return self._batch_axis if self._batch_axis < len(source.shape) else 0

    def _count(self, source: Source) -> int:
        return source.shape[self._axis_of(source)]

    def _describe(self, source: Source) -> DataDesc:
        axis = self._axis_of(source)
        shape = *source.shape[:axis], self.batch_size, *source.shape[axis + 1 :]
        return DataDesc(source.name, shape, source.dtype.type, self.layout)
