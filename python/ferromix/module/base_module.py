"""What all modules have in common: training, scoring and predicting, batch by batch."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from .. import metric
from .. import ndarray as nd
from ..error import FileFormatError, InvalidArgumentError
from ..initializer import Uniform
from ..io import DataBatch
from ..model.callbacks import Callbacks, call
from ..model.checkpoint import BatchEndParam
from ..ndarray import NDArray
from .steps import Params, Steps

__all__ = ["BaseModule"]


class BaseModule(Steps):
    """A network with its parameters; what trains and scores it is the same for all kinds.

    A subclass says how it computes: it overrides the properties and the methods of its base.

    Parameters
    ----------
    logger
        Where :meth:`fit` says how it goes; the module :mod:`logging`, or a logger.
    """

    def __init__(self, logger: Any = logging) -> None:
        super().__init__()
        self.logger = logger

    # -- training, scoring, predicting ---------------------------------------------------------

    def forward_backward(self, data_batch: DataBatch) -> None:
        """Runs a batch forward, as training does, and backward."""
        self.forward(data_batch, is_train=True)
        self.backward()

    def score(
        self,
        eval_data: Any,
        eval_metric: Any,
        num_batch: int | None = None,
        batch_end_callback: Callbacks = None,
        score_end_callback: Callbacks = None,
        reset: bool = True,
        epoch: int = 0,
        sparse_row_id_fn: Callable[[DataBatch], Mapping[str, NDArray]] | None = None,
    ) -> list[tuple[str, float]]:
        """Predicts all batches and measures how well.

        Parameters
        ----------
        eval_data
            An iterator over batches with labels.
        eval_metric
            A metric, or its name.
        num_batch
            How many batches at most; all of them where None.
        batch_end_callback, score_end_callback
            Called with a :class:`ferromix.model.BatchEndParam` after each batch, and at the end.
        reset
            Whether the iterator starts anew before.
        epoch
            What callbacks are told.
        sparse_row_id_fn
            Says which rows of row_sparse parameters a batch reads, see :meth:`prepare`.

        Returns
        -------
        list of (str, float)
            Names and values of the metric.
        """
        about = dict(locals())
        self._require()
        if reset:
            eval_data.reset()
        measured = metric.create(eval_metric)
        measured.reset()
        done = 0
        about |= {"eval_metric": measured, "actual_num_batch": 0}
        for number, batch in enumerate(eval_data):
            if number == num_batch:
                break
            self.prepare(batch, sparse_row_id_fn=sparse_row_id_fn)
            self.forward(batch, is_train=False)
            self._measure(measured, batch)
            about |= {"eval_batch": batch, "nbatch": number, "actual_num_batch": done}
            call(batch_end_callback, BatchEndParam(epoch, number, measured, about))
            done = number + 1
        about |= {"actual_num_batch": done}
        call(score_end_callback, BatchEndParam(epoch, done, measured, about))
        return measured.get_name_value()

    def iter_predict(
        self,
        eval_data: Any,
        num_batch: int | None = None,
        reset: bool = True,
        sparse_row_id_fn: Callable[[DataBatch], Mapping[str, NDArray]] | None = None,
    ) -> Iterator[tuple[list[NDArray], int, DataBatch]]:
        """Predicts batch by batch: outputs without what only fills a batch up, number, batch."""
        self._require()
        if reset:
            eval_data.reset()
        for number, batch in enumerate(eval_data):
            if number == num_batch:
                return
            self.prepare(batch, sparse_row_id_fn=sparse_row_id_fn)
            self.forward(batch, is_train=False)
            pad = getattr(batch, "pad", None) or 0
            yield [out[: out.shape[0] - pad] for out in self.get_outputs()], number, batch

    def predict(
        self,
        eval_data: Any,
        num_batch: int | None = None,
        merge_batches: bool = True,
        reset: bool = True,
        always_output_list: bool = False,
        sparse_row_id_fn: Callable[[DataBatch], Mapping[str, NDArray]] | None = None,
    ) -> Any:
        """Predicts all batches.

        Parameters
        ----------
        eval_data
            An iterator over batches, or one array, which is predicted as one batch.
        num_batch
            How many batches at most; all of them where None.
        merge_batches
            Whether the outputs of all batches are put together.
        reset
            Whether the iterator starts anew before.
        always_output_list
            Whether a single output comes in a list, too.
        sparse_row_id_fn
            As for :meth:`score`.

        Returns
        -------
        NDArray or list
            An array for each output, one alone where there is one; a list of outputs for each
            batch if they are not merged.
        """
        self._require()
        if isinstance(eval_data, (NDArray, np.ndarray)):
            array = eval_data if isinstance(eval_data, NDArray) else nd.array(eval_data)
            self.forward(DataBatch([array]), is_train=False)
            return self.get_outputs()[0]
        if not hasattr(eval_data, "reset"):
            raise InvalidArgumentError(
                "predict: eval_data must be an iterator or an array, "
                f"got {type(eval_data).__name__}"
            )
        found = [
            [out.copy() for out in outputs]
            for outputs, _, _ in self.iter_predict(eval_data, num_batch, reset, sparse_row_id_fn)
        ]
        if not found or not merge_batches:
            return found
        if any(len(outputs) != len(found[0]) for outputs in found):
            raise InvalidArgumentError(
                "predict: batches have different numbers of outputs, so that they cannot be put "
                "together; use merge_batches=False"
            )
        merged = [nd.concatenate(list(parts)) for parts in zip(*found, strict=True)]
        return merged[0] if len(merged) == 1 and not always_output_list else merged

    def fit(
        self,
        train_data: Any,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Callbacks = None,
        batch_end_callback: Callbacks = None,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        eval_end_callback: Callbacks = None,
        eval_batch_end_callback: Callbacks = None,
        initializer: Any = Uniform(0.01),  # noqa: B008 - it keeps nothing between calls
        arg_params: Params = None,
        aux_params: Params = None,
        allow_missing: bool = False,
        force_rebind: bool = False,
        force_init: bool = False,
        begin_epoch: int = 0,
        num_epoch: int | None = None,
        validation_metric: Any = None,
        monitor: Any = None,
        sparse_row_id_fn: Callable[[DataBatch], Mapping[str, NDArray]] | None = None,
    ) -> None:
        """Trains for some epochs: binds, sets parameters and optimizer up, goes through the data.

        Parameters
        ----------
        train_data
            An iterator over batches with labels.
        eval_data
            One whose batches are scored after each epoch.
        eval_metric, validation_metric
            The metric of training, and that of `eval_data`, by default the same.
        epoch_end_callback
            Called with epoch, symbol, arguments and auxiliary states after each epoch.
        batch_end_callback, eval_batch_end_callback, eval_end_callback
            Called with a :class:`ferromix.model.BatchEndParam`.
        kvstore, optimizer, optimizer_params
            As for :meth:`Module.init_optimizer`.
        initializer, arg_params, aux_params, allow_missing, force_init
            As for :meth:`Module.init_params`.
        force_rebind
            Whether a module that is bound is bound again, to the data's shapes.
        begin_epoch, num_epoch
            The first epoch, and the one before which training ends; must be given.
        monitor
            A :class:`ferromix.monitor.Monitor` to install.
        sparse_row_id_fn
            As for :meth:`score`.

        Examples
        --------
        >>> import ferromix as mx
        >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2)
        >>> net = mx.sym.SoftmaxOutput(net, name="softmax")
        >>> data = mx.io.NDArrayIter(mx.nd.array([[0, 1], [1, 0]]), mx.nd.array([0, 1]), 2)
        >>> module = mx.mod.Module(net)
        >>> module.fit(data, num_epoch=20, optimizer_params={"learning_rate": 1.0})
        >>> module.score(data, "acc")
        [('accuracy', 1.0)]
        """
        # What callbacks may look at, as MXNet's do: all arguments by name.
        about = dict(locals())
        if num_epoch is None:
            raise InvalidArgumentError("fit: num_epoch must be given")
        self.bind(
            data_shapes=train_data.provide_data,
            label_shapes=train_data.provide_label,
            for_training=True,
            force_rebind=force_rebind,
        )
        if monitor is not None:
            self.install_monitor(monitor)
        # Subclasses override steps with keywords of MXNet's, and some with fewer parameters.
        self.init_params(
            initializer=initializer,
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=allow_missing,
            force_init=force_init,
        )
        self.init_optimizer(kvstore=kvstore, optimizer=optimizer, optimizer_params=optimizer_params)
        measured = metric.create(eval_metric)
        about |= {"eval_metric": measured}
        if validation_metric is None:
            about |= {"validation_metric": eval_metric}
        rows: dict[str, Any] = (
            {} if sparse_row_id_fn is None else {"sparse_row_id_fn": sparse_row_id_fn}
        )
        for epoch in range(begin_epoch, num_epoch):
            started = time.time()
            found = self._train_epoch({**about, "epoch": epoch, "tic": started})
            for name, value in found:
                self.logger.info("Epoch[%d] Train-%s=%f", epoch, name, value)
            self.logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - started)
            # Devices may have come apart in what batches change by the way, such as averages.
            self.set_params(*self.get_params())
            args, auxs = self.get_params()
            call(epoch_end_callback, epoch, self.symbol, args, auxs)
            if eval_data is not None:
                for name, value in self.score(
                    eval_data,
                    eval_metric if validation_metric is None else validation_metric,
                    batch_end_callback=eval_batch_end_callback,
                    score_end_callback=eval_end_callback,
                    epoch=epoch,
                    **rows,
                ):
                    self.logger.info("Epoch[%d] Validation-%s=%f", epoch, name, value)
            train_data.reset()

    def _train_epoch(self, about: dict[str, Any]) -> list[tuple[str, float]]:
        """Trains on all batches; the next one is fetched while the devices work on one.

        `about` are the arguments of :meth:`fit` and what is known of the epoch. Gives what the
        metric says of all batches, before callbacks see the last one, as these may reset it.
        """
        measured, monitor, epoch = about["eval_metric"], about["monitor"], about["epoch"]
        measured.reset()
        batches = iter(about["train_data"])
        batch = next(batches, None)
        if batch is None:
            raise InvalidArgumentError(
                f"fit: train_data has no batch in epoch {epoch}; call its reset() where it is at "
                "its end"
            )
        number, found = 0, []
        while batch is not None:
            if monitor is not None:
                monitor.tic()
            self.forward_backward(batch)
            self.update()
            self._measure(measured, batch)
            following = next(batches, None)
            if following is not None:
                self.prepare(following, sparse_row_id_fn=about["sparse_row_id_fn"])
            if monitor is not None:
                monitor.toc_print()
            if following is None:
                found = measured.get_global_name_value()
            here = {"data_batch": batch, "nbatch": number, "data_iter": batches}
            here |= {"end_of_batch": following is None, "next_data_batch": batch}
            here |= {"eval_name_vals": found}
            if following is not None:
                here["next_data_batch"] = following
            param = BatchEndParam(epoch, number, measured, {**about, **here})
            call(about["batch_end_callback"], param)
            batch, number = following, number + 1
        return found

    def _measure(self, measured: Any, batch: Any) -> None:
        if isinstance(batch, list):
            self.update_metric(measured, [one.label for one in batch], pre_sliced=True)
        else:
            self.update_metric(measured, batch.label)

    # -- parameters ----------------------------------------------------------------------------

    def set_params(
        self,
        arg_params: Params,
        aux_params: Params,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Sets parameters to arrays by name, as :meth:`init_params` without an initializer does.

        With `allow_missing` others stay as they are.
        """
        self.init_params(
            initializer=None,
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=allow_missing,
            force_init=force_init,
            allow_extra=allow_extra,
        )

    def save_params(self, fname: str) -> None:
        """Writes all parameters to a file, as checkpoints have them."""
        args, auxs = self.get_params()
        named = {f"arg:{name}": array for name, array in args.items()}
        nd.save(fname, named | {f"aux:{name}": array for name, array in auxs.items()})

    def load_params(self, fname: str) -> None:
        """Sets parameters to those of a file of :meth:`save_params`.

        Raises
        ------
        FileFormatError
            For a file whose names do not begin with ``arg:`` or ``aux:``.
        """
        loaded = nd.load(fname)
        found: dict[str, dict[str, NDArray]] = {"arg": {}, "aux": {}}
        if not isinstance(loaded, dict):
            raise FileFormatError(f"{fname}: not a file of parameters: there are no names")
        for key, array in loaded.items():
            kind, _, name = key.partition(":")
            if kind not in found:
                raise FileFormatError(f"{fname}: not a file of parameters: the name {key!r}")
            found[kind][name] = array
        self.set_params(found["arg"], found["aux"])

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """The states that batches hand on, of modules that have some."""
        self._require()
        return []

    def set_states(self, states: Any = None, value: float | None = None) -> None:
        """Sets the states, of modules that have some."""
        self._require()
        if states or value is not None:
            raise InvalidArgumentError(f"{type(self).__name__}: there are no states to set")

    def prepare(
        self,
        data_batch: DataBatch,
        sparse_row_id_fn: Callable[[DataBatch], Mapping[str, NDArray]] | None = None,
    ) -> None:
        """Makes ready for a batch; a module whose shape depends on the batch switches to it."""
        if sparse_row_id_fn is not None:
            self.logger.warning("sparse_row_id_fn is not called: this module has no such rows")
