"""A symbol with its parameters, on one device or on several."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import ndarray as nd
from ..error import ArgumentTypeError, InvalidArgumentError, MXNetError
from ..io import DataBatch, DataDesc
from ..model.checkpoint import load_checkpoint
from ..model.stores import (
    _create_kvstore,
    _initialize_kvstore,
    _update_params,
    _update_params_on_kvstore,
)
from ..ndarray import NDArray
from ..optimizer import get_updater
from .assign import joined
from .describe import Shapes, _parse_data_desc, described
from .executor_group import DataParallelExecutorGroup
from .optimizers import make_optimizer
from .steps import Params
from .symbol_module import SymbolModule

__all__ = ["Module"]


class Module(SymbolModule):
    """A network given by a symbol: bound, trained and scored on some devices.

    Parameters
    ----------
    symbol
        The graph.
    data_names, label_names
        The names of the data and of the labels.
    logger
        Where :meth:`fit` says how it goes.
    context
        The device, or a list of devices that share each batch.
    work_load_list
        The share of each device; equal ones where None.
    fixed_param_names
        Parameters that are not trained.
    state_names
        Arguments that batches hand on, see :meth:`get_states`.
    group2ctxs
        For each device a dict of the devices of groups, or a dict of lists.
    compression_params
        For :meth:`ferromix.kvstore.KVStore.set_gradient_compression`.

    Examples
    --------
    >>> import ferromix as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    >>> module = mx.mod.Module(net, label_names=None)
    >>> module.bind([("data", (2, 4))], for_training=False)
    >>> module.init_params(mx.init.One())
    >>> module.forward(mx.io.DataBatch([mx.nd.ones((2, 4))]))
    >>> print(module.get_outputs()[0].asnumpy())
    [[4. 4. 4.]
     [4. 4. 4.]]
    """

    @staticmethod
    def load(prefix: str, epoch: int, load_optimizer_states: bool = False, **kwargs: Any) -> Module:
        """The module of a checkpoint, whose parameters are set when it is bound.

        Parameters
        ----------
        prefix, epoch
            As for :func:`ferromix.model.load_checkpoint`.
        load_optimizer_states
            Whether :meth:`init_optimizer` reads the states of the optimizer, too.
        **kwargs
            For the constructor.
        """
        symbol, args, auxs = load_checkpoint(prefix, epoch)
        module = Module(symbol, **kwargs)
        module._arg_params, module._aux_params = args, auxs
        module.params_initialized = True
        if load_optimizer_states:
            module._preload_opt_states = f"{prefix}-{epoch:04d}.states"
        return module

    # -- binding -------------------------------------------------------------------------------

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
        """Makes executors for these shapes.

        Parameters
        ----------
        data_shapes, label_shapes
            Descriptions of the arrays of a batch, as iterators give them.
        for_training, inputs_need_grad
            Whether there are gradients, and also those of the data.
        force_rebind
            Whether to bind again; without it a module that is bound stays as it is, with a warning.
        shared_module
            A module of another shape whose parameters and memory this one shares.
        grad_req
            ``"write"``, ``"add"``, ``"null"``, or a list or a dict of these.
        """
        if self.binded and not force_rebind:
            self.logger.warning("the module is bound already; bind does nothing")
            return
        self._reset_bind()
        if inputs_need_grad and not for_training:
            raise InvalidArgumentError("bind: inputs_need_grad=True needs for_training=True")
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self._describe(data_shapes, label_shapes)
        self._grad_req = grad_req
        if for_training:
            self._check_labels()
        self._exec_group = DataParallelExecutorGroup(
            self._graph,
            self._context,
            self._work_load_list,
            self._data_shapes,
            self._label_shapes,
            self._param_names,
            for_training,
            inputs_need_grad,
            shared_module._exec_group if shared_module is not None else None,
            self.logger,
            self._fixed_param_names,
            grad_req,
            self._state_names,
            self._group2ctxs,
        )
        self.binded = True
        if shared_module is not None:
            self.params_initialized = True
            self._arg_params, self._aux_params = (
                shared_module._arg_params,
                shared_module._aux_params,
            )
        elif self.params_initialized:
            # Of a checkpoint, or from before.
            args, auxs = self._with_labels(self._arg_params), self._aux_params
            self.init_params(None, args, auxs, force_init=True)
        if shared_module is not None and shared_module.optimizer_initialized:
            self.borrow_optimizer(shared_module)

    def _describe(self, data_shapes: Shapes, label_shapes: Shapes) -> None:
        data, labels = _parse_data_desc(
            self._data_names, self._label_names, data_shapes, label_shapes
        )
        self._data_shapes, self._label_shapes = data, labels or []

    def _check_labels(self) -> None:
        """Raises where the graph lacks labels to learn from, and has not the names given."""
        given = [d.name for d in self._label_shapes]
        known = set(self._graph.list_arguments())
        lacking = [n for n in self._label_names if n not in given]
        if lacking and any(n not in known for n in given):
            raise InvalidArgumentError(
                f"bind: the labels are {given}, but the graph reads {lacking}; give the iterator "
                f"label_name={lacking[0]!r}, or the module label_names of its arguments"
            )

    def _with_labels(self, args: Params) -> Params:
        """`args` with zeros for labels, which count as parameters where nobody named them."""
        if args is None:
            return None
        blocks = zip(self._param_names, self._exec_group.param_arrays, strict=True)
        labels = {n: b[0] for n, b in blocks if n.endswith("label") and n not in args}
        return {**args, **{n: nd.zeros(b.shape, dtype=b.dtype) for n, b in labels.items()}}

    def reshape(self, data_shapes: Shapes, label_shapes: Shapes = None) -> None:
        """Binds to batches of other shapes; parameters stay."""
        self._require(initialized=False)
        before = self._data_shapes, self._label_shapes
        self._describe(data_shapes, label_shapes)
        try:
            self._exec_group.reshape(self._data_shapes, self._label_shapes)
        except MXNetError:
            self._data_shapes, self._label_shapes = before
            raise

    # -- the optimizer -------------------------------------------------------------------------

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Sets the optimizer up, and the store that sums gradients.

        Parameters
        ----------
        kvstore
            A store, its type, or None. One device in one process needs none.
        optimizer
            An optimizer, or its name.
        optimizer_params
            Attributes for one that is named, a dict or pairs. By default gradients are divided by
            the size of the batch, in all processes.
        force_init
            Whether an optimizer that is set up is replaced.
        """
        self._require()
        if self.optimizer_initialized and not force_init:
            self.logger.warning("the optimizer is set up already; init_optimizer does nothing")
            return
        args, _ = self.get_params()
        store, on_store = _create_kvstore(kvstore, len(self._context), args)
        batch = self._exec_group.batch_size or 1
        if store is not None and "dist" in store.type and "_async" not in store.type:
            batch *= store.num_workers
        names = self._exec_group.param_names
        numbers = enumerate(names)
        if not on_store:
            devices = len(self._context)
            numbers = ((i * devices + k, n) for i, n in enumerate(names) for k in range(devices))
        made = make_optimizer(
            optimizer, dict(optimizer_params), 1.0 / batch, self._graph, dict(numbers), self.logger
        )
        if store is not None and self._compression_params:
            store.set_gradient_compression(self._compression_params)
        self._optimizer, self._kvstore, self._update_on_kvstore = made, store, on_store
        self._updater = None if on_store else get_updater(made)
        if store is not None:
            if on_store:
                store.set_optimizer(made)
            _initialize_kvstore(store, self._exec_group.param_arrays, args, names, on_store)
        self.optimizer_initialized = True
        if self._preload_opt_states is not None:
            self.load_optimizer_states(self._preload_opt_states)
            self._preload_opt_states = None

    def borrow_optimizer(self, shared_module: Module) -> None:
        """Uses the optimizer of another module, whose parameters this one shares."""
        if not shared_module.optimizer_initialized:
            raise InvalidArgumentError("borrow_optimizer: the other module has no optimizer yet")
        self._optimizer, self._kvstore = shared_module._optimizer, shared_module._kvstore
        self._update_on_kvstore = shared_module._update_on_kvstore
        self._updater = shared_module._updater
        self.optimizer_initialized = True

    # -- batches -------------------------------------------------------------------------------

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Computes the outputs of a batch; one of other shapes has the module reshaped.

        Parameters
        ----------
        data_batch
            A batch, or a list with one for each device, which are put together. Anything with
            `data` is a batch; `label`, `provide_data` and `provide_label` may be missing. Arrays
            beyond those that the module is bound to are passed over.
        is_train
            Whether to train or to predict; by default as the module was bound.

        Raises
        ------
        InvalidArgumentError
            For data of a shape with which a parameter would have another shape.
        """
        self._require()
        batch = joined(data_batch) if isinstance(data_batch, list) else data_batch
        now = [tuple(d.shape) for d in self._data_shapes]
        new = [tuple(array.shape) for array in batch.data[: len(now)]]
        if len(now) == len(new) and now != new:
            self.reshape(*self._shapes_like(batch, new))
        self._exec_group.forward(batch, is_train)

    def _shapes_like(self, batch: Any, shapes: Sequence[Any]) -> tuple[Any, Any]:
        """What a batch of other shapes is, by what it says itself or by what the module knows."""
        data = described(getattr(batch, "provide_data", None)) or [
            DataDesc(d.name, s, d.dtype, d.layout)
            for d, s in zip(self._data_shapes, shapes, strict=True)
        ]
        labels, arrays = getattr(batch, "provide_label", None), getattr(batch, "label", None)
        if not labels and arrays:
            labels = [
                DataDesc(d.name, array.shape, d.dtype, d.layout)
                for d, array in zip(self._label_shapes, arrays, strict=False)
            ]
        if not labels and data:
            axis = DataDesc.get_batch_axis(data[0].layout)
            labels = [_resized(d, data[0].shape[axis]) for d in self._label_shapes if axis >= 0]
        return data, labels

    def backward(self, out_grads: Any = None) -> None:
        """Computes gradients; `out_grads` are those of outputs that are no losses."""
        self._require()
        self._exec_group.backward(out_grads)

    def update(self) -> None:
        """Changes the parameters by their gradients, summed over devices and processes."""
        self._require(optimizer=True)
        self._params_dirty = True
        group = self._exec_group
        arrays = group.param_arrays, group.grad_arrays
        if self._update_on_kvstore:
            _update_params_on_kvstore(*arrays, self._kvstore, group.param_names)
        else:
            devices = len(self._context)
            _update_params(*arrays, self._updater, devices, self._kvstore, group.param_names)

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """The outputs of the last batch; without merging lists of the devices' parts."""
        self._require()
        return self._exec_group.get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """The gradients of the data of the last batch, of a module bound with them."""
        self._require()
        return self._exec_group.get_input_grads(merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """The arrays of `state_names`."""
        self._require()
        return self._exec_group.get_states(merge_multi_context)

    def set_states(self, states: Any = None, value: float | None = None) -> None:
        """Sets the arrays of `state_names`, to arrays or all to a number."""
        self._require()
        self._exec_group.set_states(states, value)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Has a metric look at labels and outputs of the last batch."""
        self._exec_group.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        """Has a monitor look at what the executors compute."""
        self._require(initialized=False)
        self._exec_group.install_monitor(mon)

    def prepare(
        self,
        data_batch: DataBatch,
        sparse_row_id_fn: Callable[[DataBatch], Mapping[str, NDArray]] | None = None,
    ) -> None:
        """Fetches the rows of row_sparse parameters that a batch reads, if there is a store yet.

        Parameters
        ----------
        data_batch
            The batch that comes next.
        sparse_row_id_fn
            Gives, for a batch, the numbers of rows by the parameter's name.
        """
        if sparse_row_id_fn is None or not self._update_on_kvstore:
            return
        rows = sparse_row_id_fn(data_batch)
        if not isinstance(rows, Mapping):
            raise ArgumentTypeError(
                f"sparse_row_id_fn must give a dict by name, got {type(rows).__name__}"
            )
        names = self._exec_group.param_names
        for name, numbers in rows.items():
            if name not in names:
                raise InvalidArgumentError(f"there is no parameter {name!r} to fetch rows of")
            block = self._exec_group.param_arrays[names.index(name)]
            if block[0].stype != "row_sparse":
                warnings.warn(
                    f"the parameter '{name}' is {block[0].stype}, so that devices have it whole; "
                    "sparse_row_id_fn need not name it",
                    stacklevel=2,
                )
                continue
            for target in block:
                self._kvstore.row_sparse_pull(name, target, row_ids=numbers)


def _resized(desc: DataDesc, batch: int) -> DataDesc:
    """A description of as many labels."""
    shape, axis = list(desc.shape), DataDesc.get_batch_axis(desc.layout)
    if axis >= 0:
        shape[axis] = batch
    return DataDesc(desc.name, shape, desc.dtype, desc.layout)
