"""What logs lines after a batch or an epoch, and saves checkpoints."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from ..error import ArgumentTypeError, InvalidArgumentError
from ..metric import EvalMetric
from ..model import BatchEndParam, save_checkpoint
from ..ndarray import NDArray
from ..symbol import Symbol

__all__ = [
    "LogValidationMetricsCallback",
    "ProgressBar",
    "Speedometer",
    "do_checkpoint",
    "log_train_metric",
    "module_checkpoint",
    "require_told",
]

EpochEnd = Callable[[int, Symbol, Mapping[str, NDArray], Mapping[str, NDArray]], None]


def do_checkpoint(prefix: str | os.PathLike[str], period: int = 1) -> EpochEnd:
    """An epoch-end callback that saves a checkpoint after every `period` epochs.

    The file of the first epoch has the number 1.
    """
    period = _period("do_checkpoint", period)

    def save(
        epoch: int,
        symbol: Symbol,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray],
    ) -> None:
        if (epoch + 1) % period == 0:
            save_checkpoint(prefix, epoch + 1, symbol, arg_params, aux_params)

    return save


def module_checkpoint(
    mod: Any, prefix: str | os.PathLike[str], period: int = 1, save_optimizer_states: bool = False
) -> Callable[..., None]:
    """An epoch-end callback that has a module save itself after every `period` epochs.

    Parameters
    ----------
    mod
        What has ``save_checkpoint(prefix, epoch, save_optimizer_states)``.
    prefix
        The beginning of the files' names.
    period
        Epochs from one checkpoint to the next.
    save_optimizer_states
        Whether what the optimizer remembers is saved, too.
    """
    period = _period("module_checkpoint", period)

    def save(epoch: int, *_: Any) -> None:
        if (epoch + 1) % period == 0:
            mod.save_checkpoint(prefix, epoch + 1, save_optimizer_states)

    return save


def _period(what: str, period: float) -> int:
    if isinstance(period, float) and not math.isfinite(period):
        raise InvalidArgumentError(f"{what}: period must be a number of epochs, got {period}")
    return max(1, int(period))


def log_train_metric(period: int, auto_reset: bool = False) -> Callable[[BatchEndParam], None]:
    """A batch-end callback that logs the metric every `period` batches.

    Parameters
    ----------
    auto_reset
        Whether each line tells of the batches since the last one only.
    """

    def log(param: BatchEndParam) -> None:
        require_told(param)
        if param.nbatch % period == 0 and param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                logging.info(
                    "Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value
                )
            if auto_reset:
                param.eval_metric.reset_local()

    return log


def require_told(param: Any) -> None:
    """Refuses what says nothing of a batch."""
    if not all(hasattr(param, name) for name in ("epoch", "nbatch", "eval_metric")):
        raise ArgumentTypeError(
            f"a batch-end callback takes a BatchEndParam, got {type(param).__name__}"
        )


class Speedometer:
    """Logs samples per second, and the metric, every `frequent` batches.

    Parameters
    ----------
    batch_size
        Samples per batch.
    frequent
        Batches per line.
    auto_reset
        Whether each line tells of the metric since the last one only.
    """

    def __init__(self, batch_size: int, frequent: int = 50, auto_reset: bool = True) -> None:
        self.batch_size = batch_size
        self.frequent = frequent
        self.auto_reset = auto_reset
        self._since: float | None = None
        self._last = 0

    def __call__(self, param: BatchEndParam) -> None:
        """Takes note of one batch."""
        require_told(param)
        count = param.nbatch
        if count < self._last:
            self._since = None
        self._last = count
        if self._since is None:
            self._since = time.perf_counter()
        elif count % self.frequent == 0:
            elapsed = time.perf_counter() - self._since
            speed = self.frequent * self.batch_size / elapsed if elapsed else float("inf")
            self._report(param, speed)
            self._since = time.perf_counter()

    def _report(self, param: BatchEndParam, speed: float) -> None:
        epoch, last, told = param.epoch, param.nbatch, f"Speed: {speed:.2f} samples/sec"
        metric: EvalMetric | None = param.eval_metric
        if metric is None:
            logging.info("Iter[%d] Batch [%d]\t%s", epoch, last, told)
            return
        told += "".join(f"\t{name}={value:f}" for name, value in metric.get_name_value())
        first = last - self.frequent if self.auto_reset else 0
        logging.info("Epoch[%d] Batch [%d-%d]\t%s", epoch, first, last, told)
        if self.auto_reset:
            metric.reset_local()


class LogValidationMetricsCallback:
    """Logs the metric of a validation at the end of an epoch."""

    def __call__(self, param: BatchEndParam) -> None:
        """Logs one line for each name."""
        require_told(param)
        if param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)


class ProgressBar:
    """Logs how much of an epoch is done, as a bar of characters after each batch.

    :class:`TqdmBar` draws one that stays in its line, with the speed and the metric.

    Parameters
    ----------
    total
        Batches per epoch.
    length
        Characters of the bar.

    Examples
    --------
    >>> import ferromix as mx
    >>> bar = mx.callback.ProgressBar(total=2, length=10)
    >>> bar(mx.model.BatchEndParam(epoch=0, nbatch=1, eval_metric=None, locals=None))
    """

    def __init__(self, total: int, length: int = 80) -> None:
        self.bar_len = length
        self.total = total

    def __call__(self, param: BatchEndParam) -> None:
        """Logs one line."""
        require_told(param)
        done = round(self.bar_len * param.nbatch / float(self.total))
        bar = "=" * done + "-" * (self.bar_len - done)
        # Multiplied first, for no more than 110 % where 11 of 10 are done.
        logging.info("[%s] %s%%\r", bar, math.ceil(100.0 * param.nbatch / float(self.total)))
