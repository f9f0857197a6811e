"""Metrics made of functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..error import InvalidArgumentError
from .arrays import Arrays, batches, check_label_shapes
from .base import EvalMetric

__all__ = ["CustomMetric", "np_metric"]


class CustomMetric(EvalMetric):
    """A metric computed by a function of one array of labels and one of predictions.

    Parameters
    ----------
    feval
        Called with NumPy arrays; returns a number, or a sum and a number of instances.
    name
        The name of the function where None.
    allow_extra_outputs
        Whether there may be more predictions than labels; those without a label do not count.
    """

    def __init__(
        self,
        feval: Callable[[np.ndarray, np.ndarray], float | tuple[float, int]],
        name: str | None = None,
        allow_extra_outputs: bool = False,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        if name is None:
            given: str = getattr(feval, "__name__", type(feval).__name__)
            name = f"custom({given})" if "<" in given else given
        super().__init__(name, output_names, label_names)
        self._feval, self._extra = feval, allow_extra_outputs

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Accounts for one batch."""
        if self._extra:
            labels, preds = check_label_shapes(labels, preds, wrap=True, shape=None)
            preds = preds[: len(labels)]
        for label, pred in batches(self.name, labels, preds):
            value = self._feval(label, pred)
            self._add(*(value if isinstance(value, tuple) else (value, 1)))

    def get_config(self) -> dict[str, Any]:
        """Not possible for a function."""
        raise InvalidArgumentError(f"{self.name}: a metric made of a function cannot be saved")


def np_metric(
    numpy_feval: Callable[[np.ndarray, np.ndarray], float | tuple[float, int]],
    name: str | None = None,
    allow_extra_outputs: bool = False,
) -> CustomMetric:
    """A metric computed by a function of NumPy arrays, as ``mx.metric.np``.

    Examples
    --------
    >>> import ferromix as mx
    >>> most = mx.metric.np(lambda label, pred: float(abs(label - pred).max()), "most")
    >>> most.update([mx.nd.array([1, 2])], [mx.nd.array([1, 5])])
    >>> most.get()
    ('most', 3.0)
    """
    return CustomMetric(numpy_feval, name, allow_extra_outputs)
