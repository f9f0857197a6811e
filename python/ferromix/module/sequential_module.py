"""Modules one after another, each of which takes what the one before gives."""

from __future__ import annotations

import copy
import logging
from typing import Any

from ..error import InvalidArgumentError
from ..initializer import Uniform
from ..io import DataBatch, DataDesc
from ..ndarray import NDArray
from .base_module import BaseModule
from .describe import Shapes
from .steps import Params

__all__ = ["SequentialModule"]


class SequentialModule(BaseModule):
    """A chain of modules.

    Examples
    --------
    >>> import ferromix as mx
    >>> data = mx.sym.Variable("data")
    >>> first = mx.mod.Module(mx.sym.FullyConnected(data, num_hidden=4), label_names=None)
    >>> loss = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(data, num_hidden=2), name="softmax")
    >>> chain = mx.mod.SequentialModule()
    >>> chain.add(first).add(mx.mod.Module(loss), take_labels=True, auto_wiring=True).data_names
    ['data']
    """

    META_TAKE_LABELS = "take_labels"
    META_AUTO_WIRING = "auto_wiring"

    def __init__(self, logger: Any = logging) -> None:
        super().__init__(logger)
        self._modules: list[BaseModule] = []
        self._metas: list[dict[str, Any]] = []
        self._label_shapes: Any = None

    def add(self, module: BaseModule, **kwargs: Any) -> SequentialModule:
        """Appends a module, and gives the chain.

        Parameters
        ----------
        module
            The module.
        **kwargs
            ``take_labels=True`` for one that gets the labels, ``auto_wiring=True`` for one whose
            data get the names that it has for them.
        """
        unknown = [k for k in kwargs if k not in (self.META_TAKE_LABELS, self.META_AUTO_WIRING)]
        if unknown:
            raise InvalidArgumentError(
                f"add: unknown word '{unknown[0]}'; known: take_labels, auto_wiring"
            )
        self._modules.append(module)
        self._metas.append(kwargs)
        self.binded = self.params_initialized = self.optimizer_initialized = False
        return self

    def _takes_labels(self, number: int) -> bool:
        return bool(self._metas[number].get(self.META_TAKE_LABELS))

    # -- what it is ----------------------------------------------------------------------------

    @property
    def data_names(self) -> Any:
        """The names of the first module's data."""
        return self._modules[0].data_names if self._modules else []

    @property
    def output_names(self) -> Any:
        """The names of the last module's outputs."""
        return self._modules[-1].output_names if self._modules else []

    @property
    def data_shapes(self) -> list[DataDesc]:
        """What the first module's data are bound as."""
        self._require(initialized=False)
        return self._modules[0].data_shapes

    @property
    def label_shapes(self) -> Any:
        """What the labels are bound as; None where no module takes them."""
        self._require(initialized=False)
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the last module's outputs."""
        self._require(initialized=False)
        return self._modules[-1].output_shapes

    # -- set-up --------------------------------------------------------------------------------

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Arguments and auxiliary states of all modules by name, on the CPU."""
        self._require()
        args: dict[str, NDArray] = {}
        auxs: dict[str, NDArray] = {}
        for module in self._modules:
            own_args, own_auxs = module.get_params()
            args |= own_args
            auxs |= own_auxs
        return args, auxs

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008 - it keeps nothing between calls
        arg_params: Params = None,
        aux_params: Params = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Sets the parameters of all modules, whose names must differ.

        Raises
        ------
        InvalidArgumentError
            Two modules with a parameter of one name.
        """
        if self.params_initialized and not force_init:
            return
        self._require(initialized=False)
        owners: dict[str, int] = {}
        for number, module in enumerate(self._modules):
            # What one module has not another one may have.
            module.init_params(
                initializer=initializer,
                arg_params=arg_params,
                aux_params=aux_params,
                allow_missing=allow_missing,
                force_init=force_init,
                allow_extra=True,
            )
            for name in {**module.get_params()[0], **module.get_params()[1]}:
                if name in owners:
                    raise InvalidArgumentError(
                        f"modules {owners[name]} and {number} both have a parameter '{name}'"
                    )
                owners[name] = number
        extra = [n for n in {**(arg_params or {}), **(aux_params or {})} if n not in owners]
        if extra and not allow_extra:
            raise InvalidArgumentError(f"no module has a parameter {extra[0]!r}")
        self.params_initialized = True

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
        """Binds all modules, each to the shapes of what the one before gives."""
        if self.binded and not force_rebind:
            self.logger.warning("the modules are bound already; bind does nothing")
            return
        if shared_module is not None:
            raise InvalidArgumentError("SequentialModule.bind: shared_module is not supported")
        if not self._modules:
            raise InvalidArgumentError("SequentialModule.bind: there are no modules; add some")
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        shapes: Any = data_shapes
        taken = False
        for number, module in enumerate(self._modules):
            takes = self._takes_labels(number)
            taken = taken or takes
            if self._metas[number].get(self.META_AUTO_WIRING):
                names = module.data_names
                shapes = [(name, s[1]) for name, s in zip(names, shapes, strict=True)]
            # The first one needs gradients of its data only if asked; the others hand theirs back.
            needs = for_training and (inputs_need_grad or number > 0)
            module.bind(
                data_shapes=shapes,
                label_shapes=label_shapes if takes else None,
                for_training=for_training,
                inputs_need_grad=needs,
                force_rebind=force_rebind,
                shared_module=None,
                grad_req=grad_req,
            )
            shapes = module.output_shapes
        self._label_shapes = label_shapes if taken else None
        self.binded = True

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Sets up an optimizer for each module."""
        self._require()
        if self.optimizer_initialized and not force_init:
            self.logger.warning("the optimizer is set up already; init_optimizer does nothing")
            return
        for module in self._modules:
            module.init_optimizer(
                kvstore=kvstore,
                optimizer=optimizer,
                optimizer_params=optimizer_params,
                force_init=force_init,
            )
        self.optimizer_initialized = True

    def install_monitor(self, mon: Any) -> None:
        """Has a monitor look at all modules."""
        self._require(initialized=False)
        for module in self._modules:
            module.install_monitor(mon)

    # -- batches -------------------------------------------------------------------------------

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Computes the outputs of a batch, module by module."""
        self._require()
        batch = copy.copy(data_batch)
        for number, module in enumerate(self._modules):
            module.forward(batch, is_train=is_train)
            if number + 1 < len(self._modules):
                batch.data = module.get_outputs()
                batch.provide_data = [
                    DataDesc(name, array.shape)
                    for name, array in zip(
                        self._modules[number + 1].data_names, batch.data, strict=True
                    )
                ]

    def backward(self, out_grads: Any = None) -> None:
        """Computes gradients, from the last module to the first."""
        self._require()
        for number, module in reversed(list(enumerate(self._modules))):
            module.backward(out_grads=out_grads)
            if number > 0:
                out_grads = module.get_input_grads()

    def update(self) -> None:
        """Changes the parameters of all modules."""
        self._require(optimizer=True)
        for module in self._modules:
            module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """The last module's outputs."""
        self._require()
        return self._modules[-1].get_outputs(merge_multi_context=merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """The gradients of the first module's data."""
        self._require()
        return self._modules[0].get_input_grads(merge_multi_context=merge_multi_context)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Has a metric look at the outputs of the modules that take labels."""
        self._require()
        for number, module in enumerate(self._modules):
            if self._takes_labels(number):
                module.update_metric(eval_metric, labels, pre_sliced)
