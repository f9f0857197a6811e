"""Learning rates by the norms of weights and gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import ndarray as nd
from ..ndarray import NDArray
from ..ops.storage import DENSE
from .rule import Index, register
from .sgd import SGD

__all__ = ["LARS"]


@register
class LARS(SGD):
    r"""SGD with layer-wise adaptive rates (Y. You and others, 2017).

    As :class:`SGD`, but with the learning rate times

    .. math:: \frac{\eta |w|}{|g| + wd |w| + \epsilon}

    where neither the weight w nor the rescaled gradient g is 0; parameters whose names end in
    gamma, beta or bias keep their rates. Only those that end in ``_weight`` are decayed.

    Parameters
    ----------
    momentum
        The share of the last step that is kept; without it there is no state.
    lazy_update
        As in :class:`SGD`.
    eta
        The factor of the rates.
    eps
        Keeps the quotient finite.
    momentum_correction
        Whether the momentum grows and shrinks with the learning rate.
    **kwargs
        As in :class:`Optimizer`.
    """

    _counted = (*SGD._counted, "_last_rates")

    def __init__(
        self,
        momentum: float = 0.0,
        lazy_update: bool = True,
        eta: float = 0.001,
        eps: float = 0,
        momentum_correction: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(momentum=momentum, lazy_update=lazy_update, **kwargs)
        self.eta = eta
        self.eps = eps
        self.momentum_correction = momentum_correction
        self._last_rates: dict[Index, float] = {}
        self._rate = 0.0

    def set_wd_mult(self, args_wd_mult: Mapping[Index, float]) -> None:
        """Sets multipliers of the weight decay by index or name, over those of the symbol."""
        names = self.idx2name.values()
        fixed: dict[Index, float] = {n: 0.0 for n in names if not n.endswith("_weight")}
        super().set_wd_mult({**fixed, **self._symbol_multipliers("__wd_mult__"), **args_wd_mult})

    def _get_lrs(self, indices: Sequence[Index]) -> list[float]:
        self._rate = self.learning_rate
        return [self._rate * factor for factor in self._multipliers("lr_mult", indices)]

    def _step(
        self,
        index: Index,
        attrs: dict[str, Any],
        weight: NDArray,
        grad: NDArray,
        momentum: NDArray | None,
        copy: NDArray | None,
    ) -> None:
        lrs, wds = (nd.array([attrs.pop(a)], ctx=weight.context) for a in ("lr", "wd"))
        if not self._name(index).endswith(("gamma", "beta", "bias")):
            size, slope = (nd.multi_sum_sq(a, num_arrays=1) for a in (weight, grad))
            scale = {"eta": self.eta, "eps": self.eps, "rescale_grad": self.rescale_grad}
            lrs = nd.multi_lars(lrs, size, slope, wds, **scale)
        if momentum is not None:
            attrs["momentum"] = self._corrected(index)
        if weight.stype != DENSE or grad.stype != DENSE:
            attrs |= {"lr": lrs.asscalar(), "wd": wds.asscalar()}
            self._descend(weight, grad, momentum, copy, attrs)
            return
        states = [s for s in (momentum, copy) if s is not None]
        step = {
            (False, False): nd.preloaded_multi_sgd_update,
            (True, False): nd.preloaded_multi_sgd_mom_update,
            (False, True): nd.preloaded_multi_mp_sgd_update,
            (True, True): nd.preloaded_multi_mp_sgd_mom_update,
        }[momentum is not None, copy is not None]
        step(weight, grad, *states, lrs, wds, out=weight, num_weights=1, **attrs)

    def _name(self, index: Index) -> str:
        return self.idx2name.get(index, str(index)) if isinstance(index, int) else index

    def _corrected(self, index: Index) -> float:
        """The momentum, times by how much the rate grew since the parameter's last update."""
        rate = self._rate
        last = self._last_rates.get(index, rate)
        self._last_rates[index] = rate
        corrected = self.momentum_correction and last != 0
        return self.momentum * rate / last if corrected else self.momentum
