"""How batches are shared among devices, and what devices give is put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import ndarray as nd
from ..context import cpu
from ..error import InvalidArgumentError
from ..io.utils import _slice_along_batch_axis
from ..ndarray import NDArray

__all__ = ["arrays_of", "mean", "merged", "per_device"]


def _split_input_slice(batch_size: int, work_load_list: Sequence[float]) -> list[slice]:
    """Which samples of a batch each device gets, in proportion to its share of the work.

    Raises
    ------
    InvalidArgumentError
        A device would get none.
    """
    total, start, slices = sum(work_load_list), 0, []
    for number, share in enumerate(work_load_list):
        last = number == len(work_load_list) - 1
        end = start + round(batch_size * share / total)
        end = batch_size if last else min(batch_size, end)
        if end <= start:
            raise InvalidArgumentError(
                f"a batch of {batch_size} is too small for {len(work_load_list)} devices with "
                f"shares {work_load_list}"
            )
        slices.append(slice(start, end))
        start = end
    return slices


def per_device(given: Any, count: int) -> list[Any]:
    """The devices of groups for each device.

    Raises
    ------
    InvalidArgumentError
        Lists of another length.
    """
    if given is None:
        return [None] * count
    if isinstance(given, Mapping):
        rows: list[dict[str, Any]] = [{} for _ in range(count)]
        for name, places in given.items():
            each = places if isinstance(places, (list, tuple)) else [places]
            each = list(each) * count if len(each) == 1 else list(each)
            if len(each) != count:
                raise InvalidArgumentError(
                    f"group2ctxs: group '{name}' has {len(each)} devices, expected {count}"
                )
            for row, place in zip(rows, each, strict=True):
                row[name] = place
        return rows
    if len(given) != count:
        raise InvalidArgumentError(f"group2ctxs has {len(given)} dicts for {count} devices")
    return list(given)


def mean(block: Sequence[NDArray]) -> NDArray:
    """The mean over devices, on the CPU."""
    here = [array.as_in_context(cpu()) for array in block]
    return here[0] if len(here) == 1 else nd.add_n(*here) / len(here)


def merged(blocks: Sequence[Sequence[Any]], axes: Sequence[int]) -> list[Any]:
    """The parts of all devices put together on the first one's."""
    found = []
    for block, axis in zip(blocks, axes, strict=True):
        if len(block) == 1 or axis < 0:
            found.append(block[0])
        else:
            place = block[0].context
            found.append(nd.concat(*[part.as_in_context(place) for part in block], dim=axis))
    return found


def _load_general(data: Sequence[Any], targets: Sequence[Any], major_axis: Sequence[int]) -> None:
    """Copies arrays, or lists of one for each device, to where devices read them.

    Parameters
    ----------
    data
        The arrays.
    targets
        For each of them an array, or for each device one, or a pair of the samples that it gets
        and the array that takes them.
    major_axis
        The axis of samples in each array; below 0 it has none, and all devices get all of it.
    """
    for source, target, axis in zip(data, targets, major_axis, strict=False):
        if isinstance(target, NDArray):
            source.copyto(target)
        elif isinstance(source, (list, tuple)):
            for part, into in zip(source, target, strict=False):
                part.copyto(into[1] if isinstance(into, tuple) else into)
        else:
            for part, into in target:
                taken = source if axis < 0 else _slice_along_batch_axis(source, part, axis)
                taken.copyto(into)


def _load_data(batch: Any, targets: Sequence[Any], major_axis: Sequence[int]) -> None:
    """Copies the data of a batch, or of a list of one for each device: see `_load_general`."""
    _load_general(arrays_of(batch, "data"), targets, major_axis)


def _load_label(batch: Any, targets: Sequence[Any], major_axis: Sequence[int]) -> None:
    """Copies the labels of a batch, or of a list of one for each device: see `_load_general`."""
    _load_general(arrays_of(batch, "label"), targets, major_axis)


def arrays_of(batch: Any, what: str) -> Sequence[Any]:
    """The data or labels of a batch, if it has any; of a list of batches, a list for each array."""
    if isinstance(batch, list):
        return [list(parts) for parts in zip(*(arrays_of(one, what) for one in batch), strict=True)]
    return getattr(batch, what, None) or ()
