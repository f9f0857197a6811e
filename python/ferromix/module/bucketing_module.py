"""Modules whose graph depends on the batch: one for each bucket, with the same parameters."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..error import InvalidArgumentError
from ..initializer import Uniform
from ..io import DataBatch, DataDesc
from ..literal import brief
from ..name import NameManager
from ..ndarray import NDArray
from ..symbol import Symbol
from .base_module import BaseModule
from .describe import Shapes
from .module import Module
from .steps import Params

__all__ = ["BucketingModule"]

Made = tuple[Symbol, Sequence[str] | None, Sequence[str] | None]


class BucketingModule(BaseModule):
    """A network for batches of several kinds, such as sentences of several lengths.

    Parameters
    ----------
    sym_gen
        Gives for the key of a bucket a symbol, the names of the data and those of the labels.
    default_bucket_key
        The largest bucket, whose module has all parameters; others share its memory.
    logger, context, work_load_list, fixed_param_names, state_names, group2ctxs, compression_params
        As for :class:`Module`.
    """

    def __init__(
        self,
        sym_gen: Callable[[Any], Made],
        default_bucket_key: Hashable = None,
        logger: Any = logging,
        context: Any = None,
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
        compression_params: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(logger)
        if default_bucket_key is None:
            raise InvalidArgumentError("BucketingModule: default_bucket_key must be given")
        self._sym_gen, self._default_bucket_key = sym_gen, default_bucket_key
        self._settings = {
            "logger": logger,
            "context": context,
            "work_load_list": work_load_list,
            "fixed_param_names": fixed_param_names,
            "state_names": state_names,
            "group2ctxs": group2ctxs,
            "compression_params": compression_params,
        }
        self._graphs: dict[Any, Symbol] = {}
        self._buckets: dict[Any, Module] = {}
        self._curr_bucket_key = default_bucket_key
        # Checks the names of the default bucket at once.
        self._curr_module = self._make(default_bucket_key)
        self._grad_req: Any = None
        self._monitor: Any = None

    def _make(self, key: Hashable) -> Module:
        # Names that nobody gave are the same in every bucket, which shares parameters by name.
        with NameManager():
            made = self._sym_gen(key)
        if not isinstance(made, (list, tuple)) or len(made) != 3:
            raise InvalidArgumentError(
                "BucketingModule: sym_gen must give a symbol, the names of data and those of "
                f"labels, got {brief(made)} for the bucket {key!r}"
            )
        symbol, data_names, label_names = made
        graph = self._graphs.get(key, symbol)
        return Module(graph, data_names, label_names, **self._settings)

    # -- files ---------------------------------------------------------------------------------

    @staticmethod
    def load(
        prefix: str,
        epoch: int,
        sym_gen: Callable[[Any], Made] | None = None,
        default_bucket_key: Hashable = None,
        **kwargs: Any,
    ) -> BucketingModule:
        """The module of a checkpoint of :meth:`save_checkpoint`; `sym_gen` gives its graphs."""
        from ..model.checkpoint import load_params

        args, auxs = load_params(prefix, epoch)
        return BucketingModule.load_dict(None, sym_gen, default_bucket_key, args, auxs, **kwargs)

    @staticmethod
    def load_dict(
        sym_dict: Mapping[Any, Symbol] | None = None,
        sym_gen: Callable[[Any], Made] | None = None,
        default_bucket_key: Hashable = None,
        arg_params: Params = None,
        aux_params: Params = None,
        **kwargs: Any,
    ) -> BucketingModule:
        """A module whose parameters are set, when it is bound, to arrays by name.

        Parameters
        ----------
        sym_dict
            Graphs of some buckets, which stand for those that `sym_gen` gives.
        sym_gen, default_bucket_key, **kwargs
            For the constructor.
        arg_params, aux_params
            Arrays by name.
        """
        if sym_gen is None:
            raise InvalidArgumentError("BucketingModule: sym_gen must be given")
        module = BucketingModule(sym_gen, default_bucket_key, **kwargs)
        if sym_dict:
            module._graphs = dict(sym_dict)
            module._curr_module = module._make(default_bucket_key)
        module._curr_module._arg_params = dict(arg_params or {})
        module._curr_module._aux_params = dict(aux_params or {})
        module._curr_module.params_initialized = module.params_initialized = True
        return module

    def save_checkpoint(self, prefix: str, epoch: int, remove_amp_cast: bool = False) -> None:
        """Writes the parameters, the graph of each bucket that was bound, and ``prefix.buckets``.

        That has the keys of the buckets, which MXNet asks for, where they are whole numbers.
        """
        self._require()
        for key, module in self._buckets.items():
            module.symbol.save(f"{prefix}-{key}-symbol.json", remove_amp_cast)
        keys = list(self._buckets)
        if all(isinstance(key, (int, np.integer)) for key in keys):
            nd.save(f"{prefix}.buckets", [nd.array(keys, dtype="int32")])
        self.save_params(f"{prefix}-{epoch:04d}.params")

    # -- what it is ----------------------------------------------------------------------------

    @property
    def data_names(self) -> Sequence[str]:
        """The names of the data of the current bucket."""
        return self._curr_module.data_names

    @property
    def output_names(self) -> Sequence[str]:
        """The names of the outputs of the current bucket."""
        return self._curr_module.output_names

    @property
    def data_shapes(self) -> list[DataDesc]:
        """What the data of the current bucket are bound as."""
        return self._curr_module.data_shapes

    @property
    def label_shapes(self) -> list[DataDesc]:
        """What the labels of the current bucket are bound as."""
        return self._curr_module.label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the outputs of the current bucket."""
        return self._curr_module.output_shapes

    @property
    def symbol(self) -> Symbol:
        """The graph of the current bucket."""
        return self._curr_module.symbol

    # -- set-up --------------------------------------------------------------------------------

    def bind(
        self,
        data_shapes: Shapes,
        label_shapes: Shapes = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Any = None,
        grad_req: Any = "write",
    ) -> None:
        """Binds the default bucket, as :meth:`Module.bind` does; others follow when they come."""
        if shared_module is not None:
            raise InvalidArgumentError("BucketingModule.bind: shared_module is not supported")
        if self.binded and not force_rebind:
            self.logger.warning("the module is bound already; bind does nothing")
            return
        self._reset_bind()
        whole, self._grad_req = self._curr_module, grad_req
        self._buckets = {self._default_bucket_key: whole}
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        whole.bind(
            data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind, None, grad_req
        )
        self.binded = True

    def _reset_bind(self) -> None:
        """Gives up all executors, and all buckets but the default one; parameters stay."""
        whole = self._buckets.get(self._default_bucket_key, self._curr_module)
        whole._reset_bind()
        self.binded, self._buckets = False, {}
        self._curr_module, self._curr_bucket_key = whole, self._default_bucket_key

    def switch_bucket(
        self, bucket_key: Hashable, data_shapes: Shapes, label_shapes: Shapes = None
    ) -> None:
        """Makes a bucket the current one; a new one is bound to these shapes."""
        self._require(initialized=False)
        if bucket_key not in self._buckets:
            whole = self._buckets[self._default_bucket_key]
            made = self._make(bucket_key)
            made.bind(
                data_shapes,
                label_shapes,
                self.for_training,
                self.inputs_need_grad,
                shared_module=whole,
                grad_req=self._grad_req,
            )
            if self._monitor is not None:
                made.install_monitor(self._monitor)
            self._buckets[bucket_key] = made
        self._curr_module, self._curr_bucket_key = self._buckets[bucket_key], bucket_key
        whole = self._buckets[self._default_bucket_key]
        if whole.optimizer_initialized and not self._curr_module.optimizer_initialized:
            self._curr_module.borrow_optimizer(whole)

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Arguments and auxiliary states by name, on the CPU."""
        self._require()
        return self._buckets[self._default_bucket_key].get_params()

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008 - it keeps nothing between calls
        arg_params: Params = None,
        aux_params: Params = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Sets all parameters, as :meth:`Module.init_params` does."""
        self._require(initialized=False)
        self._buckets[self._default_bucket_key].init_params(
            initializer, arg_params, aux_params, allow_missing, force_init, allow_extra
        )
        self.params_initialized = True

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Sets up the optimizer that all buckets share."""
        self._require()
        whole = self._buckets[self._default_bucket_key]
        whole.init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        for module in self._buckets.values():
            if module is not whole:
                module.borrow_optimizer(whole)
        self.optimizer_initialized = True

    def install_monitor(self, mon: Any) -> None:
        """Has a monitor look at all buckets, those to come included."""
        self._require(initialized=False)
        self._monitor = mon
        for module in self._buckets.values():
            module.install_monitor(mon)

    # -- batches -------------------------------------------------------------------------------

    def prepare(
        self,
        data_batch: DataBatch,
        sparse_row_id_fn: Callable[[DataBatch], Mapping[str, NDArray]] | None = None,
    ) -> None:
        """Binds the bucket of a batch to come; the current one stays until it does."""
        self._require()
        key = self._curr_bucket_key
        self.switch_bucket(data_batch.bucket_key, data_batch.provide_data, data_batch.provide_label)
        self._curr_module.prepare(data_batch, sparse_row_id_fn)
        self._curr_module, self._curr_bucket_key = self._buckets[key], key

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Computes the outputs of a batch, in its bucket."""
        self._require()
        self.switch_bucket(data_batch.bucket_key, data_batch.provide_data, data_batch.provide_label)
        self._curr_module.forward(data_batch, is_train)

    def backward(self, out_grads: Any = None) -> None:
        """Computes gradients, in the bucket of the last batch."""
        self._require()
        self._curr_module.backward(out_grads)

    def update(self) -> None:
        """Changes the parameters, which all buckets share."""
        self._require(optimizer=True)
        self._curr_module.update()
        self._buckets[self._default_bucket_key]._params_dirty = True

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """The outputs of the last batch."""
        self._require()
        return self._curr_module.get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """The gradients of the data of the last batch."""
        self._require()
        return self._curr_module.get_input_grads(merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """The states of the current bucket."""
        self._require()
        return self._curr_module.get_states(merge_multi_context)

    def set_states(self, states: Any = None, value: float | None = None) -> None:
        """Sets the states of the current bucket."""
        self._require()
        self._curr_module.set_states(states, value)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Has a metric look at the outputs of the last batch."""
        self._require()
        self._curr_module.update_metric(eval_metric, labels, pre_sliced)
