"""Batches of arrays that are in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..error import InvalidArgumentError
from ..ndarray import NDArray
from ..ndarray.sparse import CSRNDArray
from .iterator import DataDesc, provided
from .order import EpochOrder, OrderedIter
from .utils import _has_instance, batch_axis, is_dataset, named_arrays, samples

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
        self._batch_axis = axis
        # A shuffling iterator keeps samples in orders of its own.
        self._data = named_arrays(data, data_name, "data", axis, own=bool(shuffle))
        self._label = named_arrays(label, label_name, "label", axis, own=bool(shuffle))
        if not self._data:
            raise InvalidArgumentError("NDArrayIter: data has no arrays")
        first, count = self._data[0][0], self._count(self._data[0][1])
        for name, values in self._data + self._label:
            if self._count(values) != count:
                raise InvalidArgumentError(
                    f"NDArrayIter: '{name}' has {self._count(values)} samples, "
                    f"but '{first}' has {count}"
                )
        super().__init__(EpochOrder(count, batch_size, bool(shuffle), seed, last_batch_handle))
        self._place = np.arange(count)
        # Rows of a csr array that do not follow each other take long to find, batch by batch.
        self._in_order = _has_instance(self._data + self._label, CSRNDArray)
        if self._in_order:
            self._arrange()
        self.layout = layout
        self.reset()  # where subclasses begin to count

    @property
    def batch_size(self) -> int:
        """Samples per batch.

        With another one that is assigned, the next batch begins as many samples behind
        :attr:`cursor`; after :meth:`reset`, an epoch begins as usual.
        """
        return self._order.batch_size

    @batch_size.setter
    def batch_size(self, size: int) -> None:
        self._order.batch_size = size

    @provided
    def provide_data(self) -> list[DataDesc]:
        """Names and shapes of the data."""
        return [self._describe(*pair) for pair in self._data]

    @provided
    def provide_label(self) -> list[DataDesc]:
        """Names and shapes of the labels."""
        return [self._describe(*pair) for pair in self._label]

    @property
    def data(self) -> list[tuple[str, Any]]:
        """Names and arrays of the data, in the order of the epoch, from which batches are copied.

        What is written into an array is in the next batch; so is another array, in the list or
        assigned, with its samples in the order of the epoch. A shuffling iterator has arrays of
        its own, and with each epoch new ones; others have the NDArrays that they were given.
        """
        self._keep_in_order()
        return self._data

    @data.setter
    def data(self, pairs: Sequence[tuple[str, Any]]) -> None:
        self._keep_in_order()
        self._data = self._in_place_of("data", pairs)

    @property
    def label(self) -> list[tuple[str, Any]]:
        """Names and arrays of the labels, as :attr:`data` has those of the data."""
        self._keep_in_order()
        return self._label

    @label.setter
    def label(self, pairs: Sequence[tuple[str, Any]]) -> None:
        self._keep_in_order()
        self._label = self._in_place_of("label", pairs)

    def _in_place_of(self, what: str, pairs: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
        """Names and arrays whose samples are in the order of the present epoch."""
        axis = self._batch_axis
        found = [pair for name, one in pairs for pair in named_arrays({name: one}, "", what, axis)]
        for name, values in found:
            if self._count(values) != self.num_data:
                raise InvalidArgumentError(
                    f"NDArrayIter: '{name}' has {self._count(values)} samples, but an "
                    f"epoch has {self.num_data}"
                )
        return found

    def _keep_in_order(self) -> None:
        """Puts the arrays in order, now and for each epoch to come, as somebody looks at them."""
        self._in_order = True
        self._arrange()

    def _arrange(self) -> None:
        """Puts the samples of a shuffling iterator in the order of the present epoch."""
        if not self.shuffle:
            return
        count, order = self._place.size, self._order.indices
        order = np.concatenate([order, np.setdiff1d(np.arange(count), order)])
        rows = self._place[order]
        if np.array_equal(rows, np.arange(count)):
            return
        self._data, self._label = (
            [
                (name, one if is_dataset(one) else samples(one, rows, self._batch_axis))
                for name, one in pairs
            ]
            for pairs in (self._data, self._label)
        )
        self._place = np.argsort(order)

    def _reset(self, drop_carried: bool = False) -> None:
        super()._reset(drop_carried)
        if self._in_order:
            self._arrange()

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
        return self._batch(self._data)

    def getlabel(self) -> list[NDArray]:
        """The labels of the current batch."""
        return self._batch(self._label)

    def _batch(self, pairs: Sequence[tuple[str, Any]]) -> list[NDArray]:
        rows = self._current()
        places = self._place[rows] if self.shuffle else rows
        # Datasets on disk stay as they are.
        return [
            samples(values, rows if is_dataset(values) else places, self._batch_axis)
            for _, values in pairs
        ]

    def _count(self, values: Any) -> int:
        return values.shape[batch_axis(values, self._batch_axis)]

    def _describe(self, name: str, values: Any) -> DataDesc:
        axis = batch_axis(values, self._batch_axis)
        shape = *values.shape[:axis], self.batch_size, *values.shape[axis + 1 :]
        dtype = np.float32 if is_dataset(values) else values.dtype
        return DataDesc(name, shape, dtype, self.layout)
