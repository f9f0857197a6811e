"""Sums and copies among the GPUs of a process, by the vendor's library."""

from __future__ import annotations

from collections.abc import Sequence

from .. import _core
from ..dispatch import gpu
from ..ndarray import NDArray, empty
from ..ops.storage import DENSE

__all__ = ["broadcast", "reduce"]

DTYPES = ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64")
"""What there are sums of."""


def reduce(total: NDArray, arrays: Sequence[NDArray]) -> bool:
    """Overwrites `total` with the sum of arrays on GPUs of their own.

    Returns
    -------
    bool
        Whether it does; arrays elsewhere, of other types or with gaps are left to the caller, as
        is all without the library.
    """
    if not _is_for_the_library([total, *arrays], arrays):
        return False
    places = [array.context for array in arrays]
    if total.context in places and total.handle.contiguous:
        _core.reduce_on_gpus([array.handle for array in arrays], total.handle)
        return True
    whole = empty(total.shape, ctx=places[0], dtype=total.dtype_name)
    _core.reduce_on_gpus([array.handle for array in arrays], whole.handle)
    whole.copyto(total)
    return True


def broadcast(whole: NDArray, arrays: Sequence[NDArray]) -> bool:
    """Overwrites arrays on GPUs of their own, of which one has `whole`; as :func:`reduce`."""
    if not _is_for_the_library([whole, *arrays], arrays):
        return False
    if whole.context not in [array.context for array in arrays] or not whole.handle.contiguous:
        return False
    if any(array is whole for array in arrays):
        return False
    _core.broadcast_on_gpus(whole.handle, [array.handle for array in arrays])
    return True


def _is_for_the_library(every: Sequence[NDArray], parts: Sequence[NDArray]) -> bool:
    if len(parts) < 2 or any(array.stype != DENSE for array in every):
        return False
    places = {array.context for array in parts}
    if len(places) < len(parts) or any(place.device_type != "gpu" for place in places):
        return False
    types = {array.dtype_name for array in every}
    whole = all(array.handle.contiguous and array.size for array in parts)
    return len(types) == 1 and types <= set(DTYPES) and whole and gpu.has_collectives()
