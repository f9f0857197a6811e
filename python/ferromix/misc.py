"""The first schedules of learning rates, which :mod:`ferromix.lr_scheduler` replaced.

Scripts of MXNet's first versions import them from here. They count iterations from 0, and know
nothing of warm-ups.
"""

from __future__ import annotations

import logging

from .error import InvalidArgumentError

__all__ = ["FactorScheduler", "LearningRateScheduler"]


class LearningRateScheduler:
    """The base of these schedules: a function from the number of iterations to a rate.

    Attributes
    ----------
    base_lr
        The rate before any reduction.
    """

    def __init__(self) -> None:
        self.base_lr = 0.01

    def __call__(self, iteration: int) -> float:
        """The learning rate of an iteration."""
        raise NotImplementedError(f"{type(self).__name__} must override __call__")


class FactorScheduler(LearningRateScheduler):
    """Multiplies the rate by `factor` after every `step` iterations.

    Parameters
    ----------
    step
        Iterations between two reductions, at least 1.
    factor
        What the rate is multiplied by, below 1.

    Raises
    ------
    InvalidArgumentError
        For a step below 1, or a factor that does not lower the rate.

    Examples
    --------
    >>> from ferromix.misc import FactorScheduler
    >>> halve = FactorScheduler(step=2, factor=0.5)
    >>> [halve(n) for n in range(5)]
    [0.01, 0.01, 0.005, 0.005, 0.0025]
    """

    def __init__(self, step: int, factor: float = 0.1) -> None:
        super().__init__()
        if step < 1:
            raise InvalidArgumentError(f"FactorScheduler: step must be >= 1, got {step}")
        if factor >= 1:
            raise InvalidArgumentError(
                f"FactorScheduler: factor must be below 1 to lower the rate, got {factor}"
            )
        self.step = step
        self.factor = factor
        self.old_lr = self.base_lr
        self.init = False

    def __call__(self, iteration: int) -> float:
        """The learning rate of an iteration; one that differs from the last is logged."""
        if not self.init:
            self.init, self.old_lr = True, self.base_lr
        rate = self.base_lr * self.factor ** (iteration // self.step)
        if rate != self.old_lr:
            self.old_lr = rate
            logging.info("At Iteration [%d]: Change learning rate to %.5f", iteration, rate)
        return rate
