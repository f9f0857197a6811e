"""A network with the interface of scikit-learn's, from before there were modules."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import metric
from ..context import Context, cpu
from ..error import ArgumentTypeError, InvalidArgumentError
from ..initializer import Uniform
from ..ndarray import NDArray
from ..symbol import Symbol
from .callbacks import Callbacks, call
from .checkpoint import BatchEndParam, load_checkpoint, save_checkpoint
from .samples import iterator, scored_iterator

__all__ = ["FeedForward"]


class FeedForward:
    """A network that is fitted to arrays or iterators; :class:`ferromix.module.Module` does more.

    Parameters
    ----------
    symbol
        The graph; or a function that makes it for the bucket key of a batch, as
        :class:`ferromix.module.BucketingModule` takes one.
    ctx
        The device, or a list of devices.
    num_epoch
        How many epochs to train.
    epoch_size
        Batches of an epoch, which goes on where the one before ended; all of the data where None.
    optimizer
        An optimizer, or its name.
    initializer
        Makes parameters that are not given.
    numpy_batch_size
        Samples of a batch where the data are arrays.
    arg_params, aux_params
        Parameters by name.
    allow_extra_params
        Whether these may have names that the graph has not.
    begin_epoch
        The first epoch.
    **kwargs
        Attributes of an optimizer that is named.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import ferromix as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2)
    >>> net = mx.sym.SoftmaxOutput(net, name="softmax")
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     model = mx.model.FeedForward(net, num_epoch=30, learning_rate=1.0)
    >>> model.fit(np.eye(2, dtype="float32"), np.array([0, 1]))
    >>> model.predict(np.eye(2, dtype="float32")).argmax(axis=1)
    array([0, 1])
    """

    def __init__(
        self,
        symbol: Any,
        ctx: Context | list[Context] | None = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Any = Uniform(0.01),  # noqa: B008 - it keeps nothing between calls
        numpy_batch_size: int = 128,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_extra_params: bool = False,
        begin_epoch: int = 0,
        **kwargs: Any,
    ) -> None:
        warnings.warn(
            "mx.model.FeedForward is an old interface; mx.mod.Module does more",
            DeprecationWarning,
            stacklevel=2,
        )
        self.sym_gen = symbol if callable(symbol) and not isinstance(symbol, Symbol) else None
        if self.sym_gen is None and not isinstance(symbol, Symbol):
            kind = type(symbol).__name__
            raise ArgumentTypeError(
                f"FeedForward: symbol must be a Symbol, or a function that makes one, got {kind}"
            )
        # What makes symbols is asked when the data is known.
        self.symbol: Any = None if self.sym_gen else symbol
        self.ctx = list(ctx) if isinstance(ctx, (list, tuple)) else [ctx or cpu()]
        self.num_epoch, self.epoch_size, self.begin_epoch = num_epoch, epoch_size, begin_epoch
        self.optimizer, self.initializer, self.kwargs = optimizer, initializer, dict(kwargs)
        self.numpy_batch_size = numpy_batch_size
        self.allow_extra_params = allow_extra_params
        self.arg_params: Any = arg_params
        self.aux_params: Any = aux_params
        if self.symbol is not None:
            self._drop_extra()

    def _drop_extra(self) -> None:
        """Forgets parameters that the graph has not, where that is allowed."""
        self.arg_params = self._known(self.arg_params, self.symbol.list_arguments())
        self.aux_params = self._known(self.aux_params, self.symbol.list_auxiliary_states())

    def _known(self, params: Any, names: list[str]) -> Any:
        if params is None or not self.allow_extra_params:
            return params
        if not isinstance(params, Mapping):
            kind = type(params).__name__
            raise ArgumentTypeError(f"FeedForward: parameters must be a dict by name, got {kind}")
        return {name: array for name, array in params.items() if name in names}

    # -- files ---------------------------------------------------------------------------------

    def save(self, prefix: str, epoch: int | None = None, remove_amp_cast: bool = True) -> None:
        """Writes a checkpoint, by default as that of the last epoch."""
        number = self.num_epoch if epoch is None else epoch
        if number is None:
            raise InvalidArgumentError("FeedForward.save: give epoch, or num_epoch before")
        args, auxs = self.arg_params or {}, self.aux_params or {}
        save_checkpoint(prefix, number, self.symbol, args, auxs, remove_amp_cast)

    @staticmethod
    def load(
        prefix: str, epoch: int, ctx: Context | list[Context] | None = None, **kwargs: Any
    ) -> FeedForward:
        """The network of a checkpoint; other arguments are the constructor's."""
        symbol, args, auxs = load_checkpoint(prefix, epoch)
        return FeedForward(
            symbol, ctx, arg_params=args, aux_params=auxs, begin_epoch=epoch, **kwargs
        )

    @staticmethod
    def create(
        symbol: Symbol,
        X: Any,
        y: Any = None,
        ctx: Context | list[Context] | None = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Any = Uniform(0.01),  # noqa: B008 - it keeps nothing between calls
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        logger: Any = None,
        work_load_list: Any = None,
        eval_end_callback: Any = None,
        eval_batch_end_callback: Any = None,
        **kwargs: Any,
    ) -> FeedForward:
        """A network that is fitted at once; arguments are the constructor's and :meth:`fit`'s."""
        model = FeedForward(symbol, ctx, num_epoch, epoch_size, optimizer, initializer, **kwargs)
        model.fit(
            X,
            y,
            eval_data,
            eval_metric,
            epoch_end_callback,
            batch_end_callback,
            kvstore,
            logger,
            work_load_list,
            None,
            eval_end_callback,
            eval_batch_end_callback,
        )
        return model

    # -- fitting and predicting ----------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        logger: Any = None,
        work_load_list: Any = None,
        monitor: Any = None,
        eval_end_callback: Any = None,
        eval_batch_end_callback: Any = None,
    ) -> None:
        """Trains on arrays, or on an iterator.

        Parameters
        ----------
        X, y
            Samples and labels; `X` alone may be an iterator over batches.
        eval_data
            An iterator, or a pair of samples and labels, that is scored after each epoch; arrays
            are shuffled, and their samples beyond the last whole batch are left out.
        eval_metric
            A metric, or its name.
        epoch_end_callback
            Called with epoch, symbol, arguments and auxiliary states after each epoch.
        batch_end_callback, eval_batch_end_callback, eval_end_callback
            Called with a :class:`ferromix.model.BatchEndParam`; the first batch of training has
            the number 1. Without the last one, values are logged.
        kvstore, monitor
            As for :meth:`ferromix.module.BaseModule.fit`.
        logger
            Where it says how it goes; :mod:`logging` where None.
        work_load_list
            The share of each device.

        Raises
        ------
        InvalidArgumentError
            Without ``num_epoch``, for arrays without labels or of another length, and for an
            iterator without batches.
        DTypeError
            For data that is none of these.
        """
        # Callbacks know this package.
        from ..callback import LogValidationMetricsCallback

        if self.num_epoch is None:
            raise InvalidArgumentError("FeedForward.fit: num_epoch must be given before")
        data, scored = (
            self._iterator(X, y, train=True),
            scored_iterator(eval_data, self.numpy_batch_size),
        )
        if self.sym_gen is not None:
            self.symbol = self.sym_gen(data.default_bucket_key)
            self._drop_extra()
        logger = logger or logging
        module = self._module(data, logger, work_load_list)
        module.bind(data.provide_data, _labels(data, self.symbol), for_training=True)
        if monitor is not None:
            module.install_monitor(monitor)
        module.init_params(self.initializer, self.arg_params, self.aux_params, allow_missing=True)
        module.init_optimizer(kvstore, self.optimizer, self.kwargs)
        measured = metric.create(eval_metric)
        logger.info("Start training with %s", self.ctx)
        data.reset()
        for epoch in range(self.begin_epoch, self.num_epoch):
            started = time.time()
            self._train_epoch(module, data, measured, epoch, batch_end_callback, monitor, logger)
            logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - started)
            self.arg_params, self.aux_params = module.get_params()
            call(epoch_end_callback, epoch, self.symbol, self.arg_params, self.aux_params)
            if scored is not None:
                module.score(
                    scored,
                    measured,
                    batch_end_callback=eval_batch_end_callback,
                    score_end_callback=eval_end_callback or LogValidationMetricsCallback(),
                    epoch=epoch,
                )

    def _train_epoch(
        self,
        module: Any,
        data: Any,
        measured: Any,
        epoch: int,
        callback: Callbacks,
        monitor: Any,
        logger: Any,
    ) -> None:
        """Trains until the data ends, or on as many batches as an epoch has."""
        measured.reset()
        number, ends, most = 0, 0, self.epoch_size
        while number == 0 if most is None else number < most:
            begun = number
            for batch in data:
                if monitor is not None:
                    monitor.tic()
                module.forward_backward(batch)
                module.update()
                if monitor is not None:
                    monitor.toc_print()
                module.update_metric(measured, batch.label)
                number += 1
                about = {"self": self, "epoch": epoch, "nbatch": number, "data_batch": batch}
                about |= {"train_data": data, "eval_metric": measured}
                call(callback, BatchEndParam(epoch, number, measured, about))
                if number == most:
                    return
            logger.info("Epoch[%d] Resetting Data Iterator", epoch)
            data.reset()
            ends = ends + 1 if number == begun else 0
            if ends == 2:
                raise InvalidArgumentError("FeedForward.fit: the data has no batches")

    def predict(
        self, X: Any, num_batch: int | None = None, return_data: bool = False, reset: bool = True
    ) -> Any:
        """Outputs for arrays, or for an iterator, as NumPy arrays.

        Parameters
        ----------
        X
            Samples, or an iterator.
        num_batch
            How many batches at most.
        return_data
            Whether samples and labels come along.
        reset
            Whether the iterator starts anew before.

        Returns
        -------
        numpy.ndarray or list
            One array, or one for each output; with samples and labels where asked for.
        """
        data = self._iterator(X, None, train=False)
        module = self._bound(data)
        rows: list[list[np.ndarray]] = []
        for outputs, _, batch in module.iter_predict(data, num_batch, reset):
            count = outputs[0].shape[0]
            given = [*batch.data, *(batch.label or [])] if return_data else []
            rows.append([a[:count].asnumpy() for a in (*outputs, *given)])
        columns = [np.concatenate(parts) for parts in zip(*rows, strict=True)]
        kept = len(self.symbol.list_outputs())
        found = columns[0] if kept == 1 else columns[:kept]
        if not return_data:
            return found
        inputs = len(data.provide_data)
        parts = columns[kept : kept + inputs], columns[kept + inputs :]
        return (found, *(p[0] if len(p) == 1 else p for p in parts))

    def score(
        self,
        X: Any,
        eval_metric: Any = "acc",
        num_batch: int | None = None,
        batch_end_callback: Any = None,
        reset: bool = True,
    ) -> Any:
        """The value of a metric on an iterator with labels, or a list of those of several."""
        data = self._iterator(X, None, train=False)
        measured = metric.create(eval_metric)
        self._bound(data).score(data, measured, num_batch, batch_end_callback, reset=reset)
        return measured.get()[1]

    def _iterator(self, X: Any, y: Any, train: bool) -> Any:
        return iterator(X, y, self.numpy_batch_size, train)

    def _module(self, data: Any, logger: Any, work_load_list: Any) -> Any:
        """A module to train on the data."""
        # Modules read checkpoints, and are above.
        from ..module import BucketingModule, Module

        names, labels = _names(data, self.symbol)
        make: Any = self.sym_gen
        if make is None:
            return Module(
                self.symbol, names, labels, logger, self.ctx, work_load_list=work_load_list
            )

        def made(key: Any) -> tuple[Symbol, list[str], list[str]]:
            return make(key), names, labels

        return BucketingModule(made, data.default_bucket_key, logger, self.ctx, work_load_list)

    def _bound(self, data: Any) -> Any:
        """A module with the parameters, for predictions."""
        from ..module import Module

        if self.symbol is None:
            raise InvalidArgumentError("FeedForward: fit first; the symbol is made for the data")
        module = Module(self.symbol, *_names(data, self.symbol), context=self.ctx)
        module.bind(data.provide_data, _labels(data, self.symbol), for_training=False)
        module.init_params(None, self.arg_params or {}, self.aux_params or {})
        return module


def _labels(data: Any, symbol: Symbol) -> list[Any]:
    """The labels of an iterator that the graph reads."""
    arguments = symbol.list_arguments()
    return [d for d in data.provide_label if d[0] in arguments]


def _names(data: Any, symbol: Symbol) -> tuple[list[str], list[str]]:
    """The names of an iterator's data, and of the labels that the graph reads."""
    return [d[0] for d in data.provide_data], [d[0] for d in _labels(data, symbol)]
