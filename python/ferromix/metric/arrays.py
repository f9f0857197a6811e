"""Labels and predictions as NumPy arrays that fit together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..error import ArgumentTypeError, InvalidArgumentError
from ..ndarray import NDArray

__all__ = ["Arrays", "batches", "check_counts", "check_label_shapes", "class_indices"]

Arrays = NDArray | np.ndarray | Sequence[NDArray | np.ndarray]
"""One array, or one for each output of a network."""


def batches(name: str, labels: Arrays, preds: Arrays) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs of label and prediction as NumPy arrays."""
    label_list, pred_list = _as_list(labels), _as_list(preds)
    if len(label_list) != len(pred_list):
        raise InvalidArgumentError(
            f"{name}: got {len(label_list)} arrays of labels, but {len(pred_list)} of predictions"
        )
    return [(_numpy(a), _numpy(b)) for a, b in zip(label_list, pred_list, strict=True)]


def _as_list(arrays: Arrays) -> list[NDArray | np.ndarray]:
    return [arrays] if isinstance(arrays, (NDArray, np.ndarray)) else list(arrays)


def _numpy(array: NDArray | np.ndarray) -> np.ndarray:
    return array.asnumpy() if isinstance(array, NDArray) else np.asarray(array)


def check_counts(name: str, label: np.ndarray, pred: np.ndarray) -> None:
    """Refuses labels and predictions of different numbers."""
    if label.shape[0] != pred.shape[0]:
        raise InvalidArgumentError(
            f"{name}: got {label.shape[0]} labels, but {pred.shape[0]} predictions"
        )


def class_indices(name: str, label: np.ndarray, pred: np.ndarray) -> np.ndarray:
    """The labels as columns of `pred`, one per row; those below 0 count from the end."""
    right = label.ravel().astype(np.int64)
    check_counts(name, right, pred)
    classes = pred.size // max(1, right.size)
    if right.size and (right.min() < -classes or right.max() >= classes):
        raise InvalidArgumentError(
            f"{name}: labels must be in [{-classes}, {classes}), got {right.min()} to {right.max()}"
        )
    return right


def check_label_shapes(
    labels: Any, preds: Any, wrap: bool = False, shape: bool | None = False
) -> tuple[Any, Any]:
    """Compares labels with predictions, for metrics of one's own.

    Parameters
    ----------
    labels, preds
        Lists, or arrays.
    wrap
        Whether single arrays come back in lists.
    shape
        Whether shapes, not lengths, must be equal; None compares nothing.

    Raises
    ------
    InvalidArgumentError
        They differ; says how.
    """
    if shape is not None:
        for one in (labels, preds):
            if not hasattr(one, "shape" if shape else "__len__"):
                kind = type(one).__name__
                raise ArgumentTypeError(f"expected lists or arrays of labels, got {kind}")
        sizes = [x.shape if shape else len(x) for x in (labels, preds)]
        if sizes[0] != sizes[1]:
            raise InvalidArgumentError(
                f"Shape of labels {sizes[0]} does not match shape of predictions {sizes[1]}"
            )
    if wrap:
        return _as_list(labels), _as_list(preds)
    return labels, preds
