"""What a kind of modules says of itself, and does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..error import MXNetError
from ..initializer import Uniform
from ..io import DataBatch, DataDesc
from ..ndarray import NDArray
from ..symbol import Symbol
from .describe import Shapes

__all__ = ["Params", "Steps"]

Params = Mapping[str, NDArray] | None


class Steps:
    """The steps of which training, scoring and predicting consist; subclasses take them.

    Attributes
    ----------
    binded, params_initialized, optimizer_initialized
        Which steps of the set-up are done.
    for_training, inputs_need_grad
        As the module was bound.
    """

    def __init__(self) -> None:
        self.binded = False
        self.for_training = False
        self.inputs_need_grad = False
        self.params_initialized = False
        self.optimizer_initialized = False
        self._symbol: Symbol | None = None

    def _require(self, initialized: bool = True, optimizer: bool = False) -> None:
        """Raises where a step of the set-up is missing, and says which."""
        for done, step in (
            (self.binded, "bind(data_shapes, label_shapes)"),
            (self.params_initialized or not initialized, "init_params()"),
            (self.optimizer_initialized or not optimizer, "init_optimizer()"),
        ):
            if not done:
                raise MXNetError(f"{type(self).__name__}: call {step} first")

    @property
    def data_names(self) -> Sequence[str]:
        """The names of the data."""
        raise NotImplementedError

    @property
    def output_names(self) -> Sequence[str]:
        """The names of the outputs."""
        raise NotImplementedError

    @property
    def data_shapes(self) -> list[DataDesc]:
        """What the data are bound as."""
        raise NotImplementedError

    @property
    def label_shapes(self) -> list[DataDesc]:
        """What the labels are bound as."""
        raise NotImplementedError

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the outputs."""
        raise NotImplementedError

    @property
    def symbol(self) -> Symbol | None:
        """The graph, of modules that have one."""
        return self._symbol

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Arguments and auxiliary states by name, on the CPU."""
        raise NotImplementedError

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008 - it keeps nothing between calls
        arg_params: Params = None,
        aux_params: Params = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Sets all parameters."""
        raise NotImplementedError

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
        """Makes what computes for these shapes."""
        raise NotImplementedError

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Sets the optimizer up."""
        raise NotImplementedError

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Computes the outputs of a batch."""
        raise NotImplementedError

    def backward(self, out_grads: Any = None) -> None:
        """Computes gradients."""
        raise NotImplementedError

    def update(self) -> None:
        """Changes the parameters by their gradients."""
        raise NotImplementedError

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """The outputs of the last batch."""
        raise NotImplementedError

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """The gradients of the data of the last batch."""
        raise NotImplementedError

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Has a metric look at the outputs of the last batch."""
        raise NotImplementedError

    def install_monitor(self, mon: Any) -> None:
        """Has a monitor look at what is computed."""
        raise NotImplementedError
