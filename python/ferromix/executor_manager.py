"""Executors of one symbol on several devices for loops of one's own, as MXNet's first trainings.

Modules have taken their place. The executors are those of a module's group; batches are loaded
first, and then computed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .context import Context
from .error import InvalidArgumentError
from .module import executor_group
from .module.split import _split_input_slice
from .ndarray import NDArray
from .symbol import Symbol

__all__ = ["DataParallelExecutorGroup", "DataParallelExecutorManager"]


def _check_arguments(symbol: Symbol) -> None:
    """Raises for a symbol with two arguments, or two auxiliary states, of one name."""
    for what, names in (
        ("argument", symbol.list_arguments()),
        ("auxiliary state", symbol.list_auxiliary_states()),
    ):
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise InvalidArgumentError(
                f"two variables are called {twice[0]!r}; give each {what} a name of its own, "
                f"they are {names}"
            )


def _load_general(data: Sequence[NDArray], targets: Sequence[Any]) -> None:
    """Copies arrays to targets: each one an array, or pairs of a slice and an array on a device.

    Raises
    ------
    InvalidArgumentError
        The slices are of a batch of another size.
    """
    for source, target in zip(data, targets, strict=False):
        if isinstance(target, NDArray):
            source.copyto(target)
            continue
        expected = target[-1][0].stop
        if source.shape[0] != expected:
            raise InvalidArgumentError(f"a batch of {source.shape[0]}, bound for {expected}")
        for part, array in target:
            source[part].copyto(array)


def _load_data(batch: Any, targets: Sequence[Any]) -> None:
    """Copies the data of a batch, as :func:`_load_general` does."""
    _load_general(batch.data, targets)


def _load_label(batch: Any, targets: Sequence[Any]) -> None:
    """Copies the labels of a batch, as :func:`_load_general` does."""
    _load_general(batch.label, targets)


class DataParallelExecutorGroup:
    """Executors of one symbol, each for its slice of a batch.

    Parameters
    ----------
    sym
        The graph.
    arg_names, param_names
        Its arguments, and those that are trained.
    ctx, slices
        The devices, and the part of a batch of each.
    train_data
        What says of which names and shapes data and labels are: an iterator, or a batch.
    shared_group
        A group whose parameters and memory this one shares.
    """

    def __init__(
        self,
        sym: Symbol,
        arg_names: Sequence[str],
        param_names: Sequence[str],
        ctx: Sequence[Context],
        slices: Sequence[slice],
        train_data: Any,
        shared_group: DataParallelExecutorGroup | None = None,
    ) -> None:
        _check_arguments(sym)
        self._group = group = executor_group.DataParallelExecutorGroup(
            sym,
            ctx,
            [part.stop - part.start for part in slices],
            train_data.provide_data,
            train_data.provide_label,
            [name for name in arg_names if name in param_names],
            for_training=True,
            inputs_need_grad=False,
            shared_group=shared_group._group if shared_group is not None else None,
        )
        self.data_names, self.label_names = group.data_names, group.label_names
        self.param_names, self.aux_names = group.param_names, group.aux_names
        self.param_idx = [i for i, name in enumerate(arg_names) if name in param_names]
        self.train_execs, self.slices = group.execs, group.slices
        self.shared_data_arrays = group.shared_data_arrays
        self.data_arrays, self.label_arrays = group.data_arrays, group.label_arrays or []
        self.param_arrays, self.grad_arrays = group.param_arrays, group.grad_arrays
        self.aux_arrays = group.aux_arrays

    def load_data_batch(self, data_batch: Any) -> None:
        """Copies the parts of a batch to the devices."""
        _load_data(data_batch, self.data_arrays)
        _load_label(data_batch, self.label_arrays)

    def forward(self, is_train: bool = False) -> None:
        """Computes the outputs of the batch that is loaded."""
        for one in self.train_execs:
            one.forward(is_train=is_train)

    def backward(self) -> None:
        """Computes the gradients."""
        self._group.backward()

    def update_metric(self, metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Has a metric look at labels and outputs, device by device.

        Parameters
        ----------
        metric
            The metric.
        labels
            Those of a batch; with `pre_sliced` a list of such for each device.
        pre_sliced
            See there.
        """
        self._group.update_metric(metric, labels, pre_sliced)


class DataParallelExecutorManager:
    """A group of executors, or one for each bucket, with its parameters.

    Parameters
    ----------
    symbol
        The graph.
    ctx
        The devices.
    train_data
        The iterator over batches.
    arg_names, param_names, aux_names
        The arguments of the graph, those that are trained, and the auxiliary states.
    work_load_list
        The share of each device; equal ones where None.
    logger
        Where it says which devices train; :mod:`logging` where None.
    sym_gen
        Gives the graph for a bucket's key, for batches with a ``bucket_key``.

    Examples
    --------
    >>> import ferromix as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc")
    >>> data = mx.io.NDArrayIter(mx.nd.ones((4, 2)), None, batch_size=4)
    >>> manager = mx.executor_manager.DataParallelExecutorManager(
    ...     net, [mx.cpu(0), mx.cpu(1)], data, net.list_arguments(), ["fc_weight", "fc_bias"], []
    ... )
    >>> manager.set_params({"fc_weight": mx.nd.ones((1, 2)), "fc_bias": mx.nd.zeros(1)}, {})
    >>> manager.load_data_batch(next(data))
    >>> manager.forward()
    >>> [one.outputs[0].shape for one in manager.curr_execgrp.train_execs]
    [(2, 1), (2, 1)]
    """

    def __init__(
        self,
        symbol: Symbol,
        ctx: Sequence[Context],
        train_data: Any,
        arg_names: Sequence[str],
        param_names: Sequence[str],
        aux_names: Sequence[str],
        work_load_list: Sequence[float] | None = None,
        logger: Any = None,
        sym_gen: Callable[[Any], Symbol] | None = None,
    ) -> None:
        shares = [1] * len(ctx) if work_load_list is None else list(work_load_list)
        if len(shares) != len(ctx):
            raise InvalidArgumentError(
                f"work_load_list has {len(shares)} shares for {len(ctx)} devices"
            )
        (logger or logging).info("Start training with %s", list(ctx))
        self.symbol, self.sym_gen, self.ctx = symbol, sym_gen, ctx
        self.arg_names, self.param_names, self.aux_names = arg_names, param_names, aux_names
        self.slices = _split_input_slice(train_data.batch_size, shares)
        self.execgrp = DataParallelExecutorGroup(
            symbol, arg_names, param_names, ctx, self.slices, train_data
        )
        self.curr_execgrp: DataParallelExecutorGroup | None = None
        self.execgrp_bucket: dict[Any, DataParallelExecutorGroup] = {}
        if sym_gen is not None:
            self.execgrp_bucket[train_data.default_bucket_key] = self.execgrp

    def install_monitor(self, monitor: Any) -> None:
        """Has a monitor look at all executors.

        Raises
        ------
        InvalidArgumentError
            Where there are buckets.
        """
        if self.sym_gen is not None:
            raise InvalidArgumentError("install_monitor: buckets cannot be monitored")
        for one in self.execgrp.train_execs:
            monitor.install(one)

    def set_params(
        self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]
    ) -> None:
        """Copies parameters to all devices."""
        self.execgrp._group.set_params(arg_params, aux_params)

    def copy_to(self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]) -> None:
        """Copies the parameters into arrays of the caller's: the means over the devices."""
        self.execgrp._group.get_params(arg_params, aux_params)

    @property
    def param_arrays(self) -> list[list[NDArray]]:
        """For each parameter an array on each device."""
        return self.execgrp.param_arrays

    @property
    def grad_arrays(self) -> list[list[Any]]:
        """For each parameter its gradient on each device."""
        return self.execgrp.grad_arrays

    @property
    def aux_arrays(self) -> list[list[NDArray]]:
        """For each auxiliary state an array on each device."""
        return self.execgrp.aux_arrays

    def load_data_batch(self, data_batch: Any) -> None:
        """Copies a batch to the devices, for the executors of its bucket where there are some."""
        self.curr_execgrp = self.execgrp if self.sym_gen is None else self._bucket(data_batch)
        self.curr_execgrp.load_data_batch(data_batch)

    def _bucket(self, batch: Any) -> DataParallelExecutorGroup:
        """The executors for a batch, which share parameters with those of the first bucket."""
        if batch.bucket_key not in self.execgrp_bucket:
            assert self.sym_gen is not None
            self.execgrp_bucket[batch.bucket_key] = DataParallelExecutorGroup(
                self.sym_gen(batch.bucket_key),
                self.arg_names,
                self.param_names,
                self.ctx,
                self.slices,
                batch,
                self.execgrp,
            )
        return self.execgrp_bucket[batch.bucket_key]

    def forward(self, is_train: bool = False) -> None:
        """Computes the outputs of the batch that is loaded."""
        self._loaded().forward(is_train)

    def backward(self) -> None:
        """Computes the gradients."""
        self._loaded().backward()

    def update_metric(self, metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Has a metric look at labels and outputs of the batch that is loaded."""
        self._loaded().update_metric(metric, labels, pre_sliced)

    def _loaded(self) -> DataParallelExecutorGroup:
        if self.curr_execgrp is None:
            raise InvalidArgumentError("there is no batch yet; call load_data_batch first")
        return self.curr_execgrp
