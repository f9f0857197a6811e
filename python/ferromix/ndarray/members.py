"""Members of NDArray that MXNet's own helpers, and scripts that know them, use."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..base import as_int
from ..error import InvalidArgumentError
from . import values
from .exchange import Exchange

__all__ = ["Members"]


class Members(Exchange):
    """Names with an underscore, and those that say what an array is."""

    __slots__ = ()

    def as_nd_ndarray(self) -> Any:
        """This array, which is one of ``mx.nd`` already."""
        return self

    def _full(self, value: float) -> Any:
        """Fills the array with a number."""
        values.write(self._target("_full"), value)
        return self

    def _at(self, idx: int) -> Any:
        """The view at a place along the first axis."""
        return self[as_int("_at: idx", idx)]

    def _slice(self, start: int | None, stop: int | None) -> Any:
        """The view of a range along the first axis."""
        return self[slice(start, stop)]

    def _sync_copyfrom(self, source_array: Any) -> None:
        """Copies the values of what NumPy takes, of the same shape, into the array."""
        found = np.asarray(source_array)
        if found.shape != self.handle.shape:
            raise InvalidArgumentError(
                f"_sync_copyfrom: the array has shape {self.handle.shape}, the values {found.shape}"
            )
        values.write(self._target("_sync_copyfrom"), found)
        self.handle.wait_to_read()

    def _target(self, method: str) -> _core.Array:
        if not self.writable:
            raise InvalidArgumentError(f"{method}: cannot write into a read-only NDArray")
        return self.handle
