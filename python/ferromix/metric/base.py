"""The base of all metrics: accounts of sums and counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from ..base import require_kind
from ..ndarray import NDArray
from ..registry import Registry
from .arrays import Arrays

__all__ = ["EvalMetric", "Score", "alias", "by_name", "register", "registry"]

Score = tuple[str, float] | tuple[list[str], list[float]]
_T = TypeVar("_T")

_ZERO = np.float64(0.0)
"""Where sums begin: a float of Python and a single of NumPy would add up to a single."""


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
        kwargs.pop("has_global_stats", None)  # found out, see get_global
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
        self.global_sum_metric = _ZERO
        self.global_num_inst = 0
        self.reset_local()

    def reset_local(self) -> None:
        """Forgets the local account."""
        self.sum_metric = _ZERO
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
        """Name and value over everything since :meth:`reset`.

        Of a subclass that keeps no global account, by a `reset` or an `update` of its own, it is
        what :meth:`get` says.
        """
        if not getattr(self, "global_num_inst", 0):
            return self.get()
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


registry = Registry(EvalMetric, "metric")
register = registry.register
"""Decorator that makes a class known by its name."""
alias: Callable[..., Callable[[type], type]] = registry.alias
"""Decorator that makes a class known by further names."""


def by_name(arrays: Mapping[str, _T], names: Sequence[str] | None) -> dict[str, _T]:
    """The arrays of the given names, or all."""
    require_kind("arrays of a metric by name", arrays, Mapping, "a dict")
    return {name: arrays[name] for name in (arrays if names is None else names)}


def _choose(arrays: Mapping[str, _T], names: Sequence[str] | None) -> list[_T]:
    return list(by_name(arrays, names).values())


def _quotient(total: float, count: int) -> float:
    found = total / count if count else math.nan
    return float(found) if isinstance(found, np.floating) else found


def _pairs(score: Score) -> list[tuple[str, float]]:
    names, values = score
    if isinstance(names, str) or not isinstance(values, list):
        return [(names, values)]  # type: ignore[list-item]
    return list(zip(names, values, strict=True))
