"""Metrics by name, and several at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..error import InvalidArgumentError
from ..ndarray import NDArray
from .arrays import Arrays
from .base import EvalMetric, alias, by_name, register, registry
from .custom import CustomMetric

__all__ = ["CompositeEvalMetric", "create"]


def create(metric: Any, *args: Any, **kwargs: Any) -> EvalMetric:
    """A metric from a name, a function of labels and predictions, a metric, or a list of such.

    Names with arguments may also be in a dict, or in JSON.

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
    >>> mx.metric.create('{"metric": "topkaccuracy", "top_k": 3}').name
    'top_k_accuracy_3'
    >>> mx.metric.create(["acc", "ce"]).get()[0]
    ['accuracy', 'cross-entropy']
    """
    if isinstance(metric, (list, tuple)):
        return CompositeEvalMetric([create(m, *args, **kwargs) for m in metric])
    if isinstance(metric, (str, EvalMetric)) or not callable(metric):
        return registry.create(metric, *args, **kwargs)
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

    def update_dict(  # type: ignore[override] - MXNet's names
        self, labels: Mapping[str, NDArray], preds: Mapping[str, NDArray]
    ) -> None:
        """Accounts for one batch, given labels and outputs by name."""
        chosen = by_name(labels, self.label_names), by_name(preds, self.output_names)
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


def _columns(pairs: Any) -> tuple[list[str], list[float]]:
    found = list(pairs)
    return [name for name, _ in found], [value for _, value in found]
