"""Modules written in Python, without parameters: to compute a loss, say, at the end of a chain."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from ..error import InvalidArgumentError
from ..initializer import Uniform
from ..io import DataBatch, DataDesc
from ..ndarray import NDArray, array
from .base_module import BaseModule
from .describe import Shapes, described
from .steps import Params

__all__ = ["PythonLossModule", "PythonModule"]


class PythonModule(BaseModule):
    """The base of modules that need no parameters; a subclass computes.

    Parameters
    ----------
    data_names, label_names, output_names
        The names of data, labels (None for none) and outputs.
    logger
        Where :meth:`fit` says how it goes.
    """

    def __init__(
        self,
        data_names: Sequence[str],
        label_names: Sequence[str] | None,
        output_names: Sequence[str],
        logger: Any = logging,
    ) -> None:
        super().__init__(logger)
        self._data_names = list(data_names)
        self._label_names = None if label_names is None else list(label_names)
        self._output_names = list(output_names)
        self._data_shapes: list[DataDesc] = []
        self._label_shapes: list[DataDesc] | None = None
        self._output_shapes: list[tuple[str, tuple[int, ...]]] = []

    @property
    def data_names(self) -> list[str]:
        """The names of the data."""
        return self._data_names

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs."""
        return self._output_names

    @property
    def data_shapes(self) -> list[DataDesc]:
        """What the data are bound as."""
        return self._data_shapes

    @property
    def label_shapes(self) -> Any:
        """What the labels are bound as; None for none."""
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the outputs."""
        return self._output_shapes

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """There are none."""
        return {}, {}

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008 - it keeps nothing between calls
        arg_params: Params = None,
        aux_params: Params = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Nothing to set."""
        self.params_initialized = True

    def update(self) -> None:
        """Nothing to change."""

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Has a metric look at the outputs, if there are labels."""
        if self._label_shapes is None:
            return
        if pre_sliced:
            raise InvalidArgumentError("PythonModule.update_metric: labels must not be cut")
        eval_metric.update(labels, self.get_outputs())

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
        """Notes the shapes, and asks :meth:`_compute_output_shapes` for those of the outputs."""
        if self.binded and not force_rebind:
            self.logger.warning("the module is bound already; bind does nothing")
            return
        if grad_req != "write":
            raise InvalidArgumentError("PythonModule.bind: grad_req must be 'write'")
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self._data_shapes = described(data_shapes)
        if [d.name for d in self._data_shapes] != self._data_names:
            raise InvalidArgumentError(
                f"bind: data of {[d.name for d in self._data_shapes]}, expected {self._data_names}"
            )
        self._label_shapes = described(label_shapes) if label_shapes else None
        self._output_shapes = self._compute_output_shapes()
        self.binded = True

    def _compute_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the outputs, for a subclass to say."""
        raise NotImplementedError

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Nothing to set up."""
        self.optimizer_initialized = True


class PythonLossModule(PythonModule):
    """A loss in Python: it hands its data on, and says what their gradient is.

    Parameters
    ----------
    name
        The beginning of the output's name.
    data_names, label_names
        The name of the one input, and that of its labels.
    logger
        Where :meth:`fit` says how it goes.
    grad_func
        Gives from data and labels the gradient of the data.
    """

    def __init__(
        self,
        name: str = "pyloss",
        data_names: Sequence[str] = ("data",),
        label_names: Sequence[str] = ("softmax_label",),
        logger: Any = logging,
        grad_func: Callable[[NDArray, NDArray], Any] | None = None,
    ) -> None:
        super().__init__(data_names, label_names, [f"{name}_output"], logger)
        if len(self._data_names) != 1 or len(label_names) != 1:
            raise InvalidArgumentError("PythonLossModule: it takes one input and one label")
        if grad_func is not None and not callable(grad_func):
            raise InvalidArgumentError(f"grad_func must be a function, got {grad_func!r}")
        self._name, self._grad_func = name, grad_func
        self._scores: Any = None
        self._labels: Any = None
        self._scores_grad: Any = None

    def _compute_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        return [(self._output_names[0], tuple(self._data_shapes[0].shape))]

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Takes the data, and the labels if it trains."""
        self._scores = data_batch.data[0]
        if self.for_training if is_train is None else is_train:
            self._labels = data_batch.label[0]

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """The data."""
        return [self._scores]

    def backward(self, out_grads: Any = None) -> None:
        """Computes the gradient of the data.

        Raises
        ------
        InvalidArgumentError
            Gradients of the output, of which a loss has none.
        """
        if out_grads is not None:
            raise InvalidArgumentError("PythonLossModule.backward: a loss takes no out_grads")
        self._backward_impl()

    def _backward_impl(self) -> None:
        if self._grad_func is None:
            raise NotImplementedError("give grad_func, or override _backward_impl")
        grad = self._grad_func(self._scores, self._labels)
        self._scores_grad = grad if isinstance(grad, NDArray) else array(grad)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """The gradient of the data."""
        return [self._scores_grad]

    def install_monitor(self, mon: Any) -> None:
        """There is nothing that a monitor could look at."""
        raise NotImplementedError("PythonLossModule: there is no executor to look at")
