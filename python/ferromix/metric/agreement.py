"""Metrics of classifiers by their confusion: what was said, against what is right."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ..error import InvalidArgumentError
from ..literal import brief
from .arrays import Arrays, batches, check_counts
from .base import EvalMetric, Score, register

__all__ = ["F1", "MCC", "PCC"]


class _Binary(EvalMetric):
    """The base of metrics of two classes: positive ones and others.

    Parameters
    ----------
    average
        ``"macro"`` is the mean over batches, ``"micro"`` one value over all samples.
    """

    score: Callable[[np.ndarray], float]
    """The value for counts, of which the first index is the label and the second what was said."""

    def __init__(
        self,
        name: str,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        average: str = "macro",
    ) -> None:
        self.average = average
        super().__init__(name, output_names, label_names, average=average)

    def reset(self) -> None:
        """Forgets everything."""
        self._all = np.zeros((2, 2), np.int64)
        super().reset()

    def reset_local(self) -> None:
        """Forgets the local account."""
        self._recent = np.zeros((2, 2), np.int64)
        super().reset_local()

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Accounts for one batch."""
        counts = np.zeros((2, 2), np.int64)
        for label, pred in batches(self.name, labels, preds):
            counts += _counts(self.name, self._positive(label), _classes(pred) == 1)
        if self.average == "macro":
            self._add(self.score(counts), 1)
            return
        self._recent += counts
        self._all += counts
        self.num_inst, self.global_num_inst = int(self._recent.sum()), int(self._all.sum())
        self.sum_metric = self.score(self._recent) * self.num_inst
        self.global_sum_metric = self.score(self._all) * self.global_num_inst

    def _positive(self, label: np.ndarray) -> np.ndarray:
        """Which labels are 1; others may be any number, such as -1 or 0.

        Raises
        ------
        InvalidArgumentError
            More than two different labels.
        """
        found = np.unique(label.astype(np.int64))
        if found.size > 2:
            raise InvalidArgumentError(
                f"{self.name}: labels must be 1 or one other number, got {brief(found.tolist())}"
            )
        return label.astype(np.int64) == 1


@register
class F1(_Binary):
    """The harmonic mean of precision and recall of the class 1 of two.

    Parameters
    ----------
    average
        ``"macro"`` is the mean over batches, ``"micro"`` one value over all samples.

    Examples
    --------
    >>> import ferromix as mx
    >>> f1 = mx.metric.F1()
    >>> f1.update([mx.nd.array([0, 1, 1])], [mx.nd.array([[0.3, 0.7], [0, 1], [0.4, 0.6]])])
    >>> f1.get()
    ('f1', 0.8)
    """

    def __init__(
        self,
        name: str = "f1",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        average: str = "macro",
    ) -> None:
        super().__init__(name, output_names, label_names, average)

    @staticmethod
    def score(counts: np.ndarray) -> float:
        """``2 * precision * recall / (precision + recall)``, 0 where nothing is right."""
        right, all_of_it = counts[1, 1], counts[1].sum() + counts[:, 1].sum()
        return float(2 * right / all_of_it) if right else 0.0


@register
class MCC(_Binary):
    """Matthews' correlation coefficient of two classes (B. W. Matthews, 1975).

    Parameters
    ----------
    average
        ``"macro"`` is the mean over batches, ``"micro"`` one value over all samples.
    """

    def __init__(
        self,
        name: str = "mcc",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        average: str = "macro",
    ) -> None:
        super().__init__(name, output_names, label_names, average)

    @staticmethod
    def score(counts: np.ndarray) -> float:
        """The determinant of the counts over the root of all sums that are not 0."""
        (tn, fp), (fn, tp) = counts.tolist()
        sums = [n for n in (tp + fp, tp + fn, tn + fp, tn + fn) if n]
        return (tp * tn - fp * fn) / math.sqrt(math.prod(sums))


@register
class PCC(EvalMetric):
    """The correlation of labels and predicted classes, of any number (J. Gorodkin, 2004).

    One value over all samples; of two classes it is :class:`MCC`.

    Parameters
    ----------
    has_global_stats
        Whether there is a global account.
    """

    def __init__(
        self,
        name: str = "pcc",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        has_global_stats: bool = True,
    ) -> None:
        self._has_global = has_global_stats
        super().__init__(name, output_names, label_names)

    @property
    def sum_metric(self) -> float:
        """The correlation times the number of updates of the local account, as MXNet counts."""
        return _correlation(self._recent) * self.num_inst if self.num_inst else 0.0

    @property
    def global_sum_metric(self) -> float:
        """The same of the global account."""
        return _correlation(self._all) * self.global_num_inst if self.global_num_inst else 0.0

    def reset(self) -> None:
        """Forgets everything."""
        self._all = np.zeros((2, 2), np.int64)
        self.global_num_inst = 0.0
        self.reset_local()

    def reset_local(self) -> None:
        """Forgets the local account."""
        self._recent = np.zeros((2, 2), np.int64)
        self.num_inst = 0.0

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Accounts for one batch."""
        for label, pred in batches(self.name, labels, preds):
            counts = _counts(self.name, label, _classes(pred))
            self._recent = _sum(self._recent, counts)
            self._all = _sum(self._all, counts) if self._has_global else self._all
        self.num_inst += 1
        self.global_num_inst += 1

    def get_global(self) -> Score:
        """Name and value over everything, or what :meth:`get` says without a global account."""
        return super().get_global() if self._has_global else self.get()


def _classes(pred: np.ndarray) -> np.ndarray:
    """Classes, of scores those with the highest."""
    return (pred.argmax(axis=1) if pred.ndim > 1 else pred).ravel().astype(np.int64)


def _counts(name: str, label: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """How often each class was taken for each, of two classes at least.

    Raises
    ------
    InvalidArgumentError
        Classes below 0.
    """
    right, said = label.ravel().astype(np.int64), classes.astype(np.int64)
    check_counts(name, right, said)
    size = max(int(right.max(initial=1)), int(said.max(initial=1))) + 1
    if min(right.min(initial=0), said.min(initial=0)) < 0:
        raise InvalidArgumentError(f"{name}: labels and classes must not be negative")
    return np.bincount(right * size + said, minlength=size * size).reshape(size, size)


def _sum(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Counts of both, of as many classes as either has."""
    size = max(len(one), len(other))
    total = np.zeros((size, size), np.int64)
    total[: len(one), : len(one)] += one
    total[: len(other), : len(other)] += other
    return total


def _correlation(counts: np.ndarray) -> float:
    """The covariance of what is right and what was said over the root of both variances."""
    total = counts.sum()
    right, said = counts.sum(axis=1), counts.sum(axis=0)
    variances = float((right * (total - right)).sum()) * float((said * (total - said)).sum())
    if variances == 0:
        return math.nan
    return float((np.diag(counts) * total - right * said).sum()) / math.sqrt(variances)
