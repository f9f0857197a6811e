"""A bar that stays in its line while an epoch is trained."""

from __future__ import annotations

from typing import Any

from ..model import BatchEndParam
from .lines import require_told

__all__ = ["TqdmBar"]


class TqdmBar:
    """Shows each epoch as a bar of tqdm, with samples per second and the metric.

    Parameters
    ----------
    total
        Batches per epoch. By default what the epoch before had, and in the first epoch what the
        iterator that `fit` trains on says of itself.
    batch_size
        Samples per batch, by default those of the batch.
    **kwargs
        Passed on to :class:`tqdm.tqdm`.

    Examples
    --------
    >>> import ferromix as mx
    >>> net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(num_hidden=2), name="softmax")
    >>> data = mx.io.NDArrayIter(mx.nd.ones((8, 3)), mx.nd.zeros((8,)), 2)
    >>> bar = mx.callback.TqdmBar(disable=True)
    >>> mx.mod.Module(net, ["data"]).fit(data, num_epoch=1, batch_end_callback=bar)
    """

    def __init__(
        self, total: int | None = None, batch_size: int | None = None, **kwargs: Any
    ) -> None:
        self.total = total
        self.batch_size = batch_size
        self._options = kwargs
        self._bar: Any = None
        self._epoch: int | None = None
        self._batches = 0
        self._told: int | None = None

    def __call__(self, param: BatchEndParam) -> None:
        """Takes note of one batch."""
        require_told(param)
        bar = self._bar
        if bar is None or param.epoch != self._epoch:
            bar = self._open(param)
        samples = self._samples(param)
        if param.eval_metric is not None:
            values = {n: f"{v:.4f}" for n, v in param.eval_metric.get_name_value()}
            bar.set_postfix(values, refresh=False)
        bar.update(max(0, param.nbatch + 1 - self._batches) * samples)
        self._batches = param.nbatch + 1
        if self._told is not None and self._batches >= self._told:
            self.close()

    def close(self) -> None:
        """Ends the bar of an epoch that stopped before its last batch."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _samples(self, param: BatchEndParam) -> int:
        """Samples in the batch; 1, where nothing says it."""
        if self.batch_size is not None:
            return self.batch_size
        batch: Any = (param.locals or {}).get("data_batch")
        data = getattr(batch, "data", None)
        return data[0].shape[0] - (batch.pad or 0) if data and data[0].shape else 1

    def _open(self, param: BatchEndParam) -> Any:
        before = self._batches or None
        self.close()
        self._told = self.total or (before if self._epoch is not None else _expected(param))
        self._epoch, self._batches = param.epoch, 0
        samples = self._samples(param)
        from tqdm import tqdm  # here, since it takes longer to import than all of Ferromix

        options = {
            "total": self._told and self._told * samples,
            "desc": f"epoch {param.epoch}",
            "unit": " batches" if samples == 1 else " samples",
            **self._options,
        }
        self._bar = tqdm(**options)
        return self._bar


def _expected(param: BatchEndParam) -> int | None:
    """Batches of an epoch, of an iterator that knows its samples."""
    data = (param.locals or {}).get("train_data")
    count, size = getattr(data, "num_data", None), getattr(data, "batch_size", None)
    return -(-count // size) if count and size else None
