"""The store of one process."""

from __future__ import annotations

from collections.abc import Sequence

from .. import ndarray as nd
from ..error import InvalidArgumentError
from ..ndarray import NDArray
from ..ops.storage import DENSE
from ..optimizer import Updater
from . import devices
from .base import Key, Keys, Values
from .compressed import Residuals, require_compressible, sum_into
from .kvstore import KVStore

__all__ = ["NAMES", "LocalKVStore"]

NAMES = (
    "local",
    "device",
    "local_update_cpu",
    "local_allreduce_cpu",
    "local_allreduce_device",
)
"""What the store answers to, as in MXNet."""


class LocalKVStore(KVStore):
    """A store within this process; see :func:`ferromix.kvstore.create`.

    The arrays pushed to a key are added up in their order, in an array of the store's own.

    Parameters
    ----------
    name
        One of :data:`NAMES`.
    """

    def __init__(self, name: str = "local") -> None:
        super().__init__(name)
        self._stored: dict[Key, NDArray] = {}
        self._sums: dict[Key, NDArray] = {}
        self._residuals: Residuals = {}

    def init(self, key: Keys, value: Values) -> None:
        """Gives each key its first value; see :meth:`KVStore.init`."""
        for k, arrays in _pair(key, value, "init"):
            if len(arrays) != 1:
                raise InvalidArgumentError(
                    f"KVStore.init: key {k!r} needs one array, got {len(arrays)}"
                )
            if k in self._stored:
                raise InvalidArgumentError(
                    f"KVStore.init: key {k!r} has a value already, of shape "
                    f"{self._stored[k].shape}; push to it, or use another key"
                )
            self._stored[k] = arrays[0].copy()

    def push(self, key: Keys, value: Values, priority: int = 0) -> None:
        """Sums and updates; see :meth:`KVStore.push`."""
        grouped = _pair(key, value, "push")
        for k, arrays in grouped:
            self._check(k, arrays, "push")
            if self._compression is not None:
                require_compressible(k, self._stored[k], arrays)
        for k, arrays in grouped:
            stored = self._stored[k]
            if self._compression is not None:
                residuals = self._residuals.setdefault(k, [])
                total = stored if self._updater is None else self._sum(k)
                sum_into(self._compression, total, arrays, residuals)
                if self._updater is not None:
                    self._updater(k, total, stored)
                continue
            if self._updater is None:
                if all(a.stype != DENSE for a in arrays):
                    arrays = [nd.add_n(*arrays)]
                self._add_up(stored, arrays)
                continue
            self._updater(k, self._received(k, arrays), stored)

    def pull(
        self, key: Keys, out: Values | None = None, priority: int = 0, ignore_sparse: bool = True
    ) -> None:
        """Copies values out; see :meth:`KVStore.pull`."""
        if out is None:
            raise InvalidArgumentError("KVStore.pull: out is required: the arrays to overwrite")
        grouped = _pair(key, out, "pull")
        for k, arrays in grouped:
            self._check(k, arrays, "pull")
        for k, arrays in grouped:
            if "device" in self.type and devices.broadcast(self._stored[k], arrays):
                continue
            for array in arrays:
                if array.stype == DENSE or not ignore_sparse:
                    self._stored[k].copyto(array)

    def row_sparse_pull(
        self,
        key: Keys,
        out: Values | None = None,
        priority: int = 0,
        row_ids: NDArray | Sequence[NDArray] | None = None,
    ) -> None:
        """Copies rows out; see :meth:`KVStore.row_sparse_pull`."""
        if out is None or row_ids is None:
            missing = "out" if out is None else "row_ids"
            raise InvalidArgumentError(f"KVStore.row_sparse_pull: {missing} is required")
        grouped = _pair(key, out, "row_sparse_pull")
        ids = [row_ids] if isinstance(row_ids, NDArray) else list(row_ids)
        count = sum(len(arrays) for _, arrays in grouped)
        if len(ids) not in (1, count):
            raise InvalidArgumentError(
                f"KVStore.row_sparse_pull: got {len(ids)} row_ids for {count} arrays"
            )
        rows = iter(ids * count if len(ids) == 1 else ids)
        for k, arrays in grouped:
            self._check(k, arrays, "row_sparse_pull")
            for array in (self._stored[k], *arrays):
                if array.stype != "row_sparse":
                    raise InvalidArgumentError(
                        f"KVStore.row_sparse_pull: key {k!r} needs row_sparse arrays, got one "
                        f"that is {array.stype}"
                    )
        for k, arrays in grouped:
            for array in arrays:
                nd.sparse.retain(self._stored[k], next(rows)).copyto(array)

    def _received(self, key: Key, arrays: Sequence[NDArray]) -> NDArray:
        """The sum of what was pushed, for an updater to use as it likes."""
        stored = self._stored[key]
        plain = len(arrays) == 1 and arrays[0].dtype_name == stored.dtype_name
        if plain and isinstance(self._updater, Updater):
            return arrays[0]  # an optimizer leaves gradients as they are
        if all(a.stype != DENSE for a in arrays):
            return nd.add_n(*(a.as_in_context(stored.context) for a in arrays))
        self._add_up(self._sum(key), arrays)
        return self._sums[key]

    def _add_up(self, total: NDArray, arrays: Sequence[NDArray]) -> None:
        """Overwrites `total` with the sum of `arrays`; on their GPUs, in stores for devices."""
        if "device" not in self.type or not devices.reduce(total, arrays):
            _sum_into(total, arrays)

    def _sum(self, key: Key) -> NDArray:
        """Where what is pushed to a key is added up."""
        if key not in self._sums:
            self._sums[key] = self._stored[key].copy()
        return self._sums[key]

    def _check(self, key: Key, arrays: Sequence[NDArray], method: str) -> None:
        stored = self._stored.get(key)
        if stored is None:
            raise InvalidArgumentError(
                f"KVStore.{method}: key {key!r} has no value; call init first"
            )
        if not arrays:
            raise InvalidArgumentError(f"KVStore.{method}: key {key!r} got an empty list of arrays")
        for array in arrays:
            if array.shape != stored.shape:
                raise InvalidArgumentError(
                    f"KVStore.{method}: key {key!r} holds shape {stored.shape}, "
                    f"got an array of shape {array.shape}"
                )


def _sum_into(total: NDArray, arrays: Sequence[NDArray]) -> None:
    """Overwrites `total` with the sum of `arrays`, added up from the first to the last."""
    arrays[0].copyto(total)
    for array in arrays[1:]:
        total += array.as_in_context(total.context).astype(total.dtype_name, copy=False)


def _pair(key: Keys, value: Values, method: str) -> list[tuple[Key, list[NDArray]]]:
    """Keys with their arrays; what is given for one key in several places is put together.

    Raises
    ------
    InvalidArgumentError
        For keys that are neither int nor str, values that are not arrays, or unequal numbers.
    """
    if isinstance(key, (int, str)):
        return [(key, _arrays(key, value, method))]
    if not isinstance(key, Sequence):
        raise InvalidArgumentError(
            f"KVStore.{method}: a key must be an int or a str, or a list of such, got {key!r}"
        )
    if isinstance(value, NDArray) or len(key) != len(value):
        count = "one array" if isinstance(value, NDArray) else len(value)
        raise InvalidArgumentError(f"KVStore.{method}: got {len(key)} keys, but values for {count}")
    grouped: dict[Key, list[NDArray]] = {}
    for k, v in zip(key, value, strict=True):
        for one, arrays in _pair(k, v, method):
            grouped.setdefault(one, []).extend(arrays)
    return list(grouped.items())


def _arrays(key: Key, value: Values, method: str) -> list[NDArray]:
    given = [value] if isinstance(value, NDArray) else value
    found = list(given) if isinstance(given, Sequence) else [given]
    arrays = [a for a in found if isinstance(a, NDArray)]
    if len(arrays) != len(found):
        raise InvalidArgumentError(
            f"KVStore.{method}: key {key!r} needs an NDArray or a list of them, got {value!r}"
        )
    return arrays
