"""A symbol with its parameters: what they are, how they are set, and their files."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from .. import files
from .. import ndarray as nd
from ..context import Context, cpu
from ..error import ArgumentTypeError, InvalidArgumentError
from ..initializer import InitDesc, Uniform
from ..io import DataDesc
from ..model.checkpoint import save_checkpoint
from ..ndarray import NDArray
from ..symbol import Symbol
from .assign import check_known, set_param
from .base_module import BaseModule
from .describe import _check_input_names
from .steps import Params

__all__ = ["SymbolModule"]


class SymbolModule(BaseModule):
    """What a :class:`~.module.Module` is, and its parameters; it takes the same arguments."""

    def __init__(
        self,
        symbol: Symbol,
        data_names: Sequence[str] | None = ("data",),
        label_names: Sequence[str] | None = ("softmax_label",),
        logger: Any = logging,
        context: Context | Sequence[Context] | None = None,
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
        compression_params: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(logger)
        if not isinstance(symbol, Symbol):
            raise ArgumentTypeError(f"Module: symbol must be a Symbol, got {symbol!r}")
        self._symbol = self._graph = symbol
        several = isinstance(context, (list, tuple))
        self._context: list[Any] = list(context) if several else [context or cpu()]
        self._work_load_list = list(work_load_list or [1] * len(self._context))
        if len(self._work_load_list) != len(self._context):
            raise InvalidArgumentError(
                f"work_load_list has {len(self._work_load_list)} shares for "
                f"{len(self._context)} devices"
            )
        self._data_names, self._label_names = list(data_names or []), list(label_names or [])
        self._state_names = list(state_names or [])
        self._fixed_param_names = list(fixed_param_names or [])
        for names, what, required in (
            (self._data_names, "data", True),
            (self._label_names, "label", False),
            (self._state_names, "state", True),
            (self._fixed_param_names, "fixed_param", True),
        ):
            _check_input_names(symbol, names, what, required)
        inputs = {*self._data_names, *self._label_names, *self._state_names}
        self._param_names = [n for n in symbol.list_arguments() if n not in inputs]
        self._aux_names = symbol.list_auxiliary_states()
        self._output_names = symbol.list_outputs()
        self._group2ctxs = group2ctxs
        self._compression_params = dict(compression_params or {})
        self._arg_params: dict[str, NDArray] | None = None
        self._aux_params: dict[str, NDArray] | None = None
        self._params_dirty = False
        # Scripts read these, and assign them.
        self._optimizer: Any = None
        self._kvstore: Any = None
        self._updater: Any = None
        self._update_on_kvstore: bool | None = None
        self._grad_req: Any = None
        self._total_exec_bytes = 0  # as in MXNet, which counts nothing
        self._preload_opt_states: str | None = None
        self._exec_group: Any = None
        self._data_shapes: list[DataDesc] = []
        self._label_shapes: list[DataDesc] = []

    # -- files ---------------------------------------------------------------------------------

    def save_checkpoint(
        self,
        prefix: str,
        epoch: int,
        save_optimizer_states: bool = False,
        remove_amp_cast: bool = True,
    ) -> None:
        """Writes the states of the optimizer, if wanted, the graph and the parameters.

        The parameters come last: a checkpoint that has them is complete, also where the process
        was killed meanwhile.
        """
        args, auxs = self.get_params()
        states = f"{prefix}-{epoch:04d}.states"
        if save_optimizer_states:
            self.save_optimizer_states(states)
        save_checkpoint(prefix, epoch, self._graph, args, auxs, remove_amp_cast)
        if save_optimizer_states:
            logging.info('Saved optimizer state to "%s"', states)

    def save_optimizer_states(self, fname: str) -> None:
        """Writes the states of the optimizer, of all parameters."""
        self._require(optimizer=True)
        if self._update_on_kvstore:
            self._kvstore.save_optimizer_states(fname)
        else:
            files.write(fname, self._updater.get_states())

    def load_optimizer_states(self, fname: str) -> None:
        """Sets the states of the optimizer to those of a file."""
        self._require(optimizer=True)
        if self._update_on_kvstore:
            self._kvstore.load_optimizer_states(fname)
        else:
            self._updater.set_states(files.read(fname))

    # -- what it is ----------------------------------------------------------------------------

    @property
    def symbol(self) -> Symbol:
        """The graph."""
        return self._graph

    @property
    def data_names(self) -> list[str]:
        """The names of the data."""
        return self._data_names

    @property
    def label_names(self) -> list[str]:
        """The names of the labels."""
        return self._label_names

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs."""
        return self._output_names

    @property
    def data_shapes(self) -> list[DataDesc]:
        """What the data are bound as."""
        self._require(initialized=False)
        return self._data_shapes

    @property
    def label_shapes(self) -> list[DataDesc]:
        """What the labels are bound as."""
        self._require(initialized=False)
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the outputs."""
        self._require(initialized=False)
        return self._exec_group.get_output_shapes()

    # -- parameters ----------------------------------------------------------------------------

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Arguments and auxiliary states by name, on the CPU: the means over the devices."""
        self._require()
        args, auxs = self._arg_params, self._aux_params
        assert args is not None
        assert auxs is not None
        if self._params_dirty:
            self._sync_params_from_devices()
        return args, auxs

    def _sync_params_from_devices(self) -> None:
        """Copies the parameters from the devices, and row_sparse ones from the store.

        Devices have of these the rows that batches asked for.
        """
        self._exec_group.get_params(self._arg_params, self._aux_params)
        if self._update_on_kvstore:
            for name, value in sorted((self._arg_params or {}).items()):
                if value.stype == "row_sparse":
                    rows = nd.arange(0, value.shape[0], dtype="int64")
                    self._kvstore.row_sparse_pull(name, value, row_ids=rows)
        self._params_dirty = False

    def _reset_bind(self) -> None:
        """Gives up the executors; parameters, as devices have them, and optimizer stay."""
        if self.binded and self.params_initialized:
            self.get_params()
        self.binded, self._exec_group = False, None
        self._data_shapes, self._label_shapes = [], []

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008 - it keeps nothing between calls
        arg_params: Params = None,
        aux_params: Params = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Sets all parameters, and copies them to the devices.

        Parameters
        ----------
        initializer
            Makes parameters that are not given; None leaves them as they are.
        arg_params, aux_params
            Arrays by name.
        allow_missing
            Whether what is given may lack parameters, which the initializer then makes.
        force_init
            Whether parameters that are set are set again; without it they stay, with a warning.
        allow_extra
            Whether what is given may have names that the module has not, without an initializer
            and with `allow_missing`; otherwise it may, as in MXNet.

        Raises
        ------
        InvalidArgumentError
            A parameter that is missing, of another shape, or unknown; names it.
        """
        self._require(initialized=False)
        if self.params_initialized and not force_init:
            warnings.warn(
                "the parameters are set already; init_params without force_init=True does nothing",
                stacklevel=2,
            )
            return
        group, attrs = self._exec_group, self._graph.attr_dict()
        for names, arrays, given, allocated in (
            (self._param_names, group.param_arrays, arg_params, self._arg_params),
            (self._aux_names, group.aux_arrays, aux_params, self._aux_params),
        ):
            made = dict(allocated or {})
            for name, block in zip(names, arrays, strict=True):
                if name not in made:
                    one = block[0]
                    made[name] = nd.zeros(one.shape, cpu(), one.dtype_name, stype=one.stype)
            for name, array in sorted(made.items()):
                desc = InitDesc(name, attrs.get(name, {}))
                set_param(desc, array, given, initializer, allow_missing)
            if allow_missing and not allow_extra and initializer is None:
                check_known(made, given)
            if names is self._param_names:
                self._arg_params = made
            else:
                self._aux_params = made
        self.params_initialized, self._params_dirty = True, False
        assert self._arg_params is not None
        assert self._aux_params is not None
        group.set_params(self._arg_params, self._aux_params, allow_extra=allow_extra)
