"""Metrics of predicted numbers, and of losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..error import InvalidArgumentError
from ..ndarray import NDArray
from .arrays import Arrays, batches
from .base import EvalMetric, Score, alias, register

__all__ = ["MAE", "MSE", "RMSE", "Caffe", "Loss", "PearsonCorrelation", "Torch"]


class _Distance(EvalMetric):
    """The base of means of distances, of which batches count alike."""

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Accounts for one batch."""
        for label, pred in batches(self.name, labels, preds):
            columns = [x.reshape(-1, 1) if x.ndim == 1 else x for x in (label, pred)]
            try:
                apart = columns[0] - columns[1]
            except ValueError:
                raise InvalidArgumentError(
                    f"{self.name}: labels of shape {label.shape} do not fit predictions of shape "
                    f"{pred.shape}"
                ) from None
            self._add(self._distance(apart), 1)

    @staticmethod
    def _distance(apart: np.ndarray) -> float:
        raise NotImplementedError


@register
class MAE(_Distance):
    """The mean of ``abs(label - prediction)``.

    Examples
    --------
    >>> import ferromix as mx
    >>> mae = mx.metric.MAE()
    >>> mae.update([mx.nd.array([3, -0.5, 2, 7])], [mx.nd.array([2.5, 0, 2, 8])])
    >>> mae.get()
    ('mae', 0.5)
    """

    def __init__(
        self,
        name: str = "mae",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)

    @staticmethod
    def _distance(apart: np.ndarray) -> float:
        return float(np.abs(apart).mean())


@register
class MSE(_Distance):
    """The mean of ``(label - prediction) ** 2``."""

    def __init__(
        self,
        name: str = "mse",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)

    @staticmethod
    def _distance(apart: np.ndarray) -> float:
        return float((apart**2.0).mean())


@register
class RMSE(_Distance):
    """The mean over batches of the root of the mean of ``(label - prediction) ** 2``."""

    def __init__(
        self,
        name: str = "rmse",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)

    @staticmethod
    def _distance(apart: np.ndarray) -> float:
        return math.sqrt(float((apart**2.0).mean()))


@register
@alias("pearsonr")
class PearsonCorrelation(EvalMetric):
    """Pearson's correlation of labels and predictions.

    Parameters
    ----------
    average
        ``"macro"`` is the mean over batches, ``"micro"`` one value over all elements.
    """

    def __init__(
        self,
        name: str = "pearsonr",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        average: str = "macro",
    ) -> None:
        self.average = average
        super().__init__(name, output_names, label_names, average=average)

    def reset(self) -> None:
        """Forgets everything."""
        self._all = _Moments()
        super().reset()

    def reset_local(self) -> None:
        """Forgets the local account."""
        self._recent = _Moments()
        super().reset_local()

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Accounts for one batch."""
        for label, pred in batches(self.name, labels, preds):
            if label.shape != pred.shape:
                raise InvalidArgumentError(
                    f"{self.name}: labels of shape {label.shape} do not fit predictions of shape "
                    f"{pred.shape}"
                )
            pair = label.ravel().astype(np.float64), pred.ravel().astype(np.float64)
            if self.average == "macro":
                batch = _Moments()
                batch.add(*pair)
                self._add(batch.correlation(), 1)
                continue
            self._recent.add(*pair)
            self._all.add(*pair)
            self._add(0.0, 1)

    def get(self) -> Score:
        """Name and value of the local account; the value is nan while it is empty."""
        return super().get() if self.average == "macro" else (self.name, self._recent.correlation())

    def get_global(self) -> Score:
        """Name and value over everything since :meth:`reset`."""
        if self.average == "macro":
            return super().get_global()
        return self.name, self._all.correlation()


class _Moments:
    """Means, variances and the covariance of pairs that come in parts (Chan et al., 1983)."""

    def __init__(self) -> None:
        self.count, self.means = 0, np.zeros(2)
        self.squares = np.zeros((2, 2))

    def add(self, x: np.ndarray, y: np.ndarray) -> None:
        """Takes pairs in."""
        pairs = np.stack([x, y])
        if not x.size:
            return
        total, means = self.count + x.size, pairs.mean(axis=1)
        apart, rest = means - self.means, pairs - means[:, None]
        self.squares += rest @ rest.T + np.outer(apart, apart) * self.count * x.size / total
        self.means += apart * x.size / total
        self.count = total

    def correlation(self) -> float:
        """nan where one of the two does not vary."""
        spread = math.sqrt(self.squares[0, 0] * self.squares[1, 1])
        return float(self.squares[0, 1]) / spread if spread else math.nan


@register
class Loss(EvalMetric):
    """The mean of outputs that are losses; labels do not matter."""

    def __init__(
        self,
        name: str = "loss",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)

    def update(self, labels: Any, preds: Arrays) -> None:
        """Accounts for one batch."""
        for pred in [preds] if isinstance(preds, (NDArray, np.ndarray)) else preds:
            values = pred.asnumpy() if isinstance(pred, NDArray) else np.asarray(pred)
            self._add(float(values.sum(dtype=np.float64)), values.size)


@register
class Torch(Loss):
    """:class:`Loss` under an old name."""

    def __init__(
        self,
        name: str = "torch",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)


@register
class Caffe(Loss):
    """:class:`Loss` under an old name."""

    def __init__(
        self,
        name: str = "caffe",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)
