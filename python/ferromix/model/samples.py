"""Iterators over the arrays that users train on and score."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..error import DTypeError, InvalidArgumentError
from ..io import NDArrayIter
from ..ndarray import NDArray

__all__ = ["iterator", "scored_iterator"]


def iterator(samples: Any, labels: Any, size: int, train: bool) -> Any:
    """An iterator over samples and labels in batches of a size; one that is given as it is.

    Raises
    ------
    DTypeError
        For samples that are neither an array nor an iterator.
    InvalidArgumentError
        Without labels to train on, or for labels of another length, or of several columns.
    """
    if not isinstance(samples, (np.ndarray, NDArray)):
        if hasattr(samples, "provide_data"):
            return samples
        raise DTypeError(
            "FeedForward: X must be an iterator over batches, an NDArray or a NumPy array, "
            f"got {type(samples).__name__}"
        )
    count = samples.shape[0]
    if labels is None:
        if train:
            raise InvalidArgumentError("FeedForward.fit: y must be given where X is an array")
        labels = np.zeros(count)
    labels = _column(labels.asnumpy() if isinstance(labels, NDArray) else np.asarray(labels))
    if len(labels) != count:
        raise InvalidArgumentError(f"FeedForward: X has {count} samples, and y {len(labels)}")
    handling = "roll_over" if train else "pad"
    return NDArrayIter(samples, labels, min(count, size), shuffle=train, last_batch_handle=handling)


def scored_iterator(data: Any, size: int) -> Any:
    """An iterator over what is scored after each epoch; one that is given, or None, as it is.

    Raises
    ------
    DTypeError
        For what is neither an iterator nor a pair of samples and labels.
    InvalidArgumentError
        As :func:`iterator`.
    """
    if isinstance(data, (list, tuple)) and len(data) == 2 and data[0] is not None:
        samples, labels = (np.asarray(d) if isinstance(d, (list, tuple)) else d for d in data)
        # MXNet shuffles these, too.
        return iterator(samples, labels, size, train=True)
    if data is None or hasattr(data, "provide_data"):
        return data
    raise DTypeError(
        "FeedForward.fit: eval_data must be an iterator over batches, or a pair of samples and "
        f"labels, got {type(data).__name__}"
    )


def _column(labels: np.ndarray) -> np.ndarray:
    """Labels in one dimension, from a matrix of one column."""
    if labels.ndim == 2 and labels.shape[1] == 1:
        return labels.ravel()
    if labels.ndim != 1:
        raise InvalidArgumentError(
            f"FeedForward: y must have one dimension, or one column, got shape {labels.shape}"
        )
    return labels
