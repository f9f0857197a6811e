"""Learning rates that fall with the number of updates.

A schedule is a function of the number of updates alone. No rate depends on what was asked before,
so asking twice, or for an earlier update, changes nothing; only what it has logged it does not log
again. What is counted, such as ``count``, is of the last call, and for scripts that read it.
"""

from __future__ import annotations

import logging
import reprlib
from abc import abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from math import cos, inf, pi

from .error import InvalidArgumentError

__all__ = [
    "CosineScheduler",
    "FactorScheduler",
    "LRScheduler",
    "MultiFactorScheduler",
    "PolyScheduler",
]


class LRScheduler:
    """The base of all schedules: the warm-up that precedes the schedule proper.

    Parameters
    ----------
    base_lr
        The learning rate before any reduction; an optimizer sets it to its own learning rate.
    warmup_steps
        The number of updates during which the rate grows to `base_lr`, as it was given here:
        ``warmup_final_lr``.
    warmup_begin_lr
        The rate of the first update where there is a warm-up.
    warmup_mode
        ``"linear"`` growth, or ``"constant"``: `warmup_begin_lr` until the warm-up ends.

    Raises
    ------
    InvalidArgumentError
        For an unknown mode, a negative number of steps, or a start above `base_lr`.
    """

    # The most reductions that were logged.
    _told: float = 0

    def __init__(
        self,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        name = type(self).__name__
        if warmup_mode not in ("linear", "constant"):
            raise InvalidArgumentError(
                f"{name}: warmup_mode must be 'linear' or 'constant', got {warmup_mode!r}"
            )
        if warmup_steps < 0:
            raise InvalidArgumentError(f"{name}: warmup_steps must be >= 0, got {warmup_steps}")
        if warmup_begin_lr > base_lr:
            raise InvalidArgumentError(
                f"{name}: warmup_begin_lr {warmup_begin_lr} is above base_lr {base_lr}"
            )
        self.base_lr = self.warmup_final_lr = base_lr
        self.warmup_steps = warmup_steps
        self.warmup_begin_lr = warmup_begin_lr
        self.warmup_mode = warmup_mode

    def get_warmup_lr(self, num_update: int) -> float:
        """The rate of an update within the warm-up."""
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        rise = self.warmup_final_lr - self.warmup_begin_lr
        try:
            return self.warmup_begin_lr + rise * num_update / self.warmup_steps
        except ArithmeticError:
            raise InvalidArgumentError(
                f"{type(self).__name__}: update {reprlib.repr(num_update)} is not within a warm-up "
                f"of {self.warmup_steps} updates"
            ) from None

    def __call__(self, num_update: int) -> float:
        """The learning rate of update number `num_update`, counted from 1."""
        if self.warmup_steps and num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        return self._scheduled_lr(num_update)

    def _scheduled_lr(self, num_update: int) -> float:
        raise NotImplementedError(f"{type(self).__name__} must override _scheduled_lr")

    def _tell(self, num_update: int, reductions: int, rate: float, last: float = -inf) -> float:
        """Logs a rate that was reduced more often than any before, and gives it."""
        if reductions > self._told:
            self._told = inf if rate <= last else reductions
            what = (
                "now learning rate arrived at %0.5e, will not change in the future"
                if rate <= last
                else "Change learning rate to %0.5e"
            )
            logging.info("Update[%d]: " + what, num_update, rate)
        return rate


class FactorScheduler(LRScheduler):
    """Multiplies the rate by `factor` after every `step` updates.

    Parameters
    ----------
    step
        Updates between two reductions, at least 1.
    factor
        What the rate is multiplied by, at most 1.
    stop_factor_lr
        The rate below which it does not fall.
    base_lr, warmup_steps, warmup_begin_lr, warmup_mode
        As in :class:`LRScheduler`.

    Examples
    --------
    >>> import ferromix as mx
    >>> halve = mx.lr_scheduler.FactorScheduler(step=100, factor=0.5, base_lr=0.1)
    >>> halve(100), halve(101), halve(201)
    (0.1, 0.05, 0.025)
    """

    def __init__(
        self,
        step: int,
        factor: float = 1,
        stop_factor_lr: float = 1e-8,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if step < 1:
            raise InvalidArgumentError(f"FactorScheduler: step must be >= 1, got {step}")
        _check_factor("FactorScheduler", factor)
        self.step = step
        self.factor = factor
        self.stop_factor_lr = stop_factor_lr
        self.count: float = 0

    def _scheduled_lr(self, num_update: int) -> float:
        reductions = max(0, int(-(-num_update // self.step)) - 1)
        self.count = reductions * self.step
        if reductions == 0:
            return self.base_lr
        rate = max(self.base_lr * self.factor**reductions, self.stop_factor_lr)
        return self._tell(num_update, reductions, rate, self.stop_factor_lr)


class MultiFactorScheduler(LRScheduler):
    """Multiplies the rate by `factor` after each of the given numbers of updates.

    Parameters
    ----------
    step
        Increasing numbers of updates, each at least 1.
    factor
        What the rate is multiplied by, at most 1.
    base_lr, warmup_steps, warmup_begin_lr, warmup_mode
        As in :class:`LRScheduler`.

    Examples
    --------
    >>> import ferromix as mx
    >>> steps = mx.lr_scheduler.MultiFactorScheduler([2, 5], factor=0.5, base_lr=0.1)
    >>> [steps(n) for n in (2, 3, 5, 6)]
    [0.1, 0.05, 0.05, 0.025]
    """

    def __init__(
        self,
        step: Sequence[int],
        factor: float = 1,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if not isinstance(step, Sequence) or not step:
            raise InvalidArgumentError(
                f"MultiFactorScheduler: step must be a list of numbers of updates, got {step!r}"
            )
        steps = list(step)
        if steps[0] < 1 or any(b <= a for a, b in pairwise(steps)):
            raise InvalidArgumentError(
                f"MultiFactorScheduler: step must increase and start at 1 or more, got {steps}"
            )
        _check_factor("MultiFactorScheduler", factor)
        self.step = steps
        self.factor = factor
        self.cur_step_ind = self.count = 0

    def _scheduled_lr(self, num_update: int) -> float:
        self.cur_step_ind = reductions = sum(num_update > s for s in self.step)
        self.count = self.step[reductions - 1] if reductions else 0
        return self._tell(num_update, reductions, self.base_lr * self.factor**reductions)


class _Decay(LRScheduler):
    """The base of schedules that go from the rate after the warm-up to a last one.

    The first one is ``base_lr_orig``, as the schedule was made with; that an optimizer has a
    learning rate of its own changes nothing, as in MXNet.
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float,
        final_lr: float,
        warmup_steps: int,
        warmup_begin_lr: float,
        warmup_mode: str,
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        name = type(self).__name__
        if not isinstance(max_update, int) or max_update < 1:
            raise InvalidArgumentError(
                f"{name}: max_update must be a whole number >= 1, got {max_update!r}"
            )
        self.max_update = max_update
        self.max_steps = max_update - warmup_steps
        self.final_lr = final_lr
        self.base_lr_orig = base_lr

    def _scheduled_lr(self, num_update: int) -> float:
        steps = self.max_steps
        done = (num_update - self.warmup_steps) / steps if steps > 0 else 1.0
        rest = self._rest(min(max(done, 0.0), 1.0))
        return self.final_lr + (self.base_lr_orig - self.final_lr) * rest

    @abstractmethod
    def _rest(self, done: float) -> float:
        """What is left, from 1 to 0, where a share of the updates is done."""


class PolyScheduler(_Decay):
    """Lowers the rate by a power of the share of updates that are left.

    Parameters
    ----------
    max_update
        The update from which on the rate is `final_lr`.
    base_lr, final_lr
        The first rate, and the last. An optimizer's ``learning_rate`` does not replace the first.
    pwr
        The power.
    warmup_steps, warmup_begin_lr, warmup_mode
        As in :class:`LRScheduler`; the warm-up's updates are among `max_update`.

    Examples
    --------
    >>> import ferromix as mx
    >>> fall = mx.lr_scheduler.PolyScheduler(max_update=4, base_lr=0.5)
    >>> [fall(n) for n in (0, 2, 4, 9)]
    [0.5, 0.125, 0.0, 0.0]
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        pwr: float = 2,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.power = pwr

    def _rest(self, done: float) -> float:
        return (1 - done) ** self.power


class CosineScheduler(_Decay):
    """Lowers the rate along half a wave of the cosine (I. Loshchilov and F. Hutter, 2017).

    Parameters
    ----------
    max_update
        The update from which on the rate is `final_lr`.
    base_lr, final_lr
        The first rate, and the last. An optimizer's ``learning_rate`` does not replace the first.
    warmup_steps, warmup_begin_lr, warmup_mode
        As in :class:`LRScheduler`; the warm-up's updates are among `max_update`.
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)

    def _rest(self, done: float) -> float:
        return (1 + cos(pi * done)) / 2


def _check_factor(name: str, factor: float) -> None:
    if factor > 1:
        raise InvalidArgumentError(f"{name}: factor must be <= 1 to lower the rate, got {factor}")
