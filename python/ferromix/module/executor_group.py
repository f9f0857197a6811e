"""One executor for each device, among which a batch is shared."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from .. import ndarray as nd
from ..context import Context
from ..error import InvalidArgumentError, MXNetError
from ..executor import Executor
from ..io import DataBatch, DataDesc
from ..ndarray import NDArray
from ..symbol import Symbol
from .describe import described, shapes_and_types
from .split import _split_input_slice, mean, merged, per_device

__all__ = ["DataParallelExecutorGroup"]


class DataParallelExecutorGroup:
    """Executors of one symbol on several devices, each for a part of every batch.

    Parameters
    ----------
    symbol
        The graph.
    contexts, workload
        The devices, and the share of the work of each.
    data_shapes, label_shapes
        What batches are; labels may be None.
    param_names
        The arguments that are parameters.
    for_training, inputs_need_grad
        Whether there are gradients, and also those of the data.
    shared_group
        A group whose parameters and memory this one shares.
    fixed_param_names
        Parameters without a gradient.
    grad_req
        For all arguments, or a list or a dict.
    state_names
        Arguments that are neither data nor parameters, and that a caller hands on.
    group2ctxs
        For each device, the devices of groups.
    """

    def __init__(
        self,
        symbol: Symbol,
        contexts: Sequence[Context],
        workload: Sequence[float],
        data_shapes: Any,
        label_shapes: Any,
        param_names: Sequence[str],
        for_training: bool,
        inputs_need_grad: bool,
        shared_group: DataParallelExecutorGroup | None = None,
        logger: Any = logging,
        fixed_param_names: Sequence[str] | None = None,
        grad_req: Any = "write",
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
    ) -> None:
        self.symbol, self.contexts, self.workload = symbol, list(contexts), list(workload)
        self.param_names, self.logger = list(param_names), logger
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self.fixed_param_names = list(fixed_param_names or [])
        self.state_names = list(state_names or [])
        self.arg_names, self.aux_names = symbol.list_arguments(), symbol.list_auxiliary_states()
        self.output_names = symbol.list_outputs()
        self.group2ctxs = per_device(group2ctxs, len(self.contexts))
        self.shared_data_arrays: list[dict[str, Any]] = (
            shared_group.shared_data_arrays if shared_group else [{} for _ in self.contexts]
        )
        self.num_outputs = len(self.output_names)
        layouts = [out.attr("__layout__") for out in symbol]
        self.output_layouts = [DataDesc.get_batch_axis(layout) for layout in layouts]
        self._total_exec_bytes = 0  # as in MXNet, which counts nothing
        self.execs: list[Executor] = []
        self._describe(data_shapes, label_shapes)
        self.grad_req = self._requests(grad_req)
        self.bind_exec(data_shapes, label_shapes, shared_group)

    def decide_slices(self, data_shapes: Sequence[DataDesc]) -> list[int]:
        """Cuts batches of these shapes; gives the axis of the batch in each array.

        Raises
        ------
        InvalidArgumentError
            Arrays with batches of different sizes, or one that is too small for the devices.
        """
        axes = [DataDesc.get_batch_axis(d.layout) for d in data_shapes]
        for desc, axis in zip(data_shapes, axes, strict=True):
            if axis < 0:
                continue
            size = desc.shape[axis]
            if self.batch_size not in (None, size):
                raise InvalidArgumentError(
                    f"all data must have one batch size: '{desc.name}' of shape {desc.shape} has "
                    f"{size}, and others {self.batch_size}"
                )
            self.batch_size = size
            self.slices = _split_input_slice(size, self.workload)
        return axes

    def _describe(self, data_shapes: Any, label_shapes: Any) -> None:
        self.batch_size: int | None = None
        self.slices: list[slice] = []
        self.data_shapes, self.label_shapes = described(data_shapes), described(label_shapes)
        self.data_layouts = self.decide_slices(self.data_shapes)
        self.label_layouts = self.decide_slices(self.label_shapes)
        self.data_names = [d.name for d in self.data_shapes]
        self.label_names = [d.name for d in self.label_shapes]

    def _requests(self, given: Any) -> dict[str, str]:
        """The request for each argument."""
        if isinstance(given, (list, tuple)):
            if len(given) != len(self.arg_names):
                raise InvalidArgumentError(
                    f"grad_req has {len(given)} requests for {len(self.arg_names)} arguments"
                )
            return dict(zip(self.arg_names, given, strict=True))
        default = given if isinstance(given, str) else "write"
        named = given if isinstance(given, Mapping) else {}
        found = {}
        for name in self.arg_names:
            of_params = name in self.param_names and name not in self.fixed_param_names
            wanted = of_params or (name in self.data_names and self.inputs_need_grad)
            found[name] = named.get(name, default if wanted else "null")
        return found if self.for_training else dict.fromkeys(found, "null")

    def bind_exec(
        self,
        data_shapes: Any,
        label_shapes: Any,
        shared_group: DataParallelExecutorGroup | None = None,
        reshape: bool = False,
    ) -> None:
        """Makes the executors; with `reshape` for other shapes and the same parameters."""
        if reshape:
            before = self.data_shapes, self.label_shapes
            self._describe(data_shapes, label_shapes)
            try:
                self.execs = [self._reshaped(i) for i in range(len(self.contexts))]
            except MXNetError:
                self._describe(*before)
                raise
        else:
            self._describe(data_shapes, label_shapes)
            self.execs = [self._executor(i, shared_group) for i in range(len(self.contexts))]
        self._collect()

    def _reshaped(self, device: int) -> Executor:
        """A device's executor for the shapes that are now described.

        Labels that nobody names may change their shape, parameters may not.
        """
        before = self.execs[device]
        after = before.reshape(
            allow_up_sizing=True, partial_shaping=True, **self._shapes_of(device)
        )
        olds, news = (one.arg_dict | one.aux_dict for one in (before, after))
        for name in (*self.param_names, *self.aux_names):
            if news[name].shape != olds[name].shape:
                data = ", ".join(f"'{d.name}' of shape {d.shape}" for d in self.data_shapes)
                raise InvalidArgumentError(
                    f"with {data} the parameter '{name}' would have the shape {news[name].shape}, "
                    f"but it has {olds[name].shape}; give data of other extents, or make a module "
                    "for these"
                )
        return after

    def reshape(self, data_shapes: Any, label_shapes: Any) -> None:
        """Makes executors for other shapes; parameters, gradients and states stay."""
        same = described(data_shapes) == self.data_shapes
        if not same or described(label_shapes) != self.label_shapes:
            self.bind_exec(data_shapes, label_shapes, reshape=True)

    def _part(self, desc: DataDesc, axis: int, device: int) -> tuple[int, ...]:
        shape = list(desc.shape)
        if axis >= 0:
            part = self.slices[device]
            shape[axis] = part.stop - part.start
        return tuple(shape)

    def _shapes_of(self, device: int) -> dict[str, tuple[int, ...]]:
        """The shapes of a device's part of a batch."""
        data = zip(self.data_shapes, self.data_layouts, strict=True)
        labels = zip(self.label_shapes, self.label_layouts, strict=True)
        found = {d.name: self._part(d, axis, device) for d, axis in data}
        # A graph that is scored without a loss may not know the labels.
        known = {d.name: self._part(d, a, device) for d, a in labels if d.name in self.arg_names}
        return found | known

    def _executor(self, device: int, shared_group: DataParallelExecutorGroup | None) -> Executor:
        shapes: dict[str, Any] = dict(self._shapes_of(device))
        _, types = shapes_and_types(self.data_shapes, self.label_shapes)
        return self.symbol.simple_bind(
            self.contexts[device],
            grad_req=self.grad_req,
            type_dict={name: types[name] for name in shapes},
            group2ctx=self.group2ctxs[device],
            shared_arg_names=self.param_names,
            shared_exec=shared_group.execs[device] if shared_group else None,
            shared_buffer=self.shared_data_arrays[device],
            **shapes,
        )

    def _collect(self) -> None:
        """Lists the arrays of all devices, as stores and updaters take them."""
        names = [n for n in self.param_names if n in self.arg_names]
        self.param_arrays = [[e.arg_dict[n] for e in self.execs] for n in names]
        self.grad_arrays = [[e.grad_dict.get(n) for e in self.execs] for n in names]
        self.state_arrays = [[e.arg_dict[n] for e in self.execs] for n in self.state_names]
        self.aux_arrays = [[e.aux_dict[n] for e in self.execs] for n in self.aux_names]
        self.input_grad_arrays = (
            [[e.grad_dict.get(n) for e in self.execs] for n in self.data_names]
            if self.inputs_need_grad
            else None
        )

    @property
    def data_arrays(self) -> list[list[tuple[slice, NDArray]]]:
        """For each data, the samples that each device gets and the array that takes them."""
        return self._taken(self.data_names)

    @property
    def label_arrays(self) -> list[list[tuple[slice, NDArray]]] | None:
        """The same for labels; None where there are none."""
        return self._taken(self.label_names) if self.label_names else None

    def _taken(self, names: Sequence[str]) -> list[list[tuple[slice, NDArray]]]:
        known = [n for n in names if n in self.arg_names]
        pairs = list(zip(self.slices, self.execs, strict=True))
        return [[(part, one.arg_dict[n]) for part, one in pairs] for n in known]

    # -- parameters ----------------------------------------------------------------------------

    def set_params(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray],
        allow_extra: bool = False,
    ) -> None:
        """Copies parameters to all devices."""
        for one in self.execs:
            one.copy_params_from(arg_params, aux_params, allow_extra_params=allow_extra)

    def get_params(
        self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]
    ) -> None:
        """Copies the parameters into arrays of the caller's: the means over the devices."""
        for names, blocks, into in (
            (self.param_names, self.param_arrays, arg_params),
            (self.aux_names, self.aux_arrays, aux_params),
        ):
            for name, block in zip(names, blocks, strict=True):
                into[name][:] = mean(block).astype(into[name].dtype)

    # -- batches -------------------------------------------------------------------------------

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Computes the outputs of a batch; trains if the group does and `is_train` says nothing."""
        self._load(data_batch.data, self.data_names, self.data_layouts)
        labels = getattr(data_batch, "label", None)
        if self.label_shapes and labels:
            self._load(labels, self.label_names, self.label_layouts)
        for one in self.execs:
            one.forward(is_train=self.for_training if is_train is None else is_train)

    def _load(self, arrays: Sequence[Any], names: Sequence[str], axes: Sequence[int]) -> None:
        if len(arrays) < len(names):
            raise InvalidArgumentError(
                f"a batch with {len(arrays)} arrays, bound for {len(names)}: {', '.join(names)}"
            )
        for array, name, axis in zip(arrays, names, axes, strict=False):
            if name not in self.arg_names:
                continue
            for device, one in enumerate(self.execs):
                part = array[device] if isinstance(array, list) else self._cut(array, axis, device)
                target = one.arg_dict[name]
                if part.shape != target.shape:
                    raise InvalidArgumentError(
                        f"a batch with '{name}' of shape {part.shape}, bound for {target.shape}"
                    )
                part.copyto(target)

    def _cut(self, array: NDArray, axis: int, device: int) -> NDArray:
        """A device's part of an array."""
        if axis < 0 or len(self.execs) == 1:
            return array
        part = self.slices[device]
        return nd.slice_axis(array, axis=axis, begin=part.start, end=part.stop)

    def backward(self, out_grads: Any = None) -> None:
        """Computes gradients; of outputs that are no losses `out_grads` are the gradients.

        Raises
        ------
        InvalidArgumentError
            The group was not bound for training.
        """
        if not self.for_training:
            raise InvalidArgumentError("backward: bind with for_training=True first")
        given = [out_grads] if isinstance(out_grads, NDArray) else list(out_grads or [])
        for device, one in enumerate(self.execs):
            axes = self.output_layouts[: len(given)]
            parts = [
                self._cut(grad, axis, device).as_in_context(self.contexts[device])
                for grad, axis in zip(given, axes, strict=True)
            ]
            one.backward(parts or None)

    def get_outputs(
        self, merge_multi_context: bool = True, begin: int = 0, end: int | None = None
    ) -> list[Any]:
        """The outputs from `begin` to before `end`: of the whole batch, or a list of the parts."""
        blocks = [[e.outputs[i] for e in self.execs] for i in range(len(self.output_names))]
        axes = self.output_layouts[begin:end]
        blocks = blocks[begin:end]
        return merged(blocks, axes) if merge_multi_context else blocks

    def get_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the outputs of a whole batch."""
        found = []
        for i, (name, axis) in enumerate(zip(self.output_names, self.output_layouts, strict=True)):
            shape = list(self.execs[0].outputs[i].shape)
            if axis >= 0 and self.batch_size is not None and shape:
                shape[axis] = sum(e.outputs[i].shape[axis] for e in self.execs)
            found.append((name, tuple(shape)))
        return found

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """The gradients of the data: of the whole batch, or a list of the parts.

        Raises
        ------
        InvalidArgumentError
            The group was bound without them.
        """
        if self.input_grad_arrays is None:
            raise InvalidArgumentError("get_input_grads: bind with inputs_need_grad=True first")
        blocks = self.input_grad_arrays
        return merged(blocks, self.data_layouts) if merge_multi_context else blocks

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """The states: of the whole batch, or a list of the parts."""
        axes = [0] * len(self.state_arrays)
        return merged(self.state_arrays, axes) if merge_multi_context else self.state_arrays

    def set_states(self, states: Any = None, value: float | None = None) -> None:
        """Sets the states to arrays, or lists of one for each device; or all to one number."""
        if (states is None) == (value is None):
            raise InvalidArgumentError("set_states: give either states or a value")
        for i, block in enumerate(self.state_arrays):
            for device, target in enumerate(block):
                if states is None:
                    target[:] = value
                    continue
                state = states[i]
                part = state[device] if isinstance(state, list) else self._cut(state, 0, device)
                part.copyto(target)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Has a metric look at labels and outputs, device by device."""
        for device, one in enumerate(self.execs):
            parts = (
                labels[device]
                if pre_sliced
                else [
                    self._cut(label, axis, device)
                    for label, axis in zip(labels, self.label_layouts, strict=False)
                ]
            )
            named = dict(zip(self.label_names, parts, strict=False))
            eval_metric.update_dict(named, dict(zip(self.output_names, one.outputs, strict=True)))

    def install_monitor(self, mon: Any) -> None:
        """Has a monitor look at all executors."""
        for one in self.execs:
            mon.install(one)
