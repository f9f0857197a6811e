"""Trainings whose log lines Ferromix and MXNet write alike: each gives what was logged."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

NUMBER = re.compile(r"(Speed: )[\d.]+|(Time cost=)[\d.]+")


class _Lines(logging.Handler):
    """Keeps level, logger and text, without what a clock says."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[list[str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = NUMBER.sub(lambda m: f"{m[1] or m[2]}*", record.getMessage())
        self.lines.append([record.levelname, record.name, text])


def logged(run: Callable[[Any, Path], None], mx: Any, folder: Path) -> list[list[str]]:
    """What is logged to the root while something runs; paths are written without their folder."""
    root, handler = logging.getLogger(), _Lines()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        run(mx, folder)
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    return [[*where, text.replace(f"{folder}/", "")] for *where, text in handler.lines]


def module(mx: Any) -> Any:
    """A small network on samples, and its fixed first parameters."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    return mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))


def samples(mx: Any, count: int = 20) -> Any:
    random = np.random.RandomState(0)
    data = random.standard_normal((count, 4)).astype("float32")
    return mx.io.NDArrayIter(data, (np.arange(count) % 3).astype("float32"), 4)


def trained(mx: Any, **words: Any) -> Any:
    """Fits for two epochs."""
    net = words.pop("net", None) or module(mx)
    weight = np.linspace(-1, 1, 12).reshape(3, 4)
    net.fit(
        samples(mx),
        num_epoch=2,
        arg_params={"fc_weight": mx.nd.array(weight), "fc_bias": mx.nd.zeros((3,))},
        eval_metric=["acc", "ce"],
        optimizer_params={"learning_rate": 0.1},
        **words,
    )
    return net


def speed(mx: Any, folder: Path) -> None:
    trained(mx, batch_end_callback=mx.callback.Speedometer(4, 2))


def speed_without_metric(mx: Any, folder: Path) -> None:
    tell = mx.callback.Speedometer(4, 2)
    for number in range(4):
        tell(mx.model.BatchEndParam(1, number, None, None))


def rates(mx: Any, folder: Path) -> None:
    schedulers = mx.lr_scheduler
    falling = schedulers.FactorScheduler(2, 0.5, stop_factor_lr=0.3, base_lr=1.0)
    stepped = schedulers.MultiFactorScheduler([2, 4], 0.5, base_lr=1.0, warmup_steps=3)
    for scheduler in (falling, stepped):
        for update in (1, 2, 3, 3, 4, 5, 6):
            scheduler(update)


def speed_of_all(mx: Any, folder: Path) -> None:
    trained(mx, batch_end_callback=mx.callback.Speedometer(4, 2, auto_reset=False))


def metric_of_training(mx: Any, folder: Path) -> None:
    trained(mx, batch_end_callback=mx.callback.log_train_metric(2))


def metric_of_training_anew(mx: Any, folder: Path) -> None:
    trained(mx, batch_end_callback=mx.callback.log_train_metric(2, auto_reset=True))


def metric_of_validation(mx: Any, folder: Path) -> None:
    trained(
        mx,
        eval_data=samples(mx, 12),
        eval_end_callback=mx.callback.LogValidationMetricsCallback(),
        eval_batch_end_callback=mx.callback.Speedometer(4, 1),
        validation_metric="acc",
    )


def bar(mx: Any, folder: Path) -> None:
    trained(mx, batch_end_callback=[mx.callback.ProgressBar(5, 30)])


def checkpoints(mx: Any, folder: Path) -> None:
    trained(mx, epoch_end_callback=mx.callback.do_checkpoint(str(folder / "net")))


def checkpoints_of_a_module(mx: Any, folder: Path) -> None:
    net = module(mx)
    save = mx.callback.module_checkpoint(net, str(folder / "net"), 2, True)
    trained(mx, net=net, epoch_end_callback=save)


def monitored(mx: Any, folder: Path) -> None:
    # Not the gradient of the data, which is whatever was in memory in MXNet.
    monitor = mx.mon.Monitor(3, pattern=".*fc_(?!backward_output0).*|softmax_output", sort=True)
    trained(mx, monitor=monitor)


def monitored_with_a_statistic(mx: Any, folder: Path) -> None:
    monitor = mx.mon.Monitor(4, lambda a: [mx.nd.max(a), mx.nd.min(a)], ".*weight|fc_output")
    trained(mx, monitor=monitor)


def _fed_forward(mx: Any, fit: dict[str, Any], **words: Any) -> None:
    """The oldest way to train, for two epochs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        weight = mx.nd.array(np.linspace(-1, 1, 12).reshape(3, 4))
        net = mx.model.FeedForward(
            module(mx).symbol,
            num_epoch=2,
            arg_params={"fc_weight": weight, "fc_bias": mx.nd.zeros(3)},
            learning_rate=0.5,
            **words,
        )
    net.fit(samples(mx), **fit)


def feed_forward(mx: Any, folder: Path) -> None:
    fit = {"batch_end_callback": mx.callback.Speedometer(4, 2), "eval_data": samples(mx, 12)}
    _fed_forward(mx, {**fit, "eval_metric": ["acc", "ce"]})


def feed_forward_by_batches(mx: Any, folder: Path) -> None:
    save = mx.callback.do_checkpoint(str(folder / "net"))
    tell = mx.callback.log_train_metric(3)
    fit = {"epoch_end_callback": save, "batch_end_callback": [tell], "eval_data": samples(mx, 8)}
    fit["eval_end_callback"] = lambda told: logging.info("%d scored", told.nbatch)
    _fed_forward(mx, fit, epoch_size=7)


def feed_forward_monitored(mx: Any, folder: Path) -> None:
    _fed_forward(mx, {"monitor": mx.mon.Monitor(2, pattern=".*weight")}, epoch_size=3)


SCENARIOS = [
    speed,
    speed_without_metric,
    rates,
    speed_of_all,
    metric_of_training,
    metric_of_training_anew,
    metric_of_validation,
    bar,
    checkpoints,
    checkpoints_of_a_module,
    monitored,
    monitored_with_a_statistic,
    feed_forward,
    feed_forward_by_batches,
    feed_forward_monitored,
]
