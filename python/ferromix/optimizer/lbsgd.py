"""Gradient descent by large batches."""

from __future__ import annotations

import logging
import math
from typing import Any, Literal

from .. import ndarray as nd
from ..ndarray import NDArray
from .rule import Index, Optimizer, register, zeros

__all__ = ["LBSGD"]

Strategy = Literal["linear", "power2", "sqrt", "lars"]


@register
class LBSGD(Optimizer):
    r"""SGD for large batches, whose learning rate is warmed up (P. Goyal and others, 2017).

    Gradients of `batch_scale` updates are averaged before the weight changes, and the rate is
    multiplied by what grows from 1 to `batch_scale` during the first epochs. With the strategy
    ``"lars"`` the multiplier is instead, within 0.01 and 100,

    .. math:: \sqrt{\frac{|w|^2}{|g|^2 + wd |w|^2}}

    for the averaged gradient g, which is read for that.

    Parameters
    ----------
    momentum
        The share of the last step that is kept; without it there is no state.
    multi_precision
        Whether parameters in float16 or bfloat16 are updated through a copy in float32.
    warmup_strategy
        ``"linear"``, ``"power2"``, ``"sqrt"`` or ``"lars"``.
    warmup_epochs
        How many epochs the multiplier grows.
    batch_scale
        How many gradients make a step.
    updates_per_epoch
        How many gradients are an epoch.
    begin_epoch
        The epoch that training starts from.
    num_epochs
        Accepted as in MXNet, which does not use it either.
    **kwargs
        As in :class:`Optimizer`.
    """

    _counted = (*Optimizer._counted, "_counts", "_sums")

    def __init__(
        self,
        momentum: float = 0.0,
        multi_precision: bool = False,
        warmup_strategy: Strategy = "linear",
        warmup_epochs: int = 5,
        batch_scale: int = 1,
        updates_per_epoch: int = 32,
        begin_epoch: int = 0,
        num_epochs: int = 60,
        **kwargs: Any,
    ) -> None:
        super().__init__(multi_precision=multi_precision, **kwargs)
        logging.info("Running Large-Batch SGD Algorithm")
        logging.info(
            "(Batch_scale=%f, warmup_epochs=%d, warmup_strategy=%s, updates_per_epoch=%d)",
            *(batch_scale, warmup_epochs, warmup_strategy, updates_per_epoch),
        )
        self.momentum = momentum
        self.warmup_strategy = warmup_strategy
        self.warmup_epochs = warmup_epochs
        self.batch_scale = batch_scale
        self.updates_per_epoch = updates_per_epoch
        self.init_updates = begin_epoch * updates_per_epoch
        self.num_epochs = num_epochs
        self._counts: dict[Index, int] = {}
        self._sums: dict[Index, NDArray] = {}

    def create_state(self, index: Index, weight: NDArray) -> NDArray | None:
        """Zeros for the momentum, or None without it."""
        return None if self.momentum == 0.0 else zeros(weight)

    def update(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Remembers the gradient, or changes `weight` and its momentum in `state`."""
        attrs = self._common_attrs(index)  # MXNet asks the schedule before it counts the update.
        self._update_count(index)
        count = self._counts.get(index, self.init_updates) + 1
        self._counts[index] = count
        before = self._sums.get(index)
        self._sums[index] = _added(before, grad)
        if count % self.batch_scale:
            return
        mean = self._sums.pop(index) / self.batch_scale
        if self.warmup_strategy == "lars":
            attrs["lr"] *= _trust(weight, mean, attrs["wd"])
        else:
            attrs["lr"] *= self._multiplier_at(count)
        if state is None:
            nd.sgd_update(weight, mean, out=weight, **attrs)
        else:
            nd.sgd_mom_update(weight, mean, state, out=weight, momentum=self.momentum, **attrs)

    def _multiplier_at(self, count: int) -> float:
        warm = self.warmup_epochs * self.updates_per_epoch
        if count >= warm:
            return float(self.batch_scale)
        done = count / warm
        share = {"linear": done, "power2": done**2, "sqrt": math.sqrt(done)}
        return 1 + (self.batch_scale - 1) * share.get(self.warmup_strategy, 0.0)


def _added(before: NDArray | None, grad: NDArray) -> NDArray:
    """The sum with one gradient more; one that was loaded comes from another device."""
    return grad.copy() if before is None else before.as_in_context(grad.context) + grad


def _trust(weight: NDArray, grad: NDArray, wd: float) -> float:
    """The ratio of the norms, within bounds."""
    w, g = (float(nd.multi_sum_sq(a, num_arrays=1).asscalar()) for a in (weight, grad))
    return min(max(math.sqrt(w / (g + wd * w + 1e-18)), 0.01), 100.0)
