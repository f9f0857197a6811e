"""Metrics over a training, and the picture of their curves."""

from __future__ import annotations

import io
import os
from importlib.util import find_spec
from typing import Any

from .. import files
from ..model import BatchEndParam
from .lines import require_told

__all__ = ["Curves"]

Points = tuple[list[int], list[float]]


class Curves:
    """Draws the metrics of a training and of its validation over the epochs, as a PNG.

    The picture is there after the first epoch, and drawn anew after each. It needs matplotlib.

    Parameters
    ----------
    path
        The file of the picture.
    frequent
        Batches from one point of the training's curves to the next.

    Attributes
    ----------
    train, validation
        By name of the metric, two lists: the number of batches trained on so far, and values.

    Raises
    ------
    ImportError
        Without matplotlib, when it is made.

    Examples
    --------
    >>> import ferromix as mx
    >>> curves = mx.callback.Curves("curves.png", frequent=10)
    >>> module.fit(data, validation, num_epoch=5, **curves.callback_args())  # doctest: +SKIP
    """

    def __init__(self, path: str | os.PathLike[str], frequent: int = 50) -> None:
        _require_matplotlib()
        self.path = path
        self.frequent = frequent
        self.train: dict[str, Points] = {}
        self.validation: dict[str, Points] = {}
        self._done = 0
        self._latest: list[tuple[str, float]] = []

    def callback_args(self) -> dict[str, Any]:
        """The arguments of `fit` by which this object is told of batches, epochs and scores."""
        return {
            "batch_end_callback": self.batch_end,
            "epoch_end_callback": self.epoch_end,
            "eval_end_callback": self.eval_end,
        }

    def batch_end(self, param: BatchEndParam) -> None:
        """Takes note of a batch of the training."""
        self._latest = _values(param)
        self._done += 1
        if self._done % self.frequent == 0:
            self._note(self.train, self._latest)
            self._latest = []

    def epoch_end(self, *_: Any) -> None:
        """Takes note of how the epoch ended, and draws the picture."""
        self._note(self.train, self._latest)
        self._latest = []
        self.draw()

    def eval_end(self, param: BatchEndParam) -> None:
        """Takes note of a validation, and draws the picture."""
        self._note(self.validation, _values(param))
        self.draw()

    def draw(self) -> None:
        """Writes the picture, with an axis for each metric."""
        from matplotlib.figure import Figure  # not pyplot, which has a state for all its users

        names = sorted({*self.train, *self.validation})
        figure = Figure(figsize=(8, 3 * max(1, len(names))), layout="constrained")
        all_axes = figure.subplots(max(1, len(names)), 1, squeeze=False, sharex=True)[:, 0]
        for axes, name in zip(all_axes, names, strict=False):
            for label, points, mark in (
                ("training", self.train.get(name), ""),
                ("validation", self.validation.get(name), "o"),
            ):
                if points is not None:
                    axes.plot(*points, label=label, marker=mark)
            axes.set_ylabel(name)
            axes.grid(alpha=0.3)
            axes.legend()
        all_axes[-1].set_xlabel("batches")
        picture = io.BytesIO()
        figure.savefig(picture, format="png")
        files.write(self.path, picture.getvalue())

    def _note(self, curves: dict[str, Points], values: list[tuple[str, float]]) -> None:
        for name, value in values:
            batches, found = curves.setdefault(name, ([], []))
            batches.append(self._done)
            found.append(value)


def _values(param: BatchEndParam) -> list[tuple[str, float]]:
    require_told(param)
    return [] if param.eval_metric is None else param.eval_metric.get_name_value()


def _require_matplotlib() -> None:
    """Raises ImportError, which says what to install, where matplotlib is not there."""
    if find_spec("matplotlib") is None:
        raise ImportError('Curves needs matplotlib: pip install "ferromix[plot]"')
