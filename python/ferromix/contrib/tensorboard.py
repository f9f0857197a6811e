"""Metrics as event files, whose curves TensorBoard shows."""

from __future__ import annotations

import importlib
import os
from typing import Any

from ..model import BatchEndParam

__all__ = ["LogMetricsCallback"]

_WRITERS = ("tensorboardX", "mxboard", "torch.utils.tensorboard")


class LogMetricsCallback:
    """Writes the metric to event files, at the end of batches, epochs of validation, or both.

    It needs tensorboardX, mxboard, or PyTorch with TensorBoard.

    Parameters
    ----------
    logging_dir
        The folder of the files; ``tensorboard --logdir`` of it, or of a folder above, shows them.
    prefix
        Goes before the metric's name, with a hyphen. TensorBoard puts curves of one name into one
        picture, so training and validation go to folders of their own without one.

    Attributes
    ----------
    summary_writer
        What writes; its ``close()`` completes the files.

    Raises
    ------
    ImportError
        Where nothing that writes event files is there.

    Examples
    --------
    >>> import ferromix as mx
    >>> log = mx.contrib.tensorboard.LogMetricsCallback("logs/train")  # doctest: +SKIP
    >>> module.fit(data, num_epoch=5, batch_end_callback=log)  # doctest: +SKIP
    """

    def __init__(self, logging_dir: str | os.PathLike[str], prefix: str | None = None) -> None:
        self.prefix = prefix
        self.summary_writer = _writer()(os.fspath(logging_dir))

    def __call__(self, param: BatchEndParam) -> None:
        """Writes the values of the metric, at the number of the epoch."""
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            tag = name if self.prefix is None else f"{self.prefix}-{name}"
            self.summary_writer.add_scalar(tag, value, global_step=param.epoch)


def _writer() -> Any:
    """The class of the first package there is that writes event files."""
    for name in _WRITERS:
        try:
            return importlib.import_module(name).SummaryWriter
        except ImportError:
            continue
    raise ImportError(
        "LogMetricsCallback needs a package that writes event files: "
        'pip install "ferromix[tensorboard]" brings tensorboardX'
    )
