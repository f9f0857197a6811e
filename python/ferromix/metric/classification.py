"""Metrics of classifiers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..error import InvalidArgumentError
from .arrays import Arrays, batches, check_counts, class_indices
from .base import EvalMetric, Score, alias, register

__all__ = ["Accuracy", "CrossEntropy", "NegativeLogLikelihood", "Perplexity", "TopKAccuracy"]


@register
@alias("acc")
class Accuracy(EvalMetric):
    """The share of instances whose predicted class is the label.

    Parameters
    ----------
    axis
        The axis of the classes, where predictions are scores; predictions of the labels' own
        shape are taken as classes.

    Examples
    --------
    >>> import ferromix as mx
    >>> acc = mx.metric.Accuracy()
    >>> acc.update([mx.nd.array([0, 1, 1])], [mx.nd.array([[0.3, 0.7], [0, 1], [0.4, 0.6]])])
    >>> acc.get()
    ('accuracy', 0.6666666666666666)
    """

    def __init__(
        self,
        axis: int = 1,
        name: str = "accuracy",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names, axis=axis)
        self.axis = axis

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Accounts for one batch."""
        for label, pred in batches(self.name, labels, preds):
            classes = pred if pred.shape == label.shape else pred.argmax(axis=self.axis)
            said, right = classes.ravel().astype(np.int64), label.ravel().astype(np.int64)
            check_counts(self.name, right, said)
            self._add(float((said == right).sum()), right.size)


@register
@alias("top_k_accuracy", "top_k_acc")
class TopKAccuracy(EvalMetric):
    """The share of instances whose label is among the `top_k` classes of highest score.

    Of equal scores, that of the lower class counts as higher. Predictions of one axis are no
    scores: as in MXNet, the order that puts the `top_k` largest last is compared to the labels.

    Parameters
    ----------
    top_k
        At least 2; :class:`Accuracy` is for 1.
    """

    def __init__(
        self,
        top_k: int = 1,
        name: str = "top_k_accuracy",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        if top_k < 2:
            raise InvalidArgumentError(
                f"TopKAccuracy: top_k must be >= 2, got {top_k}; use Accuracy for 1"
            )
        super().__init__(f"{name}_{top_k}", output_names, label_names, top_k=top_k)
        self.top_k = top_k

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Accounts for one batch."""
        for label, pred in batches(self.name, labels, preds):
            if pred.ndim == 1:
                places = self._places(label, pred)
                self._add(float((places == label.ravel()).sum()), places.size)
                continue
            if pred.ndim != 2:
                raise InvalidArgumentError(
                    f"{self.name}: predictions must be (batch, classes), got shape {pred.shape}"
                )
            right = class_indices(self.name, label, pred)
            scores = pred.astype(np.float32)
            own = scores[np.arange(right.size), right][:, None]
            earlier = np.arange(pred.shape[1]) < right[:, None]
            better = (scores > own) | ((scores == own) & earlier)
            self._add(float((better.sum(axis=1) < self.top_k).sum()), right.size)

    def _places(self, label: np.ndarray, pred: np.ndarray) -> np.ndarray:
        """Where the numbers are with the `top_k` largest last; MXNet compares that to labels."""
        if label.size != pred.size or pred.size < self.top_k:
            raise InvalidArgumentError(
                f"{self.name}: got {label.size} labels and {pred.size} predictions of shape "
                f"(batch,), of which there must be as many, and at least {self.top_k}; are these "
                "to be (batch, classes)?"
            )
        return np.argpartition(pred.astype(np.float32), -self.top_k)


@register
@alias("ce")
class CrossEntropy(EvalMetric):
    """The mean of -log(p + eps), where p is the predicted probability of the label.

    Parameters
    ----------
    eps
        Keeps the logarithm finite.
    """

    def __init__(
        self,
        eps: float = 1e-12,
        name: str = "cross-entropy",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names, eps=eps)
        self.eps = eps

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Accounts for one batch."""
        for label, pred in batches(self.name, labels, preds):
            right = class_indices(self.name, label, pred)
            p = pred.reshape(right.size, -1)[np.arange(right.size), right]
            self._add(float(-np.log(p + self.eps).sum()), right.size)


@register
@alias("nll_loss")
class NegativeLogLikelihood(CrossEntropy):
    """The same as :class:`CrossEntropy`, under the name that statistics has for it."""

    def __init__(
        self,
        eps: float = 1e-12,
        name: str = "nll-loss",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(eps, name, output_names, label_names)


@register
class Perplexity(EvalMetric):
    """The exponential of the mean of -log(p), where p is the predicted probability of the label.

    Parameters
    ----------
    ignore_label
        A label that does not count, such as that of padding; None for none.
    axis
        The axis of the classes.

    Examples
    --------
    >>> import ferromix as mx
    >>> perplexity = mx.metric.Perplexity(ignore_label=None)
    >>> perplexity.update([mx.nd.array([0, 1])], [mx.nd.array([[0.5, 0.5], [0.75, 0.25]])])
    >>> round(perplexity.get()[1], 4)
    2.8284
    """

    def __init__(
        self,
        ignore_label: int | None,
        axis: int = -1,
        name: str = "perplexity",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names, ignore_label=ignore_label, axis=axis)
        self.ignore_label, self.axis = ignore_label, axis

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Accounts for one batch."""
        for label, pred in batches(self.name, labels, preds):
            scores = np.moveaxis(pred, self.axis, -1)
            scores, label = scores.reshape(-1, scores.shape[-1]), label.ravel()
            check_counts(self.name, label, scores)
            counted = label != self.ignore_label
            scores = scores[counted]
            right = class_indices(self.name, label[counted], scores)
            p = scores[np.arange(right.size), right]
            self._add(-float(np.log(np.maximum(p, 1e-10), dtype=np.float64).sum()), right.size)

    def get(self) -> Score:
        """Name and value of the local account; the value is nan while it is empty."""
        return self.name, _power(super().get()[1])

    def get_global(self) -> Score:
        """Name and value over everything since :meth:`reset`."""
        return self.name, _power(super().get_global()[1])


def _power(value: object) -> float:
    assert isinstance(value, float)
    return math.exp(value)
