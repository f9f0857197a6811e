"""What iterators over images read besides records: indices, lists of labels, mean images."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import _core
from ..error import FileFormatError, InvalidArgumentError
from ..files import access
from ..ndarray import array as ndarray
from ..ndarray import load, save
from .image_feed import ImageFeed
from .native import reading

__all__ = ["labels_of", "mean_image", "part_of", "require_default", "starts_of"]

_log = logging.getLogger(__name__)


def require_default(iterator: str, others: Mapping[str, Any], name: str, default: str) -> None:
    """Raises InvalidArgumentError where a parameter has another value than its only one."""
    value = others.get(name, default)
    if str(value) != default:
        raise InvalidArgumentError(
            f"{iterator}: {name}={value!r} is not there; leave it at {default!r}, and use "
            "augmenters of mx.image for others"
        )


def part_of(iterator: str, typed: Mapping[str, Any]) -> tuple[int, int]:
    """Which part of the data is read, out of how many."""
    index, parts = typed["part_index"], typed["num_parts"]
    if not 0 <= index < parts:
        raise InvalidArgumentError(
            f"{iterator}: part_index must be in [0, num_parts), got {index} of {parts}"
        )
    return index, parts


def starts_of(path: str | os.PathLike[str]) -> list[int] | None:
    """Where the records of an index begin; None without one."""
    if not os.fspath(path):
        return None
    with access(path) as resolved, reading([resolved]):
        return [offset for _, offset in _core.read_record_index(resolved)]


def labels_of(path: str | os.PathLike[str]) -> dict[int, list[float]] | None:
    """The labels of a list by the numbers of its images; None without one."""
    name = os.fspath(path)
    if not name:
        return None
    found: dict[int, list[float]] = {}
    with access(name) as resolved, open(resolved, encoding="utf-8") as lines:
        for row, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            number, *labels = line.rstrip("\n").split("\t")
            try:
                found[int(number)] = [float(label) for label in labels[:-1]]
            except ValueError:
                raise FileFormatError(
                    f"{name}: line {row} is not a number, labels and a path with tabulators "
                    f"between: {line.strip()[:80]!r}"
                ) from None
    return found


def mean_image(
    iterator: str,
    path: str | os.PathLike[str],
    shape: Sequence[int],
    feed: Callable[[], ImageFeed],
    verbose: bool,
) -> list[float] | None:
    """The mean of all samples, from a file, which is written if it is not there; None for no path.

    Parameters
    ----------
    iterator
        What the log calls the iterator.
    path
        A file of the kind that :func:`ferromix.nd.save` writes, with one array.
    shape
        That of a sample, and of the array.
    feed
        Makes a feed of one epoch of what the mean is of.
    verbose
        Whether the log says which of both was done.

    Raises
    ------
    FileFormatError
        For another number of arrays, or another shape, and for no samples.
    """
    name = os.fspath(path)
    if not name:
        return None
    if not os.path.exists(name):
        mean, count = _mean(feed())
        if not count:
            raise FileFormatError(
                f"{name}: is not there, and this part has no images to compute the mean image of; "
                "compute it with num_parts=1"
            )
        save(name, {"mean_img": ndarray(mean)})
        if verbose:
            _log.info("%s: saved the mean image to %s", iterator, name)
        return mean.ravel().tolist()
    arrays = load(name)
    found = [*(arrays.values() if isinstance(arrays, dict) else arrays)]
    if len(found) != 1 or found[0].shape != tuple(shape):
        shapes = ", ".join(str(array.shape) for array in found[:4]) or "none"
        raise FileFormatError(
            f"{name}: must have one array of shape {tuple(shape)}, found {len(found)}: {shapes}; "
            "delete it to have the mean image computed again"
        )
    if verbose:
        _log.info("%s: loaded the mean image from %s", iterator, name)
    return found[0].asnumpy().astype(np.float32).ravel().tolist()


def _mean(feed: ImageFeed) -> tuple[np.ndarray, int]:
    """The mean of all samples, and how many there are."""
    total, count = np.zeros(feed.data_shape[1:]), 0
    while (batch := feed.next()) is not None:
        kept = feed.batch_size - (batch.pad or 0)
        total += batch.data[0].asnumpy()[:kept].sum(axis=0, dtype=np.float64)
        count += kept
    return (total / max(count, 1)).astype(np.float32), count
