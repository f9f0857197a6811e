"""Batches of images that the engine makes ahead."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import _core
from ..ndarray import NDArray
from .iterator import DataBatch
from .native import reading
from .rounds import RoundOrder

__all__ = ["ImageFeed"]

_MADE = ("float32", "uint8", "int8")
"""The element types that batches are made in; others are cast."""


class ImageFeed:
    """Batches of images of a RecordIO file.

    Parameters
    ----------
    path
        The file.
    loader
        What makes batches.
    order
        Which images a batch has.
    shape, label_width
        Of a sample.
    dtype
        Of the data; labels are float32.
    ahead
        Batches that are made before they are asked for.
    """

    label_dtype = "float32"

    def __init__(
        self,
        path: str,
        loader: _core.ImageLoader,
        order: RoundOrder,
        shape: tuple[int, ...],
        label_width: int,
        dtype: str,
        ahead: int,
    ) -> None:
        self.batch_size = order.batch_size
        self.data_shape = (order.batch_size, *shape)
        self.label_shape = (order.batch_size, *([label_width] if label_width > 1 else []))
        self.dtype = dtype
        self._path, self._loader, self._order, self._ahead = path, loader, order, max(ahead, 0)
        self._stalled = 0.0
        self._coming: deque[tuple[dict[str, Any], DataBatch, _core.ImageOutcome]] = deque()

    def __len__(self) -> int:
        return len(self._loader)

    def next(self) -> DataBatch | None:
        """The next batch; None at the end of the epoch.

        Raises
        ------
        FileFormatError
            For a record or an image that is damaged; names the file and the record's byte.
        """
        while len(self._coming) <= self._ahead:
            if not self._push():
                break
        if not self._coming:
            return None
        _, batch, outcome = self._coming.popleft()
        started = time.perf_counter()
        batch.data[0].wait_to_read()
        self._stalled += time.perf_counter() - started
        with reading([self._path]):
            outcome.check()
        return batch

    def _push(self) -> bool:
        before = self._order.state_dict()
        found = self._order.next()
        if found is None:
            return False
        picks, pad = found
        made = self.dtype if self.dtype in _MADE else "float32"
        *arrays, outcome = self._loader.batch(picks, made)
        data, label = (NDArray(array) for array in arrays)
        if made != self.dtype:
            data = data.astype(self.dtype)
        index = np.array([number for number, _ in picks], np.uint64)
        batch = DataBatch([data], [label.reshape(self.label_shape)], pad, index)
        self._coming.append((before, batch, outcome))
        return True

    def _forget(self) -> None:
        """Goes back to the first batch that nobody has got."""
        if self._coming:
            self._order.load_state_dict(self._coming[0][0])
            self._coming.clear()

    def reset(self) -> None:
        """Starts the next epoch; does nothing before the first batch of the present one."""
        self._forget()
        self._order.reset()

    def state_dict(self) -> dict[str, Any]:
        """Where it stands."""
        return self._coming[0][0] if self._coming else self._order.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes to where :meth:`state_dict` was taken."""
        self._order.load_state_dict(state)
        self._coming.clear()

    def progress(self) -> dict[str, float]:
        """What was done since the beginning; any thread may ask, at any time.

        Returns
        -------
        dict
            ``images`` and ``batches`` made, also ahead; ``seconds`` in which at least one batch was
            being made, and ``images_per_second`` of these; ``stalled``, the seconds that
            :meth:`next` waited for batches.
        """
        images, batches, seconds = self._loader.progress()
        return {
            "images": images,
            "batches": batches,
            "seconds": seconds,
            "images_per_second": images / seconds if seconds else 0.0,
            "stalled": self._stalled,
        }
