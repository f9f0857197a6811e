"""How batches are shared among devices, and what devices give is put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import ndarray as nd
from ..context import cpu
from ..error import InvalidArgumentError
from ..ndarray import NDArray

__all__ = ["mean", "merged", "per_device"]


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
