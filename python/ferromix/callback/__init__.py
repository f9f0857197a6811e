"""What training loops call after each batch or epoch: progress, speed, curves, checkpoints."""

from .bar import TqdmBar
from .curves import Curves
from .lines import (
    LogValidationMetricsCallback,
    ProgressBar,
    Speedometer,
    do_checkpoint,
    log_train_metric,
    module_checkpoint,
)

__all__ = [
    "Curves",
    "LogValidationMetricsCallback",
    "ProgressBar",
    "Speedometer",
    "TqdmBar",
    "do_checkpoint",
    "log_train_metric",
    "module_checkpoint",
]
