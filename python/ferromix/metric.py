"""Measures of how well predictions fit labels, accumulated over batches.

Each metric keeps two accounts: a local one, which callbacks may reset to see recent batches only,
and a global one over everything since :meth:`EvalMetric.reset`.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from .error import InvalidArgumentError
from .ndarray import NDArray
from .registry import Registry

__all__ = [
    "Accuracy",
    "CompositeEvalMetric",
    "CrossEntropy",
    "CustomMetric",
    "EvalMetric",
    "TopKAccuracy",
    "alias",
    "create",
    "register",
]

Arrays = NDArray | np.ndarray | Sequence[NDArray | np.ndarray]
Score = tuple[str, float] | tuple[list[str], list[float]]
_T = TypeVar("_T")


class EvalMetric:
    """The base of all metrics: a sum and a number of instances, and their quotient.

    A subclass overrides :meth:`update` and adds to the accounts with :meth:`_add`.

    Parameters
    ----------
    name
        What the value is called.
    output_names, label_names
        Which outputs and labels :meth:`update_dict` uses; all where None.
    **kwargs
        The arguments of the subclass, for :meth:`get_config`.
    """

    def __init__(
        self,
        name: str,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._kwargs = kwargs
        self.reset()

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"

    def get_config(self) -> dict[str, Any]:
        """The class, the names and the arguments, enough to create the metric again."""
        return {
            **self._kwargs,
            "metric": type(self).__name__,
            "name": self.name,
            "output_names": self.output_names,
            "label_names": self.label_names,
        }

    def reset(self) -> None:
        """Forgets everything."""
        self.global_sum_metric = 0.0
        self.global_num_inst = 0
        self.reset_local()

    def reset_local(self) -> None:
        """Forgets the local account."""
        self.sum_metric = 0.0
        self.num_inst = 0

    def update_dict(self, label: Mapping[str, NDArray], pred: Mapping[str, NDArray]) -> None:
        """Accounts for one batch, given labels and outputs by name."""
        self.update(_choose(label, self.label_names), _choose(pred, self.output_names))

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Accounts for one batch of labels and predictions, lists of equal length."""
        raise NotImplementedError(f"{type(self).__name__} must override update")

    def get(self) -> Score:
        """Name and value of the local account; the value is nan while it is empty."""
        return self.name, _quotient(self.sum_metric, self.num_inst)

    def get_global(self) -> Score:
        """Name and value over everything since :meth:`reset`."""
        return self.name, _quotient(self.global_sum_metric, self.global_num_inst)

    def get_name_value(self) -> list[tuple[str, float]]:
        """What :meth:`get` says, as pairs."""
        return _pairs(self.get())

    def get_global_name_value(self) -> list[tuple[str, float]]:
        """What :meth:`get_global` says, as pairs."""
        return _pairs(self.get_global())

    def _add(self, total: float, count: int) -> None:
        self.sum_metric += total
        self.num_inst += count
        self.global_sum_metric += total
        self.global_num_inst += count


_registry = Registry(EvalMetric, "metric")
register = _registry.register
"""Decorator that makes a class known by its name."""
alias: Callable[..., Callable[[type], type]] = _registry.alias
"""Decorator that makes a class known by further names."""


def create(metric: Any, *args: Any, **kwargs: Any) -> EvalMetric:
    """A metric from a name, a function of labels and predictions, a metric, or a list of such.

    Parameters
    ----------
    metric
        A function is called with NumPy arrays ``(label, pred)`` and returns a number, or a pair
        of a sum and a number of instances.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.metric.create("acc").name
    'accuracy'
    >>> mx.metric.create(["acc", "ce"]).get()[0]
    ['accuracy', 'cross-entropy']
    """
    if isinstance(metric, (list, tuple)):
        return CompositeEvalMetric([create(m, *args, **kwargs) for m in metric])
    if isinstance(metric, (str, EvalMetric)) or not callable(metric):
        return _registry.create(metric, *args, **kwargs)
    feval: Any = metric
    return CustomMetric(feval, *args, **kwargs)


@register
@alias("composite")
class CompositeEvalMetric(EvalMetric):
    """Several metrics kept together.

    Parameters
    ----------
    metrics
        Metrics, or what :func:`create` takes.
    """

    def __init__(
        self,
        metrics: Sequence[Any] | None = None,
        name: str = "composite",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        self.metrics = [create(m) for m in metrics or ()]
        super().__init__(name, output_names, label_names)

    def add(self, metric: Any) -> None:
        """Takes one more metric in."""
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """The metric at `index`."""
        if not 0 <= index < len(self.metrics):
            raise InvalidArgumentError(
                f"metric index {index} is out of range: there are {len(self.metrics)} metrics"
            )
        return self.metrics[index]

    def reset(self) -> None:
        """Forgets everything."""
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
        """Forgets the local accounts."""
        for metric in self.metrics:
            metric.reset_local()

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Accounts for one batch with each metric."""
        for metric in self.metrics:
            metric.update(labels, preds)

    def update_dict(self, label: Mapping[str, NDArray], pred: Mapping[str, NDArray]) -> None:
        """Accounts for one batch, given labels and outputs by name."""
        chosen = dict(_named(label, self.label_names)), dict(_named(pred, self.output_names))
        for metric in self.metrics:
            metric.update_dict(*chosen)

    def get(self) -> tuple[list[str], list[float]]:
        """Names and values of the local accounts."""
        return _columns(pair for m in self.metrics for pair in m.get_name_value())

    def get_global(self) -> tuple[list[str], list[float]]:
        """Names and values over everything since :meth:`reset`."""
        return _columns(pair for m in self.metrics for pair in m.get_global_name_value())

    def get_config(self) -> dict[str, Any]:
        """The configurations of all metrics."""
        return {**super().get_config(), "metrics": [m.get_config() for m in self.metrics]}


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
        for label, pred in _batches(self.name, labels, preds):
            classes = pred if pred.shape == label.shape else pred.argmax(axis=self.axis)
            said, right = classes.ravel().astype(np.int64), label.ravel().astype(np.int64)
            _check_counts(self.name, right, said)
            self._add(float((said == right).sum()), right.size)


@register
@alias("top_k_accuracy", "top_k_acc")
class TopKAccuracy(EvalMetric):
    """The share of instances whose label is among the `top_k` classes of highest score.

    Of equal scores, that of the lower class counts as higher.

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
        for label, pred in _batches(self.name, labels, preds):
            if pred.ndim != 2:
                raise InvalidArgumentError(
                    f"{self.name}: predictions must be (batch, classes), got shape {pred.shape}"
                )
            right = _class_indices(self.name, label, pred)
            scores = pred.astype(np.float32)
            own = scores[np.arange(right.size), right][:, None]
            earlier = np.arange(pred.shape[1]) < right[:, None]
            better = (scores > own) | ((scores == own) & earlier)
            self._add(float((better.sum(axis=1) < self.top_k).sum()), right.size)


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
        for label, pred in _batches(self.name, labels, preds):
            right = _class_indices(self.name, label, pred)
            p = pred.reshape(right.size, -1)[np.arange(right.size), right]
            self._add(float(-np.log(p + self.eps).sum()), right.size)


class CustomMetric(EvalMetric):
    """A metric computed by a function of one array of labels and one of predictions.

    Parameters
    ----------
    feval
        Called with NumPy arrays; returns a number, or a sum and a number of instances.
    name
        The name of the function where None.
    """

    def __init__(
        self,
        feval: Callable[[np.ndarray, np.ndarray], float | tuple[float, int]],
        name: str | None = None,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        if name is None:
            given: str = getattr(feval, "__name__", type(feval).__name__)
            name = f"custom({given})" if "<" in given else given
        super().__init__(name, output_names, label_names)
        self._feval = feval

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Accounts for one batch."""
        for label, pred in _batches(self.name, labels, preds):
            value = self._feval(label, pred)
            self._add(*(value if isinstance(value, tuple) else (value, 1)))

    def get_config(self) -> dict[str, Any]:
        """Not possible for a function."""
        raise InvalidArgumentError(f"{self.name}: a metric made of a function cannot be saved")


def _batches(name: str, labels: Arrays, preds: Arrays) -> list[tuple[np.ndarray, np.ndarray]]:
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


def _check_counts(name: str, label: np.ndarray, pred: np.ndarray) -> None:
    if label.shape[0] != pred.shape[0]:
        raise InvalidArgumentError(
            f"{name}: got {label.shape[0]} labels, but {pred.shape[0]} predictions"
        )


def _class_indices(name: str, label: np.ndarray, pred: np.ndarray) -> np.ndarray:
    """The labels as classes, one per row of `pred`, checked against its number of classes."""
    right = label.ravel().astype(np.int64)
    _check_counts(name, right, pred)
    classes = pred.size // max(1, right.size)
    if right.size and (right.min() < 0 or right.max() >= classes):
        raise InvalidArgumentError(
            f"{name}: labels must be in [0, {classes}), got {right.min()} to {right.max()}"
        )
    return right


def _quotient(total: float, count: int) -> float:
    return total / count if count else math.nan


def _pairs(score: Score) -> list[tuple[str, float]]:
    names, values = score
    if isinstance(names, str) or not isinstance(values, list):
        return [(names, values)]  # type: ignore[list-item]
    return list(zip(names, values, strict=True))


def _columns(pairs: Any) -> tuple[list[str], list[float]]:
    found = list(pairs)
    return [name for name, _ in found], [value for _, value in found]


def _named(arrays: Mapping[str, _T], names: Sequence[str] | None) -> OrderedDict[str, _T]:
    return OrderedDict((n, arrays[n]) for n in (arrays if names is None else names))


def _choose(arrays: Mapping[str, _T], names: Sequence[str] | None) -> list[_T]:
    return list(_named(arrays, names).values())
