"""An iterator whose epochs have as many batches as one likes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..base import as_int
from ..error import ArgumentTypeError, MXNetError
from ..ndarray import NDArray
from .iterator import DataBatch, DataDesc, DataIter, provided
from .state import as_state

__all__ = ["ResizeIter"]


class ResizeIter(DataIter):
    """Epochs of `size` batches of another iterator, which starts over as often as it takes.

    Parameters
    ----------
    data_iter
        The iterator.
    size
        Batches per epoch.
    reset_internal
        Whether :meth:`reset` resets `data_iter`, too; otherwise it goes on where it is.

    Raises
    ------
    ArgumentTypeError
        For what is no iterator.
    InvalidArgumentError
        For a size that is no int.

    Examples
    --------
    >>> import ferromix as mx
    >>> import numpy as np
    >>> it = mx.io.ResizeIter(mx.io.NDArrayIter(np.arange(4), batch_size=2), 3)
    >>> [batch.data[0].asnumpy().tolist() for batch in it]
    [[0.0, 1.0], [2.0, 3.0], [0.0, 1.0]]
    """

    def __init__(self, data_iter: Any, size: int, reset_internal: bool = True) -> None:
        for name in ("provide_data", "provide_label", "next", "reset"):
            if not hasattr(data_iter, name):
                raise ArgumentTypeError(
                    f"ResizeIter: data_iter must be an iterator over batches, with {name}, "
                    f"got {type(data_iter).__name__}"
                )
        super().__init__(getattr(data_iter, "batch_size", 0))
        self.data_iter = data_iter
        self.size = as_int("size", size, -(2**63), 2**63 - 1)
        self.reset_internal = bool(reset_internal)
        self.cur = 0
        self.current_batch: DataBatch | None = None
        if hasattr(data_iter, "default_bucket_key"):
            self.default_bucket_key = data_iter.default_bucket_key

    @provided
    def provide_data(self) -> list[DataDesc]:
        """Names and shapes of the data."""
        return self.data_iter.provide_data

    @provided
    def provide_label(self) -> list[DataDesc]:
        """Names and shapes of the labels."""
        return self.data_iter.provide_label

    def reset(self) -> None:
        """Starts the next epoch."""
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def next(self) -> DataBatch:
        """The next batch, as `data_iter` gives it.

        Raises
        ------
        StopIteration
            At the end of the epoch, or where `data_iter` has no batches.
        """
        if not self.iter_next():
            raise StopIteration
        return self._current()

    def iter_next(self) -> bool:
        """Moves to the next batch; false at the end of the epoch."""
        if self.cur >= self.size:
            return False
        try:
            self.current_batch = self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            try:
                self.current_batch = self.data_iter.next()
            except StopIteration:
                return False
        self.cur += 1
        return True

    def getdata(self) -> list[NDArray]:
        """The data of the current batch."""
        return self._current().data

    def getlabel(self) -> list[NDArray] | None:
        """The labels of the current batch."""
        return self._current().label

    def getindex(self) -> np.ndarray | None:
        """The numbers of the current batch's samples."""
        return self._current().index

    def getpad(self) -> int | None:
        """How many samples at the end only fill the current batch up."""
        return self._current().pad

    def state_dict(self) -> dict[str, Any]:
        """Where it stands, with the state of `data_iter`, which must have ``state_dict``."""
        return {"cur": self.cur, "data_iter": self.data_iter.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes to where :meth:`state_dict` was taken.

        Raises
        ------
        InvalidArgumentError
            For the state of another iterator.
        """
        known = as_state(state)
        cur = as_int("load_state_dict: cur", known.get("cur"), 0, 2**63 - 1)
        self.data_iter.load_state_dict(known.get("data_iter", {}))
        self.cur = cur
        self.current_batch = None

    def _current(self) -> DataBatch:
        if self.current_batch is None:
            raise MXNetError("ResizeIter: there is no batch yet; call iter_next() or next()")
        return self.current_batch
