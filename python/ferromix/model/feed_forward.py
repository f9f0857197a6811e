"""A network with the interface of scikit-learn's, from before there were modules."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..context import Context, cpu
from ..error import ArgumentTypeError, InvalidArgumentError
from ..initializer import Uniform
from ..io import DataIter, NDArrayIter, ResizeIter
from ..ndarray import NDArray
from ..symbol import Symbol
from .checkpoint import load_checkpoint, save_checkpoint

__all__ = ["FeedForward"]


class FeedForward:
    """A network that is fitted to arrays or iterators; :class:`ferromix.module.Module` does more.

    Parameters
    ----------
    symbol
        The graph.
    ctx
        The device, or a list of devices.
    num_epoch
        How many epochs to train.
    epoch_size
        Batches of an epoch; all of the data where None.
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
        symbol: Symbol,
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
        if not isinstance(symbol, Symbol):
            kind = type(symbol).__name__
            raise ArgumentTypeError(f"FeedForward: symbol must be a Symbol, got {kind}")
        self.symbol = symbol
        self.ctx = list(ctx) if isinstance(ctx, (list, tuple)) else [ctx or cpu()]
        self.num_epoch, self.epoch_size, self.begin_epoch = num_epoch, epoch_size, begin_epoch
        self.optimizer, self.initializer, self.kwargs = optimizer, initializer, dict(kwargs)
        self.numpy_batch_size = numpy_batch_size
        self.allow_extra_params = allow_extra_params
        self.arg_params: Any = self._known(arg_params, symbol.list_arguments())
        self.aux_params: Any = self._known(aux_params, symbol.list_auxiliary_states())

    def _known(self, params: Mapping[str, NDArray] | None, names: list[str]) -> Any:
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
            An iterator, or a pair of samples and labels, that is scored after each epoch.
        eval_metric
            A metric, or its name.
        epoch_end_callback, batch_end_callback, eval_end_callback, eval_batch_end_callback
            As for :meth:`ferromix.module.BaseModule.fit`.
        kvstore, monitor
            As there.
        logger
            Where it says how it goes; :mod:`logging` where None.
        work_load_list
            The share of each device.
        """
        # Callbacks know this package.
        from ..callback import LogValidationMetricsCallback

        data = self._iterator(X, y, train=True)
        if self.epoch_size is not None:
            data = ResizeIter(data, self.epoch_size, reset_internal=False)
        if eval_data is not None and not isinstance(eval_data, DataIter):
            eval_data = self._iterator(*eval_data, train=False)
        module = self._module(data, logger, work_load_list)
        module.fit(
            data,
            eval_data,
            eval_metric,
            epoch_end_callback,
            batch_end_callback,
            kvstore,
            self.optimizer,
            self.kwargs,
            eval_end_callback or LogValidationMetricsCallback(),
            eval_batch_end_callback,
            self.initializer,
            self.arg_params,
            self.aux_params,
            allow_missing=True,
            begin_epoch=self.begin_epoch,
            num_epoch=self.num_epoch,
            monitor=monitor,
        )
        self.arg_params, self.aux_params = module.get_params()

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
    ) -> float:
        """The value of a metric on an iterator with labels."""
        data = self._iterator(X, None, train=False)
        found = self._bound(data).score(
            data, eval_metric, num_batch, batch_end_callback, reset=reset
        )
        return found[0][1]

    def _iterator(self, X: Any, y: Any, train: bool) -> Any:
        """An iterator over samples and labels; one that is given as it is."""
        if not isinstance(X, (np.ndarray, NDArray)):
            return X
        if train and y is None:
            raise InvalidArgumentError("FeedForward.fit: y must be given where X is an array")
        labels = np.zeros(X.shape[0]) if y is None else y
        if len(labels) != X.shape[0]:
            raise InvalidArgumentError(
                f"FeedForward: X has {X.shape[0]} samples, and y {len(labels)}"
            )
        handling = "roll_over" if train else "pad"
        size = min(X.shape[0], self.numpy_batch_size)
        return NDArrayIter(X, np.asarray(labels), size, shuffle=train, last_batch_handle=handling)

    def _module(self, data: Any, logger: Any = None, work_load_list: Any = None) -> Any:
        # Modules read checkpoints, and are above.
        from ..module import Module

        arguments = self.symbol.list_arguments()
        labels = [d.name for d in data.provide_label if d.name in arguments]
        names = [d.name for d in data.provide_data]
        return Module(
            self.symbol, names, labels, logger or logging, self.ctx, work_load_list=work_load_list
        )

    def _bound(self, data: Any) -> Any:
        """A module with the parameters, for predictions."""
        module = self._module(data)
        labels = [d for d in data.provide_label if d.name in module.label_names]
        module.bind(data.provide_data, labels, for_training=False)
        module.init_params(None, self.arg_params or {}, self.aux_params or {})
        return module
